//! A small cell for the tests of this crate.
//!
//! Invariant: two asks overlap, one of them never ends; there is a terminal, and a gap.

use crate::cell::{About, CellPage};
use rehang_judge::Row;
use rehang_scenario::{BlockedOn, Invariant, OutcomeKind, Proof, Stage, Terminal, VTime};
use rehang_trace::{AskEnd, AskKind, Cause, Ended, Event, Fact, Trace, What};

fn asked(id: &str) -> What {
    let (id, session, permission) = (id.to_owned(), "ses_1".to_owned(), "bash".to_owned());
    What::Fact(Fact::Asked { id, kind: AskKind::Permission, session, questions: Vec::new(), permission })
}

/// The trace.
pub fn trace() -> Trace {
    let said = |text: &str| What::Fact(Fact::ModelSaid { session: "ses_1".to_owned(), text: text.to_owned() });
    let ended = What::Fact(Fact::AskEnded {
        id: "per_1".to_owned(),
        end: AskEnd::Replied,
        cause: Cause::Answer,
        by: "user".to_owned(),
        answers: Vec::new(),
    });
    let events = [
        (0, "agent", What::Spawn { parent: String::new(), argv: vec!["fake".to_owned()] }),
        (0, "agent", said("I look \"around\".\nThen I ask.")),
        (10, "agent.1", What::Out { fd: 1, text: "{\"type\":\"x\"}\n".to_owned() }),
        (10, "agent", What::Out { fd: 0, text: "\u{1b}[1mAllow?\u{1b}[0m ".to_owned() }),
        (20, "agent", asked("per_1")),
        (20, "agent", asked("per_2")),
        (5_020, "person1", What::In { text: "y\r".to_owned() }),
        (5_020, "agent", ended),
        (9_000, "", What::Ended(Ended::Deadlock(vec![("agent".to_owned(), "permission".to_owned())]))),
    ];
    Trace { events: events.map(|(t, who, what)| Event { t: VTime(t), who: who.into(), what }).into() }
}

/// The row of the cell.
pub fn row() -> Row {
    Row {
        scenario: "made/up".to_owned(),
        strategy: "none".to_owned(),
        terminal: Terminal::Tty,
        stage: Stage::Sim,
        seed: 1,
        order: None,
        outcome: OutcomeKind::Hung,
        cause: None,
        blocked_on: Some(BlockedOn::Permission),
        proof: Some(Proof::Deadlock),
        policy: None,
        rejected: 0,
        virtual_ms: 9_000,
        waited_ms: None,
        wall_us: 0,
        trace_sha256: String::new(),
        broken: vec![Invariant::AskWithoutEnd],
        expected: false,
    }
}

/// The page of the cell, with one complaint.
pub fn page(complaint: &str) -> CellPage {
    let about = About { id: "made/up::none::tty::1", title: "Two asks", mechanism: "Q3", ..About::default() };
    CellPage::new(&about, row(), vec![complaint.to_owned()], &trace())
}
