//! Runs a program and copies what it reads and writes, one thread for each way: what standing between a client
//! and its server costs before anything is done there. `cargo xtask bench wrap` measures against it.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or_else(|| io::Error::other("which program?"))?;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    if let Some(input) = input {
        std::thread::spawn(move || copy(io::stdin().lock(), input));
    }
    if let Some(output) = output {
        copy(output, io::stdout().lock())?;
    }
    child.wait().map(|_| ())
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..read).unwrap_or_default())?;
        to.flush()?;
    }
}
