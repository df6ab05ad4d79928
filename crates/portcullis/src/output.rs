//! Where commands write. Colour goes to terminals only, and not where `NO_COLOR` is set.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

/// Standard output and standard error.
pub(crate) struct Output {
    out: Box<dyn Write>,
    error: Box<dyn Write>,
    colour: bool,
}

impl Output {
    /// The process's own.
    pub(crate) fn standard() -> Output {
        let out = anstream::stdout();
        let colour = out.current_choice() != ColorChoice::Never;
        Output { out: Box::new(out), error: Box::new(AutoStream::auto(io::stderr())), colour }
    }

    /// Whether standard output shows colour.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
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
        writeln!(self.error, "error: {text}")
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
