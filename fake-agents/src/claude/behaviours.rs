//! The list of this persona's behaviours: each behaviour, in which releases it is played, and how it is known.
//!
//! Invariant: `recorded` means that tests/golden holds an exchange which the fake is held to; everything else is `read`.

use super::release::Release;

/// How a behaviour is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Known {
    /// A recorded exchange shows the behaviour.
    Recorded,
    /// It is known from source, documentation or an issue; no recording shows it.
    Read,
}

/// One behaviour of the persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// The behaviour in a few words.
    pub name: &'static str,
    /// The releases that it is played for.
    pub releases: &'static [Release],
    /// How it is known.
    pub known: Known,
    /// The recordings (tests/golden/claude-VERSION; `sdk/…`: claude-sdk-VERSION), separated by commas; or the source or the
    /// issue.
    pub source: &'static str,
}

/// All behaviours of the persona.
pub fn behaviours() -> Vec<Behaviour> {
    let more = super::hooks::BEHAVIOURS.iter().chain(super::tools::BEHAVIOURS).chain(OF_SDK);
    BEHAVIOURS.iter().chain(more).copied().collect()
}

/// The same, as the registry lists them.
pub fn known_behaviours() -> Vec<crate::Behaviour> {
    let all = behaviours().into_iter().map(|behaviour| crate::Behaviour {
        agent: rehang_scenario::agents::CLAUDE.fake(),
        name: behaviour.name,
        recorded: behaviour.known == Recorded,
        source: behaviour.source,
    });
    all.collect()
}

use Known::{Read, Recorded};
pub(super) use Release::{V1_0_128 as V1, V2_0_77 as V2, V2_1_329 as V21};

pub(super) const ALL: &[Release] = &[V1, V2, V21];

pub(super) const fn b(
    name: &'static str,
    releases: &'static [Release],
    known: Known,
    source: &'static str,
) -> Behaviour {
    Behaviour { name, releases, known, source }
}

