//! The clock never jumps while somebody is about to answer.
//!
//! Two sides answer each other after work of random length, and each waits at most 2 ms of virtual time. Nothing takes
//! virtual time, so no wait may ever expire, however slow or loaded the machine is, and the run takes none.

use crate::support;
use libtest_mimic::Trial;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

/// How long each side waits, in virtual ms.
const LIMIT: i32 = 2;
/// How many answers each kind gets: two waits each, more than 10^4 together.
const ROUNDS: u64 = 400;
/// The same in the long form: more than 10^6 together.
const LONG_ROUNDS: u64 = 33_000;
const KINDS: [&str; 18] = [
    "pipe",
    "unix",
    "datagram",
    "tcp",
    "tcp-twice",
    "udp",
    "pty",
    "eventfd",
    "condvar",
    "channel",
    "child",
    "killed",
    "continued",
    "signal",
    "timerfd",
    "alarm",
    "inotify",
    "receive-limit",
];

pub fn trials() -> Vec<Trial> {
    let trial = |kind: &'static str, name: String, rounds: u64| {
        Trial::test(name, move || {
            let ran = support::run(support::program(&["stress", kind, &rounds.to_string()]));
            assert_eq!(ran.output, "expired 0\n", "{:?}", ran.ending);
            // each child that is killed has a millisecond to fall asleep
            let jumps = if matches!(kind, "killed" | "continued") { rounds / 4 } else { 0 };
            assert_eq!(ran.ending.jumps, jumps);
            // in the long form the clock is read so often that it moves by itself
            if rounds == ROUNDS {
                assert_eq!(ran.nanos(), u128::from(jumps) * 1_000_000);
            }
            Ok(())
        })
    };
    let short = KINDS.map(|kind| trial(kind, format!("stress::{kind}"), ROUNDS));
    let long = KINDS.map(|kind| trial(kind, format!("stress::long::{kind}"), LONG_ROUNDS).with_ignored_flag(true));
    short.into_iter().chain(long).collect()
}

/// Plays both sides, and prints how many waits expired.
pub fn program(kind: &str, rounds: u64) {
    let expired = match kind {
        "pipe" => {
            let (one, two) = (pipe(), pipe());
            let side = |from: &OwnedFd, to: &OwnedFd| Side::new(from.as_raw_fd(), to.as_raw_fd(), poll);
            play_both(rounds, || side(&two.0, &one.1), || side(&one.0, &two.1))
        }
        "unix" => play_pair(rounds, libc::SOCK_STREAM, select),
        "datagram" => play_pair(rounds, libc::SOCK_DGRAM, poll_precisely),
        "receive-limit" => play_receive_limit(rounds),
        "tcp" => play_tcp(rounds, 1),
        "tcp-twice" => play_tcp(rounds, 2),
        "udp" => {
            let bind = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
            let (one, two) = (bind(), bind());
            one.connect(two.local_addr().expect("an address")).expect("a connection");
            two.connect(one.local_addr().expect("an address")).expect("a connection");
            let side = |socket: &UdpSocket| Side::new(socket.as_raw_fd(), socket.as_raw_fd(), epoll);
            play_both(rounds, || side(&one), || side(&two))
        }
        "pty" => {
            let (master, slave) = pty();
            let side = |fd: &OwnedFd| Side::new(fd.as_raw_fd(), fd.as_raw_fd(), poll);
            play_both(rounds, || side(&master), || side(&slave))
        }
        "eventfd" => {
            let (one, two) = (eventfd(), eventfd());
            let side =
                |from: &OwnedFd, to: &OwnedFd| Side { size: 8, ..Side::new(from.as_raw_fd(), to.as_raw_fd(), epoll) };
            play_both(rounds, || side(&one, &two), || side(&two, &one))
        }
        "timerfd" => {
            let (one, two) = (pipe(), pipe());
            let side = |from: &OwnedFd, to: &OwnedFd| Side::new(from.as_raw_fd(), to.as_raw_fd(), poll_with_timerfd);
            play_both(rounds, || side(&two.0, &one.1), || side(&one.0, &two.1))
        }
        "alarm" => {
            let (one, two) = (pipe(), pipe());
            let side = |from: &OwnedFd, to: &OwnedFd| Side::new(from.as_raw_fd(), to.as_raw_fd(), peek_with_alarm);
            play_both(rounds, || side(&two.0, &one.1), || side(&one.0, &two.1))
        }
        "condvar" => play_condvar(rounds),
        "channel" => play_channel(rounds),
        "child" => play_children(rounds),
        "killed" => play_killed(rounds, false),
        "continued" => play_killed(rounds, true),
        "signal" => play_signals(rounds),
        "inotify" => play_inotify(rounds),
        other => panic!("no kind {other}"),
    };
    println!("expired {expired}");
}

