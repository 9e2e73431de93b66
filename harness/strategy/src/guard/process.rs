//! The part of guard outside of an agent that is a process.
//!
//! Invariants: a result that is whole is never lost: a process that lingers after it is ended and the run is completed;
//! output that nobody has read is never taken for whole; a line that was said a moment ago is not new, so neither a
//! ticker nor a retry passes for work ([`super::said`]); a terminal is never hung up; silence ends nothing without a look.

use super::parts::PartEnds;
use super::report;
use super::said::{self, Recent};
use super::standing::{Finding, Standing, may_work};
use super::times::{Times, in_words};
use crate::canon::option;
use crate::lines::{Lines, text};
use crate::{Act, Facts, Intended, Intent, ProcessAct, ProcessSeen, Seen, Settled, Strategy, Stream, Whom};
use rehang_evidence::Diagnosis;
use rehang_hangs::{LimitClass, Signature};
use rehang_words::{Canon, Policy, Span, Terminal, VTime};
use serde_json::Value;

/// How long an agent may say nothing at all before a stdin that nobody writes to is closed. (Claude Code 2 waits 3 s.)
pub(super) const MUTE: Span = Span::secs(60);
/// How long a process may live after its result (little-loops main: post_stream_close_grace).
pub(super) const LINGER: Span = Span::secs(300);
/// The time from each step of ending a process to the next.
pub(super) const STEP: Span = Span::secs(30);
const MUTE_TEXT: &str = "there is no output, and stdin is open though nobody writes to it";
const HELD_TEXT: &str = "the process is over, and somebody else holds its pipe";
const FAILED_TEXT: &str = "the agent's result is an error that says nothing";
const CUT_TEXT: &str = "the agent's last message is cut";
/// How many bytes of stdout are kept, for a run that is over without a `result` message.
const TEXT_MAX: usize = 256 * 1_024;

#[derive(Debug)]
pub(super) struct Process {
    times: Times,
    terminal: Option<Terminal>,
    running: bool,
    /// When something new was last said, or the process began or exited.
    moved: VTime,
    /// When a look last found something that may be at work.
    worked: VTime,
    /// The same, of something that is no wait for the next request of its host.
    busy: VTime,
    /// Whether the last look found that it waits for its host's next message.
    between_turns: bool,
    /// When a look was last taken.
    looked: VTime,
    /// A look is under way that decides whether silence ends the run.
    looking: bool,
    /// When anything was last read.
    read: VTime,
    said: bool,
    written: bool,
    closed_stdin: bool,
    open: [bool; 2],
    lines: Lines,
    /// Whether its stdout is a stream of messages: its first line is one. In any other output a line that looks like a
    /// message is quoted, and may be a tool's.
    in_messages: Option<bool>,
    /// The hash of the line that has begun, as far as it has come.
    part: u64,
    recent: Recent,
    text: Vec<u8>,
    result: Option<(bool, String)>,
    exit: Option<i32>,
    ending: Option<Ending>,
    standing: Standing,
    parts: PartEnds,
}

/// The steps of ending a process.
#[derive(Debug, Clone, PartialEq)]
struct Ending {
    /// How many steps were taken: stdin closed, TERM, KILL.
    steps: u8,
    next: VTime,
    why: Why,
}

impl Ending {
    /// Whether a signal was sent, after which nothing that the process says changes why it ends.
    fn has_signalled(&self) -> bool {
        self.steps > 1
    }
}

/// Whether a `result` message says that the turn succeeded. One that was interrupted has no `is_error` (Claude Code
/// 1.0.128 to 2.1.329: `subtype` is `error_during_execution`).
fn succeeded(message: &Value) -> bool {
    message["is_error"] != true && !text(message, "subtype").starts_with("error")
}

/// Why a process is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Its result is whole, and it lives on.
    Lingers,
    /// Its result is whole, and its host has sent no further message for [`Times::person`].
    NoMessage,
    /// Nothing new was said for [`Times::quiet`], and nothing was at work.
    Idle,
    /// Nothing new was said for [`Times::at_work`].
    IdleAtWork,
    /// What looks at it have found.
    Found(Finding),
}

