//! An operating system in memory for one persona: the test provides what comes in, and what goes out is recorded.
//!
//! Invariant: nothing here has a clock or an order of its own; the same calls give the same answers.

use rehang_os::os::{
    Child, Disposition, Errno, Exit, Fd, FdKind, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Sig, Spawn, Target,
    Wait, Write,
};
use rehang_scenario::{Canon, VTime};
use rehang_trace::Fact;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The port that it listens on.
const PORT: u16 = 4_096;

/// The state of one process's surroundings.
pub(crate) struct Bench {
    pub(crate) now: VTime,
    /// What the standard streams are.
    pub(crate) streams: FdKind,
    /// The bytes that can be read, and the descriptors that are at their end after those.
    input: BTreeMap<Fd, VecDeque<u8>>,
    ends: BTreeSet<Fd>,
    pub(crate) output: BTreeMap<Fd, Vec<u8>>,
    /// Descriptors that cannot be written to now.
    pub(crate) full: BTreeSet<Fd>,
    /// Connections that wait to be accepted at the listener.
    backlog: VecDeque<Fd>,
    next_fd: u32,
    pub(crate) children: u32,
    pub(crate) exits: BTreeMap<Child, Exit>,
    pub(crate) facts: Vec<Fact>,
}

impl Bench {
    /// A process on pipes at an instant.
    pub(crate) fn new() -> Bench {
        Bench {
            now: VTime(1_000),
            streams: FdKind::Pipe,
            input: BTreeMap::new(),
            ends: BTreeSet::new(),
            output: BTreeMap::new(),
            full: BTreeSet::new(),
            backlog: VecDeque::new(),
            next_fd: 10,
            children: 0,
            exits: BTreeMap::new(),
            facts: Vec::new(),
        }
    }

    fn fd(&mut self) -> Fd {
        self.next_fd += 1;
        Fd(self.next_fd)
    }

    /// The descriptor that is given out next.
    pub(crate) fn next_fd(&self) -> Fd {
        Fd(self.next_fd + 1)
    }

    /// These bytes arrive at a descriptor.
    pub(crate) fn arrives(&mut self, fd: Fd, bytes: &[u8]) {
        self.input.entry(fd).or_default().extend(bytes);
    }

    /// Nothing more comes after what has arrived.
    pub(crate) fn ends(&mut self, fd: Fd) {
        self.ends.insert(fd);
    }

    /// A client connects and sends this text.
    pub(crate) fn client(&mut self, says: &str) -> Fd {
        let fd = self.fd();
        self.backlog.push_back(fd);
        self.arrives(fd, says.as_bytes());
        fd
    }

    /// Resumes a program that must wait after that, and returns its state.
    pub(crate) fn state(&mut self, program: &mut dyn Program) -> Vec<u8> {
        let next = program.resume(self);
        assert!(matches!(next, Next::Wait(Wait { .. })), "it ended: {next:?}");
        let mut canon = Canon::new(self.now);
        program.canon(&mut canon);
        canon.into_bytes()
    }
}

impl Os for Bench {
    fn now(&self) -> VTime {
        self.now
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn role(&self) -> &str {
        "agent"
    }

    fn read(&mut self, fd: Fd, max: usize) -> Read {
        let input = self.input.entry(fd).or_default();
        match input.len() {
            0 if self.ends.contains(&fd) => Read::Eof,
            0 => Read::Later,
            some => Read::Data(input.drain(..max.min(some)).collect()),
        }
    }

    fn write(&mut self, fd: Fd, bytes: &[u8]) -> Write {
        if self.full.contains(&fd) {
            return Write::Later;
        }
        self.output.entry(fd).or_default().extend_from_slice(bytes);
        Write::Took(bytes.len())
    }

    fn close(&mut self, _: Fd) {}

    fn kind(&self, fd: Fd) -> FdKind {
        if [STDIN, STDOUT, STDERR].contains(&fd) { self.streams } else { FdKind::Pipe }
    }

    fn pipe(&mut self) -> (Fd, Fd) {
        (self.fd(), self.fd())
    }

    fn open_tty(&mut self) -> Result<Fd, Errno> {
        Err(Errno::NoDevice)
    }

    fn set_tty(&mut self, _: Fd) -> Write {
        Write::Took(1)
    }

    fn tty_size(&self, _: Fd) -> Option<(u16, u16)> {
        None
    }

    fn listen(&mut self) -> Result<(Fd, u16), Errno> {
        Ok((self.fd(), PORT))
    }

    fn accept(&mut self, _: Fd) -> Option<Fd> {
        self.backlog.pop_front()
    }

    fn connect(&mut self, _: u16) -> Result<Fd, Errno> {
        Ok(self.fd())
    }

    fn connect_mute(&mut self, _: &[u8]) -> Result<Fd, Errno> {
        Ok(self.fd())
    }

    fn open_fifo(&mut self) -> Result<Fd, Errno> {
        Ok(self.fd())
    }

    fn open_locked(&mut self, _: bool) -> Result<Fd, Errno> {
        Ok(self.fd())
    }

    fn open_lock(&mut self) -> Result<Fd, Errno> {
        Ok(self.fd())
    }

    fn try_lock(&mut self, _: Fd) -> bool {
        true
    }

    fn spawn(&mut self, _: Spawn) -> Result<Child, Errno> {
        self.children += 1;
        Ok(Child(self.children))
    }

    fn try_wait(&mut self, child: Child) -> Option<Exit> {
        self.exits.remove(&child)
    }

    fn kill(&mut self, _: Target, _: Sig) -> Result<(), Errno> {
        Ok(())
    }

    fn setsid(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn on_signal(&mut self, _: Sig, _: Disposition) {}

    fn take_signal(&mut self) -> Option<Sig> {
        None
    }

    fn note(&mut self, fact: Fact) {
        self.facts.push(fact);
    }
}
