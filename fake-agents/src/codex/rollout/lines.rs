//! The lines of a rollout: what is in each, for each release.
//!
//! Invariant: keys come in the release's order, as far as they are written.

use super::super::release::{Kept, TOKENS};
use super::Rollout;
use rehang_os::os::Os;
use rehang_scenario::time::instant;
use serde_json::{Value, json};

/// How many tokens the model takes, as 0.45.0 says of `gpt-5`, and as the later releases do (95 % of it).
pub(super) const CONTEXT_WINDOW: (u64, u64) = (272_000, 258_400);
/// The kind of a line that holds an item of the conversation.
pub(super) const ITEM: &str = "response_item";
/// The kind of a line that holds an event.
pub(super) const EVENT: &str = "event_msg";
/// The kind of a line that says what a response used.
pub(super) const RECORD: &str = "token_usage_record";
/// The model's name, and its provider's.
const MODEL: (&str, &str) = ("gpt-5", "fake");

impl Rollout {
    pub(super) fn head(&mut self, os: &mut dyn Os) {
        let (kept, date) = (self.release.kept, instant(ms(os)));
        let mut meta = json!({"id": self.thread, "timestamp": date, "cwd": self.cwd, "originator": "codex_exec",
            "cli_version": self.release.version});
        if !kept.names_turns() {
            meta["instructions"] = Value::Null;
        }
        meta["source"] = json!("exec");
        if kept != Kept::Kind {
            meta["model_provider"] = json!(MODEL.1);
        }
        if kept == Kept::Items {
            meta["session_id"] = json!(self.thread);
            meta["thread_source"] = json!("user");
            meta["history_mode"] = json!("paginated");
        }
        self.line(os, "session_meta", &meta);
    }

    /// What the model is told of where it is.
    pub(super) fn environment(&self, os: &dyn Os) -> String {
        let (cwd, sandbox) = (&self.cwd, self.sandbox);
        let rest = match self.release.kept.names_turns() {
            true => {
                let date = instant(ms(os));
                format!(
                    "<shell>sh</shell>\n  <current_date>{}</current_date>\n  <timezone>Etc/UTC</timezone>",
                    &date[..10]
                )
            }
            false => {
                let network = if sandbox == "danger-full-access" { "enabled" } else { "restricted" };
                format!(
                    "<approval_policy>never</approval_policy>\n  <sandbox_mode>{sandbox}</sandbox_mode>\n  \
                     <network_access>{network}</network_access>"
                )
            }
        };
        format!("<environment_context>\n  <cwd>{cwd}</cwd>\n  {rest}\n</environment_context>")
    }

    pub(super) fn context(&mut self, os: &mut dyn Os) {
        let kept = self.release.kept;
        let mut context = json!({});
        if kept.names_turns() {
            context["turn_id"] = json!(self.turn());
        }
        context["cwd"] = json!(self.cwd);
        context["approval_policy"] = json!("never");
        let key = if kept.names_turns() { "type" } else { "mode" };
        context["sandbox_policy"] = json!({key: self.sandbox});
        context["model"] = json!(MODEL.0);
        context["summary"] = json!(if kept == Kept::Items { "none" } else { "auto" });
        self.line(os, "turn_context", &context);
    }

    pub(super) fn tokens(&self) -> Value {
        let kept = self.release.kept;
        let window = if kept == Kept::Kind { CONTEXT_WINDOW.0 } else { CONTEXT_WINDOW.1 };
        let info = (self.charged > 0).then(|| {
            json!({"total_token_usage": self.usage(self.charged), "last_token_usage": self.usage(1),
                "model_context_window": window})
        });
        json!({"type": "token_count", "info": info, "rate_limits": {"primary": null, "secondary": null}})
    }

    pub(super) fn usage(&self, responses: u32) -> Value {
        let (input, output) = (TOKENS.0 * responses, TOKENS.1 * responses);
        let mut usage = json!({"input_tokens": input, "cached_input_tokens": 0});
        if self.release.kept == Kept::Items {
            usage["cache_write_input_tokens"] = json!(0);
        }
        usage["output_tokens"] = json!(output);
        usage["reasoning_output_tokens"] = json!(0);
        usage["total_tokens"] = json!(input + output);
        usage
    }

    pub(super) fn turn(&self) -> String {
        format!("00000000-0000-7000-8001-{:012x}", self.turns)
    }

    pub(super) fn keep_held(&mut self, os: &mut dyn Os) {
        for (kind, payload) in std::mem::take(&mut self.held) {
            self.line(os, kind, &payload);
        }
    }

    pub(super) fn item(&mut self, os: &mut dyn Os, payload: &Value) {
        self.line(os, ITEM, payload);
    }

    pub(super) fn event(&mut self, os: &mut dyn Os, payload: &Value) {
        self.line(os, EVENT, payload);
    }

    pub(super) fn completed(&mut self, os: &mut dyn Os, item: &Value) {
        let event = json!({"type": "item_completed", "thread_id": self.thread, "turn_id": self.turn(), "item": item});
        self.event(os, &event);
    }

    pub(super) fn line(&mut self, os: &mut dyn Os, kind: &str, payload: &Value) {
        let mut line = json!({"timestamp": instant(ms(os))});
        if self.release.kept == Kept::Items {
            line["ordinal"] = json!(self.lines);
        }
        line["type"] = json!(kind);
        line["payload"] = payload.clone();
        self.lines += 1;
        os.append(&self.path, &format!("{line}\n"));
    }
}

/// The wall clock, in milliseconds since 1970.
pub(super) fn ms(os: &dyn Os) -> u64 {
    os.epoch_ms().saturating_add(os.now().0)
}

/// How many responses were charged for this usage.
pub(super) fn responses(usage: &Value) -> u32 {
    let input = usage["input_tokens"].as_u64().unwrap_or_default();
    u32::try_from(input / u64::from(TOKENS.0)).unwrap_or(u32::MAX)
}

pub(super) fn said(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}
