//! What the server says of itself, its folder and its sessions apart from the turns: the `GET` routes of a release's
//! `/doc`.
//!
//! Invariant: a release answers with 200 exactly those of its routes that the real one answers with 200, with its keys;
//! the recorded lists are in `tests/golden/opencode-routes`, and `rehang-drift` checks the fake against them. Texts are
//! our own.

use super::engine::Engine;
use super::release::Dialect;
use super::render;
use super::state::{Model, Session};
use rehang_wire::http::Target;
use rehang_wire::opencode::{ApiPart, Ask, Find, Info, Route};
use serde_json::{Value, json};

/// The project that sessions outside of a repository belong to.
const PROJECT: &str = "global";
/// Agents that a user may choose or a model may start: name, mode, and whether they are shown.
const AGENTS: [(&str, &str, bool); 7] = [
    ("build", "primary", true),
    ("plan", "primary", true),
    ("general", "subagent", true),
    ("explore", "subagent", true),
    ("compaction", "primary", false),
    ("title", "primary", false),
    ("summary", "primary", false),
];

impl Engine {
    /// Whether the release has this route; [`Engine::request`] answers those about turns and asks.
    pub(super) fn knows(&self, route: &Route<'_>) -> bool {
        let newest = self.release.dialect == Dialect::V1_18;
        match route {
            Route::Info(info) => info.since() <= self.release.numbers,
            Route::Api { .. } => newest,
            Route::Doc | Route::Message { .. } | Route::Todo(_) | Route::Diff(_) | Route::Find(_) => true,
            _ => false,
        }
    }

    /// Answers a route that it knows.
    pub(super) fn inform(&mut self, ticket: u32, route: Route<'_>, target: &Target) {
        let (status, body) = match route {
            Route::Doc => (200, self.doc()),
            Route::Info(info) => (200, self.info(info)),
            Route::Find(find) if target.query(find.wants()).is_none() => {
                let error = json!([{ "path": [find.wants()], "message": "Invalid input: expected string" }]);
                (400, json!({ "data": {}, "error": error, "success": false }))
            }
            Route::Find(Find::Content) => (200, json!({ "type": "text", "content": "" })),
            Route::Find(_) => (200, json!([])),
            Route::Todo(id) | Route::Diff(id) if self.find(id).is_some() => (200, json!([])),
            Route::Message { session, id } => match self.message(session, id) {
                Some(message) => return self.respond(ticket, 200, message),
                None => return self.not_found(ticket, &format!("Message not found: {id}")),
            },
            Route::Api { session, part } => match self.find(session) {
                Some(at) => (200, self.api(at, part)),
                None => return self.not_found(ticket, &format!("Session not found: {session}")),
            },
            Route::Todo(id) | Route::Diff(id) => return self.not_found(ticket, &format!("Session not found: {id}")),
            _ => return self.not_found(ticket, "no such route"),
        };
        self.respond(ticket, status, body.to_string());
    }

    /// The routes of this release that are answered here.
    fn doc(&self) -> Value {
        let id = "{sessionID}";
        let mut paths: Vec<String> = [
            Route::Events { global: false },
            Route::Events { global: true },
            Route::Sessions,
            Route::Status,
            Route::Message { session: "S", id: "{messageID}" },
            Route::Prompt { session: "S", waits: false },
            Route::Abort { session: "S", soft: false },
            Route::PermitIn { session: "S", id: "{permissionID}" },
            Route::Session("S"),
            Route::Children("S"),
            Route::Messages { session: "S", limit: None },
            Route::Todo("S"),
            Route::Diff("S"),
        ]
        .iter()
        .map(|route| percent_decoded(route).replace("/S", &format!("/{id}")))
        .collect();
        let asks = [Ask::Question, Ask::Permission, Ask::Blocker, Ask::External];
        paths.extend(asks.into_iter().filter(|ask| self.lists(*ask)).map(|ask| Route::Asks(ask).to_string()));
        paths.extend(Info::ALL.iter().map(|info| Route::Info(*info)).filter(|r| self.knows(r)).map(|r| r.to_string()));
        paths.extend(Find::ALL.map(|find| find.path().to_owned()));
        if self.release.dialect == Dialect::V1_18 {
            let path = |part| percent_decoded(&Route::Api { session: "S", part }).replace("/S", &format!("/{id}"));
            paths.extend(ApiPart::ALL.map(path));
        }
        paths.sort();
        let reads = |path: &String| {
            !path.ends_with("prompt_async") && !path.ends_with("abort") && !path.contains("ermissionID")
        };
        let one = |path: String| {
            let method = if reads(&path) { "get" } else { "post" };
            (path, json!({ method: {} }))
        };
        let paths: serde_json::Map<String, Value> = paths.into_iter().map(one).collect();
        json!({
            "openapi": "3.1.1",
            "info": { "title": "opencode", "description": "opencode api", "version": "1.0.0" },
            "paths": paths,
        })
    }