const BEHAVIOURS: &[Behaviour] = &[
    b("-p prints the last text", ALL, Recorded, "text-null"),
    b(
        "stream-json out: init, assistant, user, result, key by key",
        ALL,
        Recorded,
        "ask-default-null, bash-allowed-null, bash-deny-null",
    ),
    b("stream-json in: initialize, a user message, exit on stdin's end", ALL, Recorded, "io-text-init-close"),
    b("stdin held after a result: waits for the next message", ALL, Recorded, "scenario/held-after-result"),
    b("AskUserQuestion is no tool", &[V1], Recorded, "ask-bypass-null, ask-default-null, io-ask-ppt-answer"),
    b(
        "AskUserQuestion is refused as `Answer questions?` and listed as denied",
        &[V2],
        Recorded,
        "ask-bypass-null, ask-default-null, io-ask-bypass, scenario/ask-allowed",
    ),
    b(
        "AskUserQuestion is withheld without a permission prompt tool",
        &[V21],
        Recorded,
        "ask-bypass-null, ask-default-null, io-ask-bypass",
    ),
    b(
        "AskUserQuestion goes out as can_use_tool; the answer comes in updatedInput.answers",
        &[V2, V21],
        Recorded,
        "io-ask-ppt-answer",
    ),
    b("no answers: `User has answered your questions: .`", &[V2], Recorded, "io-ask-ppt-emptyallow"),
    b("no answers: `The user did not answer the questions.`", &[V21], Recorded, "io-ask-ppt-emptyallow"),
    b("bypassPermissions asks a host its questions all the same", &[V2, V21], Recorded, "io-ask-ppt-bypass-answer"),
    b("Bash without permission is an error result and a denial", ALL, Recorded, "bash-deny-null"),
    b("system/permission_denied before a denied result", &[V21], Recorded, "bash-deny-null"),
    b("Bash with permission: output, is_error false", ALL, Recorded, "bash-allowed-null"),
    b(
        "Bash asks by can_use_tool: allow, deny with a text, no answer for ever",
        ALL,
        Recorded,
        "io-bash-ppt-allow, io-bash-ppt-deny, io-bash-ppt-noanswer",
    ),
    b(
        "interrupt of Bash: `Exit code 137`, a note, error_during_execution",
        &[V2],
        Recorded,
        "interrupt-bash, io-bash-ppt-bypass-interrupt",
    ),
    b("interrupt of Bash: no exit code, no turns counted", &[V1], Recorded, "io-bash-ppt-bypass-interrupt"),
    b(
        "interrupt of Bash: `was rejected`, with a correction; the task is stopped; is_error, exit 1",
        &[V21],
        Recorded,
        "io-bash-ppt-bypass-interrupt",
    ),
    b(
        "interrupt of a permission: control_cancel_request, response, `AbortError` or `was rejected`, a denial",
        ALL,
        Recorded,
        "io-bash-ppt-interrupt",
    ),
    b("interrupt of a question: the same", &[V2, V21], Recorded, "io-ask-ppt-bypass-interrupt"),
    b("interrupt of a response; the newest shows what it cut short", ALL, Recorded, "io-text-ppt-bypass-interrupt"),
    b("a command of the root is a task after 3 s, until it ends", &[V21], Recorded, "io-bash-ppt-bypass-long"),
    b("a lone `sleep` is refused", &[V21], Recorded, "interrupt-bash"),
    b(
        "a stream that is cut in the middle of a text: it is dropped, error_during_execution, exit 0",
        &[V1, V2],
        Recorded,
        "scenario/cut",
    ),
    b(
        "a stream that is cut in the middle of a text is asked for again as after a failure; a second time at once, as one \
         message",
        &[V21],
        Recorded,
        "scenario/cut, scenario/cut-all",
    ),
    b("a stream that is cut after a call: the call is run", &[V2], Recorded, "scenario/cut-after-call"),
    b(
        "a stream that is cut after a call: the call is run, after `Connection lost mid-response`",
        &[V21],
        Recorded,
        "scenario/cut-after-call",
    ),
    b("5xx is tried again after 0.5 s, then after 1 s", ALL, Recorded, "scenario/status-500-twice"),
    b(
        "429 and 5xx: ten retries, 0.5 s doubled to 32 s, without chance; then an API error, exit 1",
        ALL,
        Recorded,
        "scenario/status-429, scenario/status-500",
    ),
    b(
        "429 and 5xx: before them it is asked for at once, as one message",
        &[V1, V2],
        Recorded,
        "scenario/status-429, scenario/status-500",
    ),
    b(
        "a stream without a byte for 300 s is given up: the response is asked for again at once, as one message",
        ALL,
        Recorded,
        "silent-bypass-null",
    ),
    b("the same if it is silent after its finish", &[V1, V2], Recorded, "lingers-bypass-null"),
    b("a stream that is silent after its finish was a whole response", &[V21], Recorded, "lingers-bypass-null"),
    b("a stream that is reset is asked for again at once, as one message", &[V1, V2], Recorded, "reset-bypass-null"),
    b(
        "what it had called by then is run at once, and the response is not asked for again",
        &[V1, V2],
        Recorded,
        "scenario/cut-call",
    ),
    b("400 is asked for once more, as one message, and then an API error", &[V1, V2], Recorded, "scenario/status-400"),
    b(
        "what it had called by then is run, after `The response stopped arriving`",
        &[V21],
        Read,
        "Seen live and not played: it runs a call as soon as it has come, and says this 300 s later",
    ),
    b(
        "a whole message that does not come within 300 s is a request that failed",
        &[V1, V2],
        Recorded,
        "scenario/no-answer",
    ),
    b(
        "a whole message that does not come within 300 s is a request that failed",
        &[V21],
        Read,
        "measured on 2.1.329 up to its second retry, which counts to 9 here; no exchange kept",
    ),
    b("a response that comes as one message alone: no time of a first frame", &[V21], Recorded, "scenario/no-answer"),
    b(
        "system/api_retry, with the status, before a request that failed is tried again",
        &[V21],
        Recorded,
        "scenario/status-500-twice, scenario/status-429-twice",
    ),
    b("a stream that keeps itself alive is waited for without limit", ALL, Recorded, "scenario/keep-alive"),
    b("stdin beside a prompt is read to its end", &[V1, V2], Recorded, "scenario/stdin-open, scenario/stdin-hang-up"),
    b(
        "stdin beside a prompt is given up without data: after 3 s, as its warning says",
        &[V21],
        Recorded,
        "scenario/stdin-open, scenario/stdin-hang-up",
    ),
    b("bash: after 120 s it is ended, with what it had printed", &[V1], Recorded, "scenario/bash-default"),
    b("the calls of one response", ALL, Recorded, "scenario/two-bashes"),
    b(
        "bash: a command that ignores SIGTERM is over soon after its limit",
        &[V1],
        Recorded,
        "scenario/bash-limit, scenario/bash-ignores-term",
    ),
    b(
        "bash: a command that is over its limit runs on in the background, and the model is told so",
        &[V2],
        Recorded,
        "scenario/bash-default, scenario/bash-limit, scenario/bash-ignores-term, scenario/bash-silent",
    ),
    b("bash: what runs in the background goes on after the process", &[V2], Recorded, "scenario/bash-limit"),
    b("SIGTERM: exit 143, and its commands go on", &[V1, V2], Recorded, "scenario/signal-term"),
    b("SIGINT: exit 0, and its commands go on", &[V1, V2], Recorded, "scenario/signal-int"),
    b("SIGHUP: it dies of it, and its commands go on", &[V1, V2], Recorded, "scenario/signal-hup"),
    b(
        "SIGTERM and SIGHUP: its commands are ended, with their results; exit 143, 129",
        &[V21],
        Recorded,
        "scenario/signal-term, scenario/signal-hup",
    ),
    b("SIGINT: the turn is interrupted; exit 0", &[V21], Recorded, "scenario/signal-int"),
    b(
        "bash: a pipe that another process holds is waited for up to the limit",
        &[V1, V2],
        Recorded,
        "scenario/bash-held",
    ),
    b("bash: a command is over when its shell is, whoever holds its pipes", &[V21], Recorded, "scenario/bash-held"),
    b(
        "bash: a command that is over its limit runs on in the background; it stays after its result until the command \
         has ended, and asks its model again",
        &[V21],
        Recorded,
        "scenario/bash-moved, scenario/bash-moved-long",
    ),
    b(
        "bash: 120 s; what runs 10 min in the background is ended, and the model is told",
        &[V21],
        Recorded,
        "scenario/bash-moved-default",
    ),
    b("bash: the limit that the model asks for is not cut", &[V1, V2], Recorded, "scenario/bash-at-most"),
    b("bash: at most 10 min", &[V21], Recorded, "scenario/bash-at-most-moved"),
    b(
        "bash: exit code and output are an error result",
        &[V2, V21],
        Recorded,
        "scenario/bash-fails, scenario/io-bash-fails",
    ),
    b(
        "bash: the output of a failure is an error result, without its code",
        &[V1],
        Recorded,
        "scenario/bash-fails, scenario/io-bash-fails",
    ),
    b("a reply that does not fit: what its validator says of it", ALL, Recorded, "scenario/io-misfit"),
    b("a reply that is an error: `Tool permission request failed`", &[V2, V21], Recorded, "scenario/io-misfit-error"),
    b(
        "stdin's end while a permission is asked: `Tool permission stream closed`; the next one: `Stream closed`",
        ALL,
        Recorded,
        "io-bash-ppt-eof",
    ),
    b("stdin's end while a question is asked: the same", &[V2], Recorded, "io-ask-ppt-bypass-eof"),
    b("stdin's end while a question is asked ends the turn", &[V21], Recorded, "io-ask-ppt-bypass-eof"),
    b("a line that is no message ends the process with exit 1", ALL, Recorded, "scenario/io-malformed"),
    b(
        "a tool_result that no call waits for: API error 400",
        ALL,
        Read,
        "Clive, known failures; anthropics/claude-code#16712",
    ),
    b("--disallowedTools takes a tool away", ALL, Recorded, "scenario/disallowed"),
    b("dontAsk denies without asking", &[V2, V21], Recorded, "scenario/dont-ask, scenario/ask-dont-ask"),
    b(
        "subagents: their tools on the wire with parent_tool_use_id, their result",
        &[V1, V2],
        Recorded,
        "scenario/subagent",
    ),
    b("subagents: their asks on the same channel", &[V1, V2], Recorded, "scenario/subagent-ask"),
    b(
        "subagents: the tool Agent, a task with its progress, their tools with agent_id, their framed report",
        &[V21],
        Recorded,
        "scenario/subagent, scenario/subagent-plain, scenario/subagent-two",
    ),
    b("subagents: their asks on the same channel", &[V21], Recorded, "scenario/subagent-ask"),
    b("a session on a terminal: menus, Ctrl-C, Ctrl-D, hang-up, window size", ALL, Read, "plain text instead of Ink"),
    b(
        "in the background of a terminal it is stopped (SIGTTOU), with -p too",
        ALL,
        Read,
        "anthropics/claude-code#30779",
    ),
    b("EPIPE: output is dropped, the run goes on", ALL, Read, "2.0.77"),
];

