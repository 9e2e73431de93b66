//! The messages that Claude Code writes, key by key as they were recorded of each release.
//!
//! Invariant: no time, pid or path of this machine gets into a message; ids come from counters. So a message depends
//! only on what was said before it.

use super::args::Mode;
use super::release::{CWD, Release};
use super::texts::{self, OF_SERVER};
use rehang_scenario::{Canon, Span};
use serde_json::{Map, Value, json};

/// How a tool server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    /// It has not answered, or cannot be reached.
    Failed,
    /// It has answered, and not said which tools it has.
    WithoutList,
    /// Its tool can be called.
    Connected,
}

/// Writes messages for one session.
#[derive(Debug, Clone)]
pub struct Writer {
    /// The release that it plays.
    pub release: Release,
    /// The session's id on the wire; subagents share it.
    pub session: String,
    /// The model that a host has set.
    model: Option<String>,
    /// The name of a mode that a host has set, and that no release knows.
    mode_name: Option<String>,
    uuids: u64,
}

/// The content of a `result` message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ending<'a> {
    /// The text; `None` after an interrupt.
    pub text: Option<&'a str>,
    /// If the API refused or the connection was lost: the word for it (`connection_failed`), which may be empty.
    pub api_error: Option<&'a str>,
    /// The HTTP status of that error.
    pub api_status: Option<u16>,
    /// The reason of the last response; `None` if it was cut short.
    pub stop_reason: Option<&'a str>,
    /// The number for `num_turns`.
    pub turns: u32,
    /// How many responses of the model were counted.
    pub responses: u32,
    /// The calls that were denied.
    pub denials: &'a [Value],
    /// How many subagents have begun, and how many have ended.
    pub subagents: (u32, u32),
    /// 2.1.329's word for why the turn ended, if it is none of the usual.
    pub reason: Option<&'a str>,
    /// Whether the end of a command in the background began the turn.
    pub notified: bool,
    /// How many results came before.
    pub results: u32,
    /// Whether a word or a call came over a stream, not in one message alone.
    pub streamed: bool,
}

/// Who has named a tool server that is the client's own.
pub(super) const SDK: &str = "sdk";

/// Why a tool ran or did not: 2.1.329's `tool_result_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// A rule allowed it.
    ByConfig,
    /// The mode allowed it.
    ByMode,
    /// A subagent needs no permission.
    ByItself,
    /// A person or the host was asked and allowed it.
    ByUser,
    /// Nobody could be asked.
    RefusedByConfig,
    /// The mode asks nobody.
    RefusedByMode,
    /// A person or the host was asked and denied it.
    RefusedByUser,
    /// A person or the host was asked and cannot answer any more.
    Lost,
    /// A hook allowed it.
    ByHook,
    /// A hook denied it.
    RefusedByHook,
    /// The host that was to decide it as a hook is gone.
    Cancelled,
    /// It was cancelled while a person or the host was asked.
    TakenBack,
}

impl Writer {
    /// A writer for this session.
    pub fn new(release: Release, session: &str) -> Writer {
        Writer { release, session: session.to_owned(), model: None, mode_name: None, uuids: 0 }
    }

