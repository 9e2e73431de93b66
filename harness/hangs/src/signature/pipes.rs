//! Pipes that are full, and pipes that somebody else holds open.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Held, Tool};
use crate::Limits;
use crate::Mechanism::{B6, B7, C1, C2, C6};
use crate::draft::{Play, instead};
use crate::limit::{AGENT_MAY_GO_ON, LONGEST_TOOL};
use rehang_words::{BlockedOn, Terminal};

/// Why the limit of a full pipe is short.
pub(super) const DOES_NOT_READ: &str = "the process that should read it does not";
/// Why a pipe that is held has ten minutes.
const OUTLIVED: &str = "a process that outlived its command has been seen to end after five minutes";

pub(super) const STDOUT_UNDRAINED: Facts = Facts {
    word: "stdout-undrained",
    called: "hung",
    means: "it cannot write to its standard output: the pipe is full, and the process that should read it does not",
    mechanisms: &[C6, C2],
    judged: &[BlockedOn::Pipe],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Closed, "the agent's stdout is full, and nobody reads it", DOES_NOT_READ),
    below: Limits::likely(Tool, "a process below the agent has a full stdout, and nobody reads it", LONGEST_TOOL)
        .certain(
            Held,
            "a process below the agent has a full stdout, and who should read it waits for it",
            AGENT_MAY_GO_ON,
        ),
    draft: |_| {
        let steps = r#"{ fill = { bytes = 69632 } }, { print = "done" }"#;
        Some(Play::program(steps, Terminal::StdoutStopped, BlockedOn::Pipe, r#"terminals = ["stdout-slow"]"#))
    },
};

pub(super) const STDERR_UNDRAINED: Facts = Facts {
    word: "stderr-undrained",
    called: "hung",
    means: "it cannot write to its standard error: the pipe is full, and the process that should read it does not",
    mechanisms: &[C1],
    judged: &[BlockedOn::Pipe],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Closed, "the agent's stderr is full, and nobody reads it", DOES_NOT_READ),
    below: Limits::NONE.certain(
        Held,
        "a process below the agent has a full stderr, and who should read it waits for it",
        AGENT_MAY_GO_ON,
    ),
    draft: |_| {
        let steps = r#"{ fill = { bytes = 65537, stderr = true } }, { print = "done" }"#;
        let control = r#""agent.program.0.fill.bytes" = 1000"#;
        let play = Play::program(steps, Terminal::Null, BlockedOn::Pipe, control);
        Some(Play { more: "faults    = [{ wrapper = \"ignores-stderr\" }]\n".to_owned(), ..play })
    },
};

pub(super) const MUTUAL_PIPE: Facts = Facts {
    word: "mutual-pipe",
    called: "hung",
    means: "two processes wait for each other: each writes to a full pipe that the other one does not read",
    mechanisms: &[C6],
    judged: &[BlockedOn::Pipe],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Closed, "two processes wait for each other's pipe", "each waits for the other"),
    below: Limits::likely(Held, "two processes below the agent wait for each other's pipe", AGENT_MAY_GO_ON),
    draft: no_draft,
};

pub(super) const OWN_PIPE: Facts = Facts {
    word: "own-pipe",
    called: "hung",
    means: "it reads a pipe that only it could write to itself, and none of its threads does anything else",
    mechanisms: &[],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(
        Closed,
        "the agent waits for a pipe that only it can write to",
        "no other process can write to that pipe",
    ),
    below: Limits::likely(
        Held,
        "a process below the agent waits for a pipe that only it can write to",
        AGENT_MAY_GO_ON,
    ),
    draft: no_draft,
};

pub(super) const STRAY_HOLDS_PIPE: Facts = Facts {
    word: "stray-holds-pipe",
    called: "hung",
    means: "it reads a command's output to the end, and a process that outlived the command holds that pipe open",
    mechanisms: &[B6],
    judged: &[BlockedOn::Pipe, BlockedOn::Bash, BlockedOn::Child],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Held, "a tool is over, and a process that outlived it holds its pipe", OUTLIVED),
    below: Limits::likely(Held, "a tool is over, and a process that outlived it holds its pipe", OUTLIVED),
    draft: |_| {
        let steps = r#"{ background = { name = "server", does = ["hold"] } }, { print = "done" }"#;
        Some(Play::program(steps, Terminal::Null, BlockedOn::Pipe, instead(r#"{ print = "done" }"#)))
    },
};

pub(super) const STRAY_WRITES_PIPE: Facts = Facts {
    word: "stray-writes-pipe",
    called: "hung",
    means: "it reads a command's output to the end, and a process that outlived the command goes on writing to that pipe",
    mechanisms: &[B7],
    judged: &[BlockedOn::Pipe],
    owed: Owed::Peer,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Held, "a tool is over, and a process that outlived it goes on writing to its pipe", OUTLIVED),
    below: Limits::likely(Held, "a tool is over, and a process that outlived it goes on writing to its pipe", OUTLIVED),
    draft: |_| {
        let steps = r#"{ background = { name = "server", does = [{ every = { every = "5s", print = "GET / 200" } }] } }, { print = "done" }"#;
        Some(Play::program(steps, Terminal::Null, BlockedOn::Pipe, instead(r#"{ print = "done" }"#)))
    },
};
