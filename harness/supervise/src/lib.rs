//! A real command under the state machines that the matrix tests: a command that hangs is ended, any other is left
//! alone.
//!
//! One `poll` relays the command's output, our terminal, signals, and the next deadline; looks are taken by threads
//! beside it. Invariants: what the command writes reaches the caller, in order, before anything is said about it, and
//! never waits for a look; a run that ends by itself ends with its own code, also if a look finds something at that
//! moment; a command is ended with all processes below it, also those that have escaped.

mod dry;
pub mod events;
mod evidence;
mod host;
mod last_line;
mod look;
mod part;
mod start;
mod tell;
mod watch;

use dry::Dry;
use events::{Events, EventsTo};
use evidence::Evidence;
pub use evidence::Mask;
use host::SuperviseHost;
use last_line::LastLine;
use look::{Before, Beside};
use nix::sys::signal::{SigSet, SigmaskHow, Signal as Sig, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rehang_evidence::{AgentNames, Glance, Heard, Look};
use rehang_processes::machine;
use rehang_processes::tree::{self, Below};
pub use rehang_strategy::StackError;
use rehang_strategy::{ProcessSeen, Settled, Stack, Step, Stream, Whom};
use rehang_words::text::{took, visible};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use serde_json::json;
use start::{Raw, Running};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tell::Told;

/// The exit code if the wall clock ended the command (as with `timeout`).
pub const WALL: u8 = 124;
/// The exit code if a hang was ended.
pub const HUNG: u8 = 123;
/// The exit code if the command exists and cannot be run, as in a shell.
pub const CANNOT_RUN: u8 = 126;
/// The exit code if there is no such command, as in a shell.
pub const NOT_FOUND: u8 = 127;

/// How much is read at once; also what is written at once, so that a pipe with any room takes it whole.
const CHUNK: usize = 4_096;
/// How long it is waited for the rest of the output of processes that have ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long until it is seen that something on another thread is done.
const TASK_REST: Duration = Duration::from_millis(10);
/// How long processes that were killed may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A command to supervise, and by whom.
pub struct Order {
    /// The command.
    pub argv: Vec<String>,
    /// The stacks whose outer members run around it.
    pub stacks: Vec<Stack>,
    /// How many times as fast as the wall clock the strategies' clock runs.
    pub pace: u32,
    /// Programs that count as agents beside the known ones.
    pub agents: AgentNames,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Where evidence is kept.
    pub evidence: Option<PathBuf>,
    /// How what is kept is masked; `None`: not at all.
    pub mask: Option<Mask>,
    /// Where events are written.
    pub events: Option<EventsTo>,
    /// Only look, and say what would be done: the command is left to itself.
    pub dry_run: bool,
}

/// How a supervised run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The exit code.
    pub code: u8,
    /// Why it was ended, in one line; of a dry run, what would have been done. `None` if there was nothing to do.
    pub reason: Option<String>,
    /// Where its output and the evidence are kept.
    pub evidence: Option<PathBuf>,
    /// What could not be ended.
    pub left: Vec<String>,
    /// Which stream did not take the command's output, and why, so that output is lost; not for a caller that stopped reading.
    pub lost: Option<String>,
}

/// Why a command could not be supervised.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// A stack that does not fit.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The command could not be started.
    #[error("{program}: {error}")]
    Start {
        /// Its name.
        program: String,
        /// The kernel's word.
        error: io::Error,
    },
    /// The machine does not provide what is needed; with the remedy.
    #[error("{0}")]
    Machine(String),
    /// The events cannot be written where they are to go.
    #[error("--events {to}: {error}")]
    Events {
        /// Where they are to go.
        to: EventsTo,
        /// The kernel's word.
        error: io::Error,
    },
    /// A descriptor or a file of ours.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs a command to its end, or to ours.
