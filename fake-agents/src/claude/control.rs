//! The control requests of a host, and the messages about hooks: what each release answers.
//!
//! Invariant: what a release does not answer is not answered here either, so that a host which waits for it hangs.

use super::args::Mode;
use super::engine::{Effect, Engine};
use super::hooks::{HookEnd, named_by_host};
use super::release::{CWD, Release};
use super::writer::Writer;
use rehang_scenario::VTime;
use serde_json::{Map, Value, json};

/// Why 2.1.329 does not bypass permissions.
const NOT_LAUNCHED: &str = "Cannot set permission mode to bypassPermissions because the session was not launched with \
                            --dangerously-skip-permissions";

impl Engine {
    /// A control request of the host.
    pub fn request(&mut self, now: VTime, id: &str, subtype: &str, request: &Value) {
        let release = self.config.release;
        let newest = release == Release::V2_1_329;
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let reply = match subtype {
            "initialize" if self.initialized && !newest => {
                let mut refused = self.writer.refused(id, "Already initialized");
                if release == Release::V2_0_77 {
                    refused["response"] = json!({"subtype": "error", "error": "Already initialized", "request_id": id,
                        "pending_permission_requests": []});
                }
                refused
            }
            "initialize" => {
                let again = std::mem::replace(&mut self.initialized, true);
                let hooks = self.hooks.add(release, named_by_host(request));
                if !again {
                    self.greet_server(now, request);
                }
                let reply = self.writer.initialized(id, self.mode, self.busy(), hooks);
                self.effects.push(Effect::Emit(reply));
                if again {
                    let tasks = self.writer.background_changed(&self.background);
                    self.effects.push(Effect::Emit(tasks));
                }
                return;
            }
            "interrupt" => {
                self.interrupt(now, Some(id));
                return;
            }
            "set_permission_mode" => return self.set_mode(id, text("mode")),
            "set_model" if newest => self.writer.answered(id, json!({"model": release.model()})),
            "set_model" => {
                self.writer.set_model(text("model"));
                self.writer.done(id)
            }
            "mcp_status" => self.writer.answered(id, json!({"mcpServers": []})),
            "set_max_thinking_tokens" if release > Release::V1_0_128 => self.writer.done(id),
            "mcp_set_servers" if release > Release::V1_0_128 => {
                self.writer.answered(id, json!({"added": [], "removed": [], "errors": {}}))
            }
            "rewind_files" if release > Release::V1_0_128 => self.writer.refused(id, "File rewinding is not enabled."),
            _ if newest => match newest_reply(release, subtype, request) {
                Some(Ok(reply)) => self.writer.answered(id, reply),
                Some(Err(why)) => self.writer.refused(id, &why),
                None if subtype == "end_session" => {
                    self.ends = true;
                    self.writer.done(id)
                }
                None => {
                    let why = format!("Unsupported control request subtype: {subtype}");
                    self.writer.refused_as(id, &why, "unsupported_request")
                }
            },
            // 1.0.128 and 2.0.77 do not answer what they do not know
            _ => return,
        };
        self.effects.push(Effect::Emit(reply));
    }

    fn set_mode(&mut self, id: &str, name: &str) {
        let known = Mode::parse(name);
        let before = self.mode;
        self.mode = known.unwrap_or(before);
        let mut replies = match (self.config.release, known) {
            (Release::V2_1_329, None) => {
                let why = "Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, \
                           dontAsk, plan";
                vec![self.writer.refused_as(id, why, "invalid_mode")]
            }
            (Release::V2_1_329, Some(Mode::Bypass)) if self.config.args.mode != Mode::Bypass => {
                self.mode = before;
                vec![self.writer.refused_as(id, NOT_LAUNCHED, "bypass_not_launched")]
            }
            (Release::V2_1_329, Some(_)) => {
                let status = self.writer.mode_status(name);
                vec![self.writer.answered(id, json!({"mode": name})), status]
            }
            // they take any name, and answer twice
            _ => {
                self.writer.set_mode_name(known.is_none().then_some(name));
                vec![self.writer.answered(id, json!({"mode": name})), self.writer.done(id)]
            }
        };
        self.effects.extend(replies.drain(..).map(Effect::Emit));
    }
}

/// What 2.1.329 alone answers, with an empty project; an error is its refusal.
fn newest_reply(release: Release, subtype: &str, request: &Value) -> Option<Result<Value, String>> {
    let needs = |key: &str| Some(Err(format!("{subtype}: {key} must be a string")));
    Some(Ok(match subtype {
        "get_context_usage" => context_usage(release),
        "get_plan" => json!({"exists": false}),
        "get_workspace_diff" => json!({"diff": null, "noDiffReason": "no-repository"}),
        "file_suggestions" => json!({"suggestions": [], "cwd": CWD}),
        "list_permission_rules" => {
            json!({"state": {"rules": [], "workspaceDirectories": [], "originalCwd": CWD, "managedOnly": false}})
        }
        "cancel_async_message" => json!({"cancelled": false}),
        "reload_skills" | "get_skills_dialog" => json!({"skills": []}),
        "mcp_reconnect" | "mcp_toggle" if !request["serverName"].is_string() => return needs("serverName"),
        "stop_task" if !request["task_id"].is_string() => return needs("task_id"),
        "generate_session_title" if !request["description"].is_string() => return needs("description"),
        _ => return None,
    }))
}

