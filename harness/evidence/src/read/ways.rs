//! The ways in which a process may go on, or be ended, that its own system calls do not show: timers, limits of sockets,
//! descriptors in flight, locks of open files, and who watches over it.
//!
//! Invariant: what may not be read counts as a way.

use super::fds::info;
use super::process::{self, All, Stat};
use super::{file, memory};
use crate::data::{Alarms, Does, End, Object, Pid, Process, Snapshot, State, TimeLimit};
use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The most processes that are read because they may watch over the tree.
const MAX_WATCHERS: usize = 32;
/// The most processes below a daemon that are read.
const MAX_BELOW: usize = 64;
/// Programs that end another process after a time, as the kernel names them.
const TIMEOUTS: [&str; 3] = ["timeout", "busybox", "gtimeout"];
/// Programs of which a copy, or a script, may end another process after a time.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "watchdog"];

/// Whether an alarm is armed on this machine: the timer of an alarm calls `it_real_fn`, and the list of all timers does not
/// say whose it is (kernel/time/timer_list.c since Linux 4.11). `traced` is how many a tracer keeps of a tree that runs in
/// virtual time: the kernel has none of these, and its list is of other processes.
pub fn alarms(all: &All, traced: Option<usize>) -> Alarms {
    let of_kernel = || {
        let list = file::text("/proc/timer_list").ok().filter(|list| list.contains("active timers"))?;
        Some(list.matches(" it_real_fn").count())
    };
    let Some(armed) = traced.or_else(of_kernel) else { return Alarms::NotKnown };
    match armed {
        0 => Alarms::None,
        // a process has one alarm at most
        armed if all.iter().filter(|(pid, stat)| handles_alarms(**pid, stat)).take(armed).count() == armed => {
            Alarms::Some
        }
        _ => Alarms::Unhandled,
    }
}

