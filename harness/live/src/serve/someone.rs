//! Somebody at another client of the server.
//!
//! Invariant: they act on what their client shows them, once an ask, and by the routes that the release has.

use super::http::get;
use super::{Wire, asked};
use crate::people::{self, Sight};
use crate::plan::PROXY_PORT;
use crate::report::Via;
use crate::supervisor::Input;
use rehang_scenario::{Does, Malformed, Person, Sees};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// How often somebody looks at a list.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// Plays a person, as long as the cell runs.
pub async fn live(wire: Wire, person: Person, mut events: broadcast::Receiver<Value>) {
    let mut made = wire.session.subscribe();
    let Ok(session) = made.wait_for(|session| !session.is_empty()).await.map(|session| session.clone()) else { return };
    let after = Duration::from_millis(person.after.as_ms());
    let by_clock = match person.sees {
        Some(sees) => sees == Sees::Clock,
        None => people::acts_by_clock(&person.does),
    };
    if by_clock {
        let mut began = wire.began.clone();
        if began.wait_for(|began| *began).await.is_err() {
            return;
        }
        tokio::time::sleep(after).await;
        act(&wire, &person, &session, None).await;
        return;
    }
    let mut known: Vec<String> = Vec::new();
    loop {
        let sights = match person.sees {
            Some(Sees::List | Sees::Blocker) => {
                tokio::time::sleep(LOOKS_EVERY).await;
                list().await
            }
            sees => match events.recv().await {
                Ok(event) => asked(&event)
                    .into_iter()
                    .filter(|sight| sees == Some(Sees::Tree) || sight.session == session)
                    .collect(),
                Err(RecvError::Lagged(_)) => Vec::new(),
                Err(RecvError::Closed) => return,
            },
        };
        for sight in sights {
            if known.contains(&sight.id) {
                continue;
            }
            known.push(sight.id.clone());
            if person.ask == 0 || person.ask as usize == known.len() {
                let (wire, person, session) = (wire.clone(), person.clone(), session.clone());
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(after).await;
                    act(&wire, &person, &session, Some(&sight)).await;
                });
            }
        }
    }
}

async fn list() -> Vec<Sight> {
    let mut all = Vec::new();
    for (path, is_question) in [("/question", true), ("/permission", false)] {
        if let Ok((200, Value::Array(list))) = get(PROXY_PORT, path).await {
            all.extend(list.iter().map(|entry| Sight::of_server(entry, is_question)));
        }
    }
    all
}

async fn act(wire: &Wire, person: &Person, session: &str, sight: Option<&Sight>) {
    let word = people::word(&person.does);
    let _ = wire.tell.send(Input::Client(Via::Person, word.to_owned())).await;
    let (path, body) = match (&person.does, sight) {
        (Does::Stop, _) => {
            wire.stopped.send_replace(true);
            let _ = wire.tell.send(Input::Stops("stop")).await;
            (format!("/session/{session}/abort"), Value::Null)
        }
        (Does::Prompt(text), _) => {
            (format!("/session/{session}/prompt_async"), json!({ "parts": [{ "type": "text", "text": text }] }))
        }
        (does, Some(sight)) if sight.is_question => match sight.answers(does) {
            Some(answers) => (format!("/question/{}/reply", sight.id), json!({ "answers": answers })),
            None => (format!("/question/{}/reject", sight.id), Value::Null),
        },
        (does, Some(sight)) if sight.legacy => {
            let path = format!("/session/{}/permissions/{}", sight.session, sight.id);
            (path, json!({ "response": permission(does) }))
        }
        (does, Some(sight)) => (format!("/permission/{}/reply", sight.id), json!({ "reply": permission(does) })),
        (_, None) => return,
    };
    let text = match &person.does {
        Does::Malformed(Malformed::Syntax) => "{\"answers\":".to_owned(),
        _ if body.is_null() => String::new(),
        _ => body.to_string(),
    };
    let line = match super::http::call(PROXY_PORT, "POST", &path, Some(text.as_bytes())).await {
        Ok((status, response)) => {
            json!({"method": "POST", "path": path, "body": body, "status": status, "response": response})
        }
        Err(error) => json!({"method": "POST", "path": path, "body": body, "error": error}),
    };
    let _ = wire.tell.send(Input::Client(Via::Http, line.to_string())).await;
}

fn permission(does: &Does) -> &'static str {
    match does {
        Does::Always => "always",
        Does::Allow | Does::Answer(_) => "once",
        _ => "reject",
    }
}
