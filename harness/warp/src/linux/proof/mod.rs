//! What each thread waits for when all are asleep, and what follows from it.
//!
//! Invariant: a deadlock is reported only if every wait is one that is listed here, for something that only the tree can
//! do. Whatever is not listed, and whatever the kernel may end by a timer of its own, is [`Source::Unknown`].

mod descriptors;
mod namespace;
mod net;
mod world;

use super::tracer::Tracer;
use super::tree::State;
use super::{calls, procfs, sys, timed};
use crate::{Object, Source, Verdict, Wait};
use std::time::Duration;
use world::World;

/// The most descriptors of one `poll` or `select` that are looked at; more are unknown.
const DESCRIPTORS: usize = 4096;
/// POLLIN and what is like it, POLLOUT and what is like it.
const READABLE: u32 = (libc::POLLIN | libc::POLLRDNORM | libc::POLLPRI | libc::POLLRDBAND) as u32;
const WRITABLE: u32 = (libc::POLLOUT | libc::POLLWRNORM) as u32;

/// The system call that a sleeping thread is in, as the program made it, and the time until it ends.
pub fn call_of(tracer: &Tracer<'_>, tid: i32) -> (Option<(i64, [u64; 6])>, Option<Duration>) {
    let thread = &tracer.threads[&tid];
    let left = |at: u64| Duration::from_nanos(at.saturating_sub(tracer.clock.now));
    match thread.waiting().or(thread.cut.as_ref().filter(|_| thread.state == State::Stopped)) {
        Some(waiting) => (Some((waiting.number, waiting.arguments)), Some(left(waiting.at))),
        None => {
            let deadline = thread.socket_wait.as_ref().map(|wait| left(wait.at));
            (procfs::call(thread.pid, tid).filter(|(number, _)| *number >= 0), deadline)
        }
    }
}

/// What every thread waits for, in the order of birth.
pub fn waits(tracer: &Tracer<'_>) -> Vec<Wait> {
    let world = World::whole(tracer);
    let mut tids: Vec<(u64, i32)> = tracer.threads.iter().map(|(tid, thread)| (thread.birth, *tid)).collect();
    tids.sort_unstable();
    tids.into_iter().filter_map(|(_, tid)| wait(&world, tracer, tid)).collect()
}

/// Whether a thread waits for something outside of the tree, as far as that is seen without looking at other processes.
pub fn has_outside(tracer: &Tracer<'_>) -> bool {
    let world = World::of_tree(tracer);
    let is_outside = |object: &Object| matches!(object.source, Source::Outside(_));
    tracer.threads.keys().any(|tid| {
        let has = |wait: Wait| wait.objects.iter().any(is_outside);
        tracer.threads[tid].state == State::Free && wait(&world, tracer, *tid).is_some_and(has)
    })
}

/// What follows if no deadline is left.
pub fn verdict(waits: Vec<Wait>, has_unmanaged: bool) -> Verdict {
    let objects = || waits.iter().flat_map(|wait| wait.objects.iter().map(move |object| (wait, object)));
    let unknown = objects().find_map(|(wait, object)| match &object.source {
        Source::Unknown(why) => Some(format!("{} ({}) waits for {}: {why}", wait.program, wait.tid, object.name)),
        Source::Inside | Source::Outside(_) => None,
    });
    let is_outside = objects().any(|(_, object)| matches!(object.source, Source::Outside(_)));
    if has_unmanaged {
        Verdict::Undecided { why: "a 32-bit program has waits that are not seen".to_owned(), waits }
    } else if is_outside {
        Verdict::WaitsFor { waits }
    } else if let Some(why) = unknown {
        Verdict::Undecided { why, waits }
    } else if waits.is_empty() {
        Verdict::Undecided { why: "no thread is left".to_owned(), waits }
    } else {
        Verdict::Deadlock { waits }
    }
}

