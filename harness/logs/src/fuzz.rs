//! Hostile logs: one call for a fuzzer, and seeds to feed it.
//!
//! Invariant: no bytes whatever make [`one`] panic, hang or hold more than [`crate::limits`] allows; what comes out loads.

use crate::export::{LogForm, export};
use crate::{Format, Options, import};
use rehang_scenario::load;
use rehang_trace::Trace;

/// Imports the bytes as a format. Returns whether a scenario came out.
///
/// # Panics
/// If the drafted scenario does not load as itself again: that is a finding.
pub fn one(format: Format, data: &[u8]) -> bool {
    let half = data.len() / 2;
    let typescript = if format == Format::Script { data[half..].to_vec() } else { Vec::new() };
    let options = Options { format: Some(format), typescript, ..Options::default() };
    // without a given format it may be detected as another format, or as none
    let _ = import(data, &Options::default(), &mut |_| {});
    let Ok(imported) = import(data, &options, &mut |_| {}) else { return false };
    let story = &imported.story;
    assert!(story.sessions.len() <= crate::limits::SESSIONS && story.asks.len() <= crate::limits::ASKS);
    let text = imported.toml();
    let loaded = load("fuzz.toml", text.as_bytes());
    let Some(family) = loaded.family else { panic!("what was drafted does not load:\n{}\n{text}", loaded.problems) };
    assert_eq!(family.variants[0].scenario, imported.draft.scenario, "{text}");
    let value = serde_json::to_value(&imported.draft.scenario).unwrap_or_default();
    masked(&value);
    true
}

/// Each text of a scenario is masked: to mask it again changes nothing.
fn masked(value: &serde_json::Value) {
    match value {
        serde_json::Value::String(text) => {
            assert_eq!(crate::Mask::default().text(text), *text, "a secret is left over");
        }
        serde_json::Value::Array(list) => list.iter().for_each(masked),
        serde_json::Value::Object(map) => map.values().for_each(masked),
        _ => {}
    }
}

/// What the inputs of a format are made of: small logs of it. `recordings` are the repository's own.
pub fn seeds(format: Format, recordings: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let line = |text: &str| text.as_bytes().to_vec();
    match format {
        Format::Recording => recordings.to_vec(),
        Format::Claude | Format::Sdk => recordings.iter().filter_map(|r| inner(r, "msg")).collect(),
        Format::OpencodeEvents => {
            let events: Vec<Vec<u8>> = recordings.iter().filter_map(|r| inner(r, "ev")).collect();
            let sse = events.iter().map(|e| {
                String::from_utf8_lossy(e).lines().map(|l| format!("data: {l}\n\n")).collect::<String>().into_bytes()
            });
            let sse: Vec<Vec<u8>> = sse.collect();
            events.into_iter().chain(sse).collect()
        }
        Format::ClaudeTranscript => vec![line(TRANSCRIPT)],
        Format::OpencodeExport => vec![line(EXPORT)],
        Format::OpencodeRun => vec![line(RUN)],
        Format::Codex => vec![line(CODEX)],
        Format::Asciicast => vec![line(CAST), line(CAST_2)],
        Format::Script => vec![
            line("0.1 5\n0.25 12\n1.5 3\nhello\nOk to proceed? (y) "),
            line("H 0.0 START x\nO 0.5 4\nI 1 1\nO 2 9\n"),
        ],
        Format::Amp => vec![line(AMP)],
        Format::Gemini => vec![line(GEMINI)],
        Format::Pi => vec![line(PI)],
        Format::OpencodeRows => vec![line(ROWS)],
        Format::Copilot => vec![line(COPILOT)],
        Format::Plain => vec![line(PLAIN), line(WRAPPER)],
    }
}

/// The members of a recording's lines, one a line.
fn inner(recording: &[u8], key: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(recording).ok()?;
    let values = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let lines: Vec<String> = values.filter(|v| v[key].is_object()).map(|v| v[key].to_string()).collect();
    (!lines.is_empty()).then(|| lines.join("\n").into_bytes())
}

/// Writes a trace as each form of log and reads it back: exporters do not panic either.
pub fn exports(trace: &Trace) {
    for (_, form) in LogForm::NAMES {
        let mut out = Vec::new();
        let written = export(trace, form, &mut out);
        assert!(written.is_ok());
        let _ = import(out.as_slice(), &Options::default(), &mut |_| {});
    }
}

/// A small transcript of Claude Code.
pub const TRANSCRIPT: &str = r#"{"type":"summary","summary":"x","leafUuid":"a"}
{"type":"user","uuid":"1","sessionId":"s","version":"2.0.77","timestamp":"2026-11-20T12:00:00.000Z","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"2","sessionId":"s","version":"2.0.77","timestamp":"2026-11-20T12:00:03.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use"}}
{"type":"user","uuid":"3","sessionId":"s","timestamp":"2026-11-20T12:00:04.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"README.md"}]}}
{"type":"assistant","uuid":"4","sessionId":"s","timestamp":"2026-11-20T12:00:09.000Z","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","options":[{"label":"sqlite","description":""},{"label":"postgres","description":""}],"multiSelect":false}]}}],"stop_reason":"tool_use"}}
"#;