/// Whether a process handles alarms of its own: a shell handles them for its prompt, and some runtimes handle every signal.
fn handles_alarms(pid: Pid, stat: &Stat) -> bool {
    if stat.is_of_kernel() || SHELLS.contains(&stat.comm.as_str()) {
        return false;
    }
    let status = file::record(&format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    crate::data::Signals::has(caught, libc::SIGALRM) && caught.count_ones() < 40
}

/// Adds to the processes of a snapshot what their calls do not tell.
pub fn add(snapshot: &mut Snapshot) {
    let locked: BTreeSet<u64> = snapshot.locks.iter().filter(|lock| !lock.waits).map(|lock| lock.inode).collect();
    let unread: BTreeSet<u64> = snapshot
        .sockets
        .values()
        .filter(|socket| socket.family == crate::data::Family::Unix && socket.unread > 0)
        .map(|socket| socket.inode)
        .collect();
    let Snapshot { tree, around, .. } = snapshot;
    for process in tree.values_mut().chain(around.values_mut()).filter(|process| process.state != State::Zombie) {
        limits(process);
        process.may_have_timers = may_have_timers(process.pid);
        process.at_debugger = is_at_debugger(process);
        if is_held(process) {
            process.held_ms = rested_ms(process.pid);
        }
        let pid = process.pid;
        let has_lock = |fd: &crate::data::Descriptor| match fd.what {
            Object::File { inode, .. } => locked.contains(&inode) && info(pid, fd.fd).contains("\nlock:"),
            _ => false,
        };
        process.locked_fds = process.fds.iter().filter(|fd| has_lock(fd)).map(|fd| fd.fd).collect();
        let sockets =
            process.fds.iter().filter(|fd| matches!(fd.what, Object::Socket { inode } if unread.contains(&inode)));
        process.fds_in_flight = sockets.map(|fd| in_flight(&info(pid, fd.fd))).sum();
    }
}

/// `scm_fds: 2`: descriptors in messages that were not received yet.
fn in_flight(info: &str) -> u64 {
    let line = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Whether it is stopped, traced or frozen.
fn is_held(process: &Process) -> bool {
    let frozen = |wchan: &str| matches!(wchan, "__refrigerator" | "do_freezer_trap" | "get_signal");
    matches!(process.state, State::Stopped | State::Traced)
        || process.threads.iter().any(|thread| frozen(&thread.wchan))
}

/// Its POSIX timers, armed or not: the list does not tell which. The clocks of processor time stand while it waits.
fn may_have_timers(pid: Pid) -> bool {
    match file::bytes(&format!("/proc/{pid}/timers")) {
        Ok(list) => has_timer(&String::from_utf8_lossy(&list)),
        // a kernel without the list, or a process of another user
        Err(error) => error != rustix::io::Errno::NOENT,
    }
}

/// Whether a list of timers has one of a clock that goes on while its process waits: `ClockID: 1`.
fn has_timer(list: &str) -> bool {
    let mut clocks = list.lines().filter_map(|line| line.strip_prefix("ClockID:"));
    let runs = |clock: i32| match clock {
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => false,
        // of another process or thread; a clock that is a device has 3 in these bits (clock_getcpuclockid(3))
        clock => clock >= 0 || clock & 3 == 3,
    };
    clocks.any(|clock| clock.trim().parse().map_or(true, runs))
}

/// For how long a process has been on no processor: the scheduler notes when it last was, on the clock of its own.
fn rested_ms(pid: Pid) -> Option<u64> {
    let last = |path: &str| -> Option<f64> {
        let text = file::text(path).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("se.exec_start"))?;
        line.trim_start().strip_prefix(':')?.trim().parse().ok()
    };
    let (then, now) = (last(&format!("/proc/{pid}/sched"))?, last("/proc/thread-self/sched")?);
    Some((now - then).max(0.0) as u64)
}

/// Whether it was told to wait for a debugger: by its arguments, or of Node.js by NODE_OPTIONS.
fn is_at_debugger(process: &Process) -> bool {
    const SWITCHES: [&str; 4] = ["--inspect-brk", "--inspect-wait", "--wait-for-client", "suspend=y"];
    let told = |text: &str| SWITCHES.iter().any(|switch| text.contains(switch));
    if process.args.iter().skip(1).take(8).any(|arg| told(arg)) {
        return true;
    }
    let environ = || file::bytes(&format!("/proc/{}/environ", process.pid)).unwrap_or_default();
    let is_node = process.comm.starts_with("node") || process.comm == "MainThread";
    let has_socket = process.fds.iter().any(|fd| matches!(fd.what, Object::Socket { .. }));
    let options = || {
        environ()
            .split(|byte| *byte == 0)
            .any(|var| var.starts_with(b"NODE_OPTIONS=") && told(&String::from_utf8_lossy(var)))
    };
    is_node && has_socket && options()
}

/// Fills in how long a read or a write may take: on a socket as long as its option says, on anything else for ever.
fn limits(process: &mut Process) {
    let Process { pid, threads, fds, .. } = process;
    for call in threads.iter_mut().filter_map(|thread| thread.call.as_mut()) {
        let (fd, option) = match call.does {
            Does::Read { fd } => (fd, libc::SO_RCVTIMEO),
            Does::Write { fd } | Does::Connect { fd } => (fd, libc::SO_SNDTIMEO),
            _ => continue,
        };
        if call.limit != TimeLimit::Unknown || call.name.starts_with("mq_") {
            continue;
        }
        match fds.iter().find(|descriptor| descriptor.fd == fd).map(|descriptor| &descriptor.what) {
            Some(Object::Socket { .. }) => {
                if let Some(ms) = socket_limit_ms(*pid, fd, option) {
                    call.limit = if ms == 0 { TimeLimit::Never } else { TimeLimit::GivenMs(ms) };
                }
            }
            Some(_) => call.limit = TimeLimit::Never,
            None => {}
        }
    }
}

/// A time limit of a socket, in milliseconds; 0: none. `None` if it may not be read.
fn socket_limit_ms(pid: Pid, fd: i32, option: i32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(pid)?;
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
    // SAFETY: the call takes three numbers and returns a new descriptor of ours, which only `copy` owns
    let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) };
    let copy = i32::try_from(copy).ok().filter(|copy| *copy >= 0)?;
    // SAFETY: see above
    let copy = unsafe { OwnedFd::from_raw_fd(copy) };
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<libc::timeval>() as libc::socklen_t;
    let (at, length) = ((&raw mut time).cast(), &raw mut size);
    // SAFETY: the call writes at most `size` bytes to `time`, and both outlive it
    let done = unsafe { libc::getsockopt(copy.as_raw_fd(), libc::SOL_SOCKET, option, at, length) };
    (done == 0).then(|| memory::whole_ms(time.tv_sec, time.tv_usec))
}

