//! The real kernel: processes, pipes, terminals, sessions and loopback as Linux has them, in virtual time.
//!
//! Invariant: one participant runs at a time, and all others wait in one `recvmsg`. What enters a trace of bytes,
//! ends and exits comes from the scheduler's own descriptors and pidfds; announcements say what they cannot show,
//! and are checked against them. A participant is forked from a process that has loaded what they all are (`starter`), or from
//! the participant that starts it. Needs Linux 5.4 (pidfd, `waitid(P_PIDFD)`), `/proc` and `/dev/pts`.

mod address;
mod canon;
mod children;
mod objects;
pub mod participant;
pub mod protocol;
mod snapshot;
mod start;
mod starter;
mod streams;
mod table;
mod tty;
mod turn;

use crate::kernel::{Few, Handle, Happened, InternalError, Kernel, Launch, Left, Party, Proc, Streams};
use crate::linux::signals;
use crate::lockstep::protocol::Key;
use crate::os::{Errno, Read, Sig, Write};
use address::Claim;
use objects::{Flow, Objects};
use rehang_evidence::Snapshot;
use rehang_scenario::{Canon, VTime};
use starter::Starter;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use streams::Own;
use table::{Aim, Process, Session, State};
use tty::Terminal;

/// How long a participant may say nothing, in real time: a hundred thousand times what a turn takes.
const WATCHDOG: Duration = Duration::from_secs(10);

/// Adoption, and what a forked child holds until it becomes a fake, belong to a whole process: one kernel at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The real kernel with nothing on it but what a cell starts.
pub struct LockstepKernel {
    fakes: CString,
    /// What its participants are forked from, once there was one.
    starter: Option<Starter>,
    /// Whether each participant is started by itself.
    one_by_one: bool,
    /// What participants hold of the lifeline, and the end whose closing kills them.
    lifeline: (OwnedFd, OwnedFd),
    watchdog: Duration,
    /// The address of loopback that only this kernel uses.
    claim: Claim,
    processes: Vec<Process>,
    sessions: BTreeMap<i32, Session>,
    objects: Objects,
    handles: Vec<Option<Own>>,
    /// The ends of pipes and connections among them.
    ours: BTreeSet<Key>,
    /// Terminals by device, including those that were hung up.
    terminals: BTreeMap<u64, Terminal>,
    happened: Vec<Happened>,
    /// How often a participant was let run, in all cells.
    turns: u64,
    /// How many stops the cell has had so far.
    stops: u64,
    /// All shells of the cell so far, by pid, and their terminals.
    shells: BTreeMap<i32, u64>,
    _turn: MutexGuard<'static, ()>,
}

impl LockstepKernel {
    /// A kernel that starts its participants from the binary `fakes` (one whose `main` calls
    /// [`rehang_os::linux::dispatch`]): it is loaded once a process, and each participant is a fork of what was loaded. A
    /// process has one kernel at a time: this waits for another thread's to be dropped, so a thread must not ask for a second
    /// one while it has one. Makes the process a subreaper, and sets SIGCHLD to its default.
    ///
    /// # Errors
    /// The binary does not exist; the kernel refuses, with the remedy.
    pub fn new(fakes: &Path) -> Result<LockstepKernel, InternalError> {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        start::kernel(fakes, turn)
    }

    /// Sets how long a participant may say nothing, in real time.
    #[must_use]
    pub fn with_watchdog(mut self, watchdog: Duration) -> LockstepKernel {
        self.watchdog = watchdog;
        self
    }

    /// Starts each participant by itself, by an `exec`, as it does where none can be forked.
    #[must_use]
    pub fn one_by_one(mut self) -> LockstepKernel {
        self.one_by_one = true;
        self
    }

    /// How often a participant was let run, in all its cells so far.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    fn is_ready(&mut self, proc: Proc, now: VTime) -> Result<bool, InternalError> {
        let process = self.get(proc);
        if process.stopped.is_some() {
            return Ok(false);
        }
        match process.state {
            State::New => return Ok(true),
            State::Waiting => {}
            State::Zombie(_) | State::Gone => return Ok(false),
        }
        let wait = &process.wait;
        let ended = |child: &Proc| {
            let child = self.get(*child);
            child.parent == Some(proc) && matches!(child.state, State::Zombie(_))
        };
        if process.retries
            || !process.pending.is_empty()
            || wait.until.is_some_and(|until| until <= now)
            || (wait.child && process.children.iter().any(ended))
        {
            return Ok(true);
        }
        if wait.read.iter().any(|(_, key)| self.has_input(*key)) {
            return Ok(true);
        }
        // how much a pipe takes depends on how what is in it was written: only the kernel knows
        let mut unknown = false;
        for (_, key) in &wait.write {
            match key {
                Key::PipeWrite(_) => unknown = true,
                Key::Client(..) | Key::Server(..) if self.objects.room(*key) == 0 => {}
                Key::Tty(device) if self.terminals.get(device).is_some_and(|t| !t.writable()) => {}
                _ => return Ok(true),
            }
        }
        let epoch = self.objects.epoch;
        if !unknown || self.get(proc).checked == Some(epoch) {
            return Ok(false);
        }
        let ready = self.check(proc)?;
        if !ready {
            self.get_mut(proc).checked = Some(epoch);
        }
        Ok(ready)
    }

    /// Whether there is something to read, bytes or an end, by what was announced.
    fn has_input(&self, key: Key) -> bool {
        match key {
            Key::Other => true,
            Key::PipeWrite(_) | Key::Fifo(_) | Key::Locked(..) => false,
            Key::Lock => self.objects.locker.is_none(),
            Key::Listener(port) => self.objects.waiting(port) > 0,
            Key::Client(..) | Key::Server(..) => self.is_soon(key),
            Key::PipeRead(inode) => {
                !self.objects.is_held(Key::PipeWrite(inode)) || self.objects.inbound(key).is_some_and(Flow::unread)
            }
            Key::Tty(device) => self.terminals.get(&device).is_some_and(Terminal::readable),
        }
    }

    /// Whether the kernel has something to read on a socket now, or will have at once.
    fn is_soon(&self, key: Key) -> bool {
        match key {
            Key::Listener(port) => self.objects.waiting(port) > 0,
            Key::Client(..) | Key::Server(..) => self.objects.inbound(key).is_some_and(|f| f.unread() || f.ended),
            _ => false,
        }
    }

    fn send(&self, aim: Aim, sig: Sig) -> Result<(), InternalError> {
        let pid = match aim {
            Aim::One(proc) => self.get(proc).pid,
            Aim::Group(pgid) => -pgid,
        };
        signals::send(pid, sig)
            .map_err(|e| InternalError::Kernel { what: format!("sending {}", sig.name()), why: e.to_string() })
    }
}

