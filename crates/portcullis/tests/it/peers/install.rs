//! What the peers need from npm and PyPI, below the target directory.
//!
//! Each kind is installed once and again when its list changes; tests that want it at the same time wait for
//! the first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// A script or list that is checked in.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// The folder that holds `node_modules`.
pub(crate) fn node() -> PathBuf {
    installed("node", &["package.json", "package-lock.json"], |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(script(file), folder.join(file)).unwrap();
        }
        let prefix = folder.to_string_lossy();
        run("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", &prefix]);
    })
}

/// A program that an npm package brings.
pub(crate) fn node_program(name: &str) -> PathBuf {
    node().join("node_modules/.bin").join(name)
}

/// The interpreter with the Python SDK; the servers written for it are beside.
pub(crate) fn python() -> PathBuf {
    environment("python", "requirements.txt")
}

fn environment(name: &str, requirements: &str) -> PathBuf {
    let folder = installed(name, &[requirements], |folder| {
        let venv = folder.join("venv");
        run("python3", &["-m", "venv", &venv.to_string_lossy()]);
        let list = script(requirements);
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        let python = venv.join("bin/python");
        run(&python.to_string_lossy(), &[&pip[..], &[&list.to_string_lossy()]].concat());
    });
    folder.join("venv/bin/python")
}

/// The folder of this kind, after `install` has filled it for the lists as they are now.
fn installed(kind: &str, lists: &[&str], install: impl FnOnce(&Path)) -> PathBuf {
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    fs::create_dir_all(&peers).unwrap();
    let lock = File::create(peers.join(format!("{kind}.lock"))).unwrap();
    lock.lock().unwrap();
    let wanted: Vec<u8> = lists.iter().flat_map(|list| fs::read(script(list)).unwrap()).collect();
    let (folder, stamp) = (peers.join(kind), peers.join(format!("{kind}.installed")));
    if fs::read(&stamp).ok().as_ref() != Some(&wanted) {
        let _was_not_there = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        install(&folder);
        fs::write(&stamp, wanted).unwrap();
    }
    folder
}

/// A failed installation fails the test, with the line to run by hand.
fn run(program: &str, arguments: &[&str]) {
    let line = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|fault| panic!("cannot run `{line}`: {fault}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a peer cannot be installed; try `{line}`\n{said}");
}
