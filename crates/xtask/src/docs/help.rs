//! Reading clap's help text: which subcommands it lists, and what it says of exit codes.

/// The names under `Commands:`, in the order of the help; `help` itself is left out.
pub(crate) fn subcommands(help: &str) -> Vec<&str> {
    section(help, "Commands:")
        .filter_map(entry)
        .filter_map(|line| line.split([' ', ',']).next())
        .filter(|name| *name != "help")
        .collect()
}

/// The lines under a heading, up to the next line that is not indented.
fn section<'help>(help: &'help str, heading: &str) -> impl Iterator<Item = &'help str> {
    help.lines()
        .skip_while(move |line| *line != heading)
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
}

/// A line with the indent of an entry; continued descriptions are indented deeper.
fn entry(line: &str) -> Option<&str> {
    line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ') && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Judge calls by policy

Usage: portcullis policy <COMMAND>

Commands:
  check    Report every problem of a policy
             check is not a command here
  explain, why  Show how a call is decided
  help     Print this message

Options:
  -h, --help  Print help
";

    #[test]
    fn subcommands_are_the_entries_of_the_commands_section() {
        assert_eq!(subcommands(HELP), ["check", "explain"]);
    }

    #[test]
    fn a_command_without_subcommands_has_none() {
        assert_eq!(subcommands("Usage: portcullis\n\nOptions:\n  -h\n"), Vec::<&str>::new());
    }
}
