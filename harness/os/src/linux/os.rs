//! The real kernel as a persona sees it, under a scheduler or alone.
//!
//! Invariant: no call blocks except one that the scheduler answers. Under a scheduler everything that another process
//! or the scheduler could notice is announced before the scheduler is heard again.

mod children;
mod sockets;

pub use sockets::{connect, listen};

use super::descriptor::{self, Descriptor};
use super::fork::Part;
use super::named;
use super::process::{give_up, hear, leave};
use super::signals::{self, Signals};
use super::spawn::Stream;
use crate::alone::journal::{self, Journal};
use crate::lockstep::protocol::{Channel, Input, Key, Moved, Said, Told, TtyReads, hash};
use crate::os::{
    Child, Disposition, Errno, Exit, Fd, FdKind, Listen, Os, Programs, Read, SOCKET_WINDOW, STDOUT, Sig, Spawn, Stdio,
    TTY_QUOTA, Target, Write, tty_takes,
};
use rehang_processes::machine;
use rehang_scenario::VTime;
use rehang_trace::{Fact, What};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Instant;

/// An action that stops this process: it is done when the program waits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    Read(u32),
    SetMode(u32),
    Kill(i32, Sig),
}

pub(crate) struct Kid {
    pid: Pid,
    reaped: bool,
    /// Alone: the descriptor on which its end is awaited.
    pub(crate) pidfd: Option<OwnedFd>,
}

/// What a fake announces of what it writes, if a test has it lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// One byte more.
    OneMore,
    /// Nothing.
    Nothing,
}

/// The scheduler's channel, and the lifeline to hand on to children.
pub(crate) struct Scheduler {
    pub channel: Channel,
    pub lifeline: OwnedFd,
    /// How it lies about what it writes, for a test.
    pub lies: Option<Lie>,
    /// The cell's own address of loopback.
    pub address: Ipv4Addr,
    /// What its children do when they are forked.
    pub part: Part,
}

pub(crate) struct RealOs {
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) now: VTime,
    began: Instant,
    /// The wall clock at that instant, in milliseconds since 1970; 0 under a scheduler.
    epoch_ms: u64,
    role: String,
    env: Vec<(String, String)>,
    pub(crate) fds: BTreeMap<u32, Descriptor>,
    pub(crate) kids: Vec<Kid>,
    pub(crate) signals: Signals,
    pub(crate) at_end: Option<Stop>,
    held: BTreeMap<Key, u32>,
    /// The descriptor by which it has the lock of the cell.
    locks: Option<u32>,
    /// The descriptors as the scheduler knows them.
    told: Vec<(u32, Key)>,
    moved: BTreeMap<Key, Moved>,
    tty_reads: BTreeMap<Key, TtyReads>,
    tty_quota: usize,
    /// How much connections and terminals still take in this resume, under a scheduler; one that is not named takes a
    /// whole window or the whole quota.
    room: BTreeMap<Key, usize>,
    /// What is left to read in this resume of what the scheduler knows it of, under a scheduler.
    input: Vec<Input>,
    /// Whether a caught signal may be there in this resume.
    may_be_signalled: bool,
    programs: Programs,
    /// The binary of its children, unless they are forked.
    exe: CString,
    /// Alone: how many times as fast as the wall clock its clock runs.
    speed: u32,
    pub(crate) journal: Option<Journal>,
}

impl RealOs {
    pub(crate) fn new(
        programs: Programs,
        scheduler: Option<Scheduler>,
        role: String,
        env: Vec<(String, String)>,
        signals: Signals,
    ) -> RealOs {
        let mut os = RealOs {
            scheduler,
            now: VTime::ZERO,
            began: Instant::now(),
            epoch_ms: 0,
            role,
            env,
            fds: BTreeMap::new(),
            kids: Vec::new(),
            signals,
            at_end: None,
            held: BTreeMap::new(),
            locks: None,
            told: Vec::new(),
            moved: BTreeMap::new(),
            tty_reads: BTreeMap::new(),
            tty_quota: TTY_QUOTA,
            room: BTreeMap::new(),
            input: Vec::new(),
            may_be_signalled: true,
            programs,
            exe: if named::can_fork() { CString::default() } else { own_binary() },
            speed: 1,
            journal: None,
        };
        for number in 0..3 {
            if let Some(descriptor) = Descriptor::standard(number) {
                *os.held.entry(descriptor.key).or_default() += 1;
                os.fds.insert(number.cast_unsigned(), descriptor);
            }
        }
        os.told = os.table();
        os
    }

