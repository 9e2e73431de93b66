//! The ways in which a process may go on, or be ended, although what it waits for does not come: timers of its own, alarms,
//! signals that it handles, limits that may not be read; and those that end it from outside, such as `timeout`.
//!
//! Invariants: what may not be read counts as a way; a time that is longer than [`LONG_MS`] does not keep a wait from being
//! called a hang, since nobody waits for it, but it does keep a process from being closed in.

use super::view::View;
use super::waits::{NO_END_MS, On, Wait};
use crate::data::{Alarms, Object, Pid, Process, Signals, SocketState, State, TimeLimit};
use crate::kind;
use rehang_words::text::duration;
use std::time::Duration;

/// A limit above the longest that tools and their runners set themselves on record, an hour (Claude Code's
/// BASH_MAX_TIMEOUT_MS as it is set in reports); the limit of guard for a tool is the same.
pub const LONG_MS: u64 = 65 * 60_000;
/// A known agent's timer that is shorter belongs to its screen.
const OF_A_SCREEN_MS: u64 = 5_000;
/// A process that handles this many signals has a runtime that handles them all (Go), and waits for none of them.
const ALL_SIGNALS: usize = 40;
/// Shells, and the program that many small machines have as theirs.
pub const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"];

/// A way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// What it is, such as `a timer of its own`.
    pub what: String,
    /// Milliseconds until it comes to that, if that can be seen.
    pub left_ms: Option<u64>,
}

impl Way {
    fn new(what: impl Into<String>, left_ms: Option<u64>) -> Way {
        Way { what: what.into(), left_ms }
    }

    /// Whether it comes within the time for which anybody waits.
    pub fn is_soon(&self) -> bool {
        self.left_ms.is_none_or(|ms| ms <= LONG_MS)
    }

    /// Whether it may belong to the screen of an agent, which is drawn again and again.
    pub fn is_of_a_screen(&self) -> bool {
        self.left_ms.is_some_and(|ms| ms < OF_A_SCREEN_MS)
    }

    /// What it is, and when it comes to that.
    pub fn words(&self) -> String {
        match self.left_ms {
            Some(ms) => format!("{} (at most {})", self.what, duration(ms)),
            None => self.what.clone(),
        }
    }
}

/// How long a limit may still take, if it is one.
pub fn left_ms(limit: TimeLimit) -> Option<u64> {
    match limit {
        TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) => Some(ms).filter(|ms| *ms < NO_END_MS),
        TimeLimit::Never | TimeLimit::Unknown => None,
    }
}

/// The ways of a process's own to go on: the soonest timer, an alarm, and what may not be read.
pub fn own(view: &View<'_>, process: &Process) -> Vec<Way> {
    let waits = view.waits(process);
    let mut ways: Vec<Way> = timer(process, &waits).into_iter().collect();
    if process.may_have_timers {
        let whether = if process.fds_read { "" } else { ", if it has one: that may not be read" };
        ways.push(Way::new(format!("a POSIX timer of its own{whether}"), None));
    }
    // a shell has an alarm while it reads with a limit, not while it waits for a child
    let is_shell = SHELLS.contains(&kind::program(process)) && waits.iter().any(|wait| matches!(wait.on, On::Child(_)));
    let is_tool = crate::tools::of(process).is_some();
    let may_be_armed = view.after.alarms != Alarms::None && !handles_all(process) && !is_shell && !is_tool;
    if handles(process, libc::SIGALRM) && may_be_armed {
        ways.push(Way::new("an alarm of its own", None));
    }
    if ring(process) {
        ways.push(Way::new("a request in its io_uring", None));
    }
    let hidden = |wait: &Wait| {
        let fd = match wait.on {
            On::Input(fd) | On::Output(fd) => fd,
            _ => return false,
        };
        let is_socket = process.fd(fd).is_some_and(|fd| matches!(fd.what, Object::Socket { .. }));
        wait.limit == TimeLimit::Unknown && is_socket && !wait.polled
    };
    if waits.iter().any(hidden) {
        ways.push(Way::new("a limit of its socket, which may not be read", None));
    }
    ways
}

/// Whether a request in an io_uring of a process may wake it. The event loop of Node.js reads files by one.
pub fn ring(process: &Process) -> bool {
    process.fds.iter().any(|fd| matches!(fd.what, Object::Uring { .. })) && !is_node(process)
}

