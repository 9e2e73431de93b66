//! little-loops' idle timeout: if no line of output comes for a given time, the agent is killed.
//!
//! Invariant: as in the original, time is looked at only when `select(1.0)` returns, the wall clock before
//! the idle clock, both with a strict `>`; and every line of either stream, blank ones too, resets idleness.
//! The 1 s wake-ups that change nothing are not asked for; those that would change something are computed
//! ([`Idle::wake`]).

mod pipe;

use crate::canon::option;
use crate::entry::Value;
use crate::lines::text;
use crate::{
    Act, Entry, Facts, Param, Params, ProcessAct, ProcessSeen, Seat, Seen, Settled, Strategy, Stream, Whom, Wire,
};
use pipe::{Line, Pipe};
use rehang_words::{Canon, Policy, Span, VTime};

/// `select(1.0)`: how often the loop wakes up by itself.
pub const SELECT: Span = Span::secs(1);
/// How long it waits for a process that it has killed (`wait(timeout=10)`).
pub const REAP: Span = Span::secs(10);

/// The versions in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "idle@f54b32f",
        seat: Seat::Outside,
        origin: "BrennonTWilliams/little-loops f54b32f9d, 2026-02-09 17:19",
        summary: "kills the process, not its group, after 600 s without a line; blind while half a line is there; waits for ever on closed pipes",
        speaks: &[Wire::Process],
        params: &[timeout(600), WALL],
        build: |params| Box::new(Idle::new(params, None)),
    },
    Entry {
        name: "idle@off",
        seat: Seat::Outside,
        origin: "BrennonTWilliams/little-loops 6f3f6e07b, the same day 19:44: Rust compiles were silent for more than 600 s",
        summary: "idle@f54b32f with its idle limit off: the wall clock alone",
        speaks: &[Wire::Process],
        params: &[timeout(0), WALL],
        build: |params| Box::new(Idle::new(params, None)),
    },
    Entry {
        name: "idle@grace",
        seat: Seat::Outside,
        origin: "BrennonTWilliams/little-loops main a12b9397",
        summary: "as idle@off; a `result` message ends the reading; then, or on closed pipes, 300 s to exit; TERM, then KILL, to the group (cause `lingers`)",
        speaks: &[Wire::Process],
        params: &[
            timeout(0),
            WALL,
            Param {
                name: "linger",
                default: Value::Span(Span::secs(300)),
                doc: "from the end of reading to the kill (post_stream_close_grace; it was 30 s before)",
            },
            Param {
                name: "kill_grace",
                default: Value::Span(Span::secs(30)),
                doc: "from SIGTERM to SIGKILL (automation.timeout_kill_grace_seconds); 0ms: SIGKILL at once",
            },
        ],
        build: |params| {
            let grace = Grace { linger: params.span("linger"), kill: params.span("kill_grace") };
            Box::new(Idle::new(params, Some(grace)))
        },
    },
];

const fn timeout(secs: u64) -> Param {
    Param {
        name: "timeout",
        default: Value::Span(Span::secs(secs)),
        doc: "the idle limit (AutomationConfig.idle_timeout_seconds); 0ms: off",
    }
}

const WALL: Param = Param {
    name: "wall",
    default: Value::Span(Span::secs(3_600)),
    doc: "the wall clock's limit, looked at first (AutomationConfig.timeout_seconds); 0ms: off",
};

/// What main has and f54b32f9d lacks.
#[derive(Debug, Clone, Copy)]
struct Grace {
    linger: Span,
    kill: Span,
}

#[derive(Debug, Clone)]
struct Idle {
    timeout: Span,
    wall: Span,
    grace: Option<Grace>,
    stdout: Pipe,
    stderr: Pipe,
    started: VTime,
    last_line: VTime,
    /// When the loop last woke up: the next wake-ups are whole seconds later.
    woke: VTime,
    /// Something arrived at this instant: `select` returns, and sees all that arrived with it.
    roused: Option<VTime>,
    result: Option<(bool, String)>,
    exit: Option<i32>,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Nothing is started yet, or all is over.
    Off,
    /// The loop reads the pipes.
    Reads,
    /// `readline` blocks on half a line of this stream: no timer is looked at.
    Wedged(Stream),
    /// Reading is over, but the process is not; it is killed at this time, if given.
    Waits(Option<VTime>),
    /// SIGTERM was sent; SIGKILL is sent at this time.
    Termed(VTime, Cause),
    /// SIGKILL was sent; it is given up at this time, if given (f54b32f waits without limit: `wait()`).
    Killed(Option<VTime>, Cause),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Wall,
    Idle,
    Lingers,
}

impl Idle {
    fn new(params: &Params, grace: Option<Grace>) -> Idle {
        Idle {
            timeout: params.span("timeout"),
            wall: params.span("wall"),
            grace,
            stdout: Pipe::open(),
            stderr: Pipe::open(),
            started: VTime::ZERO,
            last_line: VTime::ZERO,
            woke: VTime::ZERO,
            roused: None,
            result: None,
            exit: None,
            phase: Phase::Off,
        }
    }

