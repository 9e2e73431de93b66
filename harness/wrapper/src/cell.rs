//! One run of a wrapper, in a process of its own: `rehang __wrapped` reads a job from stdin and writes the result to
//! stdout.
//!
//! Invariant: a process that the wrapper leaves becomes a child of this process, is named and is ended before this
//! process answers. It ends with the runner that started it, and takes the wrapper with it.

use rehang_os::alone::journal::monotonic_ms;
use rehang_processes::machine;
use rehang_processes::tree;
use rehang_scenario::Terminal;
use rehang_warp::Wait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The most that is kept of what a wrapper says, in bytes.
const SAID_BYTES: u64 = 64 * 1_024;
/// The exit code if the wrapper's command cannot be started.
pub const NO_COMMAND: u8 = 2;
/// How long a process that was just ended may take to be gone before it counts as left.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);
/// How long a process that is killed here may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The wrapper's command.
    pub command: Vec<String>,
    /// The folder in front of `PATH`.
    pub bin: PathBuf,
    /// Where its output goes.
    pub scratch: PathBuf,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// How long it may take, in milliseconds.
    pub deadline_ms: u64,
    /// Whether it runs in virtual time: then its tracer ends it at the deadline, and nobody outside is waited for.
    pub is_virtual: bool,
}

/// Why a run has no exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Still {
    /// Nothing in its tree can ever happen again: the tracer has proved it.
    Deadlock,
    /// It was there at the deadline, by the wall clock or in virtual time, and something in it may still happen.
    Deadline,
    /// No timer is left in its tree, but what it waits for is outside or not known well enough for a proof.
    Outside,
    /// It used up the real time that a cell has.
    OutOfTime,
}

/// What became of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ran {
    /// When it was started, in milliseconds of the monotonic clock.
    pub began_ms: u64,
    /// When it was over, or given up.
    pub ended_ms: u64,
    /// Its code, or -signal; `None` if it was still there at the end: see `still`.
    pub exit: Option<i32>,
    /// Why it has no exit code.
    #[serde(skip)]
    pub still: Option<Still>,
    /// What its threads waited for at the end, as far as a tracer saw it.
    #[serde(skip)]
    pub waits: Vec<Wait>,
    /// The processes that were left: pid and name.
    pub left: Vec<(i32, String)>,
    /// The file that was its stdin, as the kernel calls it.
    pub stdin: String,
    /// The end of what it said.
    pub said: String,
}

impl Ran {
    /// How long it was there, in milliseconds.
    pub fn took_ms(&self) -> u64 {
        self.ended_ms.saturating_sub(self.began_ms)
    }
}

/// Does a job from stdin; returns the exit code.
pub fn main() -> u8 {
    let mut text = String::new();
    let read = io::stdin().take(16 * 1_024 * 1_024).read_to_string(&mut text);
    let job = read.and_then(|_| serde_json::from_str(&text).map_err(io::Error::other));
    let ran = job.map_err(Failed::from).and_then(|job| run(&job));
    match ran.and_then(|ran| Ok(serde_json::to_string(&ran).map_err(io::Error::other)?)) {
        Ok(answer) => {
            println!("{answer}");
            0
        }
        Err(Failed::Command(why)) => {
            eprintln!("{why}");
            NO_COMMAND
        }
        Err(Failed::Machine(why)) => {
            eprintln!("{why}");
            70
        }
    }
}

/// Why there was no run.
enum Failed {
    /// The wrapper's command cannot be started.
    Command(String),
    /// The machine does not provide what this process needs.
    Machine(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Machine(machine::open(&error))
    }
}

