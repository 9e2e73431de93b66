//! The opencode companion's strategies: the watcher of a prompt, the healer of jobs, the monitor that reports.
//!
//! Invariant: nothing here tells the server's session to stop, apart from a person's `cancel`; what a version got wrong
//! is marked `Defect`, with the letter that the seed's list gives it.
//!
//! # The agreement with the stage
//!
//! All of them send the prompt themselves. `time.created` and `time.completed` of messages are virtual milliseconds,
//! unchanged, so that a healer can compare them with its own clock.
//!
//! `heal` and `monitor` play a background task: a job in a store, and a worker process that owns the prompt's
//! POST. The worker takes the job if the first [`crate::ProtocolAct::LookAtWorker`] is answered with `Worker(true)`;
//! with `Worker(false)` (it never starts) the job stays queued and no prompt is sent. When the worker dies, the
//! stage says [`crate::ProtocolSeen::WorkerDied`]: its requests are cancelled, as the kernel would close its sockets, and
//! nothing else changes, since no one notices before they look. From then on looks say `Worker(false)`. The plain
//! watchers run in the caller's own process: a worker's fault does not touch them.
//!
//! A person's commands come as [`crate::ProtocolSeen::Command`]: `heal`, `heal --dry-run`, `status`, `result`,
//! `cancel`; what they print comes out as [`crate::Act::Say`], in JSON.

mod errors;
pub mod heal;
pub mod job;
mod message;
pub mod monitor;
#[cfg(test)]
pub(crate) mod tests;
pub mod watcher;

use crate::entry::Value;
use crate::{Entry, Param, Params, Seat, Strategy, Wire};
use heal::Companion;
use monitor::Monitor;
use rehang_words::Span;
use std::collections::BTreeMap;
use watcher::{STREAM_STALL, SendPrompt};

/// All of the companion's strategies.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "watcher@pr2",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 2 (c378dfdf), 2.1",
        summary: "polls the last message for a completion, up to 30 min, and for nothing else; a failed POST ends it at once",
        speaks: &[Wire::OpencodeHttp],
        params: &[POLL, PROMPT_TIMEOUT_PR2],
        build: |params| watcher(Version::Pr2, params),
    },
    Entry {
        name: "watcher@pr3",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 3 (deb34193), 2.1",
        summary: "polls the last message: a running bash without a child at 3 polls, or 15 min of one signature, abort",
        speaks: &[Wire::OpencodeHttp],
        params: &[IDLE_PR3, MISSES, POLL, PROMPT_TIMEOUT],
        build: |params| watcher(Version::Pr3, params),
    },
    Entry {
        name: "watcher@pr5",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 5 (180151a6), 2.1",
        summary: "as pr3, but idle for 1 h, and never while the server has any child; takes a completion without finish",
        speaks: &[Wire::OpencodeHttp],
        params: &[IDLE_PR5, MISSES, POLL, PROMPT_TIMEOUT, TERMINAL],
        build: |params| watcher(Version::Pr5, params),
    },
    Entry {
        name: "watcher@desc",
        seat: Seat::Outside,
        origin: "bhaswata08/opencode-plugin-cc (20b27466), 2.1",
        summary: "as pr5, idle for 10 min with at most 2 extensions; also ends on an empty message of 90 s and on quota prose",
        speaks: &[Wire::OpencodeHttp],
        params: &[IDLE_DESC, MISSES, POLL, PROMPT_TIMEOUT, TERMINAL],
        build: |params| watcher(Version::Desc, params),
    },
    Entry {
        name: "heal@pr3",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 3 (deb34193), autoHealJob, 2.2",
        summary: "on command: a finished message completes the job, a dead worker and 60 s of silence fail it",
        speaks: &[Wire::OpencodeHttp],
        params: &[WORKER, PROMPT_TIMEOUT],
        build: |params| Box::new(Companion::new(rules(Version::Pr3, params), params.word("worker") == "watcher")),
    },
    Entry {
        name: "heal@pr5",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 5 (180151a6), autoHealJob, 2.2",
        summary: "as pr3; a server out of reach with a dead worker fails the job too, 60 s after its last update",
        speaks: &[Wire::OpencodeHttp],
        params: &[WORKER, PROMPT_TIMEOUT, TERMINAL],
        build: |params| Box::new(Companion::new(rules(Version::Pr5, params), params.word("worker") == "watcher")),
    },
    Entry {
        name: "monitor@pr3",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 3 (deb34193), monitor hook, 2.4",
        summary: "asks for the job's status each 30 s, which heals: changes, a heartbeat at 10 polls, TERMINAL=…",
        speaks: &[Wire::OpencodeHttp],
        params: &[WORKER, PROMPT_TIMEOUT, HEARTBEAT],
        build: |params| monitor(Version::Pr3, params),
    },
    Entry {
        name: "monitor@pr5",
        seat: Seat::Outside,
        origin: "tasict/opencode-plugin-cc PR 5 (180151a6), monitor hook, 2.4",
        summary: "as pr3, and gives up with TERMINAL=timeout after 120 polls, while the job runs on",
        speaks: &[Wire::OpencodeHttp],
        params: &[WORKER, PROMPT_TIMEOUT, HEARTBEAT, MAX_POLLS, TERMINAL],
        build: |params| monitor(Version::Pr5, params),
    },
];

