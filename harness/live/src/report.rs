//! What came of a live cell.
//!
//! Invariant: a report says what was seen and how that is known. On the wall clock a hang is `observed` (nothing moved for
//! a whole window) or met its `deadline`; neither is a proof. Only a deadlock in virtual time is [`Evidence::Proved`].

use rehang_actors::Sight;
use rehang_compat::{Tally, VirtualTime};
use rehang_scenario::OutcomeKind;
use rehang_warp::{Ending, Verdict};
use rehang_wire::opencode::RouteAnswers;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// How that is known.
    pub evidence: Evidence,
    /// How the agent's process ended by itself; `None` if it was alive when the cell was over.
    pub exit: Option<Exit>,
    /// From the first main model request to the end or the verdict, in milliseconds; from the agent's start if no main
    /// request came.
    pub ms: u64,
    /// From the agent's start to the first main model request, in milliseconds; `None` if it never came.
    pub startup_ms: Option<u64>,
    /// What the agent told its model, in order: the results of tool calls.
    pub told: Vec<String>,
    /// How many requests the model server had.
    pub requests: Requests,
    /// Asks that were open at the verdict.
    pub asks: Vec<Ask>,
    /// The last material progress: what, and when in milliseconds as `ms` counts.
    pub last_progress: Option<(String, u64)>,
    /// The agent and all below it, at the verdict; empty if it had ended.
    pub processes: Vec<Process>,
    /// It is hung, and loops rather than waits: it takes CPU time all the while, or asks its model without end.
    pub hot_loop: bool,
    /// What is wrong with the cell itself, or with what the agent sent: an orphan tool result, a tool that was not
    /// offered, a model that was never reached.
    pub problems: Vec<String>,
    /// The network links of the agent's namespace: `lo` alone.
    pub links: Vec<String>,
    /// All that went over the wires, in order.
    pub lines: Vec<Line>,
    /// Lines that were left out of `lines` above its limit.
    pub lines_left_out: u64,
    /// What the server's routes answer, if they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<RouteAnswers>,
    /// If it ran in virtual time: how that went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It came to its end.
    Completed,
    /// Somebody of the scenario ended it.
    Stopped {
        /// Their act.
        cause: String,
    },
    /// The agent said that it failed, or ended with a code that says so.
    Failed {
        /// Why.
        reason: String,
    },
    /// At the deadline it still waited for something that its own limits give it.
    Waiting {
        /// For what.
        what: String,
    },
    /// It hangs.
    Hung {
        /// On what: `question`, `permission`, `stdin`, `bash`, `pipe`, `model`, `hot-loop`, `exit`, `event`, `unknown`, …
        blocked_on: String,
    },
    /// It lived by its timers to the end of the virtual time.
    NoEnd {
        /// What it was blocked on then, in the words of a hang.
        blocked_on: String,
    },
    /// Nobody knows: in virtual time it came to no end, and there is no proof that it never does.
    Undecided {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// Without its cause.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Outcome::Completed => OutcomeKind::Completed,
            Outcome::Stopped { .. } => OutcomeKind::Stopped,
            Outcome::Failed { .. } => OutcomeKind::Failed,
            Outcome::Waiting { .. } => OutcomeKind::Waiting,
            Outcome::Hung { .. } => OutcomeKind::Hung,
            Outcome::NoEnd { .. } => OutcomeKind::NoEnd,
            Outcome::Undecided { .. } => OutcomeKind::Undecided,
        }
    }

    /// The cause of a stop, the reason of a failure, what a hang is blocked on.
    pub fn detail(&self) -> &str {
        match self {
            Outcome::Completed => "",
            Outcome::Stopped { cause: detail }
            | Outcome::Failed { reason: detail }
            | Outcome::Waiting { what: detail }
            | Outcome::Hung { blocked_on: detail }
            | Outcome::NoEnd { blocked_on: detail }
            | Outcome::Undecided { why: detail } => detail,
        }
    }
}

