//! The list of this persona's behaviours: each behaviour, in which releases it is played, and how it is known.
//!
//! Invariant: `recorded` means that tests/golden holds an exchange which the fake is held to; everything else is
//! `read` from source, documentation or an issue.

/// How a behaviour is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// A recorded exchange shows the behaviour.
    Recorded,
    /// It is known from source, documentation, a measurement or an issue; no recording shows it.
    Read,
}

/// One behaviour of the persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// The behaviour in a few words.
    pub name: &'static str,
    /// The releases that it is played for.
    pub releases: &'static [&'static str],
    /// How it is known.
    pub known: Known,
    /// The recording, the source or the issue.
    pub source: &'static str,
}

/// All behaviours of the persona.
pub fn behaviours() -> &'static [Behaviour] {
    BEHAVIOURS
}

/// The same, as the registry lists them.
pub fn known_behaviours() -> Vec<crate::Behaviour> {
    let all = behaviours().iter().map(|behaviour| crate::Behaviour {
        agent: rehang_scenario::agents::OPENCODE.fake(),
        name: behaviour.name,
        recorded: behaviour.known == Recorded,
        source: behaviour.source,
    });
    all.collect()
}

use Known::{Read, Recorded};

const TWO: &[&str] = &["1.2.15", "1.18.33"];
const THREE: &[&str] = &["1.2.15", "1.3.2", "1.18.33"];
const ALL: &[&str] = &["1.0.185", "1.2.15", "1.3.2", "1.18.33"];

