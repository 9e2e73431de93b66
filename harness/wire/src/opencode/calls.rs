//! The routes of a `/doc` that are no `GET`s: in which order each is called, with which body, and what it answered. Each is
//! called with an empty body, and those that clients use with one that they would send, too.
//!
//! Invariant: a release and a fake are called alike, since both are called by this list; what ends a session or the
//! server comes last.

use super::{Shape, Shapes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a route answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The status.
    pub status: u16,
    /// The shape of a JSON answer, if the status is below 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// Routes as `POST /session/{sessionID}/fork`, or with the body of the call after them, and what each answered; a route that
/// had not answered in time is missing.
pub type Calls = BTreeMap<String, Called>;

/// What a server answered to all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteAnswers {
    /// What answers a `GET` with 200, and the shape of it.
    pub routes: Shapes,
    /// What the other routes answered to the calls of [`calls`].
    #[serde(default)]
    pub calls: Calls,
}

/// One call of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method and the path as `/doc` has them, and the body if it is one of [`BODIES`].
    pub name: String,
    /// The method in capitals.
    pub method: String,
    /// The path with its ids.
    pub target: String,
    /// The body: JSON, or nothing for a `GET`.
    pub body: String,
}

/// A path that no release has.
const NOWHERE: &str = "/rehang/nowhere";
/// Parts of paths that are not called: they log in at a vendor, install something, publish something, or take the
/// connection for something else.
const LEFT_OUT: [&str; 6] = ["oauth", "/auth", "upgrade", "/share", "github", "/connect"];
/// Bodies that clients send. `SESSION` is the id of the session. A prompt that wants no reply is not waited for.
const BODIES: [(&str, &str); 15] = [
    ("POST /session", r#"{"title":"named"}"#),
    ("PATCH /session/{sessionID}", r#"{"title":"other"}"#),
    ("POST /session/{sessionID}/message", r#"{"parts":[{"type":"text","text":"go"}]}"#),
    ("POST /session/{sessionID}/prompt_async", r#"{"noReply":true,"parts":[{"type":"text","text":"go"}]}"#),
    ("POST /session/{sessionID}/permissions/{permissionID}", r#"{"response":"reject"}"#),
    ("POST /permission/{requestID}/reply", r#"{"reply":"reject","message":"no"}"#),
    ("POST /question/{requestID}/reply", r#"{"answers":[["a"]]}"#),
    ("POST /api/session/{sessionID}/permission/{requestID}/reply", r#"{"reply":"once"}"#),
    ("POST /api/session/{sessionID}/question/{requestID}/reply", r#"{"answers":[["a"]]}"#),
    ("POST /log", r#"{"service":"rehang","level":"info","message":"hello"}"#),
    ("POST /tui/append-prompt", r#"{"text":"hello"}"#),
    ("POST /tui/execute-command", r#"{"command":"session_list"}"#),
    ("POST /tui/publish", r#"{"type":"tui.prompt.append","properties":{"text":"hello"}}"#),
    ("POST /tui/select-session", r#"{"sessionID":"SESSION"}"#),
    ("POST /tui/show-toast", r#"{"message":"hello","variant":"info"}"#),
];
/// What comes last, in this order: it takes the server's state elsewhere or ends it, after which some releases answer
/// nothing more.
const LAST: [&str; 12] = [
    "POST /experimental/workspace",
    "DELETE /experimental/workspace/{id}",
    "POST /experimental/workspace/{id}/session-restore",
    "POST /experimental/workspace/sync-list",
    "POST /experimental/workspace/warp",
    "POST /sync/history",
    "POST /sync/start",
    "POST /sync/replay",
    "POST /sync/steal",
    "DELETE /session/{sessionID}",
    "POST /instance/dispose",
    "POST /global/dispose",
];

impl Called {
    /// An answer with this status and body.
    pub fn of(status: u16, body: &str) -> Called {
        let shape = (status < 300).then(|| serde_json::from_str(body).ok()).flatten();
        Called { status, shape: shape.as_ref().map(Shape::of) }
    }
}

/// The routes to call of a `/doc`, and one that no release has.
pub fn called_routes(doc: &Value) -> Vec<String> {
    let mut all: Vec<String> = ["GET", "POST"].map(|method| format!("{method} {NOWHERE}")).to_vec();
    for (path, methods) in doc["paths"].as_object().into_iter().flatten() {
        for method in ["post", "put", "patch", "delete"].iter().filter(|method| !methods[**method].is_null()) {
            if !LEFT_OUT.iter().any(|part| path.contains(part)) {
                let route = format!("{} {path}", method.to_uppercase());
                let bodies = BODIES.iter().filter(|(of, _)| same_route(of, &route));
                all.extend(bodies.map(|(_, body)| format!("{route} {body}")));
                all.push(route);
            }
        }
    }
    all
}

/// The calls of these routes, with these ids.
pub fn calls<'r>(routes: impl IntoIterator<Item = &'r String>, session: &str, message: &str) -> Vec<Call> {
    let mut all: Vec<Call> = routes.into_iter().filter_map(|route| call(route, session, message)).collect();
    let place = |call: &Call| LAST.iter().position(|last| same_route(last, &call.name)).map_or(0, |at| at + 1);
    all.sort_by_key(|call| (place(call), call.name.clone()));
    all
}

fn call(name: &str, session: &str, message: &str) -> Option<Call> {
    let (route, given) = match name.split_once(" {") {
        Some((route, given)) => (route, Some(format!("{{{given}").replace("SESSION", session))),
        None => (name, None),
    };
    let (method, path) = route.split_once(' ')?;
    let (method, name) = (method.to_owned(), name.to_owned());
    let mut target = String::new();
    let mut before = "";
    for segment in path.split('/').skip(1) {
        target.push('/');
        target.push_str(match segment {
            // some releases call a session's id `{id}`
            "{sessionID}" => session,
            "{id}" if before == "session" => session,
            "{messageID}" => message,
            "{requestID}" if before == "permission" => "per_none",
            _ if segment.starts_with('{') => id_for(segment),
            segment => segment,
        });
        before = segment;
    }
    let body = match () {
        () if route.ends_with("/question/{requestID}/reply") => json!({ "answers": [] }),
        () if route.ends_with("/permission/{requestID}/reply") => json!({ "reply": "once" }),
        () if route.contains("/permissions/{permissionID}") => json!({ "response": "once" }),
        () => json!({}),
    };
    let body = if method == "GET" { String::new() } else { given.unwrap_or_else(|| body.to_string()) };
    Some(Call { name, method, target, body })
}

/// An id of this kind that nothing has.
fn id_for(segment: &str) -> &'static str {
    match segment {
        "{partID}" => "prt_none",
        "{permissionID}" => "per_none",
        "{requestID}" => "que_none",
        "{ptyID}" => "pty_none",
        _ => "none",
    }
}

/// Whether two routes differ only in what they call their ids.
fn same_route(one: &str, other: &str) -> bool {
    let alike = |(one, other): (&str, &str)| one == other || (one.starts_with('{') && other.starts_with('{'));
    one.split('/').count() == other.split('/').count() && one.split('/').zip(other.split('/')).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_the_session_comes_last_and_nothing_is_logged_in() {
        let doc = json!({ "paths": {
            "/session/{id}": { "delete": {}, "patch": {} },
            "/instance/dispose": { "post": {} },
            "/session/{id}/message/{messageID}": { "get": {} },
            "/provider/{providerID}/oauth/authorize": { "post": {} },
            "/question/{requestID}/reply": { "post": {} },
        } });
        let all = calls(&called_routes(&doc), "ses_1", "msg_1");
        let names: Vec<(&str, &str)> = all.iter().map(|call| (call.method.as_str(), call.target.as_str())).collect();
        assert_eq!(
            names,
            [
                ("GET", "/rehang/nowhere"),
                ("PATCH", "/session/ses_1"),
                ("PATCH", "/session/ses_1"),
                ("POST", "/question/que_none/reply"),
                ("POST", "/question/que_none/reply"),
                ("POST", "/rehang/nowhere"),
                ("DELETE", "/session/ses_1"),
                ("POST", "/instance/dispose"),
            ]
        );
        let bodies: Vec<&str> = all[..5].iter().map(|call| call.body.as_str()).collect();
        assert_eq!(bodies, ["", "{}", r#"{"title":"other"}"#, r#"{"answers":[]}"#, r#"{"answers":[["a"]]}"#]);
    }
}
