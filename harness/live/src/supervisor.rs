//! The child process of a cell: it makes the namespaces, holds the model server and all clients in them, watches the
//! agent, and says what came of it.
//!
//! Invariant: it ends with the process that started it, and the sandbox ends with it. When its answer is out, nothing
//! is left.

use crate::host::Host;
use crate::input::{Input, Stream};
use crate::processes::Look;
use crate::report::{Ask, Evidence, Outcome, Report, Requests, Via};
use crate::sandbox::{self, Said, SandboxError, Started};
use crate::serve::Clients;
use crate::spec::{Answer, CellSpec, MODEL_PORT, SentSignal};
use crate::terminal::Answers;
use crate::tools::{self, Tools};
use crate::verdict;
use crate::watch::{Decision, Watch};
use rehang_agents::Form;
use rehang_model_server::Script;
use rehang_scenario::{Fault, ProcessDoes, Terminal};
use rehang_wire::opencode::RouteAnswers;
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::thread::Builder;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often the processes are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How much is read of a stream at once, in bytes.
const READ_BYTES: usize = 64 * 1024;
/// How much a reader that is slow on purpose takes, in bytes per second.
const SLOW_BYTES: usize = 4_096;
/// How many inputs may be read before they are looked at.
const INBOX: usize = 256;

/// What a supervisor in virtual time is sent when the run is over.
pub const END_SIGNAL: i32 = libc::SIGUSR1;

/// Runs the order that comes on stdin; returns the exit code.
pub fn main() -> i32 {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let order: CellSpec =
        match read.map_err(|e| e.to_string()).and_then(|_| serde_json::from_str(&line).map_err(|e| e.to_string())) {
            Ok(order) => order,
            Err(error) => {
                eprintln!("rehang: no order for a live cell came on stdin: {error}");
                return 70;
            }
        };
    let answer = match keep(&order) {
        Ok(report) => Answer::Report(Box::new(report)),
        Err(error @ SandboxError::Refused { .. }) => Answer::Sandbox(error.to_string()),
        Err(error) => Answer::Fault(error.to_string()),
    };
    i32::from(say(&answer).is_err()) * 70
}

fn say(answer: &Answer) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

fn keep(order: &CellSpec) -> Result<Report, SandboxError> {
    // in virtual time it dies with its tracer
    let dies = || if order.is_virtual { Ok(()) } else { sandbox::die_with_parent(order.parent) };
    dies()?;
    sandbox::enter()?;
    // new namespaces are new credentials, and some kernels clear it with those
    dies()?;
    let links = sandbox::step("reading links", sandbox::links())?;
    let model = sandbox::step("the model's port", std::net::TcpListener::bind(("127.0.0.1", MODEL_PORT)))?;
    sandbox::step("the model's port", model.set_nonblocking(true))?;
    let tools = sandbox::step("the tool server", tools::start(order))?;
    let started = sandbox::start(&order.sandbox)?;
    let _ = say(&Answer::Started);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = sandbox::step("a runtime", runtime)?;
    let init = started.init;
    let local = tokio::task::LocalSet::new();
    let result = runtime.block_on(local.run_until(watch(order, model, started, links, tools)));
    // its end ends everything in the sandbox, and the kernel releases it last
    let _ = nix::sys::signal::kill(init, nix::sys::signal::Signal::SIGKILL);
    let _ = nix::sys::wait::waitpid(init, None);
    drop(local);
    runtime.shutdown_background();
    result
}

