//! The list of this persona's behaviours: each behaviour, in which releases it is played, and how it is known.
//!
//! Invariant: `recorded` means that tests/golden holds an exchange which the fake is held to; everything else is `read`.

/// One behaviour of the persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// The behaviour in a few words.
    pub name: &'static str,
    /// The releases that it is played for.
    pub releases: &'static [&'static str],
    /// Whether recorded exchanges show it (tests/golden/codex-VERSION; `app-server/…`: codex-app-server-VERSION); otherwise it
    /// is known from the source, the documentation or an issue.
    pub recorded: bool,
    /// The recordings, separated by commas; or the source or the issue.
    pub source: &'static str,
}

/// All behaviours of the persona.
pub fn behaviours() -> &'static [Behaviour] {
    BEHAVIOURS
}

/// The same, as the registry lists them.
pub fn known_behaviours() -> Vec<crate::Behaviour> {
    let all = behaviours().iter().map(|behaviour| crate::Behaviour {
        agent: rehang_scenario::agents::CODEX.fake(),
        name: behaviour.name,
        recorded: behaviour.recorded,
        source: behaviour.source,
    });
    all.collect()
}

const V45: &str = "0.45.0";
const V58: &str = "0.58.0";
const V116: &str = "0.116.0";
const V169: &str = "0.169.0";
const ALL: &[&str] = &[V45, V58, V116, V169];
const OLD: &[&str] = &[V45, V58];
const NEW: &[&str] = &[V116, V169];

