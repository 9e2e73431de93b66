//! A kernel's tables as a [`Snapshot`]: what `/proc` would show of a cell's processes, in virtual time.
//!
//! Both kernels that keep virtual time fill the same [`Tables`] from what they know anyway, the simulated one from its
//! model, lockstep from what participants announce; nothing asks the real `/proc`. An agent, which is an event loop, is
//! shown in `epoll_wait` with a worker thread beside it; any other program in the one call that a plain program would be
//! blocked in.
//!
//! Invariant: a snapshot is a pure function of the tables. Processes, pipes, terminals and sockets are numbered in the order
//! in which they were made, so no real pid, inode, port or path is in it.

use crate::kernel::Proc;
use crate::os::Sig;
use rehang_evidence::data::{
    Call, Descriptor, Does, Family, Io, Mode, Object, Pid, Process, Reader, Signals, Socket, SocketState, State,
    Thread, TimeLimit, Traffic, Watch,
};
use rehang_evidence::{Snapshot, kind};
use rehang_scenario::VTime;
use std::collections::{BTreeMap, BTreeSet};

/// The process that takes in orphans.
const INIT: Pid = 1;
/// The first of the scheduler's parties: [`Tables::outside`] in order.
const FIRST_PARTY: Pid = 2;
/// The first process of a cell: no cell has so many parties.
const FIRST: Pid = 1_000;
/// The shell of the first terminal: no cell has so many processes.
const FIRST_SHELL: Pid = 1_000_000;
/// Threads' ids, beside those of the processes.
const FIRST_WORKER: Pid = 2_000_000;
/// The first inode of each kind.
const PIPES: u64 = 10_000_000;
const SOCKETS: u64 = 20_000_000;
const LISTENERS: u64 = 30_000_000;
/// The number of an event loop's own descriptor, which no persona has.
const EPOLL_FD: i32 = 1_000;
/// The first port of a listener, and of whoever connects.
const LISTENS_AT: u64 = 4_096;
const CONNECTS_FROM: u64 = 32_768;
/// The major number of pseudo-terminals.
const PTY_MAJOR: u32 = 136;
/// Virtual time begins this long after the machine: nothing began before its boot.
const BOOT_NS: u64 = 3_600_000_000_000;
/// The most arguments of a process, and the most characters of each, as the reader of `/proc` keeps them.
const MAX_ARGS: usize = 64;
const MAX_ARG: usize = 1_024;
/// Bytes of a process's name.
const COMM: usize = 15;
/// `TCSETS`: what a program does that sets its terminal.
const TCSETS: u64 = 0x5402;

/// What a descriptor refers to, by the number of its object among those of its kind, in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// `/dev/null`.
    Null,
    /// The read end of a pipe.
    PipeRead(u64),
    /// The write end of a pipe.
    PipeWrite(u64),
    /// The slave of a terminal.
    Tty(u64),
    /// The master of a terminal.
    Master(u64),
    /// A listening socket.
    Listener(u64),
    /// An end of a connection: 0 connected, 1 accepted.
    Socket(u64, usize),
}

/// A group or session: a process's, or that of a terminal's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leader {
    /// This process's.
    Proc(Proc),
    /// That of the shell of this terminal.
    Shell(u64),
    /// Nobody's.
    Nobody,
}

impl Leader {
    fn pid(self) -> Pid {
        match self {
            Leader::Proc(proc) => pid_of(proc),
            Leader::Shell(tty) => FIRST_SHELL + Pid::try_from(tty).unwrap_or_default(),
            Leader::Nobody => -1,
        }
    }
}

/// What a process is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// It has not run yet: it is about to.
    New,
    /// It waits.
    Waits(Waits),
    /// It has ended, and was not reaped.
    Zombie,
}

/// What a process waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Descriptors to read from.
    pub read: Vec<u32>,
    /// Descriptors to write to.
    pub write: Vec<u32>,
    /// An instant.
    pub until: Option<VTime>,
    /// A child's end.
    pub child: bool,
}

