//! Logs that end in the ways that people have seen, and the verdict on each.
//!
//! These tests show: a verdict says no more than its log shows; a mechanism is named only with the log's own words.

use rehang_logs::{ImportError, Imported, Options, Said, Verdict, import};

fn read(log: &str, said: Said) -> Result<Imported, ImportError> {
    import(log.as_bytes(), &Options { said, ..Options::default() }, &mut |_| {})
}

fn imported(about: &str, log: &str) -> Imported {
    match read(log, Said::default()) {
        Ok(imported) => imported,
        Err(error) => panic!("{about}: {error}"),
    }
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"permissionMode":"default","claude_code_version":"2.1.40","timestamp":"2026-11-20T12:00:00Z"}"#;

/// A command of Claude Code's that begins, and its result.
fn command(n: u32, line: &str, told: bool) -> String {
    let at = |seconds: u32| format!("2026-11-20T12:{:02}:{:02}Z", n, seconds);
    let mut log = format!(
        r#"{{"type":"assistant","timestamp":"{}","message":{{"id":"m{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"{line}"}}}}],"stop_reason":"tool_use"}},"session_id":"s"}}
"#,
        at(2)
    );
    if told {
        log.push_str(&format!(
            r#"{{"type":"user","timestamp":"{}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"ok"}}]}},"session_id":"s"}}
"#,
            at(40)
        ));
    }
    log
}

