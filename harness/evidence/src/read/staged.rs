//! What the tests of the readers look at: children that block in a known call, and servers on loopback.
//!
//! Invariant: nothing here outlives its test but a server's thread, and nothing waits by the clock.

use crate::data::Pid;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// How often something is looked for before a test fails.
const TRIES: usize = 1_000_000;

/// A child of this process, which ends with the test.
pub struct Staged(Child);

impl Staged {
    pub fn start(command: &mut Command) -> Staged {
        // what this process was given by whoever started it would be shared by all of its children
        let close = || {
            let (first, last) = (3, libc::c_uint::MAX);
            // SAFETY: the call marks descriptors and touches no memory of ours
            unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
            Ok(())
        };
        // SAFETY: one plain system call, which a child may make before it begins another program
        let command = unsafe { command.pre_exec(close) };
        Staged(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child starts"))
    }

    /// A `cat` that reads from `stdin`, and is in that read by now.
    pub fn cat(stdin: impl Into<Stdio>) -> Staged {
        let cat = Staged::start(Command::new("cat").stdin(stdin));
        cat.is_in(libc::SYS_read);
        cat
    }

    /// A child in a session of its own, whose controlling terminal and standard input this one is.
    pub fn at_terminal(command: &mut Command, path: &str) -> Staged {
        let slave = std::fs::File::options().read(true).write(true).open(path).expect("the terminal opens");
        let take = || {
            rustix::process::setsid()?;
            Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
        };
        // SAFETY: both are plain system calls, which a child may make before it begins another program
        Staged::start(unsafe { command.stdin(slave).pre_exec(take) })
    }

    pub fn pid(&self) -> Pid {
        self.0.id() as Pid
    }

    /// Returns when the child is in this system call.
    pub fn is_in(&self, number: i64) {
        let path = format!("/proc/{}/syscall", self.pid());
        let begin = format!("{number} ");
        until(|| std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with(&begin)).then_some(()));
    }

    /// Ends the child without taking it in: it is a zombie from then on.
    pub fn end(&mut self) {
        self.0.kill().expect("it can be ended");
        let path = format!("/proc/{}/stat", self.pid());
        until(|| std::fs::read_to_string(&path).is_ok_and(|text| text.contains(") Z ")).then_some(()));
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `f` finds, sooner or later.
pub fn until<T>(mut f: impl FnMut() -> Option<T>) -> T {
    for _ in 0..TRIES {
        if let Some(found) = f() {
            return found;
        }
        std::thread::yield_now();
    }
    panic!("it does not come to that");
}

/// A new pseudo-terminal: its master, and the path of its slave.
pub fn terminal() -> (OwnedFd, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let flags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);
    let master = openpt(flags).expect("a pseudo-terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
    let path = ptsname(&master, Vec::new()).expect("it has a path");
    (master, path.into_string().expect("a path in ASCII"))
}

/// A server that gives each request what `answer` says for its target, as bytes, and closes the connection.
pub struct Served {
    pub at: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Served {
    pub fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("its address");
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let target = head.split(' ').nth(1).unwrap_or_default();
                heard.lock().expect("no test panicked here").push(head.clone());
                let _ = stream.write_all(&answer(target));
            }
        });
        Served { at, asked }
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panicked here").clone()
    }
}