/// A process that is not gone.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Its place.
    pub proc: Proc,
    /// Its name and arguments.
    pub argv: &'a [String],
    /// Its parent; none: the scheduler started it, or it was adopted.
    pub parent: Option<Proc>,
    /// The scheduler started it.
    pub root: bool,
    /// Its group and its session.
    pub group: Leader,
    /// Its session.
    pub session: Leader,
    /// Its parent is the shell of its terminal.
    pub shell: bool,
    /// Its controlling terminal.
    pub controlling: Option<u64>,
    /// Its descriptors, by number.
    pub fds: Vec<(u32, Thing)>,
    /// What it is at.
    pub at: At,
    /// The signal that stopped it.
    pub stopped: Option<Sig>,
    /// Its own access to its terminal stopped it.
    pub retries: bool,
    /// Signals that it ignores, that it catches, that wait for it.
    pub ignores: Vec<Sig>,
    /// Signals that it catches.
    pub catches: Vec<Sig>,
    /// Signals that wait for it.
    pub pending: Vec<Sig>,
    /// What it has used.
    pub used: Used,
}

/// What a process has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// When it began.
    pub began: VTime,
    /// How often it was let run.
    pub turns: u64,
    /// What it read and wrote; a turn in which it did counts as one call.
    pub io: Io,
    read_in: u64,
    wrote_in: u64,
}

impl Used {
    /// A process begins.
    pub fn from(began: VTime) -> Used {
        Used { began, ..Used::default() }
    }

    /// It read so many bytes in its present turn.
    pub fn read(&mut self, bytes: u64) {
        self.io.read_bytes += bytes;
        if bytes > 0 && self.read_in != self.turns {
            self.read_in = self.turns;
            self.io.reads += 1;
        }
    }

    /// It wrote so many bytes in its present turn.
    pub fn wrote(&mut self, bytes: u64) {
        self.io.written_bytes += bytes;
        if bytes > 0 && self.wrote_in != self.turns {
            self.wrote_in = self.turns;
            self.io.writes += 1;
        }
    }
}

/// One direction of a connection: what has gone through it, and when last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Went {
    /// Bytes.
    pub bytes: u64,
    /// Pieces: all that was written in one turn is one.
    pub pieces: u32,
    /// When the last ones went.
    pub last: Option<VTime>,
    piece: u64,
}

impl Went {
    /// So many bytes go at this time, in this turn of this kernel.
    pub fn add(&mut self, bytes: u64, now: VTime, turn: u64) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        self.pieces += u32::from(self.last.is_none() || self.piece != turn);
        self.piece = turn;
        self.last = Some(now);
    }
}

/// A connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// The listener that it was made to.
    pub listener: u64,
    /// When it was made.
    pub made: VTime,
    /// What has gone to each end.
    pub to: [Went; 2],
    /// What lies unread at each end.
    pub unread: [u64; 2],
    /// Which ends are open.
    pub open: [bool; 2],
}

/// Someone outside the cell's processes: whoever holds the scheduler's descriptors in their eyes.
#[derive(Debug, Clone, Default)]
pub struct Outsider {
    /// A name: `wrapper`, `client`, `model`.
    pub name: String,
    /// What it holds, and whether it waits for input there.
    pub holds: Vec<(Thing, bool)>,
}

/// All that a snapshot is made of.
#[derive(Debug, Clone, Default)]
pub struct Tables<'a> {
    /// Virtual time.
    pub now: VTime,
    /// The processes that are not gone, in the order of starts.
    pub rows: Vec<Row<'a>>,
    /// The foreground groups of the terminals, by number.
    pub foregrounds: BTreeMap<u64, Leader>,
    /// The connections, by number.
    pub links: BTreeMap<u64, Link>,
    /// How many connections wait at each listener, by number.
    pub queues: BTreeMap<u64, u64>,
    /// Who is outside; the first one started the agents.
    pub outside: Vec<Outsider>,
}

