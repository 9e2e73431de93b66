//! Reads a snapshot.
//!
//! Invariant: reading never waits for the processes that it reads, nor for a server of a file system that they use, and
//! never fails because one of them ends meanwhile: a process that has ended by then is left out. It has a limit of time,
//! and what it has not read by then counts as unread.
//!
//! Why not the crate procfs (0.18 was measured): the list of all processes takes it 1.4 times as long, it reads no `fdinfo`
//! (what an epoll descriptor watches, when a timer ends), and its files have no limit of size.

mod beside;
mod call;
mod fds;
mod file;
mod lacks;
mod limit;
mod locks;
mod memory;
mod mounts;
mod net;
mod numbers;
mod process;
mod prompt;
mod records;
mod served;
mod shared;
#[cfg(test)]
pub mod staged;
mod virtual_time;
mod ways;
mod within;

use crate::data::{Lock, Object, Pid, Process, Reader, Snapshot, Socket};
use crate::kind;
use limit::{Limit, Progress};
use mounts::Mounts;
use process::{All, Stat};
pub use records::{CONTROL_ENV, MAX_TEXT, Story};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
pub use virtual_time::{TracedProcess, TracedThread, VirtualTime};

/// What to read beside the tree.
#[derive(Debug, Clone)]
pub struct Options {
    /// Ask known agents on loopback, by GET requests only, and read their own records. A server that answers slowly
    /// holds the reader up.
    pub ask: bool,
    /// Read known agents' own records, such as a log or a transcript, and ask nobody.
    pub records: bool,
    /// How long the reading may take; servers that are asked have limits of their own. What is not read by then is a lack
    /// of the snapshot. On a busy machine the time for which the reader waited for a processor may come on top, up to
    /// three times as much.
    pub limit: Duration,
    /// The tree runs in virtual time, and this process does not. If this process runs in virtual time too, it asks its tracer.
    pub time: Option<Arc<VirtualTime>>,
}

/// Two snapshots of one look take two seconds at most.
const LIMIT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });

impl Default for Options {
    /// Nobody is asked and no record is read; one second.
    fn default() -> Options {
        Options { ask: false, records: false, limit: LIMIT, time: None }
    }
}

/// What one reading may reach.
#[derive(Debug)]
struct Reach {
    mounts: Mounts,
    limit: Limit,
    /// Processes that an earlier try was stuck at.
    leaves_out: BTreeSet<Pid>,
    time: Option<Arc<VirtualTime>>,
}

