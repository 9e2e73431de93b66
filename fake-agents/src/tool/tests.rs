use super::double::{Double, TTY, groups};
use super::{HELP, PLAYS_MAX_BYTES, argv, program, shown};
use proptest::prelude::*;
use rehang_os::os::{Child, Errno, Exit, Fd, FdKind, Group, Next, Program, STDERR, STDIN, STDOUT, Sig, Stdio, Wait};
use rehang_scenario::{
    Agent, Span, VTime,
    plan::{PLAN_ENV, Plan},
    turns::{Step, Turn},
};
use serde_json::{Value, json};

/// The tool for steps, in the form of a scenario.
fn tool(steps: Value) -> Box<dyn Program> {
    let steps: Vec<Step> = serde_json::from_value(steps).unwrap();
    program(&argv(&steps, "make test"), None).unwrap()
}

fn plan(agent: Value, inside: &[&str]) -> Plan {
    let plan = json!({"agent": agent, "turns": [], "faults": [], "inside": inside, "model_port": null, "stored": null});
    serde_json::from_value(plan).unwrap()
}

fn steps_of(argv: &[String]) -> Value {
    assert_eq!(argv[..2], ["fake-tool", "--plays"]);
    serde_json::from_str(&argv[2]).unwrap()
}

#[test]
fn lines_go_to_their_streams_and_it_exits_with_0() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"print": "out"}, {"warn": "err"}, {"prompt": "name? "}]));
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!((os.text(STDOUT).as_str(), os.text(STDERR).as_str()), ("out\nname? ", "err\n"));
}

#[test]
fn nothing_follows_an_exit() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"exit": 3}, {"print": "never"}]));
    assert_eq!(os.resume(&mut *tool), Next::Exit(3));
    assert_eq!(os.text(STDOUT), "");
}

#[test]
fn sleep_waits_for_the_clock_alone() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"sleep": "2s"}, {"print": "done"}]));
    let asleep = Wait { until: Some(VTime(3_000)), on: "timer", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), asleep);
    os.now = VTime(2_999);
    assert_eq!(os.wait(&mut *tool), asleep);
    os.now = VTime(3_000);
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.text(STDOUT), "done\n");
}

#[test]
fn a_line_comes_behind_each_pace() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"every": {"every": "5s", "print": "tick", "times": 2, "stderr": true}}]));
    assert_eq!(os.wait(&mut *tool).until, Some(VTime(6_000)));
    assert_eq!(os.text(STDERR), "");
    os.now = VTime(6_000);
    assert_eq!(os.wait(&mut *tool).until, Some(VTime(11_000)));
    assert_eq!(os.text(STDERR), "tick\n");
    os.now = VTime(11_000);
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.text(STDERR), "tick\ntick\n");
}

#[test]
fn a_pace_for_ever_is_the_same_state_again_and_one_with_an_end_is_not() {
    for (times, same) in [(0, true), (9, false)] {
        let mut os = Double::new();
        let mut tool = tool(json!([{"every": {"every": "5s", "print": "tick", "times": times}}]));
        let states: Vec<Vec<u8>> = (0..3)
            .map(|_| {
                os.now = os.wait(&mut *tool).until.unwrap();
                os.state(&*tool)
            })
            .collect();
        assert_eq!(states[0] == states[1] && states[1] == states[2], same, "{times}");
    }
}

#[test]
fn what_never_rests_still_comes_back_to_the_scheduler() {
    for steps in [json!(["spin"]), json!([{"every": {"every": "0ms", "print": "x"}}])] {
        let mut os = Double::new();
        let mut tool = tool(steps);
        for _ in 0..3 {
            assert_eq!(os.wait(&mut *tool).until, Some(os.now));
        }
    }
}

#[test]
fn hold_waits_on_nothing() {
    let mut os = Double::new();
    assert_eq!(os.wait(&mut *tool(json!(["hold"]))), Wait { on: "nothing", ..Wait::default() });
}

