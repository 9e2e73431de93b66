//! A fake that runs alone, on the wall clock: for a person at a terminal, and for other people's tests.
//!
//! Invariant: the same program with the same calls; only the waiting is the kernel's, in the kind of call in which the
//! real program would wait (`tables/call.rs` says the same of the stages): an agent in an event loop, any other program
//! in a plain poll, or without anything to poll in a wait for signals.

pub mod journal;

use self::journal::{JOURNAL_ENV, Journal, PLACE_ENV, Said};
use crate::linux::os::RealOs;
use crate::linux::process::{environment, leave};
use crate::linux::signals::Signals;
use crate::linux::{descriptor, signals};
use crate::lockstep::protocol::Key;
use crate::os::{FdKind, Next, Os, Programs, STDIN, STDOUT, Wait, program_name};
use rehang_scenario::AgentKind;
use rehang_scenario::plan::{PLAN_ENV, Plan};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Tells a fake's children how many times as fast as the wall clock its own clock runs.
pub(crate) const SPEED_ENV: &str = "REHANG_SPEED";

/// What a lone fake plays.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The command line that is played for the one that was given.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// What it is told to play.
    pub plan: Plan,
    /// Where it records what happens.
    pub journal: Option<PathBuf>,
    /// How many times as fast as the wall clock its own clock runs.
    pub speed: u32,
}

/// What the folder from which this process was started says of a command line and an environment; `None` if it says
/// nothing.
///
/// # Errors
/// A file that is there and cannot be read.
pub type Folder = fn(&[String], &[(String, String)]) -> io::Result<Option<Setup>>;

/// Plays to its end: what the folder says that it was started from, else the plan in the environment. Without either
/// a fake answers as its arguments alone say.
pub fn play(programs: Programs, folder: Folder, argv: &[String]) -> ! {
    let mut env = environment();
    let of = |env: &[(String, String)], key: &str| env.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone());
    let folder = folder(argv, &env).unwrap_or_else(|error| refuse(argv, &error.to_string()));
    let mut played = argv.to_vec();
    let (mut speed, mut place) = (of(&env, SPEED_ENV), of(&env, PLACE_ENV));
    let mut written = of(&env, JOURNAL_ENV);
    let plan = match folder {
        Some(setup) => {
            (played, env) = (setup.argv, setup.env);
            (speed, place) = (Some(setup.speed.to_string()), None);
            written = setup.journal.map(|path| path.to_string_lossy().into_owned());
            env.retain(|(key, _)| ![SPEED_ENV, JOURNAL_ENV].contains(&key.as_str()));
            env.extend(speed.clone().filter(|speed| speed != "1").map(|speed| (SPEED_ENV.to_owned(), speed)));
            env.extend(written.clone().map(|path| (JOURNAL_ENV.to_owned(), path)));
            Some(setup.plan)
        }
        None => match of(&env, PLAN_ENV) {
            None => None,
            Some(json) => match serde_json::from_str(&json) {
                Ok(plan) => Some(plan),
                Err(error) => refuse(argv, &format!("{PLAN_ENV}: {error}")),
            },
        },
    };
    env.retain(|(key, _)| key != PLACE_ENV);
    let place = place.unwrap_or_else(|| std::process::id().to_string());
    let journal = written.and_then(|path| Journal::open(path.as_ref(), place).ok());
    let mut program = match programs(&played, plan.as_ref()) {
        Ok(program) => program,
        Err(why) => refuse(argv, &why.to_string()),
    };
    let speed = speed.and_then(|speed| speed.parse().ok()).unwrap_or(1).max(1);
    let mut os = RealOs::new(programs, None, "alone".to_owned(), env, Signals::inherited());
    if let Some(journal) = &journal {
        let (stdin, stdout) = (word(os.kind(STDIN)).to_owned(), word(os.kind(STDOUT)).to_owned());
        let file = std::fs::read_link("/proc/self/fd/0").unwrap_or_default().to_string_lossy().into_owned();
        journal.write(Said::Began { pid: std::process::id(), argv: argv.to_vec(), stdin, file, stdout });
    }
    let stdin = os.kind(STDIN);
    os.runs_alone(speed, journal);
    let is_agent = AgentKind::of_program(program_name(&played)).is_some_and(|kind| kind.has_model);
    let wakes = is_agent.then(|| eventfd(0, EventfdFlags::CLOEXEC).ok()).flatten().map(descriptor::lifted);
    loop {
        os.begin(None, Vec::new(), Vec::new(), true);
        match program.resume(&mut os) {
            Next::Wait(next) => wait(&mut os, &next, speed, wakes.as_ref()),
            Next::Exit(code) => {
                if let Some(journal) = &os.journal {
                    if is_open(stdin) {
                        journal.write(Said::StdinOpen);
                    }
                    journal.write(Said::Ended(code));
                }
                leave(code)
            }
        }
    }
}