#[cfg(test)]
impl Default for Reach {
    /// Everything, however long it takes.
    fn default() -> Reach {
        let limit = Limit::new(Duration::MAX, Arc::default());
        Reach { mounts: Mounts::default(), limit, leaves_out: BTreeSet::new(), time: None }
    }
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(Pid),
    /// /proc cannot be read.
    #[error("/proc cannot be read: {0}")]
    Proc(#[from] std::io::Error),
}

/// The most processes of a tree that are read; the kernel's own default limit of processes is below it.
const MAX_TREE: usize = 32_768;
/// The most processes around a tree.
const MAX_AROUND: usize = 256;

/// Reads the trees below `roots`.
///
/// # Errors
/// None of the roots exists; there is no /proc.
pub fn take(roots: &[Pid], options: &Options) -> Result<Snapshot, SnapshotError> {
    let mut leaves_out = BTreeSet::new();
    for _ in 0..TRIES {
        let (roots, options, left_out) = (roots.to_vec(), options.clone(), leaves_out.clone());
        match within::limit(options.limit, move |progress| read(&roots, &options, left_out, progress)) {
            Ok(snapshot) => return snapshot,
            Err(stuck_at) => drop(leaves_out.insert(stuck_at)),
        }
    }
    Err(SnapshotError::Proc(std::io::Error::new(std::io::ErrorKind::TimedOut, "the kernel does not answer")))
}

/// How often a reading is tried that is stuck in the kernel, each time without the process that it was stuck at.
const TRIES: usize = 4;

fn read(
    roots: &[Pid],
    options: &Options,
    leaves_out: BTreeSet<Pid>,
    progress: Arc<Progress>,
) -> Result<Snapshot, SnapshotError> {
    let began = now_ns();
    let limit = Limit::new(options.limit, progress);
    let time = options.time.clone().or_else(|| VirtualTime::of_this_process().map(Arc::new));
    let reach = Reach { mounts: Mounts::default(), limit, leaves_out, time };
    let mut snapshot = Snapshot { at_ns: began, reader: reader(), ..Snapshot::default() };
    let all = process::list(|pids| beside::each(pids, &reach, |pid, _| Stat::of(pid)))?;
    snapshot.roots = roots.iter().copied().filter(|pid| all.contains_key(pid)).collect();
    if snapshot.roots.is_empty() {
        return Err(SnapshotError::NoProcess(roots.first().copied().unwrap_or_default()));
    }
    let tree = below(&snapshot.roots, &all);
    let pids: Vec<Pid> = tree.iter().copied().collect();
    let read = beside::each(&pids, &reach, |pid, reach| process::read(pid, &all, &snapshot.reader, reach));
    snapshot.tree = read.into_iter().flatten().map(|process| (process.pid, process)).collect();
    if snapshot.tree.is_empty() {
        return Err(SnapshotError::NoProcess(snapshot.roots[0]));
    }
    let mut tables = net::Tables::new(process::net_namespace(snapshot.reader.pid));
    snapshot.sockets = tables.sockets(snapshot.tree.values(), &mut snapshot.lacks);
    net::queue::add(&mut snapshot);
    snapshot.locks = locks::read(&snapshot.tree);
    snapshot.alarms = ways::alarms(&all, reach.time.as_ref().map(|time| time.alarms()));
    let others = around(&mut snapshot, &all, &tree, &reach);
    for pid in ways::below_daemons(&snapshot, &all) {
        snapshot.around.extend(process::read(pid, &all, &snapshot.reader, &reach).map(|process| (pid, process)));
    }
    add_locks_of_others(&mut snapshot, &all, &reach);
    if let Some(reader) = snapshot.around.get_mut(&snapshot.reader.pid) {
        ways::disown(reader);
    }
    if !snapshot.around.is_empty() {
        // those around it may wait for a peer
        let of_others = tables.sockets(snapshot.around.values(), &mut Vec::new());
        snapshot.sockets.extend(of_others);
    }
    unseen(&mut snapshot, &all, &others);
    ways::add(&mut snapshot);
    shared::add(&mut snapshot, &all, &reach);
    if let Some(time) = &reach.time {
        time.add_ages(&mut snapshot);
    }
    snapshot.reader.other_namespace = snapshot.tree.values().any(is_elsewhere);
    if options.ask || options.records {
        reach.limit.progress.asks();
        snapshot.agents = records::read(snapshot.related(), &snapshot.sockets, options.ask, &reach);
    }
    lacks::add(&mut snapshot);
    snapshot.took_us = us_between(began, now_ns());
    Ok(snapshot)
}

/// The processes whose name, program or script is `name` and whose parent is not one of them.
///
/// # Errors
/// There is no /proc.
pub fn find(name: &str) -> Result<Vec<Pid>, SnapshotError> {
    let all = process::all()?;
    let own = std::process::id() as Pid;
    let is_one = |(pid, stat): &(&Pid, &Stat)| **pid != own && (stat.comm == name || process::is_called(**pid, name));
    Ok(tops(&all.iter().filter(is_one).map(|(pid, _)| *pid).collect(), &all))
}

/// Whether a process is a thread of the kernel, which runs no program.
pub fn is_of_kernel(pid: Pid) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.is_of_kernel())
}

/// The agents that are known by their names, without those that another one has started.
///
/// # Errors
/// There is no /proc.
pub fn agents() -> Result<Vec<Pid>, SnapshotError> {
    let all = process::all()?;
    let is_one = |(pid, stat): &(&Pid, &Stat)| kind::of(&process::as_started(**pid, stat)).is_some();
    let found: BTreeSet<Pid> = all.iter().filter(is_one).map(|(pid, _)| *pid).collect();
    let parent = |pid: &Pid| all.get(pid).map(Stat::parent).filter(|pid| *pid > 0);
    let above = |pid: &Pid| std::iter::successors(parent(pid), parent).take(all.len());
    Ok(found.iter().copied().filter(|pid| !above(pid).any(|above| found.contains(&above))).collect())
}

/// Those whose parent is not one of them.
fn tops(found: &BTreeSet<Pid>, all: &All) -> Vec<Pid> {
    let top = |pid: &Pid| !all.get(pid).is_some_and(|stat| found.contains(&stat.parent()));
    found.iter().copied().filter(top).collect()
}

/// Nanoseconds since boot, sleep of the machine included: the clock of a process's start time.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(rustix::time::ClockId::Boottime))
}

