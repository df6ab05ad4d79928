//! Starting one server and asking it for its tools over stdio, every page; always ended.
//!
//! The server gets an empty home, an environment of what the list says and a path, and a bounded time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::install::last_words;
use super::list::Line;

/// How long a server may take from its start to its last page.
const ANSWER_MAX: Duration = Duration::from_secs(90);
/// How long a server may take to end once its input is closed.
const END_MAX: Duration = Duration::from_secs(3);
/// Longest line that is read.
const LINE_BYTES_MAX: u64 = 32 << 20;
/// Pages that are asked for.
const PAGES_MAX: usize = 200;
/// Lines that wait to be looked at.
const LINES_WAITING_MAX: usize = 64;
const PROTOCOL: &str = "2025-06-18";

/// The answer of `tools/list`, all pages in one, as JSON text.
pub(crate) fn ask(line: &Line, program: &Path, place: &Path) -> Result<String> {
    let home = place.join("home");
    std::fs::create_dir_all(&home)?;
    let mut child = start(line, program, &home, place)?;
    let tools = converse(&mut child);
    end(&mut child);
    let said = std::fs::read_to_string(place.join("stderr.log")).unwrap_or_default();
    // What went wrong comes first, then what the server said to it.
    let tools = tools.map_err(|error| anyhow!("{error:#}; its last words: {}", last_words(&said)))?;
    Ok(serde_json::to_string(&json!({ "tools": tools }))?)
}

fn start(line: &Line, program: &Path, home: &Path, place: &Path) -> Result<Child> {
    let fill = |text: &String| text.replace("{dir}", &home.to_string_lossy());
    let bin = program.parent().unwrap_or(program).to_string_lossy().into_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.args(line.arguments.iter().map(fill)).current_dir(home).env_clear();
    command.env("PATH", format!("{bin}:{path}")).env("HOME", home).env("LANG", "C.UTF-8");
    command.envs(line.environment.iter().map(|(key, value)| (key, fill(value))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(std::fs::File::create(place.join("stderr.log"))?).process_group(0);
    command.spawn().with_context(|| format!("cannot start `{}`", line.program))
}

fn converse(child: &mut Child) -> Result<Vec<Value>> {
    let mut input = child.stdin.take().context("no input")?;
    let lines = read_lines(child.stdout.take().context("no output")?);
    let mut talk = Talk { lines, deadline: Instant::now() + ANSWER_MAX, next: 1 };
    let client = json!({ "name": "portcullis-catalogue-build", "version": "1" });
    let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
    talk.request(&mut input, "initialize", &hello)?;
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    let mut tools = Vec::new();
    let mut cursor = json!({});
    for _ in 0..PAGES_MAX {
        let mut page = talk.request(&mut input, "tools/list", &cursor)?;
        let Some(Value::Array(found)) = page.get_mut("tools").map(Value::take) else {
            bail!("the answer has no `tools`");
        };
        tools.extend(found);
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) => cursor = json!({ "cursor": next }),
            None => return Ok(tools),
        }
    }
    bail!("more than {PAGES_MAX} pages")
}

/// A conversation with one server.
struct Talk {
    lines: Receiver<String>,
    deadline: Instant,
    next: u64,
}

impl Talk {
    fn request(&mut self, input: &mut impl Write, method: &str, params: &Value) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{message}").with_context(|| format!("it ended before `{method}`"))?;
        input.flush()?;
        loop {
            let line = match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("no answer to `{method}` within {} s", ANSWER_MAX.as_secs())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("it ended without an answer to `{method}`"),
            };
            // Some servers write their greetings to standard output: what is no message is passed over.
            let Ok(mut answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer.get("id") != Some(&json!(id)) || answer.get("method").is_some() {
                continue;
            }
            if let Some(error) = answer.get("error") {
                bail!("`{method}` was refused: {}", last_words(&error.to_string()));
            }
            return answer.get_mut("result").map(Value::take).context("neither result nor error");
        }
    }
}

/// Lines of the server's output, read on a thread of their own that ends with the output.
fn read_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = sync_channel(LINES_WAITING_MAX);
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while let Ok(1..) = output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    receive
}

/// Its input is closed by now; a server that stays is ended, and so is all that it started.
fn end(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    // An error here says that it is gone, which is what is wanted.
    let _ = wait(child, END_MAX);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

/// Waits for the end of a program, for a time; a program that is late is ended.
pub(crate) fn wait(child: &mut Child, most: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + most;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::read;
    use super::*;

    /// A server in a few lines of shell: greets on standard output, then answers two requests.
    fn asked(name: &str, script: &str) -> Result<String> {
        let place = std::env::temp_dir().join(format!("catalogue-build-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place)?;
        let lines = read(&format!("npm:a@1 KEY=x sh -c {}", "{dir}/../server"))?;
        let [line] = lines.as_slice() else { bail!("one line") };
        std::fs::write(place.join("server"), format!("#!/bin/sh\n{script}"))?;
        let line =
            Line { arguments: vec![place.join("server").to_string_lossy().into_owned()], ..line.clone() };
        let answer = ask(&line, Path::new("/bin/sh"), &place);
        std::fs::remove_dir_all(&place)?;
        answer
    }

    #[test]
    fn every_page_is_asked_for_and_noise_is_passed_over() {
        let script = r#"echo "hello $KEY"
            read a; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read b
            read c; echo '{"jsonrpc":"2.0","method":"notifications/message"}'
            echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"one"}],"nextCursor":"p2"}}'
            read d; case "$d" in *p2*) echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"two"}]}}';; esac"#;
        assert_eq!(asked("pages", script).unwrap(), r#"{"tools":[{"name":"one"},{"name":"two"}]}"#);
    }

    #[test]
    fn a_server_that_ends_is_reported_with_its_last_words() {
        let error = asked("ends", "echo 'set API_KEY first' >&2; exit 1").unwrap_err();
        assert!(format!("{error:#}").contains("set API_KEY first"), "{error:#}");
    }

    #[test]
    fn a_refusal_is_reported() {
        let script = r#"read a; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}'; read b"#;
        let error = asked("refuses", script).unwrap_err();
        assert!(format!("{error:#}").contains("`initialize` was refused"), "{error:#}");
    }
}