async fn watch(
    order: &CellSpec,
    model: std::net::TcpListener,
    mut started: Started,
    links: Vec<String>,
    mut tools: Option<Tools>,
) -> Result<Report, SandboxError> {
    let init = started.init.as_raw();
    let (tell, mut inbox) = mpsc::channel(INBOX);
    let (events, mut happened) = mpsc::unbounded_channel();
    let model = sandbox::step("the model's port", tokio::net::TcpListener::from_std(model))?;
    let script = Script::new(&order.recipe, &order.scenario.turns, &order.scenario.faults);
    tokio::task::spawn_local(rehang_model_server::serve(model, script, events));
    if let Some(tools) = &mut tools {
        sandbox::step("a thread", tools.tell(&tell))?;
    }
    sandbox::step("a thread", read_streams(order, &mut started, &tell))?;
    let host = Host::new(order, started.stdin.take(), started.master.take(), tell.clone());
    let mut host = sandbox::step("a thread", host)?;
    let clients = match order.form {
        Form::Serve => Some(Clients::start(order, &tell).await?),
        _ => None,
    };
    let mut watch = Watch::new(order);
    let mut terminal = order.screen.map(Answers::new);
    host.begin(&mut watch);
    let mut asks: Vec<Ask> = Vec::new();
    let mut problems: Vec<String> = Vec::new();
    let mut stopped: Option<&'static str> = None;
    let mut routes: Option<RouteAnswers> = None;
    let mut settled: Option<Settled> = None;
    let mut process_faults = process_faults(order);
    let mut signal = order.signal;
    let mut ended = sandbox::step("a signal", order.is_virtual.then(end_signal).transpose())?;
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut is_looking = false;
    let mut look = order.look;
    let says = loop {
        // in virtual time nothing is looked at without need: the looks themselves would keep the run alive
        let looks = !order.is_virtual || settled.is_some() || (watch.exited.is_some() && order.counts_left);
        let act = next_act(&host, &process_faults, signal, &watch).filter(|_| !looks);
        let later = tokio::time::Instant::from_std(act.unwrap_or_else(Instant::now));
        let look_at = tokio::time::Instant::from_std(look.map_or_else(Instant::now, |at| watch.look_at(at)));
        tokio::select! {
            biased;
            Some(()) = received(&mut ended) => break Decision::Ended,
            Some(event) = happened.recv() => {
                watch.model(&event);
                if let Some(clients) = clients.as_ref().filter(|_| watch.startup_ms().is_some()) {
                    clients.begin_the_clock();
                }
            }
            Some(input) = inbox.recv() => match input {
                Input::Output(stream, bytes) => {
                    if let (Stream::Screen, Some(terminal), Some(bytes)) = (stream, &mut terminal, &bytes) {
                        host.terminal_says(terminal.hear(bytes));
                    }
                    for line in watch.output(stream, bytes.as_deref(), order) {
                        if let Some(clients) = &clients {
                            clients.hears(&line);
                        }
                        if stream == Stream::Stdout {
                            host.hears(&line, &mut watch);
                        }
                    }
                }
                Input::Exited(exit) => {
                    watch.exited = Some((exit, Instant::now()));
                    watch.progress("the agent's exit");
                    host.agent_is_over();
                }
                Input::Gone => break Decision::Over,
                Input::Looked(at, look) => {
                    is_looking = false;
                    if let Some(look) = look {
                        watch.look(at, *look);
                    }
                    acts(&mut host, &mut process_faults, &mut signal, &mut watch);
                }
                Input::Client(via, text) => watch.client(via, &text),
                Input::Asked(ask) => asks.push(ask),
                Input::Closed(id) => asks.retain(|ask| ask.id != id),
                Input::Settled(outcome) => settled = Some(Settled { outcome, ms: watch.ms(), at: Instant::now() }),
                Input::Stops(act) => stopped = Some(act),
                Input::Problem(text) => problems.push(text),
                Input::Routes(answers) => routes = Some(answers),
                Input::Seen => break Decision::Ended,
            },
            () = tokio::time::sleep_until(later), if act.is_some() => {
                if let Some(look) = Look::take(init) {
                    watch.look(Instant::now(), look);
                }
                acts(&mut host, &mut process_faults, &mut signal, &mut watch);
            }
            () = tokio::time::sleep_until(look_at), if look.is_some() => {
                look = None;
                let Some(agent) = Look::take(init).as_ref().and_then(Look::agent) else { break Decision::Ended };
                let _ = say(&Answer::Hangs(agent));
                let tell = tell.clone();
                tokio::task::spawn_blocking(move || {
                    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                    let _ = tell.blocking_send(Input::Seen);
                });
            }
            // beside this loop, which answers what the agent may be waiting for
            _ = every.tick(), if looks && !is_looking => {
                is_looking = true;
                let tell = tell.clone();
                tokio::task::spawn_blocking(move || {
                    let at = Instant::now();
                    let _ = tell.blocking_send(Input::Looked(at, Look::take(init).map(Box::new)));
                });
            }
        }
        // What a server sends after its last answer belongs to the record.
        match settled.as_ref().map(|settled| watch.has_told_all(settled.at)) {
            Some(true) => break Decision::Over,
            Some(false) => {}
            None => match watch.says(order) {
                Decision::Wait => {}
                says => break says,
            },
        }
    };
    // one more look, so that the report shows what is there now
    if let Some(look) = Look::take(init) {
        watch.look(Instant::now(), look);
    }
    asks.extend(host.asks());
    let hangs = matches!(says, Decision::Observed(_) | Decision::Repeats(_) | Decision::Deadline);
    if let Some(agent) = watch.looks().0.and_then(Look::agent).filter(|_| order.looked_at && hangs) {
        let _ = say(&Answer::Hangs(agent));
        // the model server and all clients live on meanwhile
        let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = ended.await;
    }
    Ok(report(order, watch, End { says, settled, stopped, asks, problems, links, routes }))
}