const fn b(name: &'static str, releases: &'static [&'static str], known: Known, source: &'static str) -> Behaviour {
    Behaviour { name, releases, known, source }
}

const BEHAVIOURS: &[Behaviour] = &[
    b("a text turn: events, their order, messages", TWO, Recorded, "golden 01"),
    b("a bash call that asks, allowed once", TWO, Recorded, "golden 03"),
    b("a bash call that asks, rejected: the loop stops", TWO, Recorded, "golden 04"),
    b("a question, answered", TWO, Recorded, "golden 06"),
    b("a question, dismissed: the loop stops", TWO, Recorded, "golden 07"),
    b("abort leaves the tool running, the ask listed and the POST open", &["1.2.15"], Recorded, "golden 08, 09"),
    b(
        "abort ends the tool as an error after a quarter of a second; the ask stays listed",
        &["1.18.33"],
        Recorded,
        "golden 08, 09",
    ),
    b("a subagent's permission carries the child's id; the parent waits", TWO, Recorded, "golden 13"),
    b("a heartbeat every 10 s", TWO, Recorded, "golden 08, 09"),
    b("a stream without a finish reason is asked again", TWO, Recorded, "golden 13 (a session of another recording)"),
    b("a text ends after the calls of its response", ALL, Recorded, "golden serve_words_and_question"),
    b(
        "1.3.2 writes as 1.2.15, except for `Error: ` in front of an error",
        &["1.3.2"],
        Recorded,
        "golden serve_bash_reject",
    ),
    b("run: stdin is read to its end first", ALL, Recorded, "golden scenario/stdin-open; anomalyco/opencode#38723"),
    b("a command that fails: its exit code and its output", ALL, Recorded, "golden scenario/bash-fails"),
    b("run: a text, line by line", ALL, Recorded, "golden run-text"),
    b("run: a question hangs", &["1.2.15"], Recorded, "golden run-question; AltimateAI/altimate-code#936"),
    b(
        "run: the question tool is withheld from the root session",
        &["1.3.2", "1.18.33"],
        Recorded,
        "golden run-question",
    ),
    b("run: permissions are rejected, exit code 0", THREE, Recorded, "golden run-bash_permission"),
    b("run: a permission hangs, after a menu on stdout", &["1.0.185"], Recorded, "golden run-bash_permission"),
    b(
        "run: asks of child sessions are ignored",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden run-subagent_permission; anomalyco/opencode#36868",
    ),
    b(
        "run: asks of child sessions are rejected like the root's; a subagent whose last call failed fails",
        &["1.18.33"],
        Recorded,
        "golden run-subagent_permission",
    ),
    b(
        "one reply route, permission.updated, no question tool; a text is shown with its first word",
        &["1.0.185"],
        Recorded,
        "golden serve_words_and_question, serve_bash_once, serve_bash_reject",
    ),
    b(
        "a path that it does not have is asked of the vendor's site: without a network a 500",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden opencode-routes",
    ),
    b("a path that it does not have: 200, and its own web page", &["1.18.33"], Recorded, "golden opencode-routes"),
    b(
        "POST, PUT, PATCH and DELETE with an empty body, and a client's: status and keys",
        ALL,
        Recorded,
        "golden opencode-routes",
    ),
    b(
        "run: a stream without a byte for 300 s is asked for again, in the same message; its open text is not shown",
        &["1.18.33"],
        Recorded,
        "golden run-silent",
    ),
    b(
        "a step begins with the first word",
        ALL,
        Read,
        "as where the model's server says nothing before. Seen live and not played: its first chunk without a word begins it",
    ),
    b(
        "a silent stream is waited for without limit",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden scenario/stall, for 340 s; measured up to eleven minutes",
    ),
    b(
        "a failed model request is sent again after 2, 4, … 30 s",
        ALL,
        Recorded,
        "golden scenario/status-500-twice, up to 4 s; session/retry.ts",
    ),
    b(
        "after five retries the turn fails with the last error",
        &["1.18.33"],
        Recorded,
        "in virtual time: model-500, model-429-each-time, stream-reset-each-time; 1.18.17 too",
    ),
    b(
        "the tools of a broken stream run on after its retry; the step's end shows them as aborted",
        &["1.0.185", "1.2.15", "1.3.2"],
        Read,
        "session/processor.ts",
    ),
    b("the tools of a broken stream are stopped with it, subagents too", &["1.18.33"], Read, "session/llm.ts"),
    b("bash: 120 s, and what the model is told of it", ALL, Recorded, "golden scenario/bash-default"),
    b(
        "bash: a command that ignores SIGTERM is over soon after its limit",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden scenario/ignores-term",
    ),
    b("bash: it is over 3 s after its limit", &["1.18.33"], Recorded, "golden scenario/ignores-term"),
    b("a reply to an unknown ask: true", &["1.0.185", "1.2.15", "1.3.2"], Recorded, "golden opencode-routes"),
    b("a reply to an unknown ask: 404", &["1.18.33"], Recorded, "golden opencode-routes"),
    b("`always` reaches further asks of the session that it covers", ALL, Recorded, "golden serve_two_always"),
    b("reject reaches further asks of the session", THREE, Recorded, "golden serve_two_reject"),
    b("reject reaches no further ask of the session", &["1.0.185"], Recorded, "golden serve_two_reject"),
    b(
        "acp: initialize, authenticate, session/new, /load, /set_mode, /set_model: keys",
        ALL,
        Recorded,
        "golden acp modes, authenticate",
    ),
    b("acp: a turn as session/update: texts, the states of a call", ALL, Recorded, "golden acp text, bash"),
    b(
        "acp: a permission is asked of the editor, and waited for without limit",
        ALL,
        Recorded,
        "golden acp permission-never",
    ),
    b(
        "acp: allowed once, always; rejected by an answer, a cancelled outcome or an error",
        ALL,
        Recorded,
        "golden acp permission-*",
    ),
    b(
        "acp: session/cancel while a permission is asked for: the prompt is never answered",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden acp permission-cancel",
    ),
    b(
        "acp: session/cancel while a permission is asked for: the turn ends as cancelled",
        &["1.18.33"],
        Recorded,
        "golden acp permission-cancel",
    ),
    b(
        "acp: an option that was not offered answers nothing",
        &["1.0.185", "1.2.15", "1.3.2"],
        Recorded,
        "golden acp permission-bogus",
    ),
    b("acp: an option that was not offered is a rejection", &["1.18.33"], Recorded, "golden acp permission-bogus"),
    b(
        "acp: a permission of a subagent is asked of the editor",
        &["1.0.185"],
        Recorded,
        "golden acp subagent-permission",
    ),
    b("acp: a permission of a subagent is asked of nobody", THREE, Recorded, "golden acp subagent-permission"),
    b(
        "acp: a permission answered without an outcome is waited for without limit",
        ALL,
        Read,
        "measured by rehang conform permission/wrong-shape",
    ),
    b(
        "acp: session/cancel right after a prompt: the prompt fails",
        &["1.18.33"],
        Read,
        "measured by rehang conform cancel/at-once",
    ),
    b(
        "acp: session/cancel right after a prompt: the turn goes on",
        &["1.0.185", "1.2.15", "1.3.2"],
        Read,
        "measured by rehang conform cancel/at-once",
    ),
    b("acp: two prompts at once have one turn", ALL, Read, "measured by rehang conform prompt/twice"),
    b("acp: there is no question tool", ALL, Recorded, "golden acp question"),
    b("acp: session/cancel of a command and of a silent model", ALL, Recorded, "golden acp bash-cancel, stall-cancel"),
    b(
        "acp: stdin's end: an idle process exits with 0; a busy one closes its streams, and exits 5 s later",
        ALL,
        Recorded,
        "golden acp text, bash-eof, stall-eof, permission-eof",
    ),
    b("acp: lines that are no request, methods and sessions that there are not", ALL, Recorded, "golden acp malformed"),
    b("acp: the kinds of tools that no recording has", ALL, Read, "acp/agent.ts"),
    b(
        "abort of a command: the call has completed, and says `User aborted the command`",
        &["1.18.33"],
        Recorded,
        "golden acp bash-cancel",
    ),
    b(
        "stdin: read to its end; with PR #935 only 500 ms for the first byte",
        &["altimate 0.8.10"],
        Read,
        "AltimateAI/altimate-code#934, PR #935",
    ),
    b(
        "ledger routes, /blocker, soft abort, external results, stale parts",
        &["pawwork"],
        Read,
        "Astro-Han/pawwork 2837fabbb, dc1e9b82c, 6ab984202",
    ),
    b(
        "with the ledger: events of asks and sessions are sent again after Last-Event-ID, 2,048 of them, for 5 min",
        &["pawwork"],
        Read,
        "Astro-Han/pawwork 2837fabbb, server/event-replay.ts",
    ),
];
