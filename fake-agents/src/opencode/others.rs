//! The routes that change something, or ask for one thing by its id, apart from those that a turn needs.
//!
//! Invariant: each row of [`OTHERS`] answers with the recorded status and keys to an empty body and to ids of nothing
//! (`tests/golden/opencode-routes`, `tests/clients`). What a row needs and was given is only done where it says so: a
//! title, a fork, a session's end. No command is run and no message is taken away.

use super::engine::{About, Engine};
use super::release::Flavour;
use rehang_wire::http::Target;
use rehang_wire::opencode::Numbers;
use serde_json::{Value, json};

/// How a route answers.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// 200 with `true`.
    True,
    /// 200 with nothing.
    Empty,
    /// 204.
    Nothing,
    /// This status, whatever is asked.
    Status(u16),
    /// 400 unless the body has these keys; then `true`.
    Needs(&'static [&'static str]),
    /// 400 unless the query has these keys; then an empty list.
    Queries(&'static [&'static str]),
    /// 400 without a body, or if the id has another beginning; then this status, since there is no such thing.
    NoSuch { prefix: &'static str, body: bool, status: u16 },
    /// An empty list.
    List,
    /// 400 without a body, else an empty list.
    Lists,
    /// No answer.
    Never,
    /// 400 without a body; then what [`Engine::made`] says.
    Makes(Made),
}

/// What a route with a body makes, or shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Retitled,
    Fork,
    Session,
    NoSession,
    Pty,
    ApiPty,
    ApiSession,
    Config,
    GlobalConfig,
    GitProject,
    CopyName,
}

const V1_0: Numbers = (1, 0, 0);
const V1_1: Numbers = (1, 1, 0);
const V1_2_27: Numbers = (1, 2, 27);
const V1_14: Numbers = (1, 14, 0);
const NEVER: Numbers = (u32::MAX, 0, 0);

/// A method, a path in which `*` is an id, the releases from the first to before the second, and the answer.
type Row = (&'static str, &'static str, Numbers, Numbers, Does);

use Does::{Empty, List, Lists, Makes, Needs, Never, NoSuch, Nothing, Queries, Status, True};

const PTY: Does = NoSuch { prefix: "pty", body: false, status: 404 };
const PTY_BODY: Does = NoSuch { prefix: "pty", body: true, status: 404 };

