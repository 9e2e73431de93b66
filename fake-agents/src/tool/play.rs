//! Plays steps, one after the other.
//!
//! Invariant: between two resumes the state is the step, how far it is, and the children that still run; a repetition
//! of a step without end is the same state again.

mod outside;

use super::{EXIT_FAILED, EXIT_NOT_STARTED, EXIT_PIPE, EXIT_TIMED_OUT, children, started};
use crate::piped::{READ_BYTES, exit_code};
use rehang_os::os::{
    Child, Disposition, Errno, Fd, FdKind, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Sig, Target, Wait, Write,
};
use rehang_scenario::{
    Canon, Span, VTime,
    turns::{Await, Final, Listen, Lock, OpenFifo, Receive, Step},
};
use rehang_trace::Fact;
use serde_json::json;

/// A block of a `fill`: whole pages, so that a pipe's room is a matter of counting (Linux counts pages, not bytes).
const BLOCK_BYTES: u32 = 4_096;
/// The pause between two tries of a locked database, as SQLite's busy handler has it where it is built without
/// `HAVE_USLEEP` (`sqliteDefaultBusyCallback`); with it, a pause has up to 100 ms.
const BUSY_NAP: Span = Span::secs(1);
/// What every program says that opens `/dev/tty` but has no terminal.
const NO_TTY: &str = "fake-tool: cannot open /dev/tty: No such device or address\n";

/// A process that plays steps.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    steps: Vec<Step>,
    at: usize,
    phase: Phase,
    /// The exit code of the last command.
    status: u8,
    /// Children that were left in the background and have not been reaped.
    left: Vec<Child>,
    /// Those of them whose streams are pipes to this one.
    piped: Vec<Child>,
    /// The processes that were started with pipes to this one.
    started: started::All,
    /// The strategies inside a nested agent.
    inside: Vec<String>,
}

/// How far the current step is.
#[derive(Debug, Clone)]
enum Phase {
    Begin,
    /// Bytes are written; after them this many more bytes of a fill, and then `then`.
    Writing {
        fd: Fd,
        bytes: Vec<u8>,
        more: u32,
        then: Then,
    },
    /// Time passes until this instant.
    Until(VTime, Then),
    /// A line, or everything, is read.
    Reading {
        fd: Fd,
        to_end: bool,
    },
    /// The settings of a terminal change.
    SettingTty(Fd),
    /// A command runs; its exit code counts, unless it is the intermediate of a double fork.
    Running {
        child: Child,
        counts: bool,
    },
    /// A line of a started process is read, up to this instant.
    Receiving {
        fd: Fd,
        until: Option<VTime>,
    },
    /// The end of what the current step names is awaited, up to this instant.
    Awaiting {
        until: Option<VTime>,
    },
    /// A client is to connect, up to this instant.
    Listening {
        fd: Fd,
        until: Option<VTime>,
    },
    /// A first question was asked, and its answer is read.
    Answered {
        fd: Fd,
    },
    /// A connection is kept until this instant.
    Kept {
        fd: Fd,
        until: VTime,
    },
    /// The lock of the cell is waited for, up to this instant.
    Locking {
        fd: Fd,
        until: Option<VTime>,
    },
    /// What was asked for does not come, up to this instant.
    Unanswered {
        fd: Fd,
        until: Option<VTime>,
        on: &'static str,
        /// It is not waited for, but tried again after a nap.
        naps: bool,
    },
    /// All steps are over; this is the exit code.
    Over(u8),
}

/// What follows the present phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    NextStep,
    /// The line of an `every`; it was printed this often.
    PaceLine(u32),
    /// The pause before the next line.
    PacePause(u32),
    ReadTty,
    Exit(u8),
}

/// Whether a resume goes on with the next step.
enum Flow {
    On,
    Rest(Next),
}

impl Tool {
    pub(super) fn new(steps: Vec<Step>, inside: Vec<String>) -> Tool {
        let (left, piped, started) = (Vec::new(), Vec::new(), started::All::default());
        Tool { steps, at: 0, phase: Phase::Begin, status: 0, left, piped, started, inside }
    }

