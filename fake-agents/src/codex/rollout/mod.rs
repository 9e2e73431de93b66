//! The rollout: the file below `$CODEX_HOME/sessions` in which a session is kept, line by line, and from which
//! `resume` reads it.
//!
//! Invariants: a line is written when what it says happens; without `CODEX_HOME`, and on a stage, whose processes have
//! no disk, nothing is kept, so that a person's own `~/.codex` is never touched. What a release writes is recorded
//! (tests/golden/codex-*/rollout); what is left out of that is in the list of the test that compares them.

mod earlier;
mod lines;

use super::release::{Kept, Release};
use super::shell::Report;
use super::writer::THREAD;
use earlier::Earlier;
use lines::{CONTEXT_WINDOW, EVENT, ITEM, RECORD, ms, said};
use rehang_os::os::Os;
use rehang_scenario::VTime;
use rehang_wire::model::ToolCall;
use serde_json::{Value, json};

pub(super) use earlier::Wanted;

/// Names the folder of Codex's files.
const HOME_ENV: &str = "CODEX_HOME";
/// What the model will be told of an interrupt.
const INTERRUPTED: &str = "The user interrupted the previous turn on purpose. Any running unified exec processes may still \
                           be running in the background. If any tools/commands were aborted, they may have partially \
                           executed";

/// The session as it is kept.
pub(super) struct Rollout {
    release: &'static Release,
    path: String,
    thread: String,
    cwd: String,
    sandbox: &'static str,
    /// How many lines it has.
    lines: u64,
    /// How many turns it has had.
    turns: u64,
    began: VTime,
    /// How many responses all its turns were charged for.
    charged: u32,
    /// The same, as the records of single responses count it (0.169.0): they are kept before a call's end.
    recorded: u32,
    /// Whether the model has begun to answer what it was asked last.
    heard: bool,
    /// What is kept only once the calls of its response have ended: the kind of line, and its payload.
    held: Vec<(&'static str, Value)>,
}

impl Rollout {
    /// Opens the session's file, `None` if nothing is kept. With it comes what an earlier session was, if that is wanted
    /// and there; if it is not there, a new one begins.
    pub fn open(
        os: &mut dyn Os,
        release: &'static Release,
        sandbox: &'static str,
        wanted: &Wanted<'_>,
    ) -> Option<(Rollout, Option<Earlier>)> {
        let home = os.env(HOME_ENV).filter(|_| os.is_alone())?;
        let mut rollout = Rollout {
            release,
            path: String::new(),
            thread: THREAD.to_owned(),
            cwd: os.cwd().unwrap_or_default(),
            sandbox,
            lines: 0,
            turns: 0,
            began: os.now(),
            charged: 0,
            recorded: 0,
            heard: false,
            held: Vec::new(),
        };
        match rollout.find(os, &home, wanted) {
            Some(path) => {
                let earlier = rollout.resumed(&os.file(&path).unwrap_or_default());
                rollout.path = path;
                Some((rollout, Some(earlier)))
            }
            None => {
                rollout.begins(os, &home);
                Some((rollout, None))
            }
        }
    }

    /// How many responses it was charged for.
    pub fn charged(&self) -> u32 {
        self.charged
    }

    /// The session's id.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// A turn begins: with the session's head, if it is the first.
    pub fn turn_begins(&mut self, os: &mut dyn Os, prompt: &str) {
        let (kept, first) = (self.release.kept, self.lines == 0);
        self.began = os.now();
        self.turns += 1;
        if first {
            self.head(os);
        }
        if kept.names_turns() {
            let mut started = json!({"type": "task_started", "turn_id": self.turn()});
            if kept == Kept::Items {
                started["root_turn_id"] = json!(self.turn());
                started["started_at"] = json!(ms(os) / 1_000);
            }
            started["model_context_window"] = json!(CONTEXT_WINDOW.1);
            started["collaboration_mode_kind"] = json!("default");
            self.event(os, &started);
        }
        if first {
            let text = self.environment(os);
            self.item(os, &said("user", "input_text", &text));
        }
        if kept.names_turns() {
            self.context(os);
        }
        self.item(os, &said("user", "input_text", prompt));
        match kept {
            Kept::Kind => self.event(os, &json!({"type": "user_message", "message": prompt, "kind": "plain"})),
            Kept::Images => self.event(os, &json!({"type": "user_message", "message": prompt, "images": []})),
            Kept::Tasks => {
                let nothing = json!([]);
                let event = json!({"type": "user_message", "message": prompt, "images": nothing,
                    "local_images": nothing, "text_elements": nothing});
                self.event(os, &event);
            }
            Kept::Items => {
                let content = json!([{"type": "text", "text": prompt, "text_elements": []}]);
                self.completed(os, &json!({"type": "UserMessage", "content": content}));
            }
        }
    }

    /// The model is asked.
    pub fn asks(&mut self, os: &mut dyn Os) {
        self.heard = false;
        if !self.release.kept.names_turns() {
            self.context(os);
        }
    }

