//! The simulated kernel as one of its processes sees it.
//!
//! Invariant: every call does at once what the real one does for a process that never blocks in the kernel.

use super::SimKernel;
use super::process::{Aim, Desc, Process, State};
use crate::kernel::{Change, Proc};
use crate::os::{Child, Disposition, Errno, Exit, Fd, FdKind, Group, Os, Read, Sig, Spawn, Stdio, Target, Write};
use crate::tables::Used;
use rehang_scenario::VTime;
use rehang_trace::Fact;

/// The kernel as one process sees it.
pub(super) struct View<'a> {
    pub kernel: &'a mut SimKernel,
    pub me: Proc,
    pub now: VTime,
}

impl View<'_> {
    fn this(&self) -> &Process {
        self.kernel.get(self.me)
    }

    fn desc(&self, fd: Fd) -> Option<Desc> {
        self.this().fds.get(&fd.0).copied()
    }

    fn install(&mut self, desc: Desc) -> Fd {
        self.kernel.open(desc);
        let fds = &mut self.kernel.get_mut(self.me).fds;
        let free = (0..).find(|fd| !fds.contains_key(fd)).unwrap_or(u32::MAX);
        fds.insert(free, desc);
        Fd(free)
    }

    fn child(&self, child: Child) -> Option<Proc> {
        let at = (child.0 as usize).checked_sub(1)?;
        self.this().children.get(at).copied()
    }

    /// Whether an access to the controlling terminal from the background is put off. Then the process's group gets
    /// `sig`: at the end of this resume if it stops the process, at once otherwise.
    fn stops(&mut self, tty: usize, sig: Sig) -> Result<bool, Errno> {
        let this = self.this();
        if this.controlling != Some(tty) || this.pgid == self.kernel.ttys[tty].foreground {
            return Ok(false);
        }
        if this.disposition(sig) == Disposition::Ignore || self.kernel.orphaned(this.pgid) {
            return match sig {
                Sig::Ttin => Err(Errno::Io),
                _ if self.this().disposition(sig) == Disposition::Ignore => Ok(false),
                _ => Err(Errno::Io),
            };
        }
        let aim = Aim::Group(this.pgid);
        self.send(aim, sig);
        self.kernel.get_mut(self.me).retries = true;
        Ok(true)
    }

    /// Sends a signal; if it stops this process itself, it is sent at the end of this resume.
    fn send(&mut self, aim: Aim, sig: Sig) {
        let me = self.me;
        let hits = match aim {
            Aim::One(proc) => proc == me,
            Aim::Group(pgid) => self.this().pgid == pgid,
        };
        match hits && self.kernel.stops(me, sig) {
            true => self.kernel.get_mut(me).at_end = Some((aim, sig)),
            false => self.kernel.signal(aim, sig),
        }
    }
}

