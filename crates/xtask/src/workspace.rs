//! Where things are: the root of the workspace, its packages, the product's binary.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process;

/// The part of `cargo metadata` that the tasks look at.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// The crates of this workspace.
    pub(crate) packages: Vec<Package>,
    target_directory: PathBuf,
}

/// A crate of this workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as the manifest declares it, on a crate of this workspace or any other.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Nothing for a normal dependency; else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// The directory that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// Asks cargo about the workspace.
pub(crate) fn metadata() -> Result<Metadata> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let captured = process::capture(&mut process::cargo(&arguments))?;
    serde_json::from_str(&captured.stdout).context("cannot read the output of `cargo metadata`")
}

/// Builds the product and says where its binary is.
pub(crate) fn build_product() -> Result<PathBuf> {
    // The set that CI builds: another one would choose other features and build every dependency again.
    process::run(&mut process::cargo(&["build", "--quiet", "--workspace", "--bins", "--tests"]))?;
    product()
}

/// Where an earlier build left the product's binary.
pub(crate) fn product() -> Result<PathBuf> {
    let path = built("debug/portcullis")?;
    if !path.is_file() {
        bail!("`portcullis` is not built; run `cargo build -p portcullis` first");
    }
    Ok(path)
}

/// A path inside the target directory.
pub(crate) fn built(relative: &str) -> Result<PathBuf> {
    let suffix = std::env::consts::EXE_SUFFIX;
    Ok(target()?.join(format!("{relative}{suffix}")))
}

/// The directory that holds what is built, and what the tasks fetch. Cargo is asked once: that takes longer than some of
/// what is measured.
pub(crate) fn target() -> Result<PathBuf> {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    if let Some(known) = TARGET.get() {
        return Ok(known.clone());
    }
    let found = metadata()?.target_directory;
    Ok(TARGET.get_or_init(|| found).clone())
}

/// The repository's files, as paths from its root with `/`: those git tracks, and new ones it would.
pub(crate) fn files() -> Result<Vec<String>> {
    let mut git = process::command("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = process::capture(&mut git)?.stdout;
    let mut files: Vec<String> =
        listed.split_terminator('\0').filter(|path| root().join(path).is_file()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_and_its_files_are_found_from_there() {
        assert!(root().join("Cargo.toml").is_file());
        let files = files().unwrap();
        assert!(files.iter().any(|path| path == "crates/xtask/src/workspace.rs"));
        assert!(!files.iter().any(|path| path.starts_with("target/")));
    }

    #[test]
    fn cargo_knows_this_crate_and_what_it_uses() {
        let metadata = metadata().unwrap();
        let this = metadata.packages.iter().find(|package| package.name == "xtask").unwrap();
        assert!(this.dependencies.iter().any(|dependency| dependency.name == "serde_json"));
    }
}