    fn advance(&mut self, os: &mut dyn Os) -> Flow {
        match std::mem::replace(&mut self.phase, Phase::Begin) {
            Phase::Begin => match self.steps.get(self.at).cloned() {
                Some(step) => self.begin(os, &step),
                None if !self.piped.is_empty() => rest(Wait { child: true, on: "child", ..Wait::default() }),
                None => Flow::Rest(Next::Exit(self.status)),
            },
            Phase::Writing { fd, bytes, more, then } => self.write(os, fd, bytes, more, then),
            Phase::Until(at, then) if os.now() < at => {
                self.phase = Phase::Until(at, then);
                rest(Wait { until: Some(at), on: "timer", ..Wait::default() })
            }
            Phase::Until(_, then) => self.then(os, then),
            Phase::Reading { fd, to_end } => self.read(os, fd, to_end),
            Phase::SettingTty(fd) => self.set_tty(os, fd),
            Phase::Running { child, counts } => match os.try_wait(child) {
                None => {
                    self.phase = Phase::Running { child, counts };
                    rest(Wait { child: true, on: "child", ..Wait::default() })
                }
                Some(exit) if counts => self.done(exit_code(exit)),
                Some(_) => self.done(0),
            },
            Phase::Receiving { fd, until } => self.receive(os, fd, until),
            Phase::Awaiting { until } => self.await_end(os, until),
            Phase::Listening { fd, until } => self.listen(os, fd, until),
            Phase::Answered { fd } => {
                let kept = self.fetched().0;
                self.answered(os, fd, kept)
            }
            Phase::Kept { fd, until } => {
                let within = self.fetched().1;
                self.keep(os, fd, until, within)
            }
            Phase::Locking { fd, until } => self.lock(os, fd, until),
            Phase::Unanswered { until, fd, .. } if until.is_some_and(|until| os.now() >= until) => {
                os.close(fd);
                self.done(EXIT_TIMED_OUT)
            }
            Phase::Unanswered { fd, until, on, naps } => {
                self.phase = Phase::Unanswered { fd, until, on, naps };
                if naps {
                    let again = os.now() + BUSY_NAP;
                    let next = until.map_or(again, |until| until.min(again));
                    return rest(Wait { until: Some(next), on, ..Wait::default() });
                }
                rest(Wait { read: vec![fd], until, on, ..Wait::default() })
            }
            Phase::Over(code) => Flow::Rest(Next::Exit(code)),
        }
    }