#[test]
fn a_fill_goes_out_in_whole_blocks_and_a_rest() {
    let mut os = Double::new();
    os.room = 8_192;
    let mut tool = tool(json!([{"fill": {"bytes": 10_000, "stderr": true}}, {"print": "done"}]));
    let full = os.wait(&mut *tool);
    assert_eq!(full, Wait { write: vec![STDERR], on: "pipe", ..Wait::default() });
    assert_eq!(os.writes, [4_096, 4_096]);
    os.output.clear();
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.writes[2..], [10_000 - 8_192, 5]);
    assert_eq!(os.output[&STDERR].len(), 10_000 - 8_192);
}

#[test]
fn a_write_that_is_taken_in_parts_loses_and_doubles_nothing() {
    let mut os = Double::new();
    os.room = 3;
    os.kinds.insert(STDOUT, FdKind::Tty);
    let mut tool = tool(json!([{"print": "0123456789"}]));
    let mut all = String::new();
    let code = loop {
        let next = os.resume(&mut *tool);
        all.push_str(&os.text(STDOUT));
        os.output.clear();
        match next {
            Next::Wait(wait) => assert_eq!(wait.on, "tty"),
            Next::Exit(code) => break code,
        }
    };
    assert_eq!((all.as_str(), code), ("0123456789\n", 0));
}

#[test]
fn a_reader_that_is_gone_ends_it_and_a_stream_that_never_was_does_not() {
    for (error, code) in [(Errno::Pipe, 141), (Errno::Io, 1), (Errno::BadFd, 7)] {
        let mut os = Double::new();
        os.write_error = Some(error);
        assert_eq!(os.resume(&mut *tool(json!([{"print": "x"}, {"exit": 7}]))), Next::Exit(code), "{error:?}");
    }
}

#[test]
fn a_line_is_read_and_not_a_byte_more() {
    let mut os = Double::new();
    os.input.insert(STDIN, b"ye".to_vec());
    let mut tool = tool(json!(["read-stdin", {"print": "on"}, "hold"]));
    assert_eq!(os.wait(&mut *tool), Wait { read: vec![STDIN], on: "stdin", ..Wait::default() });
    os.input.insert(STDIN, b"s\nnext\n".to_vec());
    assert_eq!(os.wait(&mut *tool).on, "nothing");
    assert_eq!((os.input[&STDIN].as_slice(), os.text(STDOUT).as_str()), (&b"next\n"[..], "on\n"));
}

#[test]
fn stdin_is_read_to_its_end_and_its_end_is_a_line_too() {
    let mut os = Double::new();
    os.input.insert(STDIN, b"a\nb\n".to_vec());
    let mut to_end = tool(json!(["read-stdin-to-end"]));
    assert_eq!(os.wait(&mut *to_end).on, "stdin");
    os.input_ends = true;
    assert_eq!(os.resume(&mut *to_end), Next::Exit(0));
    assert_eq!(os.resume(&mut *tool(json!(["read-stdin"]))), Next::Exit(0));
}

#[test]
fn without_a_terminal_there_is_nobody_to_ask() {
    for step in [json!({"ask-tty": "Password: "}), json!("set-tty")] {
        let mut os = Double::new();
        assert_eq!(os.resume(&mut *tool(json!([step, {"print": "never"}]))), Next::Exit(1));
        assert_eq!(os.text(STDERR), "fake-tool: cannot open /dev/tty: No such device or address\n");
        assert_eq!(os.text(STDOUT), "");
    }
}

#[test]
fn with_a_terminal_it_asks_there_and_closes_it() {
    let mut os = Double::new();
    os.has_tty = true;
    let mut tool = tool(json!([{"ask-tty": "Password: "}]));
    assert_eq!(os.wait(&mut *tool), Wait { read: vec![TTY], on: "tty", ..Wait::default() });
    assert_eq!(os.text(TTY), "Password: ");
    os.input.insert(TTY, b"secret\n".to_vec());
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.closed, [TTY]);
}

#[test]
fn a_terminals_settings_wait_for_the_foreground() {
    let mut os = Double::new();
    (os.has_tty, os.in_background) = (true, true);
    let mut tool = tool(json!(["set-tty"]));
    assert_eq!(os.wait(&mut *tool).on, "tty");
    os.in_background = false;
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert!(os.tty_is_set);
}