/// The soonest timer of a process: the limit of a call of any of its threads, or a timer that it has as a descriptor.
pub fn timer(process: &Process, waits: &[Wait]) -> Option<Way> {
    let limits = waits.iter().filter_map(|wait| left_ms(wait.limit));
    let timers = process.fds.iter().filter_map(|fd| match fd.what {
        Object::Timer { left_ms } => left_ms.filter(|ms| *ms < NO_END_MS),
        _ => None,
    });
    let soonest = limits.chain(timers).min();
    soonest.map(|ms| Way::new("a timer of its own", Some(ms)))
}

fn handles(process: &Process, signal: i32) -> bool {
    Signals::has(process.signals.caught, signal)
}

/// Whether its runtime handles all signals, and has a thread of its own that wakes up now and then: Go.
pub fn handles_all(process: &Process) -> bool {
    process.signals.caught.count_ones() as usize >= ALL_SIGNALS
}

/// Whether it is a known agent, or another program of Node.js or Bun.
fn is_node(process: &Process) -> bool {
    ["node", "bun", "MainThread"].contains(&process.comm.as_str()) || kind::of(process).is_some()
}

/// Whether it handles a signal by which programs wake each other: USR1, USR2, IO, URG, a real-time signal; or one that comes
/// when its terminal gets another size, or when it is continued; in a script, the one that tells it to end. The first three of
/// those belong to the C library; Node.js, and with it most agents, has its inspector at USR1.
pub fn awaits_signals(process: &Process) -> bool {
    let is_node = is_node(process);
    let wakes = |signal: &i32| match *signal {
        libc::SIGUSR1 => !is_node,
        // an urgent byte brings the second one (tcp(7), F_SETOWN)
        libc::SIGUSR2 | libc::SIGURG => true,
        libc::SIGCONT | libc::SIGWINCH => !is_node,
        // only its author's code handles it there
        libc::SIGTERM => SHELLS.contains(&kind::program(process)) || kind::program(process).starts_with("python"),
        // what cleans up before any signal ends it handles these two beside it (GNU sort)
        libc::SIGIO => ![libc::SIGXCPU, libc::SIGXFSZ].iter().all(|signal| handles(process, *signal)),
        signal => signal > 34,
    };
    !handles_all(process) && Signals::of(process.signals.caught).any(|signal| wakes(&signal))
}

/// Whether a signal from outside may wake its event loop, which has a channel by which it wakes itself. A known agent's
/// handlers end it; Python, Node.js and expect have one of their own for INT, and the last two for TERM too.
pub fn may_be_told(process: &Process) -> bool {
    let by_runtime: &[i32] = match kind::program(process) {
        "node" | "bun" => &[libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGWINCH],
        program if program.starts_with("python") => &[libc::SIGINT],
        // expect(1), trap: by default both end it
        "expect" => &[libc::SIGINT, libc::SIGTERM],
        _ => &[],
    };
    let from_outside = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];
    let by_the_kernel = [libc::SIGURG, libc::SIGIO, libc::SIGCONT, libc::SIGWINCH, libc::SIGTSTP];
    let mut tells = from_outside.into_iter().chain(by_the_kernel);
    let is_told = |signal: i32| handles(process, signal) && !by_runtime.contains(&signal);
    kind::of(process).is_none() && !handles_all(process) && tells.any(is_told)
}

/// Who will end a process from outside, or do something that may: `timeout` above it, a shell beside it that sleeps first
/// and kills then, a process above it that looks again and again and may have a limit.
pub fn ender(view: &View<'_>, pid: Pid) -> Option<Way> {
    let subject = view.process(pid)?;
    let by_timeout = by_timeout(view, subject).filter(Way::is_soon);
    if by_timeout.is_some() {
        return by_timeout;
    }
    let above = over(view, pid);
    let by_copy = view.after.processes().filter(|other| other.pid != pid && other.state != State::Zombie);
    let by_copy = by_copy.filter(|other| may_kill(view, other, subject, &above)).find_map(|other| {
        let way = nap(view, other, pid)?;
        Some(Way::new(format!("{}, which sleeps and may end it then", view.name(other.pid)), way.left_ms))
    });
    if by_copy.as_ref().is_some_and(Way::is_soon) {
        return by_copy;
    }
    if view.age_ms(subject) > LONG_MS {
        return None;
    }
    if let Some(way) = end_of_namespace(view, subject) {
        return Some(way);
    }
    above.iter().find_map(|above| {
        let process = view.process(*above).filter(|process| !is_spent(view, process))?;
        let way = nap(view, process, pid).filter(Way::is_soon)?;
        if view.is_known_agent(*above) && way.is_of_a_screen() {
            return None;
        }
        Some(Way::new(format!("{}, which has a timer", view.name(*above)), way.left_ms))
    })
}