const fn recorded(name: &'static str, releases: &'static [&'static str], source: &'static str) -> Behaviour {
    Behaviour { name, releases, recorded: true, source }
}

const fn read(name: &'static str, releases: &'static [&'static str], source: &'static str) -> Behaviour {
    Behaviour { name, releases, recorded: false, source }
}

const BEHAVIOURS: &[Behaviour] = &[
    recorded("exec --json: thread, turn, items, usage, key by key", ALL, "json-text, json-bash"),
    recorded("exec: head, message and tokens on stderr, the last message on stdout", ALL, "plain-text, plain-bash"),
    recorded("a model that is in no list: a warning before the turn", &[V169], "json-text, plain-text"),
    recorded("stdin beside a prompt is not read", &[V45, V58, V116], "json-stdin-open, plain-stdin-open"),
    recorded(
        "stdin beside a prompt is read to its end before the model is asked",
        &[V169],
        "json-stdin-open, plain-stdin-open",
    ),
    recorded("stdin beside a prompt becomes a `<stdin>` block after it", &[V169], "scenario/stdin-block"),
    recorded("with `-`, stdin is the prompt, read to its end", ALL, "scenario/no-prompt-dash"),
    recorded("without a prompt, stdin is the prompt, read to its end", ALL, "scenario/no-prompt-piped"),
    recorded("no prompt: exit 1", ALL, "scenario/no-prompt"),
    recorded("the commands of one response run at the same time", &[V116], "scenario/two-lengths"),
    recorded("the commands of one response run at the same time", &[V169], "scenario/two-bashes"),
    recorded("a command is the release's own: `shell` (bash -lc)", OLD, "json-bash, plain-bash"),
    recorded(
        "a command is the release's own: `exec_command` (/bin/sh -lc, the sandbox's user's shell)",
        NEW,
        "json-bash, plain-bash",
    ),
    recorded(
        "a command's time limit: exit code 124, and what it had printed",
        OLD,
        "json-bash-limit, scenario/bash-default",
    ),
    recorded(
        "a command that runs for 10 s runs on in the background; the model is told its session",
        NEW,
        "json-bash-limit",
    ),
    recorded("at the turn's end such a command is reported as completed", &[V116], "json-bash-limit"),
    recorded("at the turn's end nothing is said of it", &[V169], "json-bash-limit"),
    recorded("a pipe that another process holds is waited for without limit", &[V45], "json-bash-held"),
    recorded("a pipe that another process holds is waited for for 2 s, stdout then stderr", &[V58], "json-bash-held"),
    recorded("a pipe that another process holds is read for 50 ms after the command's end", NEW, "json-bash-held"),
    recorded("a command's stdin is at its end", ALL, "json-bash-stdin"),
    recorded("a command's limit is 10 s if the model sets none", OLD, "scenario/bash-default"),
    recorded("a command that fails: its exit code and its output", ALL, "scenario/bash-fails"),
    recorded("a time limit ends the child alone: who holds its pipe is waited for", &[V45], "scenario/bash-group"),
    recorded("a time limit ends the child's group: nobody holds its pipe any more", &[V58], "scenario/bash-group"),
    recorded("what runs in the background is ended with the process, by SIGKILL", NEW, "scenario/background"),
    recorded("a command outside of the sandbox is refused: nobody is asked", ALL, "json-escalated"),
    recorded("a patch in a read-only sandbox is refused, in these words", ALL, "scenario/patch"),
    recorded("a question is no tool", OLD, "json-question"),
    recorded("a question is unavailable in Default mode", NEW, "json-question"),
    recorded("no subagents: the call is unsupported", OLD, "scenario/subagent"),
    read(
        "a subagent is not played: its call is unsupported",
        NEW,
        "its subagents run beside their parent: UPSTREAM.md",
    ),
    recorded("a stream that breaks is asked for again, five times", ALL, "json-cut-retried, plain-cut-retried"),
    recorded("the waits between these tries: 0.2 s, doubled", ALL, "scenario/reset-retried"),
    recorded("a stream that breaks with no try left: turn.failed, exit 1", ALL, "json-cut, plain-cut, json-unfinished"),
    recorded("5xx: four tries of the request in each of six tries of the stream", ALL, "json-500-retried"),
    recorded("5xx with no try left", ALL, "json-500, plain-500"),
    recorded("429 is tried again", OLD, "json-429-retried"),
    recorded("429 is not tried again", NEW, "json-429-retried"),
    recorded("429 with no try left", ALL, "json-429"),
    recorded("a stream without an event for 300 s is asked for again", ALL, "json-silent"),
    recorded("comments that keep a stream alive are no events", ALL, "json-keep-alive"),
    recorded("response.completed ends the response, though the connection stays open", NEW, "scenario/lingers"),
    recorded(
        "a response ends with its connection; one that stays open for 300 s is a broken one",
        OLD,
        "scenario/lingers",
    ),
    recorded("a stream that is reset breaks, in the words of its HTTP library", ALL, "scenario/reset"),
    recorded("a response that is incomplete is asked for again, as one without an end", OLD, "scenario/incomplete"),
    recorded("a response that is incomplete is asked for again, with its reason", &[V116], "scenario/incomplete"),
    recorded("a response that is incomplete fails the turn", &[V169], "scenario/incomplete"),
    recorded("resume of a session that is not there begins one", &[V45, V58, V116], "scenario/resume-unknown"),
    recorded("resume of a session that is not there: exit 1", &[V169], "scenario/resume-unknown"),
    recorded("resume --last takes no prompt: exit 2", OLD, "scenario/resume-last"),
    recorded("resume --last without an earlier session begins one", NEW, "scenario/resume-last"),
    recorded("a session is kept in a rollout file, line by line", ALL, "rollout/text, rollout/bash, rollout/in-tool"),
    recorded("what a rollout says of a failure and of an interrupt", ALL, "rollout/fails, rollout/interrupted"),
    recorded("resume of a session that is kept goes on with it, in its file", ALL, "rollout/resume"),
    recorded("resume after a kill: the call is not kept, and the model makes it again", OLD, "rollout/killed"),
    recorded("resume after a kill: the model is told that its call was aborted", NEW, "rollout/killed"),
    recorded("resume counts what was used from the session's beginning", NEW, "rollout/resume"),
    recorded("resume --last takes the last session of all", OLD, "rollout/elsewhere"),
    recorded("resume --last takes the last session of its folder", NEW, "rollout/elsewhere"),
    recorded("resume does not read stdin beside a prompt", NEW, "scenario/resume-stdin-open"),
    recorded("SIGTERM and SIGHUP end it, and its commands", OLD, "scenario/signal-term, scenario/signal-hup"),
    recorded("SIGTERM and SIGHUP end it, and its commands go on", NEW, "scenario/signal-term, scenario/signal-hup"),
    recorded("SIGINT ends it and its commands: exit code 0", &[V45, V58, V116], "scenario/signal-int"),
    recorded("SIGINT ends it and its commands: exit code 1", &[V169], "scenario/signal-int"),
    recorded(
        "app-server: threads, turns, items and usage, key by key; no request before initialize, no second one",
        NEW,
        "app-server/text, app-server/two-turns, app-server/uninitialized",
    ),
    recorded(
        "app-server: a line that is no request is passed over; a name that it does not know is refused with all it knows",
        NEW,
        "app-server/malformed",
    ),
    recorded("app-server: threads are listed, read, renamed, closed and archived", NEW, "app-server/threads"),
    recorded(
        "app-server: what a command prints once it has run for 150 ms is told as it comes",
        NEW,
        "app-server/bash, app-server/prints",
    ),
    recorded("app-server: what came before that is no part of the command's output", &[V116], "app-server/prints"),
    recorded(
        "app-server: with the policy `untrusted` the client is asked before a command, and waited for without limit",
        NEW,
        "app-server/approval-never, app-server/overrides-accept",
    ),
    recorded(
        "app-server: outside of the sandbox it is asked with `on-request`, and refused with `never`",
        NEW,
        "app-server/escalated-accept, app-server/escalated-decline, app-server/escalated-refused",
    ),
    recorded(
        "app-server: an ask that is accepted, declined, or cancelled, which interrupts the turn",
        NEW,
        "app-server/approval-accept, app-server/approval-decline, app-server/approval-cancel",
    ),
    recorded(
        "app-server: an error instead of an answer, or a word that is no answer, is a refusal",
        NEW,
        "app-server/approval-error, app-server/approval-bogus",
    ),
    recorded(
        "app-server: an empty result and null are refusals too; an answer that comes twice, late, to another id or after an \
         interrupt changes nothing",
        NEW,
        "app-server/escalated-shape, app-server/escalated-null, app-server/escalated-twice, app-server/escalated-late, \
         app-server/escalated-stray, app-server/escalated-stale",
    ),
    recorded(
        "app-server: in a sandbox that may not write, it is asked whether a file may be changed",
        NEW,
        "app-server/patch-never, app-server/patch-interrupt, app-server/patch-stale, app-server/patch-eof",
    ),
    recorded(
        "app-server: a change of a file that is accepted, refused, or answered in another way",
        &[V169],
        "app-server/patch-accept, app-server/patch-decline, app-server/patch-cancel, app-server/patch-error, \
         app-server/patch-shape, app-server/patch-twice",
    ),
    recorded(
        "app-server: a question, with a feature that is under development; an error is an answer without answers",
        NEW,
        "app-server/ask-accept, app-server/ask-decline, app-server/ask-error, app-server/ask-shape, app-server/ask-never",
    ),
    recorded(
        "app-server: it is asked whether a tool server may be called; an error is told as the user's refusal",
        &[V169],
        "app-server/mcp-accept, app-server/mcp-decline, app-server/mcp-cancel, app-server/mcp-error, app-server/mcp-never",
    ),
    recorded("app-server: a tool server is called unasked", &[V116], "app-server/mcp-accept"),
    recorded(
        "app-server: a tool server's question is passed on to the client",
        NEW,
        "app-server/elicit-accept, app-server/elicit-decline, app-server/elicit-error, app-server/elicit-never",
    ),
    read(
        "app-server: a call of a tool server is given up after 120 s, though its question is open",
        &[V116],
        "measured in virtual time: 120.0 s",
    ),
    recorded(
        "app-server: a tool of the client's own is called, and its result waited for without limit",
        NEW,
        "app-server/tool-accept, app-server/tool-decline, app-server/tool-error, app-server/tool-shape, \
         app-server/tool-never",
    ),
    recorded(
        "app-server: of two commands that are asked for, the accepted one runs at once",
        &[V116],
        "app-server/two-second, app-server/two-reversed",
    ),
    recorded(
        "app-server: of two commands that are asked for, none runs before both are decided",
        &[V169],
        "app-server/two-second, app-server/two-reversed",
    ),
    recorded(
        "app-server: an interrupt before the turn has begun is refused, and the turn goes on",
        &[V169],
        "app-server/interrupt-at-once",
    ),
    recorded(
        "app-server: an interrupt ends a turn that has just been asked for",
        &[V116],
        "app-server/interrupt-at-once",
    ),
    recorded("app-server: interrupts that come at once are answered together", NEW, "app-server/interrupt-twice"),
    recorded(
        "app-server: an interrupt of another turn is refused",
        &[V169],
        "app-server/interrupt-wrong, app-server/interrupt-unknown",
    ),
    recorded(
        "app-server: an interrupt ends what runs, whatever turn it names",
        &[V116],
        "app-server/interrupt-wrong, app-server/interrupt-unknown",
    ),
    recorded("app-server: prompts that come at once have one turn", NEW, "app-server/prompt-twice"),
    read(
        "app-server: a client that reads no more: its messages are kept, the turn goes on, and the end of stdin ends nothing",
        NEW,
        "measured of both: 2.9 MB unread, still there 15 s after its stdin's end",
    ),
    read(
        "app-server: acceptForSession: the same command is not asked for again",
        NEW,
        "codex-rs/core/src/tools/sandboxing.rs",
    ),
    recorded(
        "app-server: a thread that is taken up again says what runs, and asks again what it asks, under the same id",
        NEW,
        "app-server/stall-resume, app-server/bash-resume, app-server/approval-resume",
    ),
    recorded(
        "app-server: an interrupt ends the turn, and its command goes on",
        NEW,
        "app-server/stall-interrupt, app-server/bash-interrupt, app-server/approval-interrupt",
    ),
    recorded(
        "app-server: an interrupt for which there is no turn is never answered",
        &[V58, V116],
        "app-server/late-interrupt",
    ),
    recorded("app-server: an interrupt for which there is no turn is an error", &[V169], "app-server/late-interrupt"),
    recorded(
        "app-server: a prompt while a turn runs is said to the model with its next request; its own turn never begins",
        NEW,
        "app-server/busy, app-server/steer",
    ),
    recorded(
        "app-server: at stdin's end it leaves at once, with 0, and its commands are ended",
        NEW,
        "app-server/stall-eof, app-server/bash-eof, app-server/approval-eof, app-server/background",
    ),
    recorded(
        "app-server: SIGTERM ends it, and its commands go on",
        &[V116],
        "app-server/stall-term, app-server/bash-term, app-server/idle-term",
    ),
    recorded(
        "app-server: SIGTERM: exit code 0, and its commands are ended",
        &[V169],
        "app-server/stall-term, app-server/bash-term, app-server/idle-term",
    ),
    recorded("app-server: SIGINT ends it", NEW, "app-server/stall-int, app-server/idle-int"),
    recorded(
        "app-server: a turn that fails: systemError, its cause, and what is tried again",
        NEW,
        "app-server/fails, app-server/fails-retried, app-server/limited, app-server/cut, app-server/retried",
    ),
    recorded("app-server: a question is unavailable in Default mode", NEW, "app-server/question"),
    recorded("app-server: no threads: what begins one is an invalid request", &[V45], "app-server/text"),
    recorded(
        "app-server: conversations, told as raw events, key by key",
        OLD,
        "app-server/old-text, app-server/old-two-turns, app-server/old-bash, app-server/old-prints",
    ),
    recorded(
        "app-server: a line that is no request is passed over; one that it does not know is invalid",
        OLD,
        "app-server/old-malformed, app-server/old-uninitialized",
    ),
    recorded(
        "app-server: threads beside raw events, and no turn of them is told to be over",
        &[V58],
        "app-server/text, app-server/bash, app-server/two-turns, app-server/threads, app-server/malformed",
    ),
    recorded(
        "app-server: the client of a conversation is asked before a command, and waited for without limit",
        OLD,
        "app-server/old-approval-never, app-server/old-approval-accept, app-server/old-approval-decline",
    ),
    recorded(
        "app-server: a client of threads is asked in the words of conversations, and refused if it answers in its own",
        &[V58],
        "app-server/approval-accept, app-server/approval-cancel",
    ),
    recorded(
        "app-server: an error instead of an answer is lost, and the turn waits on",
        OLD,
        "app-server/old-approval-error",
    ),
    recorded("app-server: an answer that is no answer is a refusal", OLD, "app-server/old-approval-bogus"),
    recorded(
        "app-server: an interrupt, and an ask that is aborted, end the turn and its command",
        OLD,
        "app-server/old-bash-interrupt, app-server/old-stall-interrupt, app-server/old-approval-cancel, \
         app-server/old-approval-interrupt",
    ),
    recorded(
        "app-server: a thread that is taken up again does not say what it asks",
        &[V58],
        "app-server/approval-resume, app-server/stall-resume, app-server/bash-resume",
    ),
    recorded(
        "app-server: at stdin's end it leaves at once, with 0, and its commands are ended",
        OLD,
        "app-server/old-stall-eof, app-server/old-bash-eof, app-server/old-approval-eof",
    ),
    recorded("app-server: SIGTERM ends it", OLD, "app-server/old-stall-term, app-server/old-idle-term"),
    recorded("app-server: SIGTERM ends its commands too", &[V58], "app-server/bash-term"),
    recorded("app-server: SIGINT ends it", OLD, "app-server/old-idle-int"),
    recorded(
        "app-server: a turn that fails: an error, and its end",
        OLD,
        "app-server/old-fails, app-server/old-fails-retried, app-server/old-limited, app-server/old-cut, \
         app-server/old-retried",
    ),
    recorded("app-server: a prompt while a turn runs is no event", OLD, "app-server/old-busy, app-server/old-steer"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_called_recorded_has_its_recording() {
        for behaviour in behaviours().iter().filter(|b| b.recorded) {
            for release in behaviour.releases {
                for name in behaviour.source.split(", ") {
                    let file = match name.strip_prefix("app-server/") {
                        Some(name) => format!("tests/golden/codex-app-server-{release}/{name}.jsonl"),
                        None => format!("tests/golden/codex-{release}/{name}.jsonl"),
                    };
                    assert!(
                        Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).is_file(),
                        "{}: no {file}",
                        behaviour.name
                    );
                }
            }
        }
    }
}
