//! The routes: method, path and query of every request that is made or answered here.
//!
//! Invariant: each route is spelled once to be written and once to be read, both in this file.

use super::info::{ApiPart, Info};
use crate::http::{Target, percent_encode};
use std::fmt;

/// More segments than any route has.
const SEGMENTS_MAX: usize = 8;

/// The kind of ask that a route is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// `/question`, from 1.1 on.
    Question,
    /// `/permission`, from 1.1 on.
    Permission,
    /// `/blocker`, which only PawWork's ledger has.
    Blocker,
    /// `/external-result`: PawWork's, from 6ab984202 on.
    External,
}

/// A request that opencode's server or one of its forks' servers answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route<'a> {
    /// `GET /event`, or `GET /global/event`, whose events are wrapped in a payload.
    Events {
        /// Whether it has the events of all folders.
        global: bool,
    },
    /// `GET /session`.
    Sessions,
    /// `POST /session`.
    MakeSession,
    /// `GET /session/status`: the sessions that are busy, from 1.1 on.
    Status,
    /// `GET /session/:id`.
    Session(&'a str),
    /// `GET /session/:id/children`.
    Children(&'a str),
    /// `GET /session/:id/message`.
    Messages {
        /// The session's id.
        session: &'a str,
        /// Only this many of the newest ones, if given.
        limit: Option<usize>,
    },
    /// `POST /session/:id/message`, or `…/prompt_async`, which is answered at once.
    Prompt {
        /// The session's id.
        session: &'a str,
        /// Whether the answer is the reply, at the turn's end.
        waits: bool,
    },
    /// `POST /session/:id/abort`.
    Abort {
        /// The session's id.
        session: &'a str,
        /// PawWork's `?mode=soft`: nothing is stopped if a question is open.
        soft: bool,
    },
    /// `GET /question`, `/permission`, `/blocker`, `/external-result`: what is open.
    Asks(Ask),
    /// `POST /question/:id/reply`.
    Answer(&'a str),
    /// `POST /question/:id/reject`.
    Reject(&'a str),
    /// `POST /permission/:id/reply`, from 1.1 on.
    Permit(&'a str),
    /// `POST /session/:id/permissions/:permission`: the only one of 1.0, and kept since.
    PermitIn {
        /// The session that asks; the server does not read it.
        session: &'a str,
        /// The permission's id.
        id: &'a str,
    },
    /// `POST /session/:id/tool/respond`: the answer to an external result (PawWork).
    Respond(&'a str),
    /// `POST /instance/dispose`: everything that is open ends.
    Dispose,
    /// `GET /doc`: the description of the API as OpenAPI.
    Doc,
    /// `GET /session/:id/message/:message`.
    Message {
        /// The session's id.
        session: &'a str,
        /// The message's id.
        id: &'a str,
    },
    /// `GET /session/:id/todo`.
    Todo(&'a str),
    /// `GET /session/:id/diff`.
    Diff(&'a str),
    /// What the server is and has.
    Info(Info),
    /// `GET /api/session/:id/…`.
    Api {
        /// The session's id.
        session: &'a str,
        /// The part of the session.
        part: ApiPart,
    },
    /// `GET /file`, `/file/content`, `/find`, …: they need a value in their query.
    Find(Find),
}

/// The event stream of one folder, which clients open.
pub const EVENTS: Route<'static> = Route::Events { global: false };

/// What can be searched for in the server's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Find {
    /// `/file?path=`.
    Files,
    /// `/file/content?path=`.
    Content,
    /// `/find?pattern=`.
    Text,
    /// `/find/file?query=`.
    Names,
    /// `/find/symbol?query=`.
    Symbols,
}

impl Find {
    /// All of them, in this order.
    pub const ALL: [Find; 5] = [Find::Files, Find::Content, Find::Text, Find::Names, Find::Symbols];

    /// The path of the route.
    pub fn path(self) -> &'static str {
        match self {
            Find::Files => "/file",
            Find::Content => "/file/content",
            Find::Text => "/find",
            Find::Names => "/find/file",
            Find::Symbols => "/find/symbol",
        }
    }

    /// What its query must hold.
    pub fn wants(self) -> &'static str {
        match self {
            Find::Files | Find::Content => "path",
            Find::Text => "pattern",
            Find::Names | Find::Symbols => "query",
        }
    }

    fn of(segments: &[&str]) -> Option<Find> {
        let is = |find: &Find| find.path().split('/').skip(1).eq(segments.iter().copied());
        Find::ALL.into_iter().find(is)
    }
}

impl Ask {
    /// The first segment of the route.
    pub fn segment(self) -> &'static str {
        match self {
            Ask::Question => "question",
            Ask::Permission => "permission",
            Ask::Blocker => "blocker",
            Ask::External => "external-result",
        }
    }
}

impl<'a> Route<'a> {
    /// The route of a request; `None` if it is not known here.
    pub fn parse(method: &str, target: &'a Target) -> Option<Route<'a>> {
        let mut segments = [""; SEGMENTS_MAX];
        let path = segments.get_mut(..target.segments.len())?;
        path.iter_mut().zip(&target.segments).for_each(|(at, segment)| *at = segment);
        let asks = |ask| Some(Route::Asks(ask));
        match (method, &*path) {
            ("GET", ["event"]) => Some(Route::Events { global: false }),
            ("GET", ["global", "event"]) => Some(Route::Events { global: true }),
            ("GET", ["session"]) => Some(Route::Sessions),
            ("POST", ["session"]) => Some(Route::MakeSession),
            ("GET", ["session", "status"]) => Some(Route::Status),
            ("GET", ["session", id]) => Some(Route::Session(id)),
            ("GET", ["session", id, "children"]) => Some(Route::Children(id)),
            ("GET", ["session", session, "message"]) => {
                let limit = target.query("limit").and_then(|n| n.parse().ok());
                Some(Route::Messages { session, limit })
            }
            ("POST", ["session", session, "message"]) => Some(Route::Prompt { session, waits: true }),
            ("POST", ["session", session, "prompt_async"]) => Some(Route::Prompt { session, waits: false }),
            ("POST", ["session", session, "abort"]) => {
                Some(Route::Abort { session, soft: target.query("mode") == Some("soft") })
            }
            ("POST", ["session", session, "tool", "respond"]) => Some(Route::Respond(session)),
            ("POST", ["session", session, "permissions", id]) => Some(Route::PermitIn { session, id }),
            ("GET", ["question"]) => asks(Ask::Question),
            ("GET", ["permission"]) => asks(Ask::Permission),
            ("GET", ["blocker"]) => asks(Ask::Blocker),
            ("GET", ["external-result"]) => asks(Ask::External),
            ("POST", ["question", id, "reply"]) => Some(Route::Answer(id)),
            ("POST", ["question", id, "reject"]) => Some(Route::Reject(id)),
            ("POST", ["permission", id, "reply"]) => Some(Route::Permit(id)),
            ("POST", ["instance", "dispose"]) => Some(Route::Dispose),
            ("GET", ["doc"]) => Some(Route::Doc),
            ("GET", ["session", id, "todo"]) => Some(Route::Todo(id)),
            ("GET", ["session", id, "diff"]) => Some(Route::Diff(id)),
            ("GET", ["session", session, "message", id]) => Some(Route::Message { session, id }),
            ("GET", path) => {
                let api = || match path {
                    ["api", "session", session] => Some(Route::Api { session, part: ApiPart::Info }),
                    ["api", "session", session, part] => ApiPart::of(part).map(|part| Route::Api { session, part }),
                    _ => None,
                };
                Info::of(path).map(Route::Info).or_else(|| Find::of(path).map(Route::Find)).or_else(api)
            }
            _ => None,
        }
    }

    /// The method: `GET` or `POST`.
    pub fn method(&self) -> &'static str {
        match self {
            Route::Events { .. }
            | Route::Sessions
            | Route::Status
            | Route::Session(_)
            | Route::Children(_)
            | Route::Messages { .. }
            | Route::Asks(_)
            | Route::Doc
            | Route::Message { .. }
            | Route::Todo(_)
            | Route::Diff(_)
            | Route::Info(_)
            | Route::Api { .. }
            | Route::Find(_) => "GET",
            Route::MakeSession
            | Route::Prompt { .. }
            | Route::Abort { .. }
            | Route::Answer(_)
            | Route::Reject(_)
            | Route::Permit(_)
            | Route::PermitIn { .. }
            | Route::Respond(_)
            | Route::Dispose => "POST",
        }
    }

    /// What goes into a request's first line: the method and the target.
    pub fn sent(&self) -> (&'static str, String) {
        (self.method(), self.to_string())
    }

    /// The request's target for a server that has several folders: with `directory` as it is in the query.
    pub fn in_folder(&self, directory: Option<&str>) -> String {
        let target = self.to_string();
        match directory {
            None => target,
            Some(of) => format!("{target}{}directory={of}", if target.contains('?') { '&' } else { '?' }),
        }
    }
}

/// The request's target: path and query.
impl fmt::Display for Route<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = percent_encode;
        match self {
            Route::Events { global: false } => f.write_str("/event"),
            Route::Events { global: true } => f.write_str("/global/event"),
            Route::Sessions | Route::MakeSession => f.write_str("/session"),
            Route::Status => f.write_str("/session/status"),
            Route::Session(id) => write!(f, "/session/{}", of(id)),
            Route::Children(id) => write!(f, "/session/{}/children", of(id)),
            Route::Messages { session, limit: None } => write!(f, "/session/{}/message", of(session)),
            Route::Messages { session, limit: Some(n) } => write!(f, "/session/{}/message?limit={n}", of(session)),
            Route::Prompt { session, waits: true } => write!(f, "/session/{}/message", of(session)),
            Route::Prompt { session, waits: false } => write!(f, "/session/{}/prompt_async", of(session)),
            Route::Abort { session, soft: false } => write!(f, "/session/{}/abort", of(session)),
            Route::Abort { session, soft: true } => write!(f, "/session/{}/abort?mode=soft", of(session)),
            Route::Asks(ask) => write!(f, "/{}", ask.segment()),
            Route::Answer(id) => write!(f, "/question/{}/reply", of(id)),
            Route::Reject(id) => write!(f, "/question/{}/reject", of(id)),
            Route::Permit(id) => write!(f, "/permission/{}/reply", of(id)),
            Route::PermitIn { session, id } => write!(f, "/session/{}/permissions/{}", of(session), of(id)),
            Route::Respond(id) => write!(f, "/session/{}/tool/respond", of(id)),
            Route::Dispose => f.write_str("/instance/dispose"),
            Route::Doc => f.write_str("/doc"),
            Route::Message { session, id } => write!(f, "/session/{}/message/{}", of(session), of(id)),
            Route::Todo(id) => write!(f, "/session/{}/todo", of(id)),
            Route::Diff(id) => write!(f, "/session/{}/diff", of(id)),
            Route::Info(info) => f.write_str(info.path()),
            Route::Api { session, part: ApiPart::Info } => write!(f, "/api/session/{}", of(session)),
            Route::Api { session, part } => write!(f, "/api/session/{}/{}", of(session), part.segment()),
            Route::Find(find) => f.write_str(find.path()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Route::*;

    #[test]
    fn every_route_survives() {
        for id in ["ses_1", "a/b c?d", "ü"] {
            let flags = [false, true];
            let mut all = vec![Sessions, MakeSession, Status, Session(id), Children(id), Answer(id), Reject(id)];
            all.extend([Permit(id), PermitIn { session: id, id: "per_1" }, Respond(id), Dispose, Doc]);
            all.extend([Ask::Question, Ask::Permission, Ask::Blocker, Ask::External].map(Asks));
            all.extend([None, Some(1)].map(|limit| Messages { session: id, limit }));
            all.extend([Todo(id), Diff(id), Message { session: id, id: "msg_1" }]);
            all.extend(super::Find::ALL.map(Find));
            all.extend(super::Info::ALL.iter().map(|info| Info(*info)));
            all.extend(ApiPart::ALL.map(|part| Api { session: id, part }));
            all.extend(flags.map(|global| Events { global }));
            all.extend(flags.map(|waits| Prompt { session: id, waits }));
            all.extend(flags.map(|soft| Abort { session: id, soft }));
            for route in all {
                let target = Target::parse(&route.to_string());
                assert_eq!(Route::parse(route.method(), &target), Some(route), "{route}");
                let target = Target::parse(&route.in_folder(Some("/x")));
                assert_eq!(Route::parse(route.method(), &target), Some(route), "{route}");
                assert_eq!(target.query("directory"), Some("/x"));
            }
        }
    }

    #[test]
    fn what_nobody_serves_is_no_route() {
        for (method, target) in [("PUT", "/session"), ("GET", "/session/a/b"), ("POST", "/event"), ("GET", "/")] {
            assert_eq!(Route::parse(method, &Target::parse(target)), None, "{method} {target}");
        }
    }
}
