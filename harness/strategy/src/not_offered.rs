//! The question tool is withheld from a model whose questions nobody would answer.
//!
//! Invariant: only a one-shot run is affected, which has no way of its own to take an answer; no ask is made, so none
//! is ended. (little-loops has a third form, a sentence in its prompt; a model may ignore it, and a scripted one always
//! does.)

use crate::entry::Value;
use crate::{Act, Ask, Entry, Facts, InsideAct, InsideSeen, Param, Seat, Seen, Strategy, Wire};
use rehang_words::{Canon, Policy, Span, VTime};

/// The only version.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "not-offered",
    seat: Seat::Inside,
    origin: "opencode run 1.3.0 and later (refused); Claude Code 2.1.228 and later with -p (withheld)",
    summary: "keeps the question tool from the model in a one-shot run; a call of it is told that there is no such tool",
    speaks: &[Wire::InOpencode, Wire::InClaude],
    params: &[Param {
        name: "as",
        default: Value::Word(&["refused", "withheld"]),
        doc: "refused: a rule of the session, which child sessions do not inherit (opencode); withheld: no tool at all, in subagents too (Claude Code 2.1.329)",
    }],
    build: |params| Box::new(NotOffered { whole_tree: params.word("as") == "withheld", run: false }),
}];

#[derive(Debug, Clone)]
struct NotOffered {
    whole_tree: bool,
    run: bool,
}

impl NotOffered {
    /// opencode 1.18.33 and Claude Code 2.1.329, as they were recorded.
    fn text(&self) -> String {
        if self.whole_tree {
            "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is disabled for this session, in subagents as well as here.</tool_use_error>"
        } else {
            "Model tried to call unavailable tool 'question'."
        }
        .to_owned()
    }

    fn keep_back(&self, ask: &Ask, acts: &mut Vec<Act>) {
        let text = self.text();
        acts.push(Act::Report(Policy {
            detected: Some("no-answer-route".to_owned()),
            answered: Some(vec![Vec::new(); ask.questions.len()]),
            rule: Some("not-offered".to_owned()),
            text: Some(text.clone()),
            ..Policy::default()
        }));
        acts.push(Act::Inside(InsideAct::Withhold { text }));
    }
}

impl Strategy for NotOffered {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Inside(InsideSeen::Boot { run, .. }) => self.run = *run,
            Seen::Inside(InsideSeen::ToolAsks(ask)) if self.run && (self.whole_tree || !ask.child) => {
                self.keep_back(ask, acts)
            }
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
            whole_tree: _, // not compared: it never changes after construction
            run,
        } = self;
        canon.flag(*run);
    }
}

#[cfg(test)]
mod tests;
