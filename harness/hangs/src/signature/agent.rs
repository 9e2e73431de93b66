//! What an agent's own records show: a turn that is over, a tool of which nothing runs.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Closed, Held, Model, Tool};
use crate::Limits;
use crate::Mechanism::{B13, E1, E3, E9, H1, M8, M9, X2};
use crate::draft::{Play, instead};
use crate::limit::{AS_A_MODEL, LONGEST_TOOL};
use rehang_words::{BlockedOn, Terminal};

pub(super) const ALIVE_AFTER_RESULT: Facts = Facts {
    word: "alive-after-result",
    called: "hung",
    means: "an agent has finished its turn by its own record, and does not exit",
    mechanisms: &[H1],
    judged: &[BlockedOn::Exit],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(
        Closed,
        "the agent has finished its turn, and does not exit",
        "its turn is over, and its result has been printed",
    ),
    below: Limits::likely(
        Held,
        "an agent below the agent has finished its turn, and does not exit",
        "above the bash tools' own limits: its turn is over, and its result has been printed",
    ),
    draft: |_| {
        let result = r#"{ result = { text = "done" } }"#;
        Some(Play::program(&format!("{result}, \"hold\""), Terminal::Null, BlockedOn::Exit, instead(result)))
    },
};

/// Why a tool of which nothing runs has ten minutes.
const BASH_LIMIT: &str = "above the bash tool's own limit";

pub(super) const TOOL_LOST: Facts = Facts {
    word: "tool-lost",
    called: "hung",
    means: "an agent waits for the result of a tool of which nothing runs, or that a tool server owes it",
    mechanisms: &[X2, B13, E9, M9],
    judged: &[BlockedOn::Tool, BlockedOn::Bash, BlockedOn::Post],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Held, "the agent waits for a tool of which nothing runs", BASH_LIMIT),
    below: Limits::likely(Held, "an agent below the agent waits for a tool of which nothing runs", BASH_LIMIT),
    draft: |shown| (shown.is_claude() && shown.mechanism == Some(X2)).then(tool_server),
};

pub(super) const NO_CONNECTION: Facts = Facts {
    word: "no-connection",
    called: "waiting, hung after 30 minutes; a guess if it has a timer",
    means: "an agent has nothing under way: no connection to a model, no child, no input that it waits for",
    mechanisms: &[M8],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(
        Model,
        "the agent has nothing under way, and says nothing",
        "the same limit as for a silent model: it waits for nobody in sight",
    ),
    below: Limits::likely(Model, "an agent below the agent has nothing under way, and says nothing", AS_A_MODEL),
    draft: |_| {
        let turns = r#"[{ bash = { command = "make", does = [{ print = "built" }] } }, { say = "Told: {answer}" }]"#;
        let fault = r#"{ tool = { nth = 1, does = "never-flips" } }"#;
        let agent = r#"{ claude = { as = "2.0.77", mode = "json" } }"#;
        let play = Play::with_fault(agent, turns, fault, BlockedOn::Bash);
        Some(Play { more: format!("args      = [\"--dangerously-skip-permissions\"]\n{}", play.more), ..play })
    },
};

pub(super) const OWES_ANSWER: Facts = Facts {
    word: "owes-answer",
    called: "hung",
    means: "a process between a host and an agent, such as an adapter, owes its host an answer, and nothing that could bring \
            one is under way",
    mechanisms: &[X2],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Tool, "the agent takes requests, and owes an answer that does not come", LONGEST_TOOL),
    below: Limits::likely(Tool, "a tool server owes the agent an answer", LONGEST_TOOL),
    draft: no_draft,
};

pub(super) const BUSY_STUCK: Facts = Facts {
    word: "busy-stuck",
    called: "hung",
    means: "an opencode server calls a session busy although that session's last answer is complete",
    mechanisms: &[E3],
    judged: &[],
    owed: Owed::Nobody,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(
        Model,
        "the agent calls its session busy, and the last answer of that session is complete",
        AS_A_MODEL,
    ),
    below: Limits::likely(
        Model,
        "an agent below the agent calls its session busy, and the last answer of that session is complete",
        AS_A_MODEL,
    ),
    draft: no_draft,
};

pub(super) const EVENT_MISSED: Facts = Facts {
    judged: &[BlockedOn::Event],
    ..Facts::state(
        "event-missed",
        Owed::Peer,
        "hung, a guess",
        "a client waits for events of an opencode server, which says that nothing is under way",
    )
    .naming(&[E1])
};

/// A tool server that takes a call and does not answer it.
fn tool_server() -> Play {
    let turns = r#"[{ permit = { tool = "mcp__db__query", permission = "mcp" } }, { say = "Told: {answer}" }]"#;
    let server = r#"{ output = "3 rows", fault = { at = "call", does = "stall" } }"#;
    Play {
        agent: r#"{ claude = { as = "2.0.77", mode = "json" } }"#.to_owned(),
        more: format!(
            "args      = [\"--allowedTools\", \"mcp__db__query\"]\nturns     = {turns}\ntool-server = {server}\n"
        ),
        terminal: Terminal::Null,
        hung: BlockedOn::Tool,
        control: r#""tool-server.fault.does" = { pause = "1s" }"#.to_owned(),
    }
}
