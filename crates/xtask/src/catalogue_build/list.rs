//! The list of servers: one line each, written as one would start it in a shell.
//!
//! `npm:@scope/name@1.2.3 KEY=value program argument`: the package with its exact version, the environment
//! that lets it start without an account, the program that the package installs, its arguments. `{dir}` in a
//! value or an argument is an empty directory of the server's own. `+other<2` behind the package installs
//! another one beside it, where the server does not work with the newest. `#` starts a comment.

use anyhow::{Context, Result, bail, ensure};

/// Where a package is installed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    Npm,
    Pypi,
}

impl Registry {
    /// Its word in the list and in the index.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Registry::Npm => "npm",
            Registry::Pypi => "pypi",
        }
    }
}

/// One server of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) registry: Registry,
    pub(crate) package: String,
    pub(crate) version: String,
    /// What else is installed, as the registry's installer writes it.
    pub(crate) beside: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

impl Line {
    /// How reports name it.
    pub(crate) fn label(&self) -> String {
        format!("{}:{}@{}", self.registry.name(), self.package, self.version)
    }

    /// A folder name that nothing else has that would be installed otherwise.
    pub(crate) fn folder(&self) -> String {
        let words: Vec<String> = std::iter::once(self.label()).chain(self.beside.iter().cloned()).collect();
        words.join("+").replace(['/', ':'], "+")
    }
}

/// Reads the whole list; the first line that is wrong is named.
pub(crate) fn read(text: &str) -> Result<Vec<Line>> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let line = read_line(text).with_context(|| format!("line {} of the list", index + 1))?;
        ensure!(
            lines.iter().all(|other| other.package != line.package),
            "line {} of the list: `{}` is there twice",
            index + 1,
            line.package
        );
        lines.push(line);
    }
    Ok(lines)
}

fn read_line(text: &str) -> Result<Line> {
    let mut words = text.split_whitespace();
    let (registry, package, version) = read_package(words.next().unwrap_or_default())?;
    let (mut beside, mut environment) = (Vec::new(), Vec::new());
    let mut rest = words.peekable();
    while let Some(other) = rest.peek().and_then(|word| word.strip_prefix('+')) {
        beside.push(other.to_owned());
        rest.next();
    }
    while let Some((key, value)) = rest.peek().and_then(|word| assignment(word)) {
        environment.push((key.to_owned(), value.to_owned()));
        rest.next();
    }
    let program = rest.next().context("no program to start; write its name behind the package")?;
    Ok(Line {
        registry,
        package,
        version,
        beside,
        environment,
        program: program.to_owned(),
        arguments: rest.map(str::to_owned).collect(),
    })
}

fn read_package(word: &str) -> Result<(Registry, String, String)> {
    let (registry, rest) = word.split_once(':').context("expected `npm:` or `pypi:` before the package")?;
    let registry = match registry {
        "npm" => Registry::Npm,
        "pypi" => Registry::Pypi,
        other => bail!("`{other}` is no registry; use `npm` or `pypi`"),
    };
    let (package, version) = rest.rsplit_once('@').unwrap_or((rest, ""));
    ensure!(
        !package.is_empty() && !version.is_empty(),
        "`{word}` has no version; pin it, as in `npm:name@1.2.3`"
    );
    Ok((registry, package.to_owned(), version.to_owned()))
}

/// `KEY=value`, where the key is in capitals as environment variables are.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!key.is_empty() && key.chars().all(is_key)).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_a_shell_would_take_it() {
        let lines =
            read("# doors\nnpm:@a/b@1.2.3 +c@1 KEY=x-1 OTHER={dir} door-server --at x=y # why\n\n").unwrap();
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(
            (line.registry, line.package.as_str(), line.version.as_str()),
            (Registry::Npm, "@a/b", "1.2.3")
        );
        assert_eq!(line.environment, [("KEY".into(), "x-1".into()), ("OTHER".into(), "{dir}".into())]);
        assert_eq!(
            (line.program.as_str(), line.arguments.as_slice()),
            ("door-server", &["--at".into(), "x=y".into()][..])
        );
        assert_eq!(line.beside, ["c@1"]);
        assert_eq!(line.folder(), "npm+@a+b@1.2.3+c@1");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let says = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert!(says("npm:@a/b door").contains("has no version"));
        assert!(says("pypi:a door").contains("has no version"));
        assert!(says("npm:a@1").contains("no program"));
        assert!(says("\ncargo:a@1 x").contains("line 2 of the list: `cargo` is no registry"));
        assert!(says("npm:a@1 x\nnpm:a@2 x").contains("twice"));
    }
}