/// All of them. The boundaries are those between the recorded releases, as in `Info`.
const OTHERS: &[Row] = &[
    ("PATCH", "/session/*", V1_0, NEVER, Makes(Made::Retitled)),
    ("DELETE", "/session/*", V1_0, NEVER, Makes(Made::NoSession)),
    ("POST", "/session/*/fork", V1_0, NEVER, Makes(Made::Fork)),
    ("POST", "/session/*/unrevert", V1_0, NEVER, Makes(Made::Session)),
    ("POST", "/session/*/revert", V1_0, NEVER, Needs(&["messageID"])),
    ("POST", "/session/*/command", V1_0, NEVER, Needs(&["command", "arguments"])),
    ("POST", "/session/*/shell", V1_0, NEVER, Needs(&["agent", "command"])),
    ("POST", "/session/*/init", V1_0, NEVER, Needs(&["modelID", "providerID", "messageID"])),
    ("POST", "/session/*/summarize", V1_0, NEVER, Needs(&["providerID", "modelID"])),
    ("DELETE", "/session/*/message/*", V1_1, NEVER, True),
    ("DELETE", "/session/*/message/*/part/*", V1_0, NEVER, True),
    ("PATCH", "/session/*/message/*/part/*", V1_0, NEVER, Needs(&["id", "sessionID", "messageID", "type"])),
    ("POST", "/log", V1_0, NEVER, Needs(&["service", "level", "message"])),
    ("POST", "/mcp", V1_0, NEVER, Needs(&["name", "config"])),
    ("POST", "/mcp/*/disconnect", V1_0, V1_14, True),
    ("POST", "/mcp/*/disconnect", V1_14, NEVER, Status(404)),
    ("POST", "/mcp/*/connect", V1_14, NEVER, Status(404)),
    ("POST", "/pty", V1_0, V1_1, Status(500)),
    ("POST", "/pty", V1_1, NEVER, Makes(Made::Pty)),
    ("PUT", "/pty/*", V1_0, V1_14, Empty),
    ("DELETE", "/pty/*", V1_0, V1_14, True),
    ("PUT", "/pty/*", V1_14, NEVER, PTY_BODY),
    ("DELETE", "/pty/*", V1_14, NEVER, PTY),
    ("GET", "/pty/*", V1_14, NEVER, PTY),
    ("PATCH", "/config", V1_0, NEVER, Makes(Made::Config)),
    ("PATCH", "/global/config", V1_1, NEVER, Makes(Made::GlobalConfig)),
    ("PATCH", "/project/*", V1_1, V1_14, Status(500)),
    ("PATCH", "/project/*", V1_0, NEVER, Status(404)),
    ("POST", "/project/git/init", V1_2_27, NEVER, Makes(Made::GitProject)),
    ("GET", "/project/*/directories", V1_14, NEVER, List),
    ("POST", "/experimental/worktree", V1_1, NEVER, Status(400)),
    ("DELETE", "/experimental/worktree", V1_1, NEVER, Status(400)),
    ("POST", "/experimental/worktree/reset", V1_1, NEVER, Status(400)),
    ("GET", "/experimental/tool", V1_0, NEVER, Queries(&["provider", "model"])),
    ("POST", "/instance/dispose", V1_0, NEVER, True),
    ("POST", "/global/dispose", V1_0, NEVER, True),
    // the screen, which nobody is at
    ("POST", "/tui/append-prompt", V1_0, NEVER, Needs(&["text"])),
    ("POST", "/tui/execute-command", V1_0, NEVER, Needs(&["command"])),
    ("POST", "/tui/publish", V1_0, NEVER, Needs(&["type", "properties"])),
    ("POST", "/tui/show-toast", V1_0, NEVER, Needs(&["message", "variant"])),
    ("POST", "/tui/select-session", V1_1, NEVER, Needs(&["sessionID"])),
    ("POST", "/tui/clear-prompt", V1_0, NEVER, True),
    ("POST", "/tui/submit-prompt", V1_0, NEVER, True),
    ("POST", "/tui/open-help", V1_0, NEVER, True),
    ("POST", "/tui/open-models", V1_0, NEVER, True),
    ("POST", "/tui/open-sessions", V1_0, NEVER, True),
    ("POST", "/tui/open-themes", V1_0, NEVER, True),
    ("POST", "/tui/control/response", V1_0, V1_14, True),
    ("POST", "/tui/control/response", V1_14, NEVER, Needs(&[])),
    ("GET", "/tui/control/next", V1_0, NEVER, Never),
    ("POST", "/experimental/workspace", V1_2_27, NEVER, Status(400)),
    ("DELETE", "/experimental/workspace/*", V1_2_27, NEVER, Status(400)),
    // 1.18.33 alone
    ("GET", "/vcs/diff", V1_14, NEVER, Queries(&["mode"])),
    ("POST", "/vcs/apply", V1_14, NEVER, Needs(&["patch"])),
    ("POST", "/experimental/console/switch", V1_14, NEVER, Needs(&["accountID", "orgID"])),
    ("POST", "/experimental/control-plane/move-session", V1_14, NEVER, Needs(&["sessionID", "destination"])),
    ("POST", "/experimental/session/*/background", V1_14, NEVER, True),
    ("POST", "/experimental/project/*/copy", V1_14, NEVER, Status(400)),
    ("DELETE", "/experimental/project/*/copy", V1_14, NEVER, Status(400)),
    ("POST", "/experimental/project/*/copy/generate-name", V1_14, NEVER, Makes(Made::CopyName)),
    ("POST", "/experimental/project/*/copy/refresh", V1_14, NEVER, Nothing),
    ("POST", "/experimental/workspace/sync-list", V1_14, NEVER, Nothing),
    ("POST", "/experimental/workspace/warp", V1_14, NEVER, Status(400)),
    ("POST", "/sync/start", V1_14, NEVER, True),
    ("POST", "/sync/history", V1_14, NEVER, Lists),
    ("POST", "/sync/replay", V1_14, NEVER, Status(400)),
    ("POST", "/sync/steal", V1_14, NEVER, Status(400)),
    ("POST", "/api/pty", V1_14, NEVER, Makes(Made::ApiPty)),
    ("GET", "/api/pty/*", V1_14, NEVER, PTY),
    ("PUT", "/api/pty/*", V1_14, NEVER, PTY_BODY),
    ("DELETE", "/api/pty/*", V1_14, NEVER, PTY),
    ("PATCH", "/api/credential/*", V1_14, NEVER, Needs(&["label"])),
    ("DELETE", "/api/credential/*", V1_14, NEVER, Nothing),
    ("GET", "/api/fs/find", V1_14, NEVER, List),
    ("GET", "/api/fs/read/*", V1_14, NEVER, Status(500)),
    ("GET", "/api/integration/attempt/*", V1_14, NEVER, Status(500)),
    ("DELETE", "/api/integration/attempt/*", V1_14, NEVER, Nothing),
    ("POST", "/api/integration/attempt/*/complete", V1_14, NEVER, NoSuch { prefix: "", body: true, status: 500 }),
    ("POST", "/api/integration/*/connect/key", V1_14, NEVER, Needs(&["key"])),
    ("GET", "/api/integration/*", V1_14, NEVER, List),
    ("DELETE", "/api/permission/saved/*", V1_14, NEVER, Nothing),
    ("GET", "/api/provider/*", V1_14, NEVER, Status(404)),
    ("GET", "/api/session/*/message/*", V1_14, NEVER, Status(404)),
    ("POST", "/api/session", V1_14, NEVER, Makes(Made::ApiSession)),
    ("POST", "/api/session/*/agent", V1_14, NEVER, Needs(&["agent"])),
    ("POST", "/api/session/*/model", V1_14, NEVER, Needs(&["model"])),
    ("POST", "/api/session/*/prompt", V1_14, NEVER, Needs(&["prompt"])),
    ("POST", "/api/session/*/compact", V1_14, NEVER, Status(503)),
    ("POST", "/api/session/*/wait", V1_14, NEVER, Status(503)),
    ("POST", "/api/session/*/interrupt", V1_14, NEVER, Nothing),
    ("POST", "/api/session/*/revert/stage", V1_14, NEVER, Needs(&["messageID"])),
    ("POST", "/api/session/*/revert/clear", V1_14, NEVER, Nothing),
    ("POST", "/api/session/*/revert/commit", V1_14, NEVER, Nothing),
    ("POST", "/api/session/*/permission", V1_14, NEVER, Needs(&["permission", "patterns"])),
    ("GET", "/api/session/*/permission/*", V1_14, NEVER, NoSuch { prefix: "per", body: false, status: 404 }),
    ("POST", "/api/session/*/permission/*/reply", V1_14, NEVER, NoSuch { prefix: "per", body: true, status: 404 }),
    ("POST", "/api/session/*/question/*/reject", V1_14, NEVER, NoSuch { prefix: "que", body: false, status: 404 }),
    ("POST", "/api/session/*/question/*/reply", V1_14, NEVER, NoSuch { prefix: "que", body: true, status: 404 }),
];

