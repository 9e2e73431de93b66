//! The client that drives a server: it makes a session, sends the prompt, and waits for its end.
//!
//! Invariant: it waits for ever, as the plain clients do that hung in the field.

use super::Wire;
use super::http::{Events, get, post};
use crate::plan::{PROMPT, PROXY_PORT};
use crate::report::{Outcome, Via};
use crate::supervisor::Input;
use rehang_scenario::{Client, EventDoes, Fault};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::broadcast;

/// How long after a cut that the scenario does not time a client opens the event stream again.
const RECONNECT: Duration = Duration::from_secs(1);

/// Drives the server to its end. `seen` shows the people what comes over this client's stream.
pub async fn drive(wire: Wire, seen: broadcast::Sender<Value>) -> Outcome {
    match session(&wire, seen).await {
        Ok(outcome) => outcome,
        Err(why) => Outcome::Failed { reason: format!("client: {why}") },
    }
}

async fn session(wire: &Wire, seen: broadcast::Sender<Value>) -> Result<Outcome, String> {
    // a title of its own: the server asks no model for one
    let title = json!({ "title": wire.order.scenario.title });
    let made = said(wire, "POST", "/session", &title).await?;
    let session = made["id"].as_str().ok_or("the server made no session")?.to_owned();
    wire.session.send_replace(session.clone());
    let (idle, mut idled) = tokio::sync::mpsc::channel(16);
    let mut events = Some(Events::open(PROXY_PORT).await?);
    let (follow, follow_session) = (wire.clone(), session.clone());
    let client = wire.order.client;
    tokio::task::spawn_local(async move {
        loop {
            if let Some(mut stream) = events.take() {
                while let Some(event) = stream.next().await {
                    let is_idle = is_idle(&event, &follow_session);
                    let _ = seen.send(event);
                    if is_idle {
                        let _ = idle.send(()).await;
                    }
                }
            }
            tokio::time::sleep(reconnect(&follow)).await;
            events = Events::open(PROXY_PORT).await.ok();
            if events.is_some() && client == Client::Resync && !is_busy(&follow, &follow_session).await {
                let _ = idle.send(()).await;
            }
        }
    });
    let body = json!({ "parts": [{ "type": "text", "text": PROMPT }] });
    let outcome = match client {
        Client::Post => {
            let message = said(wire, "POST", &format!("/session/{session}/message"), &body).await?;
            of_message(&message)
        }
        Client::Events | Client::Resync => {
            said(wire, "POST", &format!("/session/{session}/prompt_async"), &body).await?;
            idled.recv().await.ok_or("nobody follows the events")?;
            let messages = said(wire, "GET", &format!("/session/{session}/message"), &Value::Null).await?;
            of_message(messages.as_array().and_then(|all| all.last()).unwrap_or(&Value::Null))
        }
    };
    Ok(match outcome {
        _ if *wire.stopped.borrow() => Outcome::Stopped { cause: "stop".to_owned() },
        outcome => outcome,
    })
}

/// A call, told to the report; a status that is none of success is an error.
async fn said(wire: &Wire, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let (status, response) = match method {
        "GET" => get(PROXY_PORT, path).await?,
        _ => post(PROXY_PORT, path, body).await?,
    };
    let line = json!({"method": method, "path": path, "body": body, "status": status, "response": response});
    let _ = wire.tell.send(Input::Client(Via::Http, line.to_string())).await;
    match status {
        200..300 => Ok(response),
        status => Err(format!("{method} {path}: HTTP {status}")),
    }
}

fn is_idle(event: &Value, session: &str) -> bool {
    let properties = &event["properties"];
    let kind = event["type"].as_str().unwrap_or_default();
    let idle = kind == "session.idle" || (kind == "session.status" && properties["status"]["type"] == "idle");
    idle && properties["sessionID"] == session
}

async fn is_busy(wire: &Wire, session: &str) -> bool {
    let status = said(wire, "GET", "/session/status", &Value::Null).await.unwrap_or_default();
    matches!(status[session]["type"].as_str(), Some("busy" | "retry"))
}

/// How long the scenario says that a client is away.
fn reconnect(wire: &Wire) -> Duration {
    let cut = wire.order.scenario.faults.iter().find_map(|fault| match fault {
        Fault::Event(event) => match event.does {
            EventDoes::Cut(after) => Some(Duration::from_millis(after.as_ms())),
            _ => None,
        },
        _ => None,
    });
    cut.unwrap_or(RECONNECT)
}

fn of_message(message: &Value) -> Outcome {
    let error = &message["info"]["error"];
    if error.is_null() {
        return Outcome::Completed;
    }
    let text = error["data"]["message"].as_str().or_else(|| error["name"].as_str());
    Outcome::Failed { reason: text.unwrap_or("error").to_owned() }
}
