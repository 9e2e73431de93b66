//! The table of participants: who is whose child, in which group and session, and what signals do to them.
//!
//! Invariant: the table predicts what a signal or an end does, and then waits for the kernel: an end is over when its
//! pidfd is readable, a stop when `/proc` shows it. If the kernel does not do it in time, that is an internal error.

use super::LockstepKernel;
use crate::kernel::{Change, Happened, InternalError, Proc};
use crate::linux::signals;
use crate::lockstep::children::{Kids, Shell, ended_within, reap_by_shell, reap_here, shell_job};
use crate::lockstep::protocol::{Channel, Job, Key, Waiting};
use crate::os::{Disposition, Exit, Sig, pend};
use crate::tables::Used;
use rehang_scenario::VTime;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// The state of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has never run.
    New,
    /// It waits for the scheduler.
    Waiting,
    /// It has ended, and its parent has not reaped it.
    Zombie(Exit),
    /// It was reaped.
    Gone,
}

/// One participant, alive or ended.
#[derive(Debug)]
pub struct Process {
    /// Its role, such as `agent.1`.
    pub role: String,
    /// Its program name and arguments.
    pub argv: Vec<String>,
    /// Its process id.
    pub pid: i32,
    /// Readable when it has ended.
    pub pidfd: OwnedFd,
    /// The scheduler's end of its control socket.
    pub channel: Channel,
    /// Its parent, if that is a participant.
    pub parent: Option<Proc>,
    /// The scheduler reaps it: it is the scheduler's own child, or adopted.
    pub ours: bool,
    /// Its children, in the order of starts.
    pub children: Vec<Proc>,
    /// The number of its group.
    pub pgid: i32,
    /// The number of its session.
    pub sid: i32,
    /// The shell that started it.
    pub shell: Option<Shell>,
    /// The state that it is in.
    pub state: State,
    /// The signal that stopped it.
    pub stopped: Option<Sig>,
    /// How many stops the cell had had by then: a stopped process cannot say its state.
    pub stop: u64,
    /// It was stopped by an access to a terminal, which it tries again when continued.
    pub retries: bool,
    /// What it does with signals.
    pub dispositions: BTreeMap<Sig, Disposition>,
    /// Caught signals that it has not taken, and fatal ones that wait for CONT.
    pub pending: Vec<Sig>,
    /// What it waits for.
    pub wait: Waiting,
    /// The epoch in which nothing was there of what it waits for.
    pub checked: Option<u64>,
    /// The state that it said before it waited, and the time of that.
    pub told: Option<(VTime, Vec<u8>)>,
    /// In how many of its next turns it says its state: where one is compared, the next one mostly is.
    pub tells: u8,
    /// The objects that it holds.
    pub holds: BTreeSet<Key>,
    /// The same by its descriptors, as it said when it last waited: only a snapshot shows them.
    pub fds: Vec<(u32, Key)>,
    /// Where its children are counted.
    pub kids: Kids,
    /// What it has used: only a snapshot shows it.
    pub used: Used,
    /// A signal that it sends when it waits, because the signal stops it: to whom, and which.
    pub at_end: Option<(Aim, Sig)>,
}

/// Whom a signal is aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// One process.
    One(Proc),
    /// A group, by number.
    Group(i32),
}

/// A session with a controlling terminal.
#[derive(Debug)]
pub struct Session {
    /// The foreground group.
    pub foreground: i32,
    /// Its terminal was hung up.
    pub hung_up: bool,
    /// The terminal, by device number.
    pub device: u64,
}

impl Process {
    /// Whether it is alive; a stopped process is.
    pub fn alive(&self) -> bool {
        matches!(self.state, State::New | State::Waiting)
    }

    /// The time at which it wants to be resumed.
    pub fn deadline(&self) -> Option<VTime> {
        (self.state == State::Waiting && self.stopped.is_none()).then_some(self.wait.until).flatten()
    }

    /// What it does with a signal.
    pub fn disposition(&self, sig: Sig) -> Disposition {
        self.dispositions.get(&sig).copied().unwrap_or(Disposition::Default)
    }
}

impl LockstepKernel {
    pub(super) fn say(&mut self, proc: Proc, what: Change) {
        let role = self.get(proc).role.as_str().into();
        self.happened.push(Happened { role, what });
    }

