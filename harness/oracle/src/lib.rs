//! Looks at a tree in virtual time, and says afterwards which of them were true.
//!
//! A process that ended by itself was not hung at any instant before. One that is left when nothing can ever happen again
//! is hung from then on. What is called hung may be a process below the one that was asked about: then its end counts, and an
//! agent that kills its tool after a time does not make that false. So each run tests the rules of `rehang why` on real
//! processes, with no expected result written by hand.

use rehang_compat::Tally;
use rehang_evidence::data::{Call, Does, Process, Thread, TimeLimit};
use rehang_evidence::{
    Limits, Look as Read, Options, Pid, Snapshot, TracedProcess, TracedThread, Verdict, VirtualTime, take,
};
use rehang_hangs::Signature;
use rehang_warp::{Ending, Exit, Look, Next, Verdict as End, Warp, in_seconds};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Virtual time between the two snapshots of a look, as `rehang why` has it.
const WINDOW: Duration = Duration::from_secs(1);
/// The first look.
const FIRST: Duration = Duration::from_secs(1);
/// The most processes that one look asks about, the oldest first.
const MOST: usize = 32;

/// Processes beside the tree that `rehang why` takes for its watchdogs. Those of this machine are on the real clock.
const WATCHERS: [&str; 9] = ["sleep", "timeout", "gtimeout", "busybox", "sh", "bash", "dash", "zsh", "ksh"];

/// What was said of one process at one look, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Said {
    /// Virtual time from the start, in seconds.
    pub at_seconds: f64,
    /// Who looked.
    pub by: By,
    /// The process that was asked about.
    pub pid: Pid,
    /// Of the process that it is about: which that is, and when it was born.
    about: Pid,
    #[serde(skip)]
    born: Duration,
    /// The process's name.
    pub program: String,
    /// The first word of the answer.
    pub verdict: Verdict,
    /// How sure that is, in words.
    pub sure: &'static str,
    /// The name of the finding.
    pub signature: Signature,
    /// The answer in words.
    pub sentence: String,
    because: String,
    /// After how many milliseconds it counts as hung, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hung_in_ms: Option<u64>,
    truth: Truth,
    /// It was called hung, and was not.
    is_false: bool,
}

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Somebody who asks `rehang why` about a process.
    Why,
    /// `rehang supervise`, which has started the command.
    Supervise,
}

/// What became of a process after a look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// It ended with an exit code, and had handled no signal that another process may have sent to end it.
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
    /// The first snapshots of a look whose second ones are due.
    before: Option<BTreeMap<(Pid, By), Snapshot>>,
    said: Vec<Said>,
}

impl Oracle {
    /// `count` looks at instants in geometric progression, from 1 s to 2 s before the horizon.
    pub fn new(count: u32, horizon: Duration) -> Oracle {
        let last = horizon.saturating_sub(2 * WINDOW).max(FIRST);
        let (first, last) = (FIRST.as_secs_f64(), last.as_secs_f64());
        let instant = |n: u32| {
            let part = f64::from(n) / f64::from(count.saturating_sub(1).max(1));
            Duration::from_millis((first * (last / first).powf(part) * 1000.0) as u64)
        };
        let instants: Vec<Duration> = (0..count).map(instant).collect();
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Oracle {
            instants: instants.into_iter(),
            boot_ns: (boot.tv_sec as u64).saturating_mul(1_000_000_000) + boot.tv_nsec as u64,
            before: None,
            said: Vec::new(),
        }
    }

    /// A run that is looked at.
    pub fn watch<'a>(&'a mut self, warp: Warp<'a>) -> Warp<'a> {
        match self.instants.next() {
            Some(first) => warp.look(first, |look| self.see(look)),
            None => warp,
        }
    }