/// A client's end: how, and when.
struct Settled {
    outcome: Outcome,
    /// When, in milliseconds on the clock of the cell.
    ms: u64,
    at: Instant,
}

/// How a cell came to its end.
struct End {
    says: Decision,
    settled: Option<Settled>,
    stopped: Option<&'static str>,
    asks: Vec<Ask>,
    problems: Vec<String>,
    links: Vec<String>,
    routes: Option<RouteAnswers>,
}

fn report(order: &CellSpec, watch: Watch, end: End) -> Report {
    let mut asks = end.asks;
    let hung = |asks: &mut Vec<Ask>| {
        if asks.is_empty() {
            *asks = verdict::asks(&watch, order);
        }
        Outcome::Hung { blocked_on: verdict::blocked_on(&watch, order, asks) }
    };
    let settled_ms = end.settled.as_ref().map(|settled| settled.ms);
    let (outcome, evidence) = match (end.says, &watch.exited, end.settled) {
        (.., Some(settled)) => (settled.outcome, Evidence::Settled),
        (Decision::Over | Decision::Wait, Some((exit, _)), _) => {
            (verdict::ended(&watch, *exit, end.stopped), Evidence::Exited)
        }
        (Decision::Over | Decision::Wait, None, _) => {
            (Outcome::Failed { reason: "its sandbox ended".to_owned() }, Evidence::Exited)
        }
        (Decision::Observed(window), ..) => {
            let window_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
            (hung(&mut asks), Evidence::Observed { window_ms })
        }
        (Decision::Repeats(requests), ..) => (hung(&mut asks), Evidence::Repeats { requests }),
        (Decision::Deadline, ..) if watch.backs_off(order) => {
            let what = "its next try, after an answer of the model that failed".to_owned();
            (Outcome::Waiting { what }, Evidence::Deadline { deadline_ms: order.deadline_ms })
        }
        // the caller, who knows how the run ended, judges
        (Decision::Ended, ..) => (hung(&mut asks), Evidence::Undecided),
        (Decision::Deadline, ..) => (hung(&mut asks), Evidence::Deadline { deadline_ms: order.deadline_ms }),
    };
    let mut problems = end.problems;
    if let Err(never) = watch.ledger.reached()
        && !(matches!(&outcome, Outcome::Hung { blocked_on } if blocked_on == "stdin"))
    {
        problems.push(never.to_string());
    }
    problems.extend(watch.ledger.problems.iter().map(|(n, problem)| format!("request {n}: {problem}")));
    let is_hung = matches!(outcome, Outcome::Hung { .. });
    let (now, before) = watch.looks();
    let processes = now.map(|look| look.report(before)).unwrap_or_default();
    let hot_loop = is_hung && (watch.is_hot() || watch.repeats());
    let told = watch.ledger.told.iter().map(|told| told.text.clone()).collect();
    let requests = Requests { main: watch.ledger.main, side: watch.ledger.side };
    let ms = settled_ms.unwrap_or_else(|| watch.ms());
    let (startup_ms, last_progress) = (watch.startup_ms(), watch.last_progress());
    let exit = watch.exited.map(|(exit, _)| exit);
    let (lines, lines_left_out) = watch.record.into_parts();
    Report {
        outcome,
        evidence,
        exit,
        ms,
        startup_ms,
        told,
        requests,
        asks,
        last_progress,
        processes,
        hot_loop,
        problems,
        links: end.links,
        lines,
        lines_left_out,
        routes: end.routes,
        virtual_time: None,
    }
}

