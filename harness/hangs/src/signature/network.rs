//! A model, or another peer, that sends nothing.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{Model, Tool};
use crate::Limits;
use crate::Mechanism::{E2, E8, M1, M2, M9, X2};
use crate::draft::Play;
use crate::limit::LONGEST_TOOL;
use rehang_words::BlockedOn;

/// Why a silent peer has 30 minutes.
const QUEUE: &str = "the longest wait for a first word on record is 25 minutes, in a provider's queue";

pub(super) const MODEL_SILENT: Facts = Facts {
    word: "model-silent",
    called: "waiting, hung after 30 minutes",
    means: "the model's connection has been silent for at least a minute (`--silent`), before or in the middle of an answer",
    mechanisms: &[M1, M9],
    judged: &[BlockedOn::Model],
    owed: Owed::Peer,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Model, "the model sends nothing", QUEUE),
    below: Limits::likely(Model, "the model of an agent below the agent sends nothing", QUEUE),
    // Claude Code gives up a stream without a byte after 300 s (1.0.128, 2.0.77, 2.1.329, measured): what keeps it for ever
    // are lines that only keep the stream alive
    draft: |shown| {
        Some(match shown.is_claude() {
            true => silent_model(CLAUDE, KEEP_ALIVE),
            false => silent_model(r#"{ opencode = { as = "1.2.15" } }"#, r#""stall""#),
        })
    },
};

pub(super) const PEER_KEEPALIVE: Facts = Facts {
    draft: |_| Some(silent_model(CLAUDE, KEEP_ALIVE)),
    ..Facts::state(
        "peer-keepalive",
        Owed::Peer,
        "waiting, a guess",
        "almost no data comes on the connection, as with keep-alive lines",
    )
    .naming(&[M2, X2])
};

pub(super) const PEER_SILENT: Facts = Facts {
    word: "peer-silent",
    called: "waiting, hung after 30 minutes",
    means: "a connection has been silent for at least a minute (`--silent`), or its peer has not accepted it",
    mechanisms: &[E2, E8, M9],
    // the server is idle: it is the client that waits, for an answer or an event
    judged: &[BlockedOn::Peer, BlockedOn::Post, BlockedOn::Event],
    owed: Owed::Peer,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Model, "the agent's peer sends nothing", QUEUE),
    below: Limits::likely(Tool, "the peer of a process below the agent sends nothing", LONGEST_TOOL),
    draft: no_draft,
};

pub(super) const SERVER_MUTE: Facts = Facts {
    word: "server-mute",
    called: "hung",
    means: "a server listens, and none of its threads reads what was sent to it",
    mechanisms: &[E8],
    judged: &[BlockedOn::Post],
    owed: Owed::Nobody,
    ended_by: EndedBy::OwnTimer,
    agent: Limits::likely(Tool, "the agent listens at a port, and takes nothing of what is sent to it", LONGEST_TOOL),
    below: Limits::likely(Tool, "a server below the agent takes nothing of what is sent to it", LONGEST_TOOL),
    draft: no_draft,
};

const CLAUDE: &str = r#"{ claude = { as = "2.0.77", mode = "json" } }"#;
const KEEP_ALIVE: &str = r#"{ keep-alive = "15s" }"#;

/// A model that breaks off in the middle of an answer.
fn silent_model(agent: &str, does: &str) -> Play {
    let turns = r#"[{ say = "Half of " }, { say = "an answer." }]"#;
    Play::with_fault(agent, turns, &format!("{{ model = {{ after = 1, does = {does} }} }}"), BlockedOn::Model)
}
