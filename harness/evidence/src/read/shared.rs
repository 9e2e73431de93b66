//! Who else has the memory in which a process waits for another one: locks and semaphores that processes share.
//!
//! Invariant: the others are named only if the memory has no name by which somebody could still open it, and the maps of every
//! process of this machine were read.

use super::process::{All, Stat};
use super::{Reach, beside, file};
use crate::data::{Does, Pid, Process, Snapshot, Thread, TimeLimit};
use std::collections::BTreeMap;

/// What a map has behind the path of a file that was removed, and behind the name of memory without a path.
const REMOVED: &str = " (deleted)";
/// How the names of such memory begin that others may still map: by its key (shmat(2)), by a descriptor (memfd_create(2)).
const OPEN: [&str; 2] = ["/SYSV", "/memfd:"];

/// Adds to the processes of the tree who shares the memory that they wait in.
pub fn add(snapshot: &mut Snapshot, all: &All, reach: &Reach) {
    add_same(snapshot, all, reach);
    add_shared(snapshot, all, reach);
}

/// Adds who has all memory of a process that waits in its own, and is no thread of it (clone(2), CLONE_VM without
/// CLONE_THREAD): it may wake such a thread.
fn add_same(snapshot: &mut Snapshot, all: &All, reach: &Reach) {
    let in_own = |thread: &Thread| {
        let call = thread.call.as_ref();
        call.is_some_and(|call| call.does == Does::Futex && call.limit == TimeLimit::Never && !call.is_shared_futex())
    };
    let waits = |process: &&Process| !process.threads.is_empty() && process.threads.iter().all(in_own);
    let waiting: Vec<Pid> = snapshot.tree.values().filter(waits).map(|process| process.pid).collect();
    for pid in waiting {
        // the size of the memory is the same for all that have it; what has ended, and threads of the kernel, have none
        let size = all.get(&pid).map_or(0, Stat::memory_bytes);
        let same = |(other, stat): &(&Pid, &Stat)| {
            **other != pid && size > 0 && stat.memory_bytes() == size && has_memory_of(pid, **other, reach)
        };
        let others = all.iter().filter(same).map(|(other, _)| *other).collect();
        if let Some(process) = snapshot.tree.get_mut(&pid) {
            process.same_memory = others;
        }
    }
}

/// Whether two processes have the same memory, or the kernel does not say so.
fn has_memory_of(pid: Pid, other: Pid, reach: &Reach) -> bool {
    /// linux/kcmp.h.
    const KCMP_VM: libc::c_int = 1;
    // SAFETY: compares two processes by their numbers, and touches no memory of ours.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid, other, KCMP_VM, 0, 0) };
    // where it may not be asked, memory that is divided otherwise is another one for sure
    order == 0 || order < 0 && maps(pid, reach).is_some_and(|own| maps(other, reach) == Some(own))
}

fn add_shared(snapshot: &mut Snapshot, all: &All, reach: &Reach) {
    let waits = |process: &Process| {
        let at = word(process)?;
        Some((process.pid, area(&maps(process.pid, reach)?, at)?.to_owned()))
    };
    let areas: BTreeMap<Pid, String> = snapshot.tree.values().filter_map(waits).collect();
    if areas.is_empty() {
        return;
    }
    // what has ended has no maps; init takes in orphans, and nobody's locks
    let counts = |(pid, stat): &(&Pid, &Stat)| **pid > 1 && !stat.is_of_kernel();
    let pids: Vec<Pid> = all.iter().filter(counts).map(|(pid, _)| *pid).collect();
    let of_each = |pid: Pid, reach: &Reach| {
        let maps = maps(pid, reach)?;
        let has = |id: &&String| maps.lines().any(|line| shared(line).is_some_and(|other| other == id.as_str()));
        Some(areas.values().filter(has).cloned().collect::<Vec<String>>())
    };
    let read: Vec<Option<Vec<String>>> = beside::each(&pids, reach, of_each);
    let Some(read) = read.into_iter().collect::<Option<Vec<Vec<String>>>>() else { return };
    for (pid, id) in &areas {
        let have = pids.iter().zip(&read).filter(|(other, ids)| *other != pid && ids.contains(id));
        let have: Vec<Pid> = have.map(|(other, _)| *other).collect();
        if let Some(process) = snapshot.tree.get_mut(pid) {
            process.shares_with = Some(have);
        }
    }
}