#[test]
fn signals_are_ignored_and_raised() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"ignore": ["TERM", "HUP"]}, {"raise": "STOP"}, {"exit": 4}]));
    assert_eq!(os.wait(&mut *tool).until, Some(os.now));
    assert_eq!((os.ignored.as_slice(), os.raised.as_slice()), (&[Sig::Term, Sig::Hup][..], &[Sig::Stop][..]));
    // It was stopped, and is continued.
    assert_eq!(os.resume(&mut *tool), Next::Exit(4));
    assert_eq!(os.raised.len(), 1);
}

#[test]
fn what_is_left_behind_holds_what_it_is_told_to_and_is_not_waited_for() {
    let mut os = Double::new();
    let left = json!({"name": "dev-server", "does": ["hold"], "stderr": false, "setsid": true});
    let mut tool = tool(json!([{"background": {"does": ["hold"]}}, {"background": left}]));
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(groups(&os), [Group::Inherit, Group::Session]);
    let [plain, server] = &os.spawned[..] else { panic!() };
    assert_eq!((plain.stdin, plain.stdout, plain.stderr), (Stdio::Null, Stdio::Fd(STDOUT), Stdio::Fd(STDERR)));
    assert_eq!((server.stdin, server.stdout, server.stderr), (Stdio::Null, Stdio::Fd(STDOUT), Stdio::Null));
    assert_eq!((shown(&plain.argv), shown(&server.argv)), (None, Some("dev-server")));
    assert_eq!(server.env, os.envs);
}

#[test]
fn what_is_left_behind_is_reaped_when_it_ends() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"background": {"does": []}}, "hold"]));
    assert_eq!(os.wait(&mut *tool), Wait { child: true, on: "nothing", ..Wait::default() });
    os.exits.insert(Child(1), Exit::Code(0));
    assert_eq!(os.wait(&mut *tool), Wait { on: "nothing", ..Wait::default() });
    assert_eq!(os.reaped, [Child(1)]);
}

#[test]
fn a_parent_of_pipes_comes_to_no_end_while_the_child_lives_unless_it_exits() {
    let serve = json!({"background": {"name": "serve", "does": ["hold"], "piped": true}});
    let mut os = Double::new();
    let mut waits = tool(json!([serve, {"print": "done"}]));
    assert_eq!(os.wait(&mut *waits), Wait { child: true, on: "child", ..Wait::default() });
    assert_eq!(os.text(STDOUT), "done\n");
    let serves = &os.spawned[0];
    assert!(!matches!(serves.stdout, Stdio::Null | Stdio::Fd(STDOUT)) && serves.stdout != serves.stderr, "{serves:?}");
    os.exits.insert(Child(1), Exit::Code(0));
    assert_eq!(os.resume(&mut *waits), Next::Exit(0));

    let mut os = Double::new();
    assert_eq!(os.resume(&mut *tool(json!([serve, {"exit": 3}]))), Next::Exit(3));
}

#[test]
fn a_double_fork_has_one_in_the_middle_that_is_waited_for() {
    let mut os = Double::new();
    let step =
        json!({"background": {"name": "d", "does": ["hold"], "stdout": false, "setsid": true, "double-fork": true}});
    let mut tool = tool(json!([step, {"print": "on"}]));
    assert_eq!(os.wait(&mut *tool), Wait { child: true, on: "child", ..Wait::default() });
    let middle = os.spawned[0].clone();
    assert_eq!((middle.group, middle.stdout), (Group::Inherit, Stdio::Null));
    os.exits.insert(Child(1), Exit::Code(0));
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.text(STDOUT), "on\n");

    let mut inner_os = Double::new();
    assert_eq!(inner_os.resume(&mut *program(&middle.argv, None).unwrap()), Next::Exit(0));
    assert_eq!(groups(&inner_os), [Group::Session]);
    assert_eq!(inner_os.spawned[0].stdout, Stdio::Null);
    assert_eq!(steps_of(&inner_os.spawned[0].argv), json!(["hold"]));
}