/// The pid that a snapshot gives to a process.
pub fn pid_of(proc: Proc) -> Pid {
    FIRST + Pid::try_from(proc.0).unwrap_or(Pid::MAX - FIRST)
}

/// The process that has this pid in a snapshot.
pub fn proc_of(pid: Pid) -> Option<Proc> {
    pid.checked_sub(FIRST).and_then(|at| u32::try_from(at).ok()).map(Proc)
}

impl Tables<'_> {
    /// The snapshot. The roots are the agents that live; where none does, whoever started them.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            at_ns: at_ns(self.now),
            reader: Reader { pid: INIT, arch: "x86_64".to_owned(), ticks_per_s: 100, ..Reader::default() },
            ..Snapshot::default()
        };
        let mut all: BTreeMap<Pid, Process> = BTreeMap::new();
        for (at, outsider) in self.outside.iter().enumerate() {
            let process = outsider.process(party(at));
            all.insert(process.pid, process);
        }
        for tty in self.rows.iter().filter(|row| row.shell).filter_map(|row| row.controlling) {
            let shell = self.shell(tty);
            all.insert(shell.pid, shell);
        }
        for row in &self.rows {
            let process = self.process(row);
            all.insert(process.pid, process);
        }
        snapshot.roots = self.roots();
        self.split(all, &mut snapshot);
        self.sockets(&mut snapshot);
        snapshot
    }

    fn roots(&self) -> Vec<Pid> {
        let lives = |row: &&Row<'_>| row.root && row.at != At::Zombie;
        let agents: Vec<Pid> = self.rows.iter().filter(lives).map(|row| pid_of(row.proc)).collect();
        if agents.is_empty() { vec![party(0)] } else { agents }
    }

    /// The roots and all below them are the tree; the rest is around it where it shares something with the tree, or is
    /// above it.
    fn split(&self, mut all: BTreeMap<Pid, Process>, snapshot: &mut Snapshot) {
        let mut tree: BTreeSet<Pid> = snapshot.roots.iter().copied().collect();
        loop {
            let below = |process: &&Process| tree.contains(&process.ppid) && !tree.contains(&process.pid);
            let more: Vec<Pid> = all.values().filter(below).map(|process| process.pid).collect();
            if more.is_empty() {
                break;
            }
            tree.extend(more);
        }
        let shared: BTreeSet<u64> = all
            .values()
            .filter(|process| tree.contains(&process.pid))
            .flat_map(|p| &p.fds)
            .filter_map(shares)
            .collect();
        let mut above: BTreeSet<Pid> = BTreeSet::new();
        for root in &snapshot.roots {
            let mut at = all.get(root).map_or(0, |process| process.ppid);
            while at > 0 && above.insert(at) {
                at = all.get(&at).map_or(0, |process| process.ppid);
            }
        }
        all.retain(|pid, process| {
            tree.contains(pid)
                || above.contains(pid)
                || process.fds.iter().filter_map(shares).any(|thing| shared.contains(&thing))
        });
        (snapshot.tree, snapshot.around) = all.into_iter().partition(|(pid, _)| tree.contains(pid));
    }

    fn process(&self, row: &Row<'_>) -> Process {
        let pid = pid_of(row.proc);
        let parent = match row.parent {
            Some(parent) => pid_of(parent),
            None if row.shell => row.controlling.map_or(INIT, |tty| Leader::Shell(tty).pid()),
            None if row.root => party(0),
            None => INIT,
        };
        let lives = |leader: Leader| match leader {
            Leader::Proc(proc) => self.rows.iter().any(|other| other.proc == proc && other.at != At::Zombie),
            Leader::Shell(_) => row.shell,
            Leader::Nobody => false,
        };
        let zombie = row.at == At::Zombie;
        let args: Vec<String> = row.argv.iter().take(MAX_ARGS).map(|arg| arg.chars().take(MAX_ARG).collect()).collect();
        let mut process = Process {
            pid,
            ns_pid: pid,
            ppid: parent,
            pgrp: row.group.pid(),
            session: row.session.pid(),
            comm: name(&args),
            args: if zombie { Vec::new() } else { args },
            cwd: (!zombie).then(|| "/work".to_owned()),
            tty: row.controlling.map_or(0, |tty| PTY_MAJOR << 8 | u32::try_from(tty).unwrap_or_default()),
            tty_group: row.controlling.and_then(|tty| self.foregrounds.get(&tty)).map_or(-1, |leader| leader.pid()),
            began_ns: at_ns(row.used.began),
            io: Some(row.used.io),
            signals: Signals {
                pending: set(&row.pending),
                blocked: 0,
                ignored: set(&row.ignores),
                caught: set(&row.catches),
            },
            fds: row.fds.iter().map(|&(fd, thing)| descriptor(fd, thing)).collect(),
            fds_read: true,
            parent_name: self.name_of(parent),
            group_led: lives(row.group),
            session_led: lives(row.session),
            ..Process::default()
        };
        process.state = match row.at {
            At::Zombie => State::Zombie,
            _ if row.stopped.is_some() => State::Stopped,
            At::New => State::Running,
            At::Waits(_) => State::Sleeping,
        };
        self.enter_call(row, &mut process);
        process
    }

    fn name_of(&self, pid: Pid) -> String {
        let row = proc_of(pid).and_then(|proc| self.rows.iter().find(|row| row.proc == proc));
        match (row, usize::try_from(pid - FIRST_PARTY).ok().and_then(|at| self.outside.get(at))) {
            (Some(row), _) => name(row.argv),
            (None, Some(outsider)) => outsider.name.clone(),
            (None, None) if pid == INIT => "init".to_owned(),
            (None, None) => "bash".to_owned(),
        }
    }

    /// Puts the process's threads into the calls that they are in.
    fn enter_call(&self, row: &Row<'_>, process: &mut Process) {
        let mut first = Thread {
            tid: process.pid,
            comm: process.comm.clone(),
            state: process.state,
            switches: row.used.turns,
            call_read: true,
            ..Thread::default()
        };
        if let At::Waits(waits) = &row.at {
            let at_tty = |fds: &[u32]| {
                let is_tty =
                    |fd: &&u32| row.fds.iter().any(|(held, thing)| held == *fd && matches!(thing, Thing::Tty(_)));
                fds.iter().find(is_tty).map_or(0, |fd| fd.cast_signed())
            };
            let limit = waits.until.map_or(TimeLimit::Never, |until| TimeLimit::LeftMs(until.since(self.now).as_ms()));
            first.call = Some(match row.stopped.filter(|_| row.retries) {
                Some(Sig::Ttin) => call("read", Does::Read { fd: at_tty(&waits.read) }, TimeLimit::Never),
                Some(Sig::Ttou) => {
                    let fd = at_tty(&waits.write);
                    call("ioctl", Does::Ioctl { fd, request: TCSETS }, TimeLimit::Never)
                }
                _ if kind::of(process).is_some() => {
                    process.fds.push(epoll(waits));
                    call("epoll_pwait2", Does::Epoll { fd: EPOLL_FD }, limit)
                }
                _ => plain(waits, limit),
            });
        }
        let is_loop = matches!(first.call, Some(Call { does: Does::Epoll { .. }, .. }));
        process.threads.push(first);
        if is_loop {
            process.threads.push(Thread {
                tid: FIRST_WORKER + process.pid,
                comm: "worker".to_owned(),
                // FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG
                call: Some(Call { args: [0, 137, 0, 0, 0, 0], ..call("futex", Does::Futex, TimeLimit::Never) }),
                state: process.state,
                call_read: true,
                ..Thread::default()
            });
        }
    }

    /// The shell in the foreground of a terminal, at its prompt.
    fn shell(&self, tty: u64) -> Process {
        let pid = Leader::Shell(tty).pid();
        let reads = call("read", Does::Read { fd: 0 }, TimeLimit::Never);
        Process {
            ppid: party(0),
            tty: PTY_MAJOR << 8 | u32::try_from(tty).unwrap_or_default(),
            tty_group: self.foregrounds.get(&tty).map_or(-1, |leader| leader.pid()),
            fds: vec![descriptor(0, Thing::Tty(tty))],
            ..outsider(pid, "bash", Some(reads))
        }
    }

    fn sockets(&self, snapshot: &mut Snapshot) {
        let held: BTreeSet<u64> = snapshot.processes().flat_map(|process| &process.fds).filter_map(inode).collect();
        for (&number, link) in &self.links {
            for side in 0..2 {
                if held.contains(&socket_inode(number, side)) {
                    let socket = link.socket(number, side, self.now);
                    snapshot.sockets.insert(socket.inode, socket);
                }
            }
        }
        for (&number, &waiting) in &self.queues {
            let inode = LISTENERS + number;
            if held.contains(&inode) {
                let socket = Socket {
                    inode,
                    family: Family::Tcp,
                    state: SocketState::Listening,
                    local: address(LISTENS_AT + number),
                    unread: waiting,
                    ..Socket::default()
                };
                snapshot.sockets.insert(inode, socket);
            }
        }
    }
}

