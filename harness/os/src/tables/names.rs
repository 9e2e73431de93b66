//! The numbers, paths and addresses of a snapshot.
//!
//! Invariant: each is a function of an object's kind and of its place among those of its kind, and no two share one.

use super::{Leader, Link, Thing};
use crate::kernel::Proc;
use crate::os::Sig;
use rehang_evidence::data::{Descriptor, Family, Mode, Object, Pid, Socket, SocketState, Traffic};
use rehang_scenario::VTime;

/// The process that takes in orphans.
pub(super) const INIT: Pid = 1;
/// The pid of the first of the scheduler's parties: [`Tables::outside`] in order.
pub(super) const FIRST_PARTY: Pid = 2;
/// The pid of the run outside that holds every lock: after all parties.
pub(super) const LOCKER: Pid = 999;
/// The pid of the first process of a cell: no cell has more parties than fit before it.
pub(super) const FIRST: Pid = 1_000;
/// The pid of the first terminal's shell: no cell has more processes than fit before it.
pub(super) const FIRST_SHELL: Pid = 1_000_000;
/// The first inode of each kind.
pub(super) const PIPES: u64 = 10_000_000;
pub(super) const SOCKETS: u64 = 20_000_000;
pub(super) const LISTENERS: u64 = 30_000_000;
pub(super) const FIFOS: u64 = 40_000_000;
pub(super) const FILES: u64 = 50_000_000;
/// The inode of the file whose lock the processes of the cell take in turn.
pub(super) const LOCK: u64 = 60_000_000;
/// The first port of a listener, and of whoever connects.
pub(super) const LISTENS_AT: u64 = 4_096;
pub(super) const CONNECTS_FROM: u64 = 32_768;
/// The major number of pseudo-terminals.
pub(super) const PTY_MAJOR: u32 = 136;
/// Virtual time begins this long after the machine's boot, so nothing began before the boot.
pub(super) const BOOT_NS: u64 = 3_600_000_000_000;
/// The most bytes of a process's name.
pub(super) const COMM: usize = 15;

impl Leader {
    pub(super) fn pid(self) -> Pid {
        match self {
            Leader::Proc(proc) => pid_of(proc),
            Leader::Shell(tty) => FIRST_SHELL + Pid::try_from(tty).unwrap_or_default(),
            Leader::Nobody => -1,
        }
    }
}

/// The pid that a snapshot gives to a process.
pub fn pid_of(proc: Proc) -> Pid {
    FIRST + Pid::try_from(proc.0).unwrap_or(Pid::MAX - FIRST)
}

/// The process that has this pid in a snapshot.
pub fn proc_of(pid: Pid) -> Option<Proc> {
    pid.checked_sub(FIRST).and_then(|at| u32::try_from(at).ok()).map(Proc)
}

impl Link {
    /// The socket at one of its ends.
    pub(super) fn socket(&self, number: u64, side: usize, now: VTime) -> Socket {
        let mut ends = [address(CONNECTS_FROM + number), address(LISTENS_AT + self.listener)];
        ends.rotate_left(side);
        let [local, remote] = ends;
        let (to_us, to_them) = (self.to[side], self.to[1 - side]);
        let since = |went: super::Went| now.since(went.last.unwrap_or(self.made)).as_ms();
        Socket {
            inode: socket_inode(number, side),
            family: Family::Tcp,
            state: if self.open[1 - side] { SocketState::Established } else { SocketState::CloseWait },
            local,
            remote,
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

pub(super) fn descriptor(fd: u32, thing: Thing) -> Descriptor {
    let (mode, what) = match thing {
        Thing::Null => (Mode::Both, Object::Null),
        Thing::PipeRead(number) => (Mode::Read, Object::Pipe { inode: PIPES + number }),
        Thing::PipeWrite(number) => (Mode::Write, Object::Pipe { inode: PIPES + number }),
        Thing::Tty(number) => (Mode::Both, Object::Tty { path: format!("/dev/pts/{number}"), index: Some(number) }),
        Thing::Master(number) => (Mode::Both, Object::Master { index: number }),
        Thing::Listener(number) => (Mode::Both, Object::Socket { inode: LISTENERS + number }),
        Thing::Socket(number, side) => (Mode::Both, Object::Socket { inode: socket_inode(number, side) }),
        Thing::Fifo(number) => (Mode::Read, Object::Fifo { inode: FIFOS + number, path: String::new() }),
        Thing::Locked(number, database) => {
            let path = if database { "/work/state.db" } else { "/work/.lock" }.to_owned();
            (Mode::Both, Object::File { path, inode: FILES + number, device: (0, 1), offset: 0, at_end: false })
        }
        Thing::Lock => (
            Mode::Both,
            Object::File {
                path: "/work/.state.lock".to_owned(),
                inode: LOCK,
                device: (0, 1),
                offset: 0,
                at_end: false,
            },
        ),
    };
    Descriptor { fd: fd.cast_signed(), mode, what }
}

/// An object that two processes can have in common, as one number: a pipe, a connection, a terminal, the cell's lock.
pub(super) fn shares(fd: &Descriptor) -> Option<u64> {
    match fd.what {
        Object::Socket { inode } if inode < LISTENERS => Some(SOCKETS + (inode - SOCKETS) / 2 * 2),
        Object::Tty { index: Some(index), .. } | Object::Master { index } => Some(index),
        Object::File { inode: LOCK, .. } => Some(LOCK),
        _ => inode(fd),
    }
}

pub(super) fn inode(fd: &Descriptor) -> Option<u64> {
    match fd.what {
        Object::Pipe { inode } | Object::Socket { inode } => Some(inode),
        _ => None,
    }
}

pub(super) fn socket_inode(number: u64, side: usize) -> u64 {
    SOCKETS + 2 * number + side as u64
}

pub(super) fn address(port: u64) -> String {
    ["127.0.0.1:", itoa::Buffer::new().format(port)].concat()
}

pub(super) fn party(at: usize) -> Pid {
    FIRST_PARTY + Pid::try_from(at).unwrap_or_default()
}

pub(super) fn at_ns(now: VTime) -> u64 {
    BOOT_NS.saturating_add(now.0.saturating_mul(1_000_000))
}

/// The name that the kernel keeps of a process.
pub(super) fn name(argv: &[String]) -> String {
    let name = crate::os::program_name(argv);
    let end = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= COMM).last();
    name[..end.unwrap_or(0)].to_owned()
}

pub(super) fn set<'a>(signals: impl IntoIterator<Item = &'a Sig>) -> u64 {
    signals.into_iter().fold(0, |set, sig| set | 1 << (sig.number() - 1))
}