    /// The tree is asleep: takes the first or the second snapshots of a look.
    fn see(&mut self, look: &Look) -> Next {
        let options = Options { time: Some(Arc::new(self.time(look))), ..Options::default() };
        let processes = look.processes.iter().take(MOST).map(|process| (process, By::Why));
        let asked =
            processes.chain(look.processes.iter().find(|one| one.pid == look.root).map(|one| (one, By::Supervise)));
        let Some(mut before) = self.before.take() else {
            let snapshot = |pid, by| Some(((pid, by), read(pid, by, &options)?));
            self.before = Some(asked.filter_map(|(process, by)| snapshot(process.pid, by)).collect());
            return Next::At(look.at + WINDOW);
        };
        for (process, by) in asked {
            if let Some(before) = before.remove(&(process.pid, by))
                && let Some(after) = read(process.pid, by, &options)
            {
                let program = after.tree.get(&process.pid).map(|one| one.comm.clone()).unwrap_or_default();
                let diagnosis = Read::of(Some(before), after, &Limits::default()).diagnosis;
                let is_hung = diagnosis.verdict == Verdict::Hung;
                // what is called hung may be a process below the one that was asked about
                let about = look.processes.iter().find(|one| is_hung && one.pid == diagnosis.pid).unwrap_or(process);
                self.said.push(Said {
                    at_seconds: look.at.as_secs_f64(),
                    by,
                    pid: process.pid,
                    about: about.pid,
                    born: about.born,
                    program,
                    verdict: diagnosis.verdict,
                    sure: diagnosis.sure_in_words(),
                    signature: diagnosis.signature,
                    sentence: diagnosis.sentence,
                    because: diagnosis.because,
                    hung_in_ms: diagnosis.hung_in_ms,
                    truth: Truth::Unknown,
                    is_false: false,
                });
            }
        }
        let next = self.instants.find(|at| *at > look.at);
        next.map_or(Next::Never, Next::At)
    }

