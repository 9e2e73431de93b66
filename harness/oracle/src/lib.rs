//! Looks at a tree in virtual time, and says afterwards which of them were true.
//!
//! A process that ended by itself was not hung at any instant before. One that is left when nothing can ever happen again
//! is hung from then on. So each run tests the rules of `rehang why` on real processes, without anybody who knows them.

use rehang_evidence::{
    Limits, Look as Read, Options, Pid, Snapshot, TracedProcess, TracedThread, Verdict, VirtualTime, take,
};
use rehang_warp::{Ending, Exit, Look, Next, Verdict as End, in_seconds};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Virtual time between the two snapshots of a look, as `rehang why` has it.
const WINDOW: Duration = Duration::from_secs(1);
/// The first look.
const FIRST: Duration = Duration::from_secs(1);
/// The most processes that one look asks about, the oldest first.
const MOST: usize = 32;
/// The kernel's ages of connections and stops are of its own ticks: at most so long (CONFIG_HZ is 100 at least).
const TICK: Duration = Duration::from_millis(10);

/// What was said of one process at one look, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Said {
    /// Virtual time from the start, in seconds.
    at_seconds: f64,
    pid: Pid,
    #[serde(skip)]
    born: Duration,
    /// The process's name.
    program: String,
    verdict: Verdict,
    /// How sure that is, in words.
    sure: &'static str,
    signature: String,
    sentence: String,
    /// After how many milliseconds it counts as hung, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    hung_in_ms: Option<u64>,
    truth: Truth,
    /// It was called hung, and was not.
    is_false: bool,
}

/// What became of a process after a look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// It ended with an exit code.
    EndedByItself,
    /// It was left when nothing could ever happen again, and that was so already.
    Hung,
    /// Another process may have ended it, or it lived on.
    #[default]
    Unknown,
}

/// All looks of a run.
#[derive(Debug)]
pub struct Oracle {
    /// When, in virtual time from the start; the later ones last.
    instants: std::vec::IntoIter<Duration>,
    /// The clock of processes' births at the start of the run, in ns since boot.
    boot_ns: u64,
    /// The first snapshots of the look that is due next.
    before: BTreeMap<Pid, Snapshot>,
    said: Vec<Said>,
}

impl Oracle {
    /// `count` looks up to a horizon, each as many times later than the one before it as that is than its own.
    pub fn new(count: u32, horizon: Duration) -> Oracle {
        let (first, last) = (FIRST.as_secs_f64(), horizon.as_secs_f64().max(FIRST.as_secs_f64()));
        let instant = |n: u32| {
            let part = f64::from(n) / f64::from(count.saturating_sub(1).max(1));
            Duration::from_millis((first * (last / first).powf(part) * 1000.0) as u64)
        };
        let instants: Vec<Duration> = (0..count).map(instant).collect();
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Oracle {
            instants: instants.into_iter(),
            boot_ns: (boot.tv_sec as u64).saturating_mul(1_000_000_000) + boot.tv_nsec as u64,
            before: BTreeMap::new(),
            said: Vec::new(),
        }
    }

    /// When the first look is.
    pub fn first(&mut self) -> Option<Duration> {
        self.instants.next()
    }

    /// The tree is asleep: takes the first or the second snapshots of a look.
    pub fn see(&mut self, look: &Look) -> Next {
        let options = Options { time: Some(Arc::new(self.time(look))), ..Options::default() };
        let pids = || look.processes.iter().take(MOST).map(|process| process.pid);
        if self.before.is_empty() {
            self.before = pids().filter_map(|pid| Some((pid, take(&[pid], &options).ok()?))).collect();
            return Next::At(look.at + WINDOW);
        }
        for process in look.processes.iter().take(MOST) {
            if let Some(before) = self.before.remove(&process.pid)
                && let Ok(after) = take(&[process.pid], &options)
            {
                let program = after.tree.get(&process.pid).map(|one| one.comm.clone()).unwrap_or_default();
                let diagnosis = Read::of(Some(before), after, &Limits::default()).diagnosis;
                self.said.push(Said {
                    at_seconds: look.at.as_secs_f64(),
                    pid: process.pid,
                    born: process.born,
                    program,
                    verdict: diagnosis.verdict,
                    sure: diagnosis.sure_in_words(),
                    signature: diagnosis.signature,
                    sentence: diagnosis.sentence,
                    hung_in_ms: diagnosis.hung_in_ms,
                    truth: Truth::Unknown,
                    is_false: false,
                });
            }
        }
        self.before.clear();
        let next = self.instants.find(|at| *at > look.at);
        next.map_or(Next::Never, Next::At)
    }