///
/// # Errors
/// A stack that does not fit, a command that cannot be started, a folder that cannot be written.
pub fn supervise(order: Order) -> Result<Report, SuperviseError> {
    let names: Vec<String> = order.stacks.iter().map(|stack| stack.name.clone()).collect();
    let mut host = SuperviseHost::new(order.stacks, order.pace)?;
    // without this, processes that escape could not be found
    machine::has_proc().map_err(|missing| SuperviseError::Machine(missing.to_string()))?;
    tree::adopt()?;
    let (signals, mask) = Signals::block()?;
    let events = order.events.map(|to| Events::open(&to).map_err(|error| SuperviseError::Events { to, error }));
    let events = events.transpose()?;
    let evidence = Evidence::open(order.evidence.as_deref(), order.mask)?;
    let program = order.argv.first().cloned().unwrap_or_default();
    let run = match start::start(&order.argv, mask) {
        Ok(run) => run,
        Err(error) => {
            return Err(match machine::remedy_of_start(&error) {
                Some(remedy) => SuperviseError::Machine(format!("{program} could not be started: {error}; {remedy}")),
                None => SuperviseError::Start { program, error },
            });
        }
    };
    // without it a `kill -9` of this process would leave the command's children
    let watch = watch::Watch::over(run.pid)?;
    let raw = run.master.is_some().then(Raw::set).transpose()?;
    let steps = host.begin(run.terminal, run.outputs[1].is_none());
    let mut supervisor = Supervisor {
        told: Told::default(),
        last_line: LastLine::default(),
        heard: Heard::default(),
        events,
        dry: order.dry_run.then(Dry::default),
        last_look: None,
        glances: None,
        glance: None,
        asks: None,
        agents: order.agents,
        argv: order.argv,
        host,
        before: None,
        looks_before: false,
        relays_only: false,
        signalled: false,
        run,
        signals,
        evidence,
        exit: None,
        unsaid: [Vec::new(), Vec::new()],
        in_a_line: false,
        typed: Vec::new(),
        lost: None,
        typing: true,
        grace: order.grace,
        parts: Vec::new(),
    };
    supervisor.tell_start(names);
    supervisor.carry_out(&steps);
    supervisor.tell_plan();
    let end = supervisor.drive()?;
    let report = supervisor.conclude(end)?;
    drop(watch);
    // the terminal's settings are restored before anything is printed
    drop(raw);
    start::take_back_the_foreground();
    Ok(report)
}

/// Signals as a descriptor.
struct Signals(SignalFd);

/// The signals that are passed on to the command.
const PASSED_ON: [Sig; 6] = [Sig::SIGHUP, Sig::SIGINT, Sig::SIGQUIT, Sig::SIGTERM, Sig::SIGUSR1, Sig::SIGUSR2];

impl Signals {
    /// From here on signals are read from this descriptor. Also returns what was blocked before: children inherit that
    /// and no more.
    fn block() -> io::Result<(Signals, SigSet)> {
        let mut set = SigSet::empty();
        for signal in PASSED_ON.into_iter().chain([Sig::SIGCHLD, Sig::SIGWINCH]) {
            set.add(signal);
        }
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut before))?;
        Ok((Signals(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?), before))
    }

    fn next(&mut self) -> Option<Sig> {
        let info = self.0.read_signal().ok().flatten()?;
        Sig::try_from(info.ssi_signo.cast_signed()).ok()
    }
}

/// How it came to an end.
enum End {
    /// By itself: all streams ended and it exited.
    Itself,
    /// A strategy takes it as over.
    Settled(String, Settled),
    /// A strategy has begun to end it; of a dry run.
    Begun,
}

/// What an end that is not the command's own means.
struct Meaning {
    code: u8,
    /// Why, with the cause and what ended it.
    what: String,
    /// `stopped`, `completed` or `failed`.
    settled: &'static str,
    /// Whether the run is taken as over, and not ended.
    over: bool,
    by: String,
    cause: String,
    text: String,
    constants: BTreeMap<String, u64>,
    after_ms: u64,
}

