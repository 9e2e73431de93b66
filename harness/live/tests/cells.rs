//! Whole cells: a small agent of our own in its sandbox, with the model server, the watch and the verdict.
//!
//! Windows and deadlines are data of the cells; nothing here asserts how long anything took. This program is the
//! tests, one test, the runner, the cell's child process and the fakes' binary, depending on how it is started.
//!
//! Invariant: a test counts the children of its process, so each has a process of its own.

use libtest_mimic::{Arguments, Failed, Trial};
use nix::errno::Errno;
use nix::sys::wait::waitpid;
use rehang_agents::{Agent, Form, Installed, Start, Version};
use rehang_live::{Cell, Evidence, LIVE_ARG, LiveError, Outcome, Report, Virtual, run_telling, run_virtually};
use rehang_scenario::{Scenario, Terminal};
use std::io::BufRead;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// A window that no test outlasts.
const FOR_EVER_MS: u64 = 600_000;
/// Seconds after which a killed runner's cell counts as one that lives on; this only aborts the test.
const CEILING_S: libc::c_uint = 60;
/// What makes this program a runner of one cell that hangs.
const RUNNER: &str = "__runner";
/// What makes this program one test; its name follows.
const TRIAL: &str = "__trial";
/// How many tests run at once: they wait for their windows more than they compute.
const AT_ONCE: usize = 20;

const AGENT: &str = r#"
name   = "small"
title  = "A small agent"
source = { npm = "small" }

[recipe]
program    = ["python3"]
dialect    = "openai-chat"
model      = "m"
window-ms  = 1_000
memory-mib = 50

[recipe.forms]
run = { args = ["{root}/agent.py", "{base_url}", "{args}"] }

[recipe.tools]
bash = { name = "bash", arguments = { command = "{command}" } }
ask  = { name = "question", arguments = { questions = "{questions}" } }
"#;

fn main() -> ExitCode {
    if rehang_fakes::dispatch() {
        return ExitCode::SUCCESS;
    }
    match std::env::args().nth(1).as_deref() {
        Some(LIVE_ARG) => return if rehang_live::cell::main() == 0 { ExitCode::SUCCESS } else { 70.into() },
        Some(RUNNER) => return runner(),
        Some(TRIAL) => return trial(&std::env::args().nth(2).unwrap_or_default()),
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let trials = TRIALS.iter().map(|(name, _)| Trial::test(*name, || in_a_process(name))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test: its name, and what it does.
type Test = (&'static str, fn() -> Result<(), Failed>);

const TRIALS: &[Test] = &[
    ("an agent that does its work completes", completes),
    ("a question that nobody answers is a hang, with evidence", question),
    ("a command that reads stdin is what blocks its agent", reads_stdin),
    ("a process that holds the tool's pipe is what blocks its agent", holds_the_pipe),
    ("a hot loop is told from a wait", spins),
    ("an agent that asks its model without end is in a hot loop", asks_for_ever),
    ("a model that repeats its call makes a loop", repeats_its_call),
    ("a command that opens a FIFO is a hang once its limit is over", opens_a_fifo),
    ("an agent may have a limit to a server of its own", waits_for_a_server),
    ("a retry that backs off waits", backs_off),
    ("a retry that never comes is a hang", never_tries_again),
    ("an agent that never asks its model is no success", never_asks),
    ("what an agent leaves behind ends with its cell", leaves_a_daemon),
    ("a killed runner leaves nothing", killed_runner),
    ("somebody answers over HTTP, and the client has the end", answered),
    ("a client that reconnects has missed the question", missed),
    ("a session that somebody stops is stopped", aborted),
    ("what a server tells behind its last answer is in the record", told_late),
    ("what a release cannot play is said before anything runs", cannot),
    ("another agent's arguments and variables are not left out in silence", another_agents),
    ("in virtual time an agent that does its work completes", completes_virtually),
    ("in virtual time a hang is proved", proved),
    ("in virtual time a limit of many minutes is over at once", limit_in_virtual_time),
    ("in virtual time a retry without end lives by its timer", no_end),
    ("in virtual time what an agent leaves behind ends with its cell", leaves_a_daemon_virtually),
    ("in virtual time a command that sleeps is what its agent waits for", sleeping_command),
    ("in virtual time people act by the clock", people_in_virtual_time),
];

/// Runs one test in this process; its failure is what it says on stderr.
fn trial(name: &str) -> ExitCode {
    // what a killed runner leaves becomes this process's child
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        eprintln!("{error}");
        return 2.into();
    }
    let result = match TRIALS.iter().find(|(of, _)| *of == name) {
        Some((_, test)) => test(),
        None => Err(format!("no test is called {name:?}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{}", failed.message().unwrap_or("it failed"));
            ExitCode::FAILURE
        }
    }
}

fn in_a_process(name: &str) -> Result<(), Failed> {
    let exe = std::env::current_exe()?;
    let out = Command::new(exe).args([TRIAL, name]).stdin(Stdio::null()).output()?;
    match out.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr)).into()),
    }
}

