//! `portcullis up`: a gateway on loopback with the playground behind it, ready to be tried.
//!
//! What it makes (server, policy, grant) is made once; a second `up` finds everything as it was left. The
//! token of its grant is kept in a file that only the owner can read, so that what is printed can be pasted
//! every time.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::config::{self, Config};
use crate::exit::Code;
use crate::instance::{self, Instance, Opening, Signals};
use crate::output::Output;
use crate::quick_start::{self, QuickStart};
use crate::serve::{blocking, runtime};
use crate::telemetry::Telemetry;

#[derive(Args, Debug)]
pub(crate) struct Up {
    /// Where to listen; loopback only.
    #[arg(long, value_name = "ADDRESS", default_value_t = config::LISTEN)]
    listen: SocketAddr,
    /// Where state is kept.
    #[arg(long, value_name = "DIR", default_value = config::DATA_DIR)]
    data_dir: PathBuf,
    /// Print what to paste as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: Opening,
    #[command(flatten)]
    telemetry: Telemetry,
}

impl Up {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self.up(output) {
            Ok(()) => Ok(Code::Good),
            Err(message) => {
                output.error(&message)?;
                Ok(Code::Failed)
            }
        }
    }

    fn up(self, output: &mut Output) -> Result<(), String> {
        if !self.listen.ip().is_loopback() {
            return Err(format!(
                "`up` listens on this machine only, not on `{}`; for others use `portcullis serve --config`",
                self.listen
            ));
        }
        self.telemetry.start()?;
        runtime()?.block_on(async {
            // There is no file to read again: a closed terminal ends nothing.
            let (stop, _hangup) = Signals::catch()?.split();
            let listener = instance::bind(self.listen).await?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            let (instance, quick_start) = open(&self.data_dir, address, self.opening).await?;
            let shown = if self.json { quick_start.as_json() } else { quick_start.as_text() };
            output.text(&shown).map_err(|error| error.to_string())?;
            instance::run(instance, listener, None, None, stop).await
        })
    }
}

/// A gateway with everything that is needed to try it.
pub(crate) async fn open(
    data_dir: &Path,
    address: SocketAddr,
    opening: Opening,
) -> Result<(Arc<Instance>, QuickStart), String> {
    let config = Config::by_default(address, data_dir);
    let data_dir = data_dir.to_owned();
    blocking(move || {
        let instance = Instance::open(config, "up", opening)?;
        let quick_start = quick_start::prepare(&instance, &data_dir, address)?;
        Ok((Arc::new(instance), quick_start))
    })
    .await
}
