//! The sequence of material events in a cell, to compare two cells.
//!
//! Invariant: it holds what a user would miss or find changed, and no time, id or order that the model did not see. So
//! two transcripts are equal if, session by session, the model said the same texts, was told the same tool results and
//! the asks got the same answers in the same order, and the agent's results are the same. These do not count: how a
//! text was cut into chunks, sessions that ran beside each other, the order of tool results and answers between two
//! texts of the model (tools of one step run side by side), and in which words a question was refused to the model.

use rehang_trace::{AskEnd, Fact, Trace, What};
use std::collections::BTreeMap;

/// The sequence of material events, by process and session in the order in which they began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// One list for each session.
    pub sessions: Vec<Vec<Item>>,
    /// The results of the agents.
    pub results: Vec<String>,
}

/// A material event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// The model said this in one response.
    Said(String),
    /// A tool result: the tool, whether it is an error, what the model is told.
    Told(String, bool, String),
    /// An ask was answered with this.
    Answered(Vec<Vec<String>>),
    /// An ask ended in another way.
    Unanswered,
}

impl Transcript {
    /// Reads the transcript from a trace.
    pub fn of(trace: &Trace) -> Transcript {
        let mut reader = Reader::default();
        for event in &trace.events {
            if let What::Fact(fact) = &event.what {
                reader.take(&event.who, fact);
            }
        }
        let mut transcript = reader.transcript;
        for session in &mut transcript.sessions {
            for run in session.chunk_by_mut(|a, b| !matches!((a, b), (Item::Said(_), _) | (_, Item::Said(_)))) {
                run.sort();
            }
        }
        transcript
    }

    /// The first difference, in one sentence; `None` if they are equal. `self` is the one that went well.
    pub fn differs(&self, other: &Transcript) -> Option<String> {
        for (n, session) in self.sessions.iter().enumerate() {
            let others = other.sessions.get(n).map_or(&[][..], Vec::as_slice);
            let place = session.iter().zip(others).position(|(a, b)| a != b).unwrap_or(session.len().min(others.len()));
            match (session.get(place), others.get(place)) {
                (None, None) => {}
                (Some(was), Some(is)) => {
                    return Some(format!("instead of {} there is {}", was.describe(), is.describe()));
                }
                (Some(was), None) => return Some(format!("{} is missing", was.describe())),
                (None, Some(is)) => return Some(format!("{} is too much", is.describe())),
            }
        }
        if other.sessions.len() > self.sessions.len() {
            return Some("there is a session too many".into());
        }
        let results = |of: &Transcript| of.results.iter().map(|r| r.trim().to_owned()).collect::<Vec<_>>();
        (results(self) != results(other)).then(|| "the result is another".into())
    }
}

impl Item {
    fn describe(&self) -> String {
        let cut = |text: &str| crate::timeline::cut(text, 70);
        match self {
            Item::Said(text) => format!("the model's \"{}\"", cut(text)),
            Item::Told(tool, error, text) => {
                let kind = if *error { "error" } else { "result" };
                format!("{tool}'s {kind} \"{}\"", cut(text))
            }
            Item::Answered(answers) => format!("the answer {answers:?}"),
            Item::Unanswered => "an ask without an answer".into(),
        }
    }
}

