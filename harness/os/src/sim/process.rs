//! Processes: who is whose child, in which group and session, what they do with signals, and how they end.
//!
//! Invariant: an end is one event. Its descriptors are closed, its children adopted, its session's foreground
//! group hung up, in that order, before anybody else runs.

use super::SimKernel;
use super::net::Listener;
use super::os::View;
use crate::kernel::{Change, Proc};
use crate::os::{Disposition, Exit, Next, Program, Sig, TTY_QUOTA, Wait, pend};
use crate::tables::Used;
use rehang_scenario::{Canon, VTime};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// What a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Desc {
    /// `/dev/null`.
    Null,
    /// The read end of a pipe.
    PipeRead(usize),
    /// The write end of a pipe.
    PipeWrite(usize),
    /// The slave of a terminal.
    Tty(usize),
    /// The master of a terminal.
    Master(usize),
    /// A listening socket.
    Listener(usize),
    /// One end of a connection.
    Socket(usize, usize),
    /// A FIFO that is being opened.
    Fifo(usize),
    /// A file that somebody outside has locked; whether it is a database.
    Locked(usize, bool),
    /// The file whose lock the processes of the cell take in turn.
    Lock,
}

/// The state of a process.
pub enum State {
    /// It has not run yet.
    New,
    /// It waits for this.
    Waiting(Wait),
    /// It runs now: its program is out.
    Running,
    /// It has ended and has not been reaped.
    Zombie(Exit),
    /// It was reaped.
    Gone,
}

/// One process, alive or ended.
pub struct Process {
    /// Its role, such as `agent.1`.
    pub role: String,
    proc: Proc,
    /// Its parent; `None` if the scheduler started it, or it was adopted.
    pub parent: Option<Proc>,
    /// Its program name and arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// The number of its group.
    pub pgid: u32,
    /// The number of its session.
    pub sid: u32,
    /// Its parent is a shell in its session that the scheduler plays.
    pub shell: bool,
    /// Its controlling terminal, if it has one.
    pub controlling: Option<usize>,
    /// Its descriptors, by number.
    pub fds: BTreeMap<u32, Desc>,
    /// The state that it is in.
    pub state: State,
    /// The signal that stopped it.
    pub stopped: Option<Sig>,
    /// How many stops the cell had had by then.
    pub stop: u64,
    /// It was continued in the middle of a terminal access, which it tries again.
    pub retries: bool,
    /// What stops it as soon as it waits again: a process finishes its resume before a stop that it caused itself.
    pub at_end: Option<(Aim, Sig)>,
    /// What it does with signals; default for those that are not in it.
    pub dispositions: BTreeMap<Sig, Disposition>,
    /// Caught signals that it has not taken, and fatal ones that wait for CONT.
    pub pending: Vec<Sig>,
    /// Its children, in the order of starts.
    pub children: Vec<Proc>,
    /// How many bytes a terminal still takes from it in this resume.
    pub tty_quota: usize,
    /// Its program; `None` once it is over or while it runs.
    pub program: Option<Box<dyn Program>>,
    /// What it has used.
    pub used: Used,
}

/// Whom a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// One process.
    One(Proc),
    /// A group.
    Group(u32),
}

impl Process {
    /// A process that has not run and belongs to no group yet.
    pub fn new(
        role: String,
        proc: Proc,
        parent: Option<Proc>,
        argv: Vec<String>,
        env: Vec<(String, String)>,
        program: Box<dyn Program>,
    ) -> Process {
        Process {
            role,
            proc,
            parent,
            argv,
            env,
            pgid: 0,
            sid: 0,
            shell: false,
            controlling: None,
            fds: BTreeMap::new(),
            state: State::New,
            stopped: None,
            stop: 0,
            retries: false,
            at_end: None,
            dispositions: BTreeMap::new(),
            pending: Vec::new(),
            children: Vec::new(),
            tty_quota: 0,
            program: Some(program),
            used: Used::default(),
        }
    }