/// How an outcome is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The agent's process ended.
    Exited,
    /// A server's session ended: its client had the last message.
    Settled,
    /// No material progress, no request in flight and no working child for a whole window. A thread shows only its
    /// nearest timer: one that would end this later cannot be seen.
    Observed {
        /// The window, in milliseconds.
        window_ms: u64,
    },
    /// It asks its model again and again, long after the last scripted response.
    Repeats {
        /// How many requests beyond the script.
        requests: u32,
    },
    /// It was alive at the deadline, and something was still going on.
    Deadline {
        /// The deadline, in milliseconds.
        deadline_ms: u64,
    },
    /// In virtual time: each thread waits for what only another one can do, and there is no timer left.
    Proved,
    /// In virtual time: it was alive at the end of it.
    Horizon {
        /// The virtual time of the run, in milliseconds.
        until_ms: u64,
    },
    /// In virtual time: it was alive, and no more is known.
    Undecided,
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Evidence::Exited => f.write_str("exited"),
            Evidence::Settled => f.write_str("settled"),
            Evidence::Observed { window_ms } => write!(f, "observed({})", rehang_scenario::Span::ms(*window_ms)),
            Evidence::Repeats { requests } => write!(f, "repeats({requests})"),
            Evidence::Deadline { .. } => f.write_str("deadline"),
            Evidence::Proved => f.write_str("proved"),
            Evidence::Horizon { until_ms } => write!(f, "horizon({})", rehang_scenario::Span::ms(*until_ms)),
            Evidence::Undecided => f.write_str("undecided"),
        }
    }
}

/// The most waits and the most timers that are kept.
const KEPT: usize = 40;

/// How a run in virtual time went.
fn virtual_time(ending: &Ending, looks: Option<Tally>) -> VirtualTime {
    let waits = ending.verdict.waits();
    // the first thread is that of the supervisor, which holds the other ends
    let supervisor = waits.first().map(|wait| wait.pid);
    let of_agent = waits.iter().filter(|wait| Some(wait.pid) != supervisor);
    let is_alive = matches!(ending.verdict, Verdict::Horizon { .. } | Verdict::OutOfTime);
    let timers = ending.timers.iter().filter(|_| is_alive);
    VirtualTime {
        seconds: ending.elapsed.as_secs_f64(),
        real_seconds: ending.real.as_secs_f64(),
        jumps: ending.jumps,
        repeatable: ending.repeatable,
        lengthened: ending.lengthened,
        waits: of_agent.take(KEPT).map(ToString::to_string).collect(),
        lives_by: timers.take(KEPT).map(ToString::to_string).collect(),
        notes: ending.notes.iter().map(|note| format!("{} {}", note.program, note.what.text())).collect(),
        looks,
    }
}

impl Report {
    /// What is known of an agent that ran in virtual time: the supervisor told what it saw, and the run how it ended. If
    /// the agent was alive, `until` was its time.
    pub(crate) fn in_virtual_time(mut self, ending: &Ending, until: Duration, looks: Option<Tally>) -> Report {
        let blocked_on = self.outcome.detail().to_owned();
        let known = match &ending.verdict {
            Verdict::Exited { .. } | Verdict::Signalled { .. } => None,
            Verdict::Deadlock { .. } => Some((Outcome::Hung { blocked_on }, Evidence::Proved)),
            Verdict::Horizon { .. } => {
                let until_ms = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
                Some((Outcome::NoEnd { blocked_on }, Evidence::Horizon { until_ms }))
            }
            Verdict::OutOfTime => {
                let why = out_of_time(ending.elapsed, &blocked_on);
                Some((Outcome::Undecided { why }, Evidence::Undecided))
            }
            other => Some((Outcome::Undecided { why: why_undecided(other) }, Evidence::Undecided)),
        };
        if let Some((outcome, evidence)) = known.filter(|_| self.evidence == Evidence::Undecided) {
            (self.outcome, self.evidence) = (outcome, evidence);
        }
        self.virtual_time = Some(virtual_time(ending, looks));
        self
    }
}

