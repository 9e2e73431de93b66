//! Which case shows which mechanism: those that the catalogue got later, with the healthy twin of each, or why the kernel
//! does not show it.
//!
//! Invariant: each row is true. A case that is named exists and is called hung; its twin exists and is not; no mechanism
//! has two rows.

use crate::cases;
use rehang_evidence::Verdict;
use rehang_hangs::Mechanism;
use std::collections::BTreeSet;

/// What the kernel shows of a mechanism.
enum Shows {
    /// This case is called hung, and this twin of it is not.
    Hang(&'static str, &'static str),
    /// This case is called waiting on purpose, and why.
    Waits(&'static str, &'static str),
    /// Nothing of its own, and why.
    Nothing(&'static str),
}

use Shows::{Hang, Nothing, Waits};

const TABLE: [(Mechanism, Shows); 46] = [
    (Mechanism::Q4, Hang("question-on-a-server", "agent-at-a-terminal")),
    (Mechanism::Q5, Nothing("the run is over")),
    (Mechanism::P3, Hang("permission-in-a-transcript", "tool-of-a-transcript-sleeps")),
    (Mechanism::P4, Hang("host-owes-an-answer", "command-of-a-hosted-agent-sleeps")),
    (Mechanism::S2, Hang("stdin-that-its-starter-shares", "stdin-with-a-limit")),
    (Mechanism::S3, Hang("stdin-of-a-hook", "hook-sleeps")),
    (Mechanism::B3, Hang("pager", "agent-at-a-terminal")),
    (Mechanism::B4, Hang("editor", "agent-at-a-terminal")),
    (Mechanism::B11, Hang("stray-in-a-session-of-its-own", "live-child-whose-output-is-read")),
    (Mechanism::B12, Hang("fifo-open", "polling")),
    (Mechanism::C2, Hang("server-stdout-undrained", "slow-reader")),
    (Mechanism::C4, Hang("unreaped", "sleep-beside-a-child-unreaped")),
    (Mechanism::C5, Nothing("the program was never started: no process of it is left")),
    (Mechanism::C7, Nothing("what an agent has not written is in no process")),
    (Mechanism::T2, Hang("terminal-query", "agent-at-a-terminal")),
    (Mechanism::T3, Waits("agent-at-a-terminal", "a person may sit there, and what the screen shows cannot be seen")),
    (Mechanism::T4, Waits("agent-at-a-terminal", "the same; whether the key has arrived is the agent's")),
    (
        Mechanism::T5,
        Waits("agent-at-a-terminal", "the same; the terminal's mode tells only who knows what it should be"),
    ),
    (Mechanism::T6, Hang("tty-unread", "slow-reader")),
    (Mechanism::T7, Waits("model-keeps-alive", "a process that prints counts as working; its connection shows M2")),
    (Mechanism::E8, Hang("peer-silent", "server-idles")),
    (Mechanism::E9, Hang("tool-of-which-nothing-runs", "tool-sleeps")),
    (Mechanism::M5, Waits("retry", "it will try again, and says so")),
    (Mechanism::M6, Nothing("a compaction is a request like any other")),
    (Mechanism::M7, Nothing("each call is new to the kernel")),
    (Mechanism::M8, Hang("no-connection", "model-thinks")),
    (Mechanism::M9, Hang("peer-silent-on-a-kept-connection", "peer-talks")),
    (Mechanism::M10, Hang("no-connection-but-a-timer", "timer")),
    (Mechanism::X1, Waits("tool-server-is-mute", "an agent has a limit to its handshake")),
    (Mechanism::X2, Hang("tool-server-over-http-owes-an-answer", "tool-server-over-http-works")),
    (Mechanism::X3, Hang("tool-server-owes-an-answer", "tool-server-idles")),
    (Mechanism::X4, Hang("oauth-callback", "any-server-idles")),
    (Mechanism::X5, Hang("hook-never-ends", "hook-sleeps")),
    (Mechanism::X6, Waits("connecting", "the kernel gives a connection up by itself")),
    (Mechanism::X7, Hang("hook-whose-output-nobody-reads", "slow-reader")),
    (Mechanism::X8, Hang("fifo-open", "polling")),
    (Mechanism::R1, Hang("sqlite-lock", "lock-holder-works")),
    (Mechanism::R2, Hang("flock", "lock-holder-downloads")),
    (Mechanism::H2, Hang("orphaned-agent-spins", "spin")),
    (Mechanism::H3, Hang("lock-of-a-leaked-child", "lock-holder-works")),
    (Mechanism::H4, Hang("never-ends-and-ignores-term", "command-of-an-agent-has-a-timer")),
    (Mechanism::H5, Hang("no-connection", "model-thinks")),
    (Mechanism::H6, Nothing("what computes is at work until somebody knows better: the case `spin` is called so")),
    (Mechanism::H7, Hang("alive-after-its-result-by-its-input", "agent-at-a-terminal")),
    (Mechanism::F11, Nothing("a healthy run: the case `retry` is what it looks like between two tries")),
    (Mechanism::F12, Nothing("a healthy run: the case `build` is what it looks like")),
];

/// The mechanisms that issue 16 brought in: none of them may be without a row.
const NEW: &str = "Q4 Q5 P3 S2 S3 B3 B4 B11 B12 C2 C4 C5 C7 T2 T3 T4 T5 T6 T7 E8 E9 M5 M6 M7 M8 M9 M10 X1 X2 X3 X4 X5 X6 X7 \
                   X8 R1 R2 H2 H3 H4 H5 H6 H7 F11 F12";

/// Whether the table is true.
///
/// # Errors
/// The first row that is not.
pub fn is_true() -> Result<(), String> {
    let all = cases::all();
    let verdicts =
        |name: &str| all.iter().filter(|case| case.name == name).map(|case| case.verdict).collect::<Vec<_>>();
    let is = |name: &str, hung: bool| match verdicts(name).as_slice() {
        [] => Err(format!("there is no case `{name}`")),
        some if some.iter().all(|verdict| (*verdict == Verdict::Hung) == hung) => Ok(()),
        some => Err(format!("the case `{name}` is called {some:?}")),
    };
    let mut rows = BTreeSet::new();
    for (mechanism, shows) in &TABLE {
        if !rows.insert(*mechanism) {
            return Err(format!("{mechanism} has two rows"));
        }
        let row = match shows {
            Hang(case, twin) => is(case, true).and_then(|()| is(twin, false)),
            Waits(case, because) => is(case, false).and_then(|()| reason(because)),
            Nothing(because) => reason(because),
        };
        row.map_err(|why| format!("{mechanism}: {why}"))?;
    }
    match NEW.split_whitespace().find(|id| id.parse().is_ok_and(|id: Mechanism| !rows.contains(&id))) {
        Some(id) => Err(format!("{id} has no row")),
        None => Ok(()),
    }
}

fn reason(because: &str) -> Result<(), String> {
    if because.is_empty() { Err("it says no reason".to_owned()) } else { Ok(()) }
}