/// Processes outside of the tree that may end one of it after a time: `timeout`, a copy of the shell that sleeps first and
/// kills then, a script that was told to kill.
pub fn watchers(roots: &[Pid], tree: &BTreeSet<Pid>, all: &All, reader: Pid) -> BTreeSet<Pid> {
    let above = |pid: Pid| {
        let mut at = pid;
        std::iter::from_fn(move || {
            at = all.get(&at)?.parent();
            (at > 0).then_some(at)
        })
        .take(all.len())
    };
    let common: BTreeSet<Pid> = above(reader).chain([reader]).collect();
    let over: BTreeSet<Pid> = roots.iter().flat_map(|root| above(*root)).filter(|pid| !common.contains(pid)).collect();
    let groups: BTreeSet<i64> = roots.iter().filter_map(|root| all.get(root)).map(|stat| stat.number(2)).collect();
    let names: BTreeSet<&str> = roots.iter().chain(&over).filter_map(|pid| Some(all.get(pid)?.comm.as_str())).collect();
    // one whose parent is over has been adopted
    let is_near =
        |stat: &Stat| over.contains(&stat.parent()) || (groups.contains(&stat.number(2)) && stat.parent() <= 1);
    let may = |(pid, stat): &(&Pid, &Stat)| {
        if tree.contains(pid) || common.contains(pid) || stat.is_of_kernel() {
            return false;
        }
        let comm = stat.comm.as_str();
        let kills = || process::args(**pid).iter().any(|arg| arg.contains("kill"));
        TIMEOUTS.contains(&comm)
            || (is_near(stat) && (SHELLS.contains(&comm) || names.contains(comm)))
            || (SHELLS.contains(&comm) && kills())
    };
    all.iter().filter(may).map(|(pid, _)| *pid).take(MAX_WATCHERS).collect()
}

/// The processes below those outside of the tree from whom something may come: who is asked over a Unix socket with a name,
/// or at a port of this machine, and who writes what the tree reads.
pub fn below_daemons(snapshot: &Snapshot, all: &All) -> BTreeSet<Pid> {
    let ours = snapshot.tree.values().flat_map(|process| &process.fds);
    let asked: BTreeSet<u64> = ours
        .filter_map(|fd| match fd.what {
            Object::Socket { inode } => Some(inode),
            _ => None,
        })
        .flat_map(|inode| {
            let peer = snapshot.sockets.get(&inode).and_then(|socket| socket.peer);
            let named = peer.filter(|peer| snapshot.sockets.get(peer).is_some_and(|peer| !peer.local.is_empty()));
            named.into_iter().chain(snapshot.queued.get(&inode).copied())
        })
        .collect();
    let read: BTreeSet<u64> = snapshot
        .tree
        .values()
        .flat_map(|process| &process.fds)
        .filter_map(|fd| match &fd.what {
            Object::Pipe { inode } | Object::Fifo { inode, .. } if fd.mode.has(End::Read) => Some(*inode),
            _ => None,
        })
        .collect();
    let writers = |inode: u64| snapshot.holders(inode, End::Write).map(|(process, _)| process.pid);
    let writers: BTreeSet<Pid> = read.into_iter().flat_map(writers).collect();
    let mut above = BTreeSet::from([snapshot.reader.pid]);
    let mut at = snapshot.reader.pid;
    while let Some(stat) = all.get(&at)
        && above.insert(stat.parent())
    {
        at = stat.parent();
    }
    let holds = |process: &&Process| {
        let writes = writers.contains(&process.pid)
            && !above.contains(&process.pid)
            && !snapshot.descends(snapshot.roots[0], process.pid);
        process.pid > 1
            && (writes
                || process.fds.iter().any(|fd| matches!(fd.what, Object::Socket { inode } if asked.contains(&inode))))
    };
    let daemons: Vec<Pid> = snapshot.around.values().filter(holds).map(|process| process.pid).collect();
    let found = super::below(&daemons, all);
    found.into_iter().filter(|pid| snapshot.process(*pid).is_none()).take(MAX_BELOW).collect()
}

