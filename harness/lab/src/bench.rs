//! `rehang-lab bench`: what the design gives budgets for, measured, with the budgets beside the figures.
//!
//! Invariant: where possible, a figure is a ratio of two things measured in turns in one run, so that a noisy machine
//! slows both. Figures are medians.

mod floor;

use clap::Args;
use rehang::bars::run;
use rehang::commands::select::Select;
use rehang::commands::{Code, CommandError};
use rehang_evidence::Subject;
use rehang_os::Kernel;
use rehang_runner::binaries::{fakes, workers};
use rehang_runner::kernel::kernel;
use rehang_runner::pool::Pool;
use rehang_runner::run::Outcome;
use rehang_runner::unit::{Alike, Unit};
use rehang_scenario::text::{counted, duration};
use rehang_scenario::{Scenario, Stage, Terminal};
use rehang_stage::bare::{self, Bare};
use rehang_stage::{Job, Proofs};
use rehang_strategy::{ProcessHost, ProcessSeen, Step, VTime};
use rehang_trace::{Trace, What, ndjson};
use rehang_wire::opencode::Route;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

/// Measure what the design gives budgets for.
#[derive(Debug, Clone, Args)]
pub struct Bench {
    /// How often each ratio is measured.
    #[arg(long, default_value_t = 300)]
    pub rounds: u32,
    /// Only these: `cell`, `polls`, `sim`, `matrix`, `why`, `looks`.
    #[arg(value_name = "WHAT")]
    pub only: Vec<String>,
}

/// Microseconds that a step may cost beyond the floor.
const STEP_US: f64 = 10.0;

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// A stage that does not work here.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        writeln!(out, "{:<52} {:>12} {:>12}", "what (medians)", "figure", "budget")?;
        let wanted = |what: &str| self.only.is_empty() || self.only.iter().any(|only| only == what);
        if wanted("matrix") {
            matrix(out)?;
        }
        if wanted("why") {
            why(out)?;
        }
        if wanted("looks") {
            looks(out)?;
        }
        // as a worker is pinned, and the bare processes with it
        rehang_stage::worker::pin(0);
        if wanted("cell") {
            self.cell(out, "a lockstep cell on pipes", Terminal::Null)?;
            self.cell(out, "a lockstep cell on a terminal", Terminal::Tty)?;
        }
        if wanted("polls") {
            self.polls(out)?;
        }
        if wanted("sim") {
            sim(out)?;
        }
        Ok(Code::Expected)
    }

    /// A cell of one process against its bare spawn, first output and reap.
    fn cell(&self, out: &mut dyn Write, what: &str, terminal: Terminal) -> Result<(), CommandError> {
        let scenario = parse(
            r#"
            title = "One line"
            mechanism = "F1"
            agent = { program = [{ print = "hello" }] }
            expect = [{ outcome = "completed" }]
            "#,
        )?;
        let fakes = fakes()?;
        let mut kernel = kernel(Stage::Lockstep, &fakes)?;
        let argv = rehang_fakes::tool::argv(&[rehang_scenario::Step::Print("hello".into())], "program");
        let floor_of = Bare::new(&fakes, &argv, &[])?;
        let job = Job { proofs: Proofs::Claimed, ..Job::new(&scenario, "none", terminal, 1) };
        let (mut cells, mut floors, mut steps) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.rounds {
            floors.push(floor_of.run(terminal == Terminal::Tty)?.whole);
            let began = Instant::now();
            steps = once(kernel.as_mut(), &job)?.1;
            cells.push(began.elapsed());
        }
        let (cell, floor) = (us(median(&mut cells)), us(median(&mut floors)));
        let budget = 1.5 * floor + STEP_US * steps as f64;
        line(out, what, &format!("{cell:.0} µs"), &format!("≤ {budget:.0} µs"), cell <= budget)?;
        writeln!(out, "    bare spawn, output, reap {floor:.0} µs; {:.2} times that; {steps} steps", cell / floor)?;
        Ok(())
    }

    /// Fifteen virtual minutes with a poll every 5 s over HTTP, against as many bare round trips.
    fn polls(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        let scenario = parse(POLLED)?;
        let fakes = fakes()?;
        let mut kernel = kernel(Stage::Lockstep, &fakes)?;
        let job = Job { proofs: Proofs::Claimed, ..Job::new(&scenario, "watcher@pr3", Terminal::Null, 1) };
        let floor_of = BarePolls::new(&fakes)?;
        let (mut cells, mut floors, mut trips) = (Vec::new(), Vec::new(), 0);
        for _ in 0..(self.rounds / 20).max(5) {
            let began = Instant::now();
            let (trace, _) = once(kernel.as_mut(), &job)?;
            cells.push(began.elapsed());
            trips = trace.events.iter().filter(|e| matches!(e.what, What::Request { .. })).count();
            let count = u32::try_from(trips).unwrap_or(u32::MAX);
            floors.push(floor_of.run(count)?);
        }
        let (cell, floor) = (us(median(&mut cells)), us(median(&mut floors)));
        let ratio = cell / floor;
        line(out, "15 virtual minutes with 5 s polls over HTTP", &format!("{ratio:.2} ×"), "≤ 1.30 ×", ratio <= 1.3)?;
        writeln!(out, "    {trips} round trips: {cell:.0} µs in the cell, {floor:.0} µs bare")?;
        Ok(())
    }
}

