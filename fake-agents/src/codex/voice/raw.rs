//! The events of a turn as 0.45.0 and 0.58.0 tell them: each as `codex/event/NAME`, and, in 0.58.0, messages as items too.
//!
//! Invariant: a turn ends with `task_complete` or `turn_aborted`, and no other message says that it has.

use super::super::release::{Protocol, TOKENS};
use super::super::shell::Report;
use super::{Ended, Said, Voice};
use serde_json::{Value, json};

/// What the model's client is told of a command that the client of the server has refused.
const REJECTED: &str = "exec command rejected by user";
/// How many tokens the model takes, as 0.45.0 says, and as 0.58.0 does.
const CONTEXT_WINDOW: (u64, u64) = (272_000, 258_400);

impl Voice {
    /// Whether the release tells raw events.
    pub(in crate::codex) fn is_raw(&self) -> bool {
        matches!(self.release.server, Protocol::Conversations | Protocol::Both)
    }

    /// Whether it also tells items.
    fn has_items(&self) -> bool {
        self.release.server == Protocol::Both
    }

    /// Tells an event; `more`: what it has beside its kind.
    pub(in crate::codex) fn event(&mut self, kind: &str, more: Value) {
        let mut message = json!({"type": kind});
        if let (Some(message), Value::Object(more)) = (message.as_object_mut(), more) {
            message.extend(more);
        }
        let params = json!({"id": self.submission.to_string(), "msg": message, "conversationId": self.thread_id()});
        self.said.push(Said::Event(format!("codex/event/{kind}"), params));
    }

    fn item(&mut self, event: &str, raw: Value, method: &'static str, item: Value) {
        let of = json!({"thread_id": self.thread_id(), "turn_id": self.submission.to_string(), "item": raw});
        self.event(event, of);
        self.said.push(Said::Notice(method, json!({"item": item})));
    }

    fn window(&self) -> u64 {
        if self.has_items() { CONTEXT_WINDOW.1 } else { CONTEXT_WINDOW.0 }
    }

    /// The next thing that the client sends has this number.
    pub(in crate::codex) fn submits(&mut self) -> u64 {
        self.submissions += 1;
        self.submissions - 1
    }

    pub(in crate::codex) fn raw_turn_begins(&mut self, prompt: &str) {
        self.event("task_started", json!({"model_context_window": self.window()}));
        if !self.has_items() {
            return;
        }
        self.prompts += 1;
        let id = super::shapes::id(2, self.thread, self.prompts);
        let content = json!([{"type": "text", "text": prompt}]);
        let raw = json!({"UserMessage": {"id": id, "content": content}});
        let item = json!({"type": "userMessage", "id": id, "content": content});
        self.item("item_started", raw.clone(), "item/started", item.clone());
        self.item("item_completed", raw, "item/completed", item);
        self.event("user_message", json!({"message": prompt, "images": []}));
        for line in self.release.greeting {
            self.event("background_event", json!({"message": line}));
        }
    }

