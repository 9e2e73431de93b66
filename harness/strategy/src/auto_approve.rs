//! Clive's approval of permissions over the agent's stdin.
//!
//! Invariant: any tool_result with `is_error` is taken for a denied permission, although a failing command has one too;
//! at most one block of a message is seen. What it writes is a second tool_result for the same id. Of its user's
//! answers v2 sends one for each call, and none for a call that it has not seen (`SendToolResult`).

use crate::canon::texts;
use crate::lines::{Lines, blocks, text};
use crate::{Act, Entry, Facts, Params, ProcessSeen, ProtocolAct, ProtocolSeen, Seat, Seen, Strategy, Stream, Wire};
use rehang_words::{Canon, Policy, Span, VTime};
use serde_json::{Value, json};

/// The name of Claude Code's question tool.
const QUESTION_TOOL: &str = "AskUserQuestion";
/// The most calls without an answer that are remembered; in a conversation with more, its user answers the first.
const CALLS_MAX: usize = 10_000;

/// The versions in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "auto-approve@v1",
        seat: Seat::Outside,
        origin: "iammorganparry/clive 37b7f95, 2026-01-21 07:55",
        summary: "answers each failed tool_result with an empty, successful one, and logs a permission request",
        speaks: &[Wire::ClaudeStream],
        params: &[],
        build: |_: &Params| Box::new(AutoApprove::new(false)),
    },
    Entry {
        name: "auto-approve@v2",
        seat: Seat::Outside,
        origin: "iammorganparry/clive d2b56a8, the same day 10:35",
        summary: "as v1, but leaves the question tool alone, writes nothing after the end, and logs nothing",
        speaks: &[Wire::ClaudeStream],
        params: &[],
        build: |_: &Params| Box::new(AutoApprove::new(true)),
    },
];

#[derive(Debug, Clone)]
struct AutoApprove {
    v2: bool,
    lines: Lines,
    /// Ids of the question tool's calls (v2: `handledQuestionIDs`).
    questions: Vec<String>,
    /// Calls that its user has not answered yet (v2: `pendingToolUses`); a denial leaves them in it.
    pending: Vec<String>,
    over: bool,
}

impl AutoApprove {
    fn new(v2: bool) -> AutoApprove {
        AutoApprove { v2, lines: Lines::default(), questions: Vec::new(), pending: Vec::new(), over: false }
    }

    fn message(&mut self, message: &Value, acts: &mut Vec<Act>) {
        match text(message, "type") {
            "user" => self.user(message, acts),
            "assistant" if self.v2 => blocks(message).iter().for_each(|block| {
                self.note_question(block);
                self.note_call(block);
            }),
            "stream_event" if self.v2 => self.note_question(&message["event"]["content_block"]),
            _ => {}
        }
    }

    fn note_question(&mut self, block: &Value) {
        if text(block, "type") == "tool_use" && text(block, "name") == QUESTION_TOOL {
            let id = text(block, "id").to_owned();
            if !self.questions.contains(&id) {
                self.questions.push(id);
            }
        }
    }

    fn note_call(&mut self, block: &Value) {
        let id = text(block, "id");
        if text(block, "type") == "tool_use" && !id.is_empty() && self.pending.len() < CALLS_MAX {
            self.pending.push(id.to_owned());
        }
    }

    /// A user's answer that is to be sent: it takes its call off the list before it goes out.
    fn typed(&mut self, bytes: &[u8], acts: &mut Vec<Act>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            // a line that is not JSON goes through unchanged
            let line: Value = serde_json::from_slice(piece).unwrap_or_default();
            let results = blocks(&line).iter().filter(|block| text(block, "type") == "tool_result");
            let ids: Vec<&str> = results.map(|block| text(block, "tool_use_id")).collect();
            match ids.iter().find(|id| self.pending.iter().all(|pending| pending != *id)) {
                Some(id) => {
                    acts.push(Act::Say(format!("tool_use_id {id} not found in conversation (stale or invalid)")));
                }
                None => {
                    self.pending.retain(|pending| !ids.contains(&pending.as_str()));
                    acts.push(Act::Protocol(ProtocolAct::Write(piece.to_vec())));
                }
            }
        }
    }

    fn user(&self, message: &Value, acts: &mut Vec<Act>) {
        let denied = |block: &&Value| {
            text(block, "type") == "tool_result" && block["is_error"] == true && !text(block, "tool_use_id").is_empty()
        };
        let Some(block) = blocks(message).iter().find(denied) else { return };
        let id = text(block, "tool_use_id");
        if self.v2 && (self.over || self.questions.iter().any(|question| question == id)) {
            return;
        }
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "", "is_error": false });
        let line = json!({ "type": "user", "message": { "role": "user", "content": [result] } });
        acts.push(Act::Protocol(ProtocolAct::Write(format!("{line}\n").into_bytes())));
        let log = format!(
            "PERMISSION REQUEST detected: {} (tool_use_id={id}), sent approval via stdin",
            text(block, "content")
        );
        acts.push(Act::Report(Policy {
            detected: Some("error-block".to_owned()),
            rule: Some("approve".to_owned()),
            text: (!self.v2).then(|| log.clone()),
            ..Policy::default()
        }));
        if !self.v2 {
            acts.push(Act::Say(log));
        }
    }
}

impl Strategy for AutoApprove {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Output(Stream::Stdout, bytes)) => {
                for message in self.lines.take(bytes) {
                    self.message(&message, acts);
                }
            }
            Seen::Protocol(ProtocolSeen::Typed(bytes)) => self.typed(bytes, acts),
            Seen::Process(ProcessSeen::Exited(_)) => self.over = true,
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        None
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            v2: _, // not compared: it never changes after construction
            lines,
            questions,
            pending,
            over,
        } = self;
        lines.canon(canon);
        canon.flag(*over);
        texts(canon, questions);
        texts(canon, pending);
    }

    fn relays(&self) -> bool {
        self.v2
    }
}

#[cfg(test)]
mod tests;