    fn begin(&mut self, os: &mut dyn Os, step: &Step) -> Flow {
        match step {
            Step::Print(line) => self.say(STDOUT, format!("{line}\n"), Then::NextStep),
            Step::Warn(line) => self.say(STDERR, format!("{line}\n"), Then::NextStep),
            Step::Prompt(text) => self.say(STDOUT, text.clone(), Then::NextStep),
            Step::Sleep(span) => {
                self.phase = Phase::Until(os.now() + *span, Then::NextStep);
                Flow::On
            }
            Step::Every(_) => self.then(os, Then::PacePause(0)),
            Step::Fill(fill) => {
                let fd = if fill.stderr { STDERR } else { STDOUT };
                self.phase = Phase::Writing { fd, bytes: Vec::new(), more: fill.bytes, then: Then::NextStep };
                Flow::On
            }
            Step::Result(last) => self.result(os, last),
            Step::CloseOutput => {
                os.close(STDOUT);
                os.close(STDERR);
                self.done(0)
            }
            Step::ReadStdin => {
                self.phase = Phase::Reading { fd: STDIN, to_end: false };
                Flow::On
            }
            Step::ReadStdinToEnd => {
                self.phase = Phase::Reading { fd: STDIN, to_end: true };
                Flow::On
            }
            Step::AskTty(prompt) => match os.open_tty() {
                Ok(fd) => self.say(fd, prompt.clone(), Then::ReadTty),
                Err(_) => self.say(STDERR, NO_TTY.to_owned(), Then::Exit(EXIT_FAILED)),
            },
            Step::SetTty => {
                let own = (os.kind(STDIN) == FdKind::Tty).then_some(STDIN);
                match own.map_or_else(|| os.open_tty(), Ok) {
                    Ok(fd) => {
                        self.phase = Phase::SettingTty(fd);
                        Flow::On
                    }
                    Err(_) => self.say(STDERR, NO_TTY.to_owned(), Then::Exit(EXIT_FAILED)),
                }
            }
            Step::Ignore(names) => {
                names.iter().filter_map(|n| Sig::from_name(n)).for_each(|s| os.on_signal(s, Disposition::Ignore));
                self.done(0)
            }
            Step::Background(step) => match children::background(os, step) {
                Ok((child, true)) => {
                    self.phase = Phase::Running { child, counts: false };
                    Flow::On
                }
                Ok((child, false)) => {
                    self.left.push(child);
                    if step.piped {
                        self.piped.push(child);
                    }
                    self.done(0)
                }
                Err(errno) => self.not_started(errno),
            },
            Step::Run(steps) => self.command(children::run(os, steps)),
            Step::Start(start) => match self.started.start(os, start) {
                Ok(()) => self.done(0),
                Err(errno) => self.not_started(errno),
            },
            Step::Send(line) => match self.started.stdin(&line.to) {
                Some(fd) => self.say(fd, format!("{}\n", line.line), Then::NextStep),
                // it was hung up earlier
                None => self.done(EXIT_FAILED),
            },
            Step::Receive(Receive { from, within }) => match self.started.stdout(from) {
                Some(fd) => {
                    self.phase = Phase::Receiving { fd, until: within.map(|within| os.now() + within) };
                    Flow::On
                }
                None => self.done(EXIT_FAILED),
            },
            Step::HangUp(name) => {
                self.started.hang_up(os, name);
                self.done(0)
            }
            Step::Await(Await { within, .. }) => {
                self.phase = Phase::Awaiting { until: within.map(|within| os.now() + within) };
                Flow::On
            }
            Step::End(name) => {
                self.started.end(os, name);
                self.phase = Phase::Awaiting { until: None };
                Flow::On
            }
            Step::Listen(Listen { within }) => match os.listen() {
                Ok((fd, _)) => {
                    self.phase = Phase::Listening { fd, until: within.map(|within| os.now() + within) };
                    Flow::On
                }
                Err(_) => self.over(EXIT_FAILED),
            },
            Step::Fetch(fetch) => self.fetch(os, fetch),
            Step::TakeLock(take) => self.take_lock(os, take),
            Step::OpenFifo(OpenFifo { skips: true }) => self.done(0),
            Step::OpenFifo(OpenFifo { skips: false }) => match os.open_fifo() {
                Ok(fd) => {
                    self.phase = Phase::Unanswered { fd, until: None, on: "file", naps: false };
                    Flow::On
                }
                Err(_) => self.over(EXIT_FAILED),
            },
            Step::Lock(Lock { database, within }) => match os.open_locked(*database) {
                Ok(fd) => {
                    let until = within.map(|within| os.now() + within);
                    self.phase = Phase::Unanswered { fd, until, on: "file", naps: *database };
                    Flow::On
                }
                Err(_) => self.over(EXIT_FAILED),
            },
            Step::Agent(nested) => self.command(children::agent(os, nested, &self.inside)),
            Step::Setsid => match os.setsid() {
                Ok(()) => self.done(0),
                // A group's leader cannot do that. setsid(1) then forks, and the caller sees it exit at once.
                Err(_) => match children::go_on_in_session(os, &self.steps[self.at + 1..]) {
                    Ok(_) => self.over(0),
                    Err(errno) => self.not_started(errno),
                },
            },
            Step::Hold => rest(Wait { on: "nothing", ..Wait::default() }),
            Step::Again => {
                // without a wait, steps that take no time would go on for ever within one resume
                (self.at, self.phase) = (0, Phase::Begin);
                rest(Wait { until: Some(os.now()), on: "timer", ..Wait::default() })
            }
            Step::Spin => rest(Wait { until: Some(os.now()), on: "timer", ..Wait::default() }),
            Step::Raise(name) => {
                // The step is over before the signal is sent: a process that stops goes on after the step when it is
                // continued.
                let _ = self.done(0);
                if let Some(sig) = Sig::from_name(name) {
                    let _ = os.kill(Target::Itself, sig);
                }
                rest(Wait { until: Some(os.now()), on: "timer", ..Wait::default() })
            }
            Step::Exit(code) => self.over(*code),
        }
    }

