//! What runs, spins, sleeps, or waits for nothing that matters.
//!
//! Invariant: work is called work; a process is called a loop only if the kernel's counters show that it gets nothing
//! done.

use super::{On, Wait, end_it, left, steady};
use crate::data::{Descriptor, Does, End, Mode, Object, Pid, Process, Signals, SocketState, State, Thread, TimeLimit};
use crate::diagnosis::Sure;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::waits::NO_END_MS;
use crate::diagnosis::ways::{self, LONG_MS};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};
use rehang_words::text::duration;

/// The share of a core above which a process works, counting the time of waiting for a processor, since machines are
/// busy.
pub const WORKS_SHARE: f64 = 0.25;
/// The share of a core above which a process that gets nothing done spins.
const SPINS_SHARE: f64 = 0.8;
/// Bytes within the window above which a process moves data.
const MOVES_BYTES: u64 = 4096;
/// Calls without a result within the window that make a spin, together with that share of a core: a poll is cheap.
const EMPTY_CALLS: u64 = 100;

/// What a process is that uses a processor.
pub fn rule(view: &View<'_>, process: &Process) -> Option<Finding> {
    let pid = process.pid;
    let (cpu, io) = (view.wants(pid), view.io(pid));
    let name = view.name(pid);
    let percent = (view.cpu(pid) * 100.0).round();
    if cpu >= WORKS_SHARE {
        let (reads, writes) =
            (io.reads > EMPTY_CALLS && io.read_bytes == 0, io.writes > EMPTY_CALLS && io.written_bytes == 0);
        // a thread that waits for something else may end the process
        let idles = |thread: &Thread| {
            let call = thread.call.as_ref();
            call.is_some_and(|call| call.does == Does::Futex && call.limit == TimeLimit::Never)
        };
        let mut beside = process.threads.iter().filter(|thread| thread.state != State::Running && !idles(thread));
        if (reads || writes) && process.threads.len() > 1 && beside.next().is_some() {
            let got = if reads { "read" } else { "write" };
            let text = format!(
                "{name} spins in one thread ({got} calls that move not one byte), and another thread of it waits for something else"
            );
            let finding = Finding::working(pid, Signature::Working, text);
            return Some(Finding { sure: Sure::Likely, ..finding }.because(format!("{percent} % of a core")));
        }
        if reads || writes {
            let (did, got) = if reads { (io.reads, "read") } else { (io.writes, "write") };
            let text = format!(
                "{name} spins: {did} {got} calls in {} that moved not one byte",
                duration(view.window_ns / 1_000_000)
            );
            // unless what it reads or writes has ended for good, something may come, or be taken, yet
            let end = if reads { End::Read } else { End::Write };
            if !process.fds.iter().any(|fd| has_ended(view, process, fd, end))
                && let Some(fd) = process.fds.iter().find(|fd| may_go_on(view, process, fd, end))
            {
                let text = format!("{text}; that may change yet at {}", super::fd_name(fd.fd));
                let finding = Finding::hung(pid, Signature::EofSpin, Mechanism::H2, text);
                let ends = if reads { "something that it reads" } else { "its reader takes something" };
                let finding = finding.because(format!("{percent} % of a core")).ends(ends);
                return Some(finding.after(view.age_ms(process), ways::LONG_MS));
            }
            let orphan = if process.ppid <= 1 { ", and its parent is gone" } else { "" };
            let because = format!("{percent} % of a core{orphan}");
            return Some(
                Finding::hung(pid, Signature::EofSpin, Mechanism::H2, text).because(because).ends(end_it(view, pid)),
            );
        }
        let idle = io.reads + io.writes == 0 && view.faults(pid) == 0;
        let alone = process.threads.iter().all(|thread| thread.tid == pid || thread.state != State::Running);
        if cpu >= SPINS_SHARE && idle && alone && !view.turnover(pid) {
            return Some(computes(view, process));
        }
        return Some(Finding::working(pid, Signature::Working, format!("{name} works: {percent} % of a core")));
    }
    // that it came itself within the window is no work of its
    if view.turnover(pid) && view.before.process(pid).is_some() {
        if let Some(finding) = super::loops::below(view, pid) {
            return Some(finding);
        }
        let finding =
            Finding::working(pid, Signature::Working, format!("{name} works: processes below it come and go"));
        let because = "a script that tries again and again, without an end, looks the same";
        return Some(Finding { sure: Sure::Likely, ..finding }.because(because));
    }
    let moved = io.read_bytes + io.written_bytes;
    let looks_up = || view.only_wakes(pid) && super::rest::is_at_rest(view, process);
    if moved >= MOVES_BYTES && io.reads + io.writes > 1 && !looks_up() {
        return Some(Finding::working(
            pid,
            Signature::Working,
            format!("{name} works: it moved {moved} bytes in {}", duration(view.window_ns / 1_000_000)),
        ));
    }
    // at only one of the looks it was a momentary state
    if process.state == State::Disk
        && vforked(view, process).is_none()
        && view.before.process(pid).is_none_or(|before| before.state == State::Disk)
    {
        // memory.oom_control: nobody ends a process of that group by itself
        if process.threads.iter().any(|thread| thread.wchan == "mem_cgroup_oom_synchronize") {
            let text = format!("{name} waits for memory: its control group has used up its limit");
            let finding =
                Finding::hung(pid, Signature::Disk, None, text).because("the group ends none of its processes");
            return Some(
                finding
                    .ends("a higher limit, or the end of another one of its group")
                    .after(view.age_ms(process), LONG_MS),
            );
        }
        let text = format!("{name} waits for a disk or a network file system");
        return Some(Finding::waiting(pid, Signature::Disk, rank::CLOCK, text).ends("the device's answer"));
    }
    None
}