/// A small export of opencode.
pub const EXPORT: &str = r#"{
  "info": {"id": "ses_1", "version": "1.2.27", "title": "x", "time": {"created": 1795177600000, "updated": 1795177609000}},
  "messages": [
    {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1795177600000}}, "parts": [{"id": "p1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "go"}]},
    {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1795177600100}}, "parts": [
      {"id": "p2", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": "I found two.", "time": {"start": 1795177603000, "end": 1795177604000}},
      {"id": "p3", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "callID": "c1", "tool": "question", "state": {"status": "running", "input": {"questions": [{"question": "Which database?", "header": "DB", "options": [{"label": "sqlite", "description": ""}]}]}, "time": {"start": 1795177605000}}}
    ]}
  ]
}
"#;

/// A small output of `opencode run --format json`.
pub const RUN: &str = r#"{"type":"step_start","timestamp":1795177600000,"sessionID":"ses_1","part":{"id":"p1","sessionID":"ses_1","messageID":"m1","type":"step-start"}}
{"type":"tool_use","timestamp":1795177602000,"sessionID":"ses_1","part":{"id":"p2","sessionID":"ses_1","messageID":"m1","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a\n","metadata":{"exit":0},"time":{"start":1795177600500,"end":1795177602000}}}}
{"type":"step_finish","timestamp":1795177602100,"sessionID":"ses_1","part":{"id":"p3","sessionID":"ses_1","messageID":"m1","type":"step-finish","reason":"tool-calls"}}
{"type":"text","timestamp":1795177605000,"sessionID":"ses_1","part":{"id":"p4","sessionID":"ses_1","messageID":"m2","type":"text","text":"Done.","time":{"start":1795177604000,"end":1795177605000}}}
{"type":"step_finish","timestamp":1795177605100,"sessionID":"ses_1","part":{"id":"p5","sessionID":"ses_1","messageID":"m2","type":"step-finish","reason":"stop"}}
"#;

/// A small output of `codex exec --json`.
pub const CODEX: &str = r#"{"type":"thread.started","thread_id":"0199"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"look"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I look first."}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"bash -lc 'npm run dev'","aggregated_output":"","status":"in_progress"}}
"#;

/// A small asciicast v3.
pub const CAST: &str = r#"{"version":3,"term":{"cols":80,"rows":24}}
[0.5,"o","$ npx create-thing\r\n"]
[1.25,"o","\u001b[1mNeed to install the following packages:\u001b[0m\r\ncreate-thing\r\nOk to proceed? (y) "]
"#;

/// A small asciicast v2.
pub const CAST_2: &str = r#"{"version":2,"width":80,"height":24}
[0.5,"o","building\r\n"]
[9.5,"o","built\r\n"]
"#;

/// A small plain log.
pub const PLAIN: &str =
    "2026-11-20T12:00:00Z\tstarting\n2026-11-20T12:00:01Z\tconnected\n2026-11-20T12:10:00Z\tOk to proceed? (y/n)\n";

/// A small output of `amp --execute --stream-json`.
pub const AMP: &str = r#"{"type":"system","subtype":"init","cwd":"/home/agent/x","session_id":"T-2775dc92","tools":["Bash"],"mcp_servers":[]}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"parent_tool_use_id":null,"session_id":"T-2775dc92"}
{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"cmd":"npm run dev"}}],"stop_reason":"tool_use"},"parent_tool_use_id":null,"session_id":"T-2775dc92"}
"#;

/// A small output of `gemini -p --output-format stream-json`.
pub const GEMINI: &str = r#"{"type":"init","timestamp":"2026-11-20T12:00:00.000Z","session_id":"9c0e","model":"gemini-2.5-pro"}
{"type":"message","timestamp":"2026-11-20T12:00:00.100Z","role":"user","content":"go"}
{"type":"message","timestamp":"2026-11-20T12:00:02.000Z","role":"assistant","content":"I look ","delta":true}
{"type":"message","timestamp":"2026-11-20T12:00:02.100Z","role":"assistant","content":"first.","delta":true}
{"type":"tool_use","timestamp":"2026-11-20T12:00:03.000Z","tool_name":"run_shell_command","tool_id":"shell-1","parameters":{"command":"ls"}}
{"type":"tool_result","timestamp":"2026-11-20T12:00:03.500Z","tool_id":"shell-1","status":"success","output":"a"}
{"type":"message","timestamp":"2026-11-20T12:00:05.000Z","role":"assistant","content":"Done.","delta":true}
{"type":"result","timestamp":"2026-11-20T12:00:05.100Z","status":"success","stats":{"total_tokens":10,"duration_ms":5000,"tool_calls":1}}
"#;