fn run(job: &Job) -> Result<Ran, Failed> {
    tree::adopt()?;
    // a hang-up or Ctrl-C ends the runner, and with it this process, once what it has started is gone
    let _ = rustix::process::setsid();
    let runner = rustix::process::getppid().filter(|_| !job.is_virtual);
    let runner = runner.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let output = job.scratch.join("output");
    let mut command = Command::new(job.command.first().map_or("", String::as_str));
    command.args(job.command.get(1..).unwrap_or_default());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(job.bin.clone()).chain(std::env::split_paths(&path)));
    command.env("PATH", path.map_err(io::Error::other)?);
    // the other ends of its streams must live as long as the wrapper
    let mut held: Vec<Box<dyn Send>> = Vec::new();
    let mut on_terminal = false;
    let called = |fd: &dyn std::os::fd::AsRawFd| {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default();
        link.to_string_lossy().into_owned()
    };
    let stdin;
    match job.terminal {
        Terminal::Tty => {
            on_terminal = true;
            let opened = terminal().map_err(|error| format!("opening a terminal: {}", machine::terminal(&error)));
            let (master, slave) = opened.map_err(Failed::Machine)?;
            stdin = called(&slave);
            command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
            let (mut screen, mut log) = (master.try_clone()?, File::create(&output)?);
            let reads = std::thread::Builder::new().spawn(move || io::copy(&mut screen, &mut log));
            reads.map_err(|error| Failed::Machine(format!("a thread: {}", machine::start(&error))))?;
            held.push(Box::new(master));
        }
        other => {
            let log = File::create(&output)?;
            command.stdout(log.try_clone()?).stderr(log);
            match other {
                Terminal::Pipe => {
                    let (read, write) = io::pipe()?;
                    stdin = called(&read);
                    command.stdin(read);
                    held.push(Box::new(write));
                }
                Terminal::Closed => {
                    let read = io::pipe()?.0;
                    stdin = called(&read);
                    command.stdin(read);
                }
                _ => {
                    stdin = "/dev/null".to_owned();
                    command.stdin(Stdio::null());
                }
            }
        }
    }
    // SAFETY: system calls alone between fork and exec; none allocates.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if on_terminal {
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
    let began_ms = monotonic_ms();
    let child = command.spawn().map_err(|error| {
        let why = machine::program(&job.command[0], &error);
        match machine::remedy_of_start(&error) {
            Some(_) => Failed::Machine(why),
            None => Failed::Command(why),
        }
    })?;
    drop(command);
    let mut ran = Ran { began_ms, ended_ms: began_ms, stdin, ..Ran::default() };
    let pid = child.id().cast_signed();
    let limit = (!job.is_virtual).then(|| Duration::from_millis(job.deadline_ms));
    if job.is_virtual {
        // what is known of it if the tracer ends it; the last line counts
        println!("{}", serde_json::to_string(&ran).map_err(io::Error::other)?);
    }
    ran.exit = match wait(pid, limit, runner.as_ref())? {
        Waited::Ended(end) => Some(end),
        Waited::Late => None,
        Waited::Alone => {
            leave(false);
            let _ = std::fs::remove_dir_all(&job.scratch);
            return Err(Failed::Machine("the runner has ended".to_owned()));
        }
    };
    ran.ended_ms = monotonic_ms();
    ran.left = leave(ran.exit.is_some());
    drop(held);
    ran.said = tail(&output);
    Ok(ran)
}

fn terminal() -> io::Result<(File, File)> {
    use rustix::fs::OFlags;
    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY | rustix::pty::OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&master, size)?;
    let path = rustix::pty::ptsname(&master, Vec::new())?;
    let slave = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, 0o600.into())?;
    Ok((File::from(master), File::from(slave)))
}

/// What a wait for the wrapper came to.
enum Waited {
    /// Its code, or -signal.
    Ended(i32),
    /// It is still there at the deadline.
    Late,
    /// The runner that this process works for has ended.
    Alone,
}

/// Waits for the wrapper's end, and reaps processes that become children of this one meanwhile. Without a limit a tracer
/// sees that nothing can happen any more.
fn wait(pid: i32, limit: Option<Duration>, runner: Option<&OwnedFd>) -> io::Result<Waited> {
    let child = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no pid"))?;
    let fd = pidfd_open(child, PidfdFlags::empty())?;
    let began = Instant::now();
    loop {
        let rest = limit.map(|limit| limit.saturating_sub(began.elapsed()));
        let time =
            rest.map(|rest| Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: i64::from(rest.subsec_nanos()) });
        let mut polled = vec![PollFd::new(&fd, PollFlags::IN)];
        polled.extend(runner.map(|runner| PollFd::new(runner, PollFlags::IN)));
        match poll(&mut polled, time.as_ref()) {
            Ok(0) => return Ok(Waited::Late),
            Ok(_) => {
                if polled.get(1).is_some_and(|runner| !runner.revents().is_empty()) {
                    return Ok(Waited::Alone);
                }
                let mut ended = tree::reap().into_iter().filter(|(of, _)| *of == pid);
                if let Some((_, end)) = ended.next() {
                    return Ok(Waited::Ended(end));
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Names the processes that are left and ends them. If the wrapper is over, those that are about to end may do so
/// first.
fn leave(over: bool) -> Vec<(i32, String)> {
    if over {
        tree::await_ends(SETTLES_WITHIN, &|_| {});
    }
    let left = tree::below();
    tree::await_ends(GONE_WITHIN, &|those| tree::signal(those, Signal::KILL));
    left.into_iter().map(|process| (process.pid, process.name)).collect()
}

fn tail(path: &std::path::Path) -> String {
    use std::io::Seek;
    let Ok(mut file) = File::open(path) else { return String::new() };
    let length = file.metadata().map_or(0, |data| data.len());
    let _ = file.seek(io::SeekFrom::Start(length.saturating_sub(SAID_BYTES)));
    let mut bytes = Vec::new();
    let _ = file.take(SAID_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
