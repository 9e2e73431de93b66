//! A key that nobody presses, and a screen that nobody reads.

use super::pipes::DOES_NOT_READ;
use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Held, Person};
use crate::Limits;
use crate::Mechanism::{B2, B3, B4, T3, T6};
use crate::draft::{Play, Shown};
use crate::limit::AGENT_MAY_GO_ON;
use rehang_words::{BlockedOn, Terminal};

/// Why a key has a person's time.
const SOMEBODY: &str = "somebody may come to the terminal";

pub(super) const TTY_READ: Facts = Facts {
    word: "tty-read",
    called: "hung",
    means: "it waits for a key at a terminal, or for an answer of the terminal itself, and none comes",
    mechanisms: &[B2],
    // a terminal is a standard input too
    judged: &[BlockedOn::Tty, BlockedOn::Stdin],
    owed: Owed::Person,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Person, "the agent waits for a key at its terminal, and nobody comes", SOMEBODY),
    below: Limits::likely(Person, "a tool's command waits for a key at the terminal, and nobody comes", SOMEBODY),
    draft: key,
};

pub(super) const PAGER: Facts = Facts {
    word: "pager",
    called: "hung",
    means: "a pager shows a page and waits for a key",
    mechanisms: &[B3],
    judged: &[BlockedOn::Tty],
    owed: Owed::Person,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Person, "the agent waits for a key in its pager, and nobody comes", SOMEBODY),
    below: Limits::likely(Person, "a tool's command waits for a key in a pager, and nobody comes", SOMEBODY),
    draft: key,
};

pub(super) const EDITOR: Facts = Facts {
    word: "editor",
    called: "hung",
    means: "an editor waits for keys at a terminal",
    mechanisms: &[B4],
    judged: &[BlockedOn::Tty],
    owed: Owed::Person,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Person, "the agent waits for a key in its editor, and nobody comes", SOMEBODY),
    below: Limits::likely(Person, "a tool's command waits for a key in an editor, and nobody comes", SOMEBODY),
    draft: key,
};

pub(super) const TTY_UNREAD: Facts = Facts {
    word: "tty-unread",
    called: "hung",
    means: "it cannot write to its terminal: nobody reads the other side, or Ctrl-S has stopped the output",
    mechanisms: &[T6],
    judged: &[BlockedOn::Tty],
    owed: Owed::Peer,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Closed, "the agent's terminal is full, and nobody reads it", DOES_NOT_READ),
    below: Limits::likely(Held, "a process below the agent has a full terminal, and nobody reads it", AGENT_MAY_GO_ON),
    draft: no_draft,
};

pub(super) const TERMINAL_PERSON: Facts = Facts {
    word: "terminal-person",
    called: "waiting; hung if the program that has the terminal waits for the agent and for nothing else",
    means: "an agent shows its screen and waits for a person's key; whether somebody sits there cannot be seen",
    mechanisms: &[T3],
    judged: &[],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(
        Closed,
        "the agent's screen waits for a key, and nobody comes",
        "only if the program that has its terminal waits for the agent and for nothing else, so that no key can come",
    ),
    below: Limits::likely(
        Person,
        "the screen of a process below the agent waits for a key, and nobody comes",
        SOMEBODY,
    ),
    draft: no_draft,
};

fn key(_: &Shown<'_>) -> Option<Play> {
    let steps = r#"{ run = [{ ask-tty = "Password: " }] }, { print = "done" }"#;
    Some(Play::program(steps, Terminal::Tty, BlockedOn::Tty, r#"terminals = ["null"]"#))
}
