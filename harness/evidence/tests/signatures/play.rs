//! The misbehaving processes: what each does is one line of [`play`].
//!
//! Invariant: a player dies with its parent; one that must outlive it (a stray) dies when its lifeline ends.

// leaving children unreaped is what some of them are for
#![allow(clippy::zombie_processes)]

use crate::agents;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::process::{Pid, Signal, getpid, set_parent_process_death_signal, setpgid, setsid};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The argument that makes this binary a player.
pub const MARK: &str = "__play";
/// Longer than any case lives.
const LONG: Duration = Duration::from_secs(900);

/// Plays a part.
pub fn play(words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.first() != Some(&"stray") {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
    match words.as_slice() {
        ["read-stdin"] => {
            ready();
            read(rustix::stdio::stdin());
        }
        ["read-stdin-in-thread"] => {
            let thread = std::thread::spawn(|| read(rustix::stdio::stdin()));
            ready();
            let _ = thread.join();
        }
        ["epoll-stdin"] => epoll_of(&[rustix::stdio::stdin()], true),
        ["poll-stdin"] => {
            ready();
            let stdin = rustix::stdio::stdin();
            let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None);
        }
        // an event loop that listens to its standard input while its child runs
        ["loop-with-child", rest @ ..] => {
            let mut child = again(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
            let (input, output) = (child.stdin.take(), child.stdout.take().expect("piped"));
            epoll_of(&[output.as_fd()], false);
            drop(input);
        }
        // the same, which listens to a port too
        ["loop-with-child-and-port", rest @ ..] => {
            let mut child = again(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
            let (input, output) = (child.stdin.take(), child.stdout.take().expect("piped"));
            let port = TcpListener::bind("127.0.0.1:0").expect("loopback");
            epoll_of(&[output.as_fd(), port.as_fd()], false);
            drop(input);
        }
        ["wait-for", rest @ ..] => {
            let mut child = again(rest).spawn().expect("a child");
            let _ = child.wait();
        }
        // as subprocess.run does: reads standard output to its end, and then waits
        ["read-output-of", which, rest @ ..] => {
            let mut command = again(rest);
            let mut child = match *which {
                "both" => command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn(),
                "stdin" => command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(),
                _ => command.stdout(Stdio::piped()).spawn(),
            }
            .expect("a child");
            let mut text = Vec::new();
            let _ = child.stdout.take().expect("piped").read_to_end(&mut text);
            let _ = child.wait();
        }
        // reads what its child, and what that leaves behind, write to a terminal
        ["read-terminal-of", rest @ ..] => {
            let (master, path) = terminal();
            let slave = open(&path, OFlags::RDWR | OFlags::NOCTTY);
            let mut child = again(rest).stdout(slave).spawn().expect("a child");
            let _ = child.wait();
            read(master.as_fd());
        }
        // pipes its child's streams and does not read them
        ["ignore-output-of", rest @ ..] => {
            let mut child = again(rest).stdout(Stdio::piped()).spawn().expect("a child");
            let held = child.stdout.take();
            let _ = child.wait();
            drop(held);
        }
        // reads a little, and sleeps before it reads on
        ["read-slowly", rest @ ..] => {
            let mut child = again(rest).stdout(Stdio::piped()).spawn().expect("a child");
            let mut output = child.stdout.take().expect("piped");
            let _ = output.read(&mut [0; 16]);
            std::thread::sleep(LONG);
            let _ = child.wait();
        }
        // a shell that leaves something in the background
        ["leave", rest @ ..] => {
            again(rest).spawn().expect("a stray");
        }
        ["leave-agent", name, rest @ ..] => {
            again(rest).arg0(name).spawn().expect("a stray");
        }
        ["stray", "quiet", lifeline] => {
            let line = open(lifeline, OFlags::RDONLY);
            ready();
            read(line.as_fd());
        }
        // in a session of its own, as `setsid` leaves it
        ["stray", "away", lifeline] => {
            setsid().expect("a session");
            play(&["stray", "quiet", lifeline].map(str::to_owned));
        }
        // an agent that was left behind, and whose log ends with this line
        ["stray", "logged", line, lifeline] => {
            setsid().expect("a session");
            agents::logged(line, &["stray", "quiet", lifeline]);
        }
        // a tool server that has the lock on its index, or waits for it, until its lifeline ends
        ["stray", "take-lock", path, lifeline] => {
            let (line, file) = (open(lifeline, OFlags::RDONLY), open(path, OFlags::RDWR));
            let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            ready();
            if !is_free {
                let _ = flock(&file, FlockOperation::LockExclusive);
            }
            read(line.as_fd());
        }
        // names itself, and computes until its lifeline ends
        ["stray", "spin", lifeline] => {
            let line = open(lifeline, OFlags::RDONLY);
            let pid = std::process::id().to_string();
            std::thread::spawn(move || {
                read(line.as_fd());
                std::process::exit(0);
            });
            std::fs::write("stray", pid).expect("a file");
            spin();
        }
        ["stray", "noisy", lifeline] => {
            let line = open(lifeline, OFlags::RDONLY | OFlags::NONBLOCK);
            ready();
            loop {
                let _ = std::io::stdout().write_all(b"x\n").and_then(|()| std::io::stdout().flush());
                // 5 ms a line; an end of the lifeline ends it
                let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
                let mut fds = [PollFd::new(&line, PollFlags::IN)];
                if poll(&mut fds, Some(&limit)).is_ok_and(|n| n > 0) {
                    return;
                }
            }
        }
        ["fill-stderr"] => {
            ready();
            let _ = std::io::stderr().write_all(&[b'x'; 1 << 20]);
        }
        ["fill-stdout"] => {
            ready();
            let _ = rustix::io::write(rustix::stdio::stdout(), &[b'x'; 1 << 20]);
            let _ = rustix::io::write(rustix::stdio::stdout(), b"x");
        }
        ["serve-and-fill-stdout"] => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            ready();
            let _ = std::io::stdout().write_all(&[b'x'; 1 << 20]);
            drop(listener);
        }
        // both fill a pipe to each other
        ["mutual-pipe"] => {
            let mut child =
                again(&["fill-stdout"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
            let _ = child.stdin.take().expect("piped").write_all(&[b'x'; 1 << 20]);
        }
        ["mutual-wait"] => {
            let mut child =
                again(&["read-high"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
            let (input, mut output) = (child.stdin.take(), child.stdout.take().expect("piped"));
            let _ = output.read(&mut [0]);
            drop(input);
        }
        // reads what is its standard input by another descriptor, as a protocol on descriptor 3 would be
        ["read-high"] => {
            let moved = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 30).expect("a copy");
            let null = open("/dev/null", OFlags::RDONLY);
            rustix::stdio::dup2_stdin(&null).expect("null");
            ready();
            read(moved.as_fd());
        }
        ["editor-on-stderr"] => {
            rustix::stdio::dup2_stdin(rustix::stdio::stderr()).expect("a copy");
            ready();
            let stdin = rustix::stdio::stdin();
            let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None);
        }
        // on a terminal of its own; the test holds the master
        ["tty", slave, rest @ ..] => on_tty(slave, rest),
        ["background", rest @ ..] => {
            let mut child = again(rest).process_group(0).spawn().expect("a child");
            let _ = child.wait();
        }
        ["named", name, rest @ ..] => {
            let name = std::ffi::CString::new(*name).expect("no zero byte");
            rustix::thread::set_name(&name).expect("a name");
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        ["read-dev-tty"] => {
            let tty = open("/dev/tty", OFlags::RDWR);
            ready();
            read(tty.as_fd());
        }
        // as git and ssh ask: the prompt is made on the heap, shown at the terminal, and an answer is read
        ["ask", prompt] => {
            let tty = open("/dev/tty", OFlags::RDWR);
            let prompt = (*prompt).to_owned();
            let _ = rustix::io::write(&tty, prompt.as_bytes());
            ready();
            read(tty.as_fd());
            drop(std::hint::black_box(prompt));
        }
        // as `cat <>fifo`
        ["read-own-fifo", path] => {
            rustix::stdio::dup2_stdin(open(path, OFlags::RDWR)).expect("a copy");
            ready();
            read(rustix::stdio::stdin());
        }
        // starts a look at itself and waits for it, as a shell does that runs `rehang why $$`
        ["look-at-whoever-starts-it"] => {
            let parent = rustix::process::getppid().expect("it waits");
            let path = format!("/proc/{}/syscall", parent.as_raw_nonzero());
            // the number of the call that it sleeps in; it runs: none
            let call = || -> Option<u64> { std::fs::read_to_string(&path).ok()?.split(' ').next()?.parse().ok() };
            while !call().is_some_and(|call| [libc::SYS_wait4 as u64, libc::SYS_waitid as u64].contains(&call)) {
                std::thread::yield_now();
            }
            let (options, limits) = (
                rehang_evidence::Options { ask: true, records: true, ..Default::default() },
                rehang_evidence::Limits::default(),
            );
            let pid = parent.as_raw_nonzero().get();
            let look = rehang_evidence::look(&[pid], &options, &limits, Duration::from_millis(10)).expect("it lives");
            println!("{}", serde_json::to_string(&look.diagnosis).expect("JSON"));
        }
        ["change-tty"] => {
            let stdin = rustix::stdio::stdin();
            let mode = rustix::termios::tcgetattr(stdin).expect("a terminal");
            ready();
            let _ = rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Drain, &mode);
        }
        ["stop"] => {
            ready();
            let _ = rustix::process::kill_process(getpid(), Signal::STOP);
        }
        // in the middle of its call, which the kernel then restarts as another
        ["stop-and-continue", rest @ ..] => {
            let mut child = again(rest).env_remove("READY").spawn().expect("a child");
            let path = format!("/proc/{}/syscall", child.id());
            // the number of the call that it sleeps in; it runs: none
            let call = || -> Option<u64> { std::fs::read_to_string(&path).ok()?.split(' ').next()?.parse().ok() };
            let sleeps = |call: &Option<u64>| *call == Some(libc::SYS_clock_nanosleep as u64);
            while !sleeps(&call()) {
                std::thread::yield_now();
            }
            let pid = Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, Signal::STOP);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::UNTRACED);
            let _ = rustix::process::kill_process(pid, Signal::CONT);
            while call() != Some(libc::SYS_restart_syscall as u64) {
                std::thread::yield_now();
            }
            ready();
            let _ = child.wait();
        }
        ["open-fifo", path] => {
            ready();
            drop(open(path, OFlags::RDONLY));
        }
        ["open-fifo-to-write", path] => {
            ready();
            drop(open(path, OFlags::WRONLY));
        }
        // asks where the cursor is, and reads the answer as a key
        ["ask-terminal"] => {
            let stdin = rustix::stdio::stdin();
            let mut mode = rustix::termios::tcgetattr(stdin).expect("a terminal");
            mode.make_raw();
            rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &mode).expect("raw");
            let _ = rustix::io::write(rustix::stdio::stdout(), b"\x1b[6n");
            ready();
            let _ = rustix::io::read(stdin, &mut [0; 1]);
        }
        // ignores TERM, and what it starts does too
        ["deaf-to-term", rest @ ..] => {
            // SAFETY: ignoring a signal runs no code of ours
            unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        // only root may look into it
        ["undumpable", rest @ ..] => {
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).expect("allowed");
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        // says as JSON what it can tell of a process
        ["look-at", pid] => {
            let (options, limits) = (
                rehang_evidence::Options { ask: true, records: true, ..Default::default() },
                rehang_evidence::Limits::default(),
            );
            let pid = pid.parse().expect("a number");
            rehang_evidence::watch(&[pid], &options, &limits, Duration::from_millis(10), |look| {
                if !crate::stage::stands_still(look) {
                    return ControlFlow::Continue(());
                }
                println!("{}", serde_json::to_string(&look.diagnosis).expect("JSON"));
                ControlFlow::Break(())
            })
            .expect("it lives");
        }
        ["flock", path] => {
            let file = open(path, OFlags::RDWR);
            ready();
            let _ = flock(&file, FlockOperation::LockExclusive);
            std::thread::sleep(LONG);
        }
        ["lock", path] => {
            let file = open(path, OFlags::RDWR);
            ready();
            let _ = rustix::fs::fcntl_lock(&file, FlockOperation::LockExclusive);
            std::thread::sleep(LONG);
        }
        ["hold-lock", kind, path, rest @ ..] => {
            let file = open(path, OFlags::RDWR);
            let _ = match *kind {
                "flock" => flock(&file, FlockOperation::LockExclusive),
                _ => rustix::fs::fcntl_lock(&file, FlockOperation::LockExclusive),
            };
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        // SQLite's busy handler: tries, naps, tries again
        ["busy-database", path] => {
            let file = open(path, OFlags::RDWR);
            ready();
            while rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        ["ignore-child"] => {
            let mut child = again(&["nothing"]).spawn().expect("a child");
            // its end is awaited and left unreaped
            let pid = Pid::from_child(&child);
            let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
            let _ = rustix::process::waitid(rustix::process::WaitId::Pid(pid), options);
            epoll_of(&[], true);
            let _ = child.wait();
        }
        ["nothing"] => {}
        // Rust's runtime ignores SIGPIPE, as Node's does
        ["spin-on-broken-pipe"] => {
            let (_, broken) = std::io::pipe().expect("a pipe");
            ready();
            while rustix::io::write(&broken, b"x").is_err() {}
        }
        ["spin-on-eof"] => {
            let null = open("/dev/null", OFlags::RDONLY);
            ready();
            while rustix::io::read(&null, &mut [0; 16]).is_ok() {}
        }
        ["spin"] => spin(),
        // a build: memory touched anew, processes that come and go
        ["build"] => {
            ready();
            loop {
                let object: Vec<u8> = (0..1 << 20).map(|n: u32| n.wrapping_mul(31) as u8).collect();
                std::hint::black_box(&object);
                let _ = again(&["nothing"]).status();
            }
        }
        // a client that keeps its first connection when it asks on a second one
        ["connect-twice", address] => {
            let connect = || TcpStream::connect(*address).expect("loopback");
            let (mut first, mut second) = (connect(), connect());
            first.write_all(b"GET /\r\n").expect("sent");
            first.read_exact(&mut [0; 1]).expect("an answer");
            second.write_all(b"GET /\r\n").expect("sent");
            ready();
            let asked = second.try_clone().expect("a copy");
            let on = [PollFd::new(&first, PollFlags::IN), PollFd::new(&asked, PollFlags::IN)];
            while poll(&mut on.clone(), None).is_ok() && second.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
        }
        ["connect", address, rest] => connected(TcpStream::connect(*address).expect("loopback"), rest),
        ["connect-to-deaf", address] => {
            ready();
            let _ = TcpStream::connect(*address);
        }
        // and takes keys, or lines, if its standard input can be watched
        ["listen"] => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            let stdin = rustix::stdio::stdin();
            let watched = rustix::fs::fstat(stdin).is_ok_and(|stat| {
                let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
                kind == rustix::fs::FileType::Fifo || rustix::termios::isatty(stdin)
            });
            let both = [listener.as_fd(), stdin];
            epoll_of(&both[..if watched { 2 } else { 1 }], true);
        }
        // with a connection that it keeps, and perhaps a request that it has not answered
        ["listen-and-keep", address, owes @ ..] => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            let client = (!owes.is_empty()).then(|| {
                let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("loopback");
                client.write_all(b"GET /\r\n").expect("sent");
                let (mut asked, _) = listener.accept().expect("it connects");
                let _ = asked.read(&mut [0; 16]);
                (client, asked)
            });
            let mut kept = TcpStream::connect(*address).expect("loopback");
            kept.write_all(b"SELECT 1").expect("sent");
            let _ = kept.read(&mut [0; 16]);
            epoll_of(&[listener.as_fd(), kept.as_fd()], true);
            drop(client);
        }
        ["datagram"] => {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback");
            ready();
            let _ = socket.recv(&mut [0; 16]);
        }
        ["datagram-of", address] => {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback");
            socket.connect(*address).expect("a name");
            ready();
            let _ = socket.recv(&mut [0; 16]);
        }
        ["watch-files"] => {
            use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
            let changes = init(CreateFlags::CLOEXEC).expect("an inotify");
            add_watch(&changes, "/proc/self/fdinfo", WatchFlags::CREATE).expect("watched");
            epoll_of(&[changes.as_fd()], true);
        }
        // a child that is there, or that has ended and is left unreaped, beside what it does itself
        ["beside", what, rest @ ..] => {
            again(&[what]).env_remove("READY").spawn().expect("a child");
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        ["beside-a-zombie", rest @ ..] => {
            let child = again(&["nothing"]).spawn().expect("a child");
            let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
            let _ = rustix::process::waitid(rustix::process::WaitId::Pid(Pid::from_child(&child)), options);
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        // as a semaphore between processes does
        ["wait-on-shared"] => {
            let word = 0_u32;
            ready();
            // SAFETY: FUTEX_WAIT (0) without FUTEX_PRIVATE_FLAG reads one word of ours, and has no time limit
            unsafe { libc::syscall(libc::SYS_futex, &raw const word, 0, 0, std::ptr::null::<libc::timespec>()) };
        }
        ["read-own-pipe"] => {
            let (mut ours, theirs) = std::io::pipe().expect("a pipe");
            ready();
            let _ = ours.read(&mut [0; 16]);
            drop(theirs);
        }
        ["handle-term", rest @ ..] => {
            extern "C" fn nothing(_: libc::c_int) {}
            // SAFETY: the handler does nothing
            unsafe { libc::signal(libc::SIGTERM, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t) };
            play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        }
        ["pause"] => {
            ready();
            // SAFETY: it waits, and touches no memory
            unsafe { libc::pause() };
        }
        ["poll-stdin-for-a-while"] => {
            ready();
            let stdin = rustix::stdio::stdin();
            let limit = rustix::event::Timespec { tv_sec: 900, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&limit));
        }
        ["opencode-server", status, question, permission, session, message] => {
            agents::serve(status, question, permission, session, message);
        }
        ["recorded", what, rest @ ..] => agents::recorded(what, rest),
        ["logged", line, rest @ ..] => agents::logged(line, rest),
        ["idle"] => epoll_of(&[], true),
        ["timer"] => {
            let instance = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll instance");
            ready();
            let limit = rustix::event::Timespec { tv_sec: 600, tv_nsec: 0 };
            let mut events: Vec<epoll::Event> = Vec::with_capacity(1);
            let _ = epoll::wait(&instance, rustix::buffer::spare_capacity(&mut events), Some(&limit));
        }
        ["fill-tty"] => {
            ready();
            while rustix::io::write(rustix::stdio::stdout(), &[b'x'; 4096]).is_ok() {}
        }
        ["sleep"] => {
            ready();
            std::thread::sleep(LONG);
        }
        ["sleep-for-ever"] => {
            ready();
            std::thread::sleep(Duration::from_secs(u64::MAX / 4));
        }
        ["poll-a-file"] => {
            ready();
            while std::fs::metadata("/nowhere/to/be/found").is_err() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        ["deadlock"] => deadlock(),
        other => panic!("nobody plays {other:?}"),
    }
}

fn spin() -> ! {
    ready();
    let mut x = 1_u64;
    loop {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// Sends one byte to the test that waits for it.
pub fn ready() {
    let Some(path) = std::env::var_os("READY") else { return };
    let mut fifo = std::fs::File::options().write(true).open(path).expect("the stage waits");
    fifo.write_all(b"!").expect("the stage reads");
}

fn again(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    let (first, words) = match words {
        ["args", first, rest @ ..] => (Some(*first), rest),
        words => (None, words),
    };
    command.args(first).arg(MARK).args(words);
    command
}

fn open(path: &str, flags: OFlags) -> OwnedFd {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).expect("it is there")
}

/// A new terminal: its master, and the path of its slave.
pub fn terminal() -> (OwnedFd, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
    let path = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
    (master, path)
}

fn read(fd: BorrowedFd<'_>) {
    let mut bytes = [0; 4096];
    while rustix::io::read(fd, &mut bytes).is_ok_and(|n| n > 0) {}
}

/// An event loop over these descriptors and an eventfd of its own.
fn epoll_of(fds: &[BorrowedFd<'_>], says: bool) {
    let instance = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll instance");
    let own = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).expect("an eventfd");
    for fd in fds.iter().copied().chain([own.as_fd()]) {
        epoll::add(&instance, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN).expect("watched");
    }
    if says {
        ready();
    }
    let mut events: Vec<epoll::Event> = Vec::with_capacity(4);
    let _ = epoll::wait(&instance, rustix::buffer::spare_capacity(&mut events), None);
}

/// Leads a session whose terminal is `slave`, with its standard streams on it.
fn on_tty(slave: &str, rest: &[&str]) {
    setsid().expect("a session");
    let tty = open(slave, OFlags::RDWR);
    rustix::process::ioctl_tiocsctty(&tty).expect("a terminal");
    rustix::stdio::dup2_stdin(&tty).expect("a copy");
    rustix::stdio::dup2_stdout(&tty).expect("a copy");
    drop(tty);
    play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
}

fn connected(mut stream: TcpStream, how: &str) {
    match how {
        // a request, the first bytes of an answer, and then what the other side makes of it
        "ask-by-loop" => {
            stream.write_all(b"POST /v1/messages\r\n").expect("sent");
            let _ = stream.read(&mut [0; 16]);
            epoll_of(&[stream.as_fd()], true);
        }
        // an answer, a pause in which the connection is kept, and a request that nobody answers
        "ask-on-a-kept-one" => {
            stream.write_all(b"GET /\r\n").expect("sent");
            let _ = stream.read(&mut [0; 16]);
            std::thread::sleep(Duration::from_millis(300));
            stream.write_all(b"GET /\r\n").expect("sent");
            ready();
            let _ = stream.read(&mut [0; 16]);
        }
        // a client of opencode's server, which waits for its events
        "listen" => {
            stream.write_all(b"GET /event HTTP/1.1\r\n\r\n").expect("sent");
            let (mut heard, mut part) = (Vec::new(), [0; 256]);
            // an event that is left unread would wake the loop
            while !heard.ends_with(b"}\n\n") {
                let n = stream.read(&mut part).expect("the server answers");
                heard.extend_from_slice(&part[..n]);
            }
            epoll_of(&[stream.as_fd()], true);
        }
        // a request, and no byte of an answer
        "ask-and-loop" => {
            stream.write_all(b"POST /v1/messages\r\n").expect("sent");
            epoll_of(&[stream.as_fd()], true);
        }
        _ => {
            stream.write_all(b"GET /\r\n").expect("sent");
            ready();
            let mut bytes = [0; 64];
            while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
        }
    }
}

/// Two threads, two locks, taken in opposite order.
fn deadlock() {
    use std::sync::{Arc, Barrier, Mutex};
    let (a, b, both) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())), Arc::new(Barrier::new(2)));
    let (a2, b2, both2) = (Arc::clone(&a), Arc::clone(&b), Arc::clone(&both));
    let other = std::thread::spawn(move || {
        let _b = b2.lock();
        both2.wait();
        let _a = a2.lock();
    });
    let _a = a.lock();
    both.wait();
    ready();
    let _b = b.lock();
    let _ = other.join();
    let _ = setpgid(None, None);
}
