//! Logs of agents that are not known, logs that look like a known agent's, and logs with holes and tear-downs.
//!
//! These tests show: a run that failed is never said to have completed; what was open is named; another agent's log is not
//! said to be Claude Code's; the longest silence is told; broken logs give an error or a verdict, never a panic.

use rehang_logs::note::Kind;
use rehang_logs::{Format, Imported, Options, Verdict, import};

fn imported(about: &str, log: &str) -> Imported {
    match import(log.as_bytes(), &Options::default(), &mut |_| {}) {
        Ok(imported) => imported,
        Err(error) => panic!("{about}: {error}"),
    }
}

fn lines(all: &[&str]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

/// What a log is, its lines, its verdict, its mechanism, and words that must be quoted as open or as a reason.
type Case = (&'static str, &'static [&'static str], Verdict, Option<&'static str>, &'static str);

const CASES: &[Case] = &[
    (
        "an exit code in the result",
        &[
            r#"{"type":"assistant.message","data":{"content":"No."},"timestamp":"2027-01-02T03:04:05Z"}"#,
            r#"{"type":"result","sessionId":"s","exitCode":2}"#,
        ],
        Verdict::Failed,
        None,
        "exit code 2",
    ),
    (
        "exit code 0",
        &[
            r#"{"type":"assistant.message","data":{"content":"Done."}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ],
        Verdict::Completed,
        None,
        "",
    ),
    (
        "a result that says nothing of how it went",
        &[
            r#"{"type":"assistant.message","data":{"content":"Done."}}"#,
            r#"{"type":"result","sessionId":"s","usage":{}}"#,
        ],
        Verdict::EndedOpen,
        None,
        "neither that it went well",
    ),
    (
        "a result with a failed status",
        &[
            r#"{"event":"run.started","run_id":"r","ts":1798858800000}"#,
            r#"{"event":"run.finished","run_id":"r","status":"failed","error":{"message":"no quota"},"ts":1798858801000}"#,
        ],
        Verdict::Failed,
        None,
        "no quota",
    ),
    (
        "a run that finished",
        &[
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        ],
        Verdict::Completed,
        None,
        "",
    ),
    (
        "a run whose last event is an error",
        &[r#"{"type":"session_start","id":"s"}"#, r#"{"type":"error","message":"the key has expired"}"#],
        Verdict::Failed,
        None,
        "the key has expired",
    ),
    (
        "an error that the run went on after",
        &[
            r#"{"type":"session_start","id":"s"}"#,
            r#"{"type":"error","message":"rate limited"}"#,
            r#"{"type":"assistant","role":"assistant","content":"I go on."}"#,
        ],
        Verdict::EndedOpen,
        None,
        "",
    ),
    (
        "Cursor: a command that ended, and one that did not",
        &[
            r#"{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/x","session_id":"q","model":"Auto","permissionMode":"default"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"session_id":"q"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look."}]},"session_id":"q"}"#,
            r#"{"type":"tool_call","subtype":"started","call_id":"a","tool_call":{"readToolCall":{"args":{"path":"x"}}},"session_id":"q"}"#,
            r#"{"type":"tool_call","subtype":"completed","call_id":"a","tool_call":{"readToolCall":{"args":{"path":"x"},"result":{"success":{"content":"y"}}}},"session_id":"q"}"#,
            r#"{"type":"tool_call","subtype":"started","call_id":"b","tool_call":{"shellToolCall":{"args":{"command":"sudo ls"}}},"session_id":"q"}"#,
        ],
        Verdict::EndedOpen,
        Some("B2"),
        "sudo ls",
    ),
    (
        "Cursor, done",
        &[
            r#"{"type":"system","subtype":"init","apiKeySource":"env","cwd":"/x","session_id":"q","model":"Auto","permissionMode":"default"}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]},"session_id":"q"}"#,
            r#"{"type":"result","subtype":"success","duration_ms":5,"is_error":false,"result":"Done.","session_id":"q","request_id":"z"}"#,
        ],
        Verdict::Completed,
        None,
        "",
    ),
    (
        "an agent that names its own release in Claude Code's words",
        &[
            r#"{"type":"system","subtype":"init","session_id":"q","uuid":"u","tools":["shell"],"mcp_servers":[],"other_code_version":"0.3"}"#,
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"q","uuid":"v","num_turns":9}"#,
        ],
        Verdict::Failed,
        None,
        "error_max_turns",
    ),
    (
        "a function of a chat whose result is missing",
        &[
            r#"{"role":"user","content":"go","created_at":"2027-01-02T03:04:05Z"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"git commit\"}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"c1","content":"ok"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"shell","arguments":"{\"command\":\"git rebase -i x\"}"}}]}"#,
        ],
        Verdict::EndedOpen,
        Some("B4"),
        "git rebase -i x",
    ),
    (
        "calls in content blocks with ids of another name",
        &[
            r#"{"version":"v1","kind":"Prompt","data":{"content":[{"kind":"text","data":"go"}]}}"#,
            r#"{"version":"v1","kind":"AssistantMessage","data":{"content":[{"kind":"toolUse","data":{"toolUseId":"u1","name":"shell","input":{"command":"npx create-x"}}}]}}"#,
        ],
        Verdict::EndedOpen,
        Some("B1"),
        "npx create-x",
    ),
    (
        "the same, with its result and the last words",
        &[
            r#"{"version":"v1","kind":"AssistantMessage","data":{"content":[{"kind":"toolUse","data":{"toolUseId":"u1","name":"shell","input":{"command":"npx create-x"}}}]}}"#,
            r#"{"version":"v1","kind":"ToolResults","data":{"content":[{"kind":"toolResult","data":{"toolUseId":"u1","status":"success","content":[]}}]}}"#,
            r#"{"version":"v1","kind":"SessionEnded","data":{"status":"ok"}}"#,
        ],
        Verdict::Completed,
        None,
        "",
    ),
    (
        "a part of the run that ended, and what came after it",
        &[
            r#"{"type":"session.start","data":{"sessionId":"s"}}"#,
            r#"{"type":"task.completed","data":{"status":"completed"}}"#,
            r#"{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"bash","arguments":{"command":"npm start"}}}"#,
        ],
        Verdict::EndedOpen,
        Some("B5"),
        "npm start",
    ),
    (
        "a turn that failed, in another agent's words for it",
        &[
            r#"{"type":"turn.started"}"#,
            r#"{"type":"turn.completed","status":"failed","error":{"message":"no model"}}"#,
        ],
        Verdict::Failed,
        None,
        "no model",
    ),
    (
        "a permission that nobody gave",
        &[
            r#"{"type":"session.start","data":{"sessionId":"s"}}"#,
            r#"{"type":"permission.requested","data":{"requestId":"p1","permissionRequest":{"kind":"shell","toolCallId":"c","fullCommandText":"git push"}}}"#,
        ],
        Verdict::EndedOpen,
        Some("P1"),
        "git push",
    ),
    (
        "a permission that was given, and a command that still runs",
        &[
            r#"{"type":"session.start","data":{"sessionId":"s"}}"#,
            r#"{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"bash","arguments":{"command":"tail -f x"}}}"#,
            r#"{"type":"permission.requested","data":{"requestId":"p1","permissionRequest":{"kind":"shell","toolCallId":"c"}}}"#,
            r#"{"type":"permission.completed","data":{"requestId":"p1","result":{"kind":"approved"}}}"#,
        ],
        Verdict::EndedOpen,
        Some("B5"),
        "tail -f x",
    ),
    (
        "a prompt over JSON-RPC that was refused",
        &[
            r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"stopReason":"refusal"}}"#,
        ],
        Verdict::Failed,
        None,
        "refusal",
    ),
    (
        "a prompt over JSON-RPC that failed",
        &[
            r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal"}}"#,
        ],
        Verdict::Failed,
        None,
        "internal",
    ),
    (
        "a turn over JSON-RPC, with a permission of the same id in it",
        &[
            r#"10:00:00 -> {"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}"#,
            r#"10:00:01 <- {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"a","toolCall":{"toolCallId":"t","title":"rm x"},"options":[{"optionId":"1","kind":"allow_once"}]}}"#,
            r#"10:00:02 -> {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"1"}}}"#,
            r#"10:00:03 <- {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}"#,
            r#"10:00:04 <- {"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}"#,
        ],
        Verdict::Completed,
        None,
        "",
    ),
    (
        "an elicitation that nobody answers",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"Which region?"}}"#,
        ],
        Verdict::EndedOpen,
        Some("Q1"),
        "Which region?",
    ),
    (
        "a command approval of an app server without a version of JSON-RPC",
        &[
            r#"{"id":1,"method":"turn/start","params":{"threadId":"t"}}"#,
            r#"{"id":1,"result":{"turn":{"id":"u"}}}"#,
            r#"{"method":"item/started","params":{"threadId":"t","item":{"type":"commandExecution","id":"i","command":"make deploy"}}}"#,
            r#"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","itemId":"i","command":"make deploy"}}"#,
        ],
        Verdict::EndedOpen,
        Some("P3"),
        "make deploy",
    ),
    (
        "an agent's events in a logger's envelope",
        &[
            r#"{"log":"{\"type\":\"tool.started\",\"toolCallId\":\"c\",\"toolName\":\"bash\",\"args\":{\"command\":\"sudo id\"}}\n","stream":"stdout","time":"2027-01-02T03:04:05.1Z"}"#,
            r#"{"log":"{\"type\":\"heartbeat\"}\n","stream":"stdout","time":"2027-01-02T03:24:05.1Z"}"#,
        ],
        Verdict::Hung,
        Some("B2"),
        "sudo id",
    ),
    (
        "a structured log, whose last line says that it waits for a lock",
        &[
            r#"{"time":"2027-01-02T03:04:05Z","level":"INFO","msg":"starting"}"#,
            r#"{"time":"2027-01-02T03:04:06Z","level":"INFO","msg":"waiting for lock on the index"}"#,
        ],
        Verdict::EndedOpen,
        Some("R2"),
        "waiting for lock on the index",
    ),
    (
        "a klog whose tool server never comes up",
        &[
            "I0304 05:06:07.000001 77 agent.go:1] start",
            "I0304 05:06:37.000001 77 mcp.go:9] MCP: server db still connecting after 30s",
            "I0304 05:07:07.000001 77 mcp.go:9] MCP: server db still connecting after 1m0s",
        ],
        Verdict::EndedOpen,
        Some("X1"),
        "server db still connecting",
    ),
    (
        "a log-in that nobody goes through",
        &[
            "2027-01-02 03:04:05 no token found",
            "2027-01-02 03:04:06 Visit https://id.example/device and enter the code QWER-TYUI",
        ],
        Verdict::EndedOpen,
        Some("X4"),
        "QWER-TYUI",
    ),
    (
        "a run that was interrupted while it moved",
        &[
            "[10:00:00] agent: compiling a",
            "[10:00:20] agent: compiling b",
            "[10:00:21] run interrupted by user",
            "[10:00:21] bye",
        ],
        Verdict::Failed,
        None,
        "run interrupted by user",
    ),
    (
        "a run that was interrupted after a long silence",
        &["[10:00:00] agent: compiling a", "[10:19:20] received SIGINT, shutting down", "[10:19:21] bye"],
        Verdict::EndedOpen,
        None,
        "received SIGINT",
    ),
    (
        "a run whose agent was over before its job was cancelled",
        &["[10:00:00] agent started", "[10:05:00] agent exited with code 0", "[10:25:00] job was cancelled"],
        Verdict::Completed,
        None,
        "job was cancelled",
    ),
    (
        "a run that had failed before it was torn down",
        &[
            "[10:00:00] agent started",
            "[10:00:01] [ERROR] agent exited with code 3",
            "[10:00:02] [LOOP] sending SIGTERM to the rest",
        ],
        Verdict::Failed,
        None,
        "exited with code 3",
    ),
    (
        "a breaker",
        &[
            "[10:00:00] agent started",
            "[10:01:00] still the same diff",
            "[10:01:01] [WARN] circuit breaker opened: no change in 3 loops",
        ],
        Verdict::EndedOpen,
        None,
        "circuit breaker opened",
    ),
];

