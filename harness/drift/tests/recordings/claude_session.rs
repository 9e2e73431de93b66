//! `fake-claude` beyond its recordings: stdin, terminal, bash tool, subagents, model errors, shutdown.
//!
//! On the simulated kernel in virtual time; each test's name says what a release does there.

use rehang_drift::session::{Session, Setup};
use rehang_fakes::{
    agent_host::AgentHost,
    claude::{Answerer, Config, Effect, Engine, Parsed, Release, parse},
};
use rehang_os::{
    Kernel,
    os::{Exit, Read, Sig, Write},
    sim::SimKernel,
};
use rehang_scenario::{
    Canon, Fault, ModelDoes, ModelFault, Span, Terminal, ToolDoes, ToolFault, VTime,
    turns::{Background, Bash, BashTool, ChildStdin, Choice, Finish, Kills, Question, Step, Task, Turn, responses},
};
use rehang_strategy::{Act, InsideAct, InsideSeen, Seen, Strategy};
use rehang_trace::{AskEnd, Cause, Fact};
use rehang_wire::{
    claude,
    http::{self, RequestReader},
    model::{
        Api, Encoder,
        script::{Item, ModelScript, Stream, chunks},
    },
};
use serde_json::{Value, json};

const JSON: &str = "-p go --output-format stream-json --verbose";
const BOTH: &str = "-p --input-format stream-json --output-format stream-json --verbose";
const HOST: &str = "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio";

fn say(text: &str) -> Turn {
    Turn::Say(text.to_owned())
}

fn bash(asks: bool, does: Vec<Step>) -> Bash {
    let asks = asks.then(|| "bash".to_owned());
    Bash { command: "make all".to_owned(), asks, does, timeout: None, tool: BashTool::default() }
}

fn color() -> Question {
    let choice = |label: &str| Choice { label: label.to_owned(), description: String::new() };
    let options = vec![choice("Red"), choice("Blue")];
    Question { question: "Which color?".to_owned(), header: String::new(), options, multiple: false, custom: None }
}

fn ask_end(session: &Session) -> Vec<(AskEnd, Cause, String)> {
    let end = |fact: &Fact| match fact {
        Fact::AskEnded { end, cause, by, .. } => Some((*end, *cause, by.clone())),
        _ => None,
    };
    session.facts.iter().filter_map(end).collect()
}

fn prompted(version: &'static str, args: &str, turns: Vec<Turn>) -> Session {
    let mut session = Setup::new(version, args, turns, Terminal::Pipe).run();
    session.send(&claude::user("go"));
    session
}

// --- stdin ---

#[test]
fn stdin_that_never_ends_is_waited_for_without_limit() {
    for version in ["1.0.128", "2.0.77"] {
        let mut session = Setup::new(version, "-p go", vec![say("hi")], Terminal::Pipe).run();
        assert!(session.waits_for("stdin") && !session.tick(), "{version}");
        session.write("and more");
        assert!(session.waits_for("stdin"));
        session.close();
        assert_eq!((session.out.as_str(), session.exit), ("hi\n", Some(Exit::Code(0))));
    }
}

#[test]
fn the_newest_gives_stdin_up_after_three_seconds_of_nothing() {
    let mut session = Setup::new("2.1.329", "-p go", vec![say("hi")], Terminal::Pipe).run();
    assert!(session.waits_for("stdin"));
    assert!(session.tick());
    assert_eq!((session.now, session.out.as_str()), (VTime(3_000), "hi\n"));
    assert!(session.err.starts_with("Warning: no stdin data received in 3s"));
    // A first byte ends the limit, not the wait.
    let mut session = Setup::new("2.1.329", "-p go", vec![say("hi")], Terminal::Pipe).run();
    session.write("x");
    assert!(session.waits_for("stdin") && !session.tick());
}

#[test]
fn without_a_prompt_it_says_so() {
    let session = Setup::new("2.0.77", "-p", vec![say("hi")], Terminal::Null).run();
    assert!(session.err.contains("Input must be provided") && session.exit == Some(Exit::Code(1)));
}

#[test]
fn held_stdin_waits_for_the_next_message() {
    let mut session = prompted("2.0.77", BOTH, vec![say("one")]);
    assert_eq!(session.last()["result"], "one");
    assert!(session.waits_for("message") && !session.tick());
    session.close();
    assert_eq!(session.exit, Some(Exit::Code(0)));
}