/// What a thread waits for; `None` if it has ended.
fn wait(world: &World<'_>, tracer: &Tracer<'_>, tid: i32) -> Option<Wait> {
    let thread = &tracer.threads[&tid];
    if thread.state == State::Exiting {
        return None;
    }
    let (call, deadline) = call_of(tracer, tid);
    let objects = match call {
        _ if thread.state == State::Stopped => vec![inside("SIGCONT", Vec::new())],
        _ if thread.is_in_vfork => vec![inside("the end or exec of its child", world.children(thread.pid))],
        Some((number, arguments)) => Caller { world, pid: thread.pid }.objects(number, &arguments),
        None => vec![unknown("something", "its system call cannot be read")],
    };
    let call = call.map_or_else(|| "no system call".to_owned(), |(number, _)| calls::name(number));
    Some(Wait { pid: thread.pid, tid, program: thread.name.clone(), call, objects, deadline })
}

fn inside(name: impl Into<String>, holders: Vec<i32>) -> Object {
    Object { name: name.into(), source: Source::Inside, holders }
}

fn outside(name: impl Into<String>, whom: impl Into<String>) -> Object {
    Object { name: name.into(), source: Source::Outside(whom.into()), holders: Vec::new() }
}

fn unknown(name: impl Into<String>, why: impl Into<String>) -> Object {
    Object { name: name.into(), source: Source::Unknown(why.into()), holders: Vec::new() }
}

/// A process whose thread waits in a system call.
#[derive(Clone, Copy)]
struct Caller<'a> {
    world: &'a World<'a>,
    pid: i32,
}