struct Supervisor {
    argv: Vec<String>,
    host: SuperviseHost,
    run: Running,
    signals: Signals,
    evidence: Evidence,
    /// Programs that count as agents in every look.
    agents: AgentNames,
    /// The beginning of a look that a strategy has asked for.
    glances: Option<Beside<Glance>>,
    /// That look, until its end is due.
    glance: Option<Glance>,
    /// Its end.
    asks: Option<Beside<Look>>,
    /// The last look of all.
    last_look: Option<Look>,
    /// The last line of its terminal or stdout.
    last_line: LastLine,
    /// What an agent has said of itself there.
    heard: Heard,
    events: Option<Events>,
    told: Told,
    /// What would have been done; `None` if it is really done.
    dry: Option<Dry>,
    /// What the command did before the first signal.
    before: Option<Before>,
    /// That is being found out.
    looks_before: bool,
    /// No look is taken notice of for now.
    relays_only: bool,
    /// A strategy has sent a signal.
    signalled: bool,
    /// Its code, or -signal.
    exit: Option<i32>,
    /// Output that the caller has not taken yet.
    unsaid: [Vec<u8>; 2],
    /// The command's stderr has ended within a line.
    in_a_line: bool,
    /// Which stream did not take output, and why.
    lost: Option<String>,
    /// Keys that the command's terminal has not taken yet.
    typed: Vec<u8>,
    /// Our terminal still gives keys.
    typing: bool,
    grace: Duration,
    /// The processes of parts that were ended.
    parts: Vec<part::Held>,
}

impl Supervisor {
    fn drive(&mut self) -> io::Result<End> {
        loop {
            if self.host.settled().is_some() && !self.is_spent() && self.exit.is_none() && self.ends_meanwhile()? {
                return Ok(End::Itself);
            }
            if let Some((who, settled)) = self.host.settled().filter(|_| !self.is_spent()) {
                let end = End::Settled(who.clone(), settled.clone());
                if self.dry.is_none() {
                    return Ok(end);
                }
                self.would_end(&end)?;
            }
            if self.dry.as_ref().is_some_and(|dry| dry.due) {
                self.would_end(&End::Begun)?;
            }
            if self.is_over() {
                return Ok(End::Itself);
            }
            let rests = [self.host.rest(), self.glance.as_ref().map(Glance::rest)];
            self.pump(rests.into_iter().flatten().min())?;
            let steps = self.host.tick();
            if !steps.is_empty() {
                self.carry_out(&steps);
                self.tell_plan();
            }
            self.look_for_strategies();
        }
    }

    /// Goes on with the look that strategies have asked for, as far as it is.
    fn look_for_strategies(&mut self) {
        if let Some(begun) = self.glances.as_ref().and_then(Beside::result) {
            (self.glances, self.glance) = (None, begun);
        }
        if let Some(mut glance) = self.glance.take_if(|glance| glance.rest().is_zero()) {
            glance.hear(&self.heard);
            self.asks = Beside::begin(|| glance.end()).ok();
        }
        let Some(done) = self.asks.as_ref().and_then(Beside::result) else { return };
        self.asks = None;
        let Some(look) = done else { return };
        self.tell_look(&look);
        let steps = self.host.see(ProcessSeen::Looked(Box::new(look.diagnosis.clone())));
        self.last_look = Some(look);
        self.carry_out(&steps);
        self.tell_plan();
        self.tell_notice();
    }

    fn carry_out(&mut self, steps: &[Step]) {
        for step in steps {
            match *step {
                // for a run that is over, the processes that hold its streams are ended below
                Step::Signal { whom: Whom::Holders, .. } => {}
                Step::Signal { signal, whom } => self.signal(signal, whom),
                // strategies that ask at once share one look
                Step::Look if self.glances.is_some() || self.glance.is_some() || self.asks.is_some() => {}
                Step::Look => {
                    let (pid, agents) = (self.run.pid, self.agents.clone());
                    self.glances = Beside::begin(move || Glance::begin(&[pid]).asking().naming(&agents)).ok();
                }
                // stdin belongs to the caller, and only the caller can end it; a look decides whether a process waits
                // for it
                Step::CloseStdin => {}
                Step::Say(ref text) => self.say(text),
            }
        }
    }

    /// Writes a line of our own to stderr, after what the command has written there. On a terminal that the command draws
    /// on nothing is written.
    fn say(&mut self, text: &str) {
        if self.run.master.is_none() {
            let line = if self.in_a_line { "\n" } else { "" };
            self.unsaid[1].extend_from_slice(format!("{line}rehang: {}\n", visible(text)).as_bytes());
            self.in_a_line = false;
        }
    }

