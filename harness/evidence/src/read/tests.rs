//! What is read of whole trees: children of this process, and others beside them that share something with them.
//!
//! Invariant: a child is read once it blocks in a known call.

use super::staged::{Staged, terminal, until};
use super::*;
use rustix::fs::{FileType, FlockOperation, Mode, mknodat};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn own() -> Pid {
    std::process::id() as Pid
}

/// The list of all processes of a machine that has these: process, parent.
fn machine(all: &[(Pid, Pid)]) -> All {
    all.iter().map(|(pid, ppid)| (*pid, Stat::parse(&format!("{pid} (x) S {ppid}")).unwrap())).collect()
}

#[test]
fn a_tree_is_a_root_and_all_below_it() {
    let all = machine(&[(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 7)]);
    let of = |roots: &[Pid]| below(roots, &all).into_iter().collect::<Vec<_>>();
    assert_eq!(of(&[2]), [2, 3, 4]);
    assert_eq!(of(&[5, 3, 4]), [3, 4, 5, 6]);
    assert_eq!(of(&[7]), [7], "its own parent");
    assert_eq!((of(&[]), of(&[9])), (vec![], vec![9]));
    let line: Vec<(Pid, Pid)> = (1..=40_000).map(|pid| (pid, pid - 1)).collect();
    assert_eq!(below(&[1], &machine(&line)).len(), 32_768);
    let top = |found: &[Pid]| tops(&found.iter().copied().collect(), &all);
    assert_eq!((top(&[2, 3, 6]), top(&[2, 4]), top(&[])), (vec![2, 6], vec![2, 4], vec![]));
}

#[test]
fn times_and_namespaces() {
    let ns = |tv_sec, tv_nsec| nanoseconds(rustix::time::Timespec { tv_sec, tv_nsec });
    assert_eq!([ns(0, 7), ns(3, 0), ns(3, 999_999_999)], [7, 3_000_000_000, 3_999_999_999]);
    let us = [us_between(0, 999), us_between(1_000, 3_500), us_between(5, 4)];
    assert_eq!(us, [0, 2, 0]);
    let elsewhere = |pid, ns_pid| is_elsewhere(&Process { pid, ns_pid, ..Process::default() });
    assert_eq!([elsewhere(7, 7), elsewhere(7, 2), elsewhere(7, 0)], [false, true, false]);
    assert!(ticks_per_s() > 1, "at least 100 on any machine with Linux");
}

#[test]
fn a_snapshot_of_a_child_that_reads_a_pipe() {
    let cat = Staged::cat(Stdio::piped());
    let snapshot = take(&[cat.pid(), Pid::MAX], &Options::default()).unwrap();
    assert_eq!(
        (snapshot.roots.as_slice(), snapshot.tree.keys().copied().collect::<Vec<_>>()),
        ([cat.pid()].as_slice(), vec![cat.pid()])
    );
    let process = &snapshot.tree[&cat.pid()];
    assert!(snapshot.at_ns >= process.began_ns && process.began_ns > 0);
    let reader = &snapshot.reader;
    assert_eq!((reader.pid, reader.uid, reader.other_namespace), (own(), rustix::process::geteuid().as_raw(), false));
    assert_eq!((reader.arch.as_str(), reader.ticks_per_s), (std::env::consts::ARCH, ticks_per_s()));
    // this process holds the other end, and is its parent
    assert!(snapshot.around.contains_key(&own()) && !snapshot.around.contains_key(&cat.pid()));
    assert_eq!((snapshot.locks.len(), snapshot.agents.len()), (0, 0));
    for gone in [vec![], vec![Pid::MAX]] {
        let error = take(&gone, &Options::default()).unwrap_err();
        assert!(matches!(error, SnapshotError::NoProcess(pid) if pid == gone.first().copied().unwrap_or(0)), "{error}");
    }
}

#[test]
fn an_agent_is_asked_only_if_that_is_wanted() {
    let mut command = Command::new("cat");
    let cat = Staged::start(command.arg0("opencode").stdin(Stdio::piped()));
    cat.is_in(libc::SYS_read);
    let agents =
        |ask, records| take(&[cat.pid()], &Options { ask, records, ..Options::default() }).unwrap().agents.len();
    assert_eq!([agents(false, false), agents(true, false), agents(false, true)], [0, 1, 1]);
}

