//! The misbehaving processes: what each does is one line of [`play`].
//!
//! Invariant: a player dies with its parent; one that must outlive it (a stray) dies when its lifeline ends.

// leaving children unreaped is what some of them are for
#![allow(clippy::zombie_processes)]

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::process::{Pid, Signal, getpid, set_parent_process_death_signal, setpgid, setsid};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
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
        // pipes its child's streams and does not read them
        ["ignore-output-of", rest @ ..] => {
            let mut child = again(rest).stdout(Stdio::piped()).spawn().expect("a child");
            let held = child.stdout.take();
            let _ = child.wait();
            drop(held);
        }
        // a shell that leaves something in the background
        ["leave", rest @ ..] => {
            again(rest).spawn().expect("a stray");
        }
        ["stray", "quiet", lifeline] => {
            let line = open(lifeline, OFlags::RDONLY);
            ready();
            read(line.as_fd());
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
        // both write a full pipe at each other
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
        ["open-fifo", path] => {
            ready();
            drop(open(path, OFlags::RDONLY));
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
        ["spin-on-eof"] => {
            let null = open("/dev/null", OFlags::RDONLY);
            ready();
            while rustix::io::read(&null, &mut [0; 16]).is_ok() {}
        }
        ["spin"] => {
            ready();
            let mut x = 1_u64;
            loop {
                x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        // a build: memory touched anew, processes that come and go
        ["build"] => {
            ready();
            loop {
                let object: Vec<u8> = (0..1 << 20).map(|n: u32| n.wrapping_mul(31) as u8).collect();
                std::hint::black_box(&object);
                let _ = again(&["nothing"]).status();
            }
        }
        ["connect", address, rest] => connected(TcpStream::connect(*address).expect("loopback"), rest),
        ["connect-to-deaf", address] => {
            ready();
            let _ = TcpStream::connect(*address);
        }
        ["listen"] => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
            epoll_of(&[listener.as_fd()], true);
        }
        ["opencode-server", question, permission, session] => serve(question, permission, session),
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

/// One byte to whoever waits for it.
fn ready() {
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
        _ => {
            stream.write_all(b"GET /\r\n").expect("sent");
            ready();
            let mut bytes = [0; 64];
            while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
        }
    }
}

/// As much of opencode's server as a reader of open asks needs. Whatever is no GET ends it.
fn serve(question: &str, permission: &str, session: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    ready();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let mut request = Vec::new();
        let mut part = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut part) {
                Ok(n) if n > 0 => request.extend_from_slice(&part[..n]),
                _ => break,
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        assert!(request.starts_with("GET "), "only GET requests: {request}");
        let path = request.split([' ', '?']).nth(1).unwrap_or_default();
        let body = match path {
            "/session/status" => r#"{"ses_1":{"type":"busy"}}"#,
            "/question" => question,
            "/permission" => permission,
            _ => session,
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
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