/// Why it is not known whether an agent ends that was alive when the real time was used up.
fn out_of_time(alive_after: Duration, blocked_on: &str) -> String {
    let after = rehang_scenario::text::duration(u64::try_from(alive_after.as_millis()).unwrap_or(u64::MAX));
    format!("alive after {after}, blocked on {blocked_on}; the real time was used up")
}

fn why_undecided(verdict: &Verdict) -> String {
    use rehang_warp::Source;
    match verdict {
        Verdict::WaitsFor { waits } => {
            let outside = waits.iter().find_map(|wait| {
                let object = wait.objects.iter().find(|object| matches!(object.source, Source::Outside(_)))?;
                Some(format!("{} waits for the outside: {}", wait.program, object))
            });
            outside.unwrap_or_else(|| "it waits for the outside".to_owned())
        }
        Verdict::Undecided { why, .. } => why.clone(),
        _ => "its run was stopped".to_owned(),
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Requests that the model server had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// The agent's own.
    pub main: u32,
    /// On the side: a title, a router, a warm-up.
    pub side: u32,
}

/// An open ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// `question` or `permission`.
    pub kind: String,
    /// Its id, if the wire has one.
    pub id: String,
    /// What is asked.
    pub about: String,
    /// How it is known: `event`, `list`, `control-request`, or `call` if the model called the tool and was never told a
    /// result.
    pub known_by: String,
}

impl Ask {
    /// Makes an ask that a client saw; its text is its questions, or `about` if it has none.
    pub(crate) fn seen(sight: &Sight, known_by: &str, about: &str) -> Ask {
        let asked: Vec<&str> = sight.questions.iter().map(|question| question.question.as_str()).collect();
        Ask {
            kind: if sight.is_question() { "question" } else { "permission" }.to_owned(),
            id: sight.id.clone(),
            about: if asked.is_empty() { about.to_owned() } else { asked.join(" ") },
            known_by: known_by.to_owned(),
        }
    }
}

/// A process at the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its number in the agent's own PID namespace.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its command line.
    pub command: String,
    /// Its state: `S`, `R`, `T`, …
    pub state: char,
    /// CPU time that it took within the window, in clock ticks.
    pub ticks: u64,
    /// Its threads.
    pub threads: Vec<Thread>,
}

/// A thread at the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: char,
    /// The system call that it is in, if it is in one.
    pub syscall: Option<String>,
    /// The descriptor that it waits on, and what that is (`0: pipe`).
    pub waits_on: Option<String>,
    /// The nearest time limit of its wait, in milliseconds; `None` if it has none or it cannot be read.
    pub limit_ms: Option<u64>,
}

/// One thing that went over a wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When, in milliseconds since the agent's start.
    pub ms: u64,
    /// Which wire.
    pub via: Via,
    /// What: a line of text, or JSON.
    pub text: String,
}