    /// The tree as the tracer knows it.
    fn time(&self, look: &Look) -> VirtualTime {
        let on_boot_clock =
            |at: Duration| self.boot_ns.saturating_add(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        let process = |process: &rehang_warp::Process| {
            let traced = TracedProcess { began_ns: on_boot_clock(process.born), has_alarm: process.alarm.is_some() };
            (process.pid, traced)
        };
        let thread = |thread: &rehang_warp::Thread| {
            let call = thread.call.map(|call| (call.number, call.arguments));
            (thread.tid, TracedThread { call, left: thread.deadline, is_stopped: thread.stopped })
        };
        let (now, jumps, real) = (look.at, Arc::clone(&look.jumps), Instant::now());
        VirtualTime {
            now_ns: on_boot_clock(now),
            processes: look.processes.iter().map(process).collect(),
            threads: look.threads.iter().map(thread).collect(),
            timerfds: look.timerfds.clone(),
            // the youngest that it can be: what is called hung must be so at that age
            age: Arc::new(move |ago| {
                let then = real.checked_sub(ago).and_then(|then| then.checked_add(TICK));
                now.saturating_sub(then.map_or(Duration::ZERO, |then| jumps.at(then)))
            }),
        }
    }

    /// What was said, with what became of each.
    pub fn judge(self, ending: &Ending) -> Looks {
        let exits: BTreeMap<(Pid, Duration), &Exit> =
            ending.exits.iter().map(|exit| ((exit.pid, exit.born), exit)).collect();
        let over = matches!(ending.verdict, End::Deadlock { .. }).then_some(ending.elapsed.as_secs_f64());
        let truth = |said: &Said| match exits.get(&(said.pid, said.born)) {
            Some(exit) if exit.code.is_some() => Truth::EndedByItself,
            None if over.is_some_and(|over| said.at_seconds - WINDOW.as_secs_f64() >= over) => Truth::Hung,
            _ => Truth::Unknown,
        };
        let judged = self.said.into_iter().map(|said| {
            let truth = truth(&said);
            Said { truth, is_false: truth == Truth::EndedByItself && said.verdict == Verdict::Hung, ..said }
        });
        Looks { said: judged.collect() }
    }
}

/// A run and its looks.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    ending: &'a Ending,
    looks: &'a [Said],
}

/// The looks of a run that has ended.
#[derive(Debug, Clone)]
pub struct Looks {
    said: Vec<Said>,
}

impl Looks {
    /// How the run ended, with its looks.
    pub fn with<'a>(&'a self, ending: &'a Ending) -> impl Serialize + 'a {
        Report { ending, looks: &self.said }
    }

    /// How many there were, how many were false or came too early, and which.
    pub fn lines(&self) -> Vec<String> {
        let count = |truth: Truth| self.said.iter().filter(move |said| said.truth == truth);
        let hung = count(Truth::Hung).filter(|said| said.verdict == Verdict::Hung).count();
        let false_ones: Vec<&Said> = self.said.iter().filter(|said| said.is_false).collect();
        let mut lines = vec![format!(
            "looks: {}; of processes that ended by themselves {}, {} of them called hung; of proved hangs {}, {hung} called so",
            self.said.len(),
            count(Truth::EndedByItself).count(),
            false_ones.len(),
            count(Truth::Hung).count(),
        )];
        lines.extend(false_ones.into_iter().map(|said| {
            let at = in_seconds(Duration::from_secs_f64(said.at_seconds));
            let Said { pid, program, sure, signature, sentence, .. } = said;
            format!("false at {at}, {program} ({pid}), {sure}, {signature}: {sentence}")
        }));
        lines
    }
}
