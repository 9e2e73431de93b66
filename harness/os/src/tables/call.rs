//! The system call that a process would be blocked in.
//!
//! Invariant: an agent is an event loop; any other program waits in the simplest call that waits for the same.

use super::{At, Row, Tables, Thing, Waits};
use crate::os::Sig;
use rehang_evidence::data::{Call, Descriptor, Does, Mode, Object, Pid, Process, Thread, TimeLimit, Watch};
use rehang_evidence::kind;
use std::collections::BTreeMap;

/// The number of an event loop's own descriptor, which no persona has.
const EPOLL_FD: i32 = 1_000;
/// `TCSETS`: the request of a program that sets its terminal.
const TCSETS: u64 = 0x5402;
/// The first id of a thread, apart from those of the processes.
const FIRST_WORKER: Pid = 2_000_000;

impl Tables<'_> {
    /// Puts the process's threads into the calls that they are in.
    pub(super) fn enter_call(&self, row: &Row<'_>, process: &mut Process) {
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
                _ if waits.read.iter().any(|fd| row.fds.iter().any(|held| held.0 == *fd && opens(held))) => {
                    call("openat", Does::Open { path: None, fifo: true }, TimeLimit::Never)
                }
                _ if waits.read.iter().any(|fd| row.fds.iter().any(|held| held.0 == *fd && is_locked(held))) => {
                    let fd = waits.read.first().map_or(0, |fd| fd.cast_signed());
                    call("flock", Does::Lock { fd }, limit)
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
}

/// Whether this is no descriptor yet: it is being opened.
pub(super) fn opens((_, thing): &(u32, Thing)) -> bool {
    matches!(thing, Thing::Fifo(_))
}

/// Whether this is a file whose lock is waited for in a call; a database's is waited for by naps.
pub(super) fn is_locked((_, thing): &(u32, Thing)) -> bool {
    matches!(thing, Thing::Locked(_, false) | Thing::Lock)
}

/// The call of a program that has no event loop.
fn plain(waits: &Waits, limit: TimeLimit) -> Call {
    match (waits.read.as_slice(), waits.write.as_slice(), waits.until) {
        // a shell learns of its children's ends by a signal meanwhile
        ([fd], [], None) => call("read", Does::Read { fd: fd.cast_signed() }, TimeLimit::Never),
        ([], [fd], None) => call("write", Does::Write { fd: fd.cast_signed() }, TimeLimit::Never),
        ([], [], None) if waits.child => call("wait4", Does::Child { pid: -1 }, TimeLimit::Never),
        ([], [], None) => call("pause", Does::Signal, TimeLimit::Never),
        ([], [], Some(_)) => call("clock_nanosleep", Does::Sleep, limit),
        _ => call("poll", Does::Poll { on: watches(waits) }, limit),
    }
}

pub(super) fn call(name: &str, does: Does, limit: TimeLimit) -> Call {
    // numbers differ by architecture: only names and meanings are shown
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