#[test]
fn a_command_has_the_same_streams_and_its_exit_code_is_the_last() {
    for (exit, code) in [(Exit::Code(2), 2), (Exit::Signal(Sig::Kill), 137)] {
        let mut os = Double::new();
        os.kinds.remove(&STDIN);
        let mut tool = tool(json!([{"run": [{"exit": 2}]}]));
        assert_eq!(os.wait(&mut *tool), Wait { child: true, on: "child", ..Wait::default() });
        let child = &os.spawned[0];
        assert_eq!((child.stdin, child.stdout, child.stderr), (Stdio::Closed, Stdio::Fd(STDOUT), Stdio::Fd(STDERR)));
        assert_eq!((child.group, steps_of(&child.argv)), (Group::Inherit, json!([{"exit": 2}])));
        os.exits.insert(Child(1), exit);
        assert_eq!(os.resume(&mut *tool), Next::Exit(code));
    }
    let mut os = Double::new();
    os.exits.insert(Child(1), Exit::Code(2));
    assert_eq!(os.resume(&mut *tool(json!([{"run": []}, {"print": "x"}]))), Next::Exit(0));
}

#[test]
fn a_nested_agent_finds_its_plan_in_its_environment() {
    let mut os = Double::new();
    os.envs.push((PLAN_ENV.to_owned(), "of the outer one".to_owned()));
    let steps =
        [json!({"agent": {"agent": {"claude": {"as": "2.0.77"}}, "turns": [{"say": "hi"}], "args": ["--verbose"]}})];
    let words = argv(&serde_json::from_value::<Vec<Step>>(json!(steps)).unwrap(), "");
    let mut tool = program(&words, Some(&plan(json!({"opencode": {}}), &["auto-answer@r1"]))).unwrap();
    assert_eq!(os.wait(&mut *tool).on, "child");
    let child = &os.spawned[0];
    assert!(child.argv[0] == "fake-claude" && child.argv.contains(&"--verbose".to_owned()), "{:?}", child.argv);
    let plans: Vec<&String> = child.env.iter().filter(|(key, _)| key == PLAN_ENV).map(|(_, plan)| plan).collect();
    let plan: Plan = serde_json::from_str(plans[0]).unwrap();
    assert_eq!((plans.len(), child.env.len()), (1, 2));
    assert_eq!(plan.turns, [Turn::Say("hi".to_owned())]);
    assert_eq!(plan.inside, ["auto-answer@r1"]);
    os.exits.insert(Child(1), Exit::Code(1));
    assert_eq!(os.resume(&mut *tool), Next::Exit(1));
}

#[test]
fn a_session_of_its_own_needs_a_fork_where_it_leads_its_group() {
    let steps = json!(["setsid", {"print": "free"}]);
    let mut os = Double::new();
    assert_eq!(os.resume(&mut *tool(steps.clone())), Next::Exit(0));
    assert_eq!((os.sessions, os.text(STDOUT).as_str(), os.spawned.len()), (1, "free\n", 0));

    let mut os = Double::new();
    os.leads_group = true;
    assert_eq!(os.resume(&mut *tool(steps)), Next::Exit(0));
    assert_eq!((os.sessions, os.text(STDOUT).as_str(), groups(&os)), (0, "", vec![Group::Session]));
    assert_eq!(steps_of(&os.spawned[0].argv), json!([{"print": "free"}]));
}

#[test]
fn a_program_in_an_agents_place_finds_its_steps_in_its_plan() {
    let mut os = Double::new();
    let plan = plan(json!({"program": [{"exit": 5}]}), &[]);
    let mut tool = program(&["fake-tool".to_owned()], Some(&plan)).unwrap();
    assert_eq!(os.resume(&mut *tool), Next::Exit(5));
}

#[test]
fn help_is_printed_and_names_every_step() {
    let mut os = Double::new();
    let mut tool = program(&["/usr/bin/fake-tool".to_owned(), "--help".to_owned()], None).unwrap();
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.text(STDOUT), HELP);
    for name in step_names() {
        assert!(HELP.contains(&format!("\"{name}\"")), "{name}");
    }
}

/// Every step's name, from the error that serde gives for an unknown name.
fn step_names() -> Vec<String> {
    let error = serde_json::from_str::<Step>("\"no-such-step\"").unwrap_err().to_string();
    let names: Vec<String> = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert!(names.len() > 15, "{error}");
    names
}