impl Os for View<'_> {
    fn now(&self) -> VTime {
        self.now
    }

    fn env(&self, key: &str) -> Option<String> {
        self.this().env.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())
    }

    fn envs(&self) -> Vec<(String, String)> {
        self.this().env.clone()
    }

    fn role(&self) -> &str {
        &self.this().role
    }

    fn read(&mut self, fd: Fd, max: usize) -> Read {
        let Some(desc) = self.desc(fd) else { return Read::Failed(Errno::BadFd) };
        if let Desc::Tty(tty) = desc {
            match self.stops(tty, Sig::Ttin) {
                Ok(false) => {}
                Ok(true) => return Read::Later,
                Err(errno) => return Read::Failed(errno),
            }
        }
        let read = self.kernel.read_desc(desc, max);
        if let Read::Data(bytes) = &read {
            self.kernel.get_mut(self.me).used.read(bytes.len() as u64);
        }
        read
    }

    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Write {
        let Some(desc) = self.desc(fd) else { return Write::Failed(Errno::BadFd) };
        if !matches!(desc, Desc::Tty(_)) {
            let written = self.kernel.write_desc(desc, bytes);
            if let (Write::Took(n), false) = (written, desc == Desc::Null) {
                self.kernel.get_mut(self.me).used.wrote(n as u64);
            }
            return written;
        }
        let quota = self.this().tty_quota.min(bytes.len());
        if quota == 0 {
            return Write::Later;
        }
        let written = self.kernel.write_desc(desc, &bytes[..quota]);
        if let Write::Took(n) = written {
            let this = self.kernel.get_mut(self.me);
            this.tty_quota -= n;
            this.used.wrote(n as u64);
        }
        written
    }

    fn close(&mut self, fd: Fd) {
        if let Some(desc) = self.kernel.get_mut(self.me).fds.remove(&fd.0) {
            self.kernel.let_go(self.me, fd.0);
            self.kernel.shut(desc, false);
        }
    }

    fn kind(&self, fd: Fd) -> FdKind {
        match self.desc(fd) {
            None => FdKind::Closed,
            Some(Desc::Null | Desc::Locked(..) | Desc::Lock) => FdKind::Null,
            Some(Desc::Tty(tty)) if !self.kernel.ttys[tty].master => FdKind::Null,
            Some(Desc::Tty(_) | Desc::Master(_)) => FdKind::Tty,
            Some(Desc::PipeRead(_) | Desc::PipeWrite(_) | Desc::Fifo(_)) => FdKind::Pipe,
            Some(Desc::Listener(_) | Desc::Socket(..)) => FdKind::Socket,
        }
    }

    fn pipe(&mut self) -> (Fd, Fd) {
        let id = self.kernel.new_pipe();
        (self.install(Desc::PipeRead(id)), self.install(Desc::PipeWrite(id)))
    }

    fn open_tty(&mut self) -> Result<Fd, Errno> {
        match self.this().controlling {
            Some(tty) => Ok(self.install(Desc::Tty(tty))),
            None => Err(Errno::NoDevice),
        }
    }

    fn set_tty(&mut self, fd: Fd) -> Write {
        let Some(Desc::Tty(tty)) = self.desc(fd) else { return Write::Failed(Errno::NoTty) };
        if !self.kernel.ttys[tty].master {
            // a terminal that was hung up (`hung_up_tty_ioctl`)
            return Write::Failed(Errno::Io);
        }
        match self.stops(tty, Sig::Ttou) {
            Ok(true) => Write::Later,
            Err(errno) => Write::Failed(errno),
            Ok(false) => Write::Took(1),
        }
    }

    fn tty_size(&self, fd: Fd) -> Option<(u16, u16)> {
        matches!(self.desc(fd), Some(Desc::Tty(tty)) if self.kernel.ttys[tty].master).then_some((24, 80))
    }

    fn listen(&mut self) -> Result<(Fd, u16), Errno> {
        let (id, port) = self.kernel.new_listener();
        Ok((self.install(Desc::Listener(id)), port))
    }

    fn accept(&mut self, fd: Fd) -> Option<Fd> {
        let Some(Desc::Listener(id)) = self.desc(fd) else { return None };
        let waiting = self.kernel.listeners[id].waiting.pop_front()?;
        Some(self.install(Desc::Socket(waiting, 1)))
    }

    fn connect(&mut self, port: u16) -> Result<Fd, Errno> {
        let id = self.kernel.connect_to(port)?;
        Ok(self.install(Desc::Socket(id, 0)))
    }

    fn connect_mute(&mut self, answer: &[u8]) -> Result<Fd, Errno> {
        let id = self.kernel.connect_to_nobody(answer);
        Ok(self.install(Desc::Socket(id, 0)))
    }

    fn open_fifo(&mut self) -> Result<Fd, Errno> {
        self.kernel.fifos += 1;
        Ok(self.install(Desc::Fifo(self.kernel.fifos - 1)))
    }

    fn open_locked(&mut self, database: bool) -> Result<Fd, Errno> {
        self.kernel.locked += 1;
        Ok(self.install(Desc::Locked(self.kernel.locked - 1, database)))
    }

    fn open_lock(&mut self) -> Result<Fd, Errno> {
        Ok(self.install(Desc::Lock))
    }

    fn try_lock(&mut self, fd: Fd) -> bool {
        let own = (self.me, fd.0);
        self.desc(fd) == Some(Desc::Lock) && *self.kernel.locker.get_or_insert(own) == own
    }

    fn spawn(&mut self, spawn: Spawn) -> Result<Child, Errno> {
        let plan = spawn.env.iter().find(|(k, _)| k == rehang_scenario::plan::PLAN_ENV);
        let plan = plan.and_then(|(_, json)| serde_json::from_str(json).ok());
        let program = (self.kernel.programs)(&spawn.argv, plan.as_ref()).map_err(|_| Errno::NoProcess)?;
        if !crate::exec::fits(&spawn.argv, &spawn.env) {
            return Err(Errno::TooBig);
        }
        let proc = Proc(self.kernel.processes.len() as u32);
        let nth = self.this().children.len() as u32 + 1;
        let role = format!("{}.{nth}", self.this().role);
        let argv = spawn.argv.clone();
        let mut child = Process::new(role, proc, Some(self.me), spawn.argv, spawn.env, program);
        child.used = Used::from(self.now);
        let this = self.this();
        child.pgid = this.pgid;
        child.sid = this.sid;
        child.controlling = this.controlling;
        match spawn.group {
            Group::Inherit => {}
            Group::New => child.pgid = child.pid(),
            Group::Session => child.session_of_its_own(),
        }
        let ignored = this.dispositions.iter().filter(|(_, d)| **d == Disposition::Ignore);
        child.dispositions = ignored.map(|(s, d)| (*s, *d)).collect();
        for (to, stdio) in [(0, spawn.stdin), (1, spawn.stdout), (2, spawn.stderr)] {
            let desc = match stdio {
                Stdio::Null => Some(Desc::Null),
                Stdio::Fd(fd) => self.desc(fd),
                Stdio::Closed => None,
            };
            if let Some(desc) = desc {
                child.fds.insert(to, desc);
            }
        }
        for desc in child.fds.values().copied().collect::<Vec<_>>() {
            self.kernel.open(desc);
        }
        self.kernel.processes.push(child);
        self.kernel.get_mut(self.me).children.push(proc);
        let parent = self.this().role.clone();
        self.kernel.say(proc, Change::Spawned { parent, argv });
        Ok(Child(nth))
    }

    fn try_wait(&mut self, child: Child) -> Option<Exit> {
        let proc = self.child(child)?;
        let child = self.kernel.get_mut(proc);
        let State::Zombie(exit) = child.state else { return None };
        child.state = State::Gone;
        Some(exit)
    }

    fn kill(&mut self, target: Target, sig: Sig) -> Result<(), Errno> {
        let (proc, group) = match target {
            Target::Child(child) => (self.child(child).ok_or(Errno::NoProcess)?, false),
            Target::ChildGroup(child) => (self.child(child).ok_or(Errno::NoProcess)?, true),
            Target::Itself => (self.me, false),
            Target::OwnGroup => (self.me, true),
        };
        let to = self.kernel.get(proc);
        if matches!(to.state, State::Gone) && !group {
            return Err(Errno::NoProcess);
        }
        let pgid = match target {
            Target::ChildGroup(_) => to.pid(),
            _ => to.pgid,
        };
        if group && !self.kernel.processes.iter().any(|p| p.pgid == pgid && !matches!(p.state, State::Gone)) {
            return Err(Errno::NoProcess);
        }
        let star = if group { "*" } else { "" };
        let to = format!("{}{star}", to.role);
        self.kernel.say(self.me, Change::Signalled { to, sig });
        self.send(if group { Aim::Group(pgid) } else { Aim::One(proc) }, sig);
        Ok(())
    }

    fn setsid(&mut self) -> Result<(), Errno> {
        let this = self.kernel.get_mut(self.me);
        if this.pgid == this.pid() {
            return Err(Errno::NotPermitted);
        }
        this.session_of_its_own();
        Ok(())
    }

    fn on_signal(&mut self, sig: Sig, disposition: Disposition) {
        let this = self.kernel.get_mut(self.me);
        this.dispositions.insert(sig, disposition);
        if disposition != Disposition::Catch {
            this.pending.retain(|&s| s != sig);
        }
    }

    fn take_signal(&mut self) -> Option<Sig> {
        let pending = &mut self.kernel.get_mut(self.me).pending;
        (!pending.is_empty()).then(|| pending.remove(0))
    }

    fn note(&mut self, fact: Fact) {
        self.kernel.say(self.me, Change::Fact(fact));
    }
}