/// The timer of the first process of a pid namespace that is not the reader's: its end ends all that are in it
/// (pid_namespaces(7)).
fn end_of_namespace(view: &View<'_>, subject: &Process) -> Option<Way> {
    let inside = subject.namespaces.pid;
    let own = view.process(view.after.reader.pid).map_or(0, |reader| reader.namespaces.pid);
    let is_first = |one: &&Process| one.namespaces.pid == inside && one.ns_pid == 1 && one.pid != subject.pid;
    let first = view.after.processes().find(|one| inside != 0 && inside != own && is_first(one))?;
    let way = nap(view, first, subject.pid).filter(Way::is_soon)?;
    let what = format!("{}, the first process of its pid namespace, which has a timer", view.name(first.pid));
    Some(Way::new(what, way.left_ms))
}

/// Whether a `timeout` has no time left that ends anything: it was told none, or what it has sent had no effect.
fn is_spent(view: &View<'_>, process: &Process) -> bool {
    let is_timeout = process.args.first().is_some_and(|arg| ["timeout", "gtimeout"].contains(&kind::stem(arg)));
    is_timeout
        && match Timeout::of(process) {
            Some(timeout) => timeout.left_ms(view, process).is_none(),
            None => process.args.iter().skip(1).any(|arg| span(arg).is_some_and(|span| span.is_zero())),
        }
}

/// The `timeout` that will end a process soonest. What is above whoever looks as well ends the look too, and says nothing of
/// what is looked at.
pub fn by_timeout(view: &View<'_>, subject: &Process) -> Option<Way> {
    let common = above_reader(view);
    let apart = view.after.processes().filter(|process| !common.contains(&process.pid));
    let timeouts = apart.filter_map(|process| Some((process, Timeout::of(process)?)));
    let reaching = timeouts.filter(|(process, timeout)| timeout.reaches(view, process, subject));
    let ways = reaching.filter_map(|(process, timeout)| {
        Some(Way::new(view.name(process.pid).to_string(), Some(timeout.left_ms(view, process)?)))
    });
    ways.min_by_key(|way| way.left_ms)
}

/// Whoever looks, and all above it.
fn above_reader(view: &View<'_>) -> Vec<Pid> {
    let reader = view.after.reader.pid;
    view.ancestors(reader).chain([reader]).collect()
}

/// Those above a process that may have started it with a limit: of the tree, and outside of it the one of its session that
/// started it, if that is not above whoever looks as well.
fn over(view: &View<'_>, pid: Pid) -> Vec<Pid> {
    let common = above_reader(view);
    let session = view.process(pid).map_or(0, |process| process.session);
    let of_session = |above: &Pid| {
        *above > 1
            && !common.contains(above)
            && view.process(*above).is_some_and(|process| process.session == session && session > 0)
    };
    let (inside, outside): (Vec<Pid>, Vec<Pid>) =
        view.ancestors(pid).partition(|above| view.after.tree.contains_key(above));
    // a shell between does nothing by itself
    let is_shell = |above: &&Pid| view.process(**above).is_some_and(|one| SHELLS.contains(&kind::program(one)));
    let shells = outside.iter().take_while(|above| is_shell(above) && of_session(above)).count();
    inside.into_iter().chain(outside.into_iter().take(shells + 1).filter(|above| of_session(above))).collect()
}