#[test]
fn a_command_line_that_does_not_fit_is_refused() {
    let refused = |words: &[&str]| {
        let argv: Vec<String> = ["fake-tool"].iter().chain(words).map(|w| (*w).to_owned()).collect();
        program(&argv, None).err().unwrap_or_else(|| panic!("{words:?} was taken")).to_string()
    };
    assert!(refused(&[]).contains("nothing to play"));
    assert!(refused(&["--", "--plays", "[]"]).contains("nothing to play"));
    assert!(refused(&["--plays"]).contains("needs a JSON list"));
    assert!(refused(&["--plays", "[]", "x"]).contains("unknown argument `x`"));
    assert!(refused(&["--plays", "[\"fly\"]"]).contains("fly"));
    assert!(refused(&["--plays", "[{\"ignore\":[\"KILL\"]}]"]).contains("KILL"));
    assert!(refused(&["--plays", "[{\"ignore\":[\"NO\"]}]"]).contains("`NO`"));
    assert!(refused(&["--plays", "[{\"raise\":\"NO\"}]"]).contains("`NO`"));
    assert!(refused(&["--plays", &format!("[{}", " ".repeat(PLAYS_MAX_BYTES))]).contains("longer"));
    let deep = "{\"run\":[".repeat(10_000);
    assert!(refused(&["--plays", &format!("[{deep}")]).contains("recursion"));
}

#[test]
fn a_plan_is_no_tool_where_it_names_an_agent() {
    assert!(matches!(plan(json!({"claude": {}}), &[]).agent, Agent::Claude(_)));
    assert!(program(&["fake-tool".to_owned()], Some(&plan(json!({"claude": {}}), &[]))).is_err());
}

#[test]
fn a_start_later_is_the_same_but_later() {
    let run = |start: u64| {
        let mut os = Double::new();
        os.now = VTime(start);
        let mut tool = tool(json!([{"every": {"every": "3s", "print": "t", "times": 2}}, {"sleep": "1s"}, "hold"]));
        let mut states = Vec::new();
        while let Some(until) = os.wait(&mut *tool).until {
            states.push((until.since(VTime(start)), os.state(&*tool)));
            os.now = until;
        }
        (states, os.text(Fd(1)))
    };
    assert_eq!(run(0), run(77_000));
    assert_eq!(run(0).0.last().unwrap().0, Span::secs(7));
}

fn any_step() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,12}".prop_map(|line| json!({ "print": line })),
        "[a-z]{0,12}".prop_map(|line| json!({ "warn": line })),
        (0u32..20_000, any::<bool>()).prop_map(|(bytes, stderr)| json!({"fill": {"bytes": bytes, "stderr": stderr}})),
        (0u64..9_000).prop_map(|ms| json!({ "sleep": format!("{ms}ms") })),
        (0u64..9_000, 1u32..4)
            .prop_map(|(ms, n)| json!({"every": {"every": format!("{ms}ms"), "print": "t", "times": n}})),
        Just(json!("read-stdin")),
        Just(json!({"raise": "USR1"})),
        Just(json!({"run": [{"exit": 9}]})),
        Just(json!({"background": {"does": []}})),
    ]
}

proptest! {
    #[test]
    fn how_much_a_reader_takes_changes_no_byte(steps in prop::collection::vec(any_step(), 0..8), room in 1usize..9_000) {
        let run = |room: usize| {
            let mut os = Double::new();
            (os.room, os.input_ends) = (room, true);
            let mut tool = tool(json!(steps));
            let mut all = [Vec::new(), Vec::new()];
            loop {
                let next = os.resume(&mut *tool);
                for (fd, bytes) in std::mem::take(&mut os.output) {
                    all[fd.0 as usize - 1].extend(bytes);
                }
                match next {
                    Next::Exit(code) => break (all, code, os.spawned.len()),
                    Next::Wait(wait) => {
                        os.now = wait.until.unwrap_or(os.now).max(os.now);
                        os.exits = (1..=os.spawned.len() as u32).map(|n| (Child(n), Exit::Code(9))).collect();
                    }
                }
            }
        };
        prop_assert_eq!(run(room), run(usize::MAX));
    }
}

#[test]
fn every_signal_that_a_file_may_name_is_one_that_a_process_knows() {
    let known = |name: &&str| Sig::from_name(name).is_some();
    assert_eq!(rehang_scenario::playable::SIGNALS.iter().find(|name| !known(name)), None);
}
