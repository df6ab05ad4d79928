//! `[settings]`: one row for each bound of the gateway.

use portcullis_gateway::Settings;

use super::fault::ConfigFault;
use super::keys;
use super::read::Section;

/// A number of the settings: its key, what it bounds, and where it is kept.
struct Bound {
    name: &'static str,
    text: &'static str,
    place: Place,
}

enum Place {
    Count(fn(&mut Settings) -> &mut usize),
    Milliseconds(fn(&mut Settings) -> &mut u64),
    SignedMilliseconds(fn(&mut Settings) -> &mut i64),
}

macro_rules! bounds {
    ($($place:ident $name:ident $text:literal;)*) => {
        &[$(Bound { name: stringify!($name), text: $text, place: Place::$place(|s| &mut s.$name) }),*]
    };
}

const BOUNDS: &[Bound] = bounds! {
    Count head_bytes_max "Bytes of a request's head.";
    Milliseconds head_timeout_ms "How long a client may take to send a head.";
    Count body_bytes_max "Bytes of a request's body.";
    Count bodies_bytes_max "Bytes of all large bodies that are being read or worked on at once.";
    Milliseconds body_timeout_ms "How long a client may take to send a body.";
    Count connections_max "Connections open at once; more wait in the system's queue.";
    Count connections_per_address_max "Connections open at once from one address; more are closed at once.";
    Milliseconds write_stall_timeout_ms "How long a client may leave an answer unread before it is closed.";
    Count in_flight_max "Calls being worked on at once; more are answered 503.";
    Count in_flight_per_server_max "Calls to one server being worked on at once.";
    Count in_flight_per_grant_max "Calls of one grant being worked on at once.";
    Milliseconds upstream_connect_timeout_ms "How long connecting to a server may take.";
    Milliseconds upstream_answer_timeout_ms "How long a server may stay silent during a call.";
    Milliseconds call_timeout_ms "How long a call may take at all.";
    Milliseconds probe_timeout_ms "How long to wait for the answer that tells a server's era.";
    Milliseconds era_doubt_ms "How long a guess at a server's era counts, made when it failed or was silent.";
    Milliseconds process_start_timeout_ms "The same for a program, which has to start first.";
    Count processes_per_server_max "Processes of one server.";
    Milliseconds process_idle_timeout_ms "A process that nobody used for so long is ended.";
    Milliseconds process_stop_grace_ms "How long a process gets to end when its input is closed, and again after SIGTERM.";
    Count result_bytes_max "Bytes of a server's answer.";
    Count event_bytes_max "Bytes of one event of a stream.";
    Milliseconds listing_timeout_ms "How long finding out a server's era, or listing its tools, may take.";
    Milliseconds listing_retry_ms "A server that could not be listed is left alone for this long.";
    Count tools_max "Tools of one server.";
    Count tools_bytes_max "Bytes that the definitions of one server's tools take in memory, about.";
    Milliseconds tools_age_ms_max "An older list is listed again before a call is judged with it.";
    Milliseconds tools_recheck_ms "An unknown tool makes the gateway list again, unless its list is younger.";
    SignedMilliseconds list_ttl_ms_max "How long a modern client may keep a filtered list.";
    Count sessions_max "Sessions of legacy clients, all together.";
    Count sessions_per_grant_max "Sessions of one grant.";
    Milliseconds session_idle_timeout_ms "A session that nobody used for so long is ended.";
    Count session_calls_max "Calls of one session that wait for their answers.";
    Count session_questions_max "Questions of servers to one session that wait for their answers.";
    Milliseconds question_timeout_ms "How long a client may take to answer a question of a server.";
    Count streams_max "Subscriptions and streams of sessions open at once.";
    Count streams_per_grant_max "Subscriptions and streams of sessions of one grant.";
    Count stream_events_max "Events that wait for a slow reader.";
    Milliseconds keep_alive_ms "A quiet stream gets a comment this often.";
    Milliseconds drain_timeout_ms "How long open calls get when the gateway stops.";
};

const LISTS: &[(&str, &str)] = &[
    ("allowed_hosts", "Names that `Host` may say, without port. Default: the names of loopback."),
    ("allowed_origins", "Origins that browsers may call from. Default: pages on `allowed_hosts` only."),
];

/// Reads `[settings]`; what is not there keeps its default.
pub(crate) fn read(root: &Section<'_>) -> Result<Settings, ConfigFault> {
    let mut settings = Settings::default();
    let Some(section) = root.section("settings")? else {
        return Ok(settings);
    };
    check_keys(&section)?;
    for bound in BOUNDS {
        if let Some(number) = section.whole(bound.name, 1)? {
            let too_large = || section.fault(bound.name, format!("`{}` is too large", bound.name));
            match bound.place {
                Place::Count(place) => *place(&mut settings) = number.try_into().map_err(|_| too_large())?,
                Place::Milliseconds(place) => *place(&mut settings) = number,
                Place::SignedMilliseconds(place) => {
                    *place(&mut settings) = number.try_into().map_err(|_| too_large())?;
                }
            }
        }
    }
    if let Some(hosts) = section.texts("allowed_hosts")? {
        settings.allowed_hosts = hosts;
    }
    if let Some(origins) = section.texts("allowed_origins")? {
        settings.allowed_origins = origins;
    }
    Ok(settings)
}

fn check_keys(section: &Section<'_>) -> Result<(), ConfigFault> {
    let known: Vec<keys::Key> =
        names().map(|(name, text)| keys::Key { name, kind: "number", text }).collect();
    section.check_keys(&known)
}

fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BOUNDS.iter().map(|bound| (bound.name, bound.text)).chain(LISTS.iter().copied())
}

/// For the reference: name, default, meaning.
pub(super) fn keys() -> Vec<(&'static str, String, &'static str)> {
    let mut defaults = Settings::default();
    let mut rows = Vec::new();
    for bound in BOUNDS {
        let default = match bound.place {
            Place::Count(place) => place(&mut defaults).to_string(),
            Place::Milliseconds(place) => place(&mut defaults).to_string(),
            Place::SignedMilliseconds(place) => place(&mut defaults).to_string(),
        };
        rows.push((bound.name, format!("number, default {default}"), bound.text));
    }
    rows.extend(LISTS.iter().map(|(name, text)| (*name, "list of texts".to_owned(), *text)));
    rows
}
