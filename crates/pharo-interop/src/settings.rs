//! What the user wants, from the command line and the environment, checked before anything starts.
//! Whatever does not check is refused with the flag or variable that is wrong.

use std::{fmt, net::SocketAddr, path::Path};

use crate::{
    command_line::CommandLine,
    image::{ImageUrl, NamedImage},
    time_limits::TimeLimits,
};

const IMAGES_MAX: usize = 16;
const IMAGE_NAME_CHARS_MAX: usize = 64;
const DEFAULT_PORT: &str = "8086";
const DEFAULT_IMAGE_NAME: &str = "default";

/// A setting that cannot be used, in words for the user.
#[derive(Debug)]
pub struct SettingsFault(pub(crate) String);

impl fmt::Display for SettingsFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Everything that serving needs to know.
#[derive(Debug)]
pub struct Settings {
    pub(crate) images: Vec<NamedImage>,
    pub(crate) time_limits: TimeLimits,
    pub(crate) read_only: bool,
    pub(crate) listener: Option<Listener>,
}

/// Where and for whom HTTP is served.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<Token>,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
}

/// The bearer token of HTTP clients. It compares in constant time and never prints.
pub(crate) struct Token(String);

impl Token {
    const CHARS_MIN: usize = 16;

    fn checked(text: &str, source: &str) -> Result<Self, SettingsFault> {
        let text = text.trim();
        if text.len() < Self::CHARS_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SettingsFault(format!(
                "the token in {source} must have at least {} printable ASCII characters",
                Self::CHARS_MIN
            )));
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn matches(&self, shown: &[u8]) -> bool {
        subtle::ConstantTimeEq::ct_eq(self.0.as_bytes(), shown).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Settings {
    /// Puts the command line and the environment together.
    pub fn collect(
        command_line: CommandLine,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsFault> {
        Ok(Self {
            images: images(&command_line.images, &variable)?,
            time_limits: TimeLimits::from_environment(&variable)?,
            read_only: command_line.read_only,
            listener: listener(command_line, &variable)?,
        })
    }
}

fn images(
    named: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<NamedImage>, SettingsFault> {
    if named.is_empty() {
        return Ok(vec![image_from_environment(variable)?]);
    }
    if named.len() > IMAGES_MAX {
        return Err(SettingsFault(format!("--image can be given at most {IMAGES_MAX} times")));
    }
    let mut images = Vec::<NamedImage>::new();
    for text in named {
        let image = named_image(text)?;
        if images.iter().any(|earlier| earlier.name == image.name) {
            return Err(SettingsFault(format!("--image names `{}` twice", image.name)));
        }
        images.push(image);
    }
    Ok(images)
}

fn named_image(text: &str) -> Result<NamedImage, SettingsFault> {
    let Some((name, url)) = text.split_once('=') else {
        return Err(SettingsFault(format!(
            "--image `{text}` must be NAME=URL, such as dev=http://localhost:8086"
        )));
    };
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if name.is_empty() || name.len() > IMAGE_NAME_CHARS_MAX || !name.chars().all(plain) {
        return Err(SettingsFault(format!(
            "--image name `{name}` must be 1 to {IMAGE_NAME_CHARS_MAX} letters, digits, `-`, `_` or `.`"
        )));
    }
    image(name, url, "--image")
}

fn image_from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<NamedImage, SettingsFault> {
    if let Some(url) = variable("PHARO_SIS_URL") {
        return image(DEFAULT_IMAGE_NAME, &url, "PHARO_SIS_URL");
    }
    let (source, port) = ["SIS_PORT", "PHARO_SIS_PORT"]
        .into_iter()
        .find_map(|name| Some((name, variable(name)?)))
        .unwrap_or(("the default", DEFAULT_PORT.to_owned()));
    match port.trim().parse::<u16>() {
        Ok(number) if number > 0 => image(DEFAULT_IMAGE_NAME, &format!("http://localhost:{number}"), source),
        _ => Err(SettingsFault(format!("{source} is `{port}`; give a port from 1 to 65535"))),
    }
}

fn image(name: &str, url: &str, source: &str) -> Result<NamedImage, SettingsFault> {
    let url = ImageUrl::parse(url.trim())
        .map_err(|problem| SettingsFault(format!("{source}: `{url}` {problem}")))?;
    Ok(NamedImage { name: name.to_owned(), url })
}

fn listener(
    command_line: CommandLine,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Listener>, SettingsFault> {
    let Some(address) = command_line.http else {
        return Ok(None);
    };
    let token = token(command_line.token_file.as_deref(), variable)?;
    if token.is_none() && !address.ip().is_loopback() {
        return Err(SettingsFault(format!(
            "--http {address} is reachable from other machines; set PHARO_MCP_TOKEN or --token-file, or listen on 127.0.0.1"
        )));
    }
    for origin in &command_line.origins {
        check_origin(origin)?;
    }
    Ok(Some(Listener { address, token, hosts: command_line.hosts, origins: command_line.origins }))
}

fn token(
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Token>, SettingsFault> {
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).map_err(|fault| {
            SettingsFault(format!("--token-file `{}` cannot be read: {fault}", file.display()))
        })?;
        let first_line = text.lines().next().unwrap_or_default();
        return Token::checked(first_line, "--token-file").map(Some);
    }
    variable("PHARO_MCP_TOKEN").map(|text| Token::checked(&text, "PHARO_MCP_TOKEN")).transpose()
}

/// An origin without a scheme would be dropped silently further down.
fn check_origin(origin: &str) -> Result<(), SettingsFault> {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match authority {
        Some(authority) if !authority.is_empty() && !authority.contains('/') => Ok(()),
        _ => Err(SettingsFault(format!(
            "--allow-origin `{origin}` must be scheme, host and port, such as https://app.example:443"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn collect(flags: &[&str], environment: &[(&str, &str)]) -> Result<Settings, String> {
        let line = CommandLine::try_parse_from([&["pharo-interop-mcp"], flags].concat()).unwrap();
        Settings::collect(line, |name| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
        .map_err(|fault| fault.to_string())
    }

    fn url(flags: &[&str], environment: &[(&str, &str)]) -> String {
        collect(flags, environment).unwrap().images[0].url.to_string()
    }

    fn check_refused(flags: &[&str], environment: &[(&str, &str)], part: &str) {
        let fault = collect(flags, environment).unwrap_err();
        assert!(fault.contains(part), "`{fault}` does not contain `{part}`");
    }

    #[test]
    fn the_image_comes_from_the_flag_then_the_url_then_the_ports() {
        let all =
            [("PHARO_SIS_URL", "http://127.0.0.1:1111"), ("SIS_PORT", "2222"), ("PHARO_SIS_PORT", "3333")];
        assert_eq!(url(&["--image", "a=http://[::1]:4444"], &all), "http://[::1]:4444");
        assert_eq!(url(&[], &all), "http://127.0.0.1:1111");
        assert_eq!(url(&[], &all[1..]), "http://localhost:2222");
        assert_eq!(url(&[], &all[2..]), "http://localhost:3333");
        assert_eq!(url(&[], &[]), "http://localhost:8086");
    }

    #[test]
    fn images_that_cannot_be_told_apart_or_reached_are_refused() {
        check_refused(&["--image", "dev"], &[], "NAME=URL");
        check_refused(&["--image", "a b=http://localhost"], &[], "name `a b`");
        check_refused(&["--image", "=http://localhost"], &[], "name ``");
        check_refused(&["--image", "a=http://x", "--image", "a=http://y"], &[], "`a` twice");
        check_refused(&["--image", "a=https://localhost"], &[], "http://");
        check_refused(&[], &[("SIS_PORT", "0")], "SIS_PORT is `0`");
        check_refused(&[], &[("PHARO_SIS_PORT", "eighty")], "PHARO_SIS_PORT is `eighty`");
        check_refused(&[], &[("PHARO_SIS_URL", "localhost:8086")], "PHARO_SIS_URL");
    }

    #[test]
    fn a_listener_beyond_loopback_needs_a_token() {
        check_refused(&["--http", "0.0.0.0:9001"], &[], "PHARO_MCP_TOKEN");
        check_refused(&["--http", "0.0.0.0:9001"], &[("PHARO_MCP_TOKEN", "short")], "at least 16");
        let token = [("PHARO_MCP_TOKEN", "0123456789abcdef")];
        let settings = collect(&["--http", "0.0.0.0:9001"], &token).unwrap();
        assert!(settings.listener.unwrap().token.unwrap().matches(b"0123456789abcdef"));
        assert!(collect(&["--http", "127.0.0.1:0"], &[]).unwrap().listener.is_some());
    }

    #[test]
    fn a_token_does_not_print() {
        let token = Token::checked("0123456789abcdef", "a test").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert!(!token.matches(b"0123456789abcdeF"));
    }

    #[test]
    fn an_origin_needs_a_scheme() {
        check_refused(&["--http", "127.0.0.1:0", "--allow-origin", "app.example"], &[], "scheme");
    }
}