impl Link {
    fn socket(&self, number: u64, side: usize, now: VTime) -> Socket {
        let ends = [address(CONNECTS_FROM + number), address(LISTENS_AT + self.listener)];
        let (to_us, to_them) = (self.to[side], self.to[1 - side]);
        let since = |went: Went| now.since(went.last.unwrap_or(self.made)).as_ms();
        Socket {
            inode: socket_inode(number, side),
            family: Family::Tcp,
            state: if self.open[1 - side] { SocketState::Established } else { SocketState::CloseWait },
            local: ends[side].clone(),
            remote: ends[1 - side].clone(),
            peer: self.open[1 - side].then(|| socket_inode(number, 1 - side)),
            unread: self.unread[side],
            unsent: 0,
            traffic: Some(Traffic {
                since_received_ms: since(to_us),
                since_sent_ms: since(to_them),
                received_bytes: to_us.bytes,
                received_pieces: to_us.pieces,
                sent_bytes: to_them.bytes,
                retransmits: 0,
            }),
        }
    }
}

impl Outsider {
    fn process(&self, pid: Pid) -> Process {
        let fds = || (3_u32..).zip(&self.holds);
        let on: Vec<Watch> = fds()
            .filter(|(_, (_, reads))| *reads)
            .map(|(fd, _)| Watch { fd: fd.cast_signed(), input: true, output: false })
            .collect();
        // a client is an event loop with timers of its own; the wrapper reads as `communicate()` does
        let limit = if pid == party(0) { TimeLimit::Never } else { TimeLimit::Unknown };
        let waits = call("poll", Does::Poll { on }, limit);
        let fds = fds().map(|(fd, &(thing, _))| descriptor(fd, thing)).collect();
        Process { fds, ..outsider(pid, &self.name, Some(waits)) }
    }
}