    /// Without a scheduler: the pace of its clock, and where it writes down what happens.
    pub(crate) fn runs_alone(&mut self, speed: u32, journal: Option<Journal>) {
        (self.speed, self.journal) = (speed, journal);
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        self.epoch_ms = u64::try_from(since.saturating_sub(self.began.elapsed()).as_millis()).unwrap_or(0);
    }

    /// Begins a resume: at this time, with this much room and this to read, and perhaps with signals.
    pub(crate) fn begin(&mut self, now: Option<VTime>, room: Vec<(Key, usize)>, input: Vec<Input>, signals: bool) {
        let ms = || u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let wall = || VTime(ms().saturating_mul(u64::from(self.speed)));
        self.now = now.unwrap_or_else(wall);
        self.tty_quota = TTY_QUOTA;
        self.room = room.into_iter().collect();
        self.input = input;
        self.may_be_signalled = signals;
    }

    /// What a descriptor refers to.
    pub(crate) fn key(&self, fd: u32) -> Option<Key> {
        self.fds.get(&fd).map(|d| d.key)
    }

    /// All descriptors, and what each refers to.
    fn table(&self) -> Vec<(u32, Key)> {
        self.fds.iter().map(|(fd, descriptor)| (*fd, descriptor.key)).collect()
    }

    /// All descriptors, if they differ from what the scheduler knows.
    pub(crate) fn changed_fds(&mut self) -> Option<Vec<(u32, Key)>> {
        let table = self.table();
        if table == self.told {
            return None;
        }
        self.told.clone_from(&table);
        Some(table)
    }

    /// Puts an announcement into the parcel.
    pub(crate) fn say(&mut self, said: Said) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.channel.put(&said);
        }
    }

    /// Puts what was moved into the parcel.
    pub(crate) fn say_moved(&mut self) {
        let moved = std::mem::take(&mut self.moved);
        let lies = self.scheduler.as_ref().and_then(|c| c.lies);
        for (key, mut moved) in moved {
            match lies.filter(|_| matches!(key, Key::PipeWrite(_) | Key::Tty(_))) {
                None => {}
                Some(Lie::OneMore) => moved.wrote += 1,
                Some(Lie::Nothing) => continue,
            }
            self.say(Said::Moved(key, moved));
        }
        for (key, reads) in std::mem::take(&mut self.tty_reads) {
            self.say(Said::TtyRead(key, reads));
        }
    }

    /// Sends the parcel. If there is no scheduler at the other end, there is nothing left to do.
    pub(crate) fn send(&mut self, socket: Option<&OwnedFd>) {
        if let Some(scheduler) = &mut self.scheduler {
            let fds: Vec<_> = socket.iter().map(|fd| fd.as_fd()).collect();
            if scheduler.channel.send(&fds).is_err() {
                leave(1);
            }
        }
    }

    fn address(&self) -> Ipv4Addr {
        self.scheduler.as_ref().map_or(Ipv4Addr::LOCALHOST, |c| c.address)
    }

    /// An error that no scenario intends: under a scheduler the machine is to blame, not the agent. `why` adds the
    /// remedy.
    fn unmeant(&self, what: &str, error: rustix::io::Errno, why: fn(&std::io::Error) -> String) -> Errno {
        if self.scheduler.is_some() {
            give_up(&format!("{what}: {}", why(&error.into())));
        }
        descriptor::errno(error)
    }

    /// Announces, and waits for the answer; `Now` if there is no scheduler to ask.
    fn ask(&mut self, said: Said) -> Told {
        self.say_moved();
        self.say(said);
        self.send(None);
        match &mut self.scheduler {
            None => Told::Now,
            Some(scheduler) => hear(&mut scheduler.channel),
        }
    }

    fn install(&mut self, descriptor: Descriptor) -> Fd {
        let key = descriptor.key;
        let free = (0..).find(|fd| !self.fds.contains_key(fd)).unwrap_or(u32::MAX);
        self.fds.insert(free, descriptor);
        let held = self.held.entry(key).or_default();
        *held += 1;
        if *held == 1 {
            self.say(Said::Opened(key));
        }
        Fd(free)
    }

    fn wrote(&mut self, key: Key, bytes: &[u8]) {
        if self.scheduler.is_some() {
            let moved = self.moved.entry(key).or_default();
            moved.wrote += bytes.len() as u64;
            // where one write ends and the next begins decides what a pipe still takes
            moved.hash = hash(hash(moved.hash, &bytes.len().to_le_bytes()), bytes);
        }
    }

    /// Whether a terminal is this process's own and some other group has its foreground.
    fn in_background(&self, fd: u32) -> bool {
        let Some(descriptor) = self.fds.get(&fd).filter(|d| d.kind == FdKind::Tty) else { return false };
        let foreground = rustix::termios::tcgetpgrp(descriptor.fd());
        foreground.is_ok_and(|group| group != rustix::process::getpgrp())
    }

    /// Whether a terminal access is to wait until the end of the resume, because it stops this process.
    fn is_put_off(&mut self, stop: Stop, fd: u32, sig: Sig) -> bool {
        let Some(key) = self.key(fd) else { return false };
        if self.scheduler.is_none() || !self.in_background(fd) {
            return false;
        }
        let put_off = self.ask(Said::MayStop(key, signals::number(sig))) == Told::AtEnd;
        if put_off {
            self.at_end = Some(stop);
        }
        put_off
    }

    /// Does what stops this process; returns when it is continued.
    pub(crate) fn do_stop(&mut self, stop: Stop) {
        match stop {
            Stop::Read(fd) => {
                if let Some(descriptor) = self.fds.get(&fd) {
                    let mut none = [0_u8; 0];
                    // an empty read is checked for its right to the terminal like any other, and takes nothing
                    let _ = signals::interrupted_by_cont(|| rustix::io::read(descriptor.fd(), &mut none));
                }
            }
            Stop::SetMode(fd) => {
                if let Some(descriptor) = self.fds.get(&fd) {
                    let _ = signals::interrupted_by_cont(|| descriptor::set_mode(descriptor.fd()));
                }
            }
            Stop::Kill(pid, sig) => drop(signals::send(pid, sig)),
        }
    }

    fn kid(&self, child: Child) -> Option<&Kid> {
        self.kids.get((child.0 as usize).checked_sub(1)?)
    }

    fn stream(&self, stdio: Stdio) -> (Stream, Option<Key>) {
        match stdio {
            Stdio::Null => (Stream::Null, None),
            Stdio::Closed => (Stream::Closed, None),
            Stdio::Fd(fd) => match self.fds.get(&fd.0) {
                Some(descriptor) => (Stream::Fd(descriptor.fd().as_raw_fd()), Some(descriptor.key)),
                None => (Stream::Closed, None),
            },
        }
    }
}

