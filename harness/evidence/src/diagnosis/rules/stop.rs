//! Stopped, traced, ended and not reaped.
//!
//! Invariant: a stopped process is explained by its stop alone, whatever call it was in.

use super::{On, Wait, end_it, run};
use crate::data::{Does, Object, Process, Signals, State, Thread};
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways;
use crate::diagnosis::{Sure, Verdict};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};

/// ioctl requests that a background process may not make (asm-generic/ioctls.h): TCSETS, TCSETSW, TCSETSF, TCSETA and
/// its two, TCSBRK, TCXONC, TCFLSH, TIOCSPGRP, and TCSETS2 to TCSETSF2.
const CHANGES_TERMINAL: [u64; 12] =
    [0x5402, 0x5403, 0x5404, 0x5406, 0x5407, 0x5408, 0x5409, 0x540a, 0x540b, 0x5410, 0x402c_542b, 0x402c_542c];

/// How long a process may be stopped, traced or frozen before it counts as hung, in milliseconds: whoever did it is assumed
/// to be gone by then (guard's limit for a stopped agent).
const HELD_MS: u64 = 15 * 60_000;

/// What a process is that does not run at all.
pub fn rule(view: &View<'_>, process: &Process) -> Option<Finding> {
    let pid = process.pid;
    match process.state {
        State::Zombie => {
            let parent = view.name(process.ppid);
            let text = format!("{} has ended, and its parent {parent} has not asked how", view.name(pid));
            let finding = Finding::hung(pid, Signature::Unreaped, Mechanism::C4, text)
                .ends(format!("{parent} calls wait, or ends"));
            let finding = finding.because("its state is Z: nothing of it is left but the exit status").certain();
            // whoever takes in orphans does so in time, and a parent that sleeps may ask when it wakes up
            let asks_later = match view.process(process.ppid) {
                Some(parent) if parent.pid > 1 => ways::own(view, parent).iter().any(ways::Way::is_soon),
                _ => true,
            };
            Some(if asks_later { Finding { verdict: Verdict::Ended, ..finding } } else { finding })
        }
        State::Traced => {
            let by = if process.tracer > 0 { view.name(process.tracer).to_string() } else { "a debugger".to_owned() };
            let text = format!("{} is held by {by}, which traces it", view.name(pid));
            let finding =
                Finding::hung(pid, Signature::Traced, None, text).ends(format!("{by} lets it go on, or ends"));
            Some(held(view, process, finding.because("its state is t")))
        }
        State::Stopped => Some(stopped(view, process)),
        _ => frozen(view, process),
    }
}

/// What somebody holds may be let go by the same hand: it counts as hung once it has lasted for long.
fn held(view: &View<'_>, process: &Process, finding: Finding) -> Finding {
    // it cannot have been held for longer than it has lived
    let lasted = process.held_ms.unwrap_or(0).min(view.age_ms(process));
    let finding = Finding { rank: rank::CERTAIN, lasted_ms: process.held_ms.map(|_| lasted), ..finding };
    finding.after(lasted, HELD_MS)
}

/// A process whose cgroup is frozen: `docker pause`, a sandbox that was suspended. The kernel's function tells, in version 1
/// (`__refrigerator`) and in version 2 (`do_freezer_trap`).
fn frozen(view: &View<'_>, process: &Process) -> Option<Finding> {
    // a thread that sleeps where signals are taken and is not stopped is frozen
    let is_frozen = |thread: &Thread| {
        matches!(thread.wchan.as_str(), "__refrigerator" | "do_freezer_trap")
            || (thread.wchan == "get_signal" && thread.state == State::Sleeping)
    };
    let wchan = process.threads.iter().find(|thread| is_frozen(thread)).map(|thread| &thread.wchan)?;
    let text = format!(
        "{} is frozen: its cgroup is, as by docker pause or a sandbox that was suspended",
        view.name(process.pid)
    );
    let ends = "the one who froze it thaws it (docker unpause; freezer.state, cgroup.freeze)";
    let finding = Finding::hung(process.pid, Signature::Frozen, Mechanism::T1, text).ends(ends);
    Some(held(view, process, finding.because(format!("it sleeps in the kernel's {wchan}"))))
}

