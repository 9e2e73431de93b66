//! Nothing is left: no process and no file, after a run and after the runner was killed in the middle of one.
//!
//! Invariant: what must outlive a killed runner to clean up is awaited, not slept for. This process is the subreaper of
//! all that a trial starts, so a process that loses its parent becomes its child, and `wait` says when none is left. A
//! fake that waits at a gate holds the run in its middle; the time limit only aborts.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_fakes::{registry, stand_in};
use rehang_os::{
    CannotStart, Fakes,
    os::{Next, Os, Program},
};
use rehang_scenario::{Canon, plan::Plan};
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// If this is set, this binary is `rehang`.
const COMMAND_ENV: &str = "REHANG_TEST_COMMAND";
/// The path of the gate.
const GATE_ENV: &str = "GATE";
/// When a trial is given up: a passing one takes much less.
const CEILING: Duration = Duration::from_secs(120);
/// How often the runner is killed at a gate that does not hold it.
const ROUNDS: usize = 20;

fn main() -> ExitCode {
    rehang_fakes::model_server::dispatch();
    let fakes = Fakes { names: registry::names(), programs, folder: stand_in::setup };
    if rehang_os::dispatch(fakes) {
        return ExitCode::SUCCESS;
    }
    if std::env::var_os(COMMAND_ENV).is_some() {
        return rehang::app::main();
    }
    let mut args = Arguments::from_args();
    // each trial waits for all children of this process
    args.test_threads = Some(1);
    type Test = fn(&Place) -> Result<(), Failed>;
    let trials: [(&str, Test); 6] = [
        ("after_a_run", after_a_run),
        ("after_a_fault", after_a_fault),
        ("after_a_runner_is_killed", after_a_runner_is_killed),
        ("after_a_runner_is_killed_anywhere", after_a_runner_is_killed_anywhere),
        ("after_a_worker_is_killed", after_a_worker_is_killed),
        ("after_an_agent_with_a_model_is_killed", after_an_agent_with_a_model_is_killed),
    ];
    let trials = trials.into_iter().map(|(name, test)| Trial::test(name, move || trial(test))).collect();
    libtest_mimic::run(&args, trials).exit_code()
}

/// Every way to be left over: escaped, deaf to signals, stopped.
const STRAYS: &str = r#"
  { background = { name = "daemon", does = ["hold"], stdout = false, stderr = false, setsid = true, double-fork = true } },
  { background = { name = "deaf", does = [{ ignore = ["TERM", "HUP", "INT"] }, "hold"], stdout = false, stderr = false } },
  { background = { name = "stopped", does = [{ raise = "STOP" }], stdout = false, stderr = false } },
"#;
/// The worker, what its participants are forked from, the agent, its three strays, and the one at the gate.
const AT_THE_GATE: usize = 7;

fn after_a_run(place: &Place) -> Result<(), Failed> {
    let file = place.scenario("{ sleep = \"1s\" }", "[1, 2, 3]")?;
    for stage in ["lockstep", "both"] {
        let mut runner = place.rehang(&["run", "--stage", stage, "--scenarios", &file])?;
        let code = runner.wait()?.code();
        // the run is over, so no process may be there any more: nothing is awaited
        place.is_empty()?;
        if code != Some(0) {
            return Err(format!("{stage}: exit code {code:?}").into());
        }
    }
    // the corpus, under a strategy that kills
    let corpus = rehang_runner::corpus::default_folder().display().to_string();
    let args = ["run", "--scenarios", &corpus, "--strategy", "none", "--strategy", "guard", "little-loops/"];
    place.rehang(&args)?.wait()?;
    place.is_empty()
}

fn after_a_fault(place: &Place) -> Result<(), Failed> {
    let file = place.scenario("{ print = \"hello\" }", "[1]")?;
    let text = std::fs::read_to_string(&file)?.replace("env = {", "env = { REHANG_FAKE_LIES = \"1\",");
    std::fs::write(&file, text)?;
    let code = place.rehang(&["run", "--stage", "lockstep", "--scenarios", &file])?.wait()?.code();
    place.is_empty()?;
    if code == Some(70) { Ok(()) } else { Err(format!("exit code {code:?}").into()) }
}