/// Whether nothing can come any more at a descriptor that a process reads, or nobody is left who takes what it writes there.
fn has_ended(view: &View<'_>, process: &Process, fd: &Descriptor, end: End) -> bool {
    match &fd.what {
        Object::Pipe { .. } | Object::Fifo { .. } => {
            let is_alone = fd.mode.has(end) && view.other_end(process, fd, end == End::Read).is_empty();
            let is_own = fd.mode == Mode::Both || view.own_channel(process, fd);
            is_alone && !is_own && view.named_fifo(fd).is_none()
        }
        Object::Socket { .. } => view.socket(fd).is_some_and(|socket| socket.state == SocketState::CloseWait),
        Object::Tty { path, index } => {
            path.ends_with(" (deleted)") || index.is_some_and(|index| view.masters(index).is_empty())
        }
        _ => false,
    }
}

/// Whether something may come yet at a descriptor that a process reads, or be taken there; a file may grow.
fn may_go_on(view: &View<'_>, process: &Process, fd: &Descriptor, end: End) -> bool {
    let reads = end == End::Read;
    match &fd.what {
        Object::Pipe { .. } | Object::Fifo { .. } | Object::Tty { .. } => {
            fd.mode.has(end) && !has_ended(view, process, fd, end)
        }
        Object::Socket { .. } | Object::Master { .. } => !has_ended(view, process, fd, end),
        Object::File { at_end, .. } => reads && *at_end && fd.mode.has(end),
        Object::Timer { left_ms } => reads && left_ms.is_some(),
        Object::Event { .. } | Object::Signal | Object::Children | Object::Process { .. } | Object::Inotify => reads,
        Object::Null | Object::Epoll { .. } | Object::Uring { .. } | Object::Other { .. } => false,
    }
}

/// The child whose exec or end a process waits for since it has called vfork: it is not at a disk, whatever its state says.
pub fn vforked(view: &View<'_>, process: &Process) -> Option<Pid> {
    // vfork, clone and clone3 wait for nothing else (x86-64; of aarch64 the last two)
    let calls: &[i64] = if cfg!(target_arch = "aarch64") { &[220, 435] } else { &[56, 58, 435] };
    let is_vfork = |thread: &Thread| {
        let by_call = thread.call.as_ref().is_some_and(|call| calls.contains(&call.number));
        thread.wchan.contains("vfork") || (thread.state == State::Disk && by_call)
    };
    process
        .threads
        .iter()
        .any(is_vfork)
        .then(|| view.living_children(process.pid).map(|child| child.pid).max())
        .flatten()
}

/// Whether a wait is for signals that are held back meanwhile (sigwait and its like): a handler is not needed then.
pub fn is_sigwait(wait: &Wait) -> bool {
    wait.on == On::Signal && wait.call.starts_with("rt_sigtimedwait")
}