    fn info(&self, info: Info) -> Value {
        let Model { provider, id: model } = Model::default();
        let empty = || json!([]);
        match info {
            Info::Health => json!({ "healthy": true, "version": self.release.version }),
            Info::GlobalConfig => self.own_config(),
            Info::Config => self.config(),
            Info::Projects => json!([self.project()]),
            Info::CurrentProject => self.project(),
            Info::Path => json!({
                "home": "/", "state": "/state", "config": "/config", "worktree": "/", "directory": self.directory,
            }),
            Info::Vcs if self.release.dialect == Dialect::V1_18 => json!({ "branch": null, "default_branch": null }),
            Info::Vcs | Info::Mcp | Info::Resources => json!({}),
            Info::VcsDiff => json!(""),
            Info::ConfigProviders => json!({ "providers": [self.provider()], "default": { provider: model } }),
            Info::Providers => json!({
                "all": [self.provider()], "default": { &provider: model }, "connected": [provider],
            }),
            Info::ProviderAuth => json!({}),
            Info::Agents => AGENTS.iter().map(|agent| self.agent(*agent)).collect(),
            Info::Commands => self.commands(),
            Info::ToolIds => {
                let question = |tool: &&&str| **tool != "question" || self.release.question_tool;
                json!(self.release.tools.iter().filter(question).collect::<Vec<_>>())
            }
            Info::EverySession => {
                let one = |at: usize| {
                    let mut info = parsed(&self.session_info(at));
                    info["project"] = json!({ "id": PROJECT, "worktree": "/" });
                    info
                };
                (0..self.sessions.len()).filter(|at| !self.sessions[*at].deleted).map(one).collect()
            }
            Info::Capabilities => json!({ "backgroundSubagents": false }),
            Info::Console => json!({ "consoleManagedProviders": [], "switchableOrgCount": 0 }),
            Info::ConsoleOrgs => json!({ "orgs": [] }),
            Info::Shells => json!([{ "path": "/bin/sh", "name": "sh", "acceptable": true }]),
            Info::WorkspaceAdapters => {
                json!([{ "type": "worktree", "name": "Worktree", "description": "A git worktree" }])
            }
            Info::Ptys
            | Info::FileStatus
            | Info::Formatters
            | Info::Lsp
            | Info::Skills
            | Info::VcsStatus
            | Info::WorkspaceStatus
            | Info::Workspaces
            | Info::Worktrees => empty(),
            Info::ApiHealth => json!({ "healthy": true }),
            Info::ApiLocation => self.location(),
            Info::ApiActive => json!({ "data": {} }),
            Info::ApiSaved => json!({ "data": [] }),
            Info::ApiSessions => {
                let anchor = |of: Option<&Session>| of.map(|session| format!("anchor:{}", session.id));
                json!({
                    "data": (0..self.sessions.len()).map(|at| self.api_session(at)).collect::<Value>(),
                    "cursor": { "previous": anchor(self.sessions.first()), "next": anchor(self.sessions.last()) },
                })
            }
            Info::ApiProviders => {
                let api = json!({ "type": "aisdk", "package": "", "url": "" });
                let one =
                    json!({ "id": provider, "name": provider, "api": api, "request": { "headers": {}, "body": {} } });
                self.located(json!([one]))
            }
            Info::ApiCommands => {
                let one = json!({ "name": "init", "template": "", "description": "Makes an AGENTS.md." });
                self.located(json!([one]))
            }
            Info::ApiAgents
            | Info::ApiFiles
            | Info::ApiIntegrations
            | Info::ApiModels
            | Info::ApiPermissions
            | Info::ApiPtys
            | Info::ApiQuestions
            | Info::ApiReferences
            | Info::ApiSkills => self.located(empty()),
        }
    }

    /// What the second API shows of a session. It keeps messages of its own, which do not include those of the first.
    fn api(&self, at: usize, part: ApiPart) -> Value {
        match part {
            ApiPart::Info => json!({ "data": self.api_session(at) }),
            ApiPart::History => json!({ "data": [], "hasMore": false }),
            ApiPart::Messages => json!({ "data": [], "cursor": { "previous": null, "next": null } }),
            ApiPart::Context | ApiPart::Permissions | ApiPart::Questions => json!({ "data": [] }),
        }
    }

    pub(super) fn api_session(&self, at: usize) -> Value {
        let info = parsed(&self.session_info(at));
        let mut one = json!({
            "id": info["id"], "projectID": info["projectID"], "cost": info["cost"], "tokens": info["tokens"],
            "time": info["time"], "title": info["title"], "location": { "directory": info["directory"] },
            "subpath": info["path"],
        });
        for key in ["parentID", "agent", "model"] {
            if !info[key].is_null() {
                one[key] = info[key].clone();
            }
        }
        one
    }

