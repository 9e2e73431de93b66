//! Guard around one process: fed with what the caller sees, asked for what is to be done.
//!
//! Invariants: nothing here waits for the process: a look is taken by a thread ([`crate::looks`]), and a later question has its result; a
//! signal is only for processes that were seen below the guarded one and have not been replaced by others since.

use crate::looks::Seat;
use crate::options::Stdin;
use crate::{Error, GuardOptions};
use rehang_evidence::data::{Process, State as ProcessState};
use rehang_evidence::report::{State, VERSION};
use rehang_evidence::{AgentNames, Heard, Limits, Look, Options, Pid, Report, Snapshot, Subject, take};
use rehang_strategy::{Intended, ProcessHost, ProcessSeen, Settled, Step, Stream, VTime, Whom};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// How soon to ask again while a look is under way, in milliseconds of the caller's clock.
const LOOKING_MS: u64 = 100;

/// Strategies around a process, `guard` first of all.
pub struct Guard {
    pid: Pid,
    host: ProcessHost,
    began: Instant,
    pace: u32,
    at_terminal: bool,
    asks: bool,
    agents: AgentNames,
    heard: Heard,
    /// Whether anything was said since the last look.
    said: bool,
    looking: Option<Receiver<Look>>,
    desk: Seat,
    found: Option<(Report, Instant)>,
    /// The processes that looks have seen, and when each began.
    seen: BTreeMap<Pid, u64>,
    steps: Vec<Step>,
}

/// What is to be done, and why.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The version of the format.
    pub v: u32,
    /// The process that is guarded.
    pub pid: Pid,
    /// What it does. After output it is `working`, until a look says more.
    pub state: State,
    /// The last look, if nothing was said since.
    pub why: Option<Report>,
    /// What the caller is to do now, in this order; no step is returned twice.
    pub steps: Vec<Deed>,
    /// What will be done, and when, if nothing changes before then.
    pub plan: Option<Plan>,
    /// How the run has ended; nothing more is to be done after it.
    pub settled: Option<End>,
    /// When to ask again at the latest, in milliseconds from now; null if there is nothing to wait for.
    pub next_ms: Option<u64>,
}

/// Something that the caller is to do.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// Send a signal to each of these processes.
    Signal {
        /// The signal without `SIG`: `TERM`, `KILL`, `INT`.
        signal: &'static str,
        /// To whom, parents first.
        pids: Vec<Pid>,
    },
    /// Close the process's stdin, if that is a pipe that the caller holds.
    CloseStdin,
    /// Tell the user this.
    Say {
        /// The text.
        text: String,
    },
}

/// What will be done.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// The strategy.
    pub by: String,
    /// `end`, `end-part`, `close-stdin` or `take-as-over`.
    pub does: &'static str,
    /// The cause in a word.
    pub cause: String,
    /// The cause in words.
    pub text: String,
    /// The process that it is about; null for the run as a whole.
    pub pid: Option<Pid>,
    /// When, in milliseconds from now.
    pub in_ms: u64,
}

/// How a run has ended.
#[derive(Debug, Serialize)]
pub struct End {
    /// The strategy that says so.
    pub by: String,
    /// `completed`: it is over, even if a process still holds its output; `stopped`: it hung, and was ended; `failed`.
    pub how: &'static str,
    /// The cause of `stopped`, in a word.
    pub cause: Option<String>,
    /// What it returned, or why it was ended or failed.
    pub text: String,
}

impl Guard {
    /// Around a process that has just been started.
    ///
    /// # Errors
    /// There is no such process; an option is wrong; /proc cannot be read.
    pub fn new(pid: Pid, options: &GuardOptions) -> Result<Guard, Error> {
        crate::must_be_a_pid(pid)?;
        let host = ProcessHost::new(options.stacks()?).map_err(|error| Error::Usage(error.to_string()))?;
        let agents = options.names()?;
        let first = take(&[pid], &Options::default())?;
        let (terminal, at_terminal) = (options.stdin.terminal(), options.stdin == Stdin::Terminal);
        let mut guard = Guard {
            pid,
            host,
            began: Instant::now(),
            pace: options.pace.max(1),
            at_terminal,
            asks: options.ask,
            agents,
            heard: Heard::default(),
            said: false,
            looking: None,
            desk: Seat::take(),
            found: None,
            seen: BTreeMap::new(),
            steps: Vec::new(),
        };
        guard.remember(&first);
        let steps = guard.host.start(VTime::ZERO, terminal, options.one_stream || at_terminal);
        guard.steps.extend(steps);
        if options.stdin == Stdin::Inherited {
            guard.see(ProcessSeen::StdinIsTheCallers);
        }
        Ok(guard)
    }