    /// Sends the signal that a strategy wants to be sent; a dry run sends none.
    fn signal(&mut self, name: &'static str, whom: Whom) {
        if let Some(dry) = &mut self.dry {
            dry.due = true;
            dry.part = if let Whom::Part(pid) = whom { Some(pid) } else { None };
            return;
        }
        // what outlives the command is ended with the run, and has the grace for it
        if self.exit.is_some() {
            return;
        }
        let (signal, of_tree) = match name {
            "KILL" => (Sig::SIGKILL, Signal::KILL),
            "INT" => (Sig::SIGINT, Signal::INT),
            _ => (Sig::SIGTERM, Signal::TERM),
        };
        if let Whom::Part(pid) = whom {
            return self.signal_part(name, of_tree, pid);
        }
        self.look_before();
        // it may have ended by itself meanwhile
        if self.exit.is_some() {
            return;
        }
        self.signalled = true;
        self.tell_signal(name);
        match whom {
            Whom::Part(_) => {}
            Whom::Process => self.send(signal, false),
            Whom::Group => self.send(signal, true),
            Whom::Tree | Whom::Holders => tree::signal(&tree::below(), of_tree),
        }
    }

    /// Keeps what the command does, before the first signal. Its output is passed on meanwhile.
    fn look_before(&mut self) {
        if self.before.is_some() || self.looks_before {
            return;
        }
        // what comes out meanwhile may make a strategy signal again
        self.looks_before = true;
        let (pid, exited, agents) = (self.run.pid, self.exit.is_some(), self.agents.clone());
        let before = self.meanwhile(move || Before::look(pid, exited, &agents));
        self.before = Some(before.ok().flatten().unwrap_or_default());
        self.looks_before = false;
    }