fn result(rest: &str) -> String {
    format!(r#"{{"type":"result","session_id":"s","num_turns":1,"duration_ms":1,{rest}}}"#)
}

/// A rollout of Codex with lines of these kinds.
fn rollout(release: &str, kinds: &[&str]) -> String {
    let line = |kind: &str| match kind {
        "message" => {
            r#""response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#
        }
        "function_call" => {
            r#""response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make\"]}","call_id":"c"}"#
        }
        "task_started" => r#""event_msg","payload":{"type":"task_started","turn_id":"t"}"#,
        "task_complete" => {
            r#""event_msg","payload":{"type":"task_complete","last_agent_message":null,"error":{"message":"high demand"}}"#
        }
        _ => r#""event_msg","payload":{"type":"user_message","message":"go"}"#,
    };
    let head = format!(r#""session_meta","payload":{{"id":"x","cli_version":"{release}"}}"#);
    let all = std::iter::once(head).chain(kinds.iter().map(|kind| line(kind).to_owned()));
    all.map(|rest| format!("{{\"timestamp\":\"2026-11-20T12:00:00Z\",\"type\":{rest}}}\n")).collect()
}

/// What a log is, its text, its format, its verdict, and the mechanism that it names.
type Case = (&'static str, String, &'static str, Verdict, Option<&'static str>);

fn cases() -> Vec<Case> {
    let moved: String = (1..6).map(|n| command(n, "make", true)).collect();
    let wrapped = |line: &str| {
        let init = INIT.replace(r#","timestamp":"2026-11-20T12:00:00Z""#, "");
        let runs = command(1, "npm run dev", false).replace(r#""timestamp":"2026-11-20T12:01:02Z","#, "");
        format!(
            "[2026-04-02 17:01:43] [LOOP] iteration 3\n{init}\n{runs}[2026-04-02 17:21:44] [LOOP] {line}\n[2026-04-02 17:21:45] [LOOP] agent exited with code 143\n"
        )
    };
    let transcript = |rest: &str| {
        let line = |kind: &str, id: u32, rest: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"u{id}","sessionId":"s","version":"2.0.77","isSidechain":false,{rest}}}"#
            )
        };
        let said = r#""message":{"id":"m","content":[{"type":"text","text":"All done."}],"stop_reason":"end_turn"}"#;
        let go = line("user", 1, r#""message":{"role":"user","content":"go"}"#);
        match rest {
            "" => format!("{go}\n{}\n", line("assistant", 2, said)),
            rest => format!("{go}\n{}\n", line("user", 2, rest)),
        }
    };
    vec![
        (
            "completed",
            format!("{INIT}\n{moved}{}\n", result(r#""subtype":"success","is_error":false,"result":"x""#)),
            "claude",
            Verdict::Completed,
            None,
        ),
        (
            "failed",
            format!("{INIT}\n{}\n", result(r#""subtype":"error_during_execution","is_error":true"#)),
            "claude",
            Verdict::Failed,
            None,
        ),
        ("killed by a wall clock while it moved", format!("{INIT}\n{moved}"), "claude", Verdict::EndedOpen, None),
        (
            "killed by a wall clock in a build",
            format!("{INIT}\n{moved}{}", command(7, "cargo build", false)),
            "claude",
            Verdict::EndedOpen,
            None,
        ),
        (
            "killed by a wrapper's wall clock",
            wrapped("Claude timed out after 20 minutes").replace("npm run dev", "cargo build"),
            "claude",
            Verdict::EndedOpen,
            None,
        ),
        ("Ctrl-C at a shell", "$ agent -p go\nworking\n^C\n".into(), "plain", Verdict::Failed, None),
        (
            "an interrupt in a session",
            transcript(r#""message":{"role":"user","content":"[Request interrupted by user]"}"#),
            "claude-transcript",
            Verdict::Failed,
            None,
        ),
        ("a usage limit", "You've hit your usage limit. Try again at 5 PM.\n".into(), "plain", Verdict::Failed, None),
        ("finished and idle", transcript(""), "claude-transcript", Verdict::Completed, None),
        (
            "a rollout of a release that writes no ends: its last words",
            rollout("0.58.0", &["user_message", "message"]),
            "codex",
            Verdict::Completed,
            None,
        ),
        (
            "the same with a call at its end",
            rollout("0.58.0", &["user_message", "message", "function_call"]),
            "codex",
            Verdict::EndedOpen,
            None,
        ),
        (
            "a rollout of a release that writes ends, without one",
            rollout("0.116.0", &["task_started", "user_message", "message"]),
            "codex",
            Verdict::EndedOpen,
            None,
        ),
        (
            "a rollout whose turn has failed",
            rollout("0.169.0", &["task_started", "task_complete"]),
            "codex",
            Verdict::Failed,
            None,
        ),
        (
            "a shell that outlives the agent",
            "{\"version\":2,\"width\":80,\"height\":24}\n[0.1,\"o\",\"me@box:~$ \"]\n[1,\"o\",\"agent -p go\\r\\nDone.\\r\\n\"]\n[900,\"o\",\"me@box:~$ \"]\n".into(),
            "asciicast",
            Verdict::Completed,
            None,
        ),
        ("an error of one line", "Error: Invalid API key · Please run /login\n".into(), "plain", Verdict::Failed, None),
        (
            "a hung tool, and the wrapper that says so",
            wrapped("No output for 1200s, killing pid 41"),
            "claude",
            Verdict::Hung,
            Some("B5"),
        ),
        ("a wrapper's log of text alone", rehang_logs::read::plain::WRAPPER.into(), "plain", Verdict::Hung, None),
        (
            "events without times between a wrapper's lines: it may have moved until the last of them",
            wrapped("max runtime of 20m exceeded, stopping").replace("npm run dev", "make"),
            "claude",
            Verdict::EndedOpen,
            None,
        ),
        (
            "a prompt at the end",
            "Cloning into 'x'...\nUsername for 'https://github.com': ".into(),
            "plain",
            Verdict::EndedOpen,
            Some("B2"),
        ),
        (
            "a clock that goes on",
            format!(
                "{{\"t\":0,\"event\":{{\"type\":\"session.status\",\"properties\":{{\"sessionID\":\"ses_1\",\"status\":{{\"type\":\"busy\"}}}}}}}}\n{{\"t\":1,\"event\":{{\"type\":\"question.asked\",\"properties\":{{\"id\":\"que_1\",\"sessionID\":\"ses_1\",\"questions\":[{{\"question\":\"Which database?\",\"header\":\"DB\",\"options\":[]}}]}}}}}}\n{}",
                (1..90)
                    .map(|n| format!("{{\"t\":{},\"event\":{{\"type\":\"server.heartbeat\",\"properties\":{{}}}}}}\n", n * 10))
                    .collect::<String>()
            ),
            "opencode-events",
            Verdict::Hung,
            Some("Q1"),
        ),
        (
            "exit codes of a kill",
            "0.5\tmaking\n1.5\tstill making\n[exit 137]\n".into(),
            "plain",
            Verdict::EndedOpen,
            None,
        ),
        (
            "Codex, stopped in a command, with stderr between the lines and its last one cut",
            format!(
                "Reading additional input from stdin...\n{}2026-04-02T17:01:44.000Z ERROR codex_core::exec: a warning\n{{\"type\":\"item.upda",
                rehang_logs::read::codex::SAMPLE
            ),
            "codex",
            Verdict::EndedOpen,
            Some("B5"),
        ),
        ("Gemini CLI", rehang_logs::read::gemini::SAMPLE.into(), "gemini", Verdict::Completed, None),
        (
            "Gemini CLI, stopped in a command",
            rehang_logs::read::gemini::SAMPLE.lines().take(5).collect::<Vec<_>>().join("\n"),
            "gemini",
            Verdict::EndedOpen,
            None,
        ),
        (
            "Gemini CLI, with a quota that is over",
            format!(
                "{}\n{}\n",
                rehang_logs::read::gemini::SAMPLE.lines().next().unwrap_or_default(),
                r#"{"type":"result","timestamp":"2026-11-20T12:00:09Z","status":"error","error":{"type":"Error","message":"429 x"}}"#
            ),
            "gemini",
            Verdict::Failed,
            None,
        ),
        ("Amp, stopped in a server", rehang_logs::read::claude::AMP.into(), "amp", Verdict::EndedOpen, Some("B5")),
        ("pi, stopped in a server", rehang_logs::read::pi::SAMPLE.into(), "pi", Verdict::EndedOpen, Some("B5")),
        (
            "pi, done",
            format!("{}{}\n", rehang_logs::read::pi::SAMPLE, r#"{"type":"agent_end","messages":[]}"#),
            "pi",
            Verdict::Completed,
            None,
        ),
        ("opencode's stored events", rehang_logs::read::opencode::ROWS.into(), "opencode-rows", Verdict::EndedOpen, Some("B5")),
        ("Copilot CLI, done", rehang_logs::read::plain::COPILOT.into(), "copilot", Verdict::Completed, None),
        (
            "Copilot CLI, stopped",
            rehang_logs::read::plain::COPILOT.lines().take(5).collect::<Vec<_>>().join("\n"),
            "copilot",
            Verdict::EndedOpen,
            None,
        ),
        (
            "a pretty-printed list of events",
            r#"[
  {
    "type": "session.status",
    "properties": { "sessionID": "ses_1", "status": { "type": "busy" } }
  },
  {
    "type": "session.idle",
    "properties": { "sessionID": "ses_1" }
  }
]"#
            .into(),
            "opencode-events",
            Verdict::Completed,
            None,
        ),
        (
            "two runs in one file, the first of which was killed",
            format!(
                "{INIT}\n{}{}\n{}\n",
                command(1, "sudo ls", false),
                INIT.replace("\"s\"", "\"s2\""),
                result(r#""subtype":"success","is_error":false,"result":"x""#).replace("\"s\"", "\"s2\"")
            ),
            "claude",
            Verdict::Completed,
            None,
        ),
        (
            "two runs in one file, the last of which was killed",
            format!(
                "{INIT}\n{}\n{}\n{}",
                result(r#""subtype":"success","is_error":false,"result":"x""#),
                INIT.replace("\"s\"", "\"s2\""),
                command(1, "sudo ls", false).replace("\"s\"", "\"s2\"")
            ),
            "claude",
            Verdict::EndedOpen,
            Some("B2"),
        ),
    ]
}

#[test]
fn each_log_is_said_to_be_what_it_shows() {
    let mut wrong = Vec::new();
    for (about, log, format, verdict, mechanism) in cases() {
        let found = imported(about, &log);
        let is = (found.format.name(), found.guess.verdict, found.guess.named());
        if is != (format, verdict, mechanism) {
            wrong.push(format!("{about}: {is:?}, not {:?}: {:?}", (format, verdict, mechanism), found.guess));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_named_is_quoted() {
    for (about, words) in [
        ("a hung tool, and the wrapper that says so", "npm run dev"),
        ("a prompt at the end", "Username for 'https://github.com':"),
        ("a clock that goes on", "Which database?"),
        ("Amp, stopped in a server", "npm run dev"),
    ] {
        let log = cases().into_iter().find(|case| case.0 == about).map(|case| case.1).unwrap_or_default();
        let guess = imported(about, &log).guess;
        assert!(guess.why.iter().any(|why| why.contains(words)), "{about}: {:?}", guess.why);
    }
    let hung = imported("wrapper", &cases().into_iter().find(|c| c.0.starts_with("a hung tool")).unwrap().1).guess;
    assert!(hung.because[0].contains("No output for 1200s, killing pid 41"), "{:?}", hung.because);
}

#[test]
fn a_wrappers_lines_are_no_progress_of_what_it_runs() {
    let wrapper = imported("wrapper", rehang_logs::read::plain::WRAPPER);
    assert_eq!(wrapper.guess.silent_ms, Some(1_200_000));
    assert!(!wrapper.toml().contains("{ print = \"[LOOP] No output"), "{}", wrapper.toml());
    // it may have moved all the time: what it printed is not in the log
    let clock = "[2026-04-02 17:01:43] starting the agent\n[2026-04-02 17:31:43] timed out after 30m, killing it\n";
    assert_eq!(imported("clock", clock).guess.verdict, Verdict::EndedOpen);
}

#[test]
fn text_that_is_nobodys_log_is_refused() {
    let line = r#"{"type":"session.idle","properties":{"sessionID":"ses_1"}}"#;
    let prose = "What a server says:\n".repeat(37);
    for (text, says) in [
        ("# A plan\n\n- first\n- then?\n\nShall I go on?\n".to_owned(), "no line of it has a time"),
        ("Dear all,\n\nthe build is red again.\n".to_owned(), "no line of it has a time"),
        ("done\n".to_owned(), "no line of it has a time"),
        (format!("# Events\n{prose}{line}\n{line}\n"), "like events of an opencode server, but 2 of 40 lines fit"),
    ] {
        let refused = read(&text, Said::default());
        match refused {
            Err(error @ ImportError::Nobodys { .. }) => assert!(error.to_string().contains(says), "{error}"),
            other => panic!("{text}: {other:?}"),
        }
        let options = Options { format: Some(rehang_logs::Format::Plain), ..Options::default() };
        assert!(import(text.as_bytes(), &options, &mut |_| {}).is_ok(), "{text}");
    }
}

#[test]
fn what_the_user_says_counts() {
    let log = format!("{INIT}\n{}", command(1, "make", true));
    let of = |said| read(&log, said).unwrap().guess;
    let hung = of(Said { hung: Some(true), ..Said::default() });
    assert_eq!((hung.verdict, hung.named()), (Verdict::Hung, Some("M1")));
    let alive = of(Said { alive_after_ms: Some(1_200_000), ..Said::default() });
    assert_eq!((alive.verdict, alive.silent_ms), (Verdict::Hung, Some(1_200_000)));
    assert!(alive.because[0].contains("alive 20m after"), "{:?}", alive.because);
    assert_eq!(of(Said { hung: Some(false), ..Said::default() }).verdict, Verdict::Completed);
    assert_eq!(of(Said::default()).verdict, Verdict::EndedOpen);
}

#[test]
fn a_log_without_times_says_so() {
    let log = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n{\"type\":\"item.started\",\"item\":{\"id\":\"i\",\"type\":\"command_execution\",\"command\":\"npm run dev\"}}\n";
    let mut found = imported("codex", log);
    assert_eq!(found.guess.silent_ms, None);
    assert!(found.guess.because.iter().any(|why| why == "the log has no times"), "{:?}", found.guess.because);
    let open = rehang_logs::open::all(&found.story, &mut found.mask);
    let all = format!("{open:?} {:?} {}", found.guess, found.toml());
    assert!(open.iter().any(|open| open.contains("npm run dev")) && !all.contains("0 ms"), "{all}");
}

#[test]
fn a_draft_of_what_ended_open_says_if() {
    let log = cases().into_iter().find(|case| case.0.starts_with("killed by a wall clock while")).unwrap().1;
    let toml = imported("moved", &log).toml();
    assert!(toml.contains("If it hung: ") && toml.contains("ended-open"), "{toml}");
    assert!(toml.contains("Nothing in the log names a mechanism"), "{toml}");
}

/// A log of Codex or Gemini CLI becomes that agent, in the nearest release that is played, where its fake does what the log did.
#[test]
fn an_agent_that_runs_alone_is_drafted_as_itself() {
    let drafted = |log: &str| {
        let imported = imported("alone", log);
        let scenario = &imported.draft.scenario;
        (scenario.agent.kind().word, scenario.agent.release().map(str::to_owned), scenario.args.join(" "))
    };
    let codex = rehang_logs::read::codex::SAMPLE;
    assert_eq!(drafted(codex), ("codex", Some("0.169.0".to_owned()), String::new()));
    let rollout = r#"{"timestamp":"2026-11-20T12:00:00Z","type":"session_meta","payload":{"id":"x","cli_version":"0.104.0"}}
{"timestamp":"2026-11-20T12:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}
{"timestamp":"2026-11-20T12:00:05Z","type":"event_msg","payload":{"type":"task_complete"}}
"#;
    assert_eq!(drafted(rollout), ("codex", Some("0.58.0".to_owned()), String::new()));
    let gemini = rehang_logs::read::gemini::SAMPLE;
    let yolo = "--approval-mode yolo".to_owned();
    assert_eq!(drafted(gemini), ("gemini", Some("0.29.0".to_owned()), yolo));
    let refused = gemini.replace(
        r#""status":"success","output":"a""#,
        r#""status":"error","output":"Tool \"run_shell_command\" not found.""#,
    );
    assert_eq!(drafted(&refused), ("gemini", Some("0.29.0".to_owned()), String::new()));
    // no release of Codex that is played waits for its model without end
    let silent: String = codex.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(drafted(&silent).0, "program");
    assert_eq!(drafted("Reading additional input from stdin...\n").0, "codex");
}
