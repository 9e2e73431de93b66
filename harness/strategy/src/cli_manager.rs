//! Clive's CliManager: its user's answers go through it, and an answer that cannot arrive is not sent.
//!
//! Invariant: it writes nothing of its own. A person's line is passed on unchanged, or kept back with the reason: an
//! answer that the CLI has rejected, a second answer, free text while a question is open.

use crate::canon::{option, texts};
use crate::lines::{Lines, blocks, text};
use crate::{Act, Entry, Facts, Params, ProcessSeen, ProtocolAct, ProtocolSeen, Seat, Seen, Strategy, Stream, Wire};
use rehang_words::{Canon, Span, VTime};
use serde_json::Value;

/// The name of Claude Code's question tool.
const QUESTION_TOOL: &str = "AskUserQuestion";
/// The most calls that are remembered; a conversation that has more forgets the first.
const REMEMBERED_MAX: usize = 1_000;

/// The only version.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "cli-manager",
    seat: Seat::Outside,
    origin: "iammorganparry/clive f4fcf6c3, apps/tui/src/services/CliManager.ts, behind 625e61b; 4.3",
    summary: "keeps back an answer to a question that the CLI has rejected, a second one, and free text beside a question",
    speaks: &[Wire::ClaudeStream],
    params: &[],
    build: |_: &Params| Box::new(CliManager::default()),
}];

#[derive(Debug, Clone, Default)]
struct CliManager {
    lines: Lines,
    /// The question that its user sees.
    pending: Option<String>,
    /// Whether a question of this turn was shown: a second one is not.
    shown: bool,
    /// Whether a question of this turn was answered.
    answered: bool,
    /// Calls of the question tool, shown or not.
    questions: Vec<String>,
    rejected: Vec<String>,
    sent: Vec<String>,
}

impl CliManager {
    fn message(&mut self, message: &Value, acts: &mut Vec<Act>) {
        match text(message, "type") {
            "assistant" => {
                for block in blocks(message).iter().filter(|block| text(block, "name") == QUESTION_TOOL) {
                    self.asked(text(block, "id"), acts);
                }
            }
            "user" => {
                for block in blocks(message).iter().filter(|block| block["is_error"] == true) {
                    self.tool_rejected(text(block, "tool_use_id"), acts);
                }
            }
            "result" => (self.pending, self.shown, self.answered) = (None, false, false),
            _ => {}
        }
    }

    fn asked(&mut self, id: &str, acts: &mut Vec<Act>) {
        if id.is_empty() || self.questions.iter().any(|known| known == id) {
            return;
        }
        remember(&mut self.questions, id);
        if std::mem::replace(&mut self.shown, true) {
            return acts.push(Act::Say(format!("Second question of this turn is not shown: {id}")));
        }
        self.pending = Some(id.to_owned());
    }

    fn tool_rejected(&mut self, id: &str, acts: &mut Vec<Act>) {
        if !self.questions.iter().any(|question| question == id) {
            return;
        }
        remember(&mut self.rejected, id);
        if self.pending.as_deref() == Some(id) {
            self.pending = None;
        }
        acts.push(Act::Say(format!("Tool rejected by CLI: {id}")));
    }

    /// Why a person's line cannot be sent.
    fn refuses(&self, line: &Value) -> Option<String> {
        if text(line, "type") != "user" {
            return None;
        }
        let has = |all: &[String], id: &str| all.iter().any(|known| known == id);
        let mut results = blocks(line).iter().filter(|block| text(block, "type") == "tool_result").peekable();
        if results.peek().is_none() {
            return self.pending.as_ref().map(|id| format!("a question is open: {id}"));
        }
        results.find_map(|block| match text(block, "tool_use_id") {
            id if has(&self.rejected, id) => Some(format!("the CLI has rejected {id}")),
            id if has(&self.sent, id) => Some(format!("{id} has its answer")),
            id if self.answered => Some(format!("a question of this turn was answered, and it was not {id}")),
            _ => None,
        })
    }