    fn location(&self) -> Value {
        json!({ "directory": self.directory, "project": { "id": PROJECT, "directory": "/" } })
    }

    pub(super) fn located(&self, data: Value) -> Value {
        json!({ "location": self.location(), "data": data })
    }

    pub(super) fn project(&self) -> Value {
        let at = self.epoch_ms;
        let mut project = json!({ "id": PROJECT, "worktree": "/", "time": { "created": at, "updated": at } });
        if self.release.dialect > Dialect::V1_0 {
            project["sandboxes"] = json!([]);
        }
        project
    }

    /// What a configuration file would say, the same as in the recordings.
    pub(super) fn own_config(&self) -> Value {
        let Model { provider, id } = Model::default();
        let name = format!("{provider}/{id}");
        let one = json!({
            "npm": "@ai-sdk/openai-compatible", "models": { &id: { "name": id } },
            "options": { "apiKey": "", "baseURL": "" },
        });
        json!({
            "$schema": "https://opencode.ai/config.json", "share": "disabled", "autoupdate": false,
            "enabled_providers": [provider], "model": name, "small_model": name, "provider": { &provider: one },
            "permission": { "bash": "allow" },
        })
    }

    fn config(&self) -> Value {
        let mut config = self.own_config();
        for (key, value) in [
            ("agent", json!({})),
            ("mode", json!({})),
            ("plugin", json!([])),
            ("command", json!({})),
            ("username", json!("agent")),
        ] {
            config[key] = value;
        }
        match self.release.dialect {
            Dialect::V1_0 => {
                config["keybinds"] = json!({ "leader": "ctrl+x" });
                config["permission"] = json!({ "bash": { "*": "allow" } });
            }
            Dialect::V1_2 | Dialect::V1_18 => config["compaction"] = json!({ "prune": false }),
        }
        config
    }

    fn provider(&self) -> Value {
        let Model { provider, id } = Model::default();
        let media = json!({ "text": true, "audio": false, "image": false, "video": false, "pdf": false });
        let mut api = json!({ "id": id, "npm": "@ai-sdk/openai-compatible" });
        if self.release.dialect == Dialect::V1_18 {
            api["url"] = json!("");
        }
        let mut model = json!({
            "id": id, "providerID": provider, "api": api, "name": id, "family": "", "status": "active",
            "capabilities": {
                "temperature": false, "reasoning": false, "attachment": false, "toolcall": true,
                "input": media, "output": media, "interleaved": false,
            },
            "cost": { "input": 0, "output": 0, "cache": { "read": 0, "write": 0 } },
            "limit": { "context": 0, "output": 0 }, "options": {}, "headers": {}, "release_date": "",
        });
        if self.release.dialect > Dialect::V1_0 {
            model["variants"] = json!({});
        }
        json!({
            "id": provider, "name": provider, "source": "config", "env": [],
            "options": { "apiKey": "", "baseURL": "" }, "models": { &id: model },
        })
    }

    fn agent(&self, (name, mode, shown): (&str, &str, bool)) -> Value {
        let mut agent = json!({ "name": name, "mode": mode, "native": true, "options": {} });
        if shown {
            agent["description"] = json!(format!("The agent `{name}`."));
        } else {
            agent["hidden"] = json!(true);
        }
        match self.release.dialect {
            Dialect::V1_0 => {
                let permission = json!({
                    "edit": "allow", "webfetch": "allow", "bash": { "*": "allow" }, "doom_loop": "ask",
                    "external_directory": "ask",
                });
                (agent["permission"], agent["tools"]) = (permission, json!({}));
            }
            Dialect::V1_2 | Dialect::V1_18 => {
                agent["permission"] = json!([{ "permission": "*", "pattern": "*", "action": "allow" }]);
            }
        }
        agent
    }

    fn commands(&self) -> Value {
        let one = |name: &str, more: bool| {
            let mut one = json!({ "name": name, "description": format!("The command `{name}`."), "template": "" });
            if self.release.dialect > Dialect::V1_0 {
                (one["source"], one["hints"]) = (json!("command"), json!(["$ARGUMENTS"]));
            }
            if more {
                one["subtask"] = json!(true);
            }
            one
        };
        json!([one("init", false), one("review", true)])
    }

    fn message(&self, session: &str, id: &str) -> Option<String> {
        let session = &self.sessions[self.find(session)?];
        let message = session.messages.iter().find(|message| message.id == id)?;
        let mut out = String::new();
        render::whole(&mut out, &self.release, session, message);
        Some(out)
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

fn percent_decoded(route: &Route<'_>) -> String {
    rehang_wire::http::percent_decode(&route.to_string())
}
