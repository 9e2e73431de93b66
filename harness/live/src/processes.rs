//! The agent's processes, looked at once in a while from outside of their namespace.
//!
//! Invariant: looking changes nothing. Commands of the bash tool are recognised by their program, since the sandbox
//! gives it a name of its own.

use crate::report::{Process, Thread};
use rehang_evidence::data::{self, Does, Object, State, TimeLimit};
use rehang_evidence::{Options, Snapshot, take};
use std::collections::BTreeSet;

/// The program that plays commands.
const TOOL: &str = "fake-tool";

/// The agent's processes at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    snapshot: Snapshot,
    init: i32,
}

/// A command of the bash tool that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// It goes on by itself: it computes, or has a time to wait for.
    Works,
    /// It waits for a line of stdin.
    ReadsStdin,
    /// It waits for a line of the terminal.
    ReadsTty,
    /// It waits for ever on nothing.
    Holds,
    /// It was stopped by a signal.
    Stopped,
}

impl Look {
    /// Looks; `None` if the sandbox is gone.
    pub fn take(init: i32) -> Option<Look> {
        let snapshot = take(&[init], &Options::default()).ok()?;
        Some(Look { snapshot, init })
    }

    fn agents(&self) -> impl Iterator<Item = &data::Process> {
        self.snapshot.tree.values().filter(|process| process.pid != self.init && process.state != State::Zombie)
    }

    /// The agent's own process, as the supervisor numbers it: the first child of the sandbox's first process.
    pub fn agent(&self) -> Option<i32> {
        self.agents().filter(|process| process.ppid == self.init).map(|process| process.pid).min()
    }

    /// Processor time that all, the sandbox's first process among them, have used or waited for since an earlier look, in
    /// nanoseconds: on a busy machine a process that has work to do mostly waits.
    pub fn wanted_ns(&self, before: &Look) -> u64 {
        let wanted = |process: &data::Process| -> u64 {
            process.threads.iter().map(|thread| thread.cpu_ns.saturating_add(thread.waited_ns)).sum()
        };
        let earlier = |process: &data::Process| before.snapshot.tree.get(&process.pid).map_or(0, wanted);
        self.snapshot.tree.values().map(|process| wanted(process).saturating_sub(earlier(process))).sum()
    }

    /// Whether a thread runs, wants to, or waits for a disk.
    pub fn is_running(&self) -> bool {
        let runs = |thread: &data::Thread| matches!(thread.state, State::Running | State::Disk);
        self.agents().any(|process| process.threads.iter().any(runs))
    }

    /// All command lines with their processes' numbers.
    pub fn commands(&self) -> BTreeSet<(i32, String)> {
        self.agents().map(|process| (process.pid, process.args.join(" "))).collect()
    }

    /// The commands of the bash tool that run; `left` are those that such a command left behind.
    pub fn tools(&self) -> (Vec<Command>, Vec<Command>) {
        let (mut main, mut left) = (Vec::new(), Vec::new());
        for process in self.agents() {
            let is_tool = process.args.first().is_some_and(|arg| arg.ends_with(TOOL));
            if !is_tool {
                continue;
            }
            let called = process.args.iter().rposition(|arg| arg == "--");
            let called = called.and_then(|at| process.args.get(at + 1)).is_some_and(|name| name.starts_with("step"));
            if called { &mut main } else { &mut left }.push(command(process));
        }
        (main, left)
    }

    /// Whether a thread of the agent waits to write to a pipe or a terminal.
    pub fn is_writing(&self) -> bool {
        let writes = |thread: &data::Thread| {
            thread.call.as_ref().is_some_and(|call| matches!(call.does, Does::Write { fd: 1 | 2 }))
        };
        self.agents().any(|process| process.threads.iter().any(writes))
    }

    /// The processes for the report; `before` is an earlier look, for the CPU time since then.
    pub fn report(&self, before: Option<&Look>) -> Vec<Process> {
        let ticks = |process: &data::Process| process.cpu_ticks.0 + process.cpu_ticks.1;
        let since = |process: &data::Process| {
            let earlier = before.and_then(|look| look.snapshot.tree.get(&process.pid)).map_or(0, ticks);
            ticks(process).saturating_sub(earlier)
        };
        let number = |pid: i32| self.snapshot.tree.get(&pid).map_or(0, |process| process.ns_pid.cast_unsigned());
        self.agents()
            .map(|process| Process {
                pid: process.ns_pid.cast_unsigned(),
                parent: number(process.ppid),
                command: process.args.join(" "),
                state: letter(process.state),
                ticks: since(process),
                threads: process.threads.iter().map(|thread| self.thread(process, thread)).collect(),
            })
            .collect()
    }