fn scenario(does: &str, turns: &str) -> Result<Scenario, Failed> {
    parse(&format!("agent = {{ opencode = {{}} }}\nenv = {{ AGENT_DOES = \"{does}\" }}\nturns = {turns}"))
}

fn parse(body: &str) -> Result<Scenario, Failed> {
    let text = format!("title = \"A test\"\nmechanism = \"Q1\"\n{body}\n[[expect]]\noutcome = \"completed\"\n");
    let loaded = rehang_scenario::load("test", text.as_bytes());
    let family = loaded.family.ok_or_else(|| format!("{:?}", loaded.problems))?;
    Ok(family.variants[0].scenario.clone())
}

fn cell(does: &str, turns: &str, started: &mut dyn FnMut()) -> Result<Report, Failed> {
    cell_within(does, turns, (1_000, FOR_EVER_MS), started)
}

/// A cell that only its deadline ends.
fn cell_until_its_deadline(does: &str, turns: &str) -> Result<Report, Failed> {
    cell_within(does, turns, (1_000, 10_000), &mut || {})
}

fn cell_within(does: &str, turns: &str, times_ms: (u64, u64), started: &mut dyn FnMut()) -> Result<Report, Failed> {
    cell_by(does, turns, times_ms, &mut |cell| run_telling(cell, started))
}

/// How a cell is run.
type Run<'r> = &'r mut dyn FnMut(&Cell<'_>) -> Result<Report, LiveError>;

/// `times_ms`: the window and the deadline.
fn cell_by(does: &str, turns: &str, times_ms: (u64, u64), run: Run<'_>) -> Result<Report, Failed> {
    let scenario = scenario(does, turns)?;
    let mut agent = Agent::load("small.toml", AGENT).map_err(|problems| format!("{problems:?}"))?;
    // only an agent's own scenario sets its environment
    agent.file.name = "opencode".to_owned();
    let mut recipe = agent.at(&Version::new(1, 0, 0)).map_err(|why| why.to_string())?;
    recipe.window_ms = times_ms.0;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let installed = Installed {
        root: root.clone(),
        program: vec!["/usr/bin/python3".to_owned()],
        needs: Vec::new(),
        packages: Default::default(),
    };
    let exe = std::env::current_exe()?;
    let cell = Cell {
        scenario: &scenario,
        recipe: &recipe,
        installed: &installed,
        terminal: Terminal::Null,
        deadline: Duration::from_millis(times_ms.1),
        rehang: exe.clone(),
        fakes: exe,
        supervised: None,
        signal: None,
        counts_left: false,
    };
    let report = run(&cell).map_err(|error| error.to_string())?;
    is("the links", &report.links, &["lo".to_owned()])?;
    Ok(report)
}

fn is<A: std::fmt::Debug + PartialEq<B> + ?Sized, B: std::fmt::Debug + ?Sized>(
    what: &str,
    got: &A,
    expected: &B,
) -> Result<(), Failed> {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}").into()) }
}

fn hung(report: &Report, on: &str) -> Result<(), Failed> {
    is("the outcome", &report.outcome, &Outcome::Hung { blocked_on: on.to_owned() })
}

