//! Every route of a server's own `/doc`, asked once, with the shapes of what it answers: the `GET`s, then the others.
//!
//! Invariant: what is noted holds no value of an answer, so that a recording has facts about the release and none of
//! the vendor's texts.

use super::http::{CallError, call, open};
use rehang_wire::http::{Piece, ResponseReader};
use rehang_wire::opencode::{Called, Calls, RouteAnswers, Shape, Shapes, called_routes, calls, target_of};
use serde_json::Value;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// How long an answer is waited for: `/tui/control/next` has none until somebody is at a screen.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks them all. If a path takes ids, they are those of the first session and its last message.
pub async fn ask(port: u16) -> Result<RouteAnswers, CallError> {
    let doc = get(port, "/doc").await?;
    let sessions = get(port, "/session").await?;
    let session = sessions[0]["id"].as_str().unwrap_or_default().to_owned();
    let messages = get(port, &format!("/session/{session}/message")).await?;
    let last = messages.as_array().and_then(|all| all.last());
    let message = last.and_then(|message| message["info"]["id"].as_str()).unwrap_or_default();
    let mut shapes = Shapes::new();
    for (path, methods) in doc["paths"].as_object().into_iter().flatten() {
        if methods.get("get").is_none() {
            continue;
        }
        let Some(target) = target_of(path, &session, message) else { continue };
        if let Ok(Ok(Some(body))) = tokio::time::timeout(PATIENCE, body(port, &target)).await {
            shapes.insert(path.clone(), Shape::of(&body));
        }
    }
    let mut called = Calls::new();
    for one in calls(&called_routes(&doc), &session, message) {
        let answer = call(port, &one.method, &one.target, one.body.as_bytes());
        if let Ok(Ok((status, body))) = tokio::time::timeout(PATIENCE, answer).await {
            called.insert(one.name, Called::of(status, &body));
        }
    }
    Ok(RouteAnswers { routes: shapes, calls: called })
}

async fn get(port: u16, target: &str) -> Result<Value, CallError> {
    let (_, body) = call(port, "GET", target, b"").await?;
    serde_json::from_str(&body).map_err(|_| CallError::Broken(None))
}

/// The JSON that a route answers with 200; `None` for another status, and for events.
async fn body(port: u16, target: &str) -> Result<Option<Value>, CallError> {
    let headers = [("connection", "close"), ("accept", "*/*")];
    let mut stream = open(port, "GET", target, &headers, b"").await?;
    let mut reader = ResponseReader::new();
    let mut over = false;
    let (mut buffer, mut bytes) = (vec![0; super::http::READ_BYTES], Vec::new());
    loop {
        while let Some(piece) = reader.next_piece().map_err(|_| CallError::Broken(None))? {
            match piece {
                Piece::Head(head) if head.status != 200 || head.is_event_stream() => return Ok(None),
                Piece::Head(_) => {}
                Piece::Body(more) => bytes.extend(more),
                Piece::End => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    return Ok(Some(serde_json::from_slice(&bytes).unwrap_or(Value::String(text))));
                }
            }
        }
        match stream.read(&mut buffer).await.map_err(|error| CallError::Broken(Some(error)))? {
            0 if over => return Err(CallError::Broken(None)),
            0 => {
                over = true;
                reader.finish();
            }
            n => reader.feed(&buffer[..n]),
        }
    }
}
