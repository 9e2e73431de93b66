//! File locks: /proc/locks, as far as it concerns the tree.
//!
//! The kernel gives the list a page at a time, and each page is of one moment. Between two pages locks may be released;
//! those after them move up across the page's end and are not given. So a longer list is read several times.
//!
//! Invariant: a lock is kept if the tree holds it, waits for it, or has its file open.

use super::file;
use crate::data::{Does, Lock, Object, Pid, Process};
use crate::kind;
use std::collections::{BTreeMap, BTreeSet};

/// The most locks that are looked at.
const MAX_LOCKS: usize = 65_536;
/// How often a list of several pages is read. At 200 locks and two processes that took and left six more each as fast as
/// they could, 1 reading in 300 lacked a lock that was held all the time.
const READINGS: u64 = 3;

/// The locks that concern a tree. The list is not read if nothing in the tree can wait for a lock: the kernel lets no
/// process take a lock while it gives the list, and waits for some milliseconds before.
pub fn read(tree: &BTreeMap<Pid, Process>) -> Vec<Lock> {
    if !tree.values().any(may_wait) {
        return Vec::new();
    }
    let (mut all, pieces) = reading();
    for again in 1..if pieces > 1 { READINGS } else { 1 } {
        add(&mut all, reading().0, again);
    }
    let open: BTreeSet<u64> = tree
        .values()
        .flat_map(|process| &process.fds)
        .filter_map(|fd| if let Object::File { inode, .. } = fd.what { Some(inode) } else { None })
        .collect();
    all.into_iter()
        .filter(|lock| open.contains(&lock.inode) || lock.pid.is_some_and(|pid| tree.contains_key(&pid)))
        .collect()
}

/// Whether a process waits for a lock, may do so unseen, or naps with a database open, whose lock it may wait for.
fn may_wait(process: &Process) -> bool {
    let waits = |call: &crate::data::Call| matches!(call.does, Does::Lock { .. });
    let database = |what: &Object| matches!(what, Object::File { path, .. } if kind::is_database(path));
    process.threads.iter().any(|thread| !thread.call_read || thread.call.as_ref().is_some_and(waits))
        || process.fds.iter().any(|fd| database(&fd.what))
}

/// All locks, and in how many pieces they came.
fn reading() -> (Vec<Lock>, usize) {
    let (bytes, pieces) = file::pieces("/proc/locks").unwrap_or_default();
    (String::from_utf8_lossy(&bytes).lines().take(MAX_LOCKS).filter_map(parse).collect(), pieces)
}

/// Adds what another reading has and the first ones lacked: a lock with those that wait for it, which have its number.
/// Numbers hold within one reading; those of the second reading begin after 2³², and so on.
fn add(all: &mut Vec<Lock>, other: Vec<Lock>, reading: u64) {
    let unnumbered = |lock: &Lock| Lock { id: 0, ..lock.clone() };
    let known: BTreeSet<Lock> = all.iter().map(unnumbered).collect();
    let missed: BTreeSet<u64> =
        other.iter().filter(|lock| !known.contains(&unnumbered(lock))).map(|lock| lock.id).collect();
    let missed = other.into_iter().filter(|lock| missed.contains(&lock.id));
    all.extend(missed.map(|lock| Lock { id: lock.id + (reading << 32), ..lock }));
}

/// `3: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; a waiter has `->` after its number.
fn parse(line: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().peekable();
    let id = words.next()?.trim_end_matches(':').parse().ok()?;
    let waits = words.next_if_eq(&"->").is_some();
    let kind = words.next()?.to_owned();
    let _advisory = words.next()?;
    let write = words.next()? == "WRITE";
    let pid = words.next()?.parse().ok().filter(|pid| *pid > 0);
    let mut file = words.next()?.split(':');
    let mut hex = || file.next().and_then(|n| u32::from_str_radix(n, 16).ok());
    let device = (hex()?, hex()?);
    let inode = file.next()?.parse().ok()?;
    let from = words.next()?.parse().ok()?;
    let to = words.next()?.parse().ok();
    Some(Lock { id, kind, write, pid, waits, device, inode, from, to })
}

#[cfg(test)]
mod tests {
    use super::{add, parse};

    #[test]
    fn locks_and_waits_for_them() {
        let lock = parse("1: FLOCK  ADVISORY  WRITE 812 fe:00:131 0 EOF").expect("a lock");
        assert_eq!((lock.pid, lock.device, lock.inode, lock.waits, lock.to), (Some(812), (0xfe, 0), 131, false, None));
        let wait = parse("1: -> POSIX  ADVISORY  READ 815 fe:00:131 10 20").expect("a wait");
        assert_eq!((wait.waits, wait.write, wait.from, wait.to), (true, false, 10, Some(20)));
        assert!(parse("2: OFDLCK ADVISORY WRITE -1 fe:00:131 0 EOF").expect("of an open file").pid.is_none());
        assert!(parse("garbage").is_none());
    }

    #[test]
    fn another_reading_adds_what_the_first_one_lacked() {
        let list = |lines: &[&str]| lines.iter().filter_map(|line| parse(line)).collect::<Vec<_>>();
        let mut all =
            list(&["1: POSIX  ADVISORY  WRITE 812 fe:00:131 0 EOF", "2: POSIX  ADVISORY  WRITE 813 fe:00:132 0 EOF"]);
        let other = list(&[
            "1: POSIX  ADVISORY  WRITE 813 fe:00:132 0 EOF",
            "1: -> POSIX  ADVISORY  WRITE 815 fe:00:132 0 EOF",
            "2: POSIX  ADVISORY  WRITE 814 fe:00:133 0 EOF",
            "3: POSIX  ADVISORY  WRITE 812 fe:00:131 0 EOF",
        ]);
        add(&mut all, other, 1);
        let told: Vec<_> = all.iter().map(|lock| (lock.id, lock.pid.unwrap_or(0), lock.waits)).collect();
        let second = 1 << 32;
        // a waiter has the number of its lock in the same reading; a lock that was known with all its waiters is not
        // repeated
        let added = [(second + 1, 813, false), (second + 1, 815, true), (second + 2, 814, false)];
        assert_eq!(told, [[(1, 812, false), (2, 813, false)].as_slice(), &added].concat());
    }
}
