//! `portcullis serve`: the gateway as a configuration file says, until a signal.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::config::Config;
use crate::exit::Code;
use crate::instance::{self, Instance, Opening, Signals};
use crate::output::Output;
use crate::telemetry::Telemetry;

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = "portcullis.toml")]
    config: PathBuf,
    #[command(flatten)]
    opening: Opening,
    #[command(flatten)]
    telemetry: Telemetry,
    #[cfg(feature = "otlp")]
    #[command(flatten)]
    otlp: crate::otlp::Otlp,
}

impl Serve {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self.serve() {
            Ok(()) => Ok(Code::Good),
            Err(message) => {
                output.error(&message)?;
                Ok(Code::Failed)
            }
        }
    }

    fn serve(self) -> Result<(), String> {
        let config = Config::load(&self.config).map_err(|fault| fault.to_string())?;
        self.telemetry.start()?;
        runtime()?.block_on(async {
            let (stop, hangup) = Signals::catch()?.split();
            let listen = config.listen;
            let tls = config.tls.as_ref().map(instance::load_tls).transpose()?;
            // The port first: a second gateway should not touch the state of the first.
            let listener = instance::bind(listen).await?;
            let instance = blocking(move || Instance::open(config, "serve", self.opening)).await?;
            tracing::info!(%listen, "serving");
            #[cfg(feature = "otlp")]
            let spans = self.otlp.start(instance.gateway())?;
            let served =
                instance::run(Arc::new(instance), listener, tls, Some((self.config, hangup)), stop).await;
            #[cfg(feature = "otlp")]
            spans.finish().await;
            served
        })
    }
}

/// The runtime of the gateway.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| format!("the system gives no threads: {error}"))
}

/// Opening waits for disks: not on a thread that serves.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| format!("starting failed: {error}"))?
}
