//! `portcullis protect`: puts every server in the client programs' configurations behind `wrap`, and takes it
//! back out.
//!
//! Which files there are and how they are changed is known to `portcullis-clients`; here it is shown, asked
//! for, and done.

mod show;

pub(crate) use show::way;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use portcullis_clients::{Backups, Change, Client, FileFault, Guard, Home, Place, Undone, protect, undo};
use portcullis_json::{Object, Value, pretty};

use crate::exit::Code;
use crate::output::Output;
use crate::reached::fail;

#[derive(Args, Debug)]
pub(crate) struct Protect {
    /// Only this client: claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini-cli; may be
    /// repeated.
    #[arg(long = "client", value_name = "NAME", value_parser = Client::parse)]
    clients: Vec<Client>,
    /// The project whose files are looked at beside your own.
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Which policy each server gets: strict, recommended or permissive.
    #[arg(long, default_value = "recommended", value_parser = ["strict", "recommended", "permissive"])]
    profile: String,
    /// Where `wrap` keeps its log and counters, if not in the usual place.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take every guard out again.
    #[arg(long, conflicts_with_all = ["dry_run", "profile", "data_dir"])]
    undo: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Another home directory.
    #[arg(long, value_name = "DIR", hide = true)]
    home: Option<PathBuf>,
}

/// A file with what would become of it.
type Planned = (Place, Result<Change, FileFault>);

impl Protect {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let Some(home) = self.home.clone().map(Home::at).or_else(Home::of_environment) else {
            return fail(output, "your home directory is not known; set `HOME`");
        };
        let backups = Backups::at(home.data.join("portcullis-protect"));
        let project = std::path::absolute(&self.project)?;
        if self.undo {
            return self.take_back(output, &home, &project, &backups);
        }
        let guard = match self.guard() {
            Ok(guard) => guard,
            Err(message) => return fail(output, &message),
        };
        let found = portcullis_clients::find(&home, Some(&project), &self.clients);
        let planned: Vec<Planned> =
            found.into_iter().map(|found| (found.place.clone(), protect(&found.place, &guard))).collect();
        self.put_in(output, planned, &backups)
    }

    fn guard(&self) -> Result<Guard, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("cannot find my own program: {error}"))?;
        let directory = self.data_dir.as_ref().map(std::path::absolute).transpose();
        let directory = directory.map_err(|error| format!("`--data-dir`: {error}"))?;
        Ok(Guard {
            program: program.to_string_lossy().into_owned(),
            profile: self.profile.clone(),
            data_dir: directory.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    fn put_in(&self, output: &mut Output, planned: Vec<Planned>, backups: &Backups) -> io::Result<Code> {
        let servers: usize = planned.iter().flat_map(|(_, plan)| plan).map(|plan| plan.guarded.len()).sum();
        if !self.json {
            show::plan(output, &planned)?;
        }
        let go_on = servers > 0 && !self.dry_run;
        if go_on && !self.yes && !ask(output, servers)? {
            output.note("nothing was changed")?;
            return Ok(Code::No);
        }
        let mut done = Vec::new();
        for (place, plan) in planned {
            let applied = plan.and_then(|plan| match go_on {
                true => plan.apply(backups).map(|()| plan),
                false => Ok(plan),
            });
            done.push((place, applied));
        }
        let failed = done.iter().any(|(_, applied)| applied.is_err());
        if self.json {
            output.line(&pretty(&show::plan_json(&done, go_on)))?;
        } else {
            show::outcome(output, &done, servers, go_on)?;
        }
        Ok(if failed { Code::Failed } else { Code::Good })
    }

    fn take_back(
        &self,
        output: &mut Output,
        home: &Home,
        project: &std::path::Path,
        backups: &Backups,
    ) -> io::Result<Code> {
        let undone = match undo(backups, home, Some(project), &self.clients) {
            Ok(undone) => undone,
            Err(fault) => return fail(output, &fault.to_string()),
        };
        let failed = undone.iter().any(|(_, result)| result.is_err());
        if self.json {
            let files: Vec<Value> = undone.iter().map(|(path, result)| undone_json(path, result)).collect();
            output.line(&pretty(&Object::new().with("files", files).into()))?;
        } else {
            show::undone(output, &undone)?;
        }
        Ok(if failed { Code::Failed } else { Code::Good })
    }
}

/// Whether a person says yes; nobody who can be asked means no.
fn ask(output: &mut Output, servers: usize) -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        output.note("nobody can be asked here; say `--yes` to change these files, or `--dry-run` to look")?;
        return Ok(false);
    }
    output.text(&format!("put {servers} server(s) behind portcullis? [y/N] "))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn undone_json(path: &std::path::Path, result: &Result<Undone, FileFault>) -> Value {
    let object = Object::new().with("path", path.to_string_lossy().into_owned());
    match result {
        Ok(Undone::Exactly(_)) => object.with("restored", "exactly"),
        Ok(Undone::GuardsOnly(_)) => object.with("restored", "guards-only"),
        Ok(Undone::Gone(_)) => object.with("restored", "gone"),
        Err(fault) => object.with("error", fault.to_string()),
    }
    .into()
}