const ASK: &str =
    r#"[{ ask = [{ question = "Which?", options = [{ label = "a" }, { label = "b" }] }] }, { say = "Done." }]"#;

fn completes() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "npm ci", does = [{ print = "it's done" }, { exit = 3 }] } }, { say = "Told: {answer}" }]"#;
    let report = cell("", turns, &mut || {})?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    is("the evidence", &report.evidence, &Evidence::Exited)?;
    is("what it told", &report.told, &["it's done\n".to_owned()])?;
    is("requests", &report.requests.main, &2)?;
    is("problems", &report.problems, &Vec::<String>::new())?;
    let said = report.lines.iter().any(|line| line.text == "Told: it's done");
    is("what it said is in the record", &said, &true)
}

fn question() -> Result<(), Failed> {
    let report = cell("", ASK, &mut || {})?;
    hung(&report, "question")?;
    is("the evidence", &report.evidence, &Evidence::Observed { window_ms: 1_000 })?;
    is("open asks", &report.asks.iter().map(|ask| ask.about.as_str()).collect::<Vec<_>>(), &vec!["Which?"])?;
    let agent = report.processes.first().ok_or("no process in the evidence")?;
    is("its number in its own namespace", &agent.pid, &2)?;
    let thread = agent.threads.first().ok_or("no thread in the evidence")?;
    let waits = thread.syscall.as_deref().is_some_and(|name| name.contains("sleep") || name.contains("select"));
    is("it waits for time", &waits, &true)?;
    is("its limit is seen", &thread.limit_ms.is_some_and(|ms| ms > 100_000), &true)?;
    is("a hot loop", &report.hot_loop, &false)
}

fn reads_stdin() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "npx x", timeout = "1s", does = [{ prompt = "ok? " }, "read-stdin"] } }, { say = "Done." }]"#;
    hung(&cell("holds-stdin", turns, &mut || {})?, "stdin")?;
    // with /dev/null the same command reads its end
    is("the outcome", &cell("", turns, &mut || {})?.outcome, &Outcome::Completed)
}

fn holds_the_pipe() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "npm start &", timeout = "1s", does = [{ background = { name = "server", does = ["hold"] } }] } }, { say = "Done." }]"#;
    // it waits for a signal, and one may come
    hung(&cell_until_its_deadline("", turns)?, "pipe")
}

fn spins() -> Result<(), Failed> {
    let report = cell_until_its_deadline("spins", ASK)?;
    is("the evidence", &report.evidence, &Evidence::Deadline { deadline_ms: 10_000 })?;
    is("a hot loop", &report.hot_loop, &true)
}

fn asks_for_ever() -> Result<(), Failed> {
    let report = cell_within("asks-for-ever", r#"[{ say = "Done." }]"#, (FOR_EVER_MS, FOR_EVER_MS), &mut || {})?;
    hung(&report, "hot-loop")?;
    is("a hot loop", &report.hot_loop, &true)?;
    let many = matches!(report.evidence, Evidence::Repeats { requests } if requests >= 40);
    is("the evidence is how often", &many, &true)
}

fn repeats_its_call() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "make", does = [{ print = "no" }] } }, { say = "Done." }]
faults = [{ model = { response = 1, does = "repeats" } }]"#;
    let report = cell_within("", turns, (FOR_EVER_MS, FOR_EVER_MS), &mut || {})?;
    hung(&report, "hot-loop")?;
    let many = matches!(report.evidence, Evidence::Repeats { requests } if requests >= 40);
    is("the evidence is how often", &many, &true)?;
    is("problems", &report.problems, &Vec::<String>::new())
}

fn opens_a_fifo() -> Result<(), Failed> {
    let turns =
        r#"[{ bash = { command = "grep -r x .", timeout = "1s", does = [{ open-fifo = {} }] } }, { say = "Done." }]"#;
    let report = cell("", turns, &mut || {})?;
    hung(&report, "bash")?;
    is("the evidence", &report.evidence, &Evidence::Observed { window_ms: 2_000 })
}