/// Only processor time: work, unless it is an agent or its helper whose starter is gone. Those normally read and write,
/// and are known to spin then (anthropics/claude-code#47872).
fn computes(view: &View<'_>, process: &Process) -> Finding {
    let pid = process.pid;
    let name = view.name(pid);
    let percent = (view.cpu(pid) * 100.0).round();
    let does = format!("{percent} % of a core, no byte read or written, no memory touched anew");
    if (kind::of(process).is_some() || kind::helper(process)) && kind::adopted(process) {
        let text = format!("{name} spins, and the process that started it is gone: {does}");
        let finding = Finding::hung(pid, Signature::CpuSpin, Mechanism::H2, text).ends(end_it(view, pid)).guess();
        return finding.because("an agent reads and writes; a pure computation looks the same").rank(rank::WORKS + 1);
    }
    let finding = Finding::working(pid, Signature::Computing, format!("{name} computes: {does}"));
    let because = "a loop without an end looks the same from outside: only whether it is at it much later tells";
    Finding { sure: Sure::Likely, ..finding }.because(because).ends("the end of what it computes")
}

/// A process that has started this look, and waits for it.
pub fn this_look(view: &View<'_>, process: &Process, reader: Pid) -> Finding {
    let text = format!("{} waits for this very look, {}", view.name(process.pid), view.name(reader));
    let finding = Finding::waiting(process.pid, Signature::ThisLook, rank::CLOCK, text).ends("the end of this look");
    Finding { sure: Sure::Certain, ..finding }.because("this look was started below it, and is left out")
}

/// A thread that sleeps without an end is not all that there is of a process: another thread has a limit or waits for
/// something, or a signal that the process handles wakes the thread.
fn goes_on_elsewhere(view: &View<'_>, process: &Process, wait: &Wait) -> Option<Finding> {
    let (pid, name) = (process.pid, view.name(process.pid));
    let others: Vec<Wait> = view.waits(process).into_iter().filter(|other| other.tid != wait.tid).collect();
    let awaits = |other: &Wait| match other.on {
        On::Futex | On::Clock => false,
        On::Input(fd) | On::Output(fd) => process.fd(fd).is_none_or(|fd| !view.own_channel(process, fd)),
        _ => true,
    };
    if others.iter().any(awaits) {
        let text = format!("{name} has a thread that sleeps without an end, and other threads that wait for something");
        return Some(Finding::waiting(pid, Signature::Timer, rank::IDLE, text).ends("what its other threads wait for"));
    }
    // a thread with a limit may be the whole of a program (Erlang), or watch over nothing
    if others.iter().any(|other| ways::left_ms(other.limit).is_some()) {
        let text = format!("{name} has a thread that sleeps without an end, and other threads with time limits");
        let finding = Finding::hung(pid, Signature::NeverEnds, Mechanism::B5, text).ends(end_it(view, pid));
        let finding = by_design(view, finding.because("the time limits may be of its runtime alone"));
        return Some(finding.after(view.age_ms(process), LONG_MS));
    }
    let has_child = view.after.processes().any(|child| child.ppid == pid);
    let by_child = has_child && Signals::has(process.signals.caught, libc::SIGCHLD);
    (by_child || is_told(process)).then(|| signal_wait(pid, &format!("{name} waits for a signal that it handles")))
}

/// Whether a signal that a process handles may be what it waits for.
fn is_told(process: &Process) -> bool {
    ways::may_be_told(process) || ways::awaits_signals(process)
}

/// `waits` says who waits for a signal, and what else may be one.
fn signal_wait(pid: Pid, waits: &str) -> Finding {
    let text = format!("{waits}, and who would send it cannot be seen");
    Finding { signature: Signature::SignalWait, ..Finding::unknown(pid, &text) }.ends("a signal that it handles")
}

/// A wait for nothing but time.
pub fn clock(view: &View<'_>, process: &Process, wait: &Wait) -> Finding {
    let pid = process.pid;
    let name = view.name(pid);
    let switches = view.switches(pid, wait.tid);
    let endless = match wait.limit {
        TimeLimit::Never => wait.call != "nanosleep" && wait.call != "clock_nanosleep",
        TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) => ms >= NO_END_MS,
        TimeLimit::Unknown => false,
    };
    if endless {
        if let Some(finding) = goes_on_elsewhere(view, process, wait) {
            return finding;
        }
        return sleeps_for_ever(view, process, "its time limit is none");
    }
    if follows(process) {
        return never_ends(view, process);
    }
    if switches > 0 {
        let every = view.window_ns / 1_000_000 / switches.max(1);
        let text = format!("{name} polls: it looks again about every {}", duration(every.max(1)));
        return Finding::waiting(pid, Signature::Polling, rank::CLOCK, text).ends("what it looks for");
    }
    let text = match left(wait.limit) {
        Some(left) => format!("{name} sleeps ({left})"),
        None => format!("{name} sleeps"),
    };
    Finding::waiting(pid, Signature::Sleep, rank::CLOCK, text).ends("time")
}