fn outsider(pid: Pid, name: &str, call: Option<Call>) -> Process {
    let thread = Thread { tid: pid, comm: name.to_owned(), call, call_read: true, ..Thread::default() };
    Process {
        pid,
        ns_pid: pid,
        ppid: INIT,
        pgrp: pid,
        session: pid,
        comm: name.to_owned(),
        args: vec![name.to_owned()],
        threads: vec![thread],
        fds_read: true,
        parent_name: "init".to_owned(),
        group_led: true,
        session_led: true,
        ..Process::default()
    }
}

/// The call of a program that is no event loop.
fn plain(waits: &Waits, limit: TimeLimit) -> Call {
    match (waits.read.as_slice(), waits.write.as_slice(), waits.until) {
        // a shell takes its children's ends by a signal meanwhile
        ([fd], [], None) => call("read", Does::Read { fd: fd.cast_signed() }, TimeLimit::Never),
        ([], [fd], None) => call("write", Does::Write { fd: fd.cast_signed() }, TimeLimit::Never),
        ([], [], None) if waits.child => call("wait4", Does::Child { pid: -1 }, TimeLimit::Never),
        ([], [], None) => call("pause", Does::Signal, TimeLimit::Never),
        ([], [], Some(_)) => call("clock_nanosleep", Does::Sleep, limit),
        _ => call("poll", Does::Poll { on: watches(waits) }, limit),
    }
}