    fn then(&mut self, os: &mut dyn Os, then: Then) -> Flow {
        let pace = match self.steps.get(self.at) {
            Some(Step::Every(every)) => Some(every.clone()),
            _ => None,
        };
        match (then, pace) {
            (Then::PacePause(printed), Some(pace)) if pace.times == 0 || printed < pace.times => {
                let at = os.now() + pace.every;
                self.phase = Phase::Until(at, Then::PaceLine(printed));
                // Without a pause this would go on for ever within one resume.
                rest(Wait { until: Some(at), on: "timer", ..Wait::default() })
            }
            (Then::PaceLine(printed), Some(pace)) => {
                let fd = if pace.stderr { STDERR } else { STDOUT };
                // An endless repetition needs no count, and with one no state would occur twice.
                let printed = if pace.times == 0 { 0 } else { printed + 1 };
                self.say(fd, format!("{}\n", pace.print), Then::PacePause(printed))
            }
            (Then::Exit(code), _) => self.over(code),
            _ => self.done(0),
        }
    }

    fn say(&mut self, fd: Fd, text: String, then: Then) -> Flow {
        self.phase = Phase::Writing { fd, bytes: text.into_bytes(), more: 0, then };
        Flow::On
    }

    /// The result is stated before it is written: the wrapper sees what arrives of it.
    fn result(&mut self, os: &mut dyn Os, last: &Final) -> Flow {
        let (text, line) = result_line(last);
        os.note(Fact::Result { ok: true, text });
        if !last.cut {
            return self.say(STDOUT, line, Then::NextStep);
        }
        let taken = line.as_bytes().chunks(BLOCK_BYTES as usize).try_for_each(|block| match os.write(STDOUT, block) {
            Write::Took(taken) if taken == block.len() => Ok(()),
            _ => Err(()),
        });
        // What was not taken is lost without notice.
        let _ = taken;
        self.done(0)
    }

    fn write(&mut self, os: &mut dyn Os, fd: Fd, mut bytes: Vec<u8>, mut more: u32, then: Then) -> Flow {
        loop {
            if bytes.is_empty() {
                let next = more.min(BLOCK_BYTES);
                if next == 0 {
                    break;
                }
                more -= next;
                bytes = block(next);
            }
            match os.write(fd, &bytes[..bytes.len().min(BLOCK_BYTES as usize)]) {
                Write::Took(taken) => {
                    bytes.drain(..taken.min(bytes.len()));
                }
                Write::Later => {
                    let on = if os.kind(fd) == FdKind::Tty { "tty" } else { "pipe" };
                    self.phase = Phase::Writing { fd, bytes, more, then };
                    return rest(Wait { write: vec![fd], on, ..Wait::default() });
                }
                Write::Failed(Errno::Pipe) => return self.over(EXIT_PIPE),
                // A shell's builtin reports that on stderr and the script goes on; this one just goes on.
                Write::Failed(Errno::BadFd) => break,
                Write::Failed(_) => return self.over(EXIT_FAILED),
            }
        }
        match then {
            Then::ReadTty => {
                self.phase = Phase::Reading { fd, to_end: false };
                Flow::On
            }
            then => self.then(os, then),
        }
    }