    /// Its place in the order of starts.
    pub fn place(&self) -> Proc {
        self.proc
    }

    /// Its number as a process: never 0.
    pub fn pid(&self) -> u32 {
        self.proc.0 + 1
    }

    /// Makes it the leader of a session.
    pub fn session_of_its_own(&mut self) {
        self.pgid = self.pid();
        self.sid = self.pid();
        self.controlling = None;
    }

    /// Whether it is alive; a stopped process is.
    pub fn alive(&self) -> bool {
        matches!(self.state, State::New | State::Waiting(_) | State::Running)
    }

    /// The time at which it wants to be resumed.
    pub fn deadline(&self) -> Option<VTime> {
        match &self.state {
            State::Waiting(wait) if self.stopped.is_none() => wait.until,
            _ => None,
        }
    }

    /// What it does with a signal.
    pub fn disposition(&self, sig: Sig) -> Disposition {
        self.dispositions.get(&sig).copied().unwrap_or(Disposition::Default)
    }
}

impl SimKernel {
    pub(super) fn is_ready(&self, proc: Proc, now: VTime) -> bool {
        let process = self.get(proc);
        if process.stopped.is_some() {
            return false;
        }
        let wait = match &process.state {
            State::New => return true,
            State::Waiting(wait) => wait,
            State::Running | State::Zombie(_) | State::Gone => return false,
        };
        let fd = |fd: &crate::os::Fd| process.fds.get(&fd.0).copied();
        process.retries
            || !process.pending.is_empty()
            || wait.until.is_some_and(|until| until <= now)
            || wait.read.iter().filter_map(fd).any(|desc| self.readable(desc))
            || wait.write.iter().filter_map(fd).any(|desc| self.writable(desc))
            || (wait.child && self.has_zombie_child(proc))
    }

    fn has_zombie_child(&self, proc: Proc) -> bool {
        self.get(proc).children.iter().any(|&c| {
            let child = self.get(c);
            child.parent == Some(proc) && matches!(child.state, State::Zombie(_))
        })
    }

    pub(super) fn resume(&mut self, proc: Proc, now: VTime) {
        self.now = now;
        self.turns += 1;
        let process = self.get_mut(proc);
        let Some(mut program) = process.program.take() else { return };
        process.state = State::Running;
        process.retries = false;
        process.tty_quota = TTY_QUOTA;
        process.used.turns += 1;
        let next = program.resume(&mut View { kernel: self, me: proc, now });
        let process = self.get_mut(proc);
        if !process.alive() {
            return;
        }
        match next {
            Next::Wait(wait) => {
                process.state = State::Waiting(wait);
                process.program = Some(program);
                self.turn_ends(proc);
            }
            Next::Exit(code) => self.end(proc, Exit::Code(code)),
        }
    }

    /// A process waits again: if it did something that stops it, that happens now.
    pub(super) fn turn_ends(&mut self, proc: Proc) {
        if let Some((aim, sig)) = self.get_mut(proc).at_end.take() {
            self.signal(aim, sig);
        }
    }

    /// Delivers a signal to one process.
    pub(super) fn deliver(&mut self, proc: Proc, sig: Sig) {
        self.deliver_to(&[proc], &[sig]);
    }

    /// Delivers signals to processes. The kernel decides whom they end before any of those ends is carried out
    /// (`complete_signal`), so a group dies of what it was sent, not of what its leader's death brings.
    fn deliver_to(&mut self, members: &[Proc], signals: &[Sig]) {
        let mut ends: Vec<(Proc, Exit)> = Vec::new();
        for &member in members {
            for &sig in signals {
                if !ends.iter().any(|(p, _)| *p == member) {
                    ends.extend(self.strike(member, sig).map(|exit| (member, exit)));
                }
            }
        }
        for &(proc, exit) in &ends {
            self.die(proc, exit);
        }
        for (proc, _) in ends {
            self.bereave(proc);
        }
    }