/// The revision of the companion that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// tasict's PR 2.
    Pr2,
    /// tasict's PR 3.
    Pr3,
    /// tasict's PR 5.
    Pr5,
    /// bhaswata08's descendant of PR 5.
    Desc,
}

/// The settings of a revision. As in `Number(env) || default`, a zero means the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The revision that these are of.
    pub version: Version,
    /// Whether the prompt is watched; otherwise only the POST is sent.
    pub watches: bool,
    /// Whether a completion without a finish reason ends the prompt (no OPENCODE_STRICT_TERMINAL).
    pub lenient: bool,
    /// How long one signature may stay unchanged (OPENCODE_IDLE_TIMEOUT_MS); strictly longer aborts.
    pub idle: Span,
    /// How many polls in a row must see no child (OPENCODE_PGREP_MISS_THRESHOLD).
    pub misses: u32,
    /// The time between two polls (OPENCODE_COMPLETION_POLL_MS).
    pub poll: Span,
    /// The longest time for a prompt (OPENCODE_PROMPT_TIMEOUT_MS).
    pub prompt_timeout: Span,
}

impl Rules {
    /// The constants that it reports for an abort of this cause, in its own words.
    ///
    /// Defect h: PR 5's `config --json` and README give the idle default as 900000; the code runs with 3600000.
    pub(crate) fn reported(&self, cause: &str) -> BTreeMap<String, u64> {
        let idle = match self.version {
            Version::Pr5 if self.idle == IDLE_DEFAULT_PR5 => IDLE_DEFAULT_PR3,
            _ => self.idle,
        };
        let constants: &[(&str, u64)] = match cause {
            "idle" => &[("idle_ms", idle.as_ms()), ("poll_ms", self.poll.as_ms())],
            "bash-stuck" => &[("misses", u64::from(self.misses)), ("poll_ms", self.poll.as_ms())],
            "prompt-timeout" => &[("prompt_timeout_ms", self.prompt_timeout.as_ms())],
            "stream-stall" => &[("stream_stall_ms", STREAM_STALL.as_ms())],
            _ => &[],
        };
        constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }
}

const IDLE_DEFAULT_PR3: Span = Span::secs(900);
const IDLE_DEFAULT_PR5: Span = Span::secs(3_600);
const IDLE_DEFAULT_DESC: Span = Span::secs(600);
const MISSES_DEFAULT: u32 = 3;
const POLL_DEFAULT: Span = Span::secs(5);
const PROMPT_TIMEOUT_DEFAULT: Span = Span::hours(4);
const PROMPT_TIMEOUT_DEFAULT_PR2: Span = Span::mins(30);

