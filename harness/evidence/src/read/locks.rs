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
    concerning(tree, readings(reading))
}

/// All locks: one reading of a list that came in one piece, [`READINGS`] of a longer one.
fn readings(mut reading: impl FnMut() -> (Vec<Lock>, usize)) -> Vec<Lock> {
    let (mut all, pieces) = reading();
    for again in 1..if pieces > 1 { READINGS } else { 1 } {
        add(&mut all, reading().0, again);
    }
    all
}

fn concerning(tree: &BTreeMap<Pid, Process>, all: Vec<Lock>) -> Vec<Lock> {
    let open: BTreeSet<u64> = tree
        .values()
        .flat_map(|process| &process.fds)
        .filter_map(|fd| if let Object::File { inode, .. } = fd.what { Some(inode) } else { None })
        .collect();
    all.into_iter()
        .filter(|lock| open.contains(&lock.inode) || lock.pid.is_some_and(|pid| tree.contains_key(&pid)))
        .collect()
}

/// Whether a process is seen to wait for a lock.
pub fn is_waiting(process: &Process) -> bool {
    let waits = |call: &crate::data::Call| matches!(call.does, Does::Lock { .. });
    process.threads.iter().any(|thread| thread.call.as_ref().is_some_and(waits))
}

/// Whether a process waits for a lock, may do so unseen, or naps with a database open, whose lock it may wait for.
fn may_wait(process: &Process) -> bool {
    let database = |what: &Object| matches!(what, Object::File { path, .. } if kind::is_database(path));
    is_waiting(process)
        || process.threads.iter().any(|thread| !thread.call_read)
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
    use super::*;
    use crate::data::{Call, Descriptor, Mode, Thread};
    use std::os::unix::fs::MetadataExt;

    fn list(lines: &[&str]) -> Vec<Lock> {
        lines.iter().filter_map(|line| parse(line)).collect()
    }

    fn opened(pid: Pid, path: &str, inode: u64) -> Process {
        let what = Object::File { path: path.to_owned(), inode, device: (0, 0), offset: 0, at_end: false };
        let fds = vec![Descriptor { fd: 9, mode: Mode::Both, what }];
        Process { pid, fds, threads: vec![Thread { call_read: true, ..Thread::default() }], ..Process::default() }
    }

    #[test]
    fn only_what_can_wait_for_a_lock_makes_the_list_be_read() {
        let thread = |call_read, does: Option<Does>| Thread {
            call_read,
            call: does.map(|does| Call { does, ..Call::default() }),
            ..Thread::default()
        };
        let of = |threads: &[&Thread]| {
            let threads = threads.iter().map(|&thread| thread.clone()).collect();
            may_wait(&Process { threads, ..Process::default() })
        };
        let (reads, locks) = (thread(true, Some(Does::Read { fd: 0 })), thread(true, Some(Does::Lock { fd: 3 })));
        let runs = thread(true, None);
        assert_eq!([of(&[]), of(&[&runs]), of(&[&reads]), of(&[&reads, &runs])], [false; 4]);
        assert_eq!([of(&[&locks]), of(&[&reads, &locks]), of(&[&thread(false, None)])], [true; 3]);
        let open = |path: &str| may_wait(&opened(7, path, 1));
        assert_eq!([open("/x/a.db"), open("/x/a.db-wal"), open("/x/a.log")], [true, true, false]);
    }

    #[test]
    fn a_list_of_several_pieces_is_read_three_times() {
        let lines = [
            "1: FLOCK  ADVISORY  WRITE 812 fe:00:131 0 EOF",
            "1: FLOCK  ADVISORY  WRITE 813 fe:00:132 0 EOF",
            "1: FLOCK  ADVISORY  WRITE 814 fe:00:133 0 EOF",
        ];
        let of = |pieces: usize| {
            let mut count = 0;
            let all = readings(|| {
                count += 1;
                (list(&lines[count - 1..count]), pieces)
            });
            (count, all.iter().map(|lock| (lock.id, lock.inode)).collect::<Vec<_>>())
        };
        let second = 1 << 32;
        assert_eq!([of(0), of(1)], [1; 2].map(|count| (count, vec![(1, 131)])));
        assert_eq!(of(2), (3, vec![(1, 131), (second + 1, 132), (2 * second + 1, 133)]));
    }

    #[test]
    fn a_lock_concerns_those_that_hold_it_and_those_that_have_its_file_open() {
        let tree = BTreeMap::from([(812, opened(812, "/x", 131))]);
        let all = list(&[
            "1: FLOCK  ADVISORY  WRITE 900 fe:00:131 0 EOF",
            "2: FLOCK  ADVISORY  WRITE 812 fe:00:132 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 900 fe:00:133 0 EOF",
            "4: OFDLCK ADVISORY  WRITE -1 fe:00:131 0 EOF",
            "5: OFDLCK ADVISORY  WRITE -1 fe:00:134 0 EOF",
        ]);
        assert_eq!(all.len(), 5);
        assert_eq!(concerning(&tree, all).iter().map(|lock| lock.id).collect::<Vec<_>>(), [1, 2, 4]);
    }

    #[test]
    fn a_lock_of_this_process_is_on_the_list() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let meta = file.as_file().metadata().unwrap();
        rustix::fs::flock(file.as_file(), rustix::fs::FlockOperation::LockExclusive).unwrap();
        let (all, pieces) = reading();
        let own = all.iter().find(|lock| lock.inode == meta.ino() && lock.kind == "FLOCK").expect("our lock");
        assert!(pieces > 0 && own.write && !own.waits && own.from == 0 && own.to.is_none());
        assert_eq!(own.device, (libc::major(meta.dev()), libc::minor(meta.dev())));
        // a tree that has a database open is asked for; one that cannot wait is not
        let of = |path: &str| read(&BTreeMap::from([(7, opened(7, path, meta.ino()))])).len();
        assert_eq!([of("/x/a.db"), of("/x/a.log")], [1, 0]);
    }

    #[test]
    fn each_word_of_a_line_is_needed() {
        let whole = "12: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 99";
        let wanted = Lock {
            id: 12,
            kind: "POSIX".into(),
            write: true,
            pid: Some(1_234),
            waits: false,
            device: (8, 1),
            inode: 5_678,
            from: 0,
            to: Some(99),
        };
        assert_eq!(parse(whole), Some(wanted));
        let words: Vec<&str> = whole.split_whitespace().collect();
        for count in 0..words.len() {
            assert_eq!(parse(&words[..count].join(" ")), None, "{count} words");
        }
        let pid = |pid: &str| parse(&format!("1: POSIX ADVISORY READ {pid} 08:01:5 0 EOF")).and_then(|lock| lock.pid);
        assert_eq!([pid("0"), pid("1"), pid("-1"), pid("x")], [None, Some(1), None, None]);
        let place = |place: &str| parse(&format!("1: POSIX ADVISORY READ 1 {place} 0 EOF"));
        assert_eq!([place("08:01"), place("zz:01:5"), place("08:zz:5"), place("08:01:x")], [const { None }; 4]);
        assert_eq!(parse("x: POSIX ADVISORY READ 1 08:01:5 0 EOF"), None);
    }

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