impl Why {
    fn cause(self) -> &'static str {
        match self {
            Why::Lingers | Why::NoMessage => "lingers",
            Why::Idle | Why::IdleAtWork => "idle",
            Why::Found(found) => found.signature.word(),
        }
    }

    fn text(self, times: &Times) -> String {
        match self {
            Why::Lingers => "the result is whole, and the process did not exit".to_owned(),
            Why::NoMessage => {
                format!("the result is whole, and no further message came for {}", in_words(times.person))
            }
            Why::Idle => {
                format!("nothing new was said for {}, and nothing in sight is at work", in_words(times.quiet))
            }
            Why::IdleAtWork => format!("nothing new was said for {}", in_words(times.at_work)),
            Why::Found(found) => found.limit.report.to_owned(),
        }
    }

    fn limit(self, times: &Times) -> Span {
        match self {
            Why::Lingers => LINGER,
            Why::NoMessage => times.person,
            Why::Idle => times.quiet,
            Why::IdleAtWork => times.at_work,
            Why::Found(found) => found.after,
        }
    }
}

impl Process {
    /// One with these limits.
    pub(super) fn with(times: Times) -> Process {
        Process {
            times,
            terminal: None,
            running: false,
            moved: VTime::ZERO,
            worked: VTime::ZERO,
            busy: VTime::ZERO,
            between_turns: false,
            looked: VTime::ZERO,
            looking: false,
            read: VTime::ZERO,
            said: false,
            written: false,
            closed_stdin: false,
            open: [true, true],
            lines: Lines::default(),
            in_messages: None,
            part: said::START,
            recent: Recent::default(),
            text: Vec::new(),
            result: None,
            exit: None,
            ending: None,
            standing: Standing::default(),
            parts: PartEnds::default(),
        }
    }

    fn output(&mut self, now: VTime, stream: Stream, bytes: &[u8]) {
        (self.said, self.read) = (true, now);
        self.standing.moved(now);
        if stream == Stream::Stdout {
            let room = TEXT_MAX - self.text.len().min(TEXT_MAX);
            self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let mut news = false;
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.part = said::hash(self.part, piece);
            let messages = if stream == Stream::Stdout { self.lines.take(piece) } else { Vec::new() };
            if piece.ends_with(b"\n") {
                let line = messages.first().map_or(self.part, |message| said::content(said::START, message));
                news |= self.recent.is_news(line);
                self.part = said::START;
            }
            let is_whole = stream == Stream::Stdout && piece.ends_with(b"\n") && piece != b"\n";
            if is_whole && *self.in_messages.get_or_insert(!messages.is_empty()) {
                messages.iter().for_each(|message| self.message(message));
            }
        }
        if news || !bytes.contains(&b'\n') {
            self.moved = now;
        }
    }

    fn message(&mut self, message: &Value) {
        self.result = match text(message, "type") {
            "result" => Some((succeeded(message), text(message, "result").to_owned())),
            // Another turn has begun.
            "assistant" | "user" | "control_request" => None,
            _ => return,
        };
        // a signal that was sent is not taken back by a word that was under way
        self.ending = self.ending.take().filter(Ending::has_signalled);
    }

    /// What the present state leads to, and when.
    fn plan(&self) -> Option<(VTime, Plan)> {
        if !self.running {
            return None;
        }
        if let Some(ending) = &self.ending {
            return Some((ending.next, Plan::GoOn));
        }
        if self.exit.is_some() {
            return Some(match self.terminal {
                Some(Terminal::StdoutStopped) => (self.moved + self.times.quiet, Plan::LeaveUnread),
                _ => (self.moved.max(self.read) + STEP, Plan::TakeAsOver),
            });
        }
        Some(match () {
            // a process that still speaks is not lingering, until it has said nothing new for long; nor is one that works:
            // Claude Code says a result before the work that it has put into the background is done
            () if self.result.is_some() => {
                // a person may be about to write the next message
                let (why, limit) = match self.between_turns && !self.is_unwritten() {
                    true => (Why::NoMessage, self.times.person),
                    false => (Why::Lingers, LINGER),
                };
                let said = (self.read.max(self.moved) + limit).min(self.moved + self.times.quiet.max(limit));
                let at = said.max(self.busy + LINGER).min(self.moved + self.times.at_work.max(limit));
                (at, Plan::End(why))
            }
            () if self.is_unwritten() && !self.said => (self.moved + MUTE, Plan::CloseStdin(MUTE)),
            // a look that is never answered does not keep the run for ever
            () if self.looking => (self.moved + self.times.at_work, Plan::End(Why::IdleAtWork)),
            () => self.idle(),
        })
    }