    /// The process has written this; no bytes are the end of the stream.
    pub fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return self.see(ProcessSeen::OutputEnd(stream));
        }
        if stream == Stream::Stdout {
            self.heard.output(bytes, self.at_terminal);
        }
        self.moved();
        self.see(ProcessSeen::Output(stream, bytes.to_vec()));
    }

    /// The caller has written this to the process's stdin.
    pub fn wrote(&mut self, bytes: &[u8]) {
        self.moved();
        self.see(ProcessSeen::Wrote(bytes.to_vec()));
    }

    /// The process has ended: its exit code, or minus the signal's number.
    pub fn exited(&mut self, code: i32) {
        (self.said, self.found) = (false, None);
        self.see(ProcessSeen::Exited(code));
    }

    /// What is to be done now. Takes no longer than it takes to read processes, and that only if one is to get a signal.
    pub fn ask(&mut self) -> Answer {
        match self.looking.as_ref().map(Receiver::try_recv) {
            Some(Ok(look)) => {
                self.looking = None;
                self.looked(look);
            }
            // it failed: the next one is due later, and the strategies' own limits go on
            Some(Err(TryRecvError::Disconnected)) => self.looking = None,
            Some(Err(TryRecvError::Empty)) | None => {}
        }
        let steps = self.host.tick(self.now());
        self.steps.extend(steps);
        let steps = std::mem::take(&mut self.steps).into_iter().filter_map(|step| self.deed(step)).collect();
        let now = self.now();
        let plan = self.host.intent().map(|(by, intent)| {
            let (does, in_ms) = (intent.does, self.real_ms(intent.at.since(now).as_ms()));
            Plan { by, does: Intended::word(does), cause: intent.cause, text: intent.text, pid: intent.pid, in_ms }
        });
        self.desk.is_due(self.host.deadline().map(|at| Duration::from_millis(self.real_ms(at.since(now).as_ms()))));
        let settled = self.host.settled().map(|(by, settled)| end(by, settled));
        let due = self.host.deadline().map(|at| self.real_ms(at.since(now).as_ms()));
        let next_ms = match &self.looking {
            _ if settled.is_some() => None,
            Some(_) => Some(due.map_or(LOOKING_MS, |due| due.min(LOOKING_MS))),
            None => due,
        };
        let why = self.found.as_ref().map(|(report, since)| Report {
            for_ms: report.for_ms.map(|ms| ms.max(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX))),
            ..report.clone()
        });
        let unseen = if self.said { State::Working } else { State::Unknown };
        let state = why.as_ref().map_or(unseen, |why| why.state);
        Answer { v: VERSION, pid: self.pid, state, why, steps, plan, settled, next_ms }
    }

    fn see(&mut self, seen: ProcessSeen) {
        let steps = self.host.see(self.now(), seen);
        self.steps.extend(steps);
    }

    /// What was found no longer counts.
    fn moved(&mut self) {
        (self.said, self.found) = (true, None);
    }

    fn looked(&mut self, look: Look) {
        self.remember(&look.after);
        let report = Report::of(&look, &Limits::default());
        let what = |report: &Report| (report.state, report.diagnosis.signature, report.diagnosis.pid);
        // it was so at the first of the two snapshots
        let first = || Instant::now().checked_sub(Duration::from_millis(look.diagnosis.window_ms));
        let since = self.found.take().filter(|(before, _)| what(before) == what(&report)).map(|(_, since)| since);
        let since = since.or_else(first).unwrap_or_else(Instant::now);
        (self.said, self.found) = (false, Some((report, since)));
        self.see(ProcessSeen::Looked(Box::new(look.diagnosis)));
    }

    fn remember(&mut self, snapshot: &Snapshot) {
        self.seen.retain(|pid, _| Path::new("/proc").join(pid.to_string()).exists());
        self.seen.extend(snapshot.tree.values().map(|process| (process.pid, process.began_ns)));
    }

    fn deed(&mut self, step: Step) -> Option<Deed> {
        match step {
            Step::Signal { signal, whom } => {
                let pids = self.who(whom);
                (!pids.is_empty()).then_some(Deed::Signal { signal, pids })
            }
            Step::CloseStdin => Some(Deed::CloseStdin),
            Step::Say(text) => Some(Deed::Say { text }),
            Step::Look => {
                self.look();
                None
            }
        }
    }

    /// Begins a look if none is under way.
    fn look(&mut self) {
        if self.looking.is_some() {
            return;
        }
        let (names, heard) = (self.agents.clone(), self.heard.clone());
        self.looking = self.desk.look(Subject { pid: self.pid, names, heard, asks: self.asks });
    }

    /// The processes that a signal is for, as far as they are there.
    fn who(&self, whom: Whom) -> Vec<Pid> {
        let known: Vec<Pid> = match whom {
            Whom::Process | Whom::Group | Whom::Tree => self.seen.keys().copied().collect(),
            Whom::Part(part) => vec![part],
            // the caller closes its own ends instead, since the run is over
            Whom::Holders => return Vec::new(),
        };
        let Ok(now) = take(&known, &Options::default()) else { return Vec::new() };
        let is_same = |process: &&Process| self.seen.get(&process.pid) == Some(&process.began_ns);
        let same: Vec<Pid> = now.tree.values().filter(is_same).map(|process| process.pid).collect();
        let group = now.process(self.pid).map(|process| process.pgrp);
        let is_meant = |process: &&Process| match whom {
            Whom::Process => process.pid == self.pid,
            Whom::Group => Some(process.pgrp) == group,
            Whom::Tree | Whom::Part(_) | Whom::Holders => true,
        };
        let is_below = |process: &&Process| same.iter().any(|known| now.descends(process.pid, *known));
        let lives = |process: &&Process| process.state != ProcessState::Zombie;
        now.tree.values().filter(lives).filter(is_below).filter(is_meant).map(|process| process.pid).collect()
    }

    /// The strategies' clock.
    fn now(&self) -> VTime {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        VTime(ms.saturating_mul(u64::from(self.pace)))
    }

    /// Milliseconds of the caller's clock, rounded up.
    fn real_ms(&self, ms: u64) -> u64 {
        ms.div_ceil(u64::from(self.pace))
    }
}

fn end(by: &str, settled: &Settled) -> End {
    let (how, cause, text) = match settled {
        Settled::Completed(text) => ("completed", None, text),
        Settled::Stopped(cause, text) => ("stopped", Some(cause.clone()), text),
        Settled::Failed(text) => ("failed", None, text),
    };
    End { by: by.to_owned(), how, cause, text: text.clone() }
}
