//! What goes to stdout and to the model, in the words of the releases.
//!
//! Invariant: the keys of each event are in the order in which the releases write them (tests/golden/gemini-*).

use super::calls::{Call, Failure};
use super::release::Release;
use super::shell::ShellEnd;
use rehang_wire::model::ToolCall;
use serde_json::{Value, json};

/// An error of the transport in the middle of a stream, as undici names it.
pub(super) const TERMINATED: &str = "terminated";
/// A response that ends without its reason.
pub(super) const NO_FINISH: &str = "Model stream ended without a finish reason.";
/// A response that says nothing.
pub(super) const EMPTY: &str = "Model stream ended with empty response text.";
/// What the model's server says of an error.
const SCRIPTED: &str = "scripted error";
/// A run that Ctrl-C ended.
pub(super) const CANCELLED: &str = "Operation cancelled.";
/// A model that makes the same call again and again.
pub(super) const LOOP: &str = "Loop detected, stopping execution";
/// More turns of the model than the settings allow.
pub(super) const TURNS: &str = "Reached max session turns for this session. Increase the number of turns by specifying \
                                maxSessionTurns in settings.json.";
/// The type of the error that says so.
pub(super) const TURNS_TYPE: &str = "FatalTurnLimitedError";
/// A folder that is not trusted.
pub(super) const UNTRUSTED: &str = "Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`, \
                                    set the `GEMINI_CLI_TRUST_WORKSPACE=true` environment variable, or trust this \
                                    directory in interactive mode. For more details, see https://geminicli.com/docs/cli/trusted-folders/#headless-and-automated-environments";
/// No container to run in.
pub(super) const NO_SANDBOX: &str = "GEMINI_SANDBOX is true but failed to determine command for sandbox; install docker or \
                                     podman or specify command in GEMINI_SANDBOX";
/// What it says if it is given nothing to do.
pub(super) const NO_INPUT: &str = "No input provided via stdin. Input can be provided by piping data into gemini or using \
                                   the --prompt option.";
/// What it says if nothing is asked for.
pub(super) const YOLO: &str = "YOLO mode is enabled. All tool calls will be automatically approved.";
/// Every event has a time. It is that of the recordings, since a persona knows no calendar.
const TIME: &str = "2023-11-14T00:00:00.000Z";
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

/// Counters that give ids and totals.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Counts {
    pub prompts: u32,
    /// Requests to the model.
    pub asked: u32,
    /// Responses that were whole.
    pub responses: u32,
    /// Calls, as the model numbers them.
    pub ids: u32,
    /// Calls that began.
    pub tools: u32,
    /// Subagents.
    pub sessions: u32,
}

pub(super) fn init(release: &Release) -> Value {
    json!({"type": "init", "timestamp": TIME, "session_id": SESSION, "model": release.model})
}

pub(super) fn prompt(text: &str) -> Value {
    json!({"type": "message", "timestamp": TIME, "role": "user", "content": text})
}

pub(super) fn said(text: &str) -> Value {
    json!({"type": "message", "timestamp": TIME, "role": "assistant", "content": text, "delta": true})
}

pub(super) fn warning(text: &str) -> Value {
    json!({"type": "error", "timestamp": TIME, "severity": "warning", "message": text})
}

/// What a model is told that made the same call once too often.
pub(super) fn looped(call: &ToolCall) -> String {
    format!(
        "System: Potential loop detected. Details: Repeated tool call: {} with arguments {}. Please take a step back and \
         confirm you're making forward progress. If not, take a step back, analyze your previous actions and rethink how \
         you're approaching the problem. Avoid repeating the same tool calls or responses without new results.",
        call.name, call.input
    )
}

pub(super) fn error(text: &str) -> Value {
    json!({"type": "error", "timestamp": TIME, "severity": "error", "message": text})
}

pub(super) fn tool_use(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "timestamp": TIME, "tool_name": call.name, "tool_id": call.id, "parameters": call.input})
}

pub(super) fn tool_result(call: &Call) -> Value {
    let status = if call.error.is_some() { "error" } else { "success" };
    let mut event = json!({"type": "tool_result", "timestamp": TIME, "tool_id": call.id, "status": status,
        "output": call.shown});
    if let Some(Failure { kind, message }) = &call.error {
        event["error"] = json!({"type": kind, "message": message});
    }
    event
}

pub(super) fn success(release: &Release, counts: &Counts) -> Value {
    json!({"type": "result", "timestamp": TIME, "status": "success", "stats": stats(release, counts)})
}

/// A result that is an error: its type and text, if the release says them there.
pub(super) fn failure(release: &Release, counts: &Counts, said: Option<(&str, &str)>) -> Value {
    let mut event = json!({"type": "result", "timestamp": TIME, "status": "error"});
    if let Some((kind, text)) = said {
        event["error"] = json!({"type": kind, "message": text});
    }
    event["stats"] = stats(release, counts);
    event
}

pub(super) fn cancelled(release: &Release, counts: &Counts) -> Value {
    failure(release, counts, Some(("FatalCancellationError", CANCELLED)))
}

