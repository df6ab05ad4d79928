//! `portcullis scan`: list a server's tools, say what they can do, and which policy to use.
//!
//! `source.rs` gets the definitions, the catalogue judges them, `beside.rs` compares them with other servers,
//! `report.rs` writes the result in the wanted form, `gate.rs` decides how the command ends.

mod beside;
mod gate;
mod report;
mod source;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use portcullis_catalogue::Level;
use portcullis_catalogue::recommend::Profile;
use portcullis_catalogue::record::ServerRecord;

use crate::exit::Code;
use crate::files;
use crate::introspect;
use crate::output::Output;
use crate::reached::{fail, pair, seconds};

/// Say what a server's tools can do, how risky that is, and which policy to use.
///
/// Lists the tools of one server, gives each a class and a level with the reason, reports what is odd in the
/// definitions, and recommends a policy. The server is a program that is started for this and ended again, an
/// address, or a saved list; none of its tools is called.
#[derive(Args)]
#[command(group(ArgGroup::new("server").required(true).args(["file", "url", "command"])))]
pub(crate) struct Scan {
    /// A saved answer to `tools/list`, or an earlier `scan --json`; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The address of a server.
    #[arg(long)]
    url: Option<String>,
    /// What is spoken at the address: streamable HTTP, or the older HTTP with server-sent events.
    #[arg(long, value_enum, default_value_t = introspect::Spoken::Http, requires = "url")]
    transport: introspect::Spoken,
    /// What to send along: `NAME=env:VARIABLE`, `NAME=file:PATH`, or a value, which others on this
    /// machine may see on the command line.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    headers: Vec<(String, String)>,
    /// The program of a local server and its arguments, behind `--`. No shell reads them; the program
    /// gets the environment of this command.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
    /// The saved list of another server that the same agent uses; may be repeated. Tools of the same name,
    /// look-alikes and descriptions that speak of another server's tools are reported.
    #[arg(long, value_name = "FILE")]
    beside: Vec<PathBuf>,
    /// What to call the server; otherwise it is called what it calls itself.
    #[arg(long)]
    name: Option<String>,
    /// How strict the policy is: `strict`, `recommended` or `permissive`.
    #[arg(long, default_value = "recommended", value_parser = profile)]
    profile: Profile,
    /// Write the policy to this file, which must not exist yet.
    #[arg(long, value_name = "FILE")]
    policy_out: Option<PathBuf>,
    #[command(flatten)]
    form: report::Form,
    /// Write the report to this file instead of printing it.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit with 1 when there is a risk of this level or above: `low`, `medium`, `high` or `critical`.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    fail_on: Option<Level>,
    /// Exit with 1 only for risks that are not in this file.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Accept what there is now: write it to this file, for `--baseline`.
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// How long a live server may take: `90s`, `5m`.
    #[arg(long, value_name = "TIME", default_value_t = introspect::WAIT.as_secs(), value_parser = seconds)]
    timeout: u64,
}

/// INVARIANT: secrets do not print. Headers, arguments and addresses may hold some.
impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("file", &self.file).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Scan {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let found = match self.listed(output) {
            Ok(found) => found,
            Err(message) => return fail(output, &message),
        };
        source::tell(&found, output)?;
        let mut record = ServerRecord::of(found.facts, found.tools, found.provenance);
        if let Err(message) = beside::compare(&mut record, &self.beside, &self.command) {
            return fail(output, &message);
        }
        let scanned = report::Scanned {
            at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            record,
            provenance: found.provenance,
            published: found.published,
            revision: found.revision,
            file: self.file.clone(),
            profile: self.profile,
        };
        match self.write(&scanned, output)? {
            Ok(code) => Ok(code),
            Err(message) => fail(output, &message),
        }
    }

    fn listed(&self, output: &mut Output) -> Result<source::Found, String> {
        let wait = Duration::from_secs(self.timeout);
        let found = match (&self.file, &self.url) {
            (Some(file), _) => source::from_file(file, self.name.as_deref()),
            (None, Some(url)) => {
                let address = source::Address { url, spoken: self.transport, headers: &self.headers };
                source::from_url(&address, self.name.as_deref(), wait, output)
            }
            (None, None) => source::from_command(&self.command, self.name.as_deref(), wait, output),
        };
        // What was shown on the way must not stand in front of what comes now.
        output.progress_done();
        found
    }

    /// Everything that is written; the inner error is for the user.
    fn write(&self, scanned: &report::Scanned, output: &mut Output) -> io::Result<Result<Code, String>> {
        // Read first: a baseline that cannot be read must not look like one that accepts nothing.
        let gate = match gate::Gate::new(self.fail_on, self.baseline.as_deref()) {
            Ok(gate) => gate,
            Err(message) => return Ok(Err(message)),
        };
        if let Err(message) = self.write_files(scanned, &gate, output)? {
            return Ok(Err(message));
        }
        gate.pass(&scanned.record, output).map(Ok)
    }

    fn write_files(
        &self,
        scanned: &report::Scanned,
        gate: &gate::Gate,
        output: &mut Output,
    ) -> io::Result<Result<(), String>> {
        let text = self.form.text(scanned, output);
        match &self.out {
            None => output.text(&text)?,
            Some(path) => match files::put(path, &text) {
                Ok(()) => output.note(&format!("the report is in `{}`", path.display()))?,
                Err(message) => return Ok(Err(message)),
            },
        }
        if let Some(path) = &self.policy_out {
            let policy = scanned.record.policy(self.profile).text() + "\n";
            if let Err(message) = files::create(path, &policy) {
                return Ok(Err(message));
            }
            let shown = path.display();
            output.note(&format!(
                "the policy is in `{shown}`; next: `portcullis policy add NAME {shown} --server NAME --activate`"
            ))?;
        }
        match &self.write_baseline {
            Some(path) => match gate.accept(&scanned.record, path) {
                Ok(message) => output.note(&message).map(Ok),
                Err(message) => Ok(Err(message)),
            },
            None => Ok(Ok(())),
        }
    }
}

fn profile(text: &str) -> Result<Profile, String> {
    Profile::from_name(text).ok_or_else(|| "write `strict`, `recommended` or `permissive`".to_owned())
}

fn level(text: &str) -> Result<Level, String> {
    Level::from_name(text).ok_or_else(|| "write `low`, `medium`, `high` or `critical`".to_owned())
}