/// One side of a play: it waits with `wait`, which returns `false` if its limit was over first.
struct Side {
    from: RawFd,
    to: RawFd,
    wait: fn(RawFd) -> bool,
    /// The bytes of a message.
    size: usize,
    /// How many writes a message takes.
    pieces: usize,
}

impl Side {
    fn new(from: RawFd, to: RawFd, wait: fn(RawFd) -> bool) -> Side {
        Side { from, to, wait, size: 1, pieces: 1 }
    }

    fn send(&self) {
        let message = 1_u64.to_le_bytes();
        for _ in 0..self.pieces {
            // SAFETY: reads at most eight bytes.
            let sent = unsafe { libc::write(self.to, message.as_ptr().cast(), self.size) };
            assert_eq!(sent, self.size as isize);
        }
    }

    fn receive(&self) {
        let mut left = self.size * self.pieces;
        while left > 0 {
            let mut message = [0_u8; 8];
            // SAFETY: writes at most eight bytes.
            let got = unsafe { libc::read(self.from, message.as_mut_ptr().cast(), left.min(8)) };
            left -= usize::try_from(got).expect("a message");
        }
    }

    /// Answers `rounds` times; the number of waits that expired.
    fn play(&self, rounds: u64, begins: bool) -> u64 {
        let (mut work, mut expired) = (Work(rounds + u64::from(begins)), 0);
        for _ in 0..rounds {
            if begins {
                work.run();
                self.send();
            }
            while !(self.wait)(self.from) {
                expired += 1;
            }
            self.receive();
            if !begins {
                work.run();
                self.send();
            }
        }
        expired
    }
}

/// Work of random length: xorshift64, by Marsaglia (2003).
struct Work(u64);

impl Work {
    fn run(&mut self) {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let mut sum = 0_u64;
        for i in 0..self.0 % 8_000 {
            sum = std::hint::black_box(sum.wrapping_add(i));
        }
    }
}

/// Plays one side in a child and the other here.
fn play_both(rounds: u64, child: impl FnOnce() -> Side, here: impl FnOnce() -> Side) -> u64 {
    let child = fork(|| child().play(rounds, true));
    here().play(rounds, false) + join(child)
}

/// A child process that exits with the result, at most 250.
fn fork(run: impl FnOnce() -> u64) -> i32 {
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        0 => std::process::exit(run().min(250) as i32),
        // -1 would mean everybody to kill
        pid => {
            assert!(pid > 0, "no child");
            pid
        }
    }
}

fn join(pid: i32) -> u64 {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "{status:#x}");
    libc::WEXITSTATUS(status) as u64
}

fn owned(fd: RawFd) -> OwnedFd {
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: every caller passes a descriptor that it has just got.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut fds = [0; 2];
    // SAFETY: writes two descriptors.
    assert_eq!(unsafe { libc::pipe(fds.as_mut_ptr()) }, 0);
    (owned(fds[0]), owned(fds[1]))
}

fn eventfd() -> OwnedFd {
    // SAFETY: takes numbers only.
    owned(unsafe { libc::eventfd(0, 0) })
}