    fn typed(&mut self, bytes: &[u8], acts: &mut Vec<Act>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            // A line that is not JSON goes through unchanged: the CLI rejects it in its own words.
            let line: Value = serde_json::from_slice(piece).unwrap_or_default();
            if let Some(why) = self.refuses(&line) {
                acts.push(Act::Say(format!("Not sent: {why}")));
                continue;
            }
            let results = blocks(&line).iter().filter(|block| text(block, "type") == "tool_result");
            for block in results {
                remember(&mut self.sent, text(block, "tool_use_id"));
                (self.pending, self.answered) = (None, true);
            }
            if text(&line, "type") == "control_response" {
                self.pending = None;
            }
            acts.push(Act::Protocol(ProtocolAct::Write(piece.to_vec())));
        }
    }
}

fn remember(all: &mut Vec<String>, id: &str) {
    if all.len() == REMEMBERED_MAX {
        all.remove(0);
    }
    all.push(id.to_owned());
}

impl Strategy for CliManager {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Output(Stream::Stdout, bytes)) => {
                for message in self.lines.take(bytes) {
                    self.message(&message, acts);
                }
            }
            Seen::Protocol(ProtocolSeen::Typed(bytes)) => self.typed(bytes, acts),
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
        let Self { lines, pending, shown, answered, questions, rejected, sent } = self;
        lines.canon(canon);
        option(canon, pending.as_ref(), |canon, id| {
            canon.text(id);
        });
        canon.flag(*shown).flag(*answered);
        texts(canon, questions);
        texts(canon, rejected);
        texts(canon, sent);
    }

    fn relays(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::ProtocolAct;
    use crate::ProtocolSeen;
    use crate::testing::Bench;
    use crate::{Act, Seen};

    fn asks(id: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"AskUserQuestion\"}}]}}}}\n"
        )
    }

    fn rejects(id: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"is_error\":true,\"tool_use_id\":\"{id}\"}}]}}}}\n"
        )
    }

    fn answers(id: &str) -> Seen {
        let line = rejects(id).replace("\"is_error\":true,", "");
        Seen::Protocol(ProtocolSeen::Typed(line.into_bytes()))
    }

    fn prompts() -> Seen {
        Seen::Protocol(ProtocolSeen::Typed(
            b"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n".to_vec(),
        ))
    }

    fn sent(acts: &[Act]) -> bool {
        match acts {
            [Act::Protocol(ProtocolAct::Write(_))] => true,
            [Act::Say(why)] if why.starts_with("Not sent: ") => false,
            acts => panic!("{acts:?}"),
        }
    }

    const RESULT: &str = "{\"type\":\"result\"}\n";

    #[test]
    fn what_the_cli_has_rejected_is_not_answered() {
        let mut bench = Bench::started("cli-manager");
        bench.out(&asks("toolu_1"));
        assert_eq!(bench.out(&rejects("toolu_1")), [Act::Say("Tool rejected by CLI: toolu_1".to_owned())]);
        assert!(!sent(&bench.see(answers("toolu_1"))));
        assert!(sent(&bench.see(prompts())), "no question is open");
        assert_eq!(bench.out(&rejects("toolu_2")), [], "a failing command is no question");
    }

    #[test]
    fn one_answer_a_turn_and_one_a_call() {
        let mut bench = Bench::started("cli-manager");
        bench.out(&asks("toolu_1"));
        let second = Act::Say("Second question of this turn is not shown: toolu_2".to_owned());
        assert_eq!(bench.out(&asks("toolu_2")), [second]);
        assert!(sent(&bench.see(answers("toolu_1"))));
        assert!(!sent(&bench.see(answers("toolu_1"))));
        assert!(!sent(&bench.see(answers("toolu_2"))));
        bench.out(RESULT);
        bench.out(&asks("toolu_3"));
        assert!(!sent(&bench.see(answers("toolu_1"))), "another turn does not open it again");
        assert!(sent(&bench.see(answers("toolu_3"))));
    }

    #[test]
    fn no_free_text_beside_a_question() {
        let mut bench = Bench::started("cli-manager");
        assert!(sent(&bench.see(prompts())));
        bench.out(&asks("toolu_1"));
        assert!(!sent(&bench.see(prompts())));
        assert!(sent(&bench.see(Seen::Protocol(ProtocolSeen::Typed(b"half a li".to_vec())))));
        bench.out(RESULT);
        assert!(sent(&bench.see(prompts())));
    }
}
