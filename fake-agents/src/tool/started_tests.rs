//! Tests of the processes that are started with pipes.
//!
//! Invariant: each wait is tested with and without its limit, and each end of a pipe is closed by the process that does
//! not use it.

use super::double::{CONNECTION, Double, FIFO, LISTENER, LOCKED};
use super::{EXIT_FAILED, EXIT_TIMED_OUT, argv, program};
use rehang_os::os::{Child, Exit, Fd, Group, Next, Program, STDERR, STDOUT, Sig, Stdio, Wait};
use rehang_scenario::{VTime, turns::Step};
use serde_json::{Value, json};

/// The read end and the write end of a double's first pipe. The child's stdin is the first pipe, its stdout the second.
const STDIN_PIPE: (Fd, Fd) = (Fd(1_002), Fd(1_003));
const STDOUT_PIPE: (Fd, Fd) = (Fd(1_004), Fd(1_005));

fn tool(steps: Value) -> Box<dyn Program> {
    let steps: Vec<Step> = serde_json::from_value(steps).unwrap();
    program(&argv(&steps, "agent"), None).unwrap()
}

fn server(with: Value) -> Value {
    let mut start = json!({"name": "mcp-server", "does": ["hold"]});
    start.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    json!({ "start": start })
}

fn child(read: Option<Fd>, until: Option<u64>, child: bool) -> Wait {
    Wait { read: read.into_iter().collect(), until: until.map(VTime), child, on: "child", ..Wait::default() }
}

#[test]
fn what_is_started_has_pipes_and_its_parent_goes_on() {
    let mut os = Double::new();
    let mut tool = tool(json!([server(json!({})), "hold"]));
    assert_eq!(os.wait(&mut *tool), Wait { child: true, on: "nothing", ..Wait::default() });
    let spawn = &os.spawned[0];
    assert_eq!(spawn.argv[3..], ["--", "mcp-server"]);
    assert_eq!((spawn.stdin, spawn.stdout), (Stdio::Fd(STDIN_PIPE.0), Stdio::Fd(STDOUT_PIPE.1)));
    assert_eq!((spawn.stderr, spawn.group), (Stdio::Fd(STDERR), Group::Inherit));
    assert_eq!(os.closed, [STDIN_PIPE.0, STDOUT_PIPE.1], "the child's ends are the child's alone");
}

#[test]
fn streams_can_be_the_parents_own_or_none() {
    let mut os = Double::new();
    let streams = json!({"stdin": "inherit", "stdout": "null", "stderr": "pipe"});
    let mut tool = tool(json!([server(streams), "hold"]));
    os.wait(&mut *tool);
    let spawn = &os.spawned[0];
    assert_eq!((spawn.stdin, spawn.stdout, spawn.stderr), (Stdio::Fd(Fd(0)), Stdio::Null, Stdio::Fd(Fd(1_003))));
}

#[test]
fn a_line_goes_there_and_a_line_comes_back() {
    let mut os = Double::new();
    let ask = json!([
        server(json!({})),
        {"send": {"to": "mcp-server", "line": "ping"}},
        {"receive": {"from": "mcp-server"}},
        {"print": "pong came"},
        {"receive": {"from": "mcp-server", "within": "30s"}},
    ]);
    let mut tool = tool(ask);
    assert_eq!(os.wait(&mut *tool), child(Some(STDOUT_PIPE.0), None, true));
    assert_eq!(os.text(STDIN_PIPE.1), "ping\n");
    os.input.insert(STDOUT_PIPE.0, b"pong\nmore".to_vec());
    assert_eq!(os.wait(&mut *tool), child(Some(STDOUT_PIPE.0), Some(31_000), true), "half a line is none");
    assert_eq!(os.text(Fd(1)), "pong came\n");
    os.now = VTime(31_000);
    assert_eq!(os.resume(&mut *tool), Next::Exit(EXIT_TIMED_OUT));
}

