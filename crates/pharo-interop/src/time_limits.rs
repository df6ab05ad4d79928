//! How long each tool may take: a default by kind of work, the environment over it, and the
//! `timeout_seconds` of a single call over both.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    settings::SettingsFault,
    tools::{self, Tool},
};

/// The longest limit that can be asked for.
pub(crate) const TIME_LIMIT_SECONDS_MAX: u64 = 7200;

const EVERY_TOOL: &str = "PHARO_MCP_TIMEOUT";

/// What kind of work a tool asks of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    LookUp,
    Screen,
    Code,
    Files,
    Tests,
    Install,
}

impl Pace {
    fn seconds(self) -> u64 {
        match self {
            Self::LookUp => 30,
            Self::Screen => 60,
            Self::Code => 120,
            Self::Files => 300,
            Self::Tests => 900,
            Self::Install => 1800,
        }
    }
}

/// The limits of this process.
#[derive(Debug, Default)]
pub(crate) struct TimeLimits {
    every_tool: Option<u64>,
    by_tool: BTreeMap<&'static str, u64>,
}

impl TimeLimits {
    /// Reads `PHARO_MCP_TIMEOUT` and `PHARO_MCP_TIMEOUT_TOOL` for each tool.
    pub(crate) fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsFault> {
        let read = |name: &str| match variable(name) {
            Some(text) => seconds(name, &text).map(Some),
            None => Ok(None),
        };
        let mut limits = Self { every_tool: read(EVERY_TOOL)?, by_tool: BTreeMap::new() };
        for tool in tools::all() {
            if let Some(limit) = read(&variable_of(tool))? {
                limits.by_tool.insert(tool.name, limit);
            }
        }
        Ok(limits)
    }

    /// The limit for one call.
    pub(crate) fn of(&self, tool: &Tool, asked: Option<u64>) -> Duration {
        let configured = self.by_tool.get(tool.name).copied().or(self.every_tool);
        Duration::from_secs(asked.or(configured).unwrap_or(tool.pace.seconds()))
    }
}

fn variable_of(tool: &Tool) -> String {
    format!("{EVERY_TOOL}_{}", tool.name.to_ascii_uppercase())
}

fn seconds(name: &str, text: &str) -> Result<u64, SettingsFault> {
    match text.trim().parse() {
        Ok(seconds) if (1..=TIME_LIMIT_SECONDS_MAX).contains(&seconds) => Ok(seconds),
        _ => Err(SettingsFault(format!(
            "{name} is `{text}`; give whole seconds from 1 to {TIME_LIMIT_SECONDS_MAX}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(environment: &[(&str, &str)], tool: &str, asked: Option<u64>) -> u64 {
        let variable = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let limits = TimeLimits::from_environment(variable).unwrap();
        limits.of(tools::named(tool).unwrap(), asked).as_secs()
    }

    #[test]
    fn the_narrowest_setting_wins() {
        let both = [("PHARO_MCP_TIMEOUT", "7"), ("PHARO_MCP_TIMEOUT_EVAL", "9")];
        assert_eq!(limit(&[], "list_packages", None), 30);
        assert_eq!(limit(&[], "install_project", None), 1800);
        assert_eq!(limit(&both, "list_packages", None), 7);
        assert_eq!(limit(&both, "eval", None), 9);
        assert_eq!(limit(&both, "eval", Some(3)), 3);
    }

    #[test]
    fn a_limit_that_is_no_number_of_seconds_is_refused() {
        for text in ["", "0", "-1", "1.5", "7201", "soon"] {
            let fault = TimeLimits::from_environment(|name| {
                (name == "PHARO_MCP_TIMEOUT_RUN_CLASS_TEST").then(|| text.to_owned())
            });
            assert!(fault.unwrap_err().to_string().contains("PHARO_MCP_TIMEOUT_RUN_CLASS_TEST"));
        }
    }
}