/// Takes from whoever reads the descriptors that it was given by the shell that started it: nothing will come from them.
/// What it has opened itself is closed at an exec, and its streams may be those of a command that it supervises.
pub fn disown(reader: &mut Process) {
    let pid = reader.pid;
    let is_own = |fd: i32| {
        let info = info(pid, fd);
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|text| i32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0);
        flags & libc::O_CLOEXEC != 0
    };
    reader.fds.retain(|fd| fd.fd <= 2 || is_own(fd.fd));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Call, Descriptor, Mode, Thread};
    use crate::read::staged::Staged;
    use std::process::Command;

    fn in_call(fd: i32, does: Does, what: Object) -> Process {
        let call = Call { does, ..Call::default() };
        let threads = vec![Thread { call: Some(call), ..Thread::default() }];
        let fds = vec![Descriptor { fd, mode: Mode::Both, what }];
        Process { pid: std::process::id() as Pid, threads, fds, ..Process::default() }
    }

    fn limit_of(mut process: Process) -> TimeLimit {
        limits(&mut process);
        process.threads.remove(0).call.unwrap().limit
    }

    #[test]
    fn a_read_of_a_socket_has_the_limit_of_its_option() {
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        let fd = one.as_raw_fd();
        let (reads, writes) = (Does::Read { fd }, Does::Write { fd });
        let of = |does: &Does| limit_of(in_call(fd, does.clone(), Object::Socket { inode: 7 }));
        assert_eq!([of(&reads), of(&writes)], [TimeLimit::Never; 2]);
        one.set_read_timeout(Some(std::time::Duration::from_millis(2_500))).unwrap();
        // the kernel rounds it to its ticks
        assert!(matches!(of(&reads), TimeLimit::GivenMs(2_400..=2_600)) && of(&writes) == TimeLimit::Never);
        one.set_write_timeout(Some(std::time::Duration::from_secs(3))).unwrap();
        assert_eq!(of(&writes), TimeLimit::GivenMs(3_000));
        assert_eq!(limit_of(in_call(fd, reads.clone(), Object::Null)), TimeLimit::Never);
        assert_eq!(limit_of(in_call(fd + 1, reads, Object::Null)), TimeLimit::Unknown, "it is no descriptor of its");
        let closed = in_call(i32::MAX, Does::Read { fd: i32::MAX }, Object::Socket { inode: 7 });
        assert_eq!(limit_of(closed), TimeLimit::Unknown);
        assert_eq!(limit_of(in_call(fd, Does::Signal, Object::Null)), TimeLimit::Unknown);
    }

    #[test]
    fn what_fdinfo_says_of_descriptors_in_flight() {
        let texts = ["flags:\t02\nscm_fds: 2\n", "scm_fds: x\n", "flags:\t02\n", ""];
        assert_eq!(texts.map(in_flight), [2, 0, 0, 0]);
    }

    #[test]
    fn a_process_without_posix_timers_and_one_that_is_gone() {
        let child = Staged::cat(std::process::Stdio::piped());
        assert!(!may_have_timers(child.pid()));
        assert!(!may_have_timers(Pid::MAX), "it is gone: nothing of it is looked at");
        assert!(rested_ms(child.pid()).is_none_or(|ms| ms < 24 * 3_600_000));
        assert_eq!(rested_ms(Pid::MAX), None);
    }

    #[test]
    fn who_is_near_the_tree_may_watch_over_it() {
        let stat = |pid: Pid, parent: Pid, group: Pid, comm: &str| {
            let text = format!("{pid} ({comm}) S {parent} {group} 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 5");
            (pid, Stat::parse(&text).unwrap())
        };
        let far = Pid::MAX - 100;
        let all: All = [
            stat(1, 0, 1, "init"),
            stat(far, 1, far, "sh"),
            stat(far + 1, far, far + 1, "rehang"),
            stat(far + 2, 1, far + 2, "sh"),
            stat(far + 3, far + 2, far + 3, "cat"),
            stat(far + 4, far + 2, far + 4, "sh"),
            stat(far + 8, far + 2, far + 8, "sleep"),
            stat(far + 5, 1, far + 5, "timeout"),
            stat(far + 6, 1, far + 6, "other"),
            stat(far + 7, 1, far + 3, "cat"),
        ]
        .into_iter()
        .collect();
        let tree = BTreeSet::from([far + 3]);
        let found = watchers(&[far + 3], &tree, &all, far + 1);
        assert_eq!(found, BTreeSet::from([far + 4, far + 5, far + 7]));
    }

    #[test]
    fn descriptors_that_were_given_to_the_reader_are_not_its_own() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let given = file.as_raw_fd();
        let own = rustix::io::fcntl_dupfd_cloexec(&file, 3).unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let fd = |fd: i32| Descriptor { fd, mode: Mode::Read, what: Object::Null };
        let fds = vec![fd(0), fd(given), fd(own.as_raw_fd())];
        let mut reader = Process { pid: std::process::id() as Pid, fds, ..Process::default() };
        disown(&mut reader);
        let left: Vec<i32> = reader.fds.iter().map(|fd| fd.fd).collect();
        assert_eq!(left, [0, own.as_raw_fd()]);
    }

    #[test]
    fn the_copies_of_a_locked_file_are_known() {
        let file = tempfile::NamedTempFile::new().unwrap();
        rustix::fs::flock(file.as_file(), rustix::fs::FlockOperation::LockExclusive).unwrap();
        let pid = std::process::id() as Pid;
        assert!(info(pid, file.as_file().as_raw_fd()).contains("\nlock:"));
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let all = process::all().unwrap();
        let has_root = rustix::process::geteuid().is_root();
        assert!(alarms(&all, None) == Alarms::NotKnown || has_root);
    }
}