#[test]
fn the_end_of_its_output_ends_the_wait_for_a_line() {
    let mut os = Double::new();
    os.input_ends = true;
    let mut tool = tool(json!([server(json!({})), {"receive": {"from": "mcp-server"}}]));
    assert_eq!(os.resume(&mut *tool), Next::Exit(EXIT_FAILED));
}

#[test]
fn a_pipe_is_hung_up_once_and_takes_no_more() {
    let mut os = Double::new();
    let mut tool = tool(json!([
        server(json!({})),
        {"hang-up": "mcp-server"},
        {"hang-up": "mcp-server"},
        {"send": {"to": "mcp-server", "line": "too late"}},
    ]));
    assert_eq!(os.resume(&mut *tool), Next::Exit(EXIT_FAILED));
    assert_eq!(os.closed.iter().filter(|fd| **fd == STDIN_PIPE.1).count(), 1);
    assert_eq!(os.text(STDIN_PIPE.1), "");
}

#[test]
fn an_end_is_waited_for_with_a_limit_or_without() {
    let mut os = Double::new();
    let mut tool = tool(json!([
        server(json!({})),
        {"await": {"of": "mcp-server", "within": "5s"}},
        {"end": "mcp-server"},
        {"await": {"of": "mcp-server"}},
    ]));
    assert_eq!(os.wait(&mut *tool), child(None, Some(6_000), true));
    assert_eq!(os.sent, []);
    os.now = VTime(6_000);
    assert_eq!(os.wait(&mut *tool), child(None, None, true));
    assert_eq!(os.sent, [(Child(1), Sig::Term)]);
    os.exits.insert(Child(1), Exit::Signal(Sig::Term));
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
    assert_eq!(os.reaped, [Child(1)]);
}

#[test]
fn one_that_nobody_reaps_stays_and_its_end_is_never_known() {
    let mut os = Double::new();
    let mut tool = tool(json!([server(json!({"unreaped": true})), {"await": {"of": "mcp-server"}}]));
    os.exits.insert(Child(1), Exit::Code(0));
    assert_eq!(os.wait(&mut *tool), child(None, None, false));
    assert_eq!(os.reaped, []);
}

#[test]
fn of_a_program_that_is_not_there_no_end_comes() {
    let mut os = Double::new();
    let mut tool = tool(json!([server(json!({"missing": true})), {"await": {"of": "mcp-server"}}]));
    assert_eq!(os.wait(&mut *tool), child(None, None, false));
    assert_eq!((os.spawned.len(), os.pipes), (0, 0));
}

#[test]
fn somebody_connects_or_the_wait_is_given_up() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"listen": {"within": "2m"}}, {"listen": {}}, {"exit": 3}]));
    let listens =
        |until: Option<u64>| Wait { read: vec![LISTENER], until: until.map(VTime), on: "client", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), listens(Some(121_000)));
    os.now = VTime(121_000);
    assert_eq!(os.wait(&mut *tool), listens(None));
    os.connects = true;
    assert_eq!(os.resume(&mut *tool), Next::Exit(3));
    assert_eq!(os.closed, [LISTENER, CONNECTION, LISTENER]);
}

#[test]
fn what_does_not_answer_is_waited_for_or_given_up() {
    let mut os = Double::new();
    let mut tool = tool(json!([
        {"fetch": {"within": "30s"}}, {"open-fifo": {"skips": true}}, {"print": "on"}, {"open-fifo": {}}, {"print": "no"},
    ]));
    let waits = |fd, until: Option<u64>, on| Wait { read: vec![fd], until: until.map(VTime), on, ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), waits(CONNECTION, Some(31_000), "peer"));
    assert!(os.text(CONNECTION).starts_with("GET "));
    os.now = VTime(31_000);
    assert_eq!(os.wait(&mut *tool), waits(FIFO, None, "file"));
    assert_eq!((os.closed.as_slice(), os.text(STDOUT).as_str()), ([CONNECTION].as_slice(), "on\n"));
}

