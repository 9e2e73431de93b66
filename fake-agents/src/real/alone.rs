//! A fake that runs alone, on the wall clock: for a person at a terminal, and for other people's tests.
//!
//! Invariant: the same program with the same calls; only the waiting is `poll(2)`.

use super::leave;
use super::os::{Programs, RealOs};
use crate::os::{Next, Wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd};

/// Plays to its end. Without a plan in the environment a fake answers as its arguments alone say.
pub fn play(programs: Programs, argv: &[String]) -> ! {
    let env = std::env::vars_os().map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()));
    let env: Vec<(String, String)> = env.collect();
    let plan = match env.iter().find(|(key, _)| key == crate::plan::PLAN_ENV) {
        None => None,
        Some((key, json)) => match serde_json::from_str(json) {
            Ok(plan) => Some(plan),
            Err(error) => refuse(argv, &format!("{key}: {error}")),
        },
    };
    let mut program = match programs(argv, plan.as_ref()) {
        Ok(program) => program,
        Err(why) => refuse(argv, &why),
    };
    let mut os = RealOs::new(programs, None, "alone".to_owned(), env);
    loop {
        os.begin(None);
        match program.resume(&mut os) {
            Next::Wait(next) => wait(&mut os, &next),
            Next::Exit(code) => leave(code),
        }
    }
}

fn refuse(argv: &[String], why: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}: {why}", super::name(argv));
    leave(2)
}

fn wait(os: &mut RealOs, wait: &Wait) {
    os.begin(None);
    let now = os.now;
    let caught = os.signals.fd();
    let mut polled: Vec<PollFd<'_>> = Vec::new();
    let of = |fds: &[crate::os::Fd]| fds.iter().filter_map(|fd| os.fds.get(&fd.0)).collect::<Vec<_>>();
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
        let ms = until.since(now).as_ms();
        Timespec { tv_sec: (ms / 1_000).cast_signed(), tv_nsec: (ms % 1_000 * 1_000_000).cast_signed() }
    });
    // an interrupted wait is a wake-up without cause, which is harmless
    let _ = poll(&mut polled, limit.as_ref());
}