/// 2.1.329's answer about its context; the measures are those of an empty one, and no more than shapes.
fn context_usage(release: Release) -> Value {
    json!({
        "categories": [], "totalTokens": 0, "maxTokens": 1_000_000, "rawMaxTokens": 1_000_000,
        "autocompactSource": "model-default", "percentage": 0, "gridRows": [], "model": release.model(),
        "memoryFiles": [], "mcpTools": [], "mcpInstructions": [], "agents": [],
        "slashCommands": {"totalCommands": 0, "includedCommands": 0, "tokens": 0},
        "skills": {"totalSkills": 0, "includedSkills": 0, "tokens": 0, "skillFrontmatter": []},
        "autoCompactThreshold": 967_000, "isAutoCompactEnabled": true,
        "messageBreakdown": {
            "toolCallTokens": 0, "toolResultTokens": 0, "attachmentTokens": 0, "assistantMessageTokens": 0,
            "userMessageTokens": 0, "redirectedContextTokens": 0, "unattributedTokens": 0, "toolCallsByType": [],
            "attachmentsByType": [],
        },
        "apiUsage": null,
    })
}

impl Writer {
    /// The answer to a control request, with this content.
    pub(super) fn answered(&self, request: &str, content: Value) -> Value {
        let mut m = self.done(request);
        m["response"]["response"] = content;
        m
    }

    /// A refusal with a code, as 2.1.329 writes it.
    pub(super) fn refused_as(&self, request: &str, error: &str, code: &str) -> Value {
        let mut m = self.refused(request, error);
        m["response"]["error_code"] = Value::from(code);
        m
    }

    fn mode_status(&mut self, mode: &str) -> Value {
        json!({"type": "system", "subtype": "status", "status": null, "permissionMode": mode, "uuid": self.uuid(),
            "session_id": self.session})
    }

    /// What a hook is told at any event, key by key.
    pub(super) fn hook_input(&self, event: &str, mode: Mode, prompt_id: &str) -> Value {
        let mut input = Map::new();
        let mut add = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
        let newest = self.release == Release::V2_1_329;
        add("session_id", json!(self.session));
        add("transcript_path", json!(CWD));
        add("cwd", json!(CWD));
        if newest && !prompt_id.is_empty() {
            add("prompt_id", json!(prompt_id));
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "Notification") {
            add("permission_mode", json!(self.mode_name(mode)));
            if newest && event != "UserPromptSubmit" {
                add("effort", json!({"level": "medium"}));
            }
        }
        add("hook_event_name", json!(event));
        Value::Object(input)
    }

    /// The request `hook_callback`.
    pub(super) fn hook_callback(&self, request: &str, callback: &str, input: &Value, tool_use: &str) -> Value {
        json!({"type": "control_request", "request_id": request, "request": {"subtype": "hook_callback",
            "callback_id": callback, "input": input, "tool_use_id": tool_use}})
    }

    /// 2.1.329 says that a settings hook begins.
    pub(super) fn hook_started(&mut self, id: &str, name: &str, event: &str) -> Value {
        json!({"type": "system", "subtype": "hook_started", "hook_id": id, "hook_name": name, "hook_event": event,
            "uuid": self.uuid(), "session_id": self.session})
    }

    /// A settings hook has ended.
    pub(super) fn hook_response(&mut self, id: &str, name: &str, event: &str, end: &HookEnd) -> Value {
        let HookEnd { code, stdout, stderr, cancelled } = end;
        if self.release != Release::V2_1_329 {
            return json!({"type": "system", "subtype": "hook_response", "session_id": self.session,
                "uuid": self.uuid(), "hook_name": name, "hook_event": event, "stdout": stdout, "stderr": stderr,
                "exit_code": code});
        }
        let outcome = match (cancelled, code) {
            (true, _) => "cancelled",
            (_, 0) => "success",
            _ => "error",
        };
        json!({"type": "system", "subtype": "hook_response", "hook_id": id, "hook_name": name, "hook_event": event,
            "output": format!("{stdout}{stderr}"), "stdout": stdout, "stderr": stderr, "exit_code": code,
            "outcome": outcome, "uuid": self.uuid(), "session_id": self.session})
    }

    /// 2.1.329's warning; `more` is a key with what the tag is about.
    pub(super) fn informational(&mut self, content: &str, tag: Option<&str>, more: Option<Value>) -> Value {
        let mut m = json!({"type": "system", "subtype": "informational", "content": content, "level": "warning"});
        if let Some(tag) = tag {
            m["tag"] = json!(tag);
            if let Some(more) = more {
                m[tag] = more;
            }
        }
        m["uuid"] = json!(self.uuid());
        m["session_id"] = json!(self.session);
        m
    }

    /// 2.1.329's warning about a prompt that a hook blocked for this reason.
    pub(super) fn prompt_blocked(&mut self, content: &str, reason: &str) -> Value {
        json!({"type": "system", "subtype": "informational", "content": content, "level": "warning",
            "prevent_continuation": true,
            "prompt_submit_outcome": {"kind": "blocked_by_hook", "prompt_kept": false, "reason": reason},
            "uuid": self.uuid(), "session_id": self.session})
    }

    /// 2.1.329's notice that a hook keeps the turn from ending.
    pub(super) fn stop_hook_problem(&mut self, text: &str) -> Value {
        json!({"type": "system", "subtype": "notification", "key": "stop-hook-error", "text": text,
            "priority": "immediate", "session_id": self.session, "uuid": self.uuid()})
    }

    /// 2.1.329's notice that hooks have kept the turn from ending too often.
    pub(super) fn stop_hook_cap(&mut self, text: &str) -> Value {
        json!({"type": "system", "subtype": "notification", "key": "stop-hook-block-cap", "text": text,
            "priority": "high", "color": "warning", "uuid": self.uuid(), "session_id": self.session})
    }
}
