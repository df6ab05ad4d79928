//! `ping_image`: whether an image answers, which version it is and what it offers.
//!
//! Only look-ups are sent, and one fixed expression for the version, which is left out when the
//! server is read-only. Endpoints that change the image are not tried; whether they are there is
//! concluded from their neighbours. It passes by the gate, so that it works while calls hang.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::{
    answer,
    failure::Failure,
    image::{Encoding, Image, WireRequest},
    tools::{self, Tool},
};

/// Each of the few requests must be answered within this time.
const PROBE_TIME_MAX: Duration = Duration::from_secs(5);

/// Answers nothing that needs a Pharo of a certain age; elsewhere it fails, and the version is unknown.
const VERSION_EXPRESSION: &str = "SystemVersion current asString";

/// The report, or why there is none.
pub(crate) async fn ping(image: &Image, may_evaluate: bool) -> Result<Value, Failure> {
    let _place = image.gate.enter_ping()?;
    let started = Instant::now();
    let settings = probe(image, "get_settings", vec![]).await?;
    let round_trip = started.elapsed();
    let version = if may_evaluate { version(image).await } else { Value::Null };
    let unknown_class = probe(image, "get_class_comment", vec![("class_name", json!(""))]).await;
    let transcript = offers(image, "poll_transcript", vec![("since", json!(0))]).await;
    let inspect = offers(image, "inspect_ref", vec![("ref", json!(0))]).await;
    let given_up: Vec<_> = image
        .gate
        .given_up()
        .iter()
        .map(|call| json!({"tool": call.tool, "seconds_ago": call.since.elapsed().as_secs()}))
        .collect();
    Ok(json!({"success": true, "result": {
        "url": image.url.to_string(),
        "round_trip_ms": u64::try_from(round_trip.as_millis()).unwrap_or(u64::MAX),
        "version": version,
        "errors": error_form(&unknown_class),
        "settings": settings.get("result"),
        "offers": {
            "core": true,
            "transcript": transcript,
            "inspect": inspect,
            "compile_and_remove": if transcript && inspect { "likely" } else { "unlikely" },
        },
        "given_up_calls": given_up,
    }}))
}

async fn version(image: &Image) -> Value {
    match probe(image, "eval", vec![("code", json!(VERSION_EXPRESSION))]).await {
        Ok(answer) => answer.get("result").cloned().unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

/// An endpoint that answers with an error is there all the same.
async fn offers(image: &Image, tool: &str, parameters: Vec<(&'static str, Value)>) -> bool {
    matches!(probe(image, tool, parameters).await, Ok(_) | Err(Failure::Image { .. }))
}

/// Old image sides report errors as plain texts.
fn error_form(outcome: &Result<Value, Failure>) -> &'static str {
    match outcome {
        Err(Failure::Image { answer }) if answer.get("error").is_some_and(Value::is_string) => {
            "plain text (image side of version 1)"
        }
        Err(Failure::Image { .. }) => "with stack trace and receiver (image side of version 2 or later)",
        _ => "unknown",
    }
}

async fn probe(image: &Image, tool: &str, parameters: Vec<(&'static str, Value)>) -> Result<Value, Failure> {
    let late = Failure::TimeLimit { limit: PROBE_TIME_MAX };
    let Some((tool, encoding, path)) = endpoint_of(tool) else {
        return Err(late);
    };
    let Ok(request) = WireRequest::new(encoding, path, parameters) else {
        return Err(late);
    };
    match timeout(PROBE_TIME_MAX, image.ask(&request)).await {
        Ok(raw) => answer::interpret(tool, &raw?),
        Err(_) => Err(late),
    }
}

fn endpoint_of(name: &str) -> Option<(&'static Tool, Encoding, &'static str)> {
    let tool = tools::all().find(|tool| tool.name == name)?;
    let (encoding, path) = tool.endpoint.address()?;
    Some((tool, encoding, path))
}