#[test]
fn a_line_that_is_no_message_ends_it() {
    let mut session = prompted("2.0.77", BOTH, vec![Turn::Bash(bash(false, vec![Step::Hold]))]);
    session.write("{\"type\":\"user\",{\"type\"\n");
    assert!(session.err.starts_with("Error parsing streaming input line: {\"type\":\"user\",{"));
    assert_eq!(session.exit, Some(Exit::Code(1)));
}

// --- asks ---

#[test]
fn an_interrupt_takes_the_ask_back_first() {
    let mut session = prompted("2.0.77", HOST, vec![Turn::Ask(vec![color()]), say("never")]);
    let asked = session.asked();
    let before = session.messages().len();
    session.send(&claude::interrupt("stop"));
    let said = &session.messages()[before..];
    assert_eq!(said[0], json!({"type": "control_cancel_request", "request_id": asked}));
    assert_eq!(said[1]["response"]["request_id"], "stop");
    assert_eq!(said[2]["message"]["content"][0]["is_error"], true);
    assert_eq!(said[3]["message"]["content"][0]["text"], "[Request interrupted by user for tool use]");
    assert_eq!(said[4]["subtype"], "error_during_execution");
    assert_eq!(ask_end(&session), [(AskEnd::Rejected, Cause::Stop, "user".to_owned())]);
    // A late answer changes nothing.
    session.send(&claude::answer(&asked, &json!({}), &[("Which color?".to_owned(), "Red".to_owned())]));
    assert_eq!(session.messages().len(), before + 5);
}

/// Recorded: 6.0 s after the ask in io-notification; none in the recordings of the older two.
#[test]
fn hooks_are_told_of_an_ask_after_six_seconds() {
    for (version, told_ms) in [("1.0.128", None), ("2.0.77", None), ("2.1.329", Some(6_000))] {
        let turns = vec![Turn::Bash(bash(true, vec![])), say("never")];
        let mut session = Setup::new(version, HOST, turns, Terminal::Pipe).run();
        session.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize",
            "hooks": {"Notification": [{"matcher": null, "hookCallbackIds": ["told"]}]}}}));
        session.send(&claude::user("go"));
        assert_eq!(session.last()["request"]["subtype"], "can_use_tool", "{version}");
        let asked = session.now;
        let told = session.tick().then(|| session.now.since(asked).as_ms());
        assert_eq!(told, told_ms, "{version}");
        let request = session.last()["request"].clone();
        assert_eq!(request["subtype"] == "hook_callback", told_ms.is_some(), "{version}: {request}");
        assert!(session.waits_for("permission"), "{version}: nothing waits for the hook");
    }
}

/// Seen with a command that kept its stdin: 2.1.329 ran it, the older two did not in 9 s.
#[test]
fn a_command_of_the_settings_is_told_of_an_ask_too() {
    for version in ["1.0.128", "2.0.77", "2.1.329"] {
        let mut setup = Setup::new(version, HOST, vec![Turn::Bash(bash(true, vec![])), say("never")], Terminal::Pipe);
        let command = json!({"type": "command", "command": "fake-tool --plays '[]' -- noted"});
        let settings = json!({"hooks": {"Notification": [{"hooks": [command]}]}});
        setup.args.extend(["--settings".to_owned(), settings.to_string()]);
        let mut session = setup.run();
        session.send(&claude::user("go"));
        let before = session.messages().len();
        session.tick();
        let is_run = session.spawned.iter().skip(1).any(|line| line.contains("noted"));
        assert_eq!(is_run, version == "2.1.329", "{version}: {:?}", session.spawned);
        assert_eq!(session.messages().len(), before, "{version}: nothing is said of it");
    }
}

/// Recorded in io-hook-ends: 2.0.77 alone calls it, and cannot reach its host any more.
#[test]
fn a_hosts_callback_at_the_end_fails_in_one_release_and_is_not_called_in_the_others() {
    for version in ["1.0.128", "2.0.77", "2.1.329"] {
        let mut session = Setup::new(version, HOST, vec![say("Hello.")], Terminal::Pipe).run();
        session.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize",
            "hooks": {"SessionEnd": [{"matcher": null, "hookCallbackIds": ["h_end"]}]}}}));
        session.send(&claude::user("go"));
        session.close();
        assert_eq!(session.exit, Some(Exit::Code(0)), "{version}");
        assert!(!session.messages().iter().any(|message| message["type"] == "control_request"), "{version}");
        let failed = session.err.contains("Error in hook callback h_end: Error: Stream closed");
        assert_eq!(failed, version == "2.0.77", "{version}: {}", session.err);
    }
}

