//! A standard input that nobody writes to, and processes that wait for each other.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Held, Tool};
use crate::Limits;
use crate::Mechanism::{B1, B4, C6, S1, S3, X2};
use crate::draft::Play;
use crate::limit::{ABOVE_TOOLS, AGENT_MAY_GO_ON, LONGEST_TOOL};
use rehang_words::{BlockedOn, Terminal};

pub(super) const STDIN_OPEN: Facts = Facts {
    word: "stdin-open",
    called: "hung",
    means: "it waits for its standard input, and the process that holds the other end neither writes nor closes it",
    mechanisms: &[S1, S3, B1],
    judged: &[BlockedOn::Stdin],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(
        Closed,
        "the agent waits for its stdin, and nobody writes to it or closes it",
        "nobody writes; if guard's host opened that pipe, it is closed first",
    ),
    below: Limits::likely(Tool, "a tool's command waits for a stdin that nobody writes to", LONGEST_TOOL).certain(
        Held,
        "a process below the agent waits for its stdin, and its holder waits for that process",
        AGENT_MAY_GO_ON,
    ),
    draft: |shown| {
        let steps = match shown.mechanism {
            Some(B1) => r#"{ run = [{ prompt = "Ok to proceed? (y) " }, "read-stdin"] }, { print = "done" }"#,
            _ => r#""read-stdin", { print = "done" }"#,
        };
        Some(Play::program(steps, Terminal::Pipe, BlockedOn::Stdin, r#"terminals = ["null"]"#))
    },
};

pub(super) const MUTUAL_WAIT: Facts = Facts {
    word: "mutual-wait",
    called: "hung",
    means: "two processes, or more, wait for each other: each would go on only after another one did",
    mechanisms: &[C6, X2],
    judged: &[BlockedOn::Stdin, BlockedOn::Client],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(
        Closed,
        "two processes wait for each other",
        "each waits for the other; if guard's host opened the agent's stdin, it is closed first",
    ),
    below: Limits::likely(Held, "two processes below the agent wait for each other", AGENT_MAY_GO_ON),
    draft: no_draft,
};

pub(super) const EDITOR_ON_STDERR: Facts = Facts {
    word: "editor-on-stderr",
    called: "hung",
    means: "an editor without a terminal reads its own standard error, where no input can arrive",
    mechanisms: &[B4],
    judged: &[BlockedOn::Stdin],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Held, "the agent reads its own stderr as if it were a terminal", ABOVE_TOOLS),
    below: Limits::likely(Held, "a tool's editor reads its own stderr as if it were a terminal", ABOVE_TOOLS),
    draft: no_draft,
};
