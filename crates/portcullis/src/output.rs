//! Where commands write. Colour goes to terminals only, and not where `NO_COLOR` is set.

use std::io::{self, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};
use portcullis_catalogue::inert;

/// Standard output and standard error.
pub(crate) struct Output {
    out: Box<dyn Write>,
    error: Box<dyn Write>,
    colour: bool,
    /// Whether somebody watches standard error.
    watched: bool,
    /// Columns that the progress line takes.
    progress: usize,
}

/// Columns of a progress line; a longer one would break and stay.
const PROGRESS_COLUMNS: usize = 72;

/// Messages repeat what they are about, and that may come from anywhere: only their lines are ours.
fn inert_lines(text: &str) -> String {
    text.split('\n').map(inert).collect::<Vec<_>>().join("\n")
}

impl Output {
    /// The process's own.
    pub(crate) fn standard() -> Output {
        let out = anstream::stdout();
        let colour = out.current_choice() != ColorChoice::Never;
        let watched = io::stderr().is_terminal();
        let error = Box::new(AutoStream::auto(io::stderr()));
        Output { out: Box::new(out), error, colour, watched, progress: 0 }
    }

    /// Whether standard output shows colour.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// Columns of the terminal that standard output is; `None` where it is none.
    pub(crate) fn width(&self) -> Option<usize> {
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
    }

    /// What is being done, over what was being done before; only where somebody watches.
    pub(crate) fn progress(&mut self, text: &str) {
        if self.watched {
            let text: String = text.chars().take(PROGRESS_COLUMNS).collect();
            let columns = self.progress.max(text.chars().count());
            // What is shown on the way is worth no failure.
            let _ = write!(self.error, "\r{text:<columns$}").and_then(|()| self.error.flush());
            self.progress = columns;
        }
    }

    /// Takes the progress line away.
    pub(crate) fn progress_done(&mut self) {
        if self.progress > 0 {
            let _ = write!(self.error, "\r{:<1$}\r", "", self.progress).and_then(|()| self.error.flush());
            self.progress = 0;
        }
    }

    /// A line of the result.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// The result as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        write!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Part of the result, not flushed.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// A line about what went wrong.
    pub(crate) fn error(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.error, "error: {}", inert_lines(text))
    }

    /// A line beside the result.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.error, "{text}")
    }

    /// In bold green, where there is colour.
    pub(crate) fn good(&self, text: &str) -> String {
        self.styled("\u{1b}[1;32m", text)
    }

    /// In bold red, where there is colour.
    pub(crate) fn bad(&self, text: &str) -> String {
        self.styled("\u{1b}[1;31m", text)
    }

    fn styled(&self, start: &str, text: &str) -> String {
        if self.colour { format!("{start}{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