fn nanoseconds(at: rustix::time::Timespec) -> u64 {
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// The whole microseconds between two moments in nanoseconds.
fn us_between(began: u64, ended: u64) -> u64 {
    ended.saturating_sub(began) / 1000
}

/// Whether a process is in a pid namespace below ours.
fn is_elsewhere(process: &Process) -> bool {
    process.ns_pid != process.pid && process.ns_pid != 0
}

/// The machine's first pid namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

fn reader() -> Reader {
    let scope = file::text("/proc/sys/kernel/yama/ptrace_scope").ok();
    Reader {
        pid: std::process::id() as Pid,
        uid: rustix::process::geteuid().as_raw(),
        ptrace_scope: scope.and_then(|text| text.trim().parse().ok()),
        arch: std::env::consts::ARCH.to_owned(),
        ticks_per_s: ticks_per_s(),
        other_namespace: false,
        in_namespace: std::fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns.as_os_str() != FIRST_NAMESPACE),
        adopts: adopts(),
    }
}

fn adopts() -> bool {
    let mut flag: libc::c_int = 0;
    // SAFETY: the call writes one integer, which outlives it
    let known = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut flag) } == 0;
    known && flag != 0
}

fn ticks_per_s() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100)
}

fn below(roots: &[Pid], all: &All) -> BTreeSet<Pid> {
    let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (pid, stat) in all {
        children.entry(stat.parent()).or_default().push(*pid);
    }
    let mut tree = BTreeSet::new();
    let mut todo: Vec<Pid> = roots.to_vec();
    while let Some(pid) = todo.pop() {
        if tree.len() < MAX_TREE && tree.insert(pid) {
            todo.extend(children.get(&pid).into_iter().flatten());
        }
    }
    tree
}

/// The tree may wait for a process outside of it that waits for a lock: adds the locks of those, who holds them, and who is
/// below the holders. What these wait for in turn is not followed.
fn add_locks_of_others(snapshot: &mut Snapshot, all: &All, reach: &Reach) {
    let waiting = snapshot.around.values().filter(|process| locks::is_waiting(process));
    let waiting: BTreeMap<Pid, Process> = waiting.map(|process| (process.pid, process.clone())).collect();
    if waiting.is_empty() {
        return;
    }
    let known: BTreeSet<Lock> = snapshot.locks.iter().cloned().collect();
    let more: Vec<Lock> = locks::read(&waiting).into_iter().filter(|lock| !known.contains(lock)).collect();
    let holders: Vec<Pid> = more.iter().filter_map(|lock| lock.pid).collect();
    snapshot.locks.extend(more);
    for pid in below(&holders, all) {
        if snapshot.process(pid).is_some() || !all.contains_key(&pid) {
            continue;
        }
        if snapshot.around.len() >= MAX_AROUND || reach.limit.is_over() {
            snapshot.unread += 1;
        } else {
            snapshot.around.extend(process::read(pid, all, &snapshot.reader, reach).map(|process| (pid, process)));
        }
    }
}

/// What two processes can have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    Pipe(u64),
    Fifo(u64),
    Socket(u64),
    Pty(u64),
    File(u64),
}

/// The topmost process above one that is in a pid namespace of its own, in that namespace.
fn first_of_namespace(process: &Process, all: &All) -> Option<Pid> {
    let namespace = process.namespaces.pid;
    if process.ns_pid == process.pid || namespace == 0 {
        return None;
    }
    let parents = std::iter::successors(all.get(&process.pid).map(Stat::parent), |pid| Some(all.get(pid)?.parent()));
    parents.take_while(|pid| file::namespace(*pid, "pid") == namespace).last()
}