    /// The tree as the tracer knows it.
    fn time(&self, look: &Look) -> VirtualTime {
        let boot_ns = self.boot_ns;
        let on_boot_clock =
            move |at: Duration| boot_ns.saturating_add(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        let process = |process: &rehang_warp::Process| {
            let traced = TracedProcess { began_ns: on_boot_clock(process.born), has_alarm: process.alarm.is_some() };
            (process.pid, traced)
        };
        let thread = |thread: &rehang_warp::Thread| {
            let call = thread.call.map(|call| (call.number, call.arguments));
            (thread.tid, TracedThread { call, left: thread.deadline, is_stopped: thread.stopped })
        };
        let (now, jumps) = (look.at, Arc::clone(&look.jumps));
        VirtualTime {
            now_ns: on_boot_clock(now),
            processes: look.processes.iter().map(process).collect(),
            threads: look.threads.iter().map(thread).collect(),
            timerfds: look.timerfds.clone(),
            age: VirtualTime::youngest(on_boot_clock(now), move |ago| {
                on_boot_clock(Instant::now().checked_sub(ago).map_or(Duration::ZERO, |then| jumps.at(then)))
            }),
        }
    }

    /// What was said, with what became of each.
    pub fn judge(self, ending: &Ending) -> Looks {
        let exits: BTreeMap<(Pid, Duration), &Exit> =
            ending.exits.iter().map(|exit| ((exit.pid, exit.born), exit)).collect();
        let over = matches!(ending.verdict, End::Deadlock { .. }).then_some(ending.elapsed.as_secs_f64());
        let truth = |said: &Said| match exits.get(&(said.about, said.born)) {
            Some(exit) if exit.code.is_some() && !exit.was_told => Truth::EndedByItself,
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

/// A snapshot of a process and those below it, as the one who looks sees it.
fn read(pid: Pid, by: By, options: &Options) -> Option<Snapshot> {
    let mut snapshot = take(&[pid], options).ok()?;
    if by == By::Why {
        // this process has started the tree, which is a supervised one for it; for others a shell has. What is above it is on
        // the real clock.
        let reader = std::mem::take(&mut snapshot.reader.pid);
        snapshot.around.entry(reader).and_modify(|process| process.fds.retain(|fd| fd.fd <= 2));
        let (mut at, mut above) = (reader, BTreeSet::new());
        while let Some(process) = snapshot.around.get_mut(&at).filter(|_| above.insert(at)) {
            become_a_shell(process);
            at = process.ppid;
        }
        let is_traced = |pid: &Pid| options.time.as_ref().is_some_and(|time| time.processes.contains_key(pid));
        let may_watch = |process: &Process| WATCHERS.contains(&process.comm.as_str());
        snapshot.around.retain(|pid, process| is_traced(pid) || above.contains(pid) || !may_watch(process));
    }
    Some(snapshot)
}

/// Makes a process a shell that waits for the command that it has started.
fn become_a_shell(process: &mut Process) {
    let call =
        Call { does: Does::Child { pid: -1 }, limit: TimeLimit::Never, name: "wait4".to_owned(), ..Call::default() };
    let thread = Thread { tid: process.pid, call: Some(call), call_read: true, ..Thread::default() };
    "sh".clone_into(&mut process.comm);
    process.args = vec!["sh".to_owned()];
    process.exe = Some("/bin/sh".to_owned());
    process.threads = vec![thread];
    process.has_unseen = false;
    // such as that of a `timeout`
    process.may_have_timers = false;
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

    /// How many there were, and how many were false.
    pub fn tally(&self) -> Tally {
        let count = |truth: Truth| self.said.iter().filter(move |said| said.truth == truth);
        let false_ones = self.said.iter().filter(|said| said.is_false).map(|said| {
            let at = in_seconds(Duration::from_secs_f64(said.at_seconds));
            let Said { by, pid, program, sure, signature, sentence, .. } = said;
            let by = if *by == By::Why { "why" } else { "supervise" };
            format!("{by} of {program} ({pid}) at {at}, {sure}, {signature}: {sentence}")
        });
        Tally {
            looks: self.said.len(),
            ended: count(Truth::EndedByItself).count(),
            false_ones: false_ones.collect(),
            hangs: count(Truth::Hung).count(),
            named: count(Truth::Hung).filter(|said| said.verdict == Verdict::Hung).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const MINUTE: Duration = Duration::from_secs(60);

    /// What is said of a script of Python that is looked at ten times in an hour.
    fn looks(script: &str) -> (Ending, Vec<Said>) {
        let mut oracle = Oracle::new(10, 60 * MINUTE);
        let mut command = Command::new("python3");
        command.args(["-S", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        let ending = oracle.watch(Warp::new(command).until(60 * MINUTE)).run().expect("it runs");
        let said = oracle.judge(&ending).said;
        (ending, said)
    }

    fn truths(said: &[Said]) -> Vec<(Truth, Verdict)> {
        let mut found: Vec<_> = said.iter().map(|said| (said.truth, said.verdict)).collect();
        found.dedup();
        found
    }

    #[test]
    fn what_ends_by_itself_is_never_called_hung() {
        let (ending, said) = looks(
            "import os, select, signal, time\n\
             r, w = os.pipe()\n\
             signal.signal(signal.SIGALRM, lambda *_: os.write(w, b'x'))\n\
             signal.alarm(900)\n\
             os.read(r, 1)\n\
             if os.fork() == 0: time.sleep(600); os._exit(0)\n\
             select.select([r], [], [], 300)\n\
             os.wait()",
        );
        assert_eq!((ending.elapsed, &ending.verdict), (25 * MINUTE, &End::Exited { code: 0 }));
        assert!(said.len() > 10, "{said:?}");
        let all: Vec<_> = truths(&said);
        assert_eq!(all, [(Truth::EndedByItself, Verdict::Waiting)], "{said:#?}");
    }

    #[test]
    fn a_proved_hang_is_called_so_from_then_on() {
        let (ending, said) = looks("import os, time\ntime.sleep(60)\nr, w = os.pipe()\nos.read(r, 1)");
        assert!(matches!(ending.verdict, End::Deadlock { .. }) && ending.elapsed == MINUTE);
        let expected = [(Truth::Unknown, Verdict::Waiting), (Truth::Hung, Verdict::Hung)];
        assert_eq!(truths(&said), expected, "{said:#?}");
    }

    #[test]
    fn what_a_handler_ends_did_not_end_by_itself() {
        let (ending, said) = looks(
            "import os, signal, time\n\
             pid = os.fork()\n\
             if pid == 0:\n\
             \x20   signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\n\
             \x20   r, w = os.pipe(); os.read(r, 1)\n\
             time.sleep(600); os.kill(pid, 15); os.wait()",
        );
        assert_eq!((ending.elapsed, &ending.verdict), (10 * MINUTE, &End::Exited { code: 0 }));
        let of = |truth: Truth| said.iter().filter(move |said| said.truth == truth).map(|said| said.verdict);
        assert!(of(Truth::Unknown).count() > 2 && of(Truth::EndedByItself).count() > 2, "{said:#?}");
        assert!(of(Truth::EndedByItself).all(|verdict| verdict == Verdict::Waiting), "{said:#?}");
    }

    #[test]
    fn what_is_called_hung_and_ends_by_itself_is_false() {
        let said = |pid: Pid, verdict: Verdict, at_seconds: f64| Said {
            at_seconds,
            by: By::Why,
            pid,
            about: pid,
            born: MINUTE,
            program: "cat".to_owned(),
            verdict,
            sure: "likely",
            signature: Signature::StdinOpen,
            sentence: "it waits".to_owned(),
            because: String::new(),
            hung_in_ms: None,
            truth: Truth::Unknown,
            is_false: false,
        };
        let hung = |pid, at| said(pid, Verdict::Hung, at);
        let (mut ending, _) = looks("pass");
        let exit = |pid, code| Exit { pid, born: MINUTE, at: 3 * MINUTE, code, was_told: pid == 4 };
        ending.exits =
            vec![exit(1, Some(1)), exit(2, None), Exit { born: 2 * MINUTE, ..exit(3, Some(0)) }, exit(4, Some(1))];
        let mut oracle = Oracle::new(1, MINUTE);
        oracle.said = vec![hung(1, 90.0), said(1, Verdict::Waiting, 95.0), hung(2, 90.0), hung(3, 90.0), hung(4, 90.0)];
        let looks = oracle.judge(&ending);
        let false_ones: Vec<bool> = looks.said.iter().map(|said| said.is_false).collect();
        assert_eq!(
            false_ones,
            [true, false, false, false, false],
            "a signal ended the second, the third has another's number, the fourth handled a signal"
        );
        let lines = looks.tally().lines();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "false: why of cat (1) at 90 s, likely, stdin-open: it waits");
        let json = serde_json::to_value(looks.with(&ending)).expect("JSON");
        assert_eq!((&json["verdict"], &json["looks"][0]["truth"]), (&"exited".into(), &"ended-by-itself".into()));
        // before a deadlock nothing is proved, and a look takes a while
        ending.exits.clear();
        ending.verdict = End::Deadlock { waits: Vec::new() };
        ending.elapsed = MINUTE;
        let mut oracle = Oracle::new(1, MINUTE);
        oracle.said = vec![hung(1, 60.5), hung(1, 61.0)];
        let truths: Vec<Truth> = oracle.judge(&ending).said.iter().map(|said| said.truth).collect();
        assert_eq!(truths, [Truth::Unknown, Truth::Hung]);
    }

    #[test]
    fn looks_become_rarer() {
        let oracle = Oracle::new(4, Duration::from_secs(1_002));
        let seconds: Vec<f64> = oracle.instants.map(|at| at.as_secs_f64().round()).collect();
        assert_eq!(seconds, [1.0, 10.0, 100.0, 1_000.0]);
    }
}