    /// Writes the state for the comparison of cycles.
    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self {
            release: _, // not compared: it never changes
            session,
            model,
            mode_name,
            uuids: _, // not compared: it only names messages, each name is as long as the last, and none is looked up
        } = self;
        canon.text(session).value(&(model, mode_name));
    }

    /// A host has set the model; `default` is the release's own.
    pub(super) fn set_model(&mut self, name: &str) {
        self.model = Some(name.to_owned()).filter(|name| name != "default");
    }

    /// A host has set a mode: `None` if the release knows it.
    pub(super) fn set_mode_name(&mut self, name: Option<&str>) {
        self.mode_name = name.map(str::to_owned);
    }

    /// What the mode is called on the wire.
    pub(super) fn mode_name(&self, mode: Mode) -> &str {
        self.mode_name.as_deref().unwrap_or(mode.name())
    }

    pub(super) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(self.release.model())
    }

    /// A call says that it still runs (recorded; 2.1.329).
    pub fn tool_progress(&mut self, call: &str, tool: &str, nth: u32, seconds: u64) -> Value {
        json!({
            "type": "tool_progress", "tool_use_id": format!("{call}-heartbeat-{nth}"), "tool_name": tool,
            "parent_tool_use_id": call, "elapsed_time_seconds": seconds, "heartbeat": true,
            "session_id": self.session, "uuid": self.uuid(),
        })
    }

    /// The list of tool servers: the name, who has named it, how it is (recorded).
    fn servers(&self, server: Option<(&str, &str, Server)>) -> Vec<Value> {
        let one = |(name, source, is): (&str, &str, Server)| {
            let status = match is {
                Server::Failed => "failed",
                Server::WithoutList if source == SDK => "connected",
                Server::WithoutList => self.release.without_list(),
                Server::Connected => "connected",
            };
            let mut one = json!({"name": name, "status": status});
            if self.release == Release::V2_1_329 {
                one["source"] = source.into();
            }
            one
        };
        server.map(one).into_iter().collect()
    }

    /// The next id in the form of a UUID.
    pub fn uuid(&mut self) -> String {
        self.uuids += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.uuids)
    }

    /// The message `system/init`; `server`: the name of its tool server, who has named it, and how it is.
    pub fn init(&mut self, mode: Mode, tools: &[String], server: Option<(&str, &str, Server)>) -> Value {
        let mut m = json!({
            "type": "system", "subtype": "init", "cwd": CWD, "session_id": self.session, "tools": tools,
            "mcp_servers": self.servers(server), "model": self.model(), "permissionMode": self.mode_name(mode), "slash_commands": [],
        });
        let newest = self.release == Release::V2_1_329;
        if newest {
            add(&mut m, json!({"terminal_slash_commands": ["doctor", "color", "focus", "reload-plugins"]}));
        }
        add(&mut m, json!({"apiKeySource": "ANTHROPIC_API_KEY"}));
        if self.release > Release::V1_0_128 {
            add(&mut m, json!({"claude_code_version": self.release.version()}));
        }
        add(&mut m, json!({"output_style": "default", "agents": []}));
        if self.release > Release::V1_0_128 {
            add(&mut m, json!({"skills": [], "plugins": []}));
        }
        if newest {
            add(
                &mut m,
                json!({"capabilities": CAPABILITIES, "analytics_disabled": true,
                "product_feedback_disabled": true, "served_by_anthropic": false}),
            );
        }
        add(&mut m, json!({"uuid": self.uuid()}));
        if newest {
            add(
                &mut m,
                json!({
                    "memory_paths": {"auto": CWD}, "original_cwd": CWD, "additional_directories": [],
                    "messaging_socket_path": CWD, "fast_mode_state": "off",
                    "fast_mode_disabled_reason": "sdk_opt_in_required", "per_turn_effort_active": true,
                    "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default",
                }),
            );
        }
        m
    }

    /// The answer to an `initialize` request.
    pub fn initialized(&self, request: &str, mode: Mode, busy: bool, hooks: bool) -> Value {
        let newest = self.release == Release::V2_1_329;
        let mut r = json!({"commands": []});
        if newest {
            add(&mut r, json!({"agents": []}));
        }
        add(&mut r, json!({"output_style": "default", "available_output_styles": []}));
        if newest {
            add(&mut r, json!({"user_output_styles_dir": CWD}));
        }
        add(&mut r, json!({"models": [], "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"}}));
        if newest {
            r["account"]["apiProvider"] = json!("firstParty");
            add(
                &mut r,
                json!({
                    "pid": 1, "claude_code_version": self.release.version(), "current_permission_mode": mode.name(),
                }),
            );
            if hooks {
                add(&mut r, json!({"hooks_applied": true}));
            }
            add(
                &mut r,
                json!({
                    "hook_on_failure_supported": true, "hooks_when_unanswered_kept": 0, "other_hook_ask_outranks_host": true,
                    "feedback_mode": {"kind": "disabled"}, "analytics_disabled": true, "remote_control_auto_enable": false,
                    "remote_control_auto_connect_default": false, "remote_control_available": false,
                    "remote_control_auto_on_by_default": false, "ide_rc_auto_enable_gate": false, "fast_mode_state": "off",
                    "fast_mode_disabled_reason": "sdk_opt_in_required",
                    "session_state": if busy { "running" } else { "idle" }, "capabilities": CONTROL_CAPABILITIES,
                }),
            );
        }
        let mut response = json!({"subtype": "success", "request_id": request, "response": r});
        if newest {
            add(&mut response, json!({"pending_permission_requests": [], "pending_user_dialog_requests": []}));
        }
        json!({"type": "control_response", "response": response})
    }

    /// The answer to an interrupt. Prompts that wait have no id here by which 2.1.329 could name them.
    pub fn interrupted(&self, request: &str) -> Value {
        let mut m = self.done(request);
        if self.release == Release::V2_1_329 {
            m["response"]["response"] = json!({"still_queued": []});
        }
        m
    }

    /// The answer to another control request.
    pub fn done(&self, request: &str) -> Value {
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": request}})
    }

    /// The refusal of a control request.
    pub fn refused(&self, request: &str, error: &str) -> Value {
        json!({"type": "control_response", "response": {"subtype": "error", "request_id": request, "error": error}})
    }

    /// The request `can_use_tool`.
    pub fn can_use_tool(&self, request: &str, tool: &str, call: &str, input: &Value, agent: Option<String>) -> Value {
        let newest = self.release == Release::V2_1_329;
        let mut r = json!({"subtype": "can_use_tool", "tool_name": tool});
        if newest {
            add(&mut r, json!({"display_name": tool}));
        }
        add(&mut r, json!({"input": input}));
        if let (true, Some(description)) = (newest, input.get("description")) {
            add(&mut r, json!({"description": description}));
        }
        if let Some(command) = input["command"].as_str().filter(|_| tool == "Bash") {
            let (suggestions, blocked) = texts::suggestions(self.release, command);
            add(&mut r, json!({"permission_suggestions": suggestions}));
            match blocked {
                Some(path) => add(&mut r, json!({"blocked_path": path})),
                None if self.release > Release::V1_0_128 && texts::is_one_command(command) => {
                    add(&mut r, json!({"decision_reason": "This command requires approval"}));
                    if newest {
                        add(&mut r, json!({"decision_reason_type": "other"}));
                    }
                }
                None => {}
            }
        }
        if self.release > Release::V1_0_128 {
            add(&mut r, json!({"tool_use_id": call}));
            if let Some(agent) = agent {
                add(&mut r, json!({"agent_id": agent}));
            }
        }
        if newest && tool == "AskUserQuestion" {
            add(&mut r, json!({"requires_user_interaction": true}));
        }
        json!({"type": "control_request", "request_id": request, "request": r})
    }

    /// Withdraws a request.
    pub fn cancel(&self, request: &str) -> Value {
        json!({"type": "control_cancel_request", "request_id": request})
    }

    /// A message with one content block of the model.
    pub fn assistant(&mut self, id: &str, block: &Value, stop_reason: Option<&str>, parent: Option<&str>) -> Value {
        let mut message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model(), "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            "content": [block], "stop_reason": stop_reason,
        });
        if self.release > Release::V1_0_128 {
            add(&mut message, json!({"context_management": null}));
        }
        let meta = self.tool_use_meta(block);
        let mut m = self.envelope("assistant", message, parent);
        if let Some(meta) = meta {
            add(&mut m, json!({"tool_use_meta": [meta]}));
        }
        m
    }

    /// How a call of a tool server's tool is shown (recorded; 2.1.329).
    fn tool_use_meta(&self, block: &Value) -> Option<Value> {
        let name = block["name"].as_str().filter(|_| self.release == Release::V2_1_329)?;
        let (server, tool) = name.strip_prefix(OF_SERVER)?.split_once("__")?;
        let word = |word: &str| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
        };
        let shown = tool.split('_').map(word).collect::<Vec<_>>().join(" ");
        Some(json!({"id": block["id"], "display_name": shown, "server_display_name": server, "tool_name": tool}))
    }

    /// The text of an API error, as if the model said it: in the middle of a response, whose stop reason it has, or at
    /// its end.
    pub fn synthetic(
        &mut self,
        text: &str,
        (api_error, status): (&str, Option<u16>),
        reason: Option<&str>,
        parent: Option<&str>,
    ) -> Value {
        let id = self.uuid();
        let newest = self.release == Release::V2_1_329;
        let mut message = if newest { json!({"diagnostics": null}) } else { json!({}) };
        add(&mut message, json!({"id": id, "container": null, "model": "<synthetic>", "role": "assistant"}));
        if newest {
            add(&mut message, json!({"stop_details": null}));
        }
        add(
            &mut message,
            json!({
                "stop_reason": reason.unwrap_or("stop_sequence"), "stop_sequence": reason.is_none().then_some(""),
                "type": "message", "usage": no_usage(),
                "content": [{"type": "text", "text": text}],
            }),
        );
        if self.release > Release::V1_0_128 {
            add(&mut message, json!({"context_management": null}));
        }
        let mut m = self.envelope("assistant", message, parent);
        if self.release == Release::V2_0_77 {
            add(&mut m, json!({"error": "unknown"}));
        }
        if newest {
            let error = if status == Some(429) { "rate_limit" } else { "server_error" };
            add(&mut m, json!({"error": error, "is_api_error_message": true}));
            add(
                &mut m,
                match status {
                    Some(status) => json!({"api_error_status": status, "api_error_type": api_error}),
                    None => json!({"api_error": api_error}),
                },
            );
        }
        m
    }

    /// A tool's result: `block` as the release orders its keys; `shown` is `tool_use_result`.
    pub fn tool_result(&mut self, block: Value, shown: Value, meta: Option<Decision>, parent: Option<&str>) -> Value {
        let call = block["tool_use_id"].clone();
        let mut m = self.envelope("user", json!({"role": "user", "content": [block]}), parent);
        if self.release > Release::V1_0_128 {
            add(&mut m, json!({"tool_use_result": shown}));
        }
        if let (Release::V2_1_329, Some(decision)) = (self.release, meta) {
            let mut meta = json!({"id": call});
            let (kind, decision) = match decision {
                Decision::ByConfig => (None, json!({"decision": "accept", "source": "config", "reason_type": "rule"})),
                Decision::ByMode => (None, json!({"decision": "accept", "source": "config", "reason_type": "mode"})),
                Decision::ByItself => (None, json!({"decision": "accept", "source": "config"})),
                Decision::ByUser => (None, json!({"decision": "accept", "source": "user_temporary"})),
                Decision::RefusedByConfig => (Some("user-rejected"), json!({"decision": "reject", "source": "config"})),
                Decision::RefusedByMode => {
                    (Some("permission-rule"), json!({"decision": "reject", "source": "config", "reason_type": "mode"}))
                }
                Decision::RefusedByUser => {
                    (Some("permission-rule"), json!({"decision": "reject", "source": "user_reject"}))
                }
                Decision::Lost => {
                    (Some("permission-rule"), json!({"decision": "reject", "source": "config", "reason_type": "other"}))
                }
                Decision::ByHook => (None, json!({"decision": "accept", "source": "hook", "reason_type": "hook"})),
                Decision::RefusedByHook => {
                    (Some("permission-rule"), json!({"decision": "reject", "source": "hook", "reason_type": "hook"}))
                }
                Decision::Cancelled => (Some("cancelled"), Value::Null),
                Decision::TakenBack => (Some("user-rejected"), Value::Null),
            };
            if let Some(kind) = kind {
                add(&mut meta, json!({"non_execution_kind": kind}));
            }
            if !decision.is_null() {
                add(&mut meta, json!({"permission_decision": decision}));
            }
            add(&mut m, json!({"tool_result_meta": [meta]}));
        }
        m
    }

    /// What a subagent is told.
    pub fn subagent_prompt(&mut self, text: &str, parent: &str) -> Value {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        self.envelope("user", message, Some(parent))
    }

    /// A text attributed to the user: a note, or 2.1.329's synthetic prompt.
    pub fn note(&mut self, text: &str, synthetic: bool) -> Value {
        let mut m = self.envelope("user", json!({"role": "user", "content": [{"type": "text", "text": text}]}), None);
        if synthetic {
            add(&mut m, json!({"isSynthetic": true}));
        }
        m
    }

    /// 2.1.329's `system/api_retry`, for a request that did not get through or that was
    /// answered with this status.
    pub fn retry(&mut self, attempt: u32, max: u32, delay: Span, status: Option<u16>) -> Value {
        let error = match status {
            None => "unknown",
            Some(429) => "rate_limit",
            Some(_) => "server_error",
        };
        json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": max,
            "retry_delay_ms": delay.as_ms(), "error_status": status, "error": error,
            "session_id": self.session, "uuid": self.uuid()})
    }

    /// 2.1.329's message `system/permission_denied`.
    pub fn permission_denied(&mut self, tool: &str, call: &str, message: &str, reason: Option<&str>) -> Value {
        let mut m = json!({"type": "system", "subtype": "permission_denied", "tool_name": tool, "tool_use_id": call});
        if let Some(kind) = reason {
            add(&mut m, json!({"decision_reason_type": kind}));
        }
        if matches!(reason, Some("hook" | "other")) {
            add(&mut m, json!({"decision_reason": message}));
        }
        add(&mut m, json!({"message": message, "uuid": self.uuid(), "session_id": self.session}));
        m
    }

    /// A text of the model that an interrupt cut short, which 2.1.329 shows.
    pub fn cut_short(&mut self, id: &str, text: &str) -> Value {
        let mut m = self.assistant(id, &json!({"type": "text", "text": text}), None, None);
        add(&mut m, json!({"aborted": true}));
        m
    }

    /// 2.1.329 calls a command that takes long a task: this is the `n`-th one.
    /// `owner` is the subagent whose command it is.
    pub fn task_started(&mut self, n: u32, call: &str, description: &str, owner: Option<&str>) -> Value {
        let mut m = json!({"type": "system", "subtype": "task_started", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}")});
        if owner.is_some() {
            add(&mut m, json!({"owned_by_subagent": true}));
        }
        add(&mut m, json!({"tool_use_id": call, "description": description, "is_backgrounded": false}));
        if let Some(owner) = owner {
            add(&mut m, json!({"parent_task_id": owner}));
        }
        add(&mut m, json!({"task_type": "local_bash"}));
        add(&mut m, json!({"uuid": self.uuid(), "session_id": self.session}));
        m
    }

    /// A subagent begins: the `n`-th task.
    pub(super) fn subagent_started(&mut self, n: u32, call: &str, prompt: &str, kind: &str) -> Value {
        json!({"type": "system", "subtype": "task_started", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}"), "tool_use_id": call, "description": prompt, "subagent_type": kind,
            "is_backgrounded": false, "spawn_depth": 1, "task_type": "local_agent", "prompt": prompt,
            "uuid": self.uuid(), "session_id": self.session})
    }

    /// A subagent of this kind calls this tool.
    pub(super) fn subagent_progress(&mut self, n: u32, call: &str, what: &str, (kind, tool): (&str, &str)) -> Value {
        json!({"type": "system", "subtype": "task_progress", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}"), "tool_use_id": call, "description": what, "subagent_type": kind,
            "usage": {}, "last_tool_name": tool, "uuid": self.uuid(), "session_id": self.session})
    }

    /// A subagent has ended with this text.
    pub(super) fn subagent_over(&mut self, n: u32, call: &str, status: &str, text: &str) -> Value {
        json!({"type": "system", "subtype": "task_notification", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}"), "tool_use_id": call, "status": status, "output_file": CWD,
            "summary": text, "usage": {}, "uuid": self.uuid(), "session_id": self.session})
    }

    /// A task has ended: `completed`, `failed`, `stopped`.
    pub fn task_over(&mut self, n: u32, call: &str, description: &str, status: &str) -> Value {
        json!({"type": "system", "subtype": "task_notification", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}"), "tool_use_id": call, "status": status, "output_file": "",
            "summary": description, "uuid": self.uuid(), "session_id": self.session})
    }

    /// Which tasks run in the background.
    pub(super) fn background_changed(&mut self, all: &[(String, u32, String)]) -> Value {
        let task = |(_, n, description): &(String, u32, String)| {
            json!({"task_id": format!("task_{n}"), "run_id": format!("run_{n}"), "task_type": "local_bash",
                "description": description})
        };
        let tasks: Vec<Value> = all.iter().map(task).collect();
        json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks, "uuid": self.uuid(),
            "session_id": self.session})
    }

    /// What has changed of a task.
    pub(super) fn task_updated(&mut self, n: u32, patch: &Value) -> Value {
        json!({"type": "system", "subtype": "task_updated", "task_id": format!("task_{n}"),
            "run_id": format!("run_{n}"), "patch": patch, "uuid": self.uuid(), "session_id": self.session})
    }

    /// A task in the background has ended.
    pub(super) fn background_over(&mut self, n: u32, call: &str, status: &str, summary: &str) -> Value {
        let mut m = self.task_over(n, call, summary, status);
        m["output_file"] = json!(CWD);
        m
    }

    /// The context is being compacted, or has been.
    pub fn compacting(&mut self, over: bool) -> Value {
        let (session, uuid) = (self.session.clone(), self.uuid());
        if over {
            return json!({"type": "system", "subtype": "compact_boundary", "session_id": session, "uuid": uuid,
                "compact_metadata": {"trigger": "auto", "pre_tokens": 0}});
        }
        json!({"type": "system", "subtype": "status", "status": "compacting", "session_id": session, "uuid": uuid})
    }

    /// The result of a turn.
    pub fn result(&mut self, ending: &Ending<'_>) -> Value {
        match self.release {
            Release::V2_1_329 => self.newest_result(ending),
            _ => self.older_result(ending),
        }
    }

    fn older_result(&mut self, ending: &Ending<'_>) -> Value {
        let failed = ending.api_error.is_some();
        let mut m = match ending.text {
            Some(text) => json!({"type": "result", "subtype": "success", "is_error": failed, "duration_ms": 0,
                "duration_api_ms": 0, "num_turns": ending.turns, "result": text}),
            None => json!({"type": "result", "subtype": "error_during_execution", "duration_ms": 0,
                "duration_api_ms": 0, "is_error": failed, "num_turns": ending.turns}),
        };
        add(
            &mut m,
            json!({
                "session_id": self.session, "total_cost_usd": 0, "usage": self.usage(ending.responses),
                "modelUsage": self.model_usage(ending.responses), "permission_denials": ending.denials, "uuid": self.uuid(),
            }),
        );
        if ending.text.is_none() && self.release > Release::V1_0_128 {
            add(&mut m, json!({"errors": []}));
        }
        m
    }

    /// 2.1.329's result of a prompt that a hook blocked, so that no turn began.
    pub(super) fn blocked_result(&mut self, text: &str, results: u32) -> Value {
        let ending = Ending { text: Some(text), results, ..Ending::default() };
        let result = self.newest_result(&ending);
        let mut m = json!({"is_error": false});
        let order = [
            "duration_api_ms",
            "num_turns",
            "stop_reason",
            "session_id",
            "total_cost_usd",
            "usage",
            "modelUsage",
            "permission_denials",
            "fast_mode_state",
            "fast_mode_disabled_reason",
            "subagent_stats",
            "safety_stops",
            "subtype",
            "result",
            "type",
            "duration_ms",
            "uuid",
            "queued_turn_count",
            "result_index",
            "model_usage_since_last_result",
        ];
        for key in order {
            m[key] = result[key].clone();
        }
        m
    }

    fn newest_result(&mut self, ending: &Ending<'_>) -> Value {
        let failed = ending.api_error.is_some() || ending.text.is_none();
        let (spawned, completed) = ending.subagents;
        let by_type = if spawned > 0 { json!({"general-purpose": spawned}) } else { json!({}) };
        let reason = match (ending.text, failed) {
            _ if ending.reason.is_some() => ending.reason.unwrap_or_default(),
            (None, _) if ending.stop_reason.is_some() => "aborted_tools",
            (None, _) => "aborted_streaming",
            (_, true) => "api_error",
            _ => "completed",
        };
        let mut m = json!({
            "duration_api_ms": 0, "stop_reason": ending.stop_reason, "session_id": self.session, "total_cost_usd": 0,
            "usage": self.usage(ending.responses), "modelUsage": self.model_usage(ending.responses),
            "permission_denials": ending.denials, "terminal_reason": reason, "fast_mode_state": "off",
            "fast_mode_disabled_reason": "sdk_opt_in_required",
        });
        if ending.notified {
            let origin = json!({"kind": "task-notification", "producer": "session-task", "runId": ""});
            add(&mut m, json!({"origin": origin}));
        }
        let rest = json!({
            "subagent_stats": {
                "spawned": spawned, "requested": {"background": 0, "foreground": spawned, "unset": 0},
                "started_in_background": 0, "max_depth": u32::from(spawned > 0), "spawned_by_subagents": 0,
                "completed": completed, "failed": 0, "killed": {"parent": 0, "user": 0, "system": 0},
                "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0}, "by_type": by_type,
            },
            "safety_stops": 0, "is_error": failed, "num_turns": ending.turns,
        });
        add(&mut m, rest);
        match ending.text {
            Some(text) => {
                add(&mut m, json!({"subtype": "success", "api_error_status": ending.api_status}));
                if let Some(word) = ending.api_error.filter(|word| !word.is_empty()) {
                    let key = if ending.api_status.is_some() { "api_error_type" } else { "api_error" };
                    add(&mut m, json!({key: word}));
                }
                add(&mut m, json!({"result": text}));
            }
            None => {
                let why = texts::interrupted_diagnostic(ending.stop_reason);
                add(&mut m, json!({"subtype": "error_during_execution", "errors": [why]}));
            }
        }
        if !failed {
            add(&mut m, json!({"ttft_ms": 0}));
        }
        add(&mut m, json!({"type": "result", "duration_ms": 0, "uuid": self.uuid()}));
        if !failed {
            add(&mut m, json!({"ttft_stream_ms": 0, "time_to_request_ms": 0}));
        }
        if !failed && ending.streamed {
            add(&mut m, json!({"first_content_frame_ms": 0}));
        }
        add(
            &mut m,
            json!({"queued_turn_count": 0, "result_index": ending.results,
            "model_usage_since_last_result": self.model_usage(ending.responses)}),
        );
        m
    }

    fn envelope(&mut self, kind: &str, message: Value, parent: Option<&str>) -> Value {
        let mut m = json!({"type": kind, "message": message, "parent_tool_use_id": parent,
            "session_id": self.session, "uuid": self.uuid()});
        if self.release == Release::V2_1_329 {
            // A constant: a message with the real time would make every state new.
            add(&mut m, json!({"timestamp": "2026-01-01T00:00:00.000Z"}));
        }
        m
    }

    fn usage(&self, responses: u32) -> Value {
        let mut tools = json!({"web_search_requests": 0});
        if self.release > Release::V1_0_128 {
            add(&mut tools, json!({"web_fetch_requests": 0}));
        }
        json!({"input_tokens": 10 * responses, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": 5 * responses, "server_tool_use": tools, "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}})
    }

    fn model_usage(&self, responses: u32) -> Value {
        let mut all = Map::new();
        if responses > 0 {
            let usage = json!({"inputTokens": 10 * responses, "outputTokens": 5 * responses,
                "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0});
            all.insert(self.model().to_owned(), usage);
        }
        Value::Object(all)
    }
}

/// The block of a tool's result. That of a failed tool or a question has another order of keys than that of one that
/// ran.
pub fn result_block(call: &str, content: Value, is_error: Option<bool>) -> Value {
    match is_error {
        Some(true) => json!({"type": "tool_result", "content": content, "is_error": true, "tool_use_id": call}),
        Some(false) => json!({"tool_use_id": call, "type": "tool_result", "content": content, "is_error": false}),
        None if content.is_array() => json!({"tool_use_id": call, "type": "tool_result", "content": content}),
        None => json!({"type": "tool_result", "content": content, "tool_use_id": call}),
    }
}

fn add(to: &mut Value, more: Value) {
    if let (Value::Object(to), Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

fn no_usage() -> Value {
    json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": null})
}

/// The `capabilities` of 2.1.329's `system/init` (recorded).
const CAPABILITIES: [&str; 21] = [
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "interrupt_send_now_v1",
    "interrupt_requeue_taken_v1",
    "msg_lifecycle_v1",
    "request_marker_lists_v1",
    "ask_user_question_unanswered_v1",
    "lifecycle_wakeup_source_v1",
    "sdk_mcp_tools_list_changed",
    "sdk_mcp_manifests",
    "mcp_read_resource_v1",
    "mcp_tool_ui_meta_v1",
    "ui_surface_v1",
    "mcp_call_result_not_for_model_v1",
    "mcp_call_check_permissions_v1",
    "voice_call_talk_line_v1",
    "withdrawn_files_note_v2",
    "ui_pane_widget_v1",
    "reload_plugins_refuse_if_busy_v1",
    "get_usage_detached_v1",
    "silent_resend_files_v1",
];

/// The `capabilities` of 2.1.329's answer to `initialize` (recorded).
const CONTROL_CAPABILITIES: [&str; 7] = [
    "ui_surface_v1",
    "mcp_call_result_not_for_model_v1",
    "mcp_call_check_permissions_v1",
    "voice_call_talk_line_v1",
    "ui_pane_widget_v1",
    "reload_plugins_refuse_if_busy_v1",
    "get_usage_detached_v1",
];
