//! `docs/reference/commands.md`: the help text of every command, found by walking the help itself.
//!
//! Exit codes are part of the help, so they are part of the page.

use anyhow::{Result, ensure};

use super::help;

/// Deeper than this, something lists itself.
const COMMAND_WORDS_MAX: usize = 4;

const HEAD: &str = "\
# Commands

Written by `cargo xtask docs` from the program's own help; change the help, not this page.
";

/// Asks the product: its output for a list of arguments.
type Ask<'product> = dyn FnMut(&[&str]) -> Result<String> + 'product;

/// The whole page. `ask` runs the product with arguments and gives its output.
pub(crate) fn page(ask: &mut Ask<'_>) -> Result<String> {
    let mut page = HEAD.to_owned();
    add_command(&mut page, &[], ask)?;
    Ok(page)
}

fn add_command(page: &mut String, words: &[&str], ask: &mut Ask<'_>) -> Result<()> {
    ensure!(words.len() <= COMMAND_WORDS_MAX, "`{}` is nested too deep", words.join(" "));
    let help = ask(&[words, &["--help"]].concat())?;
    page.push_str(&format_command(words, &help));
    for name in help::subcommands(&help) {
        add_command(page, &[words, &[name]].concat(), ask)?;
    }
    Ok(())
}

fn format_command(words: &[&str], help: &str) -> String {
    let title = [&["portcullis"], words].concat().join(" ");
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_on_the_page_in_the_order_of_the_help() {
        let page = page(&mut |words| {
            Ok(match words {
                ["--help"] => "Guards.\n\nCommands:\n  policy  Policies\n  help    Help\n",
                ["policy", "--help"] => "Policies. \n\nCommands:\n  check  Check\n  test   Test\n",
                ["policy", "check", "--help"] => "Check.\n\nExit codes:\n  0  no problem\n",
                ["policy", "test", "--help"] => "Test.\n",
                other => panic!("asked for {other:?}"),
            }
            .to_owned())
        })
        .unwrap();
        let titles: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(
            titles,
            [
                "## portcullis",
                "## portcullis policy",
                "## portcullis policy check",
                "## portcullis policy test"
            ]
        );
        assert!(page.contains("```text\nCheck.\n\nExit codes:\n  0  no problem\n```\n"), "{page}");
    }

    #[test]
    fn a_command_that_lists_itself_ends_in_an_error() {
        let error = page(&mut |_| Ok("Commands:\n  again  Again\n".to_owned())).unwrap_err();
        assert!(error.to_string().contains("nested too deep"), "{error}");
    }
}