impl Engine {
    /// Answers one of these routes; returns whether the release has it. Forks have none of them: what they kept is not
    /// known.
    pub(super) fn other(&mut self, ticket: u32, method: &str, target: &Target, body: Option<&Value>) -> bool {
        let path = target.path();
        let Some((_, pattern, .., does)) = self.row(method, &path) else { return false };
        let ids: Vec<&str> =
            pattern.split('/').skip(1).zip(&path).filter(|(of, _)| *of == "*").map(|(_, id)| *id).collect();
        if pattern.starts_with("/session/*") && self.find(ids[0]).is_none() {
            self.not_found(ticket, &format!("Session not found: {}", ids[0]));
            return true;
        }
        let given = body.filter(|body| !body.is_null());
        let has = |keys: &[&str]| given.is_some_and(|body| keys.iter().all(|key| !body[*key].is_null()));
        match *does {
            True => self.respond(ticket, 200, "true".to_owned()),
            Empty => self.respond(ticket, 200, String::new()),
            Nothing => self.respond(ticket, 204, String::new()),
            Needs(keys) if has(keys) => self.respond(ticket, 200, "true".to_owned()),
            Queries(keys) if keys.iter().all(|key| target.query(key).is_some()) => {
                self.respond(ticket, 200, "[]".to_owned());
            }
            NoSuch { prefix, body, .. }
                if (body && given.is_none()) || ids.last().is_some_and(|id| !id.starts_with(prefix)) =>
            {
                self.failed(ticket, 400);
            }
            Status(status) | NoSuch { status, .. } => self.failed(ticket, status),
            Lists if given.is_none() => self.failed(ticket, 400),
            List | Lists => self.respond(ticket, 200, "[]".to_owned()),
            Never => {}
            Makes(Made::NoSession) => self.delete_session(ticket, ids[0]),
            Makes(made) => match given.or_else(|| made.needs_no_body().then_some(&Value::Null)) {
                Some(body) => {
                    let answer = self.made(made, ids.first().copied().unwrap_or_default(), body);
                    self.respond(ticket, 200, answer);
                }
                None => self.failed(ticket, 400),
            },
            Needs(_) | Queries(_) => self.failed(ticket, 400),
        }
        true
    }