#[test]
fn stdin_that_ends_while_asked_ends_the_ask() {
    let turns = vec![Turn::Bash(bash(true, Vec::new())), Turn::Bash(bash(true, Vec::new())), say("gave up")];
    let mut session = prompted("2.0.77", HOST, turns);
    session.close();
    assert_eq!(ask_end(&session), [(AskEnd::Rejected, Cause::Shutdown, "shutdown".to_owned())]);
    assert_eq!(
        session.told(),
        [
            "Tool permission request failed: Error: Tool permission stream closed before response received",
            "Tool permission request failed: Error: Stream closed",
        ]
    );
    assert_eq!((session.last()["result"].as_str(), session.exit), (Some("gave up"), Some(Exit::Code(0))));
}

#[test]
fn stdin_that_ends_while_asked_ends_the_turn_of_a_question_in_the_newest() {
    for together in [false, true] {
        let ask = || Turn::Ask(vec![color()]);
        let asks = if together { Turn::Together(vec![ask(), ask()]) } else { ask() };
        let mut session = prompted("2.1.329", HOST, vec![asks, say("never")]);
        session.close();
        let ends = ask_end(&session);
        assert_eq!(ends.len(), 1 + usize::from(together));
        assert!(ends.iter().all(|(end, cause, _)| (*end, *cause) == (AskEnd::Rejected, Cause::Shutdown)));
        assert_eq!(session.messages().iter().filter(|m| m["type"] == "result").count(), 1);
        assert_eq!((&session.last()["terminal_reason"], session.exit), (&json!("aborted_tools"), Some(Exit::Code(1))));
    }
}

#[test]
fn a_reply_that_does_not_fit_is_an_error_to_the_model() {
    let mut session = prompted("2.1.329", HOST, vec![Turn::Ask(vec![color()]), say("{answer}")]);
    let reply = json!({"type": "control_response", "response": {"subtype": "success", "request_id": session.asked(),
        "response": {"behavior": "perhaps"}}});
    session.send(&reply);
    let told = session.last()["result"].as_str().unwrap().to_owned();
    assert!(told.starts_with("The canUseTool callback returned an invalid permission result"), "{told}");
    assert_eq!(ask_end(&session), [(AskEnd::Rejected, Cause::Malformed, "user".to_owned())]);
}

#[test]
fn two_questions_of_one_response_wait_side_by_side() {
    let turns = vec![Turn::Together(vec![Turn::Ask(vec![color()]), Turn::Ask(vec![color()])]), say("done")];
    let mut session = prompted("2.1.329", HOST, turns);
    let ids: Vec<String> = session
        .messages()
        .iter()
        .filter(|m| m["type"] == "control_request")
        .map(|m| m["request_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2);
    session.send(&claude::deny(&ids[1], "no"));
    assert!(session.waits_for("question"));
    session.send(&claude::answer(&ids[0], &json!({}), &[("Which color?".to_owned(), "Red".to_owned())]));
    assert_eq!(session.last()["result"], "done");
    assert_eq!(
        session.told()[1],
        "Your questions have been answered: \"Which color?\"=\"Red\". You can now continue with these answers in mind."
    );
}

#[test]
fn bypass_asks_a_host_all_the_same() {
    let args = format!("{HOST} --dangerously-skip-permissions");
    for version in ["2.0.77", "2.1.329"] {
        let mut session = prompted(version, &args, vec![Turn::Ask(vec![color()]), say("{answer}")]);
        assert!(session.waits_for("question") && !session.tick(), "{version}");
    }
}

#[test]
fn a_second_result_for_a_denied_tool_is_an_api_error() {
    // Clive's approval (37b7f95): a tool_result for a call that has one already.
    let mut session = prompted("2.0.77", BOTH, vec![Turn::Bash(bash(true, Vec::new())), say("done")]);
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "", "is_error": false});
    session.send(&json!({"type": "user", "message": {"role": "user", "content": [result]}}));
    assert_eq!(session.last()["is_error"], true);
    let text = session.last()["result"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with("API Error: 400")
            && text.contains("unexpected `tool_use_id` found in `tool_result` blocks: toolu_1")
    );
    session.close();
    assert_eq!(session.exit, Some(Exit::Code(1)));
}