#[derive(Default)]
struct Reader<'a> {
    transcript: Transcript,
    sessions: BTreeMap<(&'a str, &'a str), usize>,
    /// The session of each call and ask, and the call's tool.
    of: BTreeMap<(&'a str, &'a str), (&'a str, &'a str)>,
    /// Whether more is added to the session's last text.
    saying: BTreeMap<usize, bool>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, who: &'a str, fact: &'a Fact) {
        match fact {
            Fact::Session { id, .. } => {
                self.session(who, id);
            }
            Fact::ModelAsked { session, .. } | Fact::ModelDone { session, .. } => {
                let place = self.session(who, session);
                self.saying.insert(place, false);
            }
            Fact::ModelSaid { session, text } if !text.is_empty() => {
                let place = self.session(who, session);
                let grows = self.saying.insert(place, true) == Some(true);
                match self.transcript.sessions[place].last_mut() {
                    Some(Item::Said(said)) if grows => said.push_str(text),
                    _ => self.transcript.sessions[place].push(Item::Said(text.clone())),
                }
            }
            Fact::ToolBegan { call, tool, session } => {
                self.of.insert((who, call), (session, tool));
            }
            Fact::ToolEnded { call, error, text } => {
                let (session, tool) = self.of.get(&(who, call.as_str())).copied().unwrap_or_default();
                let refused = *error && matches!(tool, "question" | "AskUserQuestion");
                let text = if refused { "refused" } else { text };
                self.push(who, session, Item::Told(tool.to_owned(), *error, text.to_owned()));
            }
            Fact::Asked { id, session, .. } => {
                self.of.insert((who, id), (session, ""));
            }
            Fact::AskEnded { id, end, answers, .. } => {
                let (session, _) = self.of.get(&(who, id.as_str())).copied().unwrap_or_default();
                let answered = matches!(end, AskEnd::Replied | AskEnd::Skipped);
                let item = if answered { Item::Answered(answers.clone()) } else { Item::Unanswered };
                self.push(who, session, item);
            }
            Fact::Result { text, .. } => self.transcript.results.push(text.clone()),
            Fact::ModelSaid { .. }
            | Fact::Busy { .. }
            | Fact::Preempted { .. }
            | Fact::Policy { .. }
            | Fact::Acted { .. } => {}
        }
    }

    fn push(&mut self, who: &'a str, session: &'a str, item: Item) {
        let place = self.session(who, session);
        self.saying.insert(place, false);
        self.transcript.sessions[place].push(item);
    }

    fn session(&mut self, who: &'a str, id: &'a str) -> usize {
        let sessions = &mut self.transcript.sessions;
        *self.sessions.entry((who, id)).or_insert_with(|| {
            sessions.push(Vec::new());
            sessions.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use rehang_trace::Cause;

    fn differs(a: Cell, b: Cell) -> Option<String> {
        Transcript::of(&a.trace()).differs(&Transcript::of(&b.trace()))
    }

    fn said(cell: Cell, text: &str) -> Cell {
        cell.fact(Fact::ModelSaid { session: "ses_1".into(), text: text.into() })
    }

    #[test]
    fn time_and_chunks_do_not_count() {
        let whole = said(Cell::new().started(), "Hello");
        let parts = said(said(Cell::new().started().at(5), "Hel").at(9), "lo");
        assert_eq!(differs(whole.clone(), parts), None);
        // Two responses do not count as one.
        let two = said(Cell::new().started().step("Hel", "tool-calls"), "lo");
        assert_eq!(differs(whole, two).unwrap(), "instead of the model's \"Hello\" there is the model's \"Hel\"");
    }

    #[test]
    fn tools_of_one_step_may_end_in_any_order() {
        let both = || Cell::new().started().tool("c1", "bash").tool("c2", "bash");
        let one = both().tool_end("c1", "x").tool_end("c2", "y");
        assert_eq!(differs(one.clone(), both().tool_end("c2", "y").tool_end("c1", "x")), None);
        let between = both().tool_end("c2", "y").step("so", "stop").tool_end("c1", "x");
        assert!(differs(one.clone(), between).is_some());
        assert_eq!(differs(one, both().tool_end("c1", "x")).unwrap(), "bash's result \"y\" is missing");
    }

    #[test]
    fn a_refused_question_is_refused_in_any_words() {
        let refused = |tool: &str, text: &str| {
            let cell = Cell::new().started().step("", "tool-calls").tool("call_1", tool);
            let ended = rehang_trace::Fact::ToolEnded { call: "call_1".into(), error: true, text: text.into() };
            cell.fact(ended).step("Done.", "stop")
        };
        let of = |tool| differs(refused(tool, "Answer questions?"), refused(tool, "No such tool"));
        assert_eq!((of("AskUserQuestion"), of("bash").is_some()), (None, true));
    }

    #[test]
    fn answers_and_results_count() {
        let answer = |a: &str| {
            let cell = Cell::new().started().ask("que_1", "ses_1");
            cell.end("que_1", AskEnd::Replied, Cause::Answer, "user", &[a])
        };
        assert_eq!(differs(answer("A"), answer("A")), None);
        let said = differs(answer("A"), answer("B")).unwrap();
        assert_eq!(said, "instead of the answer [[\"A\"]] there is the answer [[\"B\"]]");
        let result = |text: &str| Cell::new().started().result(text);
        assert_eq!(differs(result("whole\n"), result("whole")), None);
        assert_eq!(differs(result("whole"), result("who")).unwrap(), "the result is another");
    }
}