    fn row(&self, method: &str, path: &[&str]) -> Option<&'static Row> {
        if self.release.flavour != Flavour::Opencode {
            return None;
        }
        let fits = |(of, pattern, since, before, _): &&Row| {
            let segments = || pattern.split('/').skip(1);
            let alike = segments().count() == path.len()
                && segments().zip(path).all(|(segment, given)| segment == "*" || segment == *given);
            *of == method && alike && (*since..*before).contains(&self.release.numbers)
        };
        OTHERS.iter().find(fits)
    }

    fn failed(&mut self, ticket: u32, status: u16) {
        if status == 404 {
            return self.not_found(ticket, "no such thing");
        }
        let name = if status < 500 { "BadRequestError" } else { "UnknownError" };
        self.respond(ticket, status, json!({ "name": name, "data": { "message": "refused" } }).to_string());
    }

    fn delete_session(&mut self, ticket: u32, id: &str) {
        let Some(at) = self.find(id) else { return };
        self.sessions[at].deleted = true;
        self.session_event("session.deleted", at, About::Other);
        self.respond(ticket, 200, "true".to_owned());
    }

    /// What a route has made of a body, as JSON; `id` is the first of its path.
    fn made(&mut self, made: Made, id: &str, body: &Value) -> String {
        let at = self.find(id);
        match (made, at) {
            (Made::Retitled, Some(at)) => {
                if let Some(title) = body["title"].as_str() {
                    self.sessions[at].title = title.to_owned();
                    self.touched(at);
                }
                self.session_info(at)
            }
            (Made::Session, Some(at)) => self.session_info(at),
            (Made::Fork, Some(at)) => {
                let fork = self.fork(at);
                self.session_info(fork)
            }
            (Made::ApiSession, _) => {
                let made = self.create_session_in(self.now, "New session", &[], None);
                json!({ "data": self.api_session(made) }).to_string()
            }
            (Made::Pty, _) => pty(&self.directory).to_string(),
            (Made::ApiPty, _) => self.located(pty(&self.directory)).to_string(),
            (Made::Config, _) => body.to_string(),
            (Made::GlobalConfig, _) => self.own_config().to_string(),
            (Made::GitProject, _) => {
                let mut project = self.project();
                project["vcs"] = json!("git");
                project.to_string()
            }
            (Made::CopyName, _) => json!({ "name": "copy" }).to_string(),
            (Made::NoSession | Made::Retitled | Made::Session | Made::Fork, _) => String::new(),
        }
    }

    /// A session with the same messages under new ids.
    fn fork(&mut self, of: usize) -> usize {
        let (title, directory) =
            (format!("{} (fork #1)", self.sessions[of].title), self.sessions[of].directory.clone());
        let fork = self.create_session_in(self.now, &title, &[], Some(&directory));
        let mut messages = self.sessions[of].messages.clone();
        for message in &mut messages {
            self.next.message += 1;
            message.id = format!("msg_{}", self.next.message);
            for part in &mut message.parts {
                self.next.part += 1;
                part.id = format!("prt_{}", self.next.part);
            }
        }
        self.sessions[fork].messages = messages;
        fork
    }
}

impl Made {
    /// Whether it is made without a body too.
    fn needs_no_body(self) -> bool {
        matches!(self, Made::Fork | Made::Session | Made::GitProject)
    }
}

/// A terminal that nothing runs in.
fn pty(directory: &str) -> Value {
    json!({
        "id": "pty_1", "title": "Terminal", "command": "/bin/sh", "args": ["-l"], "cwd": directory,
        "status": "running", "pid": 1,
    })
}