    /// The loop's top: whether a pipe is left, and whether a limit has passed; then what `select` returns at once.
    fn turn(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if !self.stdout.open && !self.stderr.open {
            self.stop_reading(now, acts);
        } else if over(now, self.started, self.wall) {
            self.kill(now, Cause::Wall, acts);
        } else if over(now, self.last_line, self.timeout) {
            self.kill(now, Cause::Idle, acts);
        }
    }

    /// `select` returns as long as a pipe is ready: one line of each pipe, then the loop's top again.
    fn select(&mut self, now: VTime, acts: &mut Vec<Act>) {
        while self.phase == Phase::Reads {
            let ready = [Stream::Stdout, Stream::Stderr].map(|s| self.pipe(s).is_ready().then_some(s));
            if ready == [None, None] {
                return;
            }
            for stream in ready.into_iter().flatten() {
                if self.phase == Phase::Reads {
                    self.read(now, stream, acts);
                }
            }
            if self.phase == Phase::Reads {
                self.woke = now;
                self.turn(now, acts);
            }
        }
    }

    fn read(&mut self, now: VTime, stream: Stream, acts: &mut Vec<Act>) {
        match self.pipe(stream).readline() {
            Line::Blocks => self.phase = Phase::Wedged(stream),
            Line::End => self.pipe(stream).open = false,
            Line::Whole(line) => {
                self.last_line = now;
                self.result = result(&line).filter(|_| self.grace.is_some() && stream == Stream::Stdout);
                if self.result.is_some() {
                    self.stop_reading(now, acts);
                }
            }
        }
    }

    /// Bytes or ends have arrived: `readline` goes on where it blocked, and `select` returns.
    fn wake_up(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if let Phase::Wedged(stream) = self.phase
            && self.pipe(stream).is_ready()
        {
            self.phase = Phase::Reads;
            self.read(now, stream, acts);
            if self.phase == Phase::Reads {
                self.woke = now;
                self.turn(now, acts);
            }
        }
        self.select(now, acts);
    }

    fn stop_reading(&mut self, now: VTime, acts: &mut Vec<Act>) {
        self.phase = Phase::Waits(self.grace.map(|grace| now + grace.linger));
        self.reap(acts);
    }

    /// What follows the process's end, if reading is over.
    fn reap(&mut self, acts: &mut Vec<Act>) {
        let Some(exit) = self.exit else { return };
        match self.phase {
            Phase::Waits(_) => {
                // Without a result both pipes have ended, and the unchanged wrapper says how it ended.
                if let Some((ok, text)) = self.result.take() {
                    let ok = ok && exit == 0;
                    acts.push(Act::Process(ProcessAct::Settle(if ok {
                        Settled::Completed(text)
                    } else {
                        Settled::Failed(text)
                    })));
                }
            }
            Phase::Termed(_, cause) | Phase::Killed(_, cause) => self.settle(cause, acts),
            Phase::Off | Phase::Reads | Phase::Wedged(_) => return,
        }
        self.phase = Phase::Off;
    }

    fn kill(&mut self, now: VTime, cause: Cause, acts: &mut Vec<Act>) {
        acts.push(Act::Report(self.report(cause)));
        match self.grace {
            Some(grace) if grace.kill > Span::ZERO => {
                acts.push(Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Group }));
                self.phase = Phase::Termed(now + grace.kill, cause);
            }
            _ => self.kill_hard(now, cause, acts),
        }
        self.reap(acts);
    }

    fn kill_hard(&mut self, now: VTime, cause: Cause, acts: &mut Vec<Act>) {
        let whom = if self.grace.is_some() { Whom::Group } else { Whom::Process };
        acts.push(Act::Process(ProcessAct::Kill { sig: "KILL", whom }));
        self.phase = Phase::Killed(self.grace.map(|_| now + REAP), cause);
    }

    fn settle(&self, cause: Cause, acts: &mut Vec<Act>) {
        acts.push(Act::Process(ProcessAct::Settle(Settled::Stopped(cause.word().to_owned(), self.text(cause)))));
    }

    fn text(&self, cause: Cause) -> String {
        match cause {
            Cause::Wall => format!("timeout after {}s", self.wall.as_ms() / 1_000),
            Cause::Idle => format!("idle timeout after {}s", self.timeout.as_ms() / 1_000),
            Cause::Lingers => {
                let linger = self.grace.map_or(Span::ZERO, |grace| grace.linger);
                format!("process still alive {}s after its streams were closed", linger.as_ms() / 1_000)
            }
        }
    }

    fn report(&self, cause: Cause) -> Policy {
        let mut constants = vec![("idle_ms", self.timeout), ("wall_ms", self.wall)];
        if let Some(grace) = self.grace {
            constants.extend([("linger_ms", grace.linger), ("kill_grace_ms", grace.kill)]);
        }
        Policy {
            detected: Some(cause.word().to_owned()),
            cause: Some(cause.word().to_owned()),
            text: Some(self.text(cause)),
            constants: constants.into_iter().map(|(name, span)| (name.to_owned(), span.as_ms())).collect(),
            ..Policy::default()
        }
    }

    /// The first wake-up of `select(1.0)` at which a limit has passed.
    fn wake(&self) -> Option<VTime> {
        let first = |base: VTime, limit: Span| {
            let seconds = (base + limit).since(self.woke).as_ms() / SELECT.as_ms();
            let at = self.woke + Span(seconds * SELECT.as_ms());
            (limit > Span::ZERO).then(|| if over(at, base, limit) { at } else { at + SELECT })
        };
        [first(self.started, self.wall), first(self.last_line, self.timeout)].into_iter().flatten().min()
    }

    fn pipe(&mut self, stream: Stream) -> &mut Pipe {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}