/// A process's own timer, or that of a child that it waits for, which is not on the way to `subject`.
pub fn nap(view: &View<'_>, process: &Process, subject: Pid) -> Option<Way> {
    let waits = view.waits(process);
    if let Some(way) = own(view, process).into_iter().next() {
        return Some(way);
    }
    let waits_for_a_child = waits.iter().any(|wait| matches!(wait.on, On::Child(_)));
    let mut children = view.after.processes().filter(|child| {
        child.ppid == process.pid && child.state != State::Zombie && !view.after.descends(subject, child.pid)
    });
    if !waits_for_a_child {
        return None;
    }
    let waited = |child: &Process| {
        waits.iter().any(|wait| match wait.on {
            On::Child(pid) => pid <= 0 || pid == child.pid || pid == child.ns_pid,
            _ => false,
        })
    };
    children.find_map(|child| if waited(child) { timer(child, &view.waits(child)) } else { None })
}

/// Whether a process that sleeps may end another one after it: a shell that was told to kill, or a copy of a process above
/// the other, which goes on as its own code says.
fn may_kill(view: &View<'_>, process: &Process, subject: &Process, above: &[Pid]) -> bool {
    if view.after.descends(subject.pid, process.pid) {
        return false;
    }
    let shell = SHELLS.contains(&kind::program(process));
    let near = view.after.tree.contains_key(&process.pid)
        || process.session == subject.session
        || process.args.iter().any(|arg| names(arg, subject.pid) || above.iter().any(|pid| names(arg, *pid)));
    if shell && near && process.args.iter().any(|arg| arg.contains("kill")) {
        return true;
    }
    // a worker of the same server looks for requests again and again, and for nothing else
    let takes =
        |fd: &i32| process.fd(*fd).and_then(|fd| view.socket(fd)).is_some_and(|it| it.state == SocketState::Listening);
    if view.waits(process).iter().any(|wait| matches!(&wait.on, On::Input(fd) if takes(fd))) {
        return false;
    }
    let is_copy_of = |other: &Process| {
        other.pid != process.pid && !process.args.is_empty() && other.args == process.args && other.exe == process.exe
    };
    let origins = std::iter::once(subject).chain(above.iter().filter_map(|pid| view.process(*pid)));
    let parent = process.ppid;
    origins
        .into_iter()
        .any(|origin| is_copy_of(origin) && (parent == origin.pid || parent <= 1 || origin.ppid == parent))
}

/// Whether an argument has the number of a process as a word.
fn names(arg: &str, pid: Pid) -> bool {
    arg.split(|c: char| !c.is_ascii_digit()).any(|word| word.parse() == Ok(pid))
}

/// What a `timeout` was told: that of GNU coreutils, which is above its command, or that of busybox, whose watchdog is beside
/// it.
#[derive(Debug, PartialEq)]
struct Timeout {
    after: Duration,
    then: Option<Duration>,
    signal: i32,
    foreground: bool,
    command: Vec<String>,
}

impl Timeout {
    fn of(process: &Process) -> Option<Timeout> {
        let mut args = process.args.iter().map(String::as_str).peekable();
        match kind::stem(args.next()?) {
            "timeout" | "gtimeout" => {}
            "busybox" if args.next() == Some("timeout") => {}
            _ => return None,
        }
        let (mut after, mut then, mut signal, mut foreground) = (None, None, libc::SIGTERM, false);
        while let Some(option) = args.next_if(|arg| arg.starts_with('-') && arg.len() > 1) {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) if option.starts_with("--") => (name, Some(value)),
                _ if !option.starts_with("--") && option.len() > 2 => {
                    option.split_at_checked(2).map(|(n, v)| (n, Some(v)))?
                }
                _ => (option, None),
            };
            let mut value = || value.or_else(|| args.next());
            match name {
                "-k" | "--kill-after" => then = Some(span(value()?)?),
                "-s" | "--signal" => signal = signal_of(value()?),
                "-t" => after = Some(span(value()?)?),
                "-f" | "--foreground" => foreground = true,
                "--" => break,
                _ => {}
            }
        }
        let after = match after {
            Some(after) => after,
            None => span(args.next()?)?,
        };
        // 0 means no limit
        (!after.is_zero()).then(|| Timeout {
            after,
            then,
            signal,
            foreground,
            command: args.map(str::to_owned).collect(),
        })
    }

    /// How long it has left; `None` if its time is over and what it sent had no effect.
    fn left_ms(&self, view: &View<'_>, process: &Process) -> Option<u64> {
        let age = Duration::from_nanos(view.after.at_ns.saturating_sub(process.began_ns));
        let ends = [Some(self.after), self.then.map(|then| self.after + then)].into_iter().flatten();
        let left = ends.filter_map(|end| end.checked_sub(age)).min()?;
        u64::try_from(left.as_millis()).ok()
    }

    /// Whether its signal ends `subject`, or each of those that were asked about.
    fn reaches(&self, view: &View<'_>, process: &Process, subject: &Process) -> bool {
        let one = |target: &Process| {
            let signals = &target.signals;
            let deaf = Signals::has(signals.ignored, self.signal) || Signals::has(signals.blocked, self.signal);
            let is_stopped = target.state == State::Stopped && self.signal != libc::SIGKILL;
            if (deaf || is_stopped) && self.then.is_none() {
                return false;
            }
            if view.after.descends(target.pid, process.pid) {
                return target.ppid == process.pid || (!self.foreground && target.pgrp == process.pgrp);
            }
            // the watchdog of busybox is beside its command
            !self.command.is_empty() && target.args == self.command
        };
        let mut roots = view.after.roots.iter().filter_map(|root| view.process(*root)).peekable();
        let is_above = view.after.roots.contains(&process.pid) && view.after.descends(subject.pid, process.pid);
        is_above || one(subject) || (roots.peek().is_some() && roots.all(one))
    }
}