    fn read(&mut self, os: &mut dyn Os, fd: Fd, to_end: bool) -> Flow {
        loop {
            // A line is read byte by byte, as a shell's `read` does: the rest is left for the next reader.
            match os.read(fd, if to_end { READ_BYTES } else { 1 }) {
                Read::Data(bytes) if to_end || !bytes.contains(&b'\n') => {}
                Read::Later => {
                    self.phase = Phase::Reading { fd, to_end };
                    let on = if fd == STDIN { "stdin" } else { "tty" };
                    return rest(Wait { read: vec![fd], on, ..Wait::default() });
                }
                // A missing stdin reads as its end, as for a shell's `read`.
                Read::Data(_) | Read::Eof | Read::Failed(Errno::BadFd) => break,
                Read::Failed(_) => return self.over(EXIT_FAILED),
            }
        }
        if fd != STDIN {
            os.close(fd);
        }
        self.done(0)
    }

    /// A line is read byte by byte, so that the rest is left for the next step.
    fn receive(&mut self, os: &mut dyn Os, fd: Fd, until: Option<VTime>) -> Flow {
        loop {
            match os.read(fd, 1) {
                Read::Data(bytes) if !bytes.contains(&b'\n') => {}
                Read::Later if until.is_some_and(|until| os.now() >= until) => return self.done(EXIT_TIMED_OUT),
                Read::Later => {
                    self.phase = Phase::Receiving { fd, until };
                    return rest(Wait { read: vec![fd], until, on: "child", ..Wait::default() });
                }
                Read::Data(_) => return self.done(0),
                Read::Eof | Read::Failed(_) => return self.done(EXIT_FAILED),
            }
        }
    }

    fn await_end(&mut self, os: &mut dyn Os, until: Option<VTime>) -> Flow {
        let name = match self.steps.get(self.at) {
            Some(Step::Await(Await { of: name, .. }) | Step::End(name)) => name,
            _ => return self.done(EXIT_FAILED),
        };
        if self.started.is_over(name) {
            return self.done(0);
        }
        if until.is_some_and(|until| os.now() >= until) {
            return self.done(EXIT_TIMED_OUT);
        }
        // the end of a process that is not reaped, or that never began, cannot be told
        let child = self.started.can_end(name);
        self.phase = Phase::Awaiting { until };
        rest(Wait { until, child, on: "child", ..Wait::default() })
    }

    fn listen(&mut self, os: &mut dyn Os, fd: Fd, until: Option<VTime>) -> Flow {
        let status = match os.accept(fd) {
            Some(connection) => {
                os.close(connection);
                0
            }
            None if until.is_some_and(|until| os.now() >= until) => EXIT_TIMED_OUT,
            None => {
                self.phase = Phase::Listening { fd, until };
                return rest(Wait { read: vec![fd], until, on: "client", ..Wait::default() });
            }
        };
        os.close(fd);
        self.done(status)
    }

    /// For how long the present question's connection is kept, and the limit to its answer.
    fn fetched(&self) -> (Span, Option<Span>) {
        match self.steps.get(self.at) {
            Some(Step::Fetch(fetch)) => (fetch.kept.unwrap_or(Span::ZERO), fetch.within),
            _ => (Span::ZERO, None),
        }
    }

    fn set_tty(&mut self, os: &mut dyn Os, fd: Fd) -> Flow {
        match os.set_tty(fd) {
            Write::Later => {
                self.phase = Phase::SettingTty(fd);
                return rest(Wait { write: vec![fd], on: "tty", ..Wait::default() });
            }
            Write::Took(_) => {}
            Write::Failed(_) => return self.over(EXIT_FAILED),
        }
        if fd != STDIN {
            os.close(fd);
        }
        self.done(0)
    }

    fn command(&mut self, started: Result<Child, Errno>) -> Flow {
        match started {
            Ok(child) => {
                self.phase = Phase::Running { child, counts: true };
                Flow::On
            }
            Err(errno) => self.not_started(errno),
        }
    }

    fn not_started(&mut self, errno: Errno) -> Flow {
        self.status = EXIT_NOT_STARTED;
        self.at += 1;
        self.say(STDERR, format!("fake-tool: cannot start a process: {errno:?}\n"), Then::Exit(EXIT_NOT_STARTED))
    }

