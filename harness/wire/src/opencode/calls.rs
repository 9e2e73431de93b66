//! The routes of a `/doc` that are no `GET`s: in which order each is called once, with which body, and what it answered.
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

/// Routes as `POST /session/{sessionID}/fork`, and what each answered; a route that had not answered in time is missing.
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
    /// The method and the path as `/doc` has them.
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
/// Parts of paths that are not called: they log in at a vendor, install something, publish something, take the
/// connection for something else, or take the server's state elsewhere, after which it answers nothing more.
const LEFT_OUT: [&str; 8] =
    ["oauth", "/auth", "upgrade", "/share", "github", "/connect", "/sync/", "/experimental/workspace"];
/// What comes last, in this order.
const LAST: [&str; 3] = ["DELETE /session/{sessionID}", "POST /instance/dispose", "POST /global/dispose"];

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
                all.push(format!("{} {path}", method.to_uppercase()));
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

fn call(route: &str, session: &str, message: &str) -> Option<Call> {
    let (method, path) = route.split_once(' ')?;
    let (method, name) = (method.to_owned(), route.to_owned());
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
        () if name.ends_with("/question/{requestID}/reply") => json!({ "answers": [] }),
        () if name.ends_with("/permission/{requestID}/reply") => json!({ "reply": "once" }),
        () if name.contains("/permissions/{permissionID}") => json!({ "response": "once" }),
        () => json!({}),
    };
    let body = if method == "GET" { String::new() } else { body.to_string() };
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
                ("POST", "/question/que_none/reply"),
                ("POST", "/rehang/nowhere"),
                ("DELETE", "/session/ses_1"),
                ("POST", "/instance/dispose"),
            ]
        );
        assert_eq!([&all[0].body, &all[2].body], ["", r#"{"answers":[]}"#]);
    }
}
