//! The policy of a wrapped server: a file, or a profile made into a policy once and kept.
//!
//! A profile is about tools, so they are listed at the first start of a server; what comes of it is kept in
//! the data directory under the server's identity, as a policy that its owner can read and change. It does
//! not change by itself: a tool that is new afterwards meets the default, which denies.

use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_catalogue::ToolDefinition;
use portcullis_catalogue::recommend::server_policy;
use portcullis_gateway::{ActivePolicy, Gateway};
use portcullis_json::{Limits, digest, parse, pretty};
use portcullis_policy::Policy;

use super::Profile;
use super::plan::{Plan, PolicySource};

/// For what a gateway judges.
const PASSED_ON: &str = r#"{"version":"1","default":"allow",
    "server_requests":{"sampling":"allow","elicitation":"allow","roots":"allow"}}"#;
/// In the data directory.
const KEPT: &str = "wraps";

/// The policy to judge by.
pub(super) async fn find(plan: &Plan, gateway: &Arc<Gateway>) -> Result<ActivePolicy, String> {
    match &plan.policy {
        PolicySource::File(file) => {
            let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            compile(&name.unwrap_or_else(|| plan.server_name()), &crate::files::read(file)?, file)
        }
        PolicySource::Profile(profile) => of_profile(plan, *profile, gateway).await,
        PolicySource::Gateway => {
            compile("behind-gateway", PASSED_ON.as_bytes(), Path::new("(behind a gateway)"))
        }
    }
}

async fn of_profile(plan: &Plan, profile: Profile, gateway: &Arc<Gateway>) -> Result<ActivePolicy, String> {
    let name = plan.server_name();
    let directory = plan.data_dir.join(KEPT);
    let path = directory.join(format!("{name}.{}.json", profile.in_catalogue().name()));
    if !path.exists() {
        let policy = recommended(plan, profile, gateway).await?;
        keep(&directory, &path, &policy)
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        tracing::warn!(
            "the {} policy of `{}` is in `{}`",
            profile.in_catalogue().name(),
            plan.label,
            path.display()
        );
    }
    compile(&name, &crate::files::read(&path)?, &path)
}

/// The profile's policy for the tools that the server lists now.
async fn recommended(plan: &Plan, profile: Profile, gateway: &Arc<Gateway>) -> Result<String, String> {
    let listed = gateway.tools(&plan.server_name()).await?;
    let tools: Vec<_> = listed
        .iter()
        .filter_map(|tool| Some((ToolDefinition::from_value(&tool.definition).ok()?, tool.class?)))
        .collect();
    let tools = tools.iter().map(|(definition, class)| (definition, *class));
    Ok(pretty(&server_policy(tools, profile.in_catalogue()).policy) + "\n")
}

/// Another wrap of the same server may be faster: then its policy counts.
fn keep(directory: &Path, path: &PathBuf, policy: &str) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(policy.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(fault) if fault.error.kind() != io::ErrorKind::AlreadyExists => Err(fault.error),
        _ => Ok(()),
    }
}

fn compile(name: &str, source: &[u8], file: &Path) -> Result<ActivePolicy, String> {
    let broken = |problems: String| format!("the policy in `{}` does not check: {problems}", file.display());
    let policy = Policy::parse(source).map_err(|problems| broken(problems.text()))?;
    let document = parse(source, &Limits::document()).map_err(|fault| broken(fault.to_string()))?;
    Ok(ActivePolicy { name: name.to_owned(), version: 1, hash: digest(&document), policy })
}