fn call(name: &str, does: Does, limit: TimeLimit) -> Call {
    // numbers differ by architecture: only names and deeds are told
    Call { number: -1, name: name.to_owned(), does, limit, ..Call::default() }
}

fn watches(waits: &Waits) -> Vec<Watch> {
    let mut on: BTreeMap<u32, Watch> = BTreeMap::new();
    let none = |fd: u32| Watch { fd: fd.cast_signed(), input: false, output: false };
    for &fd in &waits.read {
        on.entry(fd).or_insert(none(fd)).input = true;
    }
    for &fd in &waits.write {
        on.entry(fd).or_insert(none(fd)).output = true;
    }
    on.into_values().collect()
}

fn epoll(waits: &Waits) -> Descriptor {
    Descriptor { fd: EPOLL_FD, mode: Mode::Both, what: Object::Epoll { on: watches(waits) } }
}

fn descriptor(fd: u32, thing: Thing) -> Descriptor {
    let (mode, what) = match thing {
        Thing::Null => (Mode::Both, Object::Null),
        Thing::PipeRead(number) => (Mode::Read, Object::Pipe { inode: PIPES + number }),
        Thing::PipeWrite(number) => (Mode::Write, Object::Pipe { inode: PIPES + number }),
        Thing::Tty(number) => {
            (Mode::Both, Object::Tty { path: format!("/dev/pts/{number}"), index: u32::try_from(number).ok() })
        }
        Thing::Master(number) => (Mode::Both, Object::Master { index: u32::try_from(number).unwrap_or_default() }),
        Thing::Listener(number) => (Mode::Both, Object::Socket { inode: LISTENERS + number }),
        Thing::Socket(number, side) => (Mode::Both, Object::Socket { inode: socket_inode(number, side) }),
    };
    Descriptor { fd: fd.cast_signed(), mode, what }
}

/// What two processes can have in common, in one number: a pipe, a connection, a terminal.
fn shares(fd: &Descriptor) -> Option<u64> {
    match fd.what {
        Object::Socket { inode } if inode < LISTENERS => Some(SOCKETS + (inode - SOCKETS) / 2 * 2),
        Object::Tty { index: Some(index), .. } | Object::Master { index } => Some(u64::from(index)),
        _ => inode(fd),
    }
}

fn inode(fd: &Descriptor) -> Option<u64> {
    match fd.what {
        Object::Pipe { inode } | Object::Socket { inode } => Some(inode),
        _ => None,
    }
}

fn socket_inode(number: u64, side: usize) -> u64 {
    SOCKETS + 2 * number + side as u64
}

fn address(port: u64) -> String {
    format!("127.0.0.1:{port}")
}

fn party(at: usize) -> Pid {
    FIRST_PARTY + Pid::try_from(at).unwrap_or_default()
}

fn at_ns(now: VTime) -> u64 {
    BOOT_NS.saturating_add(now.0.saturating_mul(1_000_000))
}

/// The name that the kernel keeps.
fn name(argv: &[String]) -> String {
    let name = crate::os::program_name(argv);
    let end = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= COMM).last();
    name[..end.unwrap_or(0)].to_owned()
}

fn set(signals: &[Sig]) -> u64 {
    signals.iter().fold(0, |set, sig| set | 1 << (sig.number() - 1))
}