    pub(in crate::codex) fn raw_used(&mut self) {
        let of = |n: u32| {
            let (input, output) = (TOKENS.0 * n, TOKENS.1 * n);
            json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output,
                "reasoning_output_tokens": 0, "total_tokens": input + output})
        };
        let info = (self.charged > 0).then(|| {
            json!({"total_token_usage": of(self.charged), "last_token_usage": of(1), "model_context_window": self.window()})
        });
        let limits = json!({"primary": null, "secondary": null});
        self.event("token_count", json!({"info": info, "rate_limits": limits}));
        if self.has_items() {
            self.said.push(Said::Notice("account/rateLimits/updated", json!({"rateLimits": limits})));
        }
    }

    pub(in crate::codex) fn raw_delta(&mut self, text: &str, first: bool) {
        if self.has_items() {
            let id = self.message_id();
            if first {
                let raw = json!({"AgentMessage": {"id": id, "content": []}});
                self.item("item_started", raw, "item/started", json!({"type": "agentMessage", "id": id, "text": ""}));
            }
            let of = json!({"thread_id": self.thread_id(), "turn_id": self.submission.to_string(), "item_id": id,
                "delta": text});
            self.event("agent_message_content_delta", of);
        }
        self.event("agent_message_delta", json!({"delta": text}));
    }

    pub(in crate::codex) fn raw_message(&mut self, text: &str) {
        if self.has_items() {
            let id = self.message_id();
            let raw = json!({"AgentMessage": {"id": id, "content": [{"Text": {"text": text}}]}});
            self.item("item_completed", raw, "item/completed", json!({"type": "agentMessage", "id": id, "text": text}));
        }
        self.event("agent_message", json!({"message": text}));
        self.last = Some(text.to_owned());
    }

    pub(in crate::codex) fn raw_turn_ends(&mut self, how: &Ended<'_>) {
        let last = self.last.take();
        match how {
            Ended::Interrupted => self.event("turn_aborted", json!({"reason": "interrupted"})),
            Ended::Completed => self.event("task_complete", json!({"last_agent_message": last})),
            Ended::Failed(why) => {
                self.event("error", json!({"message": why}));
                self.event("task_complete", json!({"last_agent_message": null}));
            }
        }
    }

    pub(in crate::codex) fn raw_command_begins(&mut self, call: &str, line: &str) {
        let mut of = json!({"call_id": call, "command": ["bash", "-lc", line], "cwd": self.cwd,
            "parsed_cmd": [{"type": "unknown", "cmd": line}]});
        if self.has_items() {
            of["is_user_shell_command"] = json!(false);
        }
        self.event("exec_command_begin", of);
    }

    pub(in crate::codex) fn raw_command_prints(&mut self, call: &str, text: &str) {
        self.event(
            "exec_command_output_delta",
            json!({"call_id": call, "stream": "stdout", "chunk": base64(text.as_bytes())}),
        );
    }

    /// What a command has written to stderr is not told apart.
    pub(in crate::codex) fn raw_command_ends(&mut self, call: &str, report: &Report) {
        let ms = report.took.as_ms();
        let shown = match report.timed_out {
            true => format!("command timed out after {ms} milliseconds\n{}", report.output),
            false => report.output.clone(),
        };
        let duration = json!({"secs": ms / 1_000, "nanos": ms % 1_000 * 1_000_000});
        self.event(
            "exec_command_end",
            json!({"call_id": call, "stdout": report.output, "stderr": "", "aggregated_output": report.output,
                "exit_code": report.code, "duration": duration, "formatted_output": shown}),
        );
    }

    pub(in crate::codex) fn raw_refused(&mut self, call: &str) {
        self.event(
            "exec_command_end",
            json!({"call_id": call, "stdout": "", "stderr": REJECTED, "aggregated_output": REJECTED, "exit_code": -1,
                "duration": {"secs": 0, "nanos": 0}, "formatted_output": REJECTED}),
        );
    }

    pub(in crate::codex) fn raw_asks(&mut self, call: &str, line: &str) {
        let (words, parsed) = (json!(["bash", "-lc", line]), json!([{"type": "unknown", "cmd": line}]));
        let mut of = json!({"call_id": call, "command": words, "cwd": self.cwd});
        let mut params = json!({"conversationId": self.thread_id(), "callId": call, "command": words, "cwd": self.cwd});
        if self.has_items() {
            of["parsed_cmd"] = parsed.clone();
            params["reason"] = Value::Null;
            params["risk"] = Value::Null;
            params["parsedCmd"] = parsed;
        }
        self.event("exec_approval_request", of);
        self.said.push(Said::Ask { call: call.to_owned(), method: "execCommandApproval", params });
    }
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_padded() {
        assert_eq!(
            ["", "o", "on", "one\n"].map(|text| super::base64(text.as_bytes())),
            ["", "bw==", "b24=", "b25lCg=="]
        );
    }
}