pub fn pty() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: writes two descriptors; the settings are initialized by `tcgetattr`.
    unsafe {
        let null = std::ptr::null_mut;
        assert_eq!(libc::openpty(&raw mut master, &raw mut slave, null(), std::ptr::null(), std::ptr::null()), 0);
        let mut raw: libc::termios = std::mem::zeroed();
        libc::tcgetattr(slave, &raw mut raw);
        libc::cfmakeraw(&raw mut raw);
        assert_eq!(libc::tcsetattr(slave, libc::TCSANOW, &raw const raw), 0);
    }
    (owned(master), owned(slave))
}

fn polled(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

fn poll(fd: RawFd) -> bool {
    let mut fds = [polled(fd)];
    // SAFETY: one entry.
    unsafe { libc::poll(fds.as_mut_ptr(), 1, LIMIT) == 1 }
}

fn poll_precisely(fd: RawFd) -> bool {
    let mut fds = [polled(fd)];
    let limit = libc::timespec { tv_sec: 0, tv_nsec: i64::from(LIMIT) * 1_000_000 };
    // SAFETY: one entry; `limit` is read.
    unsafe { libc::ppoll(fds.as_mut_ptr(), 1, &raw const limit, std::ptr::null()) == 1 }
}

fn select(fd: RawFd) -> bool {
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: i64::from(LIMIT) * 1_000 };
    // SAFETY: the set is initialized and holds `fd`.
    unsafe {
        let mut set: libc::fd_set = std::mem::zeroed();
        libc::FD_SET(fd, &raw mut set);
        let null = std::ptr::null_mut;
        libc::select(fd + 1, &raw mut set, null(), null(), &raw mut limit) == 1
    }
}

fn epoll(fd: RawFd) -> bool {
    // SAFETY: all structures outlive the calls.
    unsafe {
        let epoll = owned(libc::epoll_create1(0));
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        assert_eq!(libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
        libc::epoll_wait(epoll.as_raw_fd(), &raw mut event, 1, LIMIT) == 1
    }
}

/// A timerfd that expires when the limit is over.
fn timerfd() -> OwnedFd {
    // SAFETY: all structures outlive the calls.
    unsafe {
        let timer = owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, 0));
        let mut times: libc::itimerspec = std::mem::zeroed();
        times.it_value.tv_nsec = i64::from(LIMIT) * 1_000_000;
        libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const times, std::ptr::null_mut());
        timer
    }
}

fn poll_with_timerfd(fd: RawFd) -> bool {
    let timer = timerfd();
    let mut fds = [polled(fd), polled(timer.as_raw_fd())];
    // SAFETY: two entries.
    assert!(unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) } > 0);
    fds[0].revents != 0
}

/// Waits without a limit until an alarm cuts the wait.
fn peek_with_alarm(fd: RawFd) -> bool {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing; all structures outlive the calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let mut times: libc::itimerval = std::mem::zeroed();
        times.it_value.tv_usec = i64::from(LIMIT) * 1_000;
        libc::setitimer(libc::ITIMER_REAL, &raw const times, std::ptr::null_mut());
        let mut fds = [polled(fd)];
        let ready = libc::poll(fds.as_mut_ptr(), 1, -1) == 1;
        times.it_value.tv_usec = 0;
        libc::setitimer(libc::ITIMER_REAL, &raw const times, std::ptr::null_mut());
        ready
    }
}

fn socketpair(kind: i32) -> (OwnedFd, OwnedFd) {
    let mut fds = [0; 2];
    // SAFETY: writes two descriptors.
    assert_eq!(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) }, 0);
    (owned(fds[0]), owned(fds[1]))
}

fn play_pair(rounds: u64, kind: i32, wait: fn(RawFd) -> bool) -> u64 {
    let (one, two) = socketpair(kind);
    let side = |fd: &OwnedFd| Side::new(fd.as_raw_fd(), fd.as_raw_fd(), wait);
    play_both(rounds, || side(&one), || side(&two))
}