/// A wire of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// To the agent's stdin; `<close>` if it was closed.
    Stdin,
    /// From its stdout.
    Stdout,
    /// From its stderr.
    Stderr,
    /// From its terminal: what was written there, without control sequences.
    Screen,
    /// A client's request and its response, as `{method, path, body, status, response}`.
    Http,
    /// An event of its server.
    Event,
    /// A model request, as `{n, main, turn, offered, told}`.
    Model,
    /// A request to its tool server, as `{method, asks, client, accept, session, revision}`.
    Tools,
    /// A person's act.
    Person,
    /// A signal that the agent was sent: its name, without `SIG`.
    Signal,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_warp::{Object, Source, Timer, Wait};

    /// What a supervisor reports at the end of the virtual time.
    fn alive() -> Report {
        Report {
            outcome: Outcome::Hung { blocked_on: "model".to_owned() },
            evidence: Evidence::Undecided,
            exit: None,
            ms: 7,
            startup_ms: Some(1),
            told: Vec::new(),
            requests: Requests::default(),
            asks: Vec::new(),
            last_progress: None,
            processes: Vec::new(),
            hot_loop: false,
            problems: Vec::new(),
            links: Vec::new(),
            lines: Vec::new(),
            lines_left_out: 0,
            routes: None,
            virtual_time: None,
        }
    }

    fn wait(pid: i32, program: &str, source: Source) -> Wait {
        let objects = vec![Object { name: "fd 0 pipe:[1]".to_owned(), source, holders: Vec::new() }];
        Wait { pid, tid: pid, program: program.to_owned(), call: "read".to_owned(), objects, deadline: None }
    }

    fn judged(verdict: Verdict) -> Report {
        let each = Duration::from_millis(25);
        let timer = Timer { program: "a".into(), call: "nanosleep".into(), count: 3, shortest: each, longest: each };
        let ending = Ending {
            verdict,
            elapsed: Duration::from_secs(3_600),
            real: Duration::from_secs(1),
            jumps: 3,
            last: None,
            timers: vec![timer],
            repeatable: true,
            lengthened: 0,
            notes: Vec::new(),
            left: 2,
            exits: Vec::new(),
        };
        alive().in_virtual_time(&ending, Duration::from_secs(3_600), None)
    }

    #[test]
    fn only_a_deadlock_is_a_hang_that_is_proved() {
        let waits = vec![wait(1, "supervisor", Source::Inside), wait(2, "agent", Source::Inside)];
        let hung = judged(Verdict::Deadlock { waits: waits.clone() });
        assert_eq!((hung.outcome.kind(), hung.outcome.detail()), (OutcomeKind::Hung, "model"));
        assert_eq!(hung.evidence, Evidence::Proved);
        let of = hung.virtual_time.expect("it ran in virtual time");
        assert_eq!(of.waits, ["agent (2) in read waits for fd 0 pipe:[1]"], "the supervisor is not the agent");
        assert!(of.lives_by.is_empty());

        let no_end = judged(Verdict::Horizon { waits });
        assert_eq!((no_end.outcome.kind(), no_end.outcome.detail()), (OutcomeKind::NoEnd, "model"));
        assert_eq!(no_end.evidence.to_string(), "horizon(1h)");
        let of = no_end.virtual_time.expect("it ran in virtual time");
        assert_eq!(of.lives_by, ["nanosleep of a: 3 times, 0.025 s each"]);
    }

    #[test]
    fn what_is_not_known_is_undecided_with_its_reason() {
        let outside = vec![wait(2, "agent", Source::Outside("a person".to_owned()))];
        for (verdict, why) in [
            (Verdict::OutOfTime, "alive after 1h, blocked on model; the real time was used up"),
            (Verdict::Undecided { why: "VTIME".to_owned(), waits: Vec::new() }, "VTIME"),
            (
                Verdict::WaitsFor { waits: outside },
                "agent waits for the outside: fd 0 pipe:[1] (from outside: a person)",
            ),
        ] {
            let report = judged(verdict);
            assert_eq!((report.outcome.kind(), report.outcome.detail()), (OutcomeKind::Undecided, why));
            assert_eq!(report.evidence, Evidence::Undecided);
        }
    }

    #[test]
    fn what_the_supervisor_knows_stands() {
        let settled = Report { outcome: Outcome::Completed, evidence: Evidence::Settled, ..alive() };
        let ending = Ending {
            verdict: Verdict::Exited { code: 0 },
            elapsed: Duration::from_secs(2),
            real: Duration::ZERO,
            jumps: 0,
            last: None,
            timers: Vec::new(),
            repeatable: true,
            lengthened: 0,
            notes: Vec::new(),
            left: 0,
            exits: Vec::new(),
        };
        let report = settled.in_virtual_time(&ending, Duration::from_secs(3_600), None);
        assert_eq!((report.outcome, report.evidence), (Outcome::Completed, Evidence::Settled));
    }
}