#[test]
fn a_process_is_found_by_its_name_but_for_this_one() {
    let name = format!("evidence-test-{}", own());
    let start = |command: &mut Command| Staged::start(command.arg0(&name).stdin(Stdio::piped()));
    let (one, two) = (start(&mut Command::new("cat")), start(&mut Command::new("cat")));
    let mut both = vec![one.pid(), two.pid()];
    both.sort_unstable();
    assert_eq!(find(&name).unwrap(), both);
    let file = std::env::current_exe().unwrap();
    let comm = std::fs::read_to_string("/proc/self/comm").unwrap();
    assert!(
        ![file.file_name().unwrap().to_str().unwrap(), comm.trim()]
            .iter()
            .any(|name| find(name).unwrap().contains(&own()))
    );
    let cats = find("cat").unwrap();
    assert!(both.iter().all(|pid| cats.contains(pid)), "by the name that the kernel has");
    assert_eq!(find("no-such-name-at-all").unwrap(), Vec::<Pid>::new());
}

/// Whether a process is around the tree of another.
fn is_around(root: &Staged, other: &Staged) -> bool {
    let snapshot = take(&[root.pid()], &Options::default()).unwrap();
    assert!(!snapshot.around.contains_key(&root.pid()));
    snapshot.around.contains_key(&other.pid())
}

#[test]
fn those_who_share_something_with_the_tree_are_around_it() {
    let other = Staged::cat(Stdio::piped());
    let share = |what: &str, one: Staged, two: Staged| {
        assert!(is_around(&one, &two) && is_around(&two, &one), "{what}");
        assert!(!is_around(&one, &other) && !is_around(&other, &one), "{what}: it has nothing in common");
    };
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    share("a pipe", Staged::cat(reader.try_clone().unwrap()), Staged::cat(reader));
    let (one, two) = UnixStream::pair().unwrap();
    share("a socket and its peer", Staged::cat(OwnedFd::from(one)), Staged::cat(OwnedFd::from(two)));
    let (one, _two) = UnixStream::pair().unwrap();
    share("one socket", Staged::cat(OwnedFd::from(one.try_clone().unwrap())), Staged::cat(OwnedFd::from(one)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue");
    mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let open = || File::options().read(true).write(true).open(&path).unwrap();
    share("a FIFO", Staged::cat(open()), Staged::cat(open()));
    let (_master, path) = terminal();
    let open = || File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&path).unwrap();
    share("a terminal", Staged::cat(open()), Staged::cat(open()));
    let (master, path) = terminal();
    let slave = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&path).unwrap();
    share("a terminal and its master", Staged::cat(slave), Staged::cat(master));
    // one that has it as its controlling terminal and not among its descriptors
    let (master, path) = terminal();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec </dev/null; exec cat <{}", folder.path().join("queue").display())]);
    let leader = Staged::at_terminal(&mut command, &path);
    leader.is_in(libc::SYS_openat);
    let holder = Staged::cat(master);
    until(|| {
        let process = process::read(leader.pid(), &All::new(), &Reader::default(), &Reach::default());
        process.filter(|process| process.comm == "sh").map(drop)
    });
    assert!(is_around(&leader, &holder));
}

/// Whoever holds a lock, all below it, and the sockets at which it may wait.
#[test]
fn the_holder_of_a_lock_is_around_those_who_wait_for_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lock = File::open(file.path()).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    let (one, _two) = UnixStream::pair().unwrap();
    let inode = File::from(OwnedFd::from(one.try_clone().unwrap())).metadata().unwrap().ino();
    let waiter =
        Staged::start(Command::new("flock").args([file.path().as_os_str(), "true".as_ref()]).stdin(Stdio::null()));
    waiter.is_in(libc::SYS_flock);
    let snapshot = take(&[waiter.pid()], &Options::default()).unwrap();
    assert!(snapshot.locks.iter().any(|lock| lock.waits && lock.pid == Some(waiter.pid())));
    assert!(snapshot.locks.iter().any(|lock| !lock.waits && lock.pid == Some(own())));
    // what this process holds is seen, for it may wait there
    assert!(snapshot.around.contains_key(&own()) && snapshot.sockets.contains_key(&inode));
    // a process that shares nothing but an open file with a lock
    let reader = Staged::start(Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).env("X", "1"));
    reader.is_in(libc::SYS_read);
    assert!(snapshot.around.values().all(|process| process.pid != reader.pid()));
    let below = take(&[waiter.pid()], &Options::default()).unwrap();
    assert!(below.around.contains_key(&reader.pid()), "it is below the holder");
    // sockets of those who have nothing in common with the tree are not kept
    let (three, four) = UnixStream::pair().unwrap();
    let strange = File::from(OwnedFd::from(three.try_clone().unwrap())).metadata().unwrap().ino();
    let (_three, _four) = (Staged::cat(OwnedFd::from(three)), Staged::cat(OwnedFd::from(four)));
    let other = Staged::cat(Stdio::piped());
    assert_eq!(take(&[other.pid()], &Options::default()).unwrap().sockets.get(&strange), None);
}