    /// Does something that takes its time, and relays meanwhile.
    fn meanwhile<T: Send + 'static>(&mut self, does: impl FnOnce() -> T + Send + 'static) -> io::Result<Option<T>> {
        let task = Beside::begin(does)?;
        let relays_only = std::mem::replace(&mut self.relays_only, true);
        let done = loop {
            if let Some(done) = task.result() {
                break Ok(done);
            }
            if let Err(error) = self.pump(Some(TASK_REST)) {
                break Err(error);
            }
        };
        self.relays_only = relays_only;
        done
    }

    /// Whether the command has ended by itself before anything was done about it: its end may have come with the moment in
    /// which it was taken as hung.
    fn ends_meanwhile(&mut self) -> io::Result<bool> {
        if self.signalled {
            return Ok(false);
        }
        if self.exit.is_none() {
            self.pump(Some(Duration::ZERO))?;
        }
        if self.exit.is_some() {
            let relays_only = std::mem::replace(&mut self.relays_only, true);
            self.until(LAST_WORDS, || false)?;
            self.relays_only = relays_only;
        }
        Ok(self.is_over())
    }

    /// Whether it has exited and all of its streams have ended and were passed on.
    fn is_over(&self) -> bool {
        let said = self.unsaid.iter().all(Vec::is_empty);
        self.exit.is_some() && self.run.outputs.iter().all(Option::is_none) && said
    }

    /// Sends a signal to the command or its group, but not once it has been reaped: the number may belong to another
    /// process by then.
    fn send(&self, signal: Sig, group: bool) {
        let pid = nix::unistd::Pid::from_raw(self.run.pid);
        if self.exit.is_none() {
            let _ = if group { nix::sys::signal::killpg(pid, signal) } else { nix::sys::signal::kill(pid, signal) };
        }
    }

    /// Waits for whatever comes first, and handles all that has come.
    fn pump(&mut self, rest: Option<Duration>) -> io::Result<()> {
        let ready = self.wait(rest)?;
        if ready.signals {
            while let Some(signal) = self.signals.next() {
                self.caught(signal);
            }
        }
        for at in [0, 1] {
            if ready.said[at] {
                let to: BorrowedFd<'_> = if at == 0 { rustix::stdio::stdout() } else { rustix::stdio::stderr() };
                let end = self.unsaid[at].len().min(CHUNK);
                match rustix::io::write(to, &self.unsaid[at][..end]) {
                    Ok(n) => drop(self.unsaid[at].drain(..n)),
                    Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                    // the caller has stopped reading: the command is told, as it would be without us
                    Err(error) => {
                        if error != rustix::io::Errno::PIPE {
                            let stream = ["stdout", "stderr"][at];
                            let error = io::Error::from(error);
                            self.lost
                                .get_or_insert_with(|| format!("{stream} does not take the command's output: {error}"));
                        }
                        self.unsaid[at].clear();
                        self.ended(at);
                    }
                }
            }
            if ready.output[at] {
                self.read(at);
            }
        }
        if ready.keys {
            let mut keys = [0; CHUNK];
            match rustix::io::read(rustix::stdio::stdin(), &mut keys) {
                Ok(0) | Err(_) => self.typing = false,
                Ok(n) => {
                    self.typed.extend_from_slice(&keys[..n]);
                    self.tell_moved();
                    let steps = self.host.see(ProcessSeen::Wrote(keys[..n].to_vec()));
                    self.carry_out(&steps);
                }
            }
        }
        if ready.events
            && let Some(events) = &mut self.events
        {
            events.send();
        }
        if ready.typed
            && let Some(master) = &self.run.master
        {
            match rustix::io::write(master, &self.typed) {
                Ok(n) => drop(self.typed.drain(..n)),
                Err(_) => self.typed.clear(),
            }
        }
        Ok(())
    }

    fn wait(&self, rest: Option<Duration>) -> io::Result<Ready> {
        let limit = rest.map(timespec);
        let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
        let mut polled = vec![(What::Signals, PollFd::from_borrowed_fd(self.signals.0.as_fd(), PollFlags::IN))];
        for (at, ours) in [stdout, stderr].into_iter().enumerate() {
            match &self.run.outputs[at] {
                // while the caller does not read, the command cannot write: it is held up as it would be without us
                _ if !self.unsaid[at].is_empty() => {
                    polled.push((What::Said(at), PollFd::from_borrowed_fd(ours, PollFlags::OUT)));
                }
                Some(fd) => polled.push((What::Output(at), PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN))),
                None => {}
            }
        }
        if let Some(master) = &self.run.master {
            match self.typed.is_empty() {
                true if self.typing => polled.push((What::Keys, PollFd::from_borrowed_fd(stdin, PollFlags::IN))),
                true => {}
                false => polled.push((What::Typed, PollFd::from_borrowed_fd(master.as_fd(), PollFlags::OUT))),
            }
        }
        let glances = self.glances.as_ref().map(Beside::wakes);
        let wakes = glances.into_iter().chain(self.asks.as_ref().map(Beside::wakes));
        // what is done stays readable until it is taken
        for fd in wakes.filter(|_| !self.relays_only) {
            polled.push((What::Looked, PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        if let Some(fd) = self.events.as_ref().and_then(Events::unsent) {
            polled.push((What::Events, PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        }
        let mut fds: Vec<PollFd<'_>> = polled.iter().map(|(_, fd)| fd.clone()).collect();
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = Ready::default();
        let due = polled.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        for ((what, _), _) in due {
            match *what {
                What::Signals => ready.signals = true,
                What::Said(at) => ready.said[at] = true,
                What::Output(at) => ready.output[at] = true,
                What::Keys => ready.keys = true,
                What::Events => ready.events = true,
                What::Typed => ready.typed = true,
                // what it has found is taken after everything else
                What::Looked => {}
            }
        }
        Ok(ready)
    }

    fn read(&mut self, at: usize) {
        let Some(fd) = &self.run.outputs[at] else { return };
        let mut bytes = [0; CHUNK];
        match rustix::io::read(fd, &mut bytes) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // EIO: no process has the terminal open any more
            Ok(0) | Err(_) => self.ended(at),
            Ok(n) => {
                let bytes = &bytes[..n];
                self.evidence.output(at, bytes);
                if at == 0 {
                    self.last_line.add(bytes);
                    self.heard.output(bytes, self.run.master.is_some());
                }
                self.unsaid[at].extend_from_slice(bytes);
                if at == 1 {
                    self.in_a_line = bytes.last() != Some(&b'\n');
                }
                self.tell_moved();
                let steps = self.host.see(ProcessSeen::Output(STREAMS[at], bytes.to_vec()));
                self.carry_out(&steps);
            }
        }
    }

    fn ended(&mut self, at: usize) {
        self.run.outputs[at] = None;
        let steps = self.host.see(ProcessSeen::OutputEnd(STREAMS[at]));
        self.carry_out(&steps);
    }

    fn caught(&mut self, signal: Sig) {
        match signal {
            Sig::SIGCHLD => {
                let own = tree::reap().into_iter().find(|(pid, _)| *pid == self.run.pid);
                if let Some((_, end)) = own {
                    self.exit = Some(end);
                    let steps = self.host.see(ProcessSeen::Exited(end));
                    self.carry_out(&steps);
                    self.tell_plan();
                }
            }
            Sig::SIGWINCH => {
                // the kernel tells the processes of that terminal
                if let Some(master) = &self.run.master {
                    start::copy_window(master);
                }
            }
            passed_on => self.send(passed_on, true),
        }
    }

    fn conclude(mut self, end: End) -> io::Result<Report> {
        self.relays_only = true;
        if let End::Itself = end {
            return Ok(self.conclude_by_itself());
        }
        let meaning = self.meaning(&end);
        let ran = self.exit.is_none();
        self.look_before();
        if ran && self.ends_meanwhile()? {
            return Ok(self.conclude_by_itself());
        }
        let Before { look, there } = self.before.take().unwrap_or_default();
        let all = tree::below();
        let chosen = self.chosen(&all, meaning.over);
        let names: Vec<String> = named_once(&there, &all, &chosen).map(called).collect();
        self.tell_end_of(&meaning, &chosen);
        let left: Vec<String> = self.end(meaning.over)?.iter().map(called).collect();
        let why = self.why(&meaning, look.as_ref(), &names, &left)?;
        let kept = self.evidence.keep(why);
        let who = if names.is_empty() { String::new() } else { format!("; ended {}", names.join(", ")) };
        let verb = if meaning.over { "took the run as finished" } else { "ended" };
        let after = took(Duration::from_millis(meaning.after_ms));
        let unkept =
            kept.as_ref().err().map(|error| format!("; the evidence could not be kept: {error}")).unwrap_or_default();
        let reason = Some(format!("{verb} after {after}: {}{who}{unkept}", meaning.what));
        let report = Report { code: meaning.code, reason, evidence: kept.ok(), left, lost: self.lost.take() };
        self.tell_end(Some(meaning.by), &report, names);
        Ok(report)
    }

    /// The run ended by itself: nothing is kept, unless it is a dry run in which something would have been done.
    fn conclude_by_itself(mut self) -> Report {
        let code = own_code(self.exit.unwrap_or_default());
        let (reason, evidence) = self.dry_report();
        let report = Report { code, reason, evidence, left: Vec::new(), lost: self.lost.take() };
        self.tell_end(None, &report, Vec::new());
        report
    }

    /// What an end that is not the command's own means.
    fn meaning(&self, end: &End) -> Meaning {
        let policy = self.host.report().map(|(_, policy)| policy);
        let text = policy.and_then(|policy| policy.text.clone()).unwrap_or_else(|| "it is over".to_owned());
        let constants = policy.map(|policy| policy.constants.clone()).unwrap_or_default();
        let after_ms = self.host.elapsed_ms();
        let of = |by: &str, cause: &str, text: &str, code, settled| Meaning {
            code,
            what: format!("{text} [{cause}, {by}]"),
            settled,
            over: settled != "stopped",
            by: by.to_owned(),
            cause: cause.to_owned(),
            text: text.to_owned(),
            constants: constants.clone(),
            after_ms,
        };
        match end {
            End::Itself => of("", "", "", own_code(self.exit.unwrap_or_default()), "completed"),
            End::Begun => {
                let (by, policy) = self.host.report().cloned().unwrap_or_default();
                of(&by, &policy.detected.unwrap_or_default(), &text, HUNG, "stopped")
            }
            End::Settled(by, Settled::Stopped(cause, text)) => {
                of(by, cause, text, if cause == "wall" { WALL } else { HUNG }, "stopped")
            }
            End::Settled(by, settled) => {
                let ok = matches!(settled, Settled::Completed(_));
                let cause = policy.and_then(|policy| policy.detected.clone()).unwrap_or_default();
                let code = self.exit.map_or(u8::from(!ok), own_code);
                of(by, &cause, &text, code, if ok { "completed" } else { "failed" })
            }
        }
    }

    /// The processes that an end concerns: of a run that is over, only those that keep its streams open; others were
    /// left on purpose.
    fn chosen(&self, all: &[Below], over: bool) -> Vec<Below> {
        if over { tree::holders(all, &self.run.files) } else { all.to_vec() }
    }

    /// What is kept of the reasons.
    fn why(
        &self,
        meaning: &Meaning,
        look: Option<&Look>,
        ended: &[String],
        left: &[String],
    ) -> io::Result<serde_json::Value> {
        let policy = self.host.report().map(|(who, policy)| json!({ "strategy": who, "policy": policy }));
        Ok(json!({
            "command": self.argv,
            "after_ms": self.host.elapsed_ms(),
            "dry_run": self.dry.is_some(),
            "settled": meaning.settled,
            "code": meaning.code,
            "reason": meaning.what,
            "ended": ended,
            "left": left,
            "last_line": self.last_line.text(),
            "policy": policy,
            "diagnosis": look.map(|look| serde_json::to_value(&look.diagnosis)).transpose()?,
            "snapshot": look.map(|look| serde_json::to_value(&look.after)).transpose()?,
        }))
    }

    /// Ends all processes below, or only those that hold its streams: TERM, after the grace KILL, until none is left.
    /// Returns those that are left nevertheless. What they still say is passed on.
    fn end(&mut self, holders: bool) -> io::Result<Vec<Below>> {
        let files = self.run.files.clone();
        let chosen = move || {
            let all = tree::below();
            if holders { tree::holders(&all, &files) } else { all }
        };
        tree::signal(&chosen(), Signal::TERM);
        // one that is stopped takes its signal when it goes on
        tree::signal(&chosen(), Signal::CONT);
        self.until(self.grace, || chosen().is_empty())?;
        let began = Instant::now();
        while !chosen().is_empty() && began.elapsed() < GONE_WITHIN {
            // a process that is killed may have had a child meanwhile
            tree::signal(&chosen(), Signal::KILL);
            self.until(Duration::from_millis(100), || chosen().is_empty())?;
        }
        // the last words
        self.until(LAST_WORDS, || false)?;
        // not everywhere does somebody above this process reap what it leaves
        tree::reap();
        Ok(chosen())
    }

    /// Passes output on until a condition holds, all streams have ended, or a time is over.
    fn until(&mut self, limit: Duration, so: impl Fn() -> bool) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let nothing = self.run.outputs.iter().all(Option::is_none) && self.unsaid.iter().all(Vec::is_empty);
            let rest = limit.saturating_sub(began.elapsed());
            if so() || rest.is_zero() || (nothing && tree::below().is_empty()) {
                return Ok(());
            }
            self.pump(Some(rest.min(Duration::from_millis(50))))?;
        }
    }
}