    /// When silence ends the run: a look that finds something at work puts it off.
    fn idle(&self) -> (VTime, Plan) {
        let at = self.moved.max(self.worked) + self.times.quiet;
        let last = self.moved + self.times.at_work;
        if at < last { (at, Plan::End(Why::Idle)) } else { (last, Plan::End(Why::IdleAtWork)) }
    }

    /// What a look has found, and what that leads to.
    fn intent_of_finding(&self) -> Option<Intent> {
        let (found, since, at) = self.standing.intent()?;
        let Finding { signature, limit, pid, after, .. } = found;
        let does = match () {
            () if self.closes(&found) => Intended::CloseStdin,
            () if self.parts.may_end(found) => Intended::EndPart,
            () => Intended::End,
        };
        let (cause, text) = (signature.to_string(), limit.report.to_owned());
        let parameter = match limit.class {
            LimitClass::Person => Some("person"),
            LimitClass::Model => Some("model"),
            LimitClass::Tool => Some("tool"),
            LimitClass::ClosedIn
            | LimitClass::Closed
            | LimitClass::Endless
            | LimitClass::Held
            | LimitClass::Stopped => None,
        };
        // other times come before it where nobody alive can end the state
        let parameter = parameter.filter(|_| after == self.times.span_of(limit.class));
        Some(Intent { does, cause, text, pid: Some(pid), since, at, parameter })
    }

    fn intent_of_plan(&self) -> Option<Intent> {
        let (at, plan) = self.plan()?;
        let ending = self.ending.as_ref().map(|ending| ending.why);
        let (does, cause, text, limit) = match plan {
            Plan::CloseStdin(_) => (Intended::CloseStdin, "stdin", MUTE_TEXT.to_owned(), MUTE),
            Plan::TakeAsOver => (Intended::TakeAsOver, "pipe-held", HELD_TEXT.to_owned(), STEP),
            Plan::LeaveUnread => (Intended::TakeAsOver, "unread", self.unread(), self.times.quiet),
            Plan::End(why) => (Intended::End, why.cause(), why.text(&self.times), why.limit(&self.times)),
            // what it is ended for is known only once it has lasted, and is announced as what a look has found
            Plan::EndPart(_) => return None,
            Plan::GoOn => ending.map(|why| (Intended::End, why.cause(), why.text(&self.times), STEP))?,
        };
        let since = VTime(at.0.saturating_sub(limit.as_ms()));
        let parameter = match plan {
            Plan::End(Why::NoMessage) => Some("person"),
            Plan::End(Why::Idle) | Plan::LeaveUnread => Some("quiet"),
            Plan::End(Why::IdleAtWork) => Some("at-work"),
            _ => None,
        };
        Some(Intent { does, cause: cause.to_owned(), text, pid: None, since, at, parameter })
    }

    fn unread(&self) -> String {
        format!("the process is over, and nobody has read what it said for {}", in_words(self.times.quiet))
    }

    /// Whether this finding first has the stdin closed, because it waits for one that nobody writes to: its host may read
    /// what it says meanwhile.
    fn closes(&self, found: &Finding) -> bool {
        let reads = matches!(found.signature, Signature::StdinOpen | Signature::MutualWait);
        self.is_unwritten() && found.is_root && reads
    }

    /// Whether its stdin is a pipe of ours that nobody has written to or closed.
    fn is_unwritten(&self) -> bool {
        self.terminal == Some(Terminal::Pipe) && !self.written && !self.closed_stdin
    }

    /// Carries out what a look leads to.
    fn found(&mut self, now: VTime, diagnosis: &Diagnosis, acts: &mut Vec<Act>) {
        self.standing.see(now, diagnosis, &self.times, self.said);
        match self.standing.due(now) {
            Some(found) if self.closes(&found) => self.carry_out(now, Plan::CloseStdin(found.after), acts),
            Some(found) if self.parts.may_end(found) => self.carry_out(now, Plan::EndPart(found), acts),
            Some(found) => self.carry_out(now, Plan::End(Why::Found(found)), acts),
            None => self.due(now, acts),
        }
    }