fn after_a_runner_is_killed(place: &Place) -> Result<(), Failed> {
    let mut runner = place.in_the_middle()?;
    runner.kill()?;
    runner.wait()?;
    all_are_gone()?;
    place.is_empty()
}

fn after_a_worker_is_killed(place: &Place) -> Result<(), Failed> {
    let mut runner = place.in_the_middle()?;
    let worker = children(pid(&runner)).first().copied().ok_or("no worker")?;
    rustix::process::kill_process(worker, Signal::KILL)?;
    let code = runner.wait()?.code();
    all_are_gone()?;
    place.is_empty()?;
    if code == Some(70) { Ok(()) } else { Err(format!("exit code {code:?}").into()) }
}

fn after_a_runner_is_killed_anywhere(place: &Place) -> Result<(), Failed> {
    let file = place.scenario("{ run = [{ print = \"through the gate\" }] }", "[1, 2, 3, 4, 5, 6, 7, 8]")?;
    for _ in 0..ROUNDS {
        let mut runner = place.rehang(&["run", "--stage", "lockstep", "--scenarios", &file])?;
        // a run that goes through does not wait for the kill: it comes wherever the run is by then
        File::open(place.gate())?;
        runner.kill()?;
        runner.wait()?;
        all_are_gone()?;
    }
    place.is_empty()
}

/// The model's server of a fake that runs alone is no child of it, and ends with it.
fn after_an_agent_with_a_model_is_killed(place: &Place) -> Result<(), Failed> {
    let (bin, corpus) = (place.path("bin"), rehang_runner::corpus::default_folder());
    let laid = ["path", "model/stall[claude-2.0.77-first-word]", "--dir", &bin.display().to_string()];
    place.rehang(&[&laid[..], &["--scenarios", &corpus.display().to_string()]].concat())?.wait()?;
    let mut agent = Command::new(bin.join("claude"));
    agent.args(["-p", "go", "--output-format", "stream-json", "--verbose"]).env_clear().current_dir(place.path("home"));
    let mut agent = agent.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    // before it says its first word its server is there
    let mut line = String::new();
    BufReader::new(agent.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
    let names: Vec<String> = children(rustix::process::getpid()).into_iter().map(about).collect();
    let servers = names.iter().filter(|name| name.contains("(rehang-model)")).count();
    if servers != 1 || !children(pid(&agent)).is_empty() {
        return Err(format!("{line}: {names:?}").into());
    }
    agent.kill()?;
    agent.wait()?;
    all_are_gone()?;
    place.is_empty()
}

/// Runs a trial in folders of its own, under the time limit.
fn trial(test: fn(&Place) -> Result<(), Failed>) -> Result<(), Failed> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (over, ceiling) = channel::<()>();
    std::thread::spawn(move || {
        if ceiling.recv_timeout(CEILING) == Err(RecvTimeoutError::Timeout) {
            let mut left = Vec::new();
            tree(rustix::process::getpid(), &mut left);
            eprintln!("given up; still there: {:?}", left.into_iter().map(about).collect::<Vec<_>>());
            std::process::abort();
        }
    });
    let done = test(&Place::new()?);
    drop(over);
    done
}