/// The text of an error of the API: the model server's body in the release's words.
pub(super) fn api_error(release: &Release, status: u16) -> String {
    if let (429, Some(advice)) = (status, release.says_429) {
        return format!("[API Error: {SCRIPTED}]{advice}");
    }
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    let body = json!({"error": {"code": status, "message": SCRIPTED, "status": name}});
    format!("[API Error: {body}]")
}

/// The object that `-o json` prints at the end.
pub(super) fn json(release: &Release, counts: &Counts, said: &str, loops: bool) -> String {
    let mut object = json!({});
    if release.names_session {
        object["session_id"] = json!(SESSION);
    }
    object["response"] = json!(said);
    let decisions = json!({"accept": 0, "reject": 0, "modify": 0, "auto_accept": counts.tools});
    let tools = json!({"totalCalls": counts.tools, "totalSuccess": counts.tools, "totalFail": 0, "totalDurationMs": 0,
        "totalDecisions": decisions, "byName": {}});
    let files = json!({"totalLinesAdded": 0, "totalLinesRemoved": 0});
    object["stats"] = json!({"models": {}, "tools": tools, "files": files});
    if loops && release.warns_of_loop {
        object["warnings"] = json!([LOOP]);
    }
    format!("{object:#}")
}

/// The object that `-o json` prints on stderr if the run failed.
pub(super) fn json_failure(release: &Release, kind: &str, text: &str, code: u8) -> String {
    let mut object = json!({});
    if release.names_session {
        object["session_id"] = json!(SESSION);
    }
    object["error"] = json!({"type": kind, "message": text, "code": code});
    format!("{object:#}")
}

fn stats(release: &Release, counts: &Counts) -> Value {
    // The model server gives each response ten tokens in and three out.
    let (input, output) = (10 * counts.responses, 3 * counts.responses);
    let tokens = |mut value: Value| {
        if release.counts_cached {
            value["cached"] = json!(0);
            value["input"] = json!(input);
        }
        value
    };
    let of = || json!({"total_tokens": input + output, "input_tokens": input, "output_tokens": output});
    let mut all = tokens(of());
    all["duration_ms"] = json!(0);
    all["tool_calls"] = json!(counts.tools);
    if release.counts_models {
        all["models"] = json!({});
    }
    all
}

/// The lines of an output, all but the last filled up with spaces to this width.
fn padded(output: &str, width: usize) -> String {
    let Some((before, last)) = output.rsplit_once('\n') else { return output.to_owned() };
    before.lines().map(|line| format!("{line:<width$}\n")).chain([last.to_owned()]).collect()
}

/// What the model is told of a command, what a person is shown, and its error.
pub(super) fn shell(
    release: &Release,
    number: u32,
    command: &str,
    end: &ShellEnd,
) -> (String, String, Option<Failure>) {
    let output = if release.trims { end.output.trim() } else { end.output.trim_end_matches('\n') };
    let output = &padded(output, release.pads_to);
    let output = output.as_str();
    let mark = |told: String| match release.marks_untrusted {
        true => format!("<untrusted_context>\n{told}\n</untrusted_context>"),
        false => told,
    };
    if let Some(limit) = end.silent_for {
        let minutes = limit.as_ms() as f64 / 60_000.0;
        let late = format!(
            "Command was automatically cancelled because it exceeded the timeout of {minutes:.1} minutes without output."
        );
        return match output {
            "" => (mark(format!("{late} There was no output before it was cancelled.")), late, None),
            _ => {
                let told = mark(format!("{late} Below is the output before it was cancelled:\n{output}"));
                let shown = match release.shows_why {
                    true => format!("{late}\n\nOutput before cancellation:\n{output}"),
                    false => output.to_owned(),
                };
                (told, shown, None)
            }
        };
    }
    let mut lines: Vec<String> = Vec::new();
    let mut part = |name: &str, value: Option<String>, always: bool| match value {
        Some(value) => lines.push(format!("{name}: {value}")),
        None if always => lines.push(format!("{name}: (none)")),
        None => {}
    };
    let all = release.lists_all;
    if all {
        part("Command", Some(command.to_owned()), true);
        part("Directory", Some("(root)".to_owned()), true);
    }
    part("Output", Some(if output.is_empty() { "(empty)".to_owned() } else { output.to_owned() }), true);
    part("Error", end.error.clone(), all);
    part("Exit Code", end.code.filter(|code| all || *code != 0).map(|code| code.to_string()), all);
    // A pseudo-terminal reports signal 0 for a command that exits.
    part("Signal", end.signal.map(|sig| sig.to_string()).or_else(|| all.then(|| "0".to_owned())), all);
    // A persona sees no pids: each is the number of the call, and one more for what it left.
    part("Background PIDs", end.left.then(|| (number + 1).to_string()), all);
    part("Process Group PGID", end.error.is_none().then(|| number.to_string()), all);
    let told = mark(lines.join("\n"));
    let shown = match (output, end) {
        ("", ShellEnd { signal: Some(sig), .. }) => format!("Command terminated by signal: {sig}"),
        ("", ShellEnd { error: Some(error), .. }) => format!("Command failed: {error}"),
        ("", ShellEnd { code: Some(code @ 1..), .. }) => format!("Command exited with code: {code}"),
        (output, _) => output.to_owned(),
    };
    let error = end.error.as_ref().map(|error| Failure { kind: "shell_execute_error", message: error.clone() });
    (told, shown, error)
}