fn stopped(view: &View<'_>, process: &Process) -> Finding {
    // a terminal stops the whole group: the call of the member that touched it tells why
    let group = view.after.processes().filter(|other| other.pgrp == process.pgrp && other.state == State::Stopped);
    let touched = std::iter::once(process).chain(group).find_map(|member| touches(member).map(|what| (member, what)));
    let Some((member, (signal, did))) = touched else {
        let text = format!("{} is stopped (SIGSTOP or Ctrl-Z)", view.name(process.pid));
        let finding = Finding::hung(process.pid, Signature::Stopped, Mechanism::T1, text)
            .ends(format!("kill -CONT {}", process.pid));
        return held(view, process, finding.because("its state is T, and its call touches no terminal"));
    };
    let name = view.name(member.pid);
    let text = format!(
        "{name} was stopped by {signal}: it {did} its terminal from a background process group ({}; the terminal belongs to {})",
        member.pgrp, member.tty_group
    );
    let signature = if signal == "SIGTTIN" { Signature::Sigttin } else { Signature::Sigttou };
    let ends = "bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead";
    let finding = Finding::hung(member.pid, signature, Mechanism::T1, text).ends(ends);
    finding
        .because("its state is T, in a call on its terminal, and the terminal's group is another")
        .certain()
        .rank(rank::CERTAIN + 1)
}

fn touches(process: &Process) -> Option<(&'static str, &'static str)> {
    if process.tty == 0 || process.tty_group == process.pgrp {
        return None;
    }
    let is_tty = |fd: i32| matches!(process.fd(fd).map(|fd| &fd.what), Some(Object::Tty { .. }));
    process.threads.iter().filter_map(|thread| thread.call.as_ref()).find_map(|call| match &call.does {
        Does::Read { fd } if is_tty(*fd) => Some(("SIGTTIN", "read")),
        Does::Write { fd } if is_tty(*fd) => Some(("SIGTTOU", "wrote to")),
        Does::Ioctl { fd, request } if is_tty(*fd) && CHANGES_TERMINAL.contains(request) => {
            Some(("SIGTTOU", "changed the settings of"))
        }
        _ => None,
    })
}

/// Whether a process's own finding leaves room for a child that has ended unnoticed: one that sleeps, serves, works or
/// waits for a peer has a child that it does not care for. An agent that only computes beside such a child has missed
/// its end (oven-sh/bun#34069).
pub fn may_be_for_a_zombie(view: &View<'_>, process: &Process, best: &Finding) -> bool {
    match best.verdict {
        Verdict::Waiting => best.rank <= rank::IDLE,
        Verdict::Working => {
            best.pid == process.pid && best.signature == Signature::Computing && view.is_known_agent(process.pid)
        }
        _ => best.rank <= rank::LOOP,
    }
}

/// Whether a wait is for what others may send, whatever became of a child.
fn is_for_others(view: &View<'_>, process: &Process, wait: &Wait) -> bool {
    match wait.on {
        On::Input(fd) | On::Output(fd) => process.fd(fd).is_some_and(|fd| match fd.what {
            Object::Pipe { .. } | Object::Socket { .. } => !view.own_channel(process, fd),
            Object::Fifo { .. } | Object::Tty { .. } | Object::Master { .. } | Object::Inotify => true,
            _ => false,
        }),
        On::Lock(_) | On::Open { .. } | On::Connect(_) => true,
        // the signals that are waited for in the call are held back meanwhile
        On::Signal if run::is_sigwait(wait) => !Signals::has(process.signals.blocked, libc::SIGCHLD),
        On::Signal => ways::awaits_signals(process),
        _ => false,
    }
}

/// A child that has ended while its parent waits for something else.
pub fn unreaped(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let zombie = view.zombies(process.pid).next()?;
    // it is about to be reaped
    if waits.iter().any(|wait| matches!(wait.on, On::Child(_))) {
        return None;
    }
    if !view.is_known_agent(process.pid) && waits.iter().any(|wait| is_for_others(view, process, wait)) {
        return None;
    }
    // a shell reaps the child of a substitution once it starts or waits for another one (bash(1), wait)
    let reads = |wait: &Wait| matches!(wait.on, On::Input(_));
    if ways::SHELLS.contains(&kind::program(process)) && waits.iter().any(reads) {
        return None;
    }
    let (name, child) = (view.name(process.pid), view.name(zombie.pid));
    let text = format!("{name} has not noticed that its child {child} has ended");
    let because = "the child is a zombie at both times, and no thread of the parent waits for a child";
    let finding = Finding::hung(process.pid, Signature::Unreaped, Mechanism::C4, text).because(because);
    let ends = format!("{name} calls wait for {}; from outside: {}", zombie.pid, end_it(view, process.pid));
    Some(Finding { sure: Sure::Likely, verdict: Verdict::Hung, ..finding.ends(ends) })
}