/// `10`, `1.5m`, `2h`, `1d`.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 's') => (&text[..at], 1.0),
        (at, 'm') => (&text[..at], 60.0),
        (at, 'h') => (&text[..at], 3_600.0),
        (at, 'd') => (&text[..at], 86_400.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds).ok()
}

fn signal_of(text: &str) -> i32 {
    match text.trim_start_matches("SIG") {
        "KILL" | "9" => libc::SIGKILL,
        "INT" | "2" => libc::SIGINT,
        "HUP" | "1" => libc::SIGHUP,
        "QUIT" | "3" => libc::SIGQUIT,
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        _ => libc::SIGTERM,
    }
}

/// That a process has a timer too, which may be what it really waits for.
pub fn also_a_timer(view: &View<'_>, process: &Process) -> String {
    let timer = timer(process, &view.waits(process)).filter(|way| !way.is_of_a_screen());
    timer.map(|way| format!(", or for {}", way.words())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(args: &[&str]) -> Option<Timeout> {
        Timeout::of(&Process { args: args.iter().map(|&arg| arg.to_owned()).collect(), ..Process::default() })
    }

    #[test]
    fn what_a_timeout_was_told() {
        let of = |args: &[&str]| {
            told(args).map(|told| {
                (told.after.as_millis(), told.then.map(|then| then.as_millis()), told.signal, told.foreground)
            })
        };
        let term = libc::SIGTERM;
        assert_eq!(of(&["timeout", "10", "cat"]), Some((10_000, None, term, false)));
        assert_eq!(of(&["/usr/bin/timeout", "1.5m", "cat", "-k"]), Some((90_000, None, term, false)));
        assert_eq!(
            of(&["timeout", "-k", "5", "-s", "KILL", "2h", "cat"]),
            Some((7_200_000, Some(5_000), libc::SIGKILL, false))
        );
        assert_eq!(
            of(&["timeout", "--kill-after=1d", "--signal=INT", "--foreground", "1", "x"]),
            Some((1_000, Some(86_400_000), libc::SIGINT, true))
        );
        assert_eq!(
            of(&["timeout", "-k5", "--preserve-status", "-v", "--", "7", "x"]),
            Some((7_000, Some(5_000), term, false))
        );
        assert_eq!(of(&["busybox", "timeout", "-t", "60", "cat"]), Some((60_000, None, term, false)));
        assert_eq!(
            [
                of(&["busybox", "sh"]),
                of(&["cat", "10"]),
                of(&["timeout", "0", "cat"]),
                of(&["timeout"]),
                of(&["timeout", "x", "y"]),
                of(&[]),
                of(&["timeout", "-1", "x"])
            ],
            [const { None }; 7]
        );
        assert_eq!(told(&["busybox", "timeout", "60", "cat", "-n"]).unwrap().command, ["cat", "-n"]);
    }

    #[test]
    fn a_number_is_a_word_of_its_own() {
        assert!(names("sleep 60 && kill 4711", 4711) && names("kill -- -4711;", 4711));
        assert!(!names("sleep 47110", 4711) && !names("", 4711));
    }
}