/// What is known of a client of the Claude Agent SDK.
const OF_SDK: &[Behaviour] = &[
    b(
        "a tool server of the client's own: its greeting, its list and its calls by mcp_message, key by key",
        &[V2, V21],
        Recorded,
        "sdk/server-ok, sdk/server-twice, sdk/server-late, sdk/server-error, sdk/server-deny, sdk/server-sdk",
    ),
    b(
        "its greeting or its list is never answered: given up after 60 s, and begun again with the prompt, which waits",
        &[V2],
        Recorded,
        "sdk/server-begin, sdk/server-list",
    ),
    b(
        "its greeting is never answered: sent twice, for 30 s each; its list: given up after 30 s; the prompt waits",
        &[V21],
        Recorded,
        "sdk/server-begin, sdk/server-list",
    ),
    b("a call of its tool that is never answered", &[V2, V21], Recorded, "sdk/server-never"),
    b(
        "a reply to a call without a message: the call goes on, and stdin's end does not end it",
        &[V2, V21],
        Recorded,
        "sdk/server-shape",
    ),
    b(
        "an interrupt, or stdin's end, in the middle of a call",
        &[V2, V21],
        Recorded,
        "sdk/server-interrupt, sdk/server-eof",
    ),
    b(
        "a message that comes before the results of a call goes to the model with them, and has no result of its own",
        &[V2, V21],
        Recorded,
        "sdk/permission-second",
    ),
    b(
        "two questions at once have a request each, in any order of answers",
        &[V2, V21],
        Recorded,
        "sdk/both-reversed, sdk/both-second, sdk/both-interrupt",
    ),
    b(
        "an interrupt while a hook of the prompt, or of a call that has run, is awaited",
        &[V2, V21],
        Recorded,
        "sdk/prompt-interrupt, sdk/post-interrupt",
    ),
    b(
        "a callback that is told of a prompt has 30 s, and a prompt whose callback is late is blocked: a success without a turn",
        &[V21],
        Recorded,
        "sdk/prompt-never",
    ),
    b("a second initialize: refused by 2.0.77, answered by 2.1.329", &[V2, V21], Recorded, "sdk/text-init"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_called_recorded_has_its_recording() {
        for behaviour in behaviours().into_iter().filter(|b| b.known == Recorded) {
            for (release, name) in
                behaviour.releases.iter().flat_map(|r| behaviour.source.split(", ").map(move |n| (r, n)))
            {
                let (folder, name) = name.strip_prefix("sdk/").map_or(("claude", name), |name| ("claude-sdk", name));
                let file = format!("tests/golden/{folder}-{}/{name}.jsonl", release.version());
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).is_file(), "{}: no {file}", behaviour.name);
            }
        }
    }
}