/// The wait is in the call that peeks, with the socket's own limit.
fn play_receive_limit(rounds: u64) -> u64 {
    fn peek(fd: RawFd) -> bool {
        let mut byte = 0_u8;
        // SAFETY: writes one byte.
        unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, libc::MSG_PEEK) == 1 }
    }
    let (one, two) = socketpair(libc::SOCK_STREAM);
    for fd in [&one, &two] {
        let limit = libc::timeval { tv_sec: 0, tv_usec: i64::from(LIMIT) * 1_000 };
        // SAFETY: reads one timeval.
        let set = unsafe {
            libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const limit).cast(), 16)
        };
        assert_eq!(set, 0);
    }
    let side = |fd: &OwnedFd| Side::new(fd.as_raw_fd(), fd.as_raw_fd(), peek);
    play_both(rounds, || side(&one), || side(&two))
}

fn play_tcp(rounds: u64, pieces: usize) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let side = move |socket: &TcpStream| Side { pieces, ..Side::new(socket.as_raw_fd(), socket.as_raw_fd(), poll) };
    let child = fork(|| side(&TcpStream::connect(address).expect("a connection")).play(rounds, true));
    let (socket, _) = listener.accept().expect("a connection");
    side(&socket).play(rounds, false) + join(child)
}

/// Two threads and two flags.
fn play_condvar(rounds: u64) -> u64 {
    type Flag = Arc<(Mutex<bool>, Condvar)>;
    fn play(rounds: u64, begins: bool, mine: &Flag, other: &Flag) -> u64 {
        let (mut work, mut expired) = (Work(rounds + u64::from(begins)), 0);
        let mut send = || {
            work.run();
            *other.0.lock().expect("a flag") = true;
            other.1.notify_one();
        };
        for _ in 0..rounds {
            if begins {
                send();
            }
            let mut flag = mine.0.lock().expect("a flag");
            while !*flag {
                let waited = mine.1.wait_timeout(flag, Duration::from_millis(LIMIT as u64)).expect("a flag");
                expired += u64::from(waited.1.timed_out());
                flag = waited.0;
            }
            *flag = false;
            drop(flag);
            if !begins {
                send();
            }
        }
        expired
    }
    let (one, two) = (Flag::default(), Flag::default());
    let (mine, other) = (one.clone(), two.clone());
    let thread = std::thread::spawn(move || play(rounds, true, &mine, &other));
    play(rounds, false, &two, &one) + thread.join().expect("a thread")
}

/// Two threads and two channels.
fn play_channel(rounds: u64) -> u64 {
    fn play(rounds: u64, begins: bool, from: &mpsc::Receiver<()>, to: &mpsc::Sender<()>) -> u64 {
        let (mut work, mut expired) = (Work(rounds + u64::from(begins)), 0);
        let mut send = || {
            work.run();
            // the other side may have ended after the last message
            let _ = to.send(());
        };
        for _ in 0..rounds {
            if begins {
                send();
            }
            while from.recv_timeout(Duration::from_millis(LIMIT as u64)).is_err() {
                expired += 1;
            }
            if !begins {
                send();
            }
        }
        expired
    }
    let (to_two, from_one) = mpsc::channel();
    let (to_one, from_two) = mpsc::channel();
    let thread = std::thread::spawn(move || play(rounds, true, &from_two, &to_two));
    play(rounds, false, &from_one, &to_one) + thread.join().expect("a thread")
}

/// Children that end: their ends are awaited by pidfd.
fn play_children(rounds: u64) -> u64 {
    let (mut work, mut expired) = (Work(rounds), 0);
    // a child costs as much as some ten answers
    for _ in 0..rounds / 10 {
        work.run();
        let seed = work.0;
        let child = fork(|| {
            Work(seed).run();
            0
        });
        // SAFETY: takes numbers only.
        let fd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) } as RawFd);
        while !poll(fd.as_raw_fd()) {
            expired += 1;
        }
        expired += join(child);
    }
    expired
}

