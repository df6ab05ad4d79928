//! How a scan ends: whether there is a risk that somebody did not want, or did not know.

use std::io;
use std::path::Path;

use portcullis_catalogue::baseline::Baseline;
use portcullis_catalogue::record::{Risk, ServerRecord};
use portcullis_catalogue::{Level, inert_short};

use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Risks that are named one by one.
const NAMED_MAX: usize = 20;

/// What fails the command.
pub(super) struct Gate {
    level: Option<Level>,
    baseline: Option<Baseline>,
}

impl Gate {
    /// With a baseline and no level, everything that is new fails.
    pub(super) fn new(level: Option<Level>, baseline: Option<&Path>) -> Result<Gate, String> {
        let read = |path: &Path| {
            Baseline::read(&files::read(path)?).map_err(|fault| format!("`{}`: {fault}", path.display()))
        };
        let baseline = baseline.map(read).transpose()?;
        let level = level.or(baseline.is_some().then_some(Level::Low));
        Ok(Gate { level, baseline })
    }

    /// Writes down what there is; what to tell the user.
    pub(super) fn accept(&self, server: &ServerRecord, path: &Path) -> Result<String, String> {
        files::put(path, &(Baseline::of(server).text() + "\n"))?;
        let shown = path.display();
        Ok(format!(
            "{} risks are accepted in `{shown}`; use it with `--baseline {shown}`",
            server.risks().len()
        ))
    }

    /// Says what fails, and gives the exit code.
    pub(super) fn pass(&self, server: &ServerRecord, output: &mut Output) -> io::Result<Code> {
        let Some(level) = self.level else {
            return Ok(Code::Good);
        };
        let risks = server.risks();
        let counts = |risk: &&Risk<'_>| {
            risk.level >= level && self.baseline.as_ref().is_none_or(|baseline| baseline.is_new(risk))
        };
        let failing: Vec<&Risk<'_>> = risks.iter().filter(counts).collect();
        if failing.is_empty() {
            return Ok(Code::Good);
        }
        for risk in failing.iter().take(NAMED_MAX) {
            let tool = inert_short(risk.tool_name(), 80);
            let place = if tool.is_empty() { String::new() } else { format!(" in `{tool}`") };
            output.note(&format!("{}: {}{place}", risk.level.name(), risk.rule))?;
        }
        let what = if self.baseline.is_some() { "new risks" } else { "risks" };
        output.error(&format!("{} {what} of level {} or above", failing.len(), level.name()))?;
        Ok(Code::No)
    }
}
