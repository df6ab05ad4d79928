//! What the gateway tells its operator while it runs: lines on standard error, as text or JSON.

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// How the gateway reports.
#[derive(Args, Clone, Debug)]
pub(crate) struct Telemetry {
    /// Form of the lines on standard error.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// What to report: a level, or levels by module, as in `info,portcullis_gateway=debug`.
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log_filter: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Telemetry {
    /// Lines of text, for a command without these options.
    pub(crate) fn lines(filter: &str) -> Telemetry {
        Telemetry { log_format: Format::Text, log_filter: filter.to_owned() }
    }

    /// Starts reporting; once per process.
    pub(crate) fn start(&self) -> Result<(), String> {
        let filter = EnvFilter::try_new(&self.log_filter)
            .map_err(|error| format!("`--log-filter {}` cannot be read: {error}", self.log_filter))?;
        let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
        let lines =
            tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour).with_writer(std::io::stderr);
        let started = match self.log_format {
            Format::Text => lines.with_target(false).try_init(),
            Format::Json => lines.json().flatten_event(true).try_init(),
        };
        started.map_err(|error| format!("reporting cannot start: {error}"))
    }
}