    fn thread(&self, process: &data::Process, thread: &data::Thread) -> Thread {
        let call = thread.call.as_ref();
        let what =
            |fd: i32| format!("{fd}: {}", process.fd(fd).map_or_else(|| "?".to_owned(), |d| self.object(&d.what)));
        let waits_on = call.and_then(|call| match &call.does {
            Does::Read { fd } | Does::Write { fd } | Does::Epoll { fd } | Does::Lock { fd } | Does::Connect { fd } => {
                Some(what(*fd))
            }
            Does::Ioctl { fd, .. } | Does::Uring { fd } => Some(what(*fd)),
            Does::Poll { on } => Some(on.iter().map(|watch| what(watch.fd)).collect::<Vec<_>>().join(", ")),
            Does::Child { pid } => Some(format!("child {pid}")),
            Does::Futex => Some("another thread".to_owned()),
            Does::Sleep => Some("time".to_owned()),
            Does::Signal => Some("a signal".to_owned()),
            Does::Open { path, .. } => path.clone(),
            Does::Other => None,
        });
        let limit_ms = call.and_then(|call| match call.limit {
            TimeLimit::GivenMs(ms) | TimeLimit::LeftMs(ms) => Some(ms),
            TimeLimit::Never | TimeLimit::Unknown => None,
        });
        Thread {
            name: thread.comm.clone(),
            state: letter(thread.state),
            syscall: call.map(|call| if call.name.is_empty() { call.number.to_string() } else { call.name.clone() }),
            waits_on: waits_on.filter(|text| !text.is_empty()),
            limit_ms,
        }
    }

    fn object(&self, object: &Object) -> String {
        match object {
            Object::Pipe { .. } => "pipe".to_owned(),
            Object::Fifo { path, .. } => format!("fifo {path}"),
            Object::Socket { inode } => match self.snapshot.sockets.get(inode) {
                Some(socket) if !socket.remote.is_empty() => format!("socket to {}", socket.remote),
                Some(socket) if !socket.local.is_empty() => format!("socket at {}", socket.local),
                _ => "socket".to_owned(),
            },
            Object::Tty { path, .. } => path.clone(),
            Object::Master { .. } => "terminal's master".to_owned(),
            Object::Null => "/dev/null".to_owned(),
            Object::File { path, .. } => path.clone(),
            Object::Epoll { on } => {
                let fds: Vec<String> =
                    on.iter().filter(|watch| watch.input).map(|watch| watch.fd.to_string()).collect();
                format!("epoll of {}", if fds.is_empty() { "nothing".to_owned() } else { fds.join(", ") })
            }
            Object::Event { .. } => "eventfd".to_owned(),
            Object::Timer { .. } => "timer".to_owned(),
            Object::Signal => "signals".to_owned(),
            Object::Children => "its children's ends".to_owned(),
            Object::Process { .. } => "a process's end".to_owned(),
            Object::Inotify => "changes of files".to_owned(),
            Object::Uring { .. } => "io_uring".to_owned(),
            Object::Other { link } => link.clone(),
        }
    }
}

fn command(process: &data::Process) -> Command {
    // in virtual time a sleeping process is held by its tracer
    if process.state == State::Stopped {
        return Command::Stopped;
    }
    let Some(thread) = process.threads.first() else { return Command::Works };
    let Some(call) = thread.call.as_ref() else { return Command::Works };
    let (fds, limited) = match &call.does {
        Does::Poll { on } => {
            let fds: Vec<i32> = on.iter().filter(|watch| watch.input).map(|watch| watch.fd).collect();
            (fds, matches!(call.limit, TimeLimit::GivenMs(_) | TimeLimit::LeftMs(_)))
        }
        Does::Read { fd } => (vec![*fd], false),
        Does::Sleep => return Command::Works,
        Does::Child { .. } | Does::Lock { .. } | Does::Open { .. } => return Command::Holds,
        _ => return Command::Works,
    };
    let tty = |fd: &i32| matches!(process.fd(*fd).map(|d| &d.what), Some(Object::Tty { .. }));
    match fds.as_slice() {
        _ if limited => Command::Works,
        fds if fds.iter().any(|fd| *fd > 2 && tty(fd)) => Command::ReadsTty,
        fds if fds.contains(&0) => Command::ReadsStdin,
        _ => Command::Holds,
    }
}

fn letter(state: State) -> char {
    match state {
        State::Running => 'R',
        State::Sleeping => 'S',
        State::Disk => 'D',
        State::Stopped => 'T',
        State::Traced => 't',
        State::Zombie => 'Z',
        State::Other => '?',
    }
}