/// The children of a process that run these programs by now.
fn children(of: &Staged, names: &[&str]) -> Vec<Pid> {
    let path = format!("/proc/{0}/task/{0}/children", of.pid());
    until(|| {
        let pids: Vec<Pid> =
            std::fs::read_to_string(&path).ok()?.split(' ').filter_map(|pid| pid.parse().ok()).collect();
        let name = |pid: &Pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        names.iter().map(|want| pids.iter().copied().find(|pid| name(pid).trim_end() == *want)).collect()
    })
}

#[test]
fn who_shares_something_with_a_process_out_of_sight_is_known() {
    let ends = || UnixStream::pair().map(|(one, two)| (OwnedFd::from(one), OwnedFd::from(two))).unwrap();
    let has_unseen =
        |root: &Staged, pid: Pid| take(&[root.pid()], &Options::default()).unwrap().around[&pid].has_unseen;
    let (one, two) = ends();
    let (root, host) = (Staged::cat(one), Staged::cat(two));
    assert!(!has_unseen(&root, host.pid()), "all that it has is the socket");
    // the shell has a child that shares nothing with the root; the child's pipe is read by a cat that does
    let (one, two) = ends();
    let root = Staged::cat(one);
    let script = "exec 3<&0; tail -f /dev/null </dev/null 3<&- | cat";
    let host = Staged::start(Command::new("sh").args(["-c", script]).stdin(two));
    let [tail, cat] = children(&host, &["tail", "cat"])[..] else { panic!("two") };
    assert!(has_unseen(&root, host.pid()), "a child");
    assert!(has_unseen(&root, cat), "a pipe");
    assert!(!take(&[root.pid()], &Options::default()).unwrap().around.contains_key(&tail));
    rustix::process::kill_process(rustix::process::Pid::from_raw(tail).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn the_ancestors_of_a_root_are_around_it() {
    let shell = Staged::start(Command::new("sh").args(["-c", "cat; true"]).stdin(Stdio::piped()));
    let shell_pid = shell.pid();
    let cat: Pid = until(|| {
        let pid = std::fs::read_to_string(format!("/proc/{shell_pid}/task/{shell_pid}/children")).ok()?;
        let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.trim())).ok()?;
        (name == "cat\n").then(|| pid.trim().parse().ok())?
    });
    let snapshot = take(&[cat], &Options::default()).unwrap();
    let mut at = cat;
    let all = process::all().unwrap();
    while let Some(parent) = all.get(&at).map(Stat::parent).filter(|parent| *parent > 0) {
        assert!(snapshot.around.contains_key(&parent), "{parent}");
        at = parent;
    }
    assert!(snapshot.around.contains_key(&shell_pid));
    let tree: Vec<Pid> = take(&[shell_pid], &Options::default()).unwrap().tree.into_keys().collect();
    assert_eq!(tree.len(), 2);
    assert!(tree.contains(&cat));
}

#[test]
fn a_link_says_what_is_shared() {
    let is = |link: &str, shared: Shared| {
        is_shared(own(), -1, Path::new(link), &BTreeSet::from([shared]), &Reach::default())
    };
    assert_eq!(
        [is("pipe:[7]", Shared::Pipe(7)), is("pipe:[8]", Shared::Pipe(7)), is("pipe:[7]", Shared::Socket(7))],
        [true, false, false]
    );
    assert_eq!(
        [is("socket:[7]", Shared::Socket(7)), is("socket:[8]", Shared::Socket(7)), is("socket:[7]", Shared::Pipe(7))],
        [true, false, false]
    );
    assert_eq!(
        [is("/dev/pts/7", Shared::Pty(7)), is("/dev/pts/8", Shared::Pty(7)), is("/dev/pts/x", Shared::Pty(7))],
        [true, false, false]
    );
    let of = |fd: &dyn AsRawFd, link: &str, shared: Shared| {
        is_shared(own(), fd.as_raw_fd(), Path::new(link), &BTreeSet::from([shared]), &Reach::default())
    };
    let file = tempfile::tempfile().unwrap();
    let inode = file.metadata().unwrap().ino();
    let found = [Shared::File(inode), Shared::File(inode + 1), Shared::Fifo(inode), Shared::Pipe(1)]
        .map(|shared| of(&file, "/x", shared));
    assert_eq!(found, [true, false, false, false]);
    // of a device, and of what is no path, the inode is not looked at
    assert_eq!(
        [of(&file, "/dev/x", Shared::File(inode)), of(&file, "anon_inode:[eventfd]", Shared::File(inode))],
        [false; 2]
    );
    let (master, path) = terminal();
    let index: u64 = path.strip_prefix("/dev/pts/").unwrap().parse().unwrap();
    let found = [Shared::Pty(index), Shared::Pty(index + 1)].map(|shared| of(&master, "/dev/pts/ptmx", shared));
    assert_eq!(found, [true, false]);
}