#[test]
fn dont_ask_denies_without_asking() {
    let args = format!("{HOST} --permission-mode dontAsk");
    let session = prompted("2.1.329", &args, vec![Turn::Bash(bash(true, Vec::new())), say("ok")]);
    assert!(session.told()[0].contains("don't ask mode"));
    assert_eq!(session.last()["permission_denials"][0]["tool_name"], "Bash");
}

// --- the bash tool ---

/// Subtypes of `system` messages after the first, and when each came.
fn tasks(version: &'static str, does: Vec<Step>) -> Vec<(u64, String)> {
    let mut session = prompted(version, BOTH, vec![Turn::Bash(bash(false, does)), say("ok")]);
    let mut all = Vec::new();
    loop {
        let told = |m: &Value| m["type"] == "system" && m["subtype"] != "init";
        let word = |m: &Value| m["status"].as_str().or(m["subtype"].as_str()).unwrap_or_default().to_owned();
        let so_far: Vec<String> = session.messages().iter().filter(|m| told(m)).map(word).collect();
        all.extend(so_far[all.len()..].iter().map(|word| (session.now.0, word.clone())).collect::<Vec<_>>());
        if !session.tick() {
            return all;
        }
    }
}

#[test]
fn the_newest_calls_a_command_a_task_after_three_seconds() {
    let runs = |secs: u64, code: u8| vec![Step::Sleep(Span::secs(secs)), Step::Exit(code)];
    let started = (3_000, "task_started".to_owned());
    assert_eq!(tasks("2.1.329", runs(5, 0)), [started.clone(), (5_000, "completed".to_owned())]);
    assert_eq!(tasks("2.1.329", runs(5, 2)), [started.clone(), (5_000, "failed".to_owned())]);
    assert_eq!(tasks("2.1.329", runs(2, 0)), []);
    assert_eq!(tasks("2.0.77", runs(5, 0)), []);
}

#[test]
fn a_failing_command_is_an_error_with_its_exit_code() {
    let does = vec![Step::Print("half".to_owned()), Step::Warn("broken".to_owned()), Step::Exit(3)];
    let session = Setup::new("2.0.77", JSON, vec![Turn::Bash(bash(false, does)), say("ok")], Terminal::Null).run();
    assert_eq!(session.told(), ["Exit code 3\nbroken\nhalf"]);
    assert_eq!(session.exit, Some(Exit::Code(0)));
}

#[test]
fn a_command_is_ended_after_120_seconds_and_killed_if_it_ignores_that() {
    for (does, ends) in
        [(vec![Step::Hold], 120_000), (vec![Step::Ignore(vec!["TERM".to_owned()]), Step::Hold], 120_200)]
    {
        let turns = vec![Turn::Bash(bash(false, does)), say("ok")];
        let mut session = Setup::new("1.0.128", JSON, turns, Terminal::Null).run();
        assert!(session.waits_for("bash"));
        session.run_out();
        assert_eq!(session.told(), ["Command timed out after 2m 0s"]);
        assert_eq!(session.now, VTime(ends));
    }
}

#[test]
fn a_command_of_2_0_77_runs_on_in_the_background_after_its_limit_and_after_the_agent() {
    let turns = vec![Turn::Bash(bash(false, vec![Step::Ignore(vec!["TERM".to_owned()]), Step::Hold])), say("ok")];
    let mut session = Setup::new("2.0.77", JSON, turns, Terminal::Null).run();
    assert!(session.waits_for("bash"));
    session.run_out();
    assert!(session.told()[0].starts_with("Command running in background with ID: "), "{:?}", session.told());
    assert_eq!((session.now, session.exit, session.waits()), (VTime(120_000), Some(Exit::Code(0)), goes_on()));
}

#[test]
fn a_pipe_that_a_grandchild_holds_keeps_the_tool() {
    // B6, B9: it escaped, so the time limit's kill does not reach it.
    let left = Background {
        piped: false,
        name: "server".to_owned(),
        does: vec![Step::Hold],
        stdout: None,
        stderr: None,
        setsid: true,
        double_fork: false,
    };
    let does = vec![Step::Background(left), Step::Print("started".to_owned())];
    let turns = || vec![Turn::Bash(bash(false, does.clone())), say("ok")];
    let mut session = Setup::new("1.0.128", JSON, turns(), Terminal::Null).run();
    session.run_out();
    assert!(session.waits_for("bash") && session.exit.is_none() && session.told().is_empty());
    // 2.0.77 moves it to the background: golden scenario/bash-held
    let mut session = Setup::new("2.0.77", JSON, turns(), Terminal::Null).run();
    session.run_out();
    assert_eq!((session.now, session.exit), (VTime(120_000), Some(Exit::Code(0))));
}