impl Strategy for Idle {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Started { .. }) if self.phase == Phase::Off && self.exit.is_none() => {
                (self.started, self.last_line, self.woke) = (now, now, now);
                self.phase = Phase::Reads;
            }
            Seen::Process(ProcessSeen::Output(stream, bytes)) => {
                self.pipe(*stream).arrive(bytes);
                self.roused = Some(now);
            }
            Seen::Process(ProcessSeen::OutputEnd(stream)) => {
                self.pipe(*stream).end();
                self.roused = Some(now);
            }
            Seen::Process(ProcessSeen::Exited(code)) => {
                self.exit = Some(*code);
                self.reap(acts);
            }
            Seen::Tick if self.roused.take().is_some() => self.wake_up(now, acts),
            Seen::Tick => match self.phase {
                Phase::Reads if self.wake().is_some_and(|at| now >= at) => {
                    self.woke = now;
                    self.turn(now, acts);
                }
                Phase::Waits(Some(at)) if now >= at => self.kill(now, Cause::Lingers, acts),
                Phase::Termed(at, cause) if now >= at => self.kill_hard(now, cause, acts),
                Phase::Killed(Some(at), cause) if now >= at => {
                    acts.push(Act::Say(format!("process did not exit within {}s of its kill", REAP.as_ms() / 1_000)));
                    self.settle(cause, acts);
                    self.phase = Phase::Off;
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        let next = match self.phase {
            Phase::Off | Phase::Wedged(_) => None,
            Phase::Reads => self.wake(),
            Phase::Waits(at) | Phase::Killed(at, _) => at,
            Phase::Termed(at, _) => Some(at),
        };
        self.roused.into_iter().chain(next).min()
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        let after = self.grace.map_or(Span::ZERO, |grace| grace.linger + grace.kill + REAP);
        (self.wall > Span::ZERO).then(|| self.wall + SELECT + after)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            timeout,
            wall,
            grace: _, // not compared: it never changes after construction
            stdout,
            stderr,
            started,
            last_line,
            woke,
            roused,
            result,
            exit,
            phase,
        } = self;
        match phase {
            Phase::Off => canon.num(0),
            Phase::Reads => canon.num(1),
            Phase::Wedged(stream) => canon.num(2).num(*stream as u64),
            Phase::Waits(at) => canon.num(3).deadline(*at),
            Phase::Termed(at, cause) => canon.num(4).deadline(Some(*at)).num(*cause as u64),
            Phase::Killed(at, cause) => canon.num(5).deadline(*at).num(*cause as u64),
        };
        // Only the loop that reads looks at these, and a start sets all three. Of the last wake-up it reads only the
        // fraction of a second: a limit that has passed is noticed within the second.
        if matches!(phase, Phase::Reads | Phase::Wedged(_)) {
            canon.age(*started, *wall).age(*last_line, *timeout);
            canon.num(canon.now().since(*woke).as_ms() % SELECT.as_ms());
        }
        stdout.canon(canon);
        stderr.canon(canon);
        canon.deadline(*roused);
        option(canon, result.as_ref(), |canon, (ok, text)| {
            canon.flag(*ok).text(text);
        });
        option(canon, *exit, |canon, code| {
            canon.num(code.cast_unsigned().into());
        });
    }
}

impl Cause {
    fn word(self) -> &'static str {
        match self {
            Cause::Wall => "wall",
            Cause::Idle => "idle",
            Cause::Lingers => "lingers",
        }
    }
}

fn over(now: VTime, since: VTime, limit: Span) -> bool {
    limit > Span::ZERO && now.since(since) > limit
}

/// If a line is a `result` message: whether it says that all went well, and its text.
fn result(line: &[u8]) -> Option<(bool, String)> {
    let message: serde_json::Value = serde_json::from_slice(line).ok()?;
    let ok = message["is_error"] != true;
    (text(&message, "type") == "result").then(|| (ok, text(&message, "result").to_owned()))
}

#[cfg(test)]
mod tests;
