//! The server's routes, without the event streams: what a request does, and what it is answered.
//!
//! Invariants: a request is answered once, at once or when what it waits for has ended; a body that does not parse is a
//! 400 and changes nothing. [`super::server`] handles event streams.

use super::asks::{By, Permit};
use super::engine::{Answer, Engine, Out};
use super::json::{field, next_field};
use super::release::{Dialect, Flavour};
use super::render;
use super::state::{Body, Model, ToolState};
use rehang_scenario::{PostDoes, QueueFault, VTime};
use rehang_trace::Cause;
use rehang_wire::http::Target;
use rehang_wire::opencode::{Ask, Prompted, ReplyRoute, Route, answers_of};
use serde_json::Value;

/// The most messages that a list shows if no limit is given.
const MESSAGES_MAX: usize = 10_000;
/// In place of the page that 1.18.33 answers any path with that it does not know.
const WEB_PAGE: &str = "<!doctype html><title>OpenCode</title>";

impl Engine {
    /// Handles a request. Its answer is given with its ticket, now or later.
    pub fn request(&mut self, now: VTime, ticket: u32, method: &str, target: &str, body: &[u8]) {
        self.asked(now, ticket, method, &Target::parse(target), body);
    }

    /// The same with a target that was taken apart.
    pub(super) fn asked(&mut self, now: VTime, ticket: u32, method: &str, target: &Target, body: &[u8]) {
        self.now = now;
        let route = Route::parse(method, target);
        if !matches!(route, Some(Route::Prompt { .. }))
            && let Some(status) = self.request_faults.other(|| format!("/{}", target.path().join("/")))
        {
            self.respond(ticket, status, String::new());
            return;
        }
        let body = if body.is_empty() { Some(Value::Null) } else { serde_json::from_slice(body).ok() };
        match route {
            Some(Route::Sessions) => self.list_sessions(ticket),
            Some(Route::MakeSession) => {
                let title = body.as_ref().and_then(|b| b.get("title")).and_then(Value::as_str).unwrap_or("New session");
                let title = title.to_owned();
                match body {
                    None => self.bad(ticket, "Malformed JSON in request body"),
                    Some(_) => {
                        let session = self.create_session_in(now, &title, &[], target.query("directory"));
                        let info = self.session_info(session);
                        self.respond(ticket, 200, info);
                    }
                }
            }
            Some(Route::Status) => self.list_status(ticket),
            Some(Route::Session(id)) => self.with_session(ticket, id, |engine, session| {
                let info = engine.session_info(session);
                engine.respond(ticket, 200, info);
            }),
            Some(Route::Children(id)) => self.with_session(ticket, id, |engine, session| {
                let of = |at: &usize| engine.sessions[*at].parent == Some(session);
                let children: Vec<String> =
                    (0..engine.sessions.len()).filter(of).map(|at| engine.session_info(at)).collect();
                engine.respond(ticket, 200, format!("[{}]", children.join(",")));
            }),
            Some(Route::Messages { session, limit }) => {
                let limit = limit.unwrap_or(MESSAGES_MAX);
                self.with_session(ticket, session, |engine, session| engine.list_messages(ticket, session, limit));
            }
            Some(Route::Prompt { session, waits }) => {
                self.with_session(ticket, session, |engine, session| match body.as_ref().and_then(Prompted::of) {
                    Some(prompted) => engine.prompted(ticket, session, prompted, waits),
                    None => engine.bad(ticket, "parts: expected an array of parts"),
                });
            }
            Some(Route::Abort { session, soft }) => {
                let soft = soft && self.release.flavour == Flavour::Pawwork;
                if soft && self.external {
                    self.bad(ticket, "mode: soft is no longer supported");
                } else {
                    self.with_session(ticket, session, |engine, session| {
                        engine.abort(now, session, Some(ticket), soft);
                    });
                }
            }
            Some(Route::Respond(session)) if self.external => {
                let body = body.unwrap_or(Value::Null);
                let call = body.get("callID").and_then(Value::as_str).unwrap_or("").to_owned();
                let dismiss = body.get("action").and_then(Value::as_str) == Some("dismiss");
                if !self.submit(ticket, &call, session, dismiss, &body) {
                    self.not_found(ticket, &format!("No external result: {call}"));
                }
            }
            Some(Route::PermitIn { id, .. }) => self.permission_reply(ticket, id, body, ReplyRoute::Session),
            // There is one instance for each directory, with its own asks.
            Some(Route::Asks(_)) if target.query("directory").is_some_and(|of| !self.works_in(of)) => {
                self.respond(ticket, 200, "[]".to_owned());
            }
            Some(Route::Asks(ask)) if self.lists(ask) => {
                let list = match ask {
                    Ask::Question => self.list_asks(true),
                    Ask::Permission => self.list_asks(false),
                    Ask::Blocker => self.list_blockers(),
                    Ask::External => self.list_externals(),
                };
                self.respond(ticket, 200, list);
            }
            Some(Route::Dispose) if self.release.flavour == Flavour::Pawwork => {
                self.dispose();
                self.respond(ticket, 200, "true".to_owned());
            }
            Some(Route::Answer(id)) if self.lists(Ask::Question) => self.question_reply(ticket, id, false, body),
            Some(Route::Reject(id)) if self.lists(Ask::Question) => self.question_reply(ticket, id, true, body),
            Some(Route::Permit(id)) if self.lists(Ask::Permission) => {
                self.permission_reply(ticket, id, body, ReplyRoute::Own);
            }
            Some(route) if self.knows(&route) => self.inform(ticket, route, target),
            _ if self.other(ticket, method, target, body.as_ref()) => {}
            _ if self.release.unknown_route == 404 => self.not_found(ticket, "no such route"),
            // it is asked of the vendor's site, which cannot be reached; the newest has the page in itself
            _ if self.release.unknown_route == 200 => self.respond(ticket, 200, WEB_PAGE.to_owned()),
            _ => self.error_body(ticket, self.release.unknown_route, "UnknownError", "Unable to connect"),
        }
        self.act();
    }