/// A small output of `pi --mode json`.
pub const PI: &str = r#"{"type":"session","version":3,"id":"5e1f","timestamp":"2026-11-20T12:00:00.000Z","cwd":"/home/agent/x"}
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"go"}],"timestamp":1795176000000}}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"go"}],"timestamp":1795176000000}}
{"type":"message_start","message":{"role":"assistant","content":[],"timestamp":1795176001000}}
{"type":"message_update","message":{"role":"assistant","content":[],"timestamp":1795176001000},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I look."}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"npm run dev"}}],"stopReason":"toolUse","timestamp":1795176001000}}
{"type":"tool_execution_start","toolCallId":"call_1","toolName":"bash","args":{"command":"npm run dev"}}
"#;

/// A small dump of opencode's table `event`.
pub const ROWS: &str = r#"[{"id":"evt_1","aggregate_id":"ses_1","seq":0,"type":"session.created.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"ses_1\",\"version\":\"1.4.3\",\"time\":{\"created\":1795177600000}}}"},
{"id":"evt_2","aggregate_id":"ses_1","seq":1,"type":"message.updated.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"msg_1\",\"sessionID\":\"ses_1\",\"role\":\"user\",\"time\":{\"created\":1795177600100}}}"},
{"id":"evt_3","aggregate_id":"ses_1","seq":2,"type":"message.updated.1","data":"{\"sessionID\":\"ses_1\",\"info\":{\"id\":\"msg_2\",\"sessionID\":\"ses_1\",\"role\":\"assistant\",\"time\":{\"created\":1795177600200}}}"},
{"id":"evt_4","aggregate_id":"ses_1","seq":3,"type":"message.part.updated.1","data":"{\"sessionID\":\"ses_1\",\"part\":{\"id\":\"prt_1\",\"sessionID\":\"ses_1\",\"messageID\":\"msg_2\",\"type\":\"tool\",\"callID\":\"call_1\",\"tool\":\"bash\",\"state\":{\"status\":\"running\",\"input\":{\"command\":\"tail -f x\"},\"time\":{\"start\":1795177603000}}},\"time\":1795177603000}"}]
"#;

/// A small output of `copilot -p`.
pub const COPILOT: &str = "● Display the contents (shell)\n  │ cat x\n  └ 4 lines...\n\nThe file holds four lines.\n\nTotal usage est:       1 Premium request\nTotal duration (API):  16.2s\nTotal duration (wall): 18.2s\nTotal code changes:    0 lines added, 0 lines removed\n";

/// A small log of a wrapper's.
pub const WRAPPER: &str = "[2026-04-02 17:01:43] [LOOP] Starting iteration 3\n[2026-04-02 17:01:44] [AGENT] running npm test\n[2026-04-02 17:21:44] [LOOP] No output for 1200s, killing pid 41\n";

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::fuzz::mutate;

    #[test]
    fn a_thousand_broken_logs_of_each_format() {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fake-agents/tests/golden/opencode-1.2.15/03_bash_perm_once.jsonl"
        );
        let other = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fake-agents/tests/golden/claude-2.0.77/io-bash-ppt-noanswer.jsonl"
        );
        let recordings: Vec<Vec<u8>> = [golden, other].iter().map(|path| std::fs::read(path).unwrap()).collect();
        for format in Format::ALL {
            let seeds = seeds(format, &recordings);
            let files: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
            let right = (0..1_000).filter(|seed| one(format, &mutate(*seed, &files))).count();
            assert!(right > 300, "{}: {right} of 1,000 came through", format.name());
        }
    }

    #[test]
    fn what_was_found_once() {
        let part = r#"{"type":"tool","tool":"bash","callID":"c1","state":"running","time":{"start":1000,"end":2000}}"#;
        let message = format!(r#"{{"info":{{"id":"m1","role":"assistant","sessionID":"ses_1"}},"parts":[{part}]}}"#);
        let export = format!(r#"{{"info":{{"id":"ses_1"}},"messages":[{message}]}}"#);
        one(Format::OpencodeExport, export.as_bytes());
        let running = r#"{"type":"message.part.updated","properties":{"part":{"id":"p1","sessionID":"ses_1","messageID":"m1","type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{"command":"ls"}}}}}"#;
        for name in ["bash\\u0000", "\\u202e"] {
            let asked = format!(
                r#"{{"type":"permission.asked","properties":{{"id":"per_1","sessionID":"ses_1","permission":"{name}","patterns":["ls"],"tool":{{"messageID":"m1","callID":"c1"}}}}}}"#
            );
            assert!(one(Format::OpencodeEvents, format!("{running}\n{asked}\n").as_bytes()), "{name:?}");
        }
    }
}