#[test]
fn a_kept_connection_is_asked_again_after_its_pause() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"fetch": {"kept": "1h", "within": "30s"}}, {"print": "on"}]));
    let pause = Wait { until: Some(VTime(3_601_000)), on: "timer", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), pause);
    let asked = os.text(CONNECTION);
    os.now = VTime(3_601_000);
    let waits = Wait { read: vec![CONNECTION], until: Some(VTime(3_631_000)), on: "peer", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), waits);
    assert_eq!(os.text(CONNECTION), asked.repeat(2), "the same question twice");
    os.now = VTime(3_631_000);
    assert_eq!(os.resume(&mut *tool), Next::Exit(0));
}

#[test]
fn the_lock_of_the_cell_is_taken_and_kept_or_waited_for() {
    let mut os = Double::new();
    let make = tool;
    let mut tool = make(json!([{"take-lock": {}}, {"take-lock": {"within": "10s"}}, "hold"]));
    let waits =
        |until: Option<u64>| Wait { read: vec![LOCKED], until: until.map(VTime), on: "file", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), waits(None));
    os.lock_is_free = true;
    os.now = VTime(2_000);
    assert_eq!(os.wait(&mut *tool).on, "nothing", "both were taken");
    assert!(os.closed.is_empty(), "a lock is kept");
    let mut other = make(json!([{"take-lock": {"within": "10s"}}, {"print": "on"}]));
    os.lock_is_free = false;
    assert_eq!(os.wait(&mut *other), waits(Some(12_000)));
    os.now = VTime(12_000);
    assert_eq!(os.resume(&mut *other), Next::Exit(0));
    assert_eq!(os.closed, [LOCKED]);
}

#[test]
fn steps_begin_anew_in_the_same_state() {
    let mut os = Double::new();
    let mut tool = tool(json!([{"print": "round"}, {"sleep": "5s"}, "again"]));
    let mut states = Vec::new();
    for _ in 0..3 {
        assert_eq!(os.wait(&mut *tool).until, Some(VTime(os.now.0 + 5_000)));
        states.push(os.state(&*tool));
        os.now = VTime(os.now.0 + 5_000);
        let between = os.wait(&mut *tool);
        assert_eq!(between.until, Some(os.now), "it waits between two rounds, so that no resume is endless");
    }
    assert!(states.iter().all(|state| *state == states[0]), "nothing counts up");
    assert_eq!(os.text(STDOUT), "round\n".repeat(3));
}

#[test]
fn a_lock_is_waited_for_in_its_call_and_a_database_by_naps() {
    let mut os = Double::new();
    let mut tool =
        tool(json!([{"lock": {"within": "10s"}}, {"lock": {"database": true, "within": "1500ms"}}, {"lock": {}}]));
    let waits = |read, until: Option<u64>| Wait { read, until: until.map(VTime), on: "file", ..Wait::default() };
    assert_eq!(os.wait(&mut *tool), waits(vec![LOCKED], Some(11_000)));
    os.now = VTime(11_000);
    assert_eq!(os.wait(&mut *tool), waits(vec![], Some(12_000)));
    os.now = VTime(12_000);
    assert_eq!(os.wait(&mut *tool), waits(vec![], Some(12_500)), "the limit comes before the next nap's end");
    os.now = VTime(12_500);
    assert_eq!(os.wait(&mut *tool), waits(vec![LOCKED], None));
    assert_eq!(os.closed, [LOCKED, LOCKED]);
}

#[test]
fn a_step_without_its_process_is_refused() {
    let refused = |steps: Value| {
        let steps: Vec<Step> = serde_json::from_value(steps).unwrap();
        program(&argv(&steps, ""), None).err().map_or_else(String::new, |why| why.to_string())
    };
    let send = json!({"send": {"to": "mcp-server", "line": ""}});
    assert!(refused(json!([send])).contains("step 1: no process called `mcp-server`"));
    assert!(refused(json!([server(json!({"stdin": "null"})), send])).contains("step 2"));
    assert!(refused(json!([server(json!({})), server(json!({}))])).contains("step 2"));
    assert_eq!(refused(json!([server(json!({})), send])), "");
}