impl Caller<'_> {
    /// What can end a call.
    fn objects(self, number: i64, arguments: &[u64; 6]) -> Vec<Object> {
        let fd = |index: usize| arguments[index] as i32;
        match number {
            number if timed::is_sleep(number) => vec![inside("time", Vec::new())],
            libc::SYS_futex => {
                vec![self.futex(arguments[0], arguments[1] as u32 & libc::FUTEX_PRIVATE_FLAG as u32 != 0)]
            }
            super::filter::SYS_FUTEX_WAIT => vec![self.futex(arguments[0], arguments[3] as u32 & 128 != 0)],
            libc::SYS_futex_waitv => self.futexes(arguments[0], arguments[1]),
            libc::SYS_wait4 | libc::SYS_waitid => vec![inside("a child", self.world.children(self.pid))],
            libc::SYS_pause | libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => {
                vec![inside("a signal", Vec::new())]
            }
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg
            | libc::SYS_accept
            | libc::SYS_accept4 => vec![self.descriptor(fd(0), READABLE | READS)],
            libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => {
                vec![self.descriptor(fd(0), WRITABLE)]
            }
            libc::SYS_splice => vec![self.descriptor(fd(0), READABLE), self.descriptor(fd(2), WRITABLE)],
            libc::SYS_sendfile => vec![self.descriptor(fd(0), WRITABLE)],
            libc::SYS_poll | libc::SYS_ppoll => self.polled(arguments[0], arguments[1]),
            libc::SYS_select | libc::SYS_pselect6 => self.selected(arguments),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => self.watched(fd(0), 0),
            libc::SYS_flock => vec![self.lock(fd(0))],
            libc::SYS_fcntl if matches!(fd(1), libc::F_SETLKW | libc::F_OFD_SETLKW) => vec![self.lock(fd(0))],
            libc::SYS_open => vec![self.opened(arguments[0])],
            libc::SYS_openat => vec![self.opened(arguments[1])],
            libc::SYS_connect => {
                vec![unknown("a connection", "the kernel asks for it again by a timer of its own")]
            }
            other => vec![unknown(calls::name(other), "a wait in this system call is not known well enough")],
        }
    }

    /// A futex. One that is shared can be changed through any mapping of the same memory.
    fn futex(self, address: u64, is_private: bool) -> Object {
        let name = format!("futex {address:#x}");
        match is_private || !self.is_shared(address) {
            true => inside(name, vec![self.pid]),
            false => unknown(name, "it is in memory that programs outside of the tree may share"),
        }
    }

    fn futexes(self, address: u64, count: u64) -> Vec<Object> {
        // struct futex_waitv: value, address, flags; at most 128 of them
        let mut bytes = vec![0; count.min(128) as usize * 24];
        if !sys::read(self.pid, address, &mut bytes) {
            return vec![unknown("futexes", "their addresses cannot be read")];
        }
        let waits = bytes.chunks_exact(24).map(|wait| {
            let word = |at: usize| u64::from_le_bytes(wait[at..at + 8].try_into().expect("eight bytes"));
            self.futex(word(8), word(16) & 128 != 0)
        });
        waits.collect()
    }

    /// Whether an address is in a mapping that other processes may have. One of anonymous memory belongs to processes of
    /// one ancestor.
    fn is_shared(self, address: u64) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        let line = maps.lines().find(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            range.is_some_and(|(from, to)| (number(from)..number(to)).contains(&address))
        });
        let words = line.map(|line| line.split_ascii_whitespace());
        let Some(mut words) = words else { return true };
        let is_shared = words.nth(1).is_some_and(|rights| rights.ends_with('s'));
        is_shared && words.nth(3) != Some("/dev/zero")
    }

    fn polled(self, address: u64, count: u64) -> Vec<Object> {
        let count = count as usize;
        let mut bytes = vec![0; count.min(DESCRIPTORS) * 8];
        if count > DESCRIPTORS || !sys::read(self.pid, address, &mut bytes) {
            return vec![unknown("descriptors", "there are too many, or they cannot be read")];
        }
        let polled = bytes.chunks_exact(8).filter_map(|entry| {
            let fd = i32::from_le_bytes(entry[..4].try_into().expect("four bytes"));
            let events = u16::from_le_bytes(entry[4..6].try_into().expect("two bytes"));
            (fd >= 0).then(|| self.descriptor(fd, u32::from(events)))
        });
        let polled: Vec<Object> = polled.collect();
        // a poll of nothing waits for a signal
        if polled.is_empty() { vec![inside("a signal", Vec::new())] } else { polled }
    }

    fn selected(self, arguments: &[u64; 6]) -> Vec<Object> {
        let count = (arguments[0] as usize).min(DESCRIPTORS);
        let mut found = Vec::new();
        for (address, events) in [(arguments[1], READABLE), (arguments[2], WRITABLE), (arguments[3], READABLE)] {
            let mut bytes = vec![0; count.div_ceil(64) * 8];
            if address == 0 {
                continue;
            }
            if !sys::read(self.pid, address, &mut bytes) {
                return vec![unknown("descriptors", "they cannot be read")];
            }
            let is_set = |fd: &usize| bytes[fd / 8] >> (fd % 8) & 1 == 1;
            found.extend((0..count).filter(is_set).map(|fd| self.descriptor(fd as i32, events)));
        }
        if found.is_empty() { vec![inside("a signal", Vec::new())] } else { found }
    }

    /// A lock of a file: who holds it says so in `/proc/PID/fdinfo`.
    fn lock(self, fd: i32) -> Object {
        let name = self.world.describe(self.pid, fd);
        let Some(link) = procfs::link(self.pid, fd) else { return unknown(name, "the file is not known") };
        let holds = |(pid, fd): &(i32, i32)| {
            let info = procfs::descriptor_info(*pid, *fd).unwrap_or_default();
            info.lines().any(|line| line.starts_with("lock:") && !line.contains("->"))
        };
        let holders: Vec<i32> = self.world.of_link(&link).filter(holds).map(|(pid, _)| pid).collect();
        let others: Vec<i32> = holders.into_iter().filter(|pid| self.world.is_inside(*pid)).collect();
        if others.is_empty() {
            outside(format!("the lock of {name}"), "a process that holds it")
        } else {
            inside(format!("the lock of {name}"), others)
        }
    }

    /// A file whose opening waits: a FIFO.
    fn opened(self, address: u64) -> Object {
        let mut bytes = [0; 256];
        // the end of the path may be near the end of a page
        let length = (1..=bytes.len()).rev().find(|length| sys::read(self.pid, address, &mut bytes[..*length]));
        let bytes = &bytes[..length.unwrap_or(0)];
        let path = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let path = procfs::clean(&String::from_utf8_lossy(path));
        outside(format!("{path} to be opened at its other end"), format!("a process that opens {path}"))
    }
}

/// A bit beside those of `poll`: the call reads by itself, so that a terminal's own time limit counts.
const READS: u32 = 1 << 31;