    pub(super) fn get(&self, proc: Proc) -> &Process {
        &self.processes[proc.0 as usize]
    }

    pub(super) fn get_mut(&mut self, proc: Proc) -> &mut Process {
        &mut self.processes[proc.0 as usize]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Proc> + use<> {
        (0..self.processes.len() as u32).map(Proc)
    }

    /// The live members of the group, or the one process.
    pub(super) fn aimed(&self, aim: Aim) -> Vec<Proc> {
        let hit = |&p: &Proc| match aim {
            Aim::One(proc) => p == proc,
            Aim::Group(pgid) => self.get(p).pgid == pgid,
        };
        self.all().filter(hit).filter(|&p| self.get(p).alive()).collect()
    }

    /// Whether a signal would stop this process.
    pub(super) fn stops(&self, proc: Proc, sig: Sig) -> bool {
        let process = self.get(proc);
        sig.stops(process.disposition(sig), || self.orphaned(process.pgid))
    }

    /// Whether no live member of a group has a parent in its session outside the group.
    pub(super) fn orphaned(&self, pgid: i32) -> bool {
        !self.processes.iter().filter(|p| p.pgid == pgid && p.alive()).any(|p| {
            p.shell.is_some()
                || p.parent.is_some_and(|parent| {
                    let parent = self.get(parent);
                    parent.alive() && parent.sid == p.sid && parent.pgid != pgid
                })
        })
    }

    /// Carries out all effects of a signal that was sent.
    pub(super) fn follow(&mut self, aim: Aim, sig: Sig) -> Result<(), InternalError> {
        let mut ends = Vec::new();
        for member in self.aimed(aim) {
            self.deliver(member, sig, &mut ends)?;
        }
        self.settle(ends)
    }

    /// What a signal that was sent does to one process. Ends are collected: the kernel decides all of a group's ends at
    /// once, before any of them is carried out.
    fn deliver(&mut self, proc: Proc, sig: Sig, ends: &mut Vec<(Proc, Exit)>) -> Result<(), InternalError> {
        if !self.get(proc).alive() || ends.iter().any(|(p, _)| *p == proc) {
            return Ok(());
        }
        self.objects.epoch += 1;
        match sig {
            Sig::Kill => {
                ends.push((proc, Exit::Signal(Sig::Kill)));
                return Ok(());
            }
            Sig::Stop => return self.stop(proc, sig),
            Sig::Cont if self.get(proc).stopped.is_some() => {
                self.get_mut(proc).stopped = None;
                self.say(proc, Change::Continued);
                let process = self.get_mut(proc);
                let fatal = process.pending.iter().position(|&s| process.disposition(s) == Disposition::Default);
                if let Some(at) = fatal {
                    let sig = process.pending.remove(at);
                    ends.push((proc, Exit::Signal(sig)));
                    return Ok(());
                }
            }
            _ => {}
        }
        let stops = self.stops(proc, sig);
        let process = self.get_mut(proc);
        match (process.disposition(sig), sig) {
            (Disposition::Ignore, _) | (Disposition::Default, Sig::Cont | Sig::Winch) => {}
            (Disposition::Catch, _) => {
                pend(&mut process.pending, sig);
            }
            (Disposition::Default, Sig::Tstp | Sig::Ttin | Sig::Ttou) => {
                if stops {
                    self.stop(proc, sig)?;
                }
            }
            (Disposition::Default, _) if process.stopped.is_some() => {
                pend(&mut process.pending, sig);
            }
            (Disposition::Default, _) => ends.push((proc, Exit::Signal(sig))),
        }
        Ok(())
    }

    fn stop(&mut self, proc: Proc, sig: Sig) -> Result<(), InternalError> {
        if self.get(proc).stopped.is_some() {
            return Ok(());
        }
        self.await_stop(proc)?;
        self.stops += 1;
        let stop = self.stops;
        let process = self.get_mut(proc);
        process.stopped = Some(sig);
        process.stop = stop;
        self.say(proc, Change::Stopped(sig));
        Ok(())
    }

    /// Waits for processes that are ending, and for what their ends bring about: all of them have ended before the
    /// effects of the first end on other processes are carried out, and what those effects end is over before the
    /// effects of the next.
    pub(super) fn settle(&mut self, mut ends: Vec<(Proc, Exit)>) -> Result<(), InternalError> {
        ends.sort_by_key(|(proc, _)| *proc);
        for &(proc, exit) in &ends {
            self.end(proc, exit)?;
        }
        for (proc, _) in ends {
            self.bereave(proc)?;
        }
        Ok(())
    }

    /// Handles the end of one process.
    fn end(&mut self, proc: Proc, exit: Exit) -> Result<(), InternalError> {
        self.await_end(proc)?;
        for key in std::mem::take(&mut self.get_mut(proc).holds) {
            self.objects.release(key);
        }
        self.objects.locks(proc, false);
        self.objects.epoch += 1;
        let process = self.get_mut(proc);
        process.fds.clear();
        process.stopped = None;
        process.retries = false;
        process.pending.clear();
        process.state = State::Zombie(exit);
        self.say(proc, Change::Ended(exit));
        if self.get(proc).ours || self.get(proc).shell.is_some() {
            self.reap(proc, exit)?;
        }
        Ok(())
    }

    /// What the end of a process does to those it leaves.
    fn bereave(&mut self, proc: Proc) -> Result<(), InternalError> {
        let (pid, pgid, sid) = (self.get(proc).pid, self.get(proc).pgid, self.get(proc).sid);
        let mut groups = Vec::new();
        let parent_is_outside = self.get(proc).shell.is_some()
            || self.get(proc).parent.is_some_and(|p| self.get(p).sid == sid && self.get(p).pgid != pgid);
        if parent_is_outside {
            groups.push(pgid);
        }
        for child in self.get(proc).children.clone() {
            if self.get(child).parent != Some(proc) {
                continue;
            }
            let orphan = self.get_mut(child);
            orphan.parent = None;
            orphan.ours = true;
            if orphan.sid == sid && orphan.pgid != pgid {
                groups.push(orphan.pgid);
            }
            match orphan.state {
                State::New | State::Waiting => self.say(child, Change::Adopted),
                State::Zombie(exit) => self.reap(child, exit)?,
                State::Gone => {}
            }
        }
        if pid == sid
            && let Some(session) = self.sessions.remove(&sid)
        {
            let mut ends = Vec::new();
            for member in self.aimed(Aim::Group(session.foreground)) {
                self.deliver(member, Sig::Hup, &mut ends)?;
                if session.hung_up {
                    self.deliver(member, Sig::Cont, &mut ends)?;
                }
            }
            self.settle(ends)?;
        }
        for group in groups {
            self.hang_up_orphans(group)?;
        }
        Ok(())
    }

    /// POSIX: a group that becomes orphaned with a stopped member gets HUP and CONT.
    fn hang_up_orphans(&mut self, group: i32) -> Result<(), InternalError> {
        let mut ends = Vec::new();
        let stopped = self.aimed(Aim::Group(group)).into_iter().any(|p| self.get(p).stopped.is_some());
        if stopped && self.orphaned(group) {
            for member in self.aimed(Aim::Group(group)) {
                self.deliver(member, Sig::Hup, &mut ends)?;
                self.deliver(member, Sig::Cont, &mut ends)?;
            }
        }
        self.settle(ends)
    }

    /// An interactive shell that is hung up hangs its job up, continues it if it is stopped, and dies of the signal
    /// (bash, `hangup_all_jobs`). Its job then has no parent in its session, and the scheduler reaps it.
    pub(super) fn shell_dies(&mut self, session: i32) -> Result<(), InternalError> {
        let job = |p: &Proc| self.get(*p).shell.as_ref().is_some_and(|shell| shell.pid == session && !shell.nohup);
        let Some(job) = self.all().find(job) else { return Ok(()) };
        let (pgid, stopped) = (self.get(job).pgid, self.get(job).stopped.is_some());
        if self.get(job).alive() {
            let signals = if stopped { &[Sig::Hup, Sig::Cont][..] } else { &[Sig::Hup] };
            for &sig in signals {
                self.told_shell(job, &Job::Signal(pgid, signals::number(sig)))?;
                self.follow(Aim::Group(pgid), sig)?;
            }
        }
        self.told_shell(job, &Job::HangUp)?;
        self.sessions.remove(&session);
        let alive = self.get(job).alive();
        let process = self.get_mut(job);
        process.ours = alive;
        if let Some(shell) = process.shell.take() {
            let over = ended_within(&shell.pidfd, self.watchdog);
            let exit = reap_here(&shell.pidfd).map_err(|why| why.to_string());
            if !over || exit != Ok(Exit::Signal(Sig::Hup)) {
                let why = format!("{exit:?}, and not by HUP");
                return Err(InternalError::Kernel { what: "the end of a shell that was hung up".into(), why });
            }
        }
        // if the job was over, its group has been without a parent in the session since then
        if alive { self.hang_up_orphans(pgid) } else { Ok(()) }
    }

    /// Has a process's shell do something.
    fn told_shell(&mut self, proc: Proc, job: &Job) -> Result<(), InternalError> {
        let process = self.get_mut(proc);
        let Some(shell) = &mut process.shell else { return Ok(()) };
        match shell_job(shell, job, &[]) {
            Ok(_) => Ok(()),
            Err(why) => {
                Err(InternalError::Kernel { what: format!("the shell of {}", process.role), why: why.to_string() })
            }
        }
    }

    /// Reaps a process that has ended, and compares how it ended with what was announced or predicted.
    fn reap(&mut self, proc: Proc, expected: Exit) -> Result<(), InternalError> {
        let process = self.get_mut(proc);
        let exit = match &mut process.shell {
            Some(shell) if !process.ours => reap_by_shell(shell, process.pid),
            _ => reap_here(&process.pidfd),
        };
        process.state = State::Gone;
        let exit = exit
            .map_err(|why| InternalError::Kernel { what: format!("reaping {}", process.role), why: why.to_string() })?;
        let exit = if self.is_either(proc, expected, exit) { expected } else { exit };
        self.compare_exit(proc, expected, exit)
    }

    /// Whether Linux may let a process end in either way: a signal that dumps core kills when its process next runs,
    /// and if the session's leader has died of the same key by then, its HUP has arrived too, and is delivered first
    /// because of its number. Which of them comes first is a race of processors; in the model the key's signal does.
    fn is_either(&self, proc: Proc, expected: Exit, exit: Exit) -> bool {
        let sid = self.get(proc).sid;
        (expected, exit) == (Exit::Signal(Sig::Quit), Exit::Signal(Sig::Hup))
            && !self.all().any(|leader| self.get(leader).pid == sid && self.get(leader).alive())
    }

    /// Checks an end against what was announced.
    pub(super) fn compare_exit(&self, proc: Proc, expected: Exit, exit: Exit) -> Result<(), InternalError> {
        if exit == expected {
            return Ok(());
        }
        let role = self.get(proc).role.clone();
        Err(InternalError::Lie {
            role,
            announced: format!("{expected:?} as its end"),
            seen: format!("it ended by {exit:?}"),
        })
    }

    fn await_end(&self, proc: Proc) -> Result<(), InternalError> {
        match ended_within(&self.get(proc).pidfd, self.watchdog) {
            true => Ok(()),
            false => Err(self.silent(proc, "ending")),
        }
    }

    /// Waits until the kernel has stopped a process. Only its parent could wait for that; `/proc` shows it to all, and
    /// what it shows is final until somebody sends CONT.
    fn await_stop(&self, proc: Proc) -> Result<(), InternalError> {
        let path = format!("/proc/{}/stat", self.get(proc).pid);
        let limit = Instant::now() + self.watchdog;
        while Instant::now() < limit {
            let stat = std::fs::read_to_string(&path).unwrap_or_default();
            match stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()) {
                Some('T') => return Ok(()),
                None | Some('Z' | 'X') => break,
                Some(_) => std::thread::yield_now(),
            }
        }
        Err(self.silent(proc, "being stopped"))
    }

    pub(super) fn silent(&self, proc: Proc, doing: &str) -> InternalError {
        let real_ms = u64::try_from(self.watchdog.as_millis()).unwrap_or(u64::MAX);
        InternalError::Silent { role: self.get(proc).role.clone(), real_ms, doing: doing.to_owned() }
    }
}
