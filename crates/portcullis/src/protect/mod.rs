//! `portcullis protect`: puts every server in the client programs' configurations behind `wrap`, or behind a
//! running gateway (`gateway.rs`), and takes it back out.
//!
//! Which files there are and how they are changed is known to `portcullis-clients`; here it is shown, asked
//! for, and done.

mod gateway;
mod show;

pub(crate) use show::way;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use portcullis_clients::{
    Backups, Bridge, Change, Client, FileFault, Guard, Home, Place, Undone, protect, undo,
};
use portcullis_json::{Object, Value, pretty};

use crate::config;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::fail;
use gateway::{Behind, Plan};

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
    /// What to put in front of each server: `wrap`, which the client starts, or the running gateway, where each
    /// gets a policy and a grant of its own. What a server found in the client's file (environment, headers) is
    /// then sealed in the gateway's store, and the client's file has the grant's token instead; servers for which
    /// that cannot be done without keeping a secret readable are left alone.
    #[arg(long, value_enum, default_value_t = Via::Wrap)]
    via: Via,
    /// Where clients reach the gateway, if it is not the address that it listens on.
    #[arg(long, value_name = "URL")]
    gateway_url: Option<String>,
    /// Where `wrap` keeps its log and counters, if not in the usual place; with `--via gateway`, the directory of
    /// the running gateway.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take every guard out again.
    #[arg(long, conflicts_with_all = ["dry_run", "profile", "data_dir", "via", "gateway_url"])]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Each client starts `portcullis wrap`.
    Wrap,
    /// Each client connects to the running gateway.
    Gateway,
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
        if self.via == Via::Gateway {
            return match self.behind(&home) {
                Ok(behind) => self.put_behind(output, &behind, &home, &project, &backups),
                Err(message) => fail(output, &message),
            };
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

    fn behind(&self, home: &Home) -> Result<Behind, String> {
        // A bridge keeps its own log: the gateway's directory is the gateway's.
        let bridges = home.data.join("portcullis-bridges");
        let bridge = Bridge { program: own_program()?, data_dir: bridges.to_string_lossy().into_owned() };
        let data_dir = self.data_dir.as_deref().unwrap_or(config::DATA_DIR.as_ref());
        Behind::find(data_dir, self.gateway_url.as_deref(), &self.profile, bridge)
    }

    fn put_behind(
        &self,
        output: &mut Output,
        behind: &Behind,
        home: &Home,
        project: &std::path::Path,
        backups: &Backups,
    ) -> io::Result<Code> {
        let found = portcullis_clients::find(home, Some(project), &self.clients);
        let planned: Vec<(Place, Result<Plan, FileFault>)> =
            found.into_iter().map(|found| (found.place.clone(), behind.plan(&found.place))).collect();
        let servers: usize = planned.iter().flat_map(|(_, plan)| plan).map(|plan| plan.wanted.len()).sum();
        if !self.json {
            show::behind(output, behind, &planned)?;
        }
        let go_on = servers > 0 && !self.dry_run;
        if go_on && !self.yes && !ask(output, servers)? {
            output.note("nothing was changed")?;
            return Ok(Code::No);
        }
        let done = planned.into_iter().map(|(place, plan)| {
            let applied = plan.and_then(|plan| match go_on {
                true => behind.carry_out(plan, backups),
                false => Ok(behind.preview(plan)),
            });
            (place, applied)
        });
        self.tell(output, &done.collect::<Vec<Planned>>(), servers, go_on)
    }

    fn guard(&self) -> Result<Guard, String> {
        let directory = self.data_dir.as_ref().map(std::path::absolute).transpose();
        let directory = directory.map_err(|error| format!("`--data-dir`: {error}"))?;
        Ok(Guard {
            program: own_program()?,
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
        self.tell(output, &done, servers, go_on)
    }

    fn tell(&self, output: &mut Output, done: &[Planned], servers: usize, written: bool) -> io::Result<Code> {
        if self.json {
            output.line(&pretty(&show::plan_json(done, written)))?;
        } else {
            show::outcome(output, done, servers, written)?;
        }
        let failed = done.iter().any(|(_, applied)| applied.is_err());
        Ok(if failed { Code::Failed } else { Code::Good })
    }

    fn take_back(
        &self,
        output: &mut Output,
        home: &Home,
        project: &std::path::Path,
        backups: &Backups,
    ) -> io::Result<Code> {
        let undone = match undo(backups, home, Some(project), &self.clients, &mut gateway::take_down) {
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

fn own_program() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find my own program: {error}"))?;
    Ok(program.to_string_lossy().into_owned())
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
