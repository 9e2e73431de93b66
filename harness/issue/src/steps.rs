//! The steps of a command or a tool server as a shell script or a Python program that needs no rehang.
//!
//! Invariant: a step without an equivalent is refused, never left out.

use crate::refused::Refused;
use crate::shell::quoted;
use rehang_scenario::turns::{Background, Listen, Lock, OpenFifo, Step};
use rehang_scenario::{ToolRequest, ToolServer, ToolServerDoes};

/// The steps as lines of a POSIX shell. What never ends lasts this many seconds, longer than the release is watched.
///
/// # Errors
/// A step that has no equivalent.
pub fn shell(steps: &[Step], ever: u64) -> Result<String, Refused> {
    let last = steps.len().saturating_sub(1);
    let each = steps.iter().enumerate().map(|(at, step)| one(step, ever, at == last));
    Ok(each.collect::<Result<Vec<_>, _>>()?.join("; "))
}

/// A step; the last one takes the shell's place, so that it is the process that the release started.
fn one(step: &Step, ever: u64, is_last: bool) -> Result<String, Refused> {
    let exec = if is_last { "exec " } else { "" };
    Ok(match step {
        Step::Print(line) => format!("printf '%s\\n' {}", quoted(line)),
        Step::Warn(line) => format!("printf '%s\\n' {} >&2", quoted(line)),
        Step::Prompt(text) => format!("printf %s {}", quoted(text)),
        Step::Sleep(span) => format!("sleep {}", span.as_ms().div_ceil(1_000)),
        Step::Hold => format!("{exec}sleep {ever}"),
        Step::Exit(code) => format!("exit {code}"),
        Step::Ignore(names) => format!("trap '' {}", names.join(" ")),
        Step::ReadStdin => "read -r line".to_owned(),
        Step::ReadStdinToEnd => format!("{exec}cat >/dev/null"),
        Step::AskTty(prompt) => format!("printf %s {} >/dev/tty && read -r line </dev/tty", quoted(prompt)),
        Step::CloseOutput => "exec >&- 2>&-".to_owned(),
        // SQLite's busy handler: a nap, a try, a nap
        Step::Lock(Lock { database: true, within: None }) => "while :; do sleep 1; done".to_owned(),
        // two open files of one process exclude each other as two processes would (flock(2))
        Step::Lock(Lock { database: false, within: None }) => {
            format!("exec 8>\"$0.lock\" 9>\"$0.lock\"; flock 8; {exec}flock -w {ever} 9")
        }
        Step::OpenFifo(OpenFifo { skips: false }) => format!("mkfifo \"$0.fifo\"; {exec}cat \"$0.fifo\""),
        Step::Listen(Listen { within: None }) => format!(
            "{exec}python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); s.settimeout({ever}); s.accept()'"
        ),
        Step::Background(step) => background(step, ever)?,
        other => return Err(Refused::Step(word(other))),
    })
}

fn background(step: &Background, ever: u64) -> Result<String, Refused> {
    if step.piped {
        return Err(Refused::Step("background, piped".to_owned()));
    }
    let null = |held: Option<bool>, stream| if held == Some(false) { stream } else { "" };
    let streams = format!("{}{}", null(step.stdout, " >/dev/null"), null(step.stderr, " 2>/dev/null"));
    let inner = shell(&step.does, ever)?;
    let command = match (step.setsid, inner.strip_prefix("exec ").filter(|inner| !inner.contains(';'))) {
        (true, Some(program)) => format!("setsid {program}{streams} &"),
        (true, None) => format!("setsid sh -c {}{streams} &", quoted(&inner)),
        (false, _) => format!("({inner}){streams} &"),
    };
    // a list does not separate `&` and `;`
    Ok(if step.double_fork { format!("({command})") } else { format!("{{ {command} }}") })
}

/// The name of a step in a scenario.
fn word(step: &Step) -> String {
    match serde_json::to_value(step) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(map)) => map.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// A tool server over stdin and stdout, in Python: the answers of `fake-mcp`.
///
/// # Errors
/// A fault that has no equivalent.
pub fn tool_server(server: &ToolServer) -> Result<Vec<String>, Refused> {
    let mute = match &server.fault {
        None => "",
        Some(fault) if matches!(fault.does, ToolServerDoes::Mute | ToolServerDoes::Stall) => match fault.at {
            ToolRequest::Initialize => "initialize",
            ToolRequest::List => "tools/list",
            ToolRequest::Call => "tools/call",
        },
        Some(fault) => return Err(Refused::ToolServer(format!("{:?}", fault.does))),
    };
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let (name, tool, output) = (text(&server.name), text(&server.tool), text(&server.output));
    Ok(vec![
        "#!/usr/bin/env python3".to_owned(),
        "import json, sys".to_owned(),
        "for ask in map(json.loads, sys.stdin):".to_owned(),
        format!(
            "    says = {{\"initialize\": {{\"protocolVersion\": ask.get(\"params\", {{}}).get(\"protocolVersion\"), \
             \"capabilities\": {{\"tools\": {{}}}}, \"serverInfo\": {{\"name\": {name}, \"version\": \"1\"}}}}, \"ping\": {{}}, \
             \"tools/list\": {{\"tools\": [{{\"name\": {tool}, \"inputSchema\": {{\"type\": \"object\", \"properties\": {{}}}}}}]}}, \
             \"tools/call\": {{\"content\": [{{\"type\": \"text\", \"text\": {output}}}]}}}}.get(ask.get(\"method\"))"
        ),
        "    says = {\"result\": says} if says is not None else {\"error\": {\"code\": -32601, \"message\": \"Method not \
         found\"}}"
            .to_owned(),
        format!(
            "    if \"id\" in ask and ask.get(\"method\") != {}: print(json.dumps({{\"jsonrpc\": \"2.0\", \"id\": ask[\"id\"], \
             **says}}), flush=True)",
            text(mute)
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(steps: serde_json::Value) -> Result<String, String> {
        let steps: Vec<Step> = serde_json::from_value(steps).expect("steps");
        shell(&steps, 90).map_err(|why| why.to_string())
    }

    #[test]
    fn steps_become_commands_of_a_shell() {
        let is = |steps, wanted: &str| assert_eq!(told(steps).as_deref(), Ok(wanted));
        is(serde_json::json!(["hold"]), "exec sleep 90");
        is(serde_json::json!([{"ignore": ["TERM"]}, "hold"]), "trap '' TERM; exec sleep 90");
        is(serde_json::json!([{"print": "it's"}]), r"printf '%s\n' 'it'\''s'");
        let daemon = serde_json::json!([{"background": {"stdout": false, "setsid": true, "double-fork": true, "does": ["hold"]}},
            {"print": "up"}]);
        is(daemon, r"(setsid sleep 90 >/dev/null &); printf '%s\n' up");
        is(
            serde_json::json!([{"background": {"does": ["hold"]}}, {"print": "up"}]),
            r"{ (exec sleep 90) & }; printf '%s\n' up",
        );
    }

    #[test]
    fn a_step_without_an_equivalent_is_named() {
        assert_eq!(told(serde_json::json!(["spin"])), Err("the step `spin` has no equivalent in a shell".to_owned()));
        let fill = told(serde_json::json!([{"fill": {"bytes": 3}}])).expect_err("refused");
        assert!(fill.contains("`fill`"), "{fill}");
    }
}