    /// Whether the server or one of its sessions belongs to this folder.
    fn works_in(&self, directory: &str) -> bool {
        self.directory == directory || self.sessions.iter().any(|session| session.directory == directory)
    }

    /// Whether this release has the routes of these asks.
    pub(super) fn lists(&self, ask: Ask) -> bool {
        match ask {
            Ask::Question => self.release.question_tool && !self.external,
            Ask::Permission => self.release.dialect > Dialect::V1_0,
            Ask::Blocker => self.inside.has("ledger"),
            Ask::External => self.external,
        }
    }

    fn prompted(&mut self, ticket: u32, session: usize, prompted: Prompted, waits: bool) {
        let text = prompted.text.as_str();
        let model = prompted.model.map(|(provider, id)| Model { provider, id });
        if self.queue_fault() == Some(QueueFault::Refuses) {
            self.error_body(ticket, 503, "UnknownError", "the queue is full");
            return;
        }
        let fault = self.request_faults.prompt();
        if !waits {
            match fault {
                Some(PostDoes::Status(status)) => return self.error_body(ticket, status, "UnknownError", "refused"),
                Some(PostDoes::NeverCloses) => {}
                Some(PostDoes::Cut(after)) => self.cut(ticket, after),
                _ => self.respond(ticket, 204, String::new()),
            }
            if fault != Some(PostDoes::Ignored) {
                self.start_prompt(session, text, model, None, None);
            }
            return;
        }
        let ticket = match fault {
            Some(PostDoes::Status(status)) => return self.error_body(ticket, status, "UnknownError", "refused"),
            Some(PostDoes::Ignored) => return,
            Some(PostDoes::NeverCloses) => None,
            Some(PostDoes::Cut(after)) => {
                self.cut(ticket, after);
                Some(ticket)
            }
            None => Some(ticket),
        };
        self.start_prompt(session, text, model, ticket, None);
    }

    fn cut(&mut self, ticket: u32, after: rehang_scenario::Span) {
        let cut_at = Some(self.now + after);
        self.out.push(Out::Respond(Answer { ticket, status: 0, body: String::new(), cut_at }));
    }

    fn question_reply(&mut self, ticket: u32, id: &str, dismiss: bool, body: Option<Value>) {
        let for_strategy = body.clone().unwrap_or_else(|| Value::String("not JSON".to_owned()));
        if self.submit(ticket, id, "", dismiss, &for_strategy) {
            return;
        }
        let done = if dismiss {
            let reason = Some("dismissed");
            self.reject_question(id, reason, &By::user_with(Cause::Dismiss))
        } else {
            match body.as_ref().and_then(answers_of) {
                Some(answers) => self.reply_question(id, answers, &By::user()),
                None => return self.bad(ticket, "answers: expected an array of arrays of strings"),
            }
        };
        self.replied(ticket, done, "Question", id);
    }