/// Whether the stdin of this process, of that kind, has another end that is open.
fn is_open(kind: FdKind) -> bool {
    let stdin = rustix::stdio::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN | PollFlags::RDHUP)];
    let over = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR | PollFlags::NVAL;
    matches!(kind, FdKind::Pipe | FdKind::Socket)
        && poll(&mut polled, Some(&Timespec::default())).is_ok()
        && !polled[0].revents().intersects(over)
}

fn word(kind: FdKind) -> &'static str {
    match kind {
        FdKind::Tty => "tty",
        FdKind::Null => "null",
        FdKind::Pipe => "pipe",
        FdKind::Socket => "socket",
        FdKind::Closed => "closed",
    }
}

fn refuse(argv: &[String], why: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}: {why}", program_name(argv));
    leave(2)
}

/// Waits. An event loop has a descriptor of its own beside the others (`wakes`), on which its threads would wake it.
fn wait(os: &mut RealOs, wait: &Wait, speed: u32, wakes: Option<&OwnedFd>) {
    os.begin(None, Vec::new(), Vec::new(), true);
    let now = os.now;
    let caught = os.signals.fd();
    if let Some(opening) = wait.read.iter().filter_map(|fd| os.fds.get(&fd.0)).find(|d| matches!(d.key, Key::Fifo(_))) {
        return descriptor::wait_to_open(opening.fd());
    }
    let is_locked = |d: &&descriptor::Descriptor| matches!(d.key, Key::Locked(..) | Key::Lock);
    if let Some(file) = wait.read.iter().filter_map(|fd| os.fds.get(&fd.0)).find(is_locked)
        && wait.until.is_none()
    {
        return descriptor::wait_to_lock(file.fd());
    }
    let mut polled: Vec<PollFd<'_>> = Vec::new();
    // a file is always ready for `poll`, its lock is not
    let of = |fds: &[crate::os::Fd]| {
        fds.iter().filter_map(|fd| os.fds.get(&fd.0)).filter(|d| !is_locked(d)).collect::<Vec<_>>()
    };
    polled.extend(of(&wait.read).into_iter().map(|d| PollFd::from_borrowed_fd(d.fd(), PollFlags::IN)));
    polled.extend(of(&wait.write).into_iter().map(|d| PollFd::from_borrowed_fd(d.fd(), PollFlags::OUT)));
    if wait.child {
        let ends = os.kids.iter().filter_map(|kid| kid.pidfd.as_ref());
        polled.extend(ends.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
    }
    if let Some(fd) = caught {
        // SAFETY: the descriptor lives in `os.signals`, which nobody changes during the wait.
        polled.push(PollFd::from_borrowed_fd(unsafe { BorrowedFd::borrow_raw(fd) }, PollFlags::IN));
    }
    let limit = wait.until.map(|until| {
        // never early: a fake that wakes before its time would only wait again
        let ms = until.since(now).as_ms().div_ceil(u64::from(speed));
        Timespec { tv_sec: (ms / 1_000).cast_signed(), tv_nsec: (ms % 1_000 * 1_000_000).cast_signed() }
    });
    polled.extend(wakes.map(|fd| PollFd::new(fd, PollFlags::IN)));
    // an interrupted wait is a wake-up without cause, which is harmless
    if polled.is_empty() && limit.is_none() {
        return signals::wait_for_any();
    }
    let _ = poll(&mut polled, limit.as_ref());
}