/// The path of a named FIFO that a process keeps open for somebody who reads it, so that the reader finds no end (fifo(7)).
pub fn kept_fifo<'a>(view: &View<'a>, process: &'a Process) -> Option<&'a str> {
    let kept = process.fds.iter().filter(|fd| fd.mode == Mode::Write);
    let mut kept = kept.filter_map(|fd| Some((fd, view.named_fifo(fd)?)));
    let is_read = |fd| view.other_end(process, fd, false).into_iter().any(|reader| reader != process.pid);
    kept.find_map(|(fd, path)| is_read(fd).then_some(path))
}

fn sleeps_for_ever(view: &View<'_>, process: &Process, because: &str) -> Finding {
    let (pid, name) = (process.pid, view.name(process.pid));
    if let Some(path) = kept_fifo(view, process) {
        let text = format!("{name} sleeps without an end, and keeps the FIFO {path} open");
        return Finding::waiting(pid, Signature::Sleep, rank::IDLE, text).ends(format!("a line written to {path}"));
    }
    let text = format!("{name} sleeps without an end");
    let finding = Finding::hung(pid, Signature::NeverEnds, Mechanism::B5, text).ends(end_it(view, pid));
    by_design(view, finding.because(because))
}

/// `tail -f` and its like; `tail --pid` ends with the process that it names.
pub fn follows(process: &Process) -> bool {
    if process.args.iter().any(|arg| arg.starts_with("--pid")) {
        return false;
    }
    let flag = |arg: &String| matches!(arg.as_str(), "-f" | "-F" | "--follow") || arg.starts_with("--follow=");
    process.comm == "tail" && process.args.iter().skip(1).any(flag)
}

/// Whether a filter ends by itself before its input does: `grep -m 1`, `grep -q`, `head`, `sed 5q`.
fn ends_at_a_match(process: &Process) -> bool {
    let mut args = process.args.iter().skip(1);
    match process.comm.as_str() {
        "head" => true,
        "sed" => args.any(|arg| !arg.starts_with('-') && arg.ends_with(['q', '}']) && arg.contains('q')),
        "grep" | "egrep" | "fgrep" | "rg" => args.any(|arg| {
            let is_short = arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['m', 'q']);
            is_short || arg.starts_with("--max-count") || arg == "--quiet"
        }),
        _ => false,
    }
}

fn never_ends(view: &View<'_>, process: &Process) -> Finding {
    let pid = process.pid;
    // it ends when nobody is left who reads what it writes
    let readers = process.fd(1).map(|fd| view.other_end(process, fd, false)).unwrap_or_default();
    if let Some(reader) = readers.into_iter().find(|reader| view.process(*reader).is_some_and(ends_at_a_match)) {
        let text = format!("{} follows a file until {} has found what it looks for", view.name(pid), view.name(reader));
        let finding = Finding::hung(pid, Signature::NeverEnds, Mechanism::B5, text).ends("a line that it looks for");
        return finding.because("whether one will come cannot be seen").after(view.age_ms(process), LONG_MS);
    }
    let text = format!("{} follows a file and never ends by itself", view.name(pid));
    let finding = Finding::hung(pid, Signature::NeverEnds, Mechanism::B5, text).ends(end_it(view, pid));
    by_design(view, finding.because("it was started to follow"))
}

/// Outside of a run that should end, what has no end has none by design: what keeps a container alive, a log that somebody
/// follows.
fn by_design(view: &View<'_>, finding: Finding) -> Finding {
    match view.is_of_a_run(finding.pid) {
        true => finding,
        false => Finding { verdict: super::Verdict::Waiting, ..finding },
    }
}

/// Whether a futex wait is for memory that other processes may share, and is no pthread_join, which waits, without the flag for
/// private memory, until a word is no longer the id of a thread.
pub fn shares(process: &Process, wait: &Wait) -> bool {
    let thread = process.threads.iter().find(|thread| thread.tid == wait.tid);
    let call = thread.and_then(|thread| thread.call.as_ref()).filter(|call| call.is_shared_futex());
    // in a pid namespace of its own a thread's id is another; the words of locks and semaphores are 0, 1 and 2
    let joins = |word: u64| match process.ns_pid == process.pid {
        true => process.threads.iter().any(|thread| thread.tid as u64 == word),
        false => word > 2,
    };
    call.is_some_and(|call| !joins(call.args[2]))
}