#[test]
fn killing_only_the_child_leaves_what_ignores_it() {
    let mut call = bash(false, vec![Step::Ignore(vec!["TERM".to_owned()]), Step::Hold]);
    call.tool.kills = Some(Kills::Child);
    let mut session = Setup::new("2.0.77", JSON, vec![Turn::Bash(call), say("ok")], Terminal::Null).run();
    session.run_out();
    assert!(session.waits_for("bash") && session.exit.is_none());
}

#[test]
fn a_child_that_reads_stdin_gets_nothing_or_waits() {
    for (stdin, hangs) in [(None, false), (Some(ChildStdin::Pipe), true)] {
        let mut call = bash(false, vec![Step::ReadStdin, Step::Print("read".to_owned())]);
        (call.tool.stdin, call.timeout) = (stdin, Some(Span::hours(9)));
        let session = Setup::new("2.0.77", JSON, vec![Turn::Bash(call), say("ok")], Terminal::Null).run();
        assert_eq!(session.exit.is_none(), hangs);
        // What the model asks for is not cut: golden scenario/bash-at-most.
        assert!(!hangs || session.kernel.deadline(session.now) == Some(VTime::ZERO + Span::hours(9)));
    }
}

#[test]
fn a_tool_whose_state_never_flips_is_waited_for() {
    for does in [ToolDoes::NeverFlips, ToolDoes::LosesResult] {
        let turns = vec![Turn::Bash(bash(false, Vec::new())), say("ok")];
        let mut setup = Setup::new("2.0.77", JSON, turns, Terminal::Null);
        setup.faults.push(Fault::Tool(ToolFault { nth: 1, does }));
        let mut session = setup.run();
        assert!(session.exit.is_none() && !session.tick());
        assert_eq!(session.told().len(), usize::from(does == ToolDoes::LosesResult));
    }
}

#[test]
fn a_signal_ends_the_agent_and_only_the_newest_ends_its_command() {
    for (release, left) in [("1.0.128", goes_on()), ("2.0.77", goes_on()), ("2.1.329", Vec::new())] {
        let turns = vec![Turn::Bash(bash(false, vec![Step::Hold])), say("ok")];
        let mut session = Setup::new(release, JSON, turns, Terminal::Null).run();
        session.kill(Sig::Term);
        assert_eq!((session.exit, session.waits()), (Some(Exit::Code(143)), left), "{release}");
    }
}

/// A command that nobody has ended.
fn goes_on() -> Vec<(String, String)> {
    vec![("agent.1".to_owned(), "nothing".to_owned())]
}

// --- subagents ---

#[test]
fn a_subagent_asks_on_the_same_channel() {
    let turns = vec![Turn::Bash(bash(true, vec![Step::Print("built".to_owned())])), say("sub: {answer}")];
    let task = Turn::Task(Task { description: "build".to_owned(), turns });
    let mut session = prompted("2.0.77", HOST, vec![task, say("root: {answer}")]);
    let messages = session.messages();
    let inner = messages.iter().find(|m| m["message"]["content"][0]["name"] == "Bash").unwrap();
    assert_eq!(inner["parent_tool_use_id"], "toolu_1");
    let parents: Vec<&Fact> =
        session.facts.iter().filter(|f| matches!(f, Fact::Session { parent, .. } if parent == "ses_1")).collect();
    assert_eq!(parents.len(), 1);
    session.send(&claude::allow(&session.asked(), &json!({"command": "make all"})));
    // the second line is as recorded: golden scenario/subagent
    let report = "sub: built\nagentId: a000001 (for resuming to continue this agent's work if needed)";
    assert_eq!(session.last()["result"], format!("root: {report}"));
    let of = |call: &str| {
        session.messages().into_iter().find(|m| m["message"]["content"][0]["tool_use_id"] == call).unwrap()
    };
    assert_eq!(
        (&of("toolu_2")["parent_tool_use_id"], &of("toolu_1")["parent_tool_use_id"]),
        (&json!("toolu_1"), &Value::Null)
    );
}

