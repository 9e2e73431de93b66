//! File locks: /proc/locks, as far as it concerns the tree.
//!
//! Invariant: a lock is kept if the tree holds it, waits for it, or has its file open.

use crate::data::{Lock, Object, Pid, Process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The most locks that are looked at.
const MAX_LOCKS: usize = 65_536;

/// The locks that concern a tree.
pub fn read(tree: &BTreeMap<Pid, Process>) -> Vec<Lock> {
    let text = fs::read_to_string("/proc/locks").unwrap_or_default();
    let all: Vec<Lock> = text.lines().take(MAX_LOCKS).filter_map(parse).collect();
    if all.is_empty() {
        return all;
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

/// `3: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; a waiter has `->` behind its number.
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
    use super::parse;

    #[test]
    fn locks_and_waits_for_them() {
        let lock = parse("1: FLOCK  ADVISORY  WRITE 812 fe:00:131 0 EOF").expect("a lock");
        assert_eq!((lock.pid, lock.device, lock.inode, lock.waits, lock.to), (Some(812), (0xfe, 0), 131, false, None));
        let wait = parse("1: -> POSIX  ADVISORY  READ 815 fe:00:131 10 20").expect("a wait");
        assert_eq!((wait.waits, wait.write, wait.from, wait.to), (true, false, 10, Some(20)));
        assert!(parse("2: OFDLCK ADVISORY WRITE -1 fe:00:131 0 EOF").expect("of an open file").pid.is_none());
        assert!(parse("garbage").is_none());
    }
}