    /// Carries out what is due. Whether silence ends the run is decided by a look at this very moment.
    fn due(&mut self, now: VTime, acts: &mut Vec<Act>) {
        let Some((_, plan)) = self.plan().filter(|(at, _)| now >= *at) else { return };
        if matches!(plan, Plan::End(Why::Idle)) && self.looked < now {
            self.looking = true;
            self.standing.look(acts);
            return;
        }
        self.carry_out(now, plan, acts);
    }

    fn carry_out(&mut self, now: VTime, plan: Plan, acts: &mut Vec<Act>) {
        match plan {
            Plan::CloseStdin(after) => {
                self.closed_stdin = true;
                self.standing.moved(now);
                acts.push(Act::Report(Policy {
                    cause: None,
                    ..report("stdin", "close-stdin", MUTE_TEXT, ("limit_ms", after))
                }));
                acts.push(Act::Process(ProcessAct::CloseStdin));
            }
            Plan::End(why) => {
                let limit = why.limit(&self.times);
                let report = report(why.cause(), "end", &why.text(&self.times), ("limit_ms", limit));
                // what its result says is how the run ended, and why
                let cause = report.cause.filter(|_| !matches!(why, Why::Lingers | Why::NoMessage));
                acts.push(Act::Report(Policy { cause, ..report }));
                self.ending = Some(Ending { steps: 0, next: now, why });
                self.standing.over();
                self.parts.over();
                self.go_on(now, acts);
            }
            Plan::EndPart(found) => {
                self.parts.begin(now, found, acts);
                self.standing.moved(now);
            }
            Plan::GoOn => self.go_on(now, acts),
            Plan::LeaveUnread => {
                let unread = self.unread();
                acts.push(Act::Report(report("unread", "end", &unread, ("limit_ms", self.times.quiet))));
                acts.push(Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Holders }));
                self.running = false;
                acts.push(Act::Process(ProcessAct::Settle(Settled::Failed(unread))));
            }
            Plan::TakeAsOver => {
                acts.push(Act::Report(Policy {
                    cause: None,
                    ..report("pipe-held", "take-as-over", HELD_TEXT, ("drain_ms", STEP))
                }));
                acts.push(Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Holders }));
                self.settle(acts);
            }
        }
    }

    /// The next step of ending the process: its stdin is closed if it waits for more, then TERM, then KILL.
    fn go_on(&mut self, now: VTime, acts: &mut Vec<Act>) {
        // Only a pipe can be closed: another stdin is at its end already, and for a terminal it would be a hang-up.
        let holds_stdin = self.terminal == Some(Terminal::Pipe) && !self.closed_stdin;
        let Some(ending) = &mut self.ending else { return };
        // an agent that has said its result may end at the end of its stdin
        if ending.steps == 0 && (self.result.is_none() || !holds_stdin) {
            ending.steps = 1;
        }
        match ending.steps {
            0 => acts.push(Act::Process(ProcessAct::CloseStdin)),
            1 => acts.push(Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Tree })),
            2 => acts.push(Act::Process(ProcessAct::Kill { sig: "KILL", whom: Whom::Tree })),
            _ => return self.settle(acts),
        }
        ending.steps += 1;
        ending.next = now + STEP;
    }

    fn settle(&mut self, acts: &mut Vec<Act>) {
        self.running = false;
        let stopped = self.ending.as_ref().map(|ending| ending.why).filter(|_| self.result.is_none());
        let settled = match (stopped, self.result.take(), self.exit) {
            (Some(why), ..) => Settled::Stopped(why.cause().to_owned(), why.text(&self.times)),
            (None, Some((true, text)), _) => Settled::Completed(text),
            (None, Some((false, text)), _) if text.is_empty() => Settled::Failed(FAILED_TEXT.to_owned()),
            (None, Some((false, text)), _) => Settled::Failed(text),
            (None, None, _) if self.lines.is_cut() => Settled::Failed(CUT_TEXT.to_owned()),
            (None, None, Some(0)) => Settled::Completed(String::from_utf8_lossy(&self.text).into_owned()),
            (None, None, code) => Settled::Failed(format!("exited with {}", code.unwrap_or(-1))),
        };
        acts.push(Act::Process(ProcessAct::Settle(settled)));
    }

    fn exited(&mut self, now: VTime, code: i32, acts: &mut Vec<Act>) {
        self.exit = Some(code);
        self.moved = now;
        self.standing.over();
        self.parts.over();
        match &self.ending {
            // it is over; the processes that it left get no time of their own here (`supervise` gives them the grace)
            Some(ending) if ending.has_signalled() => {
                acts.push(Act::Process(ProcessAct::Kill { sig: "KILL", whom: Whom::Tree }));
                self.settle(acts);
            }
            _ => {
                self.ending = None;
                self.running = self.open != [false, false];
            }
        }
    }
}

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// Nothing was written to it for this long.
    CloseStdin(Span),
    End(Why),
    /// What hangs below the agent is ended, and the agent goes on.
    EndPart(Finding),
    GoOn,
    TakeAsOver,
    LeaveUnread,
}