/// Children that sleep, or are stopped, and are killed.
fn play_killed(rounds: u64, is_stopped: bool) -> u64 {
    let (mut work, mut expired) = (Work(rounds), 0);
    for _ in 0..rounds / 4 {
        let child = fork(|| {
            if is_stopped {
                // SAFETY: takes a number only.
                unsafe { libc::raise(libc::SIGSTOP) };
            }
            std::thread::sleep(Duration::from_secs(1 << 30));
            0
        });
        if is_stopped {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
        }
        std::thread::sleep(Duration::from_millis(1));
        work.run();
        // SAFETY: takes numbers only.
        let fd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) } as RawFd);
        // between the signal and the wait there is no stop that would give the child time
        let timer = timerfd();
        let mut fds = [polled(fd.as_raw_fd()), polled(timer.as_raw_fd())];
        // SAFETY: takes numbers only, and two entries.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            assert!(libc::poll(fds.as_mut_ptr(), 2, -1) > 0);
        }
        expired += u64::from(fds[1].revents != 0);
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
    }
    expired
}

/// Two processes that signal each other.
fn play_signals(rounds: u64) -> u64 {
    fn play(rounds: u64, other: i32, begins: bool) -> u64 {
        let (mut work, mut expired) = (Work(rounds + u64::from(begins)), 0);
        let mut send = || {
            work.run();
            // SAFETY: takes numbers only.
            assert_eq!(unsafe { libc::kill(other, libc::SIGUSR1) }, 0);
        };
        let limit = libc::timespec { tv_sec: 0, tv_nsec: i64::from(LIMIT) * 1_000_000 };
        for _ in 0..rounds {
            if begins {
                send();
            }
            let set = signals();
            // SAFETY: all structures outlive the call.
            while unsafe { libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const limit) } < 0 {
                expired += 1;
            }
            if !begins {
                send();
            }
        }
        expired
    }
    fn signals() -> libc::sigset_t {
        // SAFETY: the set is initialized by `sigemptyset`.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGUSR1);
            set
        }
    }
    let set = signals();
    // SAFETY: the set is read; the other call takes nothing.
    let here = unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::getpid()
    };
    let child = fork(|| play(rounds, here, true));
    play(rounds, child, false) + join(child)
}

/// Two processes that write to files which the other one watches.
fn play_inotify(rounds: u64) -> u64 {
    struct Watched {
        file: File,
        inotify: File,
    }
    fn watch(path: &std::path::Path) -> Watched {
        let file = File::create(path).expect("a file");
        let name = std::ffi::CString::new(path.to_str().expect("a path")).expect("a path");
        // SAFETY: the name ends with a zero byte.
        let inotify = unsafe {
            let fd = libc::inotify_init1(0);
            assert!(libc::inotify_add_watch(fd, name.as_ptr(), libc::IN_MODIFY) >= 0);
            owned(fd)
        };
        Watched { file, inotify: inotify.into() }
    }
    fn play(rounds: u64, begins: bool, mine: &mut Watched, other: &mut Watched) -> u64 {
        let (mut work, mut expired) = (Work(rounds + u64::from(begins)), 0);
        let mut send = || {
            work.run();
            other.file.write_all(b"x").expect("a write");
        };
        for _ in 0..rounds {
            if begins {
                send();
            }
            while !poll(mine.inotify.as_raw_fd()) {
                expired += 1;
            }
            // one event without a name
            mine.inotify.read_exact(&mut [0; 16]).expect("an event");
            if !begins {
                send();
            }
        }
        expired
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (mut one, mut two) = (watch(&folder.path().join("one")), watch(&folder.path().join("two")));
    let child = fork(|| play(rounds, true, &mut one, &mut two));
    play(rounds, false, &mut two, &mut one) + join(child)
}