const IDLE_DOC: &str = "how long one signature of the last message may stand (OPENCODE_IDLE_TIMEOUT_MS)";
const IDLE_PR3: Param = Param { name: "idle", default: Value::SpanOr(IDLE_DEFAULT_PR3), doc: IDLE_DOC };
const IDLE_PR5: Param = Param { name: "idle", default: Value::SpanOr(IDLE_DEFAULT_PR5), doc: IDLE_DOC };
const IDLE_DESC: Param = Param { name: "idle", default: Value::SpanOr(IDLE_DEFAULT_DESC), doc: IDLE_DOC };
const MISSES: Param = Param {
    name: "misses",
    default: Value::CountOr(MISSES_DEFAULT),
    doc: "polls in a row that see a running bash and no child (OPENCODE_PGREP_MISS_THRESHOLD)",
};
const POLL: Param = Param {
    name: "poll",
    default: Value::SpanOr(POLL_DEFAULT),
    doc: "between two polls (OPENCODE_COMPLETION_POLL_MS); the first comes 5 s after the prompt",
};
const PROMPT_TIMEOUT: Param = Param {
    name: "prompt_timeout",
    default: Value::SpanOr(PROMPT_TIMEOUT_DEFAULT),
    doc: "the longest prompt (OPENCODE_PROMPT_TIMEOUT_MS, 4 h since PR 3)",
};
const PROMPT_TIMEOUT_PR2: Param = Param {
    name: "prompt_timeout",
    default: Value::SpanOr(PROMPT_TIMEOUT_DEFAULT_PR2),
    doc: "the longest prompt (OPENCODE_PROMPT_TIMEOUT_MS, 30 min in PR 2)",
};
const TERMINAL: Param = Param {
    name: "terminal",
    default: Value::Word(&["lenient", "strict"]),
    doc: "strict: a completion without a finish reason is no end (OPENCODE_STRICT_TERMINAL=1)",
};
const WORKER: Param = Param {
    name: "worker",
    default: Value::Word(&["post", "watcher"]),
    doc: "what the job's worker runs: the prompt's POST alone, or the same revision's watcher with its defaults",
};
const HEARTBEAT: Param = Param {
    name: "heartbeat",
    default: Value::CountOr(monitor::HEARTBEAT_POLLS),
    doc: "unchanged polls before a heartbeat (OPENCODE_MONITOR_HEARTBEAT_POLLS)",
};
const MAX_POLLS: Param = Param {
    name: "max_polls",
    default: Value::CountOr(monitor::MAX_POLLS),
    doc: "polls before the monitor gives up (OPENCODE_MONITOR_MAX_POLLS)",
};

/// A strategy without a parameter runs with its revision's default.
fn rules(version: Version, params: &Params) -> Rules {
    let span = |name, default: Span| match params.span(name) {
        Span::ZERO => default,
        span => span,
    };
    let idle = match version {
        // PR 2 has none
        Version::Pr2 | Version::Pr3 => IDLE_DEFAULT_PR3,
        Version::Pr5 => IDLE_DEFAULT_PR5,
        Version::Desc => IDLE_DEFAULT_DESC,
    };
    let prompt_timeout = match version {
        Version::Pr2 => PROMPT_TIMEOUT_DEFAULT_PR2,
        _ => PROMPT_TIMEOUT_DEFAULT,
    };
    Rules {
        version,
        watches: true,
        lenient: !matches!(version, Version::Pr2 | Version::Pr3) && params.word("terminal") != "strict",
        idle: span("idle", idle),
        misses: match params.count("misses") {
            0 => MISSES_DEFAULT,
            misses => misses,
        },
        poll: span("poll", POLL_DEFAULT),
        prompt_timeout: span("prompt_timeout", prompt_timeout),
    }
}

fn watcher(version: Version, params: &Params) -> Box<dyn Strategy> {
    Box::new(SendPrompt::new(rules(version, params)))
}

fn monitor(version: Version, params: &Params) -> Box<dyn Strategy> {
    let companion = Companion::new(rules(version, params), params.word("worker") == "watcher");
    let max_polls = (version != Version::Pr3).then(|| params.count("max_polls"));
    Box::new(Monitor::new(companion, params.count("heartbeat"), max_polls))
}