/// The address of the one word that a process waits for and that others may have too.
fn word(process: &Process) -> Option<u64> {
    let calls = process.threads.iter().filter_map(|thread| thread.call.as_ref());
    let mut words = calls.filter(|call| call.is_shared_futex());
    let first = words.next().map(|call| call.args[0])?;
    words.all(|call| call.args[0] == first).then_some(first)
}

/// The memory of a process. The kernel makes who reads it wait for one that is stuck while it changes its own.
fn maps(pid: Pid, reach: &Reach) -> Option<String> {
    reach.limit.progress.at(pid);
    let may = !reach.leaves_out.contains(&pid) && !reach.limit.is_over();
    may.then(|| file::text(&format!("/proc/{pid}/maps")).ok()).flatten()
}

/// The shared memory that an address is in and that nobody else can map any more: its device and inode.
fn area(maps: &str, at: u64) -> Option<&str> {
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(from, to)| (number(from)..number(to)).contains(&at))
    };
    let is_closed = |line: &&str| {
        let name = line.find('/').map_or("", |at| &line[at..]);
        line.ends_with(REMOVED) && !OPEN.iter().any(|open| name.starts_with(open))
    };
    maps.lines().find(holds).filter(is_closed).and_then(shared)
}

/// The device and inode of a line of maps, if it is of shared memory: `7f…-7f… rw-s 00000000 00:18 42   /dev/shm/x (deleted)`.
fn shared(line: &str) -> Option<&str> {
    let mut fields = line.splitn(4, ' ');
    let (_, rights, _, rest) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let end = rest.match_indices(' ').nth(1).map_or(rest.len(), |(at, _)| at);
    rights.ends_with('s').then(|| rest[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::{area, maps, shared};
    use crate::data::Pid;
    use crate::read::Reach;

    #[test]
    fn a_process_that_the_reading_was_stuck_at_is_not_read_again() {
        let own = std::process::id() as Pid;
        assert!(maps(own, &Reach::default()).is_some_and(|maps| maps.contains("[stack]")));
        assert_eq!(maps(own, &Reach { leaves_out: [own].into(), ..Reach::default() }), None);
    }

    #[test]
    fn memory_that_others_may_still_map_is_left_out() {
        let of = |name: &str| {
            area(&format!("1000-2000 rw-p 0 00:00 0\n2000-3000 rw-s 0 00:18 42  {name}\n"), 0x2800).map(str::to_owned)
        };
        let known = Some("00:18 42".to_owned());
        assert_eq!([of("/dev/shm/sem.x (deleted)"), of("/dev/zero (deleted)")], [known.clone(), known]);
        assert_eq!(["/dev/shm/sem.x", "/SYSV0000002a (deleted)", "/memfd:x (deleted)"].map(of), [None, None, None]);
    }

    #[test]
    fn shared_memory_is_known_by_its_device_and_inode() {
        let line = "7f1c2a3fe000-7f1c2a3ff000 rw-s 00000000 00:18 42                         /dev/shm/sem.x (deleted)";
        assert_eq!(shared(line), Some("00:18 42"));
        assert_eq!(shared("7f00-7f01 rw-s 00000000 00:01 1034 /dev/zero (deleted)"), Some("00:01 1034"));
        assert_eq!(shared("7f00-7f01 rw-p 00000000 00:00 0 "), None);
        assert_eq!(shared("garbage"), None);
    }
}