/// The path of this process's own binary: the file that it was started from may have been replaced meanwhile.
fn own_binary() -> CString {
    let path = rustix::fs::readlink("/proc/self/exe", Vec::new()).ok();
    path.filter(|p| !p.as_bytes().ends_with(b" (deleted)")).unwrap_or_else(|| c"/proc/self/exe".to_owned())
}

impl Os for RealOs {
    fn now(&self) -> VTime {
        self.now
    }

    fn env(&self, key: &str) -> Option<String> {
        self.env.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
    }

    fn envs(&self) -> Vec<(String, String)> {
        self.env.clone()
    }

    fn epoch_ms(&self) -> u64 {
        self.epoch_ms
    }

    fn is_alone(&self) -> bool {
        self.scheduler.is_none()
    }

    fn cwd(&self) -> Option<String> {
        let own = || std::env::current_dir().ok().map(|path| path.to_string_lossy().into_owned());
        self.scheduler.is_none().then(own).flatten()
    }

    fn entries(&self, folder: &str) -> Vec<String> {
        let Some(entries) = self.is_alone().then(|| std::fs::read_dir(folder).ok()).flatten() else {
            return Vec::new();
        };
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    fn file(&self, path: &str) -> Option<String> {
        self.is_alone().then(|| std::fs::read_to_string(path).ok()).flatten()
    }

    fn append(&mut self, path: &str, text: &str) {
        use std::io::Write;
        if !self.is_alone() {
            return;
        }
        if let Some(folder) = std::path::Path::new(path).parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
    }

    fn role(&self) -> &str {
        &self.role
    }

    fn read(&mut self, fd: Fd, max: usize) -> Read {
        if self.is_put_off(Stop::Read(fd.0), fd.0, Sig::Ttin) {
            return Read::Later;
        }
        let Some(descriptor) = self.fds.get(&fd.0) else { return Read::Failed(Errno::BadFd) };
        if self.scheduler.is_none() && self.in_background(fd.0) {
            // the kernel stops it here, and does so until it is brought to the foreground
            self.do_stop(Stop::Read(fd.0));
            return Read::Later;
        }
        let read = match self.input.iter_mut().find(|input| input.key == descriptor.key) {
            Some(Input { left: 0, .. }) => Read::Later,
            Some(input) => {
                let mut read = descriptor.read(max);
                if read == Read::Later {
                    descriptor::await_loopback(descriptor.fd());
                    read = descriptor.read(max);
                }
                if let Read::Data(bytes) = &read {
                    input.left = input.left.saturating_sub(bytes.len() as u64);
                }
                read
            }
            None => descriptor.read(max),
        };
        if self.scheduler.is_some() {
            match (&read, descriptor.kind) {
                (Read::Data(bytes), FdKind::Tty) => {
                    self.tty_reads.entry(descriptor.key).or_default().add(max, bytes);
                }
                (Read::Eof, FdKind::Tty) => self.tty_reads.entry(descriptor.key).or_default().add(max, &[]),
                (Read::Data(bytes), _) => self.moved.entry(descriptor.key).or_default().read += bytes.len() as u64,
                _ => {}
            }
        }
        read
    }

    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Write {
        let Some(descriptor) = self.fds.get(&fd.0) else { return Write::Failed(Errno::BadFd) };
        let (kind, key) = (descriptor.kind, descriptor.key);
        let counted = kind == FdKind::Socket && self.scheduler.is_some();
        let limit = match kind {
            FdKind::Tty => {
                let room = self.room.get(&key).copied().unwrap_or(usize::MAX);
                tty_takes(&bytes[..bytes.len().min(self.tty_quota)], room)
            }
            FdKind::Socket if counted => self.room.get(&key).copied().unwrap_or(SOCKET_WINDOW),
            _ => bytes.len(),
        };
        let bytes = &bytes[..bytes.len().min(limit)];
        if limit == 0 {
            return Write::Later;
        }
        let written = descriptor.write(bytes);
        if counted && (written == Write::Later || matches!(written, Write::Took(n) if n < bytes.len())) {
            give_up(&format!("a connection takes less than {} bytes: {written:?}", bytes.len()));
        }
        if let Write::Took(n) = written {
            if let Some(journal) = self.journal.as_mut().filter(|_| fd == STDOUT) {
                journal.wrote();
            }
            match kind {
                FdKind::Tty => {
                    self.tty_quota -= n;
                    if let Some(room) = self.room.get_mut(&key) {
                        *room -= n + bytes[..n].iter().filter(|b| **b == b'\n').count();
                    }
                }
                FdKind::Socket if counted => drop(self.room.insert(key, limit - n)),
                _ => {}
            }
            self.wrote(key, &bytes[..n]);
        }
        written
    }

    fn close(&mut self, fd: Fd) {
        let Some(descriptor) = self.fds.remove(&fd.0) else { return };
        let key = descriptor.key;
        drop(descriptor);
        if self.locks == Some(fd.0) {
            self.locks = None;
            self.say(Said::Locks(false));
        }
        let held = self.held.entry(key).or_default();
        *held = held.saturating_sub(1);
        if *held == 0 {
            self.held.remove(&key);
            self.say(Said::Closed(key));
        }
    }

    fn kind(&self, fd: Fd) -> FdKind {
        match self.fds.get(&fd.0) {
            None => FdKind::Closed,
            Some(terminal) if terminal.kind == FdKind::Tty && !rustix::termios::isatty(terminal.fd()) => FdKind::Null,
            Some(descriptor) => descriptor.kind,
        }
    }

    fn pipe(&mut self) -> (Fd, Fd) {
        match descriptor::pipe() {
            Ok((read, write, inode)) => {
                let read = self.install(Descriptor::opened(read, FdKind::Pipe, Key::PipeRead(inode)));
                let write = self.install(Descriptor::opened(write, FdKind::Pipe, Key::PipeWrite(inode)));
                (read, write)
            }
            Err(error) => give_up(&format!("making a pipe: {}", machine::pipe(&error))),
        }
    }

    fn open_tty(&mut self) -> Result<Fd, Errno> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open("/dev/tty", flags, Mode::empty()).map_err(|error| match error {
            // a session without a terminal, which is what scenarios are about
            rustix::io::Errno::NXIO => descriptor::errno(error),
            error => self.unmeant("opening /dev/tty", error, machine::open),
        })?;
        // the descriptor of `/dev/tty` has a device number of its own, other than that of the terminal that it refers
        // to
        let device = descriptor::terminal_of(fd.as_fd()).map_err(descriptor::errno)?;
        Ok(self.install(Descriptor::opened(fd, FdKind::Tty, Key::Tty(device))))
    }