/// The server says nothing, and the agent waits for it three times as long as the window before it asks its model.
fn waits_for_a_server() -> Result<(), Failed> {
    let report = cell("waits-for-a-server", r#"[{ say = "Done." }]"#, &mut || {})?;
    is("the outcome", &report.outcome, &Outcome::Completed)
}

/// An agent whose model refuses its request.
fn refused(does: &str) -> Result<Report, Failed> {
    let turns = r#"[{ say = "Done." }]
faults = [{ model = { response = 0, does = { status = 500 } } }]"#;
    cell_until_its_deadline(does, turns)
}

fn backs_off() -> Result<(), Failed> {
    let report = refused("backs-off")?;
    is("the outcome", report.outcome.kind().word(), "waiting")?;
    is("the evidence", &report.evidence, &Evidence::Deadline { deadline_ms: 10_000 })
}

fn never_tries_again() -> Result<(), Failed> {
    hung(&refused("gives-up-and-stays")?, "model")
}

fn never_asks() -> Result<(), Failed> {
    let report = cell("never-asks", r#"[{ say = "Done." }]"#, &mut || {})?;
    let why = "the agent never reached the model server: not one request came".to_owned();
    is("problems", &report.problems, &vec![why.clone()])?;
    is("the outcome", &report.outcome, &Outcome::Failed { reason: why })
}

fn leaves_a_daemon() -> Result<(), Failed> {
    let report = cell("leaves-a-daemon", r#"[{ say = "Done." }]"#, &mut || {})?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    // a process that outlived a cell would be a child of this process now
    is("children", &waitpid(None, None), &Err(Errno::ECHILD))
}

/// Runs a cell that hangs; says when its agent runs.
fn runner() -> ExitCode {
    let result = cell_within("", ASK, (FOR_EVER_MS, FOR_EVER_MS), &mut || println!("started"));
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn killed_runner() -> Result<(), Failed> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let mut runner = Command::new(std::env::current_exe()?).arg(RUNNER).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let out = runner.stdout.take().ok_or("no stdout")?;
    std::io::BufReader::new(out).read_line(&mut line)?;
    is("the runner", line.as_str(), "started\n")?;
    runner.kill()?;
    runner.wait()?;
    // All that it started comes to this process, and waiting ends when the last is gone; a namespace and its mounts
    // live as long as a process in them.
    // SAFETY: takes no pointer.
    unsafe { libc::alarm(CEILING_S) };
    let mut ended = 0;
    while waitpid(None, None).is_ok() {
        ended += 1;
    }
    // SAFETY: takes no pointer.
    unsafe { libc::alarm(0) };
    is("the supervisor and the sandbox's first process ended", &(ended >= 2), &true)?;
    is("mounts", &std::fs::read_to_string("/proc/self/mountinfo")?, &mounts)
}

/// A cell of a server: the fake opencode, standalone on the wall clock, plays it behind the proxy.
fn served(more: &str) -> Result<Report, Failed> {
    let agent = "agent = { opencode = { as = \"1.2.15\", mode = \"serve\", client = \"events\" } }";
    let mut scenario = parse(&format!("{agent}\nturns = {ASK}\n{more}"))?;
    let plan = rehang_scenario::plan::Plan {
        agent: scenario.agent.clone(),
        turns: scenario.turns.clone(),
        faults: Vec::new(),
        inside: Vec::new(),
        model_port: None,
        tools: None,
        stored: None,
    };
    scenario.env.insert(rehang_scenario::plan::PLAN_ENV.to_owned(), serde_json::to_string(&plan)?);
    let start = Start { args: ["serve", "--port", "{port}"].map(str::to_owned).to_vec(), ..Start::default() };
    // this same program, under the fake's name
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("fake-opencode");
    std::os::unix::fs::symlink(std::env::current_exe()?, &program)?;
    as_a_server(&scenario, start, &program, vec![program.clone()], &mut |cell| run_telling(cell, &mut || {}))
}

/// A cell of the small server.
fn small_server(body: &str) -> Result<Report, Failed> {
    small_server_by(body, &mut |cell| run_telling(cell, &mut || {}))
}

fn small_server_by(body: &str, run: Run<'_>) -> Result<Report, Failed> {
    let scenario = parse(&format!("agent = {{ opencode = {{ as = \"1.2.15\", mode = \"serve\" }} }}\n{body}"))?;
    let args = ["{root}/server.py", "{base_url}", "{port}"].map(str::to_owned).to_vec();
    as_a_server(&scenario, Start { args, ..Start::default() }, Path::new("/usr/bin/python3"), Vec::new(), run)
}

fn as_a_server(
    scenario: &Scenario,
    start: Start,
    program: &Path,
    needs: Vec<std::path::PathBuf>,
    run: Run<'_>,
) -> Result<Report, Failed> {
    let mut agent = Agent::load("small.toml", AGENT).map_err(|problems| format!("{problems:?}"))?;
    agent.file.name = "opencode".to_owned();
    let mut recipe = agent.at(&Version::new(1, 2, 15)).map_err(|why| why.to_string())?;
    recipe.window_ms = 3_000;
    recipe.forms.insert(Form::Serve, start);
    let installed = Installed {
        root: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"),
        program: vec![program.to_string_lossy().into_owned()],
        needs,
        packages: Default::default(),
    };
    let exe = std::env::current_exe()?;
    let cell = Cell {
        scenario,
        recipe: &recipe,
        installed: &installed,
        terminal: Terminal::Null,
        deadline: Duration::from_secs(30),
        rehang: exe.clone(),
        fakes: exe,
        supervised: None,
        signal: None,
        counts_left: false,
    };
    run(&cell).map_err(|error| error.to_string().into())
}

const ANSWERS: &str = r#"people = [{ via = "http", sees = "events", after = "1s", does = { answer = ["b"] } }]"#;

fn answered() -> Result<(), Failed> {
    let report = served(ANSWERS)?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    is("the evidence", &report.evidence, &Evidence::Settled)?;
    let replied = |line: &rehang_live::Line| line.text.contains("question.replied") && line.text.contains(r#"[["b"]]"#);
    is("the reply is among the server's events", &report.lines.iter().any(replied), &true)
}

fn missed() -> Result<(), Failed> {
    let cut = r#"faults = [{ event = { type = "question.asked", does = { cut = "1s" } } }]"#;
    let report = served(&format!("{ANSWERS}\n{cut}"))?;
    hung(&report, "question")?;
    let known: Vec<&str> = report.asks.iter().map(|ask| ask.known_by.as_str()).collect();
    is("how the open ask is known", &known, &vec!["event"])
}

fn aborted() -> Result<(), Failed> {
    let stops = r#"people = [{ via = "http", sees = "clock", after = "1s", does = "stop" }]"#;
    let report = small_server(&format!("turns = {ASK}\n{stops}"))?;
    is("the outcome", &report.outcome, &Outcome::Stopped { cause: "stop".to_owned() })
}

fn told_late() -> Result<(), Failed> {
    let report = small_server(r#"turns = [{ say = "Done." }]"#)?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    is("the evidence", &report.evidence, &Evidence::Settled)?;
    let late = report.lines.iter().filter(|line| line.text.contains("session.updated")).count();
    is("late events", &late, &2)
}

fn cannot() -> Result<(), Failed> {
    let turns = r#"[{ permit = { permission = "edit" } }, { say = "Done." }]"#;
    match cell("", turns, &mut || {}) {
        Ok(report) => Err(format!("it ran: {:?}", report.outcome).into()),
        Err(error) => is("the reason", &error.message().unwrap_or_default().contains("permit"), &true),
    }
}

fn another_agents() -> Result<(), Failed> {
    let recipe = |name: &str| {
        let mut agent = Agent::load("small.toml", AGENT).map_err(|problems| format!("{problems:?}"))?;
        agent.file.name = name.to_owned();
        agent.at(&Version::new(1, 0, 0)).map_err(|why| why.to_string())
    };
    let scenario = scenario("x", r#"[{ say = "Done." }]"#)?;
    let why = |name: &str| Ok::<_, Failed>(rehang_live::cannot(&scenario, &recipe(name)?, Terminal::Null));
    is("its own", &why("opencode")?, &None)?;
    let reason = Some("its arguments and variables are those of opencode".to_owned());
    is("another's", &why("claude")?, &reason)
}

/// Runs a cell in virtual time, of which it has an hour.
fn virtually(cell: &Cell<'_>) -> Result<Report, LiveError> {
    // so much real time is used only if something is wrong
    let settings = Virtual {
        until: Duration::from_secs(3_600),
        within: Duration::from_secs(600),
        skip_tickers: None,
        seed: None,
        looks: None,
    };
    run_virtually(cell, &settings)
}

fn in_virtual_time(does: &str, turns: &str) -> Result<Report, Failed> {
    cell_by(does, turns, (1_000, 4_000), &mut virtually)
}

fn completes_virtually() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "npm ci", does = [{ print = "done" }, { sleep = "20m" }] } }, { say = "Told: {answer}" }]"#;
    let report = in_virtual_time("", turns)?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    is("the evidence", &report.evidence, &Evidence::Exited)?;
    is("what it told", &report.told, &["done\n".to_owned()])?;
    is("the time", &(report.ms / 1_000), &1_200)
}

fn proved() -> Result<(), Failed> {
    let report = in_virtual_time("waits-for-ever", ASK)?;
    hung(&report, "question")?;
    is("the evidence", &report.evidence, &Evidence::Proved)?;
    is("open asks", &report.asks.iter().map(|ask| ask.about.as_str()).collect::<Vec<_>>(), &vec!["Which?"])?;
    let waits = report.virtual_time.ok_or("no virtual time")?.waits;
    is("the agent's wait is in the proof", &waits.iter().any(|wait| wait.contains("python")), &true)
}

fn limit_in_virtual_time() -> Result<(), Failed> {
    // it sleeps for 1,000 s, and then it has no command to run
    let report = in_virtual_time("", ASK)?;
    is("the outcome", &report.outcome, &Outcome::Failed { reason: "exit code 1".to_owned() })?;
    is("the time", &(report.ms / 1_000), &1_000)
}

fn no_end() -> Result<(), Failed> {
    let turns = r#"[{ say = "Done." }]
faults = [{ model = { response = 0, does = { status = 500 } } }]"#;
    let report = in_virtual_time("backs-off", turns)?;
    is("the outcome", &report.outcome, &Outcome::NoEnd { blocked_on: "model".to_owned() })?;
    is("the evidence", &report.evidence, &Evidence::Horizon { until_ms: 3_600_000 })?;
    // waits of 0.2 s, 0.4 s and so on: the fifteenth is longer than what is left
    let lives_by = report.virtual_time.ok_or("no virtual time")?.lives_by;
    let of_agent = lives_by.iter().find(|timer| timer.contains("python")).map(String::as_str);
    let known = of_agent.is_some_and(|timer| timer.contains(": 14 times, 0.2 s to 1638.4 s"));
    if known { Ok(()) } else { Err(format!("{lives_by:?}").into()) }
}

fn sleeping_command() -> Result<(), Failed> {
    let turns = r#"[{ bash = { command = "make", does = [{ sleep = "2h" }] } }, { say = "Done." }]"#;
    let report = in_virtual_time("", turns)?;
    is("the outcome", &report.outcome, &Outcome::NoEnd { blocked_on: "bash".to_owned() })
}

fn leaves_a_daemon_virtually() -> Result<(), Failed> {
    let report = in_virtual_time("leaves-a-daemon", r#"[{ say = "Done." }]"#)?;
    is("the outcome", &report.outcome, &Outcome::Completed)?;
    is("children", &waitpid(None, None), &Err(Errno::ECHILD))
}

fn people_in_virtual_time() -> Result<(), Failed> {
    let stops = r#"people = [{ via = "http", sees = "clock", after = "10m", does = "stop" }]"#;
    let report = small_server_by(&format!("turns = {ASK}\n{stops}"), &mut virtually)?;
    is("the outcome", &report.outcome, &Outcome::Stopped { cause: "stop".to_owned() })?;
    is("the time", &(report.ms / 1_000), &600)
}