#[test]
fn an_interrupt_reaches_into_a_subagent() {
    let turns = vec![Turn::Bash(bash(false, vec![Step::Hold])), say("never")];
    let task = Turn::Task(Task { description: "build".to_owned(), turns });
    let mut session = prompted("2.0.77", BOTH, vec![task, say("never")]);
    session.send(&claude::interrupt("stop"));
    assert_eq!(session.last()["subtype"], "error_during_execution");
    session.close();
    assert_eq!((session.exit, session.waits()), (Some(Exit::Code(0)), Vec::new()));
}

// --- the model ---

fn fault(response: u32, after: u32, does: ModelDoes) -> Fault {
    Fault::Model(ModelFault { response, after, does, retry_after: None })
}

#[test]
fn a_server_error_is_retried_and_then_told() {
    let mut setup = Setup::new("2.0.77", "-p go", vec![say("hi")], Terminal::Null);
    setup.faults.push(fault(1, 0, ModelDoes::Status(529)));
    let mut session = setup.run();
    session.run_out();
    // what the server refuses as a stream is asked for at once as a whole message: golden scenario/status-500
    assert_eq!((session.out.as_str(), session.now), ("hi\n", VTime(0)));
    let mut setup = Setup::new("2.0.77", "-p go", vec![say("hi")], Terminal::Null);
    setup.faults.push(fault(0, 0, ModelDoes::Status(500)));
    let mut session = setup.run();
    session.run_out();
    assert!(session.out.starts_with("API Error: 500 "));
    // 0.5 s doubled six times, then four times 32 s.
    assert_eq!((session.exit, session.now), (Some(Exit::Code(1)), VTime(159_500)));
    let asked = session.facts.iter().filter(|f| matches!(f, Fact::ModelAsked { .. })).count();
    assert_eq!(asked, 12);
}

#[test]
fn a_refused_request_is_told_at_once() {
    let mut setup = Setup::new("2.1.329", "-p go", vec![say("hi")], Terminal::Null);
    setup.faults.push(fault(0, 0, ModelDoes::Status(401)));
    let session = setup.run();
    assert!(session.out.starts_with("API Error: 401 ") && session.exit == Some(Exit::Code(1)));
}

#[test]
fn signs_of_life_change_nothing() {
    // M2: the state repeats, so a stall during keep-alives is a lasso.
    let mut setup = Setup::new("2.0.77", "-p go", vec![say("hi")], Terminal::Null);
    setup.faults.push(fault(1, 1, ModelDoes::KeepAlive(Span::secs(5))));
    let mut session = setup.run();
    session.tick();
    let once = session.canon();
    session.tick();
    assert_eq!(once, session.canon());
    assert!(session.waits_for("model"));
}

#[test]
fn a_state_does_not_tell_the_time() {
    let states = [0, 7_777_777].map(|start| {
        let turns = vec![say("a"), Turn::Bash(bash(false, vec![Step::Sleep(Span::secs(9))])), say("b")];
        let mut setup = Setup::new("2.1.329", JSON, turns, Terminal::Null);
        setup.start = VTime(start);
        let mut session = setup.run();
        let mut states = vec![session.canon()];
        while session.tick() {
            states.push(session.canon());
        }
        (states, session.out)
    });
    assert_eq!(states[0], states[1]);
}

#[test]
fn a_model_server_gives_the_same_session() {
    let turns = vec![
        say("look"),
        Turn::Bash(bash(false, vec![Step::Print("out".to_owned())])),
        Turn::Task(Task { description: "sub".to_owned(), turns: vec![say("inner")] }),
        say("told: {answer}"),
    ];
    let ids = |text: &str| text.replace("call_", "toolu_");
    let alone = Setup::new("2.0.77", JSON, turns.clone(), Terminal::Null).run();
    let mut kernel = SimKernel::new(rehang_fakes::program);
    let (listener, port) = kernel.listen().unwrap();
    let mut setup = Setup::new("2.0.77", JSON, turns.clone(), Terminal::Null);
    setup.model_port = Some(port);
    let mut session = Session::start(kernel, &setup);
    let mut served = 0;
    while let Some(connection) = session.kernel.accept(listener).unwrap() {
        session.rest();
        let mut reader = RequestReader::new();
        while let Read::Data(bytes) = session.kernel.read(connection, 65_536).unwrap() {
            reader.feed(&bytes);
        }
        let request = reader.next_message().unwrap().expect("a whole request");
        let path = request.head.headers.get("x-rehang-response").unwrap().to_owned();
        let response = rehang_scenario::plan::response_at(&turns, &path).unwrap();
        let all = chunks(&response, str::to_owned, |turn| {
            served += 1;
            rehang_fakes::claude::tool_call(Release::V2_0_77, turn, &format!("call_{served}"))
        });
        let mut encoder = Encoder::new(Api::Anthropic, "msg", "scripted");
        let mut body = Vec::new();
        for item in Stream::new(all, &[], VTime::ZERO).poll(VTime::ZERO) {
            match item {
                Item::Event(event) => body.extend(encoder.event(&event)),
                Item::Ended { .. } => body.extend(encoder.end()),
                _ => {}
            }
        }
        let bytes = http::response(200, &[("content-type", "text/event-stream")], &body);
        assert!(matches!(session.kernel.write(connection, &bytes).unwrap(), Write::Took(n) if n == bytes.len()));
        session.rest();
        session.kernel.close(connection, false).unwrap();
    }
    assert_eq!(ids(&session.out), alone.out);
    let result = alone.last()["result"].as_str().unwrap_or_default().to_owned();
    assert!(result.starts_with("told: inner\nagentId: "), "{result}");
}

