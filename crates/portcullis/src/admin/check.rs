//! Looking at a server as the gateway would reach it: does it answer, in which era, with which tools.

use std::time::Duration;

use portcullis_gateway::{ServerSpec, TransportSpec};
use portcullis_json::{Object, Value};

use crate::introspect::{self, Target};
use crate::playground;

/// For the whole look.
const LOOK_WAIT: Duration = Duration::from_secs(30);

/// Asks the server who it is and what it can do. Not to be called from async code.
pub(super) fn look(mut spec: ServerSpec) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
    runtime.block_on(async {
        if playground::is_meant(&spec) {
            let running = playground::Running::start()?;
            spec.headers = vec![running.header()];
            spec.transport = TransportSpec::http(running.url);
        }
        let shown = format!("server `{}`", spec.name);
        let headers = std::mem::take(&mut spec.headers);
        let url = spec.transport.url().unwrap_or_default().to_owned();
        let target = Target::Url { url, headers };
        let seen = introspect::list_within(target, &shown, LOOK_WAIT, &mut |_| {}).await?;
        Ok(answer(&spec, &seen))
    })
}

fn answer(spec: &ServerSpec, seen: &introspect::Seen) -> Value {
    let answer = Object::new()
        .with("name", spec.name.as_str())
        .with("era", seen.revision.as_str())
        .with("tools", super::tools::described(&spec.name, &spec.classes, &seen.tools));
    answer.into()
}