fn timespec(rest: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(rest.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(rest.subsec_nanos()) }
}

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// What a descriptor was polled for.
#[derive(Clone, Copy)]
enum What {
    Signals,
    Said(usize),
    Output(usize),
    Keys,
    Typed,
    Events,
    Looked,
}

#[derive(Default)]
struct Ready {
    signals: bool,
    said: [bool; 2],
    output: [bool; 2],
    keys: bool,
    typed: bool,
    events: bool,
}

/// The processes that were `there` before the first signal and have ended since or are `chosen` now, parents before
/// children; then those of the chosen that came later.
fn named_once<'a>(there: &'a [Below], all: &'a [Below], chosen: &'a [Below]) -> impl Iterator<Item = &'a Below> {
    let is_in = |list: &[Below], one: &Below| list.iter().any(|other| other.pid == one.pid);
    let before = there.iter().filter(move |one| !is_in(all, one) || is_in(chosen, one));
    before.chain(chosen.iter().filter(move |one| !is_in(there, one)))
}

fn called(process: &Below) -> String {
    format!("{} ({})", process.name, process.pid)
}

/// A command's end as a shell reports it: its code, or 128 plus the signal.
fn own_code(end: i32) -> u8 {
    u8::try_from(if end < 0 { 128 - end } else { end }).unwrap_or(1)
}
