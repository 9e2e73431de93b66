//! The list of this persona's behaviours: each behaviour, in which releases it is played, and how it is known.
//!
//! Invariant: a behaviour that is called recorded names recordings of each of its releases in tests/golden, which the
//! fake is held to (`harness/drift/tests/recordings/gemini_golden.rs`, `fake-agents/tests/gemini_alone.rs`); everything else is read from a source or was measured.

use rehang_scenario::agents::GEMINI;

/// All behaviours, as the registry lists them.
pub fn known_behaviours() -> Vec<crate::Behaviour> {
    let all = BEHAVIOURS.iter().map(|(name, _, recorded, source)| crate::Behaviour {
        agent: GEMINI.fake(),
        name,
        recorded: *recorded,
        source,
    });
    all.collect()
}

const ALL: &[&str] = &["0.11.3", "0.29.0", "0.61.0"];
const OLDER: &[&str] = &["0.11.3", "0.29.0"];
const V11: &[&str] = &["0.11.3"];
const V29: &[&str] = &["0.29.0"];
const V61: &[&str] = &["0.61.0"];
const NEWER: &[&str] = &["0.29.0", "0.61.0"];

/// What it is, the releases that do it, whether it is recorded, and the recordings (separated by commas) or the source.
type Known = (&'static str, &'static [&'static str], bool, &'static str);

const BEHAVIOURS: &[Known] = &[
    ("-p prints what the model says, word by word", ALL, true, "print-text"),
    ("-o stream-json: init, message, tool_use, tool_result, result, key by key", ALL, true, "text, not-allowed"),
    ("-o json: one object at the end", ALL, true, "json-text"),
    (
        "headless, a tool that would ask is not registered: an error result, and the run goes on",
        ALL,
        true,
        "not-allowed",
    ),
    ("headless, ask_user is not registered", ALL, true, "question"),
    ("a stdin that gives nothing for 500 ms is given up, and the prompt runs", ALL, true, "stdin-open"),
    (
        "a stdin that has given a byte is read to its end",
        ALL,
        true,
        "scenario/stdin-first-byte, scenario/stdin-to-its-end",
    ),
    ("a command's output, exit code and group", NEWER, true, "bash-runs"),
    ("the calls of one response run one after the other", V29, true, "scenario/two-bashes"),
    ("the calls of one response run at the same time", V61, true, "scenario/two-bashes"),
    ("the results of one response's calls come together", NEWER, true, "two-calls"),
    (
        "a command's child has a pseudo-terminal: it is played as a pipe that nobody writes to",
        OLDER,
        true,
        "reads-stdin",
    ),
    ("a command's child has /dev/null as stdin", V61, true, "reads-stdin"),
    ("a command that prints nothing for 300 s is ended, and its model told", V29, true, "never-ends, reads-stdin"),
    ("a command that prints nothing for 300 s is ended, and its model told", V61, true, "never-ends"),
    ("a command that never ends is waited for without limit", V11, true, "never-ends"),
    ("a command is over when its shell is, whoever holds its terminal", OLDER, true, "background-pipe"),
    ("a command is over at the end of its pipes, whoever holds them", V61, true, "background-pipe"),
    ("the processes that a command left in its group are listed", V29, true, "scenario/leaves"),
    ("the processes that a command left in its group are listed", V11, true, "scenario/leaves-later"),
    ("a command's output and exit code, once its parser is loaded", V11, true, "scenario/bash-later"),
    ("the processes that a command left in its group are not listed", V61, true, "scenario/leaves"),
    ("a command that ignores SIGTERM is over soon after its 300 s", NEWER, true, "scenario/ignores-term"),
    ("429 and 5xx: it tries again, then gives up", ALL, true, "model-429, model-500"),
    (
        "429 and 5xx: 3 requests, 5 and 10 s apart, without chance",
        V11,
        true,
        "scenario/status-500, scenario/status-429",
    ),
    ("5xx: the same twice, 0.5 s apart", V29, true, "scenario/status-500"),
    ("429: 3 requests, 5 and 10 s apart, then exit code 1", V29, true, "scenario/status-429"),
    ("5xx: 10 requests, 5 s apart, doubled up to 30 s, without chance", V61, true, "scenario/status-500"),
    ("429: the same, with an advice", V61, true, "scenario/status-429"),
    ("400: a result that is an error, exit code 144", NEWER, true, "status-400"),
    ("an error of the API ends the run as a success", V11, true, "status-400, reset-always"),
    (
        "a cut response is asked for again: after 500 ms, at once, after 500 ms; then the run is a success",
        V11,
        true,
        "stream-cut, cut-always",
    ),
    ("a cut response is asked for again once, at once; then the run is a success", V29, true, "stream-cut, cut-always"),
    (
        "a cut response is asked for again after 1, 2 and 4 s; then an error event, exit code 0",
        V61,
        true,
        "stream-cut, cut-always",
    ),
    ("a reset stream ends the run with exit code 1", V29, true, "reset-always, scenario/reset"),
    (
        "a reset stream is asked for again after 1, 2 and 4 s, then exit code 1",
        V61,
        true,
        "reset-always, scenario/reset",
    ),
    (
        "a stream without a byte is lost (undici closes it after 300 s): 0.11.3 ends with 0, 0.29.0 with 1, 0.61.0 asks again",
        ALL,
        true,
        "stalled",
    ),
    ("a positional prompt at a terminal runs once", V11, true, "scenario/terminal-positional"),
    (
        "a positional prompt at a terminal opens a session, which waits for a key",
        NEWER,
        true,
        "scenario/terminal-positional",
    ),
    ("a positional prompt without a terminal runs once", ALL, true, "scenario/no-prompt-given"),
    ("nothing to do: exit code 1", V11, true, "scenario/no-prompt"),
    ("nothing to do: exit code 42", NEWER, true, "scenario/no-prompt"),
    ("a subagent's command needs a permission that nobody is asked for", V61, true, "subagent"),
    ("no subagents", OLDER, true, "subagent"),
    ("a session: menus and lines as text", ALL, false, "plain text instead of Ink, as fake-claude"),
    ("-p at a terminal, Ctrl-C ends it as SIGINT does", V11, true, "scenario/ctrl-c"),
    ("-p at a terminal, Ctrl-C cancels it: exit code 130", NEWER, true, "scenario/ctrl-c"),
    ("a run that is cancelled: `Operation cancelled.`", NEWER, false, "nonInteractiveCli.js, errors.js"),
    (
        "headless, SIGINT, SIGTERM and SIGHUP end it, and its commands lose their terminals",
        OLDER,
        true,
        "scenario/signal-int, scenario/signal-term, scenario/signal-hup",
    ),
    (
        "headless, SIGINT, SIGTERM and SIGHUP end it with exit code 0, and its commands go on",
        V61,
        true,
        "scenario/signal-int, scenario/signal-term, scenario/signal-hup",
    ),
    ("EPIPE on stdout: exit code 0", ALL, true, "alone/no-reader"),
    ("more turns than `maxSessionTurns`: exit code 53", ALL, true, "alone/turns, alone/turns-print, alone/turns-json"),
    ("settings that are no JSON: exit code 52", ALL, true, "alone/broken"),
    ("`--sandbox` without docker and podman: exit code 44", ALL, true, "scenario/no-sandbox"),
    ("a folder that it must not trust: exit code 55", V61, true, "scenario/untrusted"),
    ("a folder that it must not trust changes nothing without a person", OLDER, true, "scenario/untrusted"),
    ("the same call for the fifth time ends the run as a success", V11, true, "scenario/same-call-later"),
    ("the same call for the fifth time ends the run as a success", V29, true, "scenario/same-call-again"),
    (
        "the same call for the fifth time: the model is warned once, then the same",
        V61,
        true,
        "scenario/same-call-again",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_called_recorded_has_its_recording() {
        for (name, releases, _, source) in BEHAVIOURS.iter().filter(|(_, _, recorded, _)| *recorded) {
            for (release, golden) in releases.iter().flat_map(|r| source.split(", ").map(move |n| (r, n))) {
                let file = format!("tests/golden/gemini-{release}/{golden}.jsonl");
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).is_file(), "{name}: no {file}");
            }
        }
    }
}