    /// The step ends with this exit code.
    fn done(&mut self, status: u8) -> Flow {
        self.status = status;
        self.at += 1;
        self.phase = Phase::Begin;
        Flow::On
    }

    fn over(&mut self, code: u8) -> Flow {
        self.phase = Phase::Over(code);
        Flow::On
    }
}

impl Program for Tool {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        self.left.retain(|child| os.try_wait(*child).is_none());
        self.piped.retain(|child| self.left.contains(child));
        loop {
            // What was started in this resume may also have ended in it: a step ends it.
            self.started.reap(os);
            if let Flow::Rest(next) = self.advance(os) {
                return match next {
                    // A shell reaps its background processes whenever they end; a zombie would count as a child.
                    Next::Wait(wait) => {
                        let child = wait.child || !self.left.is_empty() || self.started.any_lives();
                        Next::Wait(Wait { child, ..wait })
                    }
                    exit => exit,
                };
            }
        }
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            steps: _, // not compared: they never change
            at,
            phase,
            status,
            left,
            piped,
            started,
            inside: _, // not compared: they never change
        } = self;
        started.canon(canon);
        canon.num(*at as u64).num((*status).into());
        canon.list(left, |canon, child| {
            canon.num(child.0.into()).flag(piped.contains(child));
        });
        match phase {
            Phase::Begin => canon.num(0),
            Phase::Writing { fd, bytes, more, then } => {
                canon.num(1).num(fd.0.into()).bytes(bytes).num((*more).into());
                then.canon(canon)
            }
            Phase::Until(at, then) => {
                canon.num(2).deadline(Some(*at));
                then.canon(canon)
            }
            Phase::Reading { fd, to_end } => canon.num(3).num(fd.0.into()).flag(*to_end),
            Phase::SettingTty(fd) => canon.num(4).num(fd.0.into()),
            Phase::Running { child, counts } => canon.num(5).num(child.0.into()).flag(*counts),
            Phase::Over(code) => canon.num(6).num((*code).into()),
            Phase::Receiving { fd, until } => canon.num(7).num(fd.0.into()).deadline(*until),
            Phase::Awaiting { until } => canon.num(8).deadline(*until),
            Phase::Listening { fd, until } => canon.num(9).num(fd.0.into()).deadline(*until),
            Phase::Answered { fd } => canon.num(11).num(fd.0.into()),
            Phase::Kept { fd, until } => canon.num(12).num(fd.0.into()).deadline(Some(*until)),
            Phase::Locking { fd, until } => canon.num(13).num(fd.0.into()).deadline(*until),
            Phase::Unanswered { fd, until, on, naps } => {
                canon.num(10).num(fd.0.into()).deadline(*until).text(on).flag(*naps)
            }
        };
    }
}

impl Then {
    fn canon(self, canon: &mut Canon) -> &mut Canon {
        match self {
            Then::NextStep => canon.num(0),
            Then::PaceLine(printed) => canon.num(1).num(printed.into()),
            Then::PacePause(printed) => canon.num(2).num(printed.into()),
            Then::ReadTty => canon.num(3),
            Then::Exit(code) => canon.num(4).num(code.into()),
        }
    }
}

fn rest(wait: Wait) -> Flow {
    Flow::Rest(Next::Wait(wait))
}

/// A result's text, padded, as a line: a `result` message of stream-json.
fn result_line(last: &Final) -> (String, String) {
    if !last.lines.is_empty() {
        return (last.text.clone(), last.lines.join("\n") + "\n");
    }
    let line = |text: &str| {
        let message = json!({ "type": "result", "subtype": "success", "is_error": false, "result": text });
        format!(
            "{message}
"
        )
    };
    let padding = (last.bytes as usize).saturating_sub(line(&last.text).len());
    let text = format!("{}{}", last.text, "x".repeat(padding));
    let line = line(&text);
    (text, line)
}

/// Bytes that look like a log: one line for each block.
fn block(bytes: u32) -> Vec<u8> {
    let mut block = vec![b'x'; bytes as usize];
    if let Some(last) = block.last_mut() {
        *last = b'\n';
    }
    block
}