impl Kernel for LockstepKernel {
    fn set_now(&mut self, now: VTime) {
        self.objects.now = now;
    }

    fn snapshot(&self, parties: &[Party]) -> Snapshot {
        self.tables(parties).snapshot()
    }

    fn start(&mut self, launch: &Launch) -> Result<(Proc, Streams), InternalError> {
        self.start_agent(launch)
    }

    fn ready(&mut self, now: VTime) -> Result<Few<Proc>, InternalError> {
        let mut ready = Few::new();
        for proc in self.all() {
            if self.is_ready(proc, now)? {
                ready.push(proc);
            }
        }
        Ok(ready)
    }

    fn deadline(&self, after: VTime) -> Option<VTime> {
        self.processes.iter().filter_map(Process::deadline).filter(|at| *at > after).min()
    }

    fn run(&mut self, proc: Proc, now: VTime) -> Result<(), InternalError> {
        self.turn(proc, now)
    }

    fn happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    fn role(&self, proc: Proc) -> &str {
        &self.get(proc).role
    }

    fn alive(&self, proc: Proc) -> bool {
        self.get(proc).alive()
    }

    fn find(&self, role: &str) -> Option<Proc> {
        self.all().find(|&p| self.get(p).role == role)
    }

    fn children(&mut self, of: Proc) -> Result<u32, InternalError> {
        if !self.get(of).alive() {
            return Ok(0);
        }
        let process = self.get_mut(of);
        process.kids.count(process.pid).map_err(|error| InternalError::Kernel {
            what: format!("counting the children of {}", process.role),
            why: format!("{error}; the kernel must be built with CONFIG_PROC_CHILDREN, and /proc must be mounted"),
        })
    }

    fn waits(&self) -> Vec<(String, String)> {
        let label = |p: &Process| match p.state {
            _ if p.stopped.is_some() => "stopped".to_owned(),
            State::Waiting => p.wait.on.clone(),
            _ => String::new(),
        };
        self.processes.iter().filter(|p| p.alive()).map(|p| (p.role.clone(), label(p))).collect()
    }

    fn kill(&mut self, to: Proc, group: bool, sig: Sig) -> Result<(), InternalError> {
        let aim = if group { Aim::Group(self.get(to).pgid) } else { Aim::One(to) };
        if self.aimed(aim).is_empty() {
            return Ok(());
        }
        self.send(aim, sig)?;
        self.follow(aim, sig)
    }

    fn read(&mut self, handle: Handle, max: usize) -> Result<Read, InternalError> {
        self.read_own(handle, max)
    }

    fn write(&mut self, handle: Handle, bytes: &[u8]) -> Result<Write, InternalError> {
        self.objects.turns += 1;
        self.write_own(handle, bytes)
    }

    fn close(&mut self, handle: Handle, reset: bool) -> Result<(), InternalError> {
        self.close_own(handle, reset)
    }

    fn has_room(&self, port: u16) -> bool {
        self.has_room_at(port)
    }

    fn connect(&mut self, port: u16) -> Result<Result<Handle, Errno>, InternalError> {
        self.connect_own(port)
    }

    fn listen(&mut self) -> Result<(Handle, u16), InternalError> {
        self.listen_own()
    }

    fn accept(&mut self, handle: Handle) -> Result<Option<Handle>, InternalError> {
        self.accept_own(handle)
    }

    fn canon(&mut self, canon: &mut Canon) -> Result<(), InternalError> {
        self.write_state(canon)
    }

    fn holders(&self, handle: Handle) -> Vec<Proc> {
        let Some(other) = self.other_end(handle) else { return Vec::new() };
        self.all().filter(|&p| self.get(p).alive() && self.get(p).holds.contains(&other)).collect()
    }

    fn listeners(&self) -> Vec<Proc> {
        let listens = |p: &Process| p.alive() && p.holds.iter().any(|held| matches!(held, Key::Listener(_)));
        self.all().filter(|&p| listens(self.get(p))).collect()
    }

    fn clear(&mut self) -> Result<Vec<Left>, InternalError> {
        self.clear_away()
    }
}

impl Drop for LockstepKernel {
    fn drop(&mut self) {
        // whoever is left is killed by the lifeline at the latest
        let is_clear = self.clear_away().is_ok();
        if let Some(starter) = self.starter.take().filter(|_| is_clear) {
            starter.rest();
        }
    }
}