// --- a person at the terminal ---

#[test]
fn a_person_answers_from_the_menu() {
    let turns = vec![Turn::Ask(vec![color()]), Turn::Bash(bash(true, Vec::new())), say("done")];
    let mut session = Setup::new("2.0.77", "go", turns, Terminal::Tty).run();
    assert!(session.out.contains("Which color?\r\n  1. Red\r\n  2. Blue\r\n") && session.waits_for("question"));
    session.write("7\n");
    assert!(session.waits_for("question"));
    session.write("2\n");
    assert!(session.waits_for("permission"));
    session.write("1\n");
    assert!(session.out.ends_with("* done\r\n> ") && session.waits_for("message"));
    assert!(session.told()[0].contains("\"Which color?\"=\"Blue\""));
    session.write("\x04");
    assert_eq!(session.exit, Some(Exit::Code(0)));
}

#[test]
fn a_person_turns_down_interrupts_and_hangs_up() {
    let turns = vec![Turn::Ask(vec![color()]), say("never")];
    let start = || Setup::new("2.1.329", "go", turns.clone(), Terminal::Tty).run();
    for (keys, cause) in [("\x04", Cause::Dismiss), ("\x1b\n", Cause::Dismiss), ("\x03", Cause::Stop)] {
        let mut session = start();
        session.write(keys);
        assert_eq!(ask_end(&session), [(AskEnd::Rejected, cause, "user".to_owned())], "{keys:?}");
        assert!(session.waits_for("message"), "{keys:?}");
    }
    let mut session = start();
    session.close();
    assert_eq!(ask_end(&session), [(AskEnd::Rejected, Cause::Shutdown, "shutdown".to_owned())]);
    assert_eq!(session.exit, Some(Exit::Code(129)));
}

#[test]
fn an_empty_line_skips_a_question() {
    let mut session = Setup::new("2.1.329", "go", vec![Turn::Ask(vec![color()]), say("ok")], Terminal::Tty).run();
    session.write("\n");
    assert_eq!(ask_end(&session), [(AskEnd::Skipped, Cause::Answer, "user".to_owned())]);
    assert_eq!(session.told(), ["The user did not answer the questions."]);
}

#[test]
fn in_the_background_it_is_stopped_at_once() {
    for args in ["go", "-p go"] {
        let session = Setup::new("2.0.77", args, vec![say("hi")], Terminal::TtyBackground).run();
        assert!(session.waits_for("stopped") && !session.out.contains("hi"), "{args}: {:?}", session.waits());
    }
}

// --- strategies inside ---

#[test]
fn a_question_that_is_withheld_is_never_asked() {
    let mut setup = Setup::new("2.0.77", JSON, vec![Turn::Ask(vec![color()]), say("ok")], Terminal::Null);
    setup.inside.push("not-offered".to_owned());
    let session = setup.run();
    assert_eq!(session.told(), ["Model tried to call unavailable tool 'question'."]);
    assert!(session.facts.iter().any(|fact| matches!(fact, Fact::Acted { act, .. } if act == "withhold")));
}

/// Does this to every ask as soon as it opens.
struct Does(fn(String) -> Act);

impl Strategy for Does {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        if let Seen::Inside(InsideSeen::Pending(ask)) = seen {
            acts.push(self.0(ask.id.clone()));
        }
    }

    fn deadline(&self) -> Option<VTime> {
        None
    }

    fn bound(&self, _: &rehang_strategy::Facts) -> Option<Span> {
        None
    }

    fn canon(&self, _: &mut Canon) {}
}