/// Finds the processes outside the tree that share something with it, the ancestors, and all below who holds a lock.
/// Returns the pipes and sockets of all others.
fn around(snapshot: &mut Snapshot, all: &All, tree: &BTreeSet<Pid>, reach: &Reach) -> BTreeSet<u64> {
    let mut shared: BTreeSet<Shared> = BTreeSet::new();
    for fd in snapshot.tree.values().flat_map(|process| &process.fds) {
        match &fd.what {
            Object::Pipe { inode } => drop(shared.insert(Shared::Pipe(*inode))),
            Object::Fifo { inode, .. } => drop(shared.insert(Shared::Fifo(*inode))),
            Object::Socket { inode } => {
                shared.insert(Shared::Socket(*inode));
                if let Some(Socket { peer: Some(peer), .. }) = snapshot.sockets.get(inode) {
                    shared.insert(Shared::Socket(*peer));
                }
                shared.extend(snapshot.queued.get(inode).map(|listener| Shared::Socket(*listener)));
            }
            Object::Tty { index: Some(index), .. } | Object::Master { index } => {
                shared.insert(Shared::Pty(*index));
            }
            _ => {}
        }
    }
    for process in snapshot.tree.values() {
        // read from a controlling terminal's number: 136..=143 are the majors of pseudo-terminals
        if let Some(index) = fds::controlling_pty(process.pid, process.tty, reach) {
            shared.insert(Shared::Pty(index));
        }
    }
    shared.extend(snapshot.locks.iter().map(|lock| Shared::File(lock.inode)));
    // the holder of a lock may wait for a process below it that works
    let holders: Vec<Pid> =
        snapshot.locks.iter().filter_map(|lock| lock.pid).filter(|pid| !tree.contains(pid)).collect();
    let mut wanted = below(&holders, all);
    for root in &snapshot.roots {
        let parent = |pid: &Pid| all.get(pid).map_or(0, Stat::parent);
        let mut at = parent(root);
        while at > 0 && wanted.insert(at) {
            at = parent(&at);
        }
    }
    // the end of the first process of a pid namespace ends all in it, and it may wait for another one of them
    let first: Vec<Pid> =
        snapshot.roots.iter().filter_map(|root| first_of_namespace(snapshot.tree.get(root)?, all)).collect();
    wanted.extend(below(&first, all));
    wanted.extend(ways::watchers(&snapshot.roots, tree, all, snapshot.reader.pid));
    // who traces one of them decides when it goes on
    wanted.extend(snapshot.tree.values().map(|process| process.tracer).filter(|tracer| *tracer > 0));
    wanted.retain(|pid| !tree.contains(pid));
    let of_users = |(pid, stat): &(&Pid, &Stat)| !tree.contains(pid) && !stat.is_of_kernel() && !wanted.contains(pid);
    let outside: Vec<Pid> = all.iter().filter(of_users).map(|(pid, _)| *pid).collect();
    let shared = &shared;
    let mut found = Around { snapshot, all, shared, reach, others: BTreeSet::new() };
    for pid in wanted.iter().copied().filter(|pid| all.contains_key(pid)) {
        if !found.read(pid) {
            found.others.extend(Sight::of(pid, shared, false, usize::MAX, reach).channels);
            found.snapshot.unread += u32::from(reach.leaves_out.contains(&pid));
        }
    }
    // those with many descriptors last: the limit may be over before they are read
    let mut later: Vec<(u64, Pid)> = Vec::new();
    let may_stop = found.has_room();
    let seen = beside::each(&outside, reach, |pid, reach| Sight::of(pid, shared, may_stop, FEW, reach));
    for (pid, sight) in outside.into_iter().zip(seen) {
        match sight.cut {
            true => later.push((fds::count(pid), pid)),
            false => found.add(pid, sight),
        }
    }
    later.sort_unstable();
    for (_, pid) in later {
        found.add(pid, Sight::of(pid, shared, found.has_room(), usize::MAX, reach));
    }
    found.others
}

/// How many descriptors of a process outside of a tree are looked at, before those of all others were.
const FEW: usize = 256;

/// What a look at the descriptors of a process outside of the tree has shown, up to the first that it shares.
struct Sight {
    /// The pipes and sockets.
    channels: Vec<u64>,
    /// It shares something with the tree.
    shares: bool,
    /// The look ended at the first descriptor that it shares.
    stopped: bool,
    /// The look ended because there were more descriptors than were to be looked at.
    cut: bool,
    /// The time was over before all of them were seen.
    late: bool,
}

impl Sight {
    /// Looks at `most` descriptors, up to the first that is shared if it may stop there.
    fn of(pid: Pid, shared: &BTreeSet<Shared>, may_stop: bool, most: usize, reach: &Reach) -> Sight {
        let mut sight = Sight { channels: Vec::new(), shares: false, stopped: false, cut: false, late: false };
        reach.limit.progress.at(pid);
        if reach.leaves_out.contains(&pid) {
            return sight;
        }
        let mut count = 0;
        let whole = fds::each_link(pid, reach, |fd, link| {
            sight.channels.extend(fds::channel_of(link));
            sight.shares |= is_shared(pid, fd, link, shared, reach);
            count += 1;
            sight.stopped = sight.shares && may_stop;
            sight.cut = count > most && !sight.stopped;
            if sight.stopped || sight.cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        sight.late = !whole && reach.limit.is_over();
        sight
    }
}

/// The search for processes around a tree.
struct Around<'a> {
    snapshot: &'a mut Snapshot,
    all: &'a All,
    shared: &'a BTreeSet<Shared>,
    reach: &'a Reach,
    /// The pipes and sockets of those that were not read.
    others: BTreeSet<u64>,
}

impl Around<'_> {
    fn has_room(&self) -> bool {
        self.snapshot.around.len() < MAX_AROUND
    }