    /// The model has begun to answer.
    pub fn heard(&mut self, os: &mut dyn Os) {
        if !std::mem::replace(&mut self.heard, true) && self.release.kept != Kept::Items {
            self.event(os, &self.tokens());
        }
    }

    /// The model has said this.
    pub fn message(&mut self, os: &mut dyn Os, text: &str) {
        let mut item = said("assistant", "output_text", text);
        match self.release.kept {
            Kept::Kind | Kept::Images => {
                self.event(os, &json!({"type": "agent_message", "message": text}));
                self.held.push((ITEM, item));
            }
            Kept::Tasks => {
                let event = json!({"type": "agent_message", "message": text, "phase": null, "memory_citation": null});
                self.event(os, &event);
                self.item(os, &item);
            }
            Kept::Items => {
                self.completed(os, &json!({"type": "AgentMessage", "content": [{"type": "Text", "text": text}]}));
                item["status"] = json!("completed");
                item["content"][0]["annotations"] = json!([]);
                self.item(os, &item);
            }
        }
    }

    /// The model calls this tool.
    pub fn call(&mut self, os: &mut dyn Os, call: &ToolCall) {
        let mut item = json!({"type": "function_call", "name": call.name, "arguments": call.input.to_string(),
            "call_id": call.id});
        if self.release.kept == Kept::Items {
            item["status"] = json!("completed");
        }
        match self.release.kept.names_turns() {
            true => self.item(os, &item),
            false => self.held.push((ITEM, item)),
        }
    }

    /// A response is whole, and is charged.
    pub fn responded(&mut self, os: &mut dyn Os) {
        (self.charged, self.recorded) = (self.charged + 1, self.recorded + 1);
        match self.release.kept {
            Kept::Kind => return self.held.insert(0, (EVENT, self.tokens())),
            Kept::Images | Kept::Tasks => return self.event(os, &self.tokens()),
            Kept::Items => {}
        }
        let record = json!({"thread_id": self.thread, "turn_id": self.turn(), "session_id": self.thread,
            "root_turn_id": self.turn(), "usage": self.usage(1), "thread_token_usage": self.usage(self.recorded)});
        self.line(os, RECORD, &record);
    }

    /// A command has ended.
    pub fn command_ends(&mut self, os: &mut dyn Os, call: &str, line: &str, report: &Report) {
        if self.release.kept == Kept::Items
            && let Some(code) = report.code
        {
            let status = if code == 0 { "completed" } else { "failed" };
            let item = json!({"type": "CommandExecution", "id": call, "command": ["/bin/sh", "-lc", line],
                "status": status, "aggregated_output": report.output, "exit_code": code});
            self.completed(os, &item);
        }
    }

    /// The model is told this of a call.
    pub fn told(&mut self, os: &mut dyn Os, call: &str, text: &str) {
        self.keep_held(os);
        self.item(os, &json!({"type": "function_call_output", "call_id": call, "output": text}));
    }

    /// A response is over, and so are its calls.
    pub fn response_ends(&mut self, os: &mut dyn Os) {
        self.keep_held(os);
        if self.release.kept == Kept::Items {
            self.event(os, &self.tokens());
        }
    }

    /// The turn is complete, with this last message, or has failed.
    pub fn turn_ends(&mut self, os: &mut dyn Os, how: Result<&str, &str>) {
        if !self.release.kept.names_turns() {
            return;
        }
        let mut event = json!({"type": "task_complete", "turn_id": self.turn(), "last_agent_message": how.ok()});
        if self.release.kept == Kept::Items {
            let took = os.now().since(self.began).as_ms();
            event["root_turn_id"] = json!(self.turn());
            if let Err(why) = how {
                event["error"] = json!({"message": why});
            }
            event["started_at"] = json!(ms(os).saturating_sub(took) / 1_000);
            event["completed_at"] = json!(ms(os) / 1_000);
            event["duration_ms"] = json!(took);
        }
        self.event(os, &event);
    }

    /// An interrupt ended the turn, and these calls: their ids, and what is kept as their results. 0.58.0 ends before it
    /// keeps anything of that, or keeps a part of it (three recordings).
    pub fn turn_is_aborted(&mut self, os: &mut dyn Os, calls: &[(String, String)]) {
        let kept = self.release.kept;
        if kept == Kept::Images {
            return;
        }
        let mut event = json!({"type": "turn_aborted"});
        if kept.names_turns() {
            calls.iter().for_each(|(call, text)| self.told(os, call, text));
            self.response_ends(os);
            let more = if kept == Kept::Tasks { "; verify current state before retrying." } else { "." };
            let text = format!("<turn_aborted>\n{INTERRUPTED}{more}\n</turn_aborted>");
            self.item(os, &said("user", "input_text", &text));
            event["turn_id"] = json!(self.turn());
        }
        event["reason"] = json!("interrupted");
        self.event(os, &event);
    }
}
