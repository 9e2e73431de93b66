//! An operating system in memory, for one process: the test provides what it reads, and what it does is recorded.

use rehang_os::os::{
    Child, Disposition, Errno, Exit, Fd, FdKind, Group, Next, Os, Program, Read, Sig, Spawn, Target, Wait, Write,
};
use rehang_scenario::{Canon, VTime};
use rehang_trace::Fact;
use std::collections::BTreeMap;

/// The descriptor that `open_tty` gives.
pub(super) const TTY: Fd = Fd(3);
/// The descriptor that `listen` gives.
pub(super) const LISTENER: Fd = Fd(4);
/// The descriptor that `accept` gives.
pub(super) const CONNECTION: Fd = Fd(5);
/// The descriptor that `open_fifo` gives.
pub(super) const FIFO: Fd = Fd(6);
/// The descriptor that `open_locked` and `open_lock` give.
pub(super) const LOCKED: Fd = Fd(7);

pub(super) struct Double {
    pub(super) now: VTime,
    pub(super) envs: Vec<(String, String)>,
    pub(super) kinds: BTreeMap<Fd, FdKind>,
    /// What can be read now; after it `Eof` or `Later`.
    pub(super) input: BTreeMap<Fd, Vec<u8>>,
    pub(super) input_ends: bool,
    pub(super) output: BTreeMap<Fd, Vec<u8>>,
    /// How many bytes each write had.
    pub(super) writes: Vec<usize>,
    /// How many bytes each descriptor takes before it says `Later`.
    pub(super) room: usize,
    pub(super) write_error: Option<Errno>,
    pub(super) has_tty: bool,
    /// Whether the process is in a background group: changing the terminal's settings stops it.
    pub(super) in_background: bool,
    pub(super) leads_group: bool,
    pub(super) spawned: Vec<Spawn>,
    pub(super) exits: BTreeMap<Child, Exit>,
    pub(super) reaped: Vec<Child>,
    pub(super) ignored: Vec<Sig>,
    pub(super) raised: Vec<Sig>,
    /// The signals that were sent to children.
    pub(super) sent: Vec<(Child, Sig)>,
    /// Whether a client connects to the listener.
    pub(super) connects: bool,
    pub(super) sessions: u32,
    pub(super) pipes: u32,
    pub(super) closed: Vec<Fd>,
    pub(super) tty_is_set: bool,
    /// Whether nobody has the cell's lock.
    pub(super) lock_is_free: bool,
}

impl Double {
    pub(super) fn new() -> Double {
        Double {
            now: VTime(1_000),
            envs: vec![("PATH".to_owned(), "/bin".to_owned())],
            kinds: (0..3).map(|fd| (Fd(fd), FdKind::Pipe)).collect(),
            input: BTreeMap::new(),
            input_ends: false,
            output: BTreeMap::new(),
            writes: Vec::new(),
            room: usize::MAX,
            write_error: None,
            has_tty: false,
            in_background: false,
            leads_group: false,
            spawned: Vec::new(),
            exits: BTreeMap::new(),
            reaped: Vec::new(),
            ignored: Vec::new(),
            raised: Vec::new(),
            sent: Vec::new(),
            connects: false,
            sessions: 0,
            pipes: 0,
            closed: Vec::new(),
            tty_is_set: false,
            lock_is_free: false,
        }
    }

    pub(super) fn text(&self, fd: Fd) -> String {
        String::from_utf8(self.output.get(&fd).cloned().unwrap_or_default()).unwrap()
    }

    /// Resumes once, and a second time without cause: that must change nothing.
    pub(super) fn resume(&mut self, program: &mut dyn Program) -> Next {
        let next = program.resume(self);
        let Next::Wait(_) = &next else { return next };
        let state = self.state(program);
        let done = (self.output.clone(), self.spawned.len(), self.raised.len());
        if self.raised.is_empty() && !self.is_due(&next) {
            assert_eq!(program.resume(self), next);
            assert_eq!(self.state(program), state);
            assert_eq!((self.output.clone(), self.spawned.len(), self.raised.len()), done);
        }
        next
    }

    /// The same as [`Double::resume`], for a program that must wait now.
    pub(super) fn wait(&mut self, program: &mut dyn Program) -> Wait {
        match self.resume(program) {
            Next::Wait(wait) => wait,
            Next::Exit(code) => panic!("exited with {code}"),
        }
    }

    pub(super) fn state(&self, program: &dyn Program) -> Vec<u8> {
        let mut canon = Canon::new(self.now);
        program.canon(&mut canon);
        canon.into_bytes()
    }

