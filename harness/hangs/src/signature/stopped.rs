//! Processes that somebody has stopped.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Person, Stopped};
use crate::Limits;
use crate::Mechanism::T1;
use crate::draft::{Play, instead};
use rehang_words::{BlockedOn, Terminal};

/// Why an agent in the background has a short limit.
const BACKGROUND: &str = "nobody brings it to the foreground";
/// Why a stopped process has 15 minutes.
const STOPPER_GONE: &str = "the one who stopped it is assumed to be gone";
/// Why a frozen process has 15 minutes.
const FREEZER_GONE: &str = "the one who froze it is assumed to be gone";
/// Why a traced process has a person's time.
const DEBUGS: &str = "somebody may be at the debugger";

pub(super) const SIGTTIN: Facts = Facts {
    word: "sigttin",
    called: "hung",
    means: "it read its terminal from the background, and SIGTTIN stopped it",
    mechanisms: &[T1],
    judged: &[BlockedOn::Stopped],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Closed, "the agent was stopped: it read its terminal from the background", BACKGROUND),
    below: Limits::likely(
        Stopped,
        "a tool's command was stopped: it read its terminal from the background",
        STOPPER_GONE,
    ),
    draft: |_| {
        let steps = r#"{ print = "in the background" }, "read-stdin""#;
        Some(Play::program(steps, Terminal::TtyBackground, BlockedOn::Stopped, instead(r#"{ print = "done" }"#)))
    },
};

pub(super) const SIGTTOU: Facts = Facts {
    word: "sigttou",
    called: "hung",
    means: "it changed its terminal's settings, or wrote to the terminal, from the background, and SIGTTOU stopped it",
    mechanisms: &[T1],
    judged: &[BlockedOn::Stopped],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Closed, "the agent was stopped: it set its terminal's mode from the background", BACKGROUND),
    below: Limits::likely(
        Stopped,
        "a tool's command was stopped: it set its terminal's mode from the background",
        STOPPER_GONE,
    ),
    draft: |_| {
        let steps = r#"{ print = "in the background" }, "set-tty""#;
        Some(Play::program(steps, Terminal::TtyBackground, BlockedOn::Stopped, r#"terminals = ["tty"]"#))
    },
};

pub(super) const STOPPED: Facts = Facts {
    word: "stopped",
    called: "waiting, hung after 15 minutes",
    means: "SIGSTOP or Ctrl-Z has stopped it, and nobody continues it",
    mechanisms: &[T1],
    judged: &[BlockedOn::Stopped],
    owed: Owed::Person,
    ended_by: EndedBy::Holder,
    agent: Limits::likely(Stopped, "the agent is stopped, and nobody continues it", STOPPER_GONE),
    below: Limits::likely(Stopped, "a process below the agent is stopped, and nobody continues it", STOPPER_GONE),
    draft: no_draft,
};

pub(super) const FROZEN: Facts = Facts {
    word: "frozen",
    called: "waiting, hung after 15 minutes",
    means: "its cgroup is frozen, as by `docker pause` or a suspended sandbox",
    mechanisms: &[T1],
    judged: &[],
    owed: Owed::Person,
    ended_by: EndedBy::Holder,
    agent: Limits::likely(Stopped, "the agent is frozen with its cgroup, and nobody thaws it", FREEZER_GONE),
    below: Limits::likely(
        Stopped,
        "a process below the agent is frozen with its cgroup, and nobody thaws it",
        FREEZER_GONE,
    ),
    draft: no_draft,
};

pub(super) const TRACED: Facts = Facts {
    word: "traced",
    called: "waiting, hung after 15 minutes",
    means: "a debugger or tracer holds it",
    mechanisms: &[],
    judged: &[],
    owed: Owed::Person,
    ended_by: EndedBy::Holder,
    agent: Limits::likely(Person, "a debugger holds the agent, and nobody lets it go on", DEBUGS),
    below: Limits::likely(Person, "a debugger holds a process below the agent, and nobody lets it go on", DEBUGS),
    draft: no_draft,
};