/// Whether a process handles a signal that may be what it waits for: handlers of faults are no sign of that.
pub fn handles_signals(process: &Process) -> bool {
    let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    (1..=64).any(|signal| Signals::has(process.signals.caught, signal) && !faults.contains(&signal))
}

/// A pipe that a process reads and whose other end it holds alone, while all its other threads wait for each other.
pub fn only_its_own(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<i32> {
    let own = |wait: &Wait| match wait.on {
        On::Input(fd) if !wait.polled => process
            .fd(fd)
            .filter(|fd| view.own_channel(process, fd) && view.other_end(process, fd, true).is_empty())
            .map(|fd| fd.fd),
        _ => None,
    };
    let first = waits.iter().find_map(own)?;
    let still = |wait: &Wait| steady(view, process, wait) && (own(wait).is_some() || wait.on == On::Futex);
    waits.iter().all(still).then_some(first)
}

/// A process all of whose threads sleep outside of any call: at a page of memory, as a rule.
fn outside_of_a_call(view: &View<'_>, process: &Process) -> Option<Finding> {
    let sleeps = |thread: &Thread| thread.call_read && matches!(thread.state, State::Sleeping | State::Disk);
    if process.threads.is_empty() || !process.threads.iter().all(sleeps) {
        return None;
    }
    let (pid, name) = (process.pid, view.name(process.pid));
    let at_page = process.threads.iter().any(|thread| thread.wchan.contains("userfault"));
    let provides = |other: &&Process| {
        other.fds.iter().any(|fd| matches!(&fd.what, Object::Other { link } if link.contains("userfaultfd")))
    };
    let who: Vec<Pid> = view.after.processes().filter(provides).map(|other| other.pid).collect();
    let text = match at_page {
        true => format!("{name} waits for a page of its memory, which {} provides (userfaultfd)", view.names(&who)),
        false => format!("{name} sleeps outside of any call, and what for cannot be seen"),
    };
    Some(Finding::unknown(pid, &text))
}

/// A wait for a lock, or the like, in memory that other processes may have too.
fn in_shared_memory(view: &View<'_>, process: &Process, waits: &[Wait]) -> Finding {
    let (pid, name) = (process.pid, view.name(process.pid));
    let never = waits.iter().all(|wait| wait.limit == TimeLimit::Never && view.switches(pid, wait.tid) == 0);
    match &process.shares_with {
        Some(others) if others.is_empty() && never && !is_told(process) => {
            let text = format!("{name} waits for a lock in shared memory, and no other process that has it is alive");
            let finding = Finding::hung(pid, Signature::ThreadDeadlock, None, text).ends(end_it(view, pid));
            let because =
                "the process that had the lock has ended; all its own threads are in futex waits without a time limit";
            finding.because(because)
        }
        Some(others) if !others.is_empty() => {
            let who = view.names(others);
            let text = format!("{name} waits for a lock in memory that it shares with {who}");
            Finding::unknown(pid, &text).rank(rank::BELOW + 1).ends(format!("{who} lets it go"))
        }
        _ => {
            let text =
                format!("{name} waits for memory that it shares with others, and who would wake it cannot be seen");
            Finding::unknown(pid, &text).rank(rank::BELOW + 1)
        }
    }
}

/// Nothing that matters is waited for.
pub fn rest(view: &View<'_>, process: &Process, waits: &[Wait]) -> Finding {
    let pid = process.pid;
    let name = view.name(pid);
    if follows(process) {
        return never_ends(view, process);
    }
    if waits.is_empty() {
        if process.threads.iter().any(|thread| view.switches(pid, thread.tid) > 0) {
            let text = format!("{name} polls: it wakes up now and then, and was awake at both looks");
            return Finding::waiting(pid, Signature::Polling, rank::CLOCK, text).ends("what it looks for").guess();
        }
        if let Some(finding) = outside_of_a_call(view, process) {
            return finding;
        }
        let deaf = process.threads.iter().all(|thread| !thread.call_read && thread.wchan.is_empty());
        let text = if deaf {
            format!("{name} cannot be looked into")
        } else {
            format!("{name} is ready to run and was given no processor")
        };
        let finding = Finding::unknown(pid, &text);
        return if deaf {
            finding
        } else {
            Finding { signature: Signature::Working, verdict: super::Verdict::Working, ..finding }
        };
    }
    if waits.iter().all(|wait| wait.on == On::Futex) {
        if waits.iter().any(|wait| shares(process, wait)) {
            return in_shared_memory(view, process, waits);
        }
        let never = waits.iter().all(|wait| wait.limit == TimeLimit::Never);
        let still = waits.iter().all(|wait| view.switches(pid, wait.tid) == 0);
        let each = if waits.len() == 1 {
            "its only thread waits for another one, which is not there"
        } else {
            "its threads wait for each other"
        };
        if never && still && !process.same_memory.is_empty() {
            let others: Vec<String> = process.same_memory.iter().map(ToString::to_string).collect();
            let others = others.join(", ");
            let text = format!("{name} waits inside itself: a process that has the same memory may wake it ({others})");
            return Finding::unknown(pid, &text).ends("one that has its memory goes on");
        }
        if never && still {
            let term = Signals::has(process.signals.caught, libc::SIGTERM);
            if term || ways::awaits_signals(process) {
                let text = format!("{name} waits inside itself: {each}, or for a signal that it handles");
                let finding = Finding::unknown(pid, &text).ends("a signal that it handles, where it waits for one");
                let which = if term { "TERM" } else { "a signal such as USR1" };
                return finding.because(format!("all threads are in futex waits without a time limit, and it handles {which}: a server that sleeps until it is told to end looks the same as a deadlock"));
            }
            let none = if waits.len() == 1 { "" } else { ", and none waits for anything else" };
            let text = format!("{name} is deadlocked: {each}{none}");
            let finding = Finding::hung(pid, Signature::ThreadDeadlock, None, text).ends(end_it(view, pid));
            return finding.because(
                "all threads are in futex waits without a time limit, on memory that is this process's alone",
            );
        }
        let text = format!("{name} waits inside itself, with a time limit");
        if ways::handles_all(process) {
            let finding = Finding::hung(pid, Signature::Timer, None, text).ends("a timer of its own").rank(rank::IDLE);
            let finding = finding.because("the time limit may be of its runtime alone");
            return by_design(view, finding.guess().after(view.age_ms(process), LONG_MS));
        }
        return Finding::waiting(pid, Signature::Timer, rank::IDLE, text).ends("a timer of its own");
    }
    if let Some(fd) = only_its_own(view, process, waits) {
        // the handler of a signal writes to such a pipe (select_tut(2), "the self-pipe trick")
        if is_told(process) {
            return signal_wait(pid, &format!("{name} waits for a signal that it handles"));
        }
        let text = format!("{name} reads {}, to which nobody but itself could write", super::fd_name(fd));
        let finding = Finding::hung(pid, Signature::OwnPipe, None, text).ends(end_it(view, pid));
        return finding.because("it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began");
    }
    if waits.iter().any(|wait| wait.on == On::Signal) {
        if !handles_signals(process) && !waits.iter().any(is_sigwait) && waits.len() == 1 {
            let because = "it waits for a signal and handles none: only one that ends it could wake it";
            return sleeps_for_ever(view, process, because);
        }
        return signal_wait(pid, &format!("{name} waits for a signal, or for an alarm of its own"));
    }
    let watched = |wait: &Wait| match wait.on {
        On::Input(fd) => process.fd(fd).is_some_and(|fd| fd.what == Object::Inotify),
        _ => false,
    };
    if waits.iter().any(watched) {
        let text = format!("{name} watches files, and waits for one to change");
        return Finding::waiting(pid, Signature::Watches, rank::SERVES, text).ends("a change; it ends when told to");
    }
    let nearest = waits.iter().filter(|wait| wait.on == On::Clock).map(|wait| match wait.limit {
        TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) => ms,
        TimeLimit::Never | TimeLimit::Unknown => u64::MAX,
    });
    let timers = process.fds.iter().filter_map(|fd| match fd.what {
        Object::Timer { left_ms } => left_ms,
        _ => None,
    });
    match nearest.chain(timers).min() {
        Some(ms) if ms < NO_END_MS => {
            let text = format!("{name} waits for a timer of its own (at most {})", duration(ms));
            Finding::waiting(pid, Signature::Timer, rank::IDLE, text).ends("the timer")
        }
        _ => {
            let event = waits.iter().find_map(|wait| match wait.on {
                On::Input(number) => {
                    process.fd(number).filter(|fd| !wait.polled && matches!(fd.what, Object::Event { .. }))
                }
                _ => None,
            });
            let text = match event {
                Some(fd) => format!(
                    "{name} waits for an event descriptor, {}: who else has it cannot be seen",
                    super::fd_name(fd.fd)
                ),
                None => format!("{name} waits, and what for cannot be seen"),
            };
            Finding::unknown(pid, &text)
        }
    }
}