/// A server that asks its question, for whoever polls it.
const POLLED: &str = r#"
    title = "A question in a server, and a watcher that polls"
    mechanism = "Q1"
    agent = { opencode = { as = "1.2.15", mode = "serve" } }
    turns = [{ ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }]
    terminals = ["null"]
    expect = [{ outcome = { hung = "question" } }]
"#;

/// The same server alone, polled by nobody but a socket.
struct BarePolls {
    server: Bare,
    first: [Vec<u8>; 2],
    poll: Vec<u8>,
}

impl BarePolls {
    fn new(fakes: &std::path::Path) -> Result<BarePolls, CommandError> {
        let scenario = parse(POLLED)?;
        let plan = rehang_scenario::plan::Plan {
            agent: scenario.agent.clone(),
            turns: scenario.turns.clone(),
            faults: Vec::new(),
            inside: Vec::new(),
            model_port: None,
            tools: None,
            stored: None,
        };
        let plan = serde_json::to_string(&plan).map_err(|e| CommandError::Fault(e.to_string()))?;
        let env = [(rehang_scenario::plan::PLAN_ENV.to_owned(), plan)];
        let request = |route: Route<'_>, body: &[u8]| {
            let headers = [("connection", "close"), ("content-type", "application/json")];
            rehang_wire::http::request(route.method(), &route.to_string(), "localhost", &headers, body)
        };
        let prompt = Route::Prompt { session: "ses_1", waits: false };
        Ok(BarePolls {
            server: Bare::new(fakes, &rehang_fakes::opencode::argv(&scenario.agent, &[], "go"), &env)?,
            first: [
                request(Route::MakeSession, b"{\"title\":\"bench\"}"),
                request(prompt, b"{\"parts\":[{\"type\":\"text\",\"text\":\"go\"}]}"),
            ],
            poll: request(Route::Messages { session: "ses_1", limit: Some(1) }, b""),
        })
    }

    /// How long so many polls take, from the start of the server to its end.
    fn run(&self, polls: u32) -> Result<Duration, CommandError> {
        Ok(self.server.serve(&self.first, &self.poll, polls)?.whole)
    }
}

/// How many cells of the matrix play one scenario, roughly: what a thread has read of one cell it knows in the next.
const CELLS_A_SCENARIO: usize = 40;

/// Cells on sim, on one core, trace and digest included, as `rehang-lab determinism` has them.
fn sim(out: &mut dyn Write) -> Result<(), CommandError> {
    // each says something else, as the matrix' scenarios do; more of them than what a thread remembers
    let named = |name: usize| {
        let text = r#"
            title = "Some tools, some words, NAME"
            mechanism = "F1"
            agent = { opencode = { as = "1.2.15", mode = "serve", client = "events" } }
            turns = [{ say = "I look." }, { bash = { command = "ls NAME", does = [{ print = "NAME" }] } }, { say = "Done: NAME." }]
            terminals = ["null"]
            expect = [{ outcome = "completed" }]
            "#;
        parse(&text.replace("NAME", &name.to_string()))
    };
    let scenarios = (100..200).map(named).collect::<Result<Vec<Scenario>, CommandError>>()?;
    let job = |scenario| Job { proofs: Proofs::Claimed, ..Job::new(scenario, "none", Terminal::Null, 1) };
    let mut kernel = rehang_os::sim::SimKernel::new(rehang_fakes::program);
    let (trace, _) = once(&mut kernel, &job(&scenarios[0]))?;
    // how many a second, if this is done with the trace of each
    let mut rate = |seen: &mut dyn FnMut(&Trace)| -> Result<f64, CommandError> {
        // processor time: what other processes take of this core is not the cells'
        let began = bare::cpu_time();
        let mut cells = 0_u32;
        for scenario in scenarios.iter().cycle().take_while(|_| bare::cpu_time() - began < Duration::from_secs(2)) {
            for _ in 0..CELLS_A_SCENARIO {
                seen(&once(&mut kernel, &job(scenario))?.0);
                cells += 1;
            }
        }
        Ok(f64::from(cells) / (bare::cpu_time() - began).as_secs_f64())
    };
    let (mut digests, mut hashes) = (BTreeSet::new(), BTreeSet::new());
    let digested = rate(&mut |trace| _ = digests.insert(trace.digest()))?;
    let hashed = rate(&mut |trace| _ = hashes.insert(ndjson::sha256(trace)))?;
    let is_wire = |what: &What| matches!(what, What::Sse(_) | What::Request { .. } | What::Response { .. });
    let wire = trace.events.iter().filter(|event| is_wire(&event.what)).count();
    // the budget is stated at 45 wire events a cell
    let at_45 = |rate: f64| rate * wire as f64 / 45.0;
    let figure = at_45(digested);
    line(out, "sim, one core, at 45 wire events a cell", &format!("{figure:.0}/s"), "≥ 20000/s", figure >= 20_000.0)?;
    writeln!(
        out,
        "    {digested:.0} cells/s of {wire} wire events, {} in all, and {} digests; {:.0}/s at 45 with the SHA-256 of its text",
        trace.events.len(),
        digests.len(),
        at_45(hashed)
    )?;
    // a scenario has one trace, however often it is played
    match digests.len() <= scenarios.len() && hashes.len() <= scenarios.len() {
        true => Ok(()),
        false => Err(CommandError::Fault("two traces of one cell".to_owned())),
    }
}