/// Threads that read what the agent says: the runtime stays free for the wires.
fn read_streams(order: &CellSpec, started: &mut Started, tell: &mpsc::Sender<Input>) -> std::io::Result<()> {
    let pace = match order.sandbox.terminal {
        Terminal::StdoutStopped => None,
        Terminal::StdoutSlow => Some(SLOW_BYTES),
        _ => Some(READ_BYTES),
    };
    if let (Some(fd), Some(bytes)) = (started.stdout.as_ref(), pace) {
        read(fd, Stream::Stdout, bytes, tell)?;
    }
    if let Some(fd) = &started.stderr {
        read(fd, Stream::Stderr, READ_BYTES, tell)?;
    }
    if let Some(fd) = &started.master {
        read(fd, Stream::Screen, READ_BYTES, tell)?;
    }
    let socket = started.said.get_ref().try_clone()?;
    let tell = tell.clone();
    let hears = move || {
        for line in std::io::BufReader::new(socket).lines().map_while(Result::ok) {
            if let Ok(Said::Exited(exit)) = serde_json::from_str(&line)
                && tell.blocking_send(Input::Exited(exit)).is_err()
            {
                return;
            }
        }
        let _ = tell.blocking_send(Input::Gone);
    };
    Builder::new().spawn(hears).map(drop)
}

fn read(fd: &OwnedFd, stream: Stream, bytes: usize, tell: &mpsc::Sender<Input>) -> std::io::Result<()> {
    let fd = fd.try_clone()?;
    let tell = tell.clone();
    let reads = move || {
        let mut file = File::from(fd);
        let mut buffer = vec![0; bytes];
        // a terminal's master gives an error if the other side is gone: that is its end
        while let Ok(n @ 1..) = file.read(&mut buffer) {
            if tell.blocking_send(Input::Output(stream, Some(buffer[..n].to_vec()))).is_err() {
                return;
            }
            if bytes == SLOW_BYTES {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        let _ = tell.blocking_send(Input::Output(stream, None));
    };
    Builder::new().spawn(reads).map(drop)
}

/// The signal that a run in virtual time is over.
fn end_signal() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(END_SIGNAL))
}

/// Waits for it; for ever on the wall clock.
async fn received(ended: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    match ended {
        Some(ended) => ended.recv().await,
        None => std::future::pending().await,
    }
}

/// When the scenario's next person or fault acts by the clock.
fn next_act(host: &Host, faults: &[(u64, ProcessDoes)], signal: Option<SentSignal>, watch: &Watch) -> Option<Instant> {
    let by_clock = faults.iter().map(|(at, _)| *at).chain(signal.map(|signal| signal.after_ms)).min();
    // the clock of the cell has to begin first
    let fault = by_clock.filter(|_| watch.startup_ms().is_some()).map(|ms| watch.clock() + Duration::from_millis(ms));
    host.deadline().into_iter().chain(fault).min()
}

/// The scenario's faults of the agent's process, by the time when they happen on the cell's clock.
fn process_faults(order: &CellSpec) -> Vec<(u64, ProcessDoes)> {
    let of = |fault: &Fault| match fault {
        Fault::Process(fault) if fault.role == "agent" => Some((fault.at.as_ms(), fault.does)),
        _ => None,
    };
    order.scenario.faults.iter().filter_map(of).collect()
}

/// What is due by the clock of the cell.
fn acts(host: &mut Host, faults: &mut Vec<(u64, ProcessDoes)>, signal: &mut Option<SentSignal>, watch: &mut Watch) {
    host.tick(watch);
    play(faults, watch);
    send(signal, watch);
}

/// Sends the agent its signal, once it is due.
fn send(signal: &mut Option<SentSignal>, watch: &mut Watch) {
    let Some(due) = signal.filter(|due| watch.startup_ms().is_some() && watch.ms() >= due.after_ms) else { return };
    let agent = watch.looks().0.and_then(Look::agent);
    let number = nix::sys::signal::Signal::try_from(due.number);
    if let (Some(agent), Ok(number)) = (agent, number) {
        watch.record.note(Via::Signal, number.as_str().trim_start_matches("SIG"));
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(agent), number);
    }
    *signal = None;
}

fn play(faults: &mut Vec<(u64, ProcessDoes)>, watch: &Watch) {
    use nix::sys::signal::{Signal, kill};
    if watch.startup_ms().is_none() {
        return;
    }
    let now = watch.ms();
    faults.retain(|(at, does)| {
        if *at > now {
            return true;
        }
        let signal = match does {
            ProcessDoes::Crash | ProcessDoes::Restart => Signal::SIGKILL,
            ProcessDoes::Freeze => Signal::SIGSTOP,
            ProcessDoes::Thaw => Signal::SIGCONT,
            // a real release's plan never has it
            ProcessDoes::Mute | ProcessDoes::MuteOutput => return false,
        };
        if let Some(agent) = watch.looks().0.and_then(|look| look.agent()) {
            let _ = kill(nix::unistd::Pid::from_raw(agent), signal);
        }
        false
    });
}