    fn set_tty(&mut self, fd: Fd) -> Write {
        if self.fds.get(&fd.0).is_none_or(|d| d.kind != FdKind::Tty) {
            return Write::Failed(Errno::NoTty);
        }
        if self.is_put_off(Stop::SetMode(fd.0), fd.0, Sig::Ttou) {
            return Write::Later;
        }
        let Some(descriptor) = self.fds.get(&fd.0) else { return Write::Failed(Errno::NoTty) };
        match signals::interrupted_by_cont(|| descriptor::set_mode(descriptor.fd())) {
            Ok(()) => Write::Took(1),
            Err(rustix::io::Errno::INTR) => Write::Later,
            Err(error) => Write::Failed(descriptor::errno(error)),
        }
    }

    fn tty_size(&self, fd: Fd) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(self.fds.get(&fd.0)?.fd()).ok()?;
        Some((size.ws_row, size.ws_col))
    }

    fn listen(&mut self) -> Result<(Fd, u16), Errno> {
        self.listen_at(Listen { address: Ipv4Addr::LOCALHOST, port: 0 })
    }

    fn listen_at(&mut self, wish: Listen) -> Result<(Fd, u16), Errno> {
        self.listen_as(wish)
    }

    fn accept(&mut self, fd: Fd) -> Option<Fd> {
        self.take_connection(fd)
    }

    fn connect(&mut self, port: u16) -> Result<Fd, Errno> {
        self.connect_to(port)
    }

    fn connect_mute(&mut self, answer: &[u8]) -> Result<Fd, Errno> {
        self.connect_to_nobody(answer)
    }

    fn open_fifo(&mut self) -> Result<Fd, Errno> {
        let (fifo, inode) = descriptor::fifo().map_err(|e| self.unmeant("making a FIFO", e, machine::open))?;
        Ok(self.install(Descriptor::opened(fifo, FdKind::Pipe, Key::Fifo(inode))))
    }

    fn open_locked(&mut self, database: bool) -> Result<Fd, Errno> {
        let (file, holder, inode) =
            descriptor::locked(database).map_err(|e| self.unmeant("locking a file", e, machine::open))?;
        let file = Descriptor::opened(file, FdKind::Null, Key::Locked(inode, database));
        Ok(self.install(file.beside(holder)))
    }

    fn open_lock(&mut self) -> Result<Fd, Errno> {
        // of all that the processes of a cell have in common, only the lifeline is there in every one
        let lifeline = self.scheduler.as_ref().map(|scheduler| scheduler.lifeline.as_fd());
        let file = descriptor::lock_file(lifeline).map_err(|e| self.unmeant("opening a lock", e, machine::open))?;
        Ok(self.install(Descriptor::opened(file, FdKind::Null, Key::Lock)))
    }

    fn try_lock(&mut self, fd: Fd) -> bool {
        let Some(descriptor) = self.fds.get(&fd.0).filter(|descriptor| descriptor.key == Key::Lock) else {
            return false;
        };
        let has = descriptor::try_lock(descriptor.fd());
        if has && self.locks != Some(fd.0) {
            self.locks = Some(fd.0);
            self.say(Said::Locks(true));
        }
        has
    }

    fn spawn(&mut self, spawn: Spawn) -> Result<Child, Errno> {
        self.start(spawn)
    }

    fn try_wait(&mut self, child: Child) -> Option<Exit> {
        self.reap(child)
    }

    fn kill(&mut self, target: Target, sig: Sig) -> Result<(), Errno> {
        self.signal(target, sig)
    }

    fn setsid(&mut self) -> Result<(), Errno> {
        rustix::process::setsid().map_err(descriptor::errno)?;
        self.say(Said::Setsid);
        Ok(())
    }

    fn on_signal(&mut self, sig: Sig, disposition: Disposition) {
        self.signals.set(sig, disposition);
        self.say(Said::Disposition(signals::number(sig), disposition as u8));
    }

    fn take_signal(&mut self) -> Option<Sig> {
        let sig = self.may_be_signalled.then(|| self.signals.take()).flatten()?;
        self.say(Said::Took(signals::number(sig)));
        Some(sig)
    }

    fn note(&mut self, fact: Fact) {
        if let Some(journal) = &self.journal {
            journal.write(journal::Said::What(What::Fact(fact)));
            return;
        }
        self.say(Said::Fact(fact));
    }
}