    /// Reads a process around the tree if there is room; whether it did.
    fn read(&mut self, pid: Pid) -> bool {
        let has_room = self.has_room();
        let read = has_room.then(|| process::read(pid, self.all, &self.snapshot.reader, self.reach)).flatten();
        let is_read = read.is_some();
        self.snapshot.around.extend(read.map(|process| (pid, process)));
        is_read
    }

    /// Reads a process if it shares something with the tree; else its channels are kept.
    fn add(&mut self, pid: Pid, mut sight: Sight) {
        let has_room = self.has_room();
        if sight.shares && self.read(pid) {
            return;
        }
        if sight.stopped && !has_room {
            sight = Sight::of(pid, self.shared, false, usize::MAX, self.reach);
        }
        self.others.extend(sight.channels);
        // of one whose descriptors may not be read at all, the rights are the lack; one that shares something and has no
        // room here was not read either
        let is_cut = sight.late || (sight.shares && !has_room) || self.reach.leaves_out.contains(&pid);
        self.snapshot.unread += u32::from(is_cut);
    }
}

/// Finds out which processes around the tree share something with one that is out of sight: `others` are the pipes and
/// sockets of those.
fn unseen(snapshot: &mut Snapshot, all: &All, others: &BTreeSet<u64>) {
    let in_sight = |pid: &Pid| snapshot.process(*pid).is_some();
    let parents: BTreeSet<Pid> = all.iter().filter(|(pid, _)| !in_sight(pid)).map(|(_, stat)| stat.parent()).collect();
    let shares = |process: &Process| {
        process.fds.iter().any(|fd| match &fd.what {
            Object::Pipe { inode } => others.contains(inode),
            Object::Socket { inode } => {
                let peer = snapshot.sockets.get(inode).and_then(|socket| socket.peer);
                others.contains(inode) || peer.is_some_and(|peer| others.contains(&peer))
            }
            _ => false,
        })
    };
    // any of those that were not read may share anything
    let all_may = snapshot.unread > 0;
    let found = snapshot.around.values().filter(|one| all_may || parents.contains(&one.pid) || shares(one));
    let found: Vec<Pid> = found.map(|one| one.pid).collect();
    for pid in found {
        if let Some(process) = snapshot.around.get_mut(&pid) {
            process.has_unseen = true;
        }
    }
}

fn is_shared(pid: Pid, fd: i32, link: &Path, shared: &BTreeSet<Shared>, reach: &Reach) -> bool {
    let Some(text) = link.to_str() else { return false };
    if let Some(inode) = file::inode_of(text, "pipe:[") {
        return shared.contains(&Shared::Pipe(inode));
    }
    if let Some(inode) = file::inode_of(text, "socket:[") {
        return shared.contains(&Shared::Socket(inode));
    }
    // a file that is registered with a ring may be any end
    if text == "anon_inode:[io_uring]" {
        return fds::keeps_files(pid, fd);
    }
    if text.ends_with("/ptmx") {
        return fds::master_index(pid, fd, text, reach).is_some_and(|index| shared.contains(&Shared::Pty(index)));
    }
    if let Some(index) = text.strip_prefix("/dev/pts/").and_then(|n| n.parse::<u32>().ok()) {
        // of which devpts it is has to be read: only where a terminal of that number is wanted
        let is_wanted =
            shared.iter().any(|one| matches!(one, Shared::Pty(pty) if crate::data::number_in_devpts(*pty) == index));
        return is_wanted && shared.contains(&Shared::Pty(fds::pty_at(pid, fd, text, index, reach)));
    }
    if text.starts_with('/') && !text.starts_with("/dev/") {
        // the inode of a FIFO or of a file with a lock: both are rare, so few links are looked at this closely
        let has_files = shared.iter().any(|one| matches!(one, Shared::File(_) | Shared::Fifo(_)));
        let wanted = |inode| shared.contains(&Shared::Fifo(inode)) || shared.contains(&Shared::File(inode));
        return has_files
            && fds::inode_and_kind(pid, fd, link, reach, wanted).is_some_and(|(inode, fifo)| {
                shared.contains(&if fifo { Shared::Fifo(inode) } else { Shared::File(inode) })
            });
    }
    false
}

#[cfg(test)]
mod tests;