    /// What a signal does to one process at once; returns its end if the signal is fatal.
    fn strike(&mut self, proc: Proc, sig: Sig) -> Option<Exit> {
        let process = self.get_mut(proc);
        if !process.alive() {
            return None;
        }
        match sig {
            Sig::Kill => return Some(Exit::Signal(Sig::Kill)),
            Sig::Stop => {
                self.stop(proc, sig);
                return None;
            }
            Sig::Cont if process.stopped.take().is_some() => {
                self.say(proc, Change::Continued);
                let process = self.get_mut(proc);
                let fatal = process.pending.iter().position(|&s| process.disposition(s) == Disposition::Default);
                if let Some(at) = fatal {
                    return Some(Exit::Signal(process.pending.remove(at)));
                }
            }
            _ => {}
        }
        let process = self.get_mut(proc);
        match (process.disposition(sig), sig) {
            (Disposition::Ignore, _) => {}
            (Disposition::Catch, _) => {
                pend(&mut process.pending, sig);
            }
            (Disposition::Default, Sig::Cont | Sig::Winch) => {}
            (Disposition::Default, Sig::Tstp | Sig::Ttin | Sig::Ttou) => {
                if !self.orphaned(self.get(proc).pgid) {
                    self.stop(proc, sig);
                }
            }
            (Disposition::Default, _) if process.stopped.is_some() => {
                pend(&mut process.pending, sig);
            }
            (Disposition::Default, _) => return Some(Exit::Signal(sig)),
        }
        None
    }

    fn stop(&mut self, proc: Proc, sig: Sig) {
        if self.get(proc).stopped.is_none() {
            self.stops += 1;
            let stop = self.stops;
            let process = self.get_mut(proc);
            process.stopped = Some(sig);
            process.stop = stop;
            self.say(proc, Change::Stopped(sig));
        }
    }

    /// Delivers a signal to whom it goes.
    pub(super) fn signal(&mut self, aim: Aim, sig: Sig) {
        match aim {
            Aim::One(proc) => self.deliver(proc, sig),
            Aim::Group(pgid) => self.signal_group(pgid, sig),
        }
    }

    /// Whether a signal stops a process.
    pub(super) fn stops(&self, proc: Proc, sig: Sig) -> bool {
        let process = self.get(proc);
        sig.stops(process.disposition(sig), || self.orphaned(process.pgid))
    }

    /// Delivers a signal to a group, in the order of starts.
    pub(super) fn signal_group(&mut self, pgid: u32, sig: Sig) {
        let members = self.members(pgid);
        self.deliver_to(&members, &[sig]);
    }

    /// Whether no member of a group has a parent in its session outside the group.
    pub(super) fn orphaned(&self, pgid: u32) -> bool {
        !self.processes.iter().filter(|p| p.pgid == pgid && p.alive()).any(|p| {
            p.shell
                || p.parent.is_some_and(|parent| {
                    let parent = self.get(parent);
                    parent.alive() && parent.sid == p.sid && parent.pgid != pgid
                })
        })
    }

    /// Ends a process.
    pub(super) fn end(&mut self, proc: Proc, exit: Exit) {
        self.die(proc, exit);
        self.bereave(proc);
    }

    /// A process has ended: its descriptors are closed.
    fn die(&mut self, proc: Proc, exit: Exit) {
        let process = self.get_mut(proc);
        let fds = std::mem::take(&mut process.fds);
        process.program = None;
        process.stopped = None;
        process.state = if process.parent.is_some() { State::Zombie(exit) } else { State::Gone };
        for (fd, desc) in fds {
            self.let_go(proc, fd);
            self.shut(desc, false);
        }
        self.say(proc, Change::Ended(exit));
    }