impl Does {
    /// What an engine with this strategy says and states, from the prompt on, of a question that a host is asked.
    fn run(act: fn(String) -> Act) -> Vec<Effect> {
        let words: Vec<String> = HOST.split(' ').map(str::to_owned).collect();
        let Parsed::Run(args) = parse(&words) else { panic!("the line is refused") };
        let turns = vec![Turn::Ask(vec![color()]), say("end")];
        let config = Config {
            release: Release::V2_0_77,
            args,
            answerer: Answerer::Host,
            turns,
            tool_faults: Vec::new(),
            repeats: None,
            tools: None,
        };
        let mut engine = Engine::new(config, AgentHost::with("tester", Box::new(Does(act))));
        let now = VTime::ZERO;
        engine.prompt(now, vec![json!({"type": "text", "text": "go"})]);
        let mut script = ModelScript::new(&[]);
        let mut all = Vec::new();
        loop {
            let effects = engine.take_effects();
            if effects.is_empty() {
                return all;
            }
            for effect in &effects {
                if let Effect::Ask(conv) = effect {
                    for item in script.begin(engine.chunks(*conv), now).poll(now) {
                        engine.model(now, *conv, item);
                    }
                }
            }
            all.extend(effects);
        }
    }
}

#[test]
fn a_strategy_inside_acts_in_its_own_name() {
    let replies = Does::run(|id| Act::Inside(InsideAct::Reply { id, answers: vec![vec!["Blue".to_owned()]] }));
    let rejects = Does::run(|id| Act::Inside(InsideAct::Reject { id, reason: "nobody answers", policy: false }));
    for (effects, end, cause) in
        [(replies, AskEnd::Replied, Cause::Answer), (rejects, AskEnd::Rejected, Cause::Silence)]
    {
        let emitted = |kind: &str| effects.iter().any(|e| matches!(e, Effect::Emit(m) if m["type"] == kind));
        // The host is told that it need not answer any more.
        assert!(emitted("control_request") && emitted("control_cancel_request") && emitted("result"));
        let ended = effects.iter().find_map(|e| match e {
            Effect::Note(Fact::AskEnded { end, cause, by, .. }) => Some((*end, *cause, by.as_str())),
            _ => None,
        });
        assert_eq!(ended, Some((end, cause, "tester")));
    }
}

// --- anything at all ---

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    /// Whatever a host writes, every ask ends at most once, every call has at most one result, and nothing panics.
    #[test]
    fn whatever_a_host_writes(moves in proptest::collection::vec(0u8..9, 0..12), version in 0usize..3) {
        let turns = vec![
            Turn::Together(vec![Turn::Ask(vec![color()]), Turn::Bash(bash(true, Vec::new()))]),
            Turn::Task(Task { description: "t".to_owned(), turns: vec![Turn::Ask(vec![color()]), Turn::Finish(Finish::Stop)] }),
            Turn::Bash(bash(true, vec![Step::Hold])),
            say("end"),
        ];
        assert!(responses(&turns).len() > 3);
        let version = ["1.0.128", "2.0.77", "2.1.329"][version];
        let mut session = Setup::new(version, HOST, turns, Terminal::Pipe).run();
        let ask = |session: &Session| session.messages().iter().rev()
            .find(|m| m["type"] == "control_request").map_or("none".to_owned(), |m| m["request_id"].as_str().unwrap().to_owned());
        for one in moves {
            if session.exit.is_some() {
                break;
            }
            match one {
                0 => session.send(&claude::user("go")),
                1 => session.send(&claude::interrupt("i")),
                2 => { let id = ask(&session); session.send(&claude::allow(&id, &json!({}))); }
                3 => { let id = ask(&session); session.send(&claude::deny(&id, "no")); }
                4 => { let id = ask(&session); session.send(&claude::refuse(&id, "gone")); }
                5 => session.send(&Value::from("no message")),
                6 => session.send(&claude::initialize("r")),
                7 => { session.tick(); }
                _ => { session.close(); break; }
            }
        }
        let mut ended: Vec<&String> = Vec::new();
        let mut told: Vec<&String> = Vec::new();
        for fact in &session.facts {
            let (list, id) = match fact {
                Fact::AskEnded { id, .. } => (&mut ended, id),
                Fact::ToolEnded { call, .. } => (&mut told, call),
                _ => continue,
            };
            assert!(!list.contains(&id), "{id} ended twice");
            list.push(id);
        }
    }
}