#[test]
fn each_log_is_said_to_be_what_it_shows() {
    let mut wrong = Vec::new();
    for (about, log, verdict, mechanism, words) in CASES {
        let mut found = imported(about, &lines(log));
        let open = rehang_logs::open::all(&found.story, &mut found.mask);
        let all = format!("{:?} {:?} {open:?}", found.guess.because, found.guess.why);
        if (found.guess.verdict, found.guess.named()) != (*verdict, *mechanism) || !all.contains(words) {
            wrong.push(format!(
                "{about}: {:?} {:?} as {}, not {:?}: {all} {:?}",
                found.guess.verdict,
                found.guess.named(),
                found.format.name(),
                (verdict, mechanism),
                found.story.took
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_agents_log_is_not_claude_codes() {
    for (about, log, ..) in CASES {
        let found = imported(about, &lines(log));
        assert_ne!(found.story.agent.kind, Kind::Claude, "{about}");
    }
    // but Claude Code's own is
    let own = lines(&[
        r#"{"type":"system","subtype":"init","session_id":"s","uuid":"u","tools":["Bash"],"mcp_servers":[],"claude_code_version":"2.1.40"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","uuid":"v","num_turns":1}"#,
    ]);
    assert_eq!(imported("own", &own).format, Format::Claude);
}

#[test]
fn a_task_that_never_ended_is_named() {
    let task = |status: &str| {
        lines(&[
            r#"{"type":"system","subtype":"init","session_id":"s","tools":["Task"],"claude_code_version":"2.1.200"}"#,
            r#"{"type":"system","subtype":"task_started","task_id":"k","tool_use_id":"t","description":"translate the docs","session_id":"s"}"#,
            status,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s"}"#,
        ])
    };
    let names = |log: &str| {
        let found = imported("task", log);
        assert_eq!(found.guess.verdict, Verdict::Completed);
        found.guess.because.iter().any(|why| why.contains("translate the docs"))
    };
    let progress = r#"{"type":"system","subtype":"task_progress","task_id":"k","session_id":"s"}"#;
    let ended =
        r#"{"type":"system","subtype":"task_notification","task_id":"k","status":"completed","session_id":"s"}"#;
    assert!(names(&task(progress)));
    assert!(!names(&task(ended)));
    // a call of another agent's that its good result leaves open
    let open = lines(&[
        r#"{"type":"tool.started","toolCallId":"c","toolName":"bash","args":{"command":"make all"}}"#,
        r#"{"type":"result","exitCode":0}"#,
    ]);
    let found = imported("open", &open);
    assert_eq!(found.guess.verdict, Verdict::Completed);
    assert!(found.guess.because.iter().any(|why| why.contains("make all")), "{:?}", found.guess.because);
}

#[test]
fn the_longest_silence_is_told_whatever_the_end() {
    let log = lines(&["10:00:00 a", "10:00:01 b", "10:07:01 c", "10:07:05 agent exited with code 0"]);
    let found = imported("silence", &log);
    assert_eq!(found.guess.verdict, Verdict::Completed);
    assert_eq!(found.story.clock.longest_ms().map(|(ms, _)| ms), Some(420_000));
    assert!(found.guess.because.iter().any(|why| why.contains("longest silence was 7m")), "{:?}", found.guess.because);
}

#[test]
fn a_hole_is_skipped_and_counted() {
    let line = "2027-01-02T03:04:05Z working\n";
    for hole in [16, 4_096, 1 << 20] {
        for (before, after) in [(line, line), ("", line), (line, ""), ("2027-01-02T03:04:05Z wor", line)] {
            let mut bytes = before.as_bytes().to_vec();
            bytes.extend(std::iter::repeat_n(0, hole));
            bytes.extend(after.as_bytes());
            let found = import(bytes.as_slice(), &Options::default(), &mut |_| {}).unwrap();
            assert_eq!((found.story.took.nul_bytes, found.story.took.holes), (hole as u64, 1), "{before:?} {after:?}");
            let told = found.guess.because.iter().any(|why| why.contains(&format!("{hole} NUL bytes")));
            assert!(told, "{:?}", found.guess.because);
        }
    }
    assert!(import(&[0; 5_000][..], &Options::default(), &mut |_| {}).is_err());
}

#[test]
fn two_clocks_in_one_log_make_no_silence() {
    let log = lines(&[
        "10:00:00 starting",
        r#"{"type":"tool.started","toolCallId":"c","toolName":"bash","args":{"command":"make"},"ts":1798858800000}"#,
        "10:00:02 x",
    ]);
    let found = imported("two clocks", &log);
    assert!(found.guess.silent_ms.is_some_and(|ms| ms <= 2_000), "{:?}", found.guess.silent_ms);
    assert_ne!(found.guess.verdict, Verdict::Hung);
}

#[test]
fn hostile_logs_give_an_error_or_a_verdict() {
    let deep = |n: usize| format!("{}{}", r#"{"type":"tool","id":"x","content":["#.repeat(n), "]}".repeat(n));
    let ids = r#"{"type":"tool.started","toolCallId":"x","args":{"command":"y"}}"#;
    let many: String = (0..5_000).map(|n| ids.replace("\"x\"", &format!("\"{n}\"")) + "\n").collect();
    let requests: String = (0..5_000)
        .map(|n| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"session/request_permission\",\"params\":{{}}}}\n")
        })
        .collect();
    let sessions: String =
        (0..2_000).map(|n| format!("{{\"type\":\"turn.text\",\"sessionId\":\"{n}\",\"text\":\"a\"}}\n")).collect();
    let logs = [
        deep(20),
        deep(5_000),
        "[".repeat(100_000),
        many,
        requests,
        sessions,
        format!("{{\"type\":\"assistant.message\",\"data\":{{\"content\":\"{}\"}}}}\n", "é".repeat(2_100_000)),
        "x".repeat(5 << 20),
        r#"{"type":"user.message","content":"\ud800"}"#.to_owned(),
        r#"{"type":"result","exitCode":99999999999999999999999999}"#.to_owned(),
        r#"{"type":"result","exitCode":-9223372036854775808,"ts":1e308}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1e400,"method":"x"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{},"method":{},"params":[]}"#.to_owned(),
        r#"{"type":"tool_call","subtype":"started","call_id":"","tool_call":{"ToolCall":{"args":7}}}"#.to_owned(),
        r#"{"type":"tool","id":"a","function":{"name":"x","arguments":"{{{{"}}"#.to_owned(),
        "99999-99-99T99:99:99Z x\n9999-12-31T23:59:59.999999999999999999Z y\n0000-00-00 00:00:00 z\n".to_owned(),
        "18446744073709551615 x\n[18446744073709551615.9] y\n99999999h99999999m9999999s z\n".to_owned(),
        "9999-12-31 23:59:59-14:00 x\n1970-01-01 00:00:00+14:00 y\n".to_owned(),
        "\u{202e}\u{1b}]52;c;x\u{7} 10:00:00 x\n".to_owned(),
    ];
    for log in logs {
        for format in [None, Some(Format::Events), Some(Format::Plain), Some(Format::Claude), Some(Format::Gemini)] {
            let options = Options { format, ..Options::default() };
            if let Ok(found) = import(log.as_bytes(), &options, &mut |_| {}) {
                assert!(found.story.sessions.len() <= rehang_logs::limits::SESSIONS);
                assert!(found.story.asks.len() <= rehang_logs::limits::ASKS);
                let toml = found.toml();
                assert!(toml.len() < 1 << 20, "{} bytes", toml.len());
            }
        }
    }
}