    /// What a process's end does to those it leaves: adoption, the hang-up of its session's foreground, HUP and CONT
    /// for groups that are orphaned with a stopped member.
    fn bereave(&mut self, proc: Proc) {
        let (pid, pgid, sid) = (self.get(proc).pid(), self.get(proc).pgid, self.get(proc).sid);
        let parent = self.get(proc).parent;
        let outside = parent.is_some_and(|p| self.get(p).sid == sid && self.get(p).pgid != pgid);
        let mut groups = if outside || self.get(proc).shell { vec![pgid] } else { Vec::new() };
        for child in self.get(proc).children.clone() {
            let orphan = self.get_mut(child);
            if orphan.parent != Some(proc) {
                continue;
            }
            orphan.parent = None;
            if orphan.sid == sid && orphan.pgid != pgid {
                groups.push(orphan.pgid);
            }
            match orphan.alive() {
                true => self.say(child, Change::Adopted),
                false => self.get_mut(child).state = State::Gone,
            }
        }
        if let Some(tty) = self.ttys.iter().position(|tty| sid == pid && tty.session == sid) {
            // a terminal without a session has no foreground: its keys reach no process
            let foreground = std::mem::take(&mut self.ttys[tty].foreground);
            self.ttys[tty].session = 0;
            for p in self.all().filter(|&p| self.get(p).controlling == Some(tty)).collect::<Vec<_>>() {
                self.get_mut(p).controlling = None;
            }
            let signals: &[Sig] = if self.ttys[tty].master { &[Sig::Hup] } else { &[Sig::Hup, Sig::Cont] };
            let members = self.members(foreground);
            self.deliver_to(&members, signals);
        }
        for group in groups {
            self.hang_up_orphans(group);
        }
    }

    /// POSIX: a group that becomes orphaned with a stopped member gets HUP and CONT.
    pub(super) fn hang_up_orphans(&mut self, group: u32) {
        let members = self.members(group);
        let stopped = members.iter().any(|&p| self.get(p).stopped.is_some());
        if stopped && self.orphaned(group) {
            self.deliver_to(&members, &[Sig::Hup, Sig::Cont]);
        }
    }

    fn members(&self, pgid: u32) -> Vec<Proc> {
        self.all().filter(|&p| self.get(p).pgid == pgid && self.get(p).alive()).collect()
    }

