//! Who else has the memory in which a process waits for another one: locks and semaphores that processes share.
//!
//! Invariant: the others are named only if the memory has no name by which somebody could still open it, and the maps of every
//! process of this machine were read.

use super::process::{All, Stat};
use super::{Reach, beside, file};
use crate::data::{Call, Does, Pid, Process, Snapshot};
use std::collections::BTreeMap;

/// FUTEX_PRIVATE_FLAG (linux/futex.h): no other process has the word.
const PRIVATE: u64 = 128;
/// What a map has behind the path of a file that has been removed; so has memory that never had a path.
const REMOVED: &str = " (deleted)";

/// Adds to the processes of the tree who shares the memory that they wait in.
pub fn add(snapshot: &mut Snapshot, all: &All, reach: &Reach) {
    let waits = |process: &Process| Some((process.pid, area(process.pid, word(process)?)?));
    let areas: BTreeMap<Pid, String> = snapshot.tree.values().filter_map(waits).collect();
    if areas.is_empty() {
        return;
    }
    // what has ended has no maps; init takes in orphans, and nobody's locks
    let counts = |(pid, stat): &(&Pid, &Stat)| **pid > 1 && !stat.is_of_kernel();
    let pids: Vec<Pid> = all.iter().filter(counts).map(|(pid, _)| *pid).collect();
    let of_each = |pid: Pid, reach: &Reach| {
        let maps = file::text(&format!("/proc/{pid}/maps")).ok().filter(|_| !reach.leaves_out.contains(&pid))?;
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
    let is_shared = |call: &&Call| call.does == Does::Futex && call.args[1] & PRIVATE == 0;
    let mut words = process.threads.iter().filter_map(|thread| thread.call.as_ref().filter(is_shared));
    let first = words.next().map(|call| call.args[0])?;
    words.all(|call| call.args[0] == first).then_some(first)
}

/// The shared memory without a name that an address is in: its device and inode.
fn area(pid: Pid, at: u64) -> Option<String> {
    let maps = file::text(&format!("/proc/{pid}/maps")).ok()?;
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(from, to)| (number(from)..number(to)).contains(&at))
    };
    maps.lines().find(holds).filter(|line| line.ends_with(REMOVED)).and_then(shared).map(str::to_owned)
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
    use super::shared;

    #[test]
    fn shared_memory_is_known_by_its_device_and_inode() {
        let line = "7f1c2a3fe000-7f1c2a3ff000 rw-s 00000000 00:18 42                         /dev/shm/sem.x (deleted)";
        assert_eq!(shared(line), Some("00:18 42"));
        assert_eq!(shared("7f00-7f01 rw-s 00000000 00:01 1034 /dev/zero (deleted)"), Some("00:01 1034"));
        assert_eq!(shared("7f00-7f01 rw-p 00000000 00:00 0 "), None);
        assert_eq!(shared("garbage"), None);
    }
}