    fn permission_reply(&mut self, ticket: u32, id: &str, body: Option<Value>, via: ReplyRoute) {
        let word = body.as_ref().and_then(|body| body.get(via.key())).and_then(Value::as_str);
        match word.and_then(Permit::parse) {
            Some(permit) => {
                let done = self.reply_permission(id, permit, &By::user());
                self.replied(ticket, done, "Permission", id);
            }
            None => self.bad(ticket, "reply: expected once, always or reject"),
        }
    }

    fn replied(&mut self, ticket: u32, done: Option<()>, kind: &str, id: &str) {
        match done {
            None if self.release.unknown_ask_is_404 => {
                self.not_found(ticket, &format!("{kind} request not found: {id}"))
            }
            _ => self.respond(ticket, 200, "true".to_owned()),
        }
    }

    fn list_sessions(&mut self, ticket: u32) {
        let shown = (0..self.sessions.len()).filter(|at| !self.sessions[*at].deleted);
        let all: Vec<String> = shown.map(|at| self.session_info(at)).collect();
        self.respond(ticket, 200, format!("[{}]", all.join(",")));
    }

    fn list_status(&mut self, ticket: u32) {
        let mut out = String::from("{");
        for (at, session) in self.sessions.iter().enumerate() {
            if self.busy(at) {
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(&format!("\"{}\":{{\"type\":\"busy\"}}", session.id));
            }
        }
        out.push('}');
        self.respond(ticket, 200, out);
    }

    fn list_messages(&mut self, ticket: u32, session: usize, limit: usize) {
        self.read = true;
        self.mend_stale(session);
        let list = self.messages(session, limit);
        self.respond(ticket, 200, list);
    }

    /// The newest messages of a session as a JSON array.
    pub(super) fn messages(&self, session: usize, limit: usize) -> String {
        let it = &self.sessions[session];
        let from = it.messages.len().saturating_sub(limit);
        let mut out = String::with_capacity(1024);
        out.push('[');
        for (at, message) in it.messages[from..].iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            render::whole(&mut out, &self.release, it, message);
        }
        out.push(']');
        out
    }

    /// PawWork rewrites a stored question part, when it is read, if it still says running although nobody waits for its
    /// answer any more (6ab984202): a restart removed its registry entry.
    fn mend_stale(&mut self, session: usize) {
        if !self.external {
            return;
        }
        let now_ms = self.now_ms();
        let (tools, session) = (&self.tools, &mut self.sessions[session]);
        for message in &mut session.messages {
            for part in &mut message.parts {
                let Body::Tool(tool) = &mut part.body else { continue };
                let ready = tool.metadata.contains("\"externalResultReady\":true");
                let known = tools.iter().any(|run| run.call == tool.call);
                if tool.name == "question" && tool.state == ToolState::Running && ready && !known {
                    let error = rehang_strategy::pawwork::CANCELLED.to_owned();
                    tool.state = ToolState::Error { error, end_ms: now_ms };
                    tool.metadata =
                        "\"reason\":\"shutdown\",\"interrupted\":true,\"stale_external_result\":true".to_owned();
                }
            }
        }
    }

    pub(super) fn session_info(&self, session: usize) -> String {
        let mut out = String::with_capacity(256);
        render::session(&mut out, &self.release, &self.sessions[session], self.parent_id(session));
        out
    }

    fn with_session(&mut self, ticket: u32, id: &str, then: impl FnOnce(&mut Engine, usize)) {
        match self.find(id) {
            Some(session) => then(self, session),
            None => self.not_found(ticket, &format!("Session not found: {id}")),
        }
    }

    pub(super) fn not_found(&mut self, ticket: u32, text: &str) {
        self.error_body(ticket, 404, "NotFoundError", text);
    }

    fn bad(&mut self, ticket: u32, text: &str) {
        self.error_body(ticket, 400, "BadRequestError", text);
    }

    fn error_body(&mut self, ticket: u32, status: u16, name: &str, text: &str) {
        let mut out = String::from("{");
        field!(&mut out, "name", name);
        out.push_str(",\"data\":{");
        field!(&mut out, "message", text);
        if name == "UnknownError" {
            next_field!(&mut out, "kind", "injected");
        }
        out.push_str("}}");
        self.respond(ticket, status, out);
    }
}