impl Strategy for Process {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Terminal(terminal)) => self.terminal = Some(*terminal),
            // a step that does nothing would cost its time
            Seen::Process(ProcessSeen::StdinIsTheCallers) => self.closed_stdin = true,
            Seen::Process(ProcessSeen::Started { .. }) => {
                (self.running, self.moved, self.worked, self.looked, self.read) = (true, now, now, now, now);
                self.busy = now;
                self.standing.moved(now);
            }
            Seen::Process(ProcessSeen::Output(stream, bytes)) => self.output(now, *stream, bytes),
            Seen::Process(ProcessSeen::OutputEnd(stream)) => {
                self.open[usize::from(*stream == Stream::Stderr)] = false;
                // Both ends and the exit: the unchanged wrapper says how it ended.
                self.running &= self.open != [false, false] || self.exit.is_none();
            }
            Seen::Process(ProcessSeen::Wrote(_)) => {
                (self.written, self.moved) = (true, now);
                self.standing.moved(now);
            }
            Seen::Process(ProcessSeen::Looked(diagnosis)) if self.running => {
                (self.looked, self.looking) = (now, false);
                self.between_turns = diagnosis.signature == Signature::BetweenTurns;
                if may_work(diagnosis) || self.standing.has_written(diagnosis) {
                    self.worked = now;
                    if ![Signature::BetweenTurns, Signature::Serves].contains(&diagnosis.signature) {
                        self.busy = now;
                    }
                }
                if self.ending.is_none() && self.exit.is_none() {
                    self.found(now, diagnosis, acts);
                }
            }
            Seen::Process(ProcessSeen::Exited(code)) if self.running => self.exited(now, *code, acts),
            Seen::Tick => {
                self.parts.tick(now, acts);
                self.due(now, acts);
                self.standing.tick(now, acts);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        let planned = self.plan().map(|(at, _)| at);
        [planned, self.standing.deadline(), self.parts.deadline()].into_iter().flatten().min()
    }

    fn intent(&self) -> Option<Intent> {
        let all = [self.intent_of_finding(), self.intent_of_plan()];
        all.into_iter().flatten().min_by_key(|intent| intent.at)
    }

    /// An agent that says something new for ever is not ended.
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            times,
            terminal,
            running,
            moved,
            worked,
            busy,
            between_turns,
            looked,
            looking,
            read,
            said,
            written,
            closed_stdin,
            open,
            lines,
            in_messages,
            part,
            recent,
            text,
            result,
            exit,
            ending,
            standing,
            parts,
        } = self;
        standing.canon(canon, times);
        parts.canon(canon);
        canon.flag(*running).flag(*said).flag(*written).flag(*closed_stdin).flag(*looking).flag(*between_turns);
        if *running {
            // If it does not run, these are not read, and a start sets them. Of a look counts whether it is this moment's.
            canon
                .age(*moved, times.at_work.max(times.quiet).max(LINGER))
                .age(*worked, times.quiet)
                .age(*busy, LINGER)
                .age(*looked, Span::ms(1))
                .age(*read, LINGER);
        }
        option(canon, *terminal, |canon, terminal| {
            canon.num(terminal as u64);
        });
        canon.flag(open[0]).flag(open[1]).num(*part).bytes(text);
        lines.canon(canon);
        option(canon, *in_messages, |canon, are| {
            canon.flag(are);
        });
        recent.canon(canon);
        option(canon, result.as_ref(), |canon, (ok, text)| {
            canon.flag(*ok).text(text);
        });
        option(canon, *exit, |canon, code| {
            canon.num(code.cast_unsigned().into());
        });
        option(canon, ending.as_ref(), |canon, Ending { steps, next, why }| {
            canon.num((*steps).into()).deadline(Some(*next)).text(why.cause()).text(&why.text(times));
        });
    }
}
