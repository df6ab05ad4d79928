//! Installing one package into a folder of its own, with nothing of it run but its installer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::answer::wait;
use super::list::{Line, Registry};

/// How long an installation may take.
const INSTALL_MAX: Duration = Duration::from_secs(240);

/// Installs the package unless it is there; gives the program to start.
pub(crate) fn install(line: &Line, place: &Path) -> Result<PathBuf> {
    let programs = match line.registry {
        Registry::Npm => place.join("node_modules/.bin"),
        Registry::Pypi => place.join("venv/bin"),
    };
    let program = programs.join(&line.program);
    if !program.exists() {
        std::fs::create_dir_all(place)?;
        match line.registry {
            Registry::Npm => install_npm(line, place)?,
            Registry::Pypi => install_pypi(line, place)?,
        }
    }
    ensure!(program.exists(), "the package installs no program `{}`", line.program);
    Ok(program)
}

fn install_npm(line: &Line, place: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    // Scripts of packages fetch browsers and compile; a list of tools needs neither.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
    npm.arg(place).arg(format!("{}@{}", line.package, line.version)).args(&line.beside);
    finish(npm, place)
}

fn install_pypi(line: &Line, place: &Path) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(place.join("venv"));
    finish(venv, place)?;
    let mut pip = Command::new(place.join("venv/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    pip.arg(format!("{}=={}", line.package, line.version)).args(&line.beside);
    finish(pip, place)
}

fn finish(mut command: Command, place: &Path) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let log = std::fs::File::create(place.join("install.log"))?;
    command.current_dir(place).stdin(std::process::Stdio::null());
    command.stdout(log.try_clone()?).stderr(log);
    let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
    let status = wait(&mut child, INSTALL_MAX)?;
    let said = std::fs::read_to_string(place.join("install.log")).unwrap_or_default();
    let status = status.with_context(|| format!("not installed within {} s", INSTALL_MAX.as_secs()))?;
    ensure!(status.success(), "not installed: {}", last_words(&said));
    Ok(())
}

/// Words of a line that says why.
const TELLING: [&str; 10] = [
    "failed",
    "cannot",
    "not found",
    "enotfound",
    "missing",
    "required",
    "unable",
    "refused",
    "no matching",
    "error:",
];

/// The last line that says why, or else the last that says something; cut.
pub(crate) fn last_words(text: &str) -> String {
    let says = |line: &&str| line.chars().any(char::is_alphabetic);
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        TELLING.iter().any(|word| line.contains(word))
    };
    let last = |wanted: &dyn Fn(&&str) -> bool| text.lines().rev().filter(says).find(|line| wanted(line));
    let line = last(&tells).or_else(|| last(&|_| true)).unwrap_or("nothing was said");
    portcullis_catalogue::inert_short(line.trim(), 160)
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn the_line_that_says_why_is_told() {
        let npm = "npm error network request to a.example failed, reason: none\nnpm error\nnpm error A complete log is there\n";
        assert_eq!(last_words(npm), "npm error network request to a.example failed, reason: none");
        assert_eq!(last_words("set API_KEY first\n}\n\n"), "set API_KEY first");
        assert_eq!(last_words("\n"), "nothing was said");
    }
}