    fn is_due(&self, next: &Next) -> bool {
        matches!(next, Next::Wait(Wait { until: Some(at), .. }) if *at <= self.now)
    }
}

impl Os for Double {
    fn now(&self) -> VTime {
        self.now
    }

    fn env(&self, key: &str) -> Option<String> {
        self.envs.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
    }

    fn envs(&self) -> Vec<(String, String)> {
        self.envs.clone()
    }

    fn role(&self) -> &str {
        "agent.1"
    }

    fn read(&mut self, fd: Fd, max: usize) -> Read {
        let input = self.input.entry(fd).or_default();
        if input.is_empty() {
            return if self.input_ends { Read::Eof } else { Read::Later };
        }
        Read::Data(input.drain(..max.min(input.len())).collect())
    }

    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Write {
        if let Some(error) = self.write_error {
            return Write::Failed(error);
        }
        let out = self.output.entry(fd).or_default();
        let taken = bytes.len().min(self.room - out.len().min(self.room));
        out.extend_from_slice(&bytes[..taken]);
        if taken == 0 {
            return Write::Later;
        }
        self.writes.push(bytes.len());
        Write::Took(taken)
    }

    fn close(&mut self, fd: Fd) {
        self.closed.push(fd);
    }

    fn kind(&self, fd: Fd) -> FdKind {
        self.kinds.get(&fd).copied().unwrap_or(FdKind::Closed)
    }

    fn pipe(&mut self) -> (Fd, Fd) {
        self.pipes += 1;
        (Fd(1_000 + 2 * self.pipes), Fd(1_001 + 2 * self.pipes))
    }

    fn open_tty(&mut self) -> Result<Fd, Errno> {
        if self.has_tty { Ok(TTY) } else { Err(Errno::NoDevice) }
    }

    fn set_tty(&mut self, _fd: Fd) -> Write {
        if self.in_background {
            return Write::Later;
        }
        self.tty_is_set = true;
        Write::Took(1)
    }

    fn tty_size(&self, _fd: Fd) -> Option<(u16, u16)> {
        None
    }

    fn listen(&mut self) -> Result<(Fd, u16), Errno> {
        Ok((LISTENER, 4_096))
    }

    fn accept(&mut self, _fd: Fd) -> Option<Fd> {
        std::mem::take(&mut self.connects).then_some(CONNECTION)
    }

    fn connect(&mut self, _port: u16) -> Result<Fd, Errno> {
        Err(Errno::Refused)
    }

    fn connect_mute(&mut self, answer: &[u8]) -> Result<Fd, Errno> {
        self.input.entry(CONNECTION).or_default().extend(answer);
        Ok(CONNECTION)
    }

    fn open_fifo(&mut self) -> Result<Fd, Errno> {
        Ok(FIFO)
    }

    fn open_locked(&mut self, _database: bool) -> Result<Fd, Errno> {
        Ok(LOCKED)
    }

    fn open_lock(&mut self) -> Result<Fd, Errno> {
        Ok(LOCKED)
    }

    fn try_lock(&mut self, _fd: Fd) -> bool {
        self.lock_is_free
    }

    fn spawn(&mut self, spawn: Spawn) -> Result<Child, Errno> {
        self.spawned.push(spawn);
        Ok(Child(self.spawned.len() as u32))
    }

    fn try_wait(&mut self, child: Child) -> Option<Exit> {
        assert!(!self.reaped.contains(&child), "reaped twice");
        let exit = self.exits.get(&child).copied();
        self.reaped.extend(exit.map(|_| child));
        exit
    }

    fn kill(&mut self, target: Target, sig: Sig) -> Result<(), Errno> {
        match target {
            Target::Itself => self.raised.push(sig),
            Target::Child(child) => self.sent.push((child, sig)),
            other => panic!("no step signals {other:?}"),
        }
        Ok(())
    }

    fn setsid(&mut self) -> Result<(), Errno> {
        if self.leads_group {
            return Err(Errno::NotPermitted);
        }
        self.sessions += 1;
        Ok(())
    }

    fn on_signal(&mut self, sig: Sig, disposition: Disposition) {
        assert_eq!(disposition, Disposition::Ignore);
        self.ignored.push(sig);
    }

    fn take_signal(&mut self) -> Option<Sig> {
        None
    }

    fn note(&mut self, fact: Fact) {
        panic!("fake-tool states no facts: {fact:?}")
    }
}

/// The group of what was spawned, so that a test can look at it.
pub(super) fn groups(os: &Double) -> Vec<Group> {
    os.spawned.iter().map(|spawn| spawn.group).collect()
}
