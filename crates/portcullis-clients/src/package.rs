//! Which package a command line starts, as far as it says so.

use crate::entry::{Entry, Way};

/// Options of package runners that take a value.
const WITH_VALUE: [&str; 6] = ["-p", "--package", "--from", "--python", "--with", "--index-url"];

impl Entry {
    /// The command line of the server itself: what stands behind our own guard, where there is one.
    pub fn command_line(&self) -> Option<Vec<String>> {
        let Way::Command { command, arguments } = &self.way else {
            return None;
        };
        if crate::is_guarded(self) {
            let behind = arguments.iter().skip_while(|argument| *argument != "--").skip(1);
            let behind: Vec<String> = behind.cloned().collect();
            return (!behind.is_empty()).then_some(behind);
        }
        Some(std::iter::once(command).chain(arguments).cloned().collect())
    }

    /// The address of the server itself, also behind our own guard.
    pub fn address(&self) -> Option<&str> {
        match &self.way {
            Way::Remote(remote) => Some(&remote.url),
            Way::Command { arguments, .. } if crate::is_guarded(self) => {
                let mut rest = arguments.iter().take_while(|argument| *argument != "--");
                rest.find(|argument| *argument == "--url").and_then(|_| rest.next()).map(String::as_str)
            }
            Way::Command { .. } | Way::Unknown(_) => None,
        }
    }

    /// The package as the catalogue calls it, `npm:NAME` or `pypi:NAME`; several where the registry is a guess.
    pub fn packages(&self) -> Vec<String> {
        let line = self.command_line().unwrap_or_default();
        let Some((program, arguments)) = line.split_first() else {
            return Vec::new();
        };
        let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
        let program =
            program.strip_suffix(".exe").or_else(|| program.strip_suffix(".cmd")).unwrap_or(program);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match (program, words.as_slice()) {
            ("cmd", ["/c" | "/C", inner @ ..]) => Entry::of_line(inner).packages(),
            ("npx" | "bunx", rest) => npm(rest),
            ("pnpm" | "yarn" | "bun", ["dlx" | "x" | "exec", rest @ ..]) => npm(rest),
            ("uvx", rest) => pypi(rest),
            ("uv", ["tool", "run", rest @ ..]) | ("pipx", ["run", rest @ ..]) => pypi(rest),
            ("node" | "python" | "python3" | "docker" | "deno" | "sh" | "bash", _) => Vec::new(),
            (program, _) => vec![format!("npm:{program}"), format!("pypi:{program}")],
        }
    }

    /// The package that a command line starts, where the line says so; a program by its own name is only a guess.
    pub fn package_of(argv: &[String]) -> Option<String> {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let mut packages = Entry::of_line(&words).packages();
        let package = packages.pop();
        package.filter(|_| packages.is_empty())
    }

    fn of_line(line: &[&str]) -> Entry {
        let mut line = line.iter().map(|word| (*word).to_owned());
        let way = Way::Command { command: line.next().unwrap_or_default(), arguments: line.collect() };
        Entry {
            section: Vec::new(),
            name: String::new(),
            way,
            disabled: false,
            environment: Vec::new(),
            cwd: None,
        }
    }
}

fn npm(arguments: &[&str]) -> Vec<String> {
    let named = named(arguments, &["-p", "--package"]);
    let name = named.map(|name| match name.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => name.get(..at + 1).unwrap_or(name),
        None => name,
    });
    name.map(|name| format!("npm:{name}")).into_iter().collect()
}

fn pypi(arguments: &[&str]) -> Vec<String> {
    let named = named(arguments, &["--from", "--spec"]);
    let name = named.and_then(|name| name.split(['=', '@', '[', '<', '>', '~', ' ']).next());
    name.map(|name| format!("pypi:{}", name.replace('_', "-"))).into_iter().collect()
}

/// The package that an option names, or else the first word that is no option.
fn named<'a>(arguments: &[&'a str], options: &[&str]) -> Option<&'a str> {
    let mut rest = arguments.iter();
    let mut first = None;
    while let Some(word) = rest.next() {
        if options.contains(word) {
            return rest.next().copied();
        }
        if WITH_VALUE.contains(word) {
            rest.next();
        } else if !word.starts_with('-') {
            first = first.or(Some(*word));
            break;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn packages_are_read_out_of_command_lines() {
        let of = |line: &str| Entry::of_line(&line.split(' ').collect::<Vec<_>>()).packages().join(" ");
        assert_eq!(of("npx -y @scope/server@1.2.3 /srv"), "npm:@scope/server");
        assert_eq!(of("npx --yes plain-server"), "npm:plain-server");
        assert_eq!(of("npx -p @scope/pkg tool"), "npm:@scope/pkg");
        assert_eq!(of("uvx mcp-server-git==2026.1 --repository ."), "pypi:mcp-server-git");
        assert_eq!(of("uvx --from awslabs.core[extra] run-it"), "pypi:awslabs.core");
        assert_eq!(of("/opt/bin/mcp-server-time"), "npm:mcp-server-time pypi:mcp-server-time");
        assert_eq!(of("cmd /c npx -y a-server"), "npm:a-server");
        assert_eq!(of("docker run -i image"), "");
        let guarded = "/opt/portcullis wrap --label x --profile recommended -- npx -y a-server";
        assert_eq!(of(guarded), "npm:a-server");
    }
}