/// Two looks at a tree of 100 processes and what they mean, without the window between.
fn why(out: &mut dyn Write) -> Result<(), CommandError> {
    let mut children = Vec::new();
    for _ in 0..99 {
        // ends with its standard input, and so with this process
        let mut command = std::process::Command::new("cat");
        children.push(command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn()?);
    }
    let own = [std::process::id() as rehang_evidence::Pid];
    let (options, limits) =
        (rehang_evidence::Options { ask: true, ..Default::default() }, rehang_evidence::Limits::default());
    let (mut figures, mut processes) = (Vec::new(), 0);
    for _ in 0..21 {
        let began = Instant::now();
        let look = rehang_evidence::look(&own, &options, &limits, Duration::ZERO);
        let look = look.map_err(|error| CommandError::Fault(error.to_string()))?;
        figures.push(began.elapsed());
        processes = look.after.tree.len();
    }
    let figure = us(median(&mut figures)) / 1_000.0;
    let what = format!("rehang why, a tree of {processes} processes, no window");
    line(out, &what, &format!("{figure:.1} ms"), "≤ 20 ms", figure <= 20.0)?;
    for child in &mut children {
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(())
}

/// How many agents [`looks`] has.
const AGENTS: usize = 20;

/// What it costs to guard agents that say nothing for an hour, from within one program: as many looks as guard takes, by the
/// processor time of one.
fn looks(out: &mut dyn Write) -> Result<(), CommandError> {
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        // ends with its standard input, and so with this process
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "cat; :"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        agents.push(command.spawn()?);
    }
    let subject = |agent: &std::process::Child| Subject {
        pid: agent.id().cast_signed(),
        names: rehang_evidence::AgentNames::default(),
        heard: rehang_evidence::Heard::default(),
        asks: true,
    };
    let subjects: Vec<Subject> = agents.iter().map(subject).collect();
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        for (of, figures) in [(&subjects[..], &mut together), (&subjects[..1], &mut alone)] {
            let began = processor_time();
            rehang_evidence::look_together(of);
            figures.push(processor_time() - began);
        }
    }
    let count = looks_in_an_hour()?;
    let percent = |one: &mut Vec<Duration>, times: usize| us(median(one)) * (count * times) as f64 / 3_600e6 * 100.0;
    let (share, apart) = (percent(&mut together, 1), percent(&mut alone, AGENTS));
    let what = format!("guard's looks at {AGENTS} silent agents, an hour, of a core");
    line(out, &what, &format!("{share:.3} %"), "≤ 0.100 %", share <= 0.1)?;
    let one = us(median(&mut together)) / 1_000.0;
    writeln!(out, "    {count} looks, each at all of them at once: {one:.1} ms; {apart:.3} % with looks of their own")?;
    for agent in &mut agents {
        drop(agent.stdin.take());
        agent.wait()?;
    }
    Ok(())
}

/// How often guard looks at a process that says nothing for an hour, and that it does not end.
fn looks_in_an_hour() -> Result<usize, CommandError> {
    let fault = |error: &dyn std::fmt::Display| CommandError::Fault(error.to_string());
    let guard = rehang_strategy::stack("guard").map_err(|error| fault(&error))?;
    let mut host = ProcessHost::new([guard]).map_err(|error| fault(&error))?;
    let (nothing, limits) = (rehang_evidence::Snapshot::default(), rehang_evidence::Limits::default());
    let idle = rehang_evidence::diagnose_only(&nothing, &nothing, &limits);
    host.start(VTime::ZERO, Terminal::Null, false);
    let mut count = 0;
    while let Some(at) = host.deadline().filter(|at| *at <= VTime(3_600_000)) {
        let steps = host.tick(at);
        for _ in steps.iter().filter(|step| matches!(step, Step::Look)) {
            count += 1;
            // it is over a window later
            host.see(at + rehang_scenario::Span::secs(1), ProcessSeen::Looked(Box::new(idle.clone())));
        }
    }
    Ok(count)
}

