//! `portcullis demo`: an agent meets a gateway, in the terminal, without anybody owning an agent.
//!
//! Everything is real (gateway, policy, playground, log) and private: a free port, a temporary directory.

use std::io;
use std::sync::Arc;

use clap::Args;
use portcullis_json::{Object, Value, pretty};
use portcullis_state::DataDirectory;
use portcullis_state::log::verify;

use crate::agent::{Agent, Said};
use crate::exit::Code;
use crate::instance::{self, Instance, Opening};
use crate::output::Output;
use crate::reached::fail;
use crate::serve::runtime;
use crate::up;

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// One scene: what the agent tries, and why it is worth watching.
struct Scene {
    title: &'static str,
    tool: &'static str,
    arguments: &'static str,
    times: usize,
}

const SCENES: &[Scene] = &[
    Scene { title: "Reading is allowed", tool: "list_notes", arguments: "{}", times: 1 },
    Scene {
        title: "Deleting is denied, with a reason that the agent can act on",
        tool: "delete_note",
        arguments: r#"{"title":"welcome"}"#,
        times: 1,
    },
    Scene {
        title: "A hidden tool is not in the list, and a call to it is answered as if it did not exist",
        tool: "wipe_notes",
        arguments: "{}",
        times: 1,
    },
    Scene {
        title: "A limit: three sums a minute, and the fourth is told how long to wait",
        tool: "run_sum",
        arguments: r#"{"numbers":[1,2,3]}"#,
        times: 4,
    },
    Scene {
        title: "A rule about an argument: large invoices are never for agents",
        tool: "pay_invoice",
        arguments: r#"{"invoice":"A-17","amount":900}"#,
        times: 1,
    },
    Scene {
        title: "Asking a person: a small invoice is not paid before somebody has said yes",
        tool: "pay_invoice",
        arguments: r#"{"invoice":"A-18","amount":120}"#,
        times: 1,
    },
];

impl Demo {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let played = runtime().and_then(|runtime| runtime.block_on(play(output, self.json)));
        match played {
            Ok(()) => Ok(Code::Good),
            Err(message) => fail(output, &message),
        }
    }
}

async fn play(output: &mut Output, json: bool) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let data_dir = directory.path().join("data");
    let listener = instance::bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let gateway = listener.local_addr().map_err(|error| error.to_string())?;
    let (instance, quick_start) = up::open(&data_dir, gateway, Opening::default()).await?;
    let path = quick_start.path();
    let agent = Agent { gateway, path, token: quick_start.token };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served: Arc<Instance> = instance;
    let running = tokio::spawn(instance::run(served, listener, None, None, async move {
        // Either way, the play is over.
        let _ = stopped.await;
    }));
    let told = tell(output, &agent, json).await;
    let _ = stop.send(());
    running.await.map_err(|error| format!("the gateway failed: {error}"))??;
    let records = told.and_then(|scenes| proven(&data_dir).map(|records| (scenes, records)));
    let (scenes, records) = records?;
    let last = match json {
        true => pretty(&Object::new().with("scenes", scenes).with("log_records", records).into()),
        false => format!(
            "Every decision is in the log, chained and signed: {records} records, and it is intact.\n\n\
             Try it yourself: portcullis up"
        ),
    };
    output.line(&last).map_err(|error| error.to_string())
}

/// Plays all scenes; the answers, for programs.
async fn tell(output: &mut Output, agent: &Agent, json: bool) -> Result<Vec<Value>, String> {
    let mut say = |line: &str| match json {
        true => Ok(()),
        false => output.line(line).map_err(|error| error.to_string()),
    };
    say("A gateway with the playground behind it is running in this process, just for you.\n")?;
    let tools = agent.list().await?;
    say(&format!("The agent lists its tools and sees {}:\n  {}\n", tools.len(), tools.join(", ")))?;
    let mut answers = Vec::new();
    for (number, scene) in (1..).zip(SCENES) {
        say(&format!("{number}. {}", scene.title))?;
        for _ in 0..scene.times {
            let said = agent.call(scene.tool, scene.arguments).await?;
            say(&format!("   agent    {} {}", scene.tool, scene.arguments))?;
            say(&heard(&said))?;
            answers.push(answer(scene, &said));
        }
        say("")?;
    }
    Ok(answers)
}

fn heard(said: &Said) -> String {
    let who = if said.went_well { "server " } else { "gateway" };
    let text = said.text.replace('\n', ", ");
    match said.rule() {
        Some(rule) => format!("   {who}  {text}\n            (rule {rule})"),
        None => format!("   {who}  {text}"),
    }
}

fn answer(scene: &Scene, said: &Said) -> Value {
    let decision = said.decision.clone().map_or(Value::Null, Value::from);
    Object::new()
        .with("title", scene.title)
        .with("tool", scene.tool)
        .with("text", said.text.as_str())
        .with("went_well", said.went_well)
        .with("decision", decision)
        .into()
}

/// Verifies the log that the play has left; the number of its records.
fn proven(data_dir: &std::path::Path) -> Result<i64, String> {
    let directory = DataDirectory::open_or_create(data_dir).map_err(|fault| fault.to_string())?;
    let key = directory.public_key().map_err(|fault| fault.to_string())?;
    let verified = verify(&directory.log(), Some(&key)).map_err(|fault| fault.to_string())?;
    Ok(i64::try_from(verified.records).unwrap_or(i64::MAX))
}