    /// The state of all that lives; objects are numbered by their first appearance.
    pub(super) fn write_state(&self, canon: &mut Canon) {
        let mut seen: BTreeMap<Desc, u64> = BTreeMap::new();
        let mut number = |desc: Desc| {
            let key = match desc {
                Desc::PipeWrite(id) => Desc::PipeRead(id),
                Desc::Socket(id, _) => Desc::Socket(id, 0),
                Desc::Master(id) => Desc::Tty(id),
                other => other,
            };
            let next = seen.len() as u64;
            match seen.entry(key) {
                Entry::Occupied(known) => (*known.get(), None),
                Entry::Vacant(new) => (*new.insert(next), Some(key)),
            }
        };
        let SimKernel {
            programs: _, // not compared: they never change
            processes,
            pipes,
            ttys,
            connections,
            listeners,
            fifos: _,  // not compared: it numbers
            locked: _, // not compared: it numbers
            locker,
            handles,
            happened: _, // not compared: empty after each step
            stops: _,    // not compared: it numbers stops
            now: _,      // not compared: each step is told the time
            turns: _,    // not compared: a snapshot alone shows it
        } = self;
        // first what differs most often, and costs nothing: a long sleep decides that a state is another one, before all
        // that does not change beside it is written
        for at in processes.iter().filter_map(Process::deadline) {
            canon.deadline(Some(at));
        }
        if canon.differs() {
            return;
        }
        // what was found and is still to be written: objects that hold others find more
        let mut fresh: VecDeque<Desc> = VecDeque::new();
        // a handle's number only names it: the scheduler writes its rank among those that are open
        for &desc in handles.iter().flatten() {
            let (n, new) = number(desc);
            canon.num(n).num(kind(desc));
            fresh.extend(new);
        }
        canon.num(u64::MAX);
        let (by, fd) = locker.map_or((0, 0), |(proc, fd)| (u64::from(proc.0) + 1, u64::from(fd)));
        canon.num(by).num(fd);
        for process in processes {
            let Process {
                role,
                proc: _, // not compared: the role names it too
                argv: _, // not compared: they never change
                env: _,  // not compared: it never changes
                parent,
                pgid,
                sid,
                shell,
                controlling,
                fds,
                state,
                stopped,
                stop,
                retries,
                at_end: _, // not compared: none but within a resume
                dispositions,
                pending,
                children: _,  // not compared: each names its parent, and the program counts its own
                tty_quota: _, // not compared: set at each resume
                program,
                used: _, // not compared: a snapshot alone shows it
            } = process;
            if matches!(state, State::Gone) {
                continue;
            }
            if canon.differs() {
                return;
            }
            canon.text(role).num(u64::from(*pgid)).num(u64::from(*sid)).flag(*shell).flag(*retries);
            canon.num(parent.map_or(0, |parent| u64::from(parent.0) + 1));
            canon.num(controlling.map_or(0, |tty| tty as u64 + 1));
            canon.text(stopped.map_or("", Sig::name));
            canon.list(pending, |c, s| {
                c.text(s.name());
            });
            canon.num(dispositions.len() as u64);
            for (sig, disposition) in dispositions {
                canon.text(sig.name()).num(*disposition as u64);
            }
            canon.num(fds.len() as u64);
            for (&fd, &desc) in fds {
                let (n, new) = number(desc);
                canon.num(u64::from(fd)).num(n).num(kind(desc));
                fresh.extend(new);
            }
            match state {
                State::New => drop(canon.text("new")),
                State::Waiting(Wait { read, write, until, child, on }) => {
                    // a stopped process does nothing at its deadline, and its state does not change
                    let until = until.filter(|_| stopped.is_none());
                    canon.text("waits").text(on).deadline(until).flag(*child);
                    for fds in [read, write] {
                        canon.list(fds, |canon, fd| {
                            canon.num(u64::from(fd.0));
                        });
                    }
                }
                State::Running => drop(canon.text("runs")),
                State::Zombie(Exit::Code(code)) => drop(canon.text("zombie").num(u64::from(*code))),
                State::Zombie(Exit::Signal(sig)) => drop(canon.text("killed").text(sig.name())),
                State::Gone => {}
            }
            match program {
                // its state is what it was at that stop; written out, it would hold timers that run while nothing can
                // come of them, and a cycle would count as one only after the last of them
                Some(_) if stopped.is_some() && matches!(state, State::Waiting(_)) => drop(canon.num(*stop)),
                Some(program) => program.canon(canon),
                None => {}
            }
        }
        canon.num(u64::MAX);
        while let Some(desc) = fresh.pop_front() {
            match desc {
                Desc::PipeRead(id) => pipes[id].canon(canon),
                Desc::Tty(id) => ttys[id].canon(canon),
                Desc::Socket(id, _) => connections[id].canon(canon),
                Desc::Listener(id) => {
                    let Listener { port, waiting, open } = &listeners[id];
                    canon.num(u64::from(*port)).flag(*open).num(waiting.len() as u64);
                    for &connection in waiting {
                        let (n, new) = number(Desc::Socket(connection, 1));
                        canon.num(n);
                        fresh.extend(new);
                    }
                }
                Desc::Null | Desc::PipeWrite(_) | Desc::Master(_) | Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => {}
            }
        }
    }
}

fn kind(desc: Desc) -> u64 {
    match desc {
        Desc::Null => 0,
        Desc::PipeRead(_) => 1,
        Desc::PipeWrite(_) => 2,
        Desc::Tty(_) => 3,
        Desc::Master(_) => 4,
        Desc::Listener(_) => 5,
        Desc::Socket(_, side) => 6 + side as u64,
        Desc::Fifo(_) => 8,
        Desc::Locked(_, database) => 9 + u64::from(database),
        Desc::Lock => 11,
    }
}