/// The processor time of this process, of all its threads.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The whole matrix in lockstep, and what memory it took.
fn matrix(out: &mut dyn Write) -> Result<(), CommandError> {
    let select = Select::default();
    let mut selected = select.select(&[Stage::Lockstep])?;
    let pool = Pool::new(workers(None)?);
    let selected_kib = peak_kib()?;
    let whole = run(&pool, &selected.units, true)?;
    let once = peak_kib()?;
    let cells = whole.cells.len();
    let per_second = |outcome: &Outcome| cells as f64 / (outcome.wall_ms.max(1) as f64 / 1_000.0);
    let rate = per_second(&whole);
    let took = duration(whole.wall_ms);
    drop(whole);
    for _ in 0..2 {
        run(&pool, &selected.units, true)?;
    }
    let thrice = peak_kib()?;
    selected.units.iter_mut().for_each(Unit::share);
    let sharing = run(&pool, &selected.units, true)?;
    let shared = sharing.cells.iter().filter(|cell| cell.alike == Alike::Shared).count();
    let as_run = per_second(&sharing);
    line(
        out,
        "the whole matrix in lockstep, as `rehang run` has it",
        &format!("{as_run:.0}/s"),
        "≥ 800/s",
        as_run >= 800.0,
    )?;
    writeln!(
        out,
        "    {} in {} with {}: {shared} share the trace of none",
        counted(cells, "cell"),
        duration(sharing.wall_ms),
        counted(pool.jobs(), "worker"),
    )?;
    drop(sharing);
    writeln!(out, "    {rate:.0}/s with all cells (`--no-share`), in {took}")?;
    let fakes = fakes()?;
    // as the workers are
    let measured = std::thread::scope(|scope| {
        let measuring = scope.spawn(|| {
            rehang_stage::worker::pin(0);
            floor::Floor::of(&selected.units, &fakes)
        });
        measuring.join().unwrap_or_else(|_| Err(CommandError::Fault("the floor was not measured".to_owned())))
    })?;
    let floor::Floor { processes, turns, requests } = measured;
    let cell_us = pool.jobs() as f64 * 1e6 / rate.max(1.0);
    writeln!(
        out,
        "    the floor of that {:.0}/s: {:.2} processes, {:.1} turns, {:.1} requests a cell at {:.0}, {:.1}, {:.0} µs; {:.0} of {cell_us:.0} µs a cell are above it",
        pool.jobs() as f64 * 1e6 / measured.us().max(1.0),
        processes.count,
        turns.count,
        requests.count,
        processes.us,
        turns.us,
        requests.us,
        cell_us - measured.us(),
    )?;
    line(out, "the runner's peak memory", &format!("{} MiB", once / 1024), "≤ 64 MiB", once <= 64 * 1024)?;
    writeln!(
        out,
        "    {} MiB before the first cell, {:.1} KiB a cell whose report is to come; {} MiB after three such runs",
        selected_kib / 1024,
        once.saturating_sub(selected_kib) as f64 / cells.max(1) as f64,
        thrice / 1024
    )?;
    Ok(())
}

fn once(kernel: &mut dyn Kernel, job: &Job<'_>) -> Result<(rehang_trace::Trace, u64), CommandError> {
    let record = rehang_stage::run(kernel, job).map_err(|e| CommandError::Fault(e.to_string()))?;
    Ok((record.trace, record.steps))
}

fn parse(text: &str) -> Result<Scenario, CommandError> {
    let family = rehang_scenario::load("bench.toml", text.as_bytes()).into_result();
    let family = family.map_err(|problems| CommandError::Fault(problems.to_string()))?;
    let variant = family.variants.into_iter().next();
    variant.map(|v| v.scenario).ok_or_else(|| CommandError::Fault("no scenario".to_owned()))
}

fn line(out: &mut dyn Write, what: &str, figure: &str, budget: &str, met: bool) -> std::io::Result<()> {
    let mark = if met { "met" } else { "MISSED" };
    writeln!(out, "{what:<52} {figure:>12} {budget:>12}  {mark}")?;
    out.flush()
}

fn median(all: &mut [Duration]) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The peak of this process's memory, in KiB (`VmHWM`).
fn peak_kib() -> std::io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    Ok(line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0))
}