/// Folders for one trial.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Result<Place, Failed> {
        let folder = tempfile::tempdir()?;
        for name in ["tmp", "home"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, folder.path().join("gate"), fifo, 0o600.into(), 0)?;
        Ok(Place { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn gate(&self) -> PathBuf {
        self.path("gate")
    }

    /// A scenario with all strays, and one more step.
    fn scenario(&self, step: &str, seeds: &str) -> Result<String, Failed> {
        let path = self.path("strays.toml");
        let gate = self.gate();
        let text = format!(
            "title = \"Leaves everybody behind\"\nmechanism = \"F1\"\nterminals = [\"tty\", \"null\"]\nseeds = {seeds}\n\
             env = {{ {GATE_ENV} = {:?} }}\n\
             agent = {{ program = [{STRAYS}  {{ sleep = \"1s\" }}, {step}] }}\n\
             survives = [\"daemon\", \"deaf\", \"stopped\"]\n\n\
             [[expect]]\noutcome = \"completed\"\n",
            gate.display().to_string()
        );
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    fn rehang(&self, args: &[&str]) -> Result<Child, Failed> {
        let exe = std::env::current_exe()?;
        let mut command = Command::new(&exe);
        command.args(args).env(COMMAND_ENV, "1").env("REHANG_FAKES", &exe);
        command.env("REHANG_CACHE", self.path("cache"));
        command.env("TMPDIR", self.path("tmp")).env("HOME", self.path("home")).current_dir(self.path("home"));
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    /// A runner whose one worker is in the middle of a cell, with all strays there.
    fn in_the_middle(&self) -> Result<Child, Failed> {
        let file = self.scenario("{ run = [{ print = \"at the gate\" }] }", "[1]")?;
        let runner =
            self.rehang(&["run", "--strategy", "none", "--jobs", "1", "--terminal", "tty", "--scenarios", &file])?;
        // opens when a process waits at the other side, and by then no other process moves
        File::open(self.gate())?;
        let mut there = Vec::new();
        tree(pid(&runner), &mut there);
        let there: Vec<String> = there.into_iter().map(about).collect();
        let stopped = there.iter().filter(|process| process.contains(") T ")).count();
        if there.len() != AT_THE_GATE || stopped != 1 {
            return Err(format!("not all are there: {there:?}").into());
        }
        Ok(runner)
    }

    /// Asserts that no process is left, and no file but the note for `run --last-failed` in rehang's cache.
    fn is_empty(&self) -> Result<(), Failed> {
        let mut left = Vec::new();
        tree(rustix::process::getpid(), &mut left);
        if !left.is_empty() {
            return Err(format!("still there: {:?}", left.into_iter().map(about).collect::<Vec<_>>()).into());
        }
        for name in ["tmp", "home", "cache"] {
            let Ok(files) = std::fs::read_dir(self.path(name)) else { continue };
            let is_note = |file: &std::ffi::OsString| name == "cache" && file == "last-run.json";
            let files: Vec<_> = files.flatten().map(|file| file.file_name()).filter(|file| !is_note(file)).collect();
            if !files.is_empty() {
                return Err(format!("left in {name}: {files:?}").into());
            }
        }
        Ok(())
    }
}

/// Waits until this process has no descendant: a process that ends or loses its parent becomes its child.
fn all_are_gone() -> Result<(), Failed> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn children(of: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", of.as_raw_nonzero())).into_iter().flatten().flatten();
    let lists = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect::<Vec<_>>())
        .collect()
}

fn tree(of: Pid, found: &mut Vec<Pid>) {
    for child in children(of) {
        found.push(child);
        tree(child, found);
    }
}

/// Its line in `/proc`: name and state first.
fn about(pid: Pid) -> String {
    std::fs::read_to_string(Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("stat")).unwrap_or_default()
}

/// The fakes, and a fake that waits at the gate.
fn programs(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let plays = |what: &str| argv.iter().any(|arg| arg.starts_with(&format!("[{{\"print\":\"{what}")));
    match (plays("at the gate"), plays("through the gate")) {
        (true, _) => Ok(Box::new(Gate { holds: true })),
        (_, true) => Ok(Box::new(Gate { holds: false })),
        _ => rehang_fakes::program(argv, plan),
    }
}

struct Gate {
    holds: bool,
}

impl Program for Gate {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        // blocks until the test opens the other side
        let there = os.env(GATE_ENV).map(|path| File::options().write(true).open(path));
        if !self.holds || !matches!(there, Some(Ok(_))) {
            return Next::Exit(0);
        }
        loop {
            // SAFETY: waits for a signal, and touches nothing.
            unsafe { libc::pause() };
        }
    }

    fn canon(&self, _: &mut Canon) {}
}
