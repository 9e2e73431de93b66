//! Lets one participant run, and handles what it says.
//!
//! Invariant: from `Go` to its next wait, stop or end, one participant runs and the scheduler does nothing but
//! answer it.

use super::LockstepKernel;
use super::children::{Kids, pidfd_of};
use super::objects::TooMuch;
use super::table::{Aim, Process, State};
use crate::kernel::{Change, InternalError, Proc};
use crate::linux::signals;
use crate::lockstep::protocol::{Channel, Input, Key, Moved, Parcel, Place, Said, To, Told, Waiting};
use crate::os::{Disposition, Exit, SOCKET_WINDOW, Sig};
use crate::tables::Used;
use rehang_scenario::{Canon, VTime, plan::Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

/// In how many turns after a state was needed a participant says the next ones of itself.
const TELLS: u8 = 4;

/// Sets the limit on how long a control socket may be silent or full.
pub(super) fn limit(channel: &Channel, watchdog: std::time::Duration) -> Result<(), rustix::io::Errno> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    [Timeout::Recv, Timeout::Send]
        .into_iter()
        .try_for_each(|timeout| set_socket_timeout(channel.socket(), timeout, Some(watchdog)))
}

impl LockstepKernel {
    /// Enters a process that has just been started.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn enter(
        &mut self,
        role: String,
        parent: Option<Proc>,
        argv: Vec<String>,
        pid: i32,
        mut channel: Channel,
        closed: Vec<u32>,
        plan: Option<Box<Plan>>,
    ) -> Result<Proc, InternalError> {
        let pidfd = pidfd_of(pid)
            .map_err(|why| InternalError::Kernel { what: format!("watching {role}"), why: why.to_string() })?;
        channel.put(&Told::Start { role: role.clone(), closed, plan, address: self.claim.address() });
        // The process that started it runs on meanwhile, and its end may already have ended this one: that is seen when
        // it is due.
        let _ = channel.send(&[]);
        let proc = Proc(u32::try_from(self.processes.len()).unwrap_or(u32::MAX));
        let parent_role = parent.map_or(String::new(), |p| self.get(p).role.clone());
        self.processes.push(Process {
            role,
            argv: argv.clone(),
            pid,
            pidfd,
            channel,
            parent,
            ours: parent.is_none(),
            children: Vec::new(),
            pgid: pid,
            sid: pid,
            shell: None,
            state: State::New,
            stopped: None,
            stop: 0,
            retries: false,
            dispositions: BTreeMap::new(),
            pending: Vec::new(),
            wait: Waiting::default(),
            kids: Kids::default(),
            checked: None,
            told: None,
            tells: 0,
            holds: BTreeSet::new(),
            fds: Vec::new(),
            used: Used::from(self.objects.now),
            at_end: None,
        });
        self.say(proc, Change::Spawned { parent: parent_role, argv });
        Ok(proc)
    }

    /// Sets the watchdog's limit on a control socket.
    pub(super) fn limit(&self, channel: &Channel) -> Result<(), InternalError> {
        limit(channel, self.watchdog)
            .map_err(|e| InternalError::Kernel { what: "limiting a control socket".into(), why: e.to_string() })
    }

    fn tell(&mut self, proc: Proc, told: &Told) -> Result<(), InternalError> {
        let process = self.get_mut(proc);
        process.channel.put(told);
        match process.channel.send(&[]) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::AGAIN) => Err(self.silent(proc, "being told something")),
            Err(_) => Err(self.gone(proc)),
        }
    }

    fn hear(&mut self, proc: Proc, doing: &str) -> Result<Parcel, InternalError> {
        match self.get_mut(proc).channel.receive() {
            Ok(Some(parcel)) => Ok(parcel),
            Ok(None) => Err(self.gone(proc)),
            Err(rustix::io::Errno::AGAIN) => Err(self.silent(proc, doing)),
            Err(error) => {
                Err(InternalError::Kernel { what: format!("hearing {}", self.get(proc).role), why: error.to_string() })
            }
        }
    }

    /// A participant's socket is closed and nothing announced its end. Its last message may say why.
    fn gone(&mut self, proc: Proc) -> InternalError {
        let mut last = String::new();
        while let Ok(Some(mut parcel)) = self.get_mut(proc).channel.receive() {
            while let Ok(Some(said)) = parcel.message::<Said>() {
                if let Said::Refused(why) | Said::Panicked(why) = said {
                    last = why;
                }
            }
        }
        let process = self.get(proc);
        match last.is_empty() {
            false => InternalError::Fake(format!("{}: {last}", process.role)),
            true => InternalError::Fake(format!("{} ({}) ended without a word", process.role, process.argv.join(" "))),
        }
    }

    /// Lets it run until it waits, stops or ends.
    pub(super) fn turn(&mut self, proc: Proc, now: VTime) -> Result<(), InternalError> {
        if !self.get(proc).alive() || self.get(proc).stopped.is_some() {
            return Ok(());
        }
        self.objects.forget_closed();
        let input: Vec<Input> = self.input_of(proc);
        let unknown = |key: &Key| !input.iter().any(|input| input.key == *key);
        let soon = self.get(proc).wait.read.iter().filter(|(_, key)| self.is_soon(*key) && unknown(key));
        let soon = soon.map(|(fd, _)| *fd).collect();
        let sockets = self.get(proc).holds.iter().filter(|key| matches!(key, Key::Client(..) | Key::Server(..)));
        let sockets = sockets.map(|&key| (key, self.objects.room(key))).filter(|(_, room)| *room != SOCKET_WINDOW);
        let room = sockets.chain(self.scarce_room()).collect();
        let process = self.get_mut(proc);
        process.state = State::Waiting;
        process.retries = false;
        process.checked = None;
        process.told = None;
        let tells = process.tells > 0;
        let signals = !process.pending.is_empty();
        process.tells = process.tells.saturating_sub(1);
        process.used.turns += 1;
        self.objects.now = now;
        self.objects.turns += 1;
        self.turns += 1;
        self.tell(proc, &Told::Go { now, tells, signals, soon, input, room })?;
        loop {
            let mut parcel = self.hear(proc, "running")?;
            let mut fds = std::mem::take(&mut parcel.fds);
            while let Some(said) = self.next(proc, &mut parcel)? {
                if tells && matches!(said, Said::State) {
                    let state = self.state_in(proc, &mut parcel)?;
                    self.get_mut(proc).told = Some((now, state));
                    continue;
                }
                if self.take_in(proc, said, &mut fds)? {
                    return self.drain_terminals(proc);
                }
            }
        }
    }

    fn next(&self, proc: Proc, parcel: &mut Parcel) -> Result<Option<Said>, InternalError> {
        parcel
            .message()
            .map_err(|why| InternalError::Fake(format!("{} says what nobody understands: {why}", self.get(proc).role)))
    }

    /// Handles one message; true when the turn is over.
    fn take_in(&mut self, proc: Proc, said: Said, fds: &mut Vec<OwnedFd>) -> Result<bool, InternalError> {
        match said {
            Said::Refused(why) | Said::Panicked(why) => {
                return Err(InternalError::Fake(format!("{}: {why}", self.get(proc).role)));
            }
            Said::Fact(fact) => self.say(proc, Change::Fact(fact)),
            Said::Spawned { pid, argv, place, closed, holds } => {
                let Some(socket) = fds.pop() else {
                    return Err(InternalError::Fake(format!(
                        "{} started a process without a socket",
                        self.get(proc).role
                    )));
                };
                self.born(proc, pid, argv, place, closed, holds, socket)?;
            }
            Said::Disposition(number, what) => {
                if let Some(sig) = Sig::from_number(number) {
                    let disposition = match what {
                        0 => Disposition::Default,
                        1 => Disposition::Ignore,
                        _ => Disposition::Catch,
                    };
                    let process = self.get_mut(proc);
                    process.dispositions.insert(sig, disposition);
                    if disposition != Disposition::Catch {
                        process.pending.retain(|&s| s != sig);
                    }
                }
            }
            Said::Took(number) => self.get_mut(proc).pending.retain(|&s| signals::number(s) != number),
            Said::Setsid => {
                let process = self.get_mut(proc);
                process.pgid = process.pid;
                process.sid = process.pid;
            }
            Said::Opened(key) => {
                self.get_mut(proc).holds.insert(key);
                match key {
                    Key::Client(client, server) => self.objects.connect(client, server),
                    key => self.objects.hold(key),
                }
            }
            Said::Closed(key) => {
                self.get_mut(proc).holds.remove(&key);
                self.objects.release(key);
            }
            Said::Reaped(nth, ended) => self.reaped(proc, nth, ended.exit())?,
            Said::Moved(Key::Tty(device), moved) => {
                self.get_mut(proc).used.wrote(moved.wrote);
                self.has_printed(device, moved.wrote);
            }
            Said::Moved(key, moved) => {
                if !matches!(key, Key::Other | Key::Listener(_)) {
                    let used = &mut self.get_mut(proc).used;
                    used.read(moved.read);
                    used.wrote(moved.wrote);
                }
                self.account(proc, key, moved)?;
            }
            Said::Came(key, moved) => self.objects.came(key, moved),
            Said::Locks(has) => {
                if let Some(other) = self.objects.locker.filter(|other| has && *other != proc) {
                    let (role, other) = (&self.get(proc).role, &self.get(other).role);
                    return Err(InternalError::Fake(format!("{role} has the lock that {other} has")));
                }
                self.objects.locks(proc, has);
            }
            Said::TtyRead(Key::Tty(device), reads) => {
                let bytes = reads.reads.iter().map(|(_, got, times)| got * times).sum();
                self.get_mut(proc).used.read(bytes);
                self.has_read(proc, device, &reads)?;
            }
            Said::Kill(to, number) => return self.kill_for(proc, to, number),
            Said::MayStop(_, number) => {
                let sig = Sig::from_number(number).unwrap_or(Sig::Ttin);
                let process = self.get(proc);
                let (pgid, sid) = (process.pgid, process.sid);
                let background = self.sessions.get(&sid).is_some_and(|s| !s.hung_up && s.foreground != pgid);
                let stops = background && self.stops(proc, sig);
                if stops {
                    let process = self.get_mut(proc);
                    process.at_end = Some((Aim::Group(pgid), sig));
                    process.retries = true;
                }
                self.tell(proc, if stops { &Told::AtEnd } else { &Told::Now })?;
            }
            Said::Waiting(wait) => {
                let stops = wait.stops;
                let process = self.get_mut(proc);
                process.wait = wait;
                if let Some(fds) = process.wait.fds.take() {
                    process.fds = fds;
                }
                let at_end = process.at_end.take();
                if let Some((aim, sig)) = at_end.filter(|_| stops) {
                    self.follow(aim, sig)?;
                }
                return Ok(true);
            }
            Said::Exiting(code) => {
                self.settle(vec![(proc, Exit::Code(code))])?;
                return Ok(true);
            }
            Said::Joined(_) | Said::TtyRead(..) | Said::Did(_) | Said::Ready(_) | Said::State => {
                return Err(InternalError::Fake(format!("{} answers what it was not asked", self.get(proc).role)));
            }
        }
        Ok(false)
    }

    #[allow(clippy::too_many_arguments)]
    fn born(
        &mut self,
        parent: Proc,
        pid: i32,
        argv: Vec<String>,
        place: Place,
        closed: Vec<u32>,
        holds: Vec<(u32, Key)>,
        socket: OwnedFd,
    ) -> Result<(), InternalError> {
        let role = format!("{}.{}", self.get(parent).role, self.get(parent).children.len() + 1);
        let channel = Channel::new(socket);
        self.limit(&channel)?;
        let child = self.enter(role, Some(parent), argv, pid, channel, closed, None)?;
        let (pgid, sid) = (self.get(parent).pgid, self.get(parent).sid);
        let ignored = self.get(parent).dispositions.iter().filter(|(_, d)| **d == Disposition::Ignore);
        let ignored = ignored.map(|(sig, d)| (*sig, *d)).collect();
        self.get_mut(parent).children.push(child);
        let process = self.get_mut(child);
        process.dispositions = ignored;
        (process.pgid, process.sid) = match place {
            Place::Inherit => (pgid, sid),
            Place::Group => (pid, sid),
            Place::Session => (pid, pid),
        };
        process.holds = holds.iter().map(|(_, key)| *key).filter(|key| *key != Key::Other).collect();
        process.fds = holds;
        for key in self.get(child).holds.clone() {
            self.objects.hold(key);
        }
        Ok(())
    }

    fn reaped(&mut self, proc: Proc, nth: u32, exit: Exit) -> Result<(), InternalError> {
        let child = (nth as usize).checked_sub(1).and_then(|at| self.get(proc).children.get(at)).copied();
        let Some(child) = child else { return Ok(()) };
        if let State::Zombie(expected) = self.get(child).state {
            self.get_mut(child).state = State::Gone;
            return self.compare_exit(child, expected, exit);
        }
        let role = self.get(proc).role.clone();
        let seen = format!("{} had not ended", self.get(child).role);
        Err(InternalError::Lie { role, announced: "a child as reaped".into(), seen })
    }

    fn account(&mut self, proc: Proc, key: Key, moved: Moved) -> Result<(), InternalError> {
        self.objects.moved(key, moved).map_err(|TooMuch { read, written }| InternalError::Lie {
            role: self.get(proc).role.clone(),
            announced: format!("{read} bytes read"),
            seen: format!("{written} bytes were written"),
        })
    }

    fn kill_for(&mut self, proc: Proc, to: To, number: i32) -> Result<bool, InternalError> {
        let sig = Sig::from_number(number).unwrap_or(Sig::Term);
        let child = |nth: u32| (nth as usize).checked_sub(1).and_then(|at| self.get(proc).children.get(at)).copied();
        let (target, aim) = match to {
            To::Itself => (Some(proc), Aim::One(proc)),
            To::OwnGroup => (Some(proc), Aim::Group(self.get(proc).pgid)),
            To::Child(nth) => (child(nth), child(nth).map_or(Aim::Group(0), Aim::One)),
            To::ChildGroup(nth) => (child(nth), Aim::Group(child(nth).map_or(0, |c| self.get(c).pid))),
        };
        let exists = match aim {
            Aim::One(one) => self.get(one).state != State::Gone,
            Aim::Group(pgid) => self.processes.iter().any(|p| p.pgid == pgid && p.state != State::Gone),
        };
        let hit = self.aimed(aim).contains(&proc);
        if let Some(target) = target.filter(|_| exists) {
            let star = if matches!(aim, Aim::Group(_)) { "*" } else { "" };
            let to = format!("{}{star}", self.get(target).role);
            self.say(proc, Change::Signalled { to, sig });
        }
        if hit && self.stops(proc, sig) {
            self.get_mut(proc).at_end = Some((aim, sig));
            self.tell(proc, &Told::AtEnd)?;
            return Ok(false);
        }
        self.tell(proc, &Told::Now)?;
        let stops_not = !matches!(sig, Sig::Cont | Sig::Winch | Sig::Tstp | Sig::Ttin | Sig::Ttou | Sig::Stop);
        let fatal = sig == Sig::Kill || (stops_not && self.get(proc).disposition(sig) == Disposition::Default);
        if hit && fatal {
            self.follow(aim, sig)?;
            return Ok(true);
        }
        let mut parcel = self.hear(proc, "sending a signal")?;
        match self.next(proc, &mut parcel)? {
            Some(Said::Did(0)) if exists => self.follow(aim, sig)?,
            Some(Said::Did(error)) if !exists && error == libc::ESRCH => {}
            other => {
                let why = format!("it said {other:?}, and the table says that somebody is there: {exists}");
                return Err(InternalError::Kernel { what: format!("a signal of {}", self.get(proc).role), why });
            }
        }
        self.tell(proc, &Told::Now)?;
        Ok(false)
    }

    /// Asks a participant whether anything that it waits for is there.
    pub(super) fn check(&mut self, proc: Proc) -> Result<bool, InternalError> {
        self.tell(proc, &Told::Check)?;
        let mut parcel = self.hear(proc, "looking at its descriptors")?;
        match self.next(proc, &mut parcel)? {
            Some(Said::Ready(ready)) => Ok(ready),
            other => Err(InternalError::Fake(format!("{} says {other:?} to a look", self.get(proc).role))),
        }
    }

    /// Writes a participant's state at this time: as it said it when it last waited, or as it says it now.
    pub(super) fn state_of(&mut self, proc: Proc, canon: &mut Canon) -> Result<(), InternalError> {
        self.get_mut(proc).tells = TELLS;
        if self.get(proc).told.as_ref().is_none_or(|(at, _)| *at != canon.now()) {
            let state = self.ask_state(proc, &Told::State(canon.now()))?;
            self.get_mut(proc).told = Some((canon.now(), state));
        }
        if let Some((_, state)) = &self.get(proc).told {
            canon.bytes(state);
        }
        Ok(())
    }

    /// The state that a participant says when it is asked so.
    fn ask_state(&mut self, proc: Proc, asks: &Told) -> Result<Vec<u8>, InternalError> {
        self.tell(proc, asks)?;
        let mut parcel = self.hear(proc, "saying its state")?;
        match self.next(proc, &mut parcel)? {
            Some(Said::State) => self.state_in(proc, &mut parcel),
            other => {
                let role = &self.get(proc).role;
                Err(InternalError::Fake(format!("{role} says {other:?} instead of its state")))
            }
        }
    }

    /// The encoding that follows a `State`.
    fn state_in(&self, proc: Proc, parcel: &mut Parcel) -> Result<Vec<u8>, InternalError> {
        match parcel.next_raw() {
            Ok(Some(bytes)) => Ok(bytes.to_vec()),
            other => {
                let other = other.map_err(|why| why.to_string());
                Err(InternalError::Fake(format!("{} has no state: {other:?}", self.get(proc).role)))
            }
        }
    }
}
