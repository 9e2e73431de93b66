//! A process that waits for nothing that will come, or spins.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Endless, Held, Tool};
use crate::Limits;
use crate::Mechanism::{B5, C4, H2};
use crate::draft::{Play, instead};
use crate::limit::{AGENT_MAY_GO_ON, LONGEST_TOOL};
use rehang_words::{BlockedOn, Terminal};

pub(super) const THREAD_DEADLOCK: Facts = Facts {
    word: "thread-deadlock",
    called: "hung",
    means: "its threads wait for each other, without a time limit, and none waits for anything else",
    mechanisms: &[],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Closed, "the agent's threads wait for each other", "no other process can wake its threads"),
    below: Limits::likely(Held, "the threads of a process below the agent wait for each other", AGENT_MAY_GO_ON),
    draft: no_draft,
};

pub(super) const EOF_SPIN: Facts = Facts {
    word: "eof-spin",
    called: "hung",
    means: "it uses a processor to read or write again and again, and no byte moves, as at the end of an input",
    mechanisms: &[H2],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(
        Closed,
        "the agent spins: it reads or writes again and again, and no byte moves",
        "it uses a processor and moves not one byte",
    ),
    below: Limits::likely(
        Held,
        "a process below the agent spins: it reads or writes again and again, and no byte moves",
        AGENT_MAY_GO_ON,
    ),
    draft: no_draft,
};

pub(super) const CPU_SPIN: Facts = Facts::state(
    "cpu-spin",
    Owed::Nobody,
    "hung, a guess",
    "an agent or a tool server uses a whole processor and moves no byte, and the process that started it is gone",
)
.naming(&[H2]);

pub(super) const UNREAPED: Facts = Facts {
    word: "unreaped",
    called: "hung",
    means: "its child has ended, and it has not noticed: no thread waits for a child",
    mechanisms: &[C4],
    judged: &[BlockedOn::Bash, BlockedOn::Child],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Closed, "the agent waits for a child that is over", "the child that it waits for has ended"),
    below: Limits::likely(Held, "a process below the agent waits for a child that is over", AGENT_MAY_GO_ON),
    draft: no_draft,
};

pub(super) const NEVER_ENDS: Facts = Facts {
    word: "never-ends",
    called: "hung",
    means: "it waits for nothing and has no timer left, or is a command that never ends by itself, such as `tail -f`",
    mechanisms: &[B5],
    // a plain program that has printed its result has no record that says so
    judged: &[BlockedOn::Bash, BlockedOn::Child, BlockedOn::Nothing, BlockedOn::Exit],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(
        Endless,
        "the agent waits for nothing, and no timer of its own is left",
        "it waits for nothing, and has no timer left",
    ),
    below: Limits::likely(Tool, "a tool's command never ends by itself", LONGEST_TOOL),
    draft: |_| {
        let steps = r#"{ run = [{ print = "started" }, "hold"] }"#;
        Some(Play::program(steps, Terminal::Null, BlockedOn::Child, instead(r#"{ print = "done" }"#)))
    },
};

pub(super) const TRIES_AGAIN: Facts = Facts::state(
    "tries-again",
    Owed::Itself,
    "waiting; a guess at HUNG after 65 minutes",
    "a shell loop that tries again after each `sleep`",
);
