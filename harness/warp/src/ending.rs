//! How a run in virtual time ended, as data.
//!
//! Invariant: [`Verdict::Deadlock`] is made only by the classification of waits, and only if every wait is
//! [`Source::Inside`].

use crate::Exit;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// How a run in virtual time ended.
#[derive(Debug, Clone, Serialize)]
pub struct Ending {
    /// The outcome.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Virtual time from the start to the end. In JSON in seconds, with nine places.
    #[serde(rename = "virtual_seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// Real time from the start to the end.
    #[serde(rename = "real_seconds", serialize_with = "seconds")]
    pub real: Duration,
    /// How often the clock jumped.
    pub jumps: u64,
    /// The deadline that expired last.
    pub last: Option<Expiry>,
    /// The timed waits and timers that expired, the most frequent first; at most 20.
    pub timers: Vec<Timer>,
    /// `false` if time flowed with processor time, so that another run may differ.
    pub repeatable: bool,
    /// How many waits of tickers lasted longer than asked; see [`Warp::skip_tickers`](crate::Warp::skip_tickers).
    pub lengthened: u64,
    /// What could not be done in virtual time.
    pub notes: Vec<Note>,
    /// How many processes outlived the command; they were killed.
    pub left: usize,
    /// The processes that ended before and were looked at, in this order ([`Warp::look`](crate::Warp::look)).
    #[serde(skip)]
    pub exits: Vec<Exit>,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The command ended.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended the command.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// Nothing in the tree can ever happen again: proved.
    Deadlock {
        /// What each thread waits for.
        waits: Vec<Wait>,
    },
    /// No timer is left, and a thread waits for something outside of the tree.
    WaitsFor {
        /// What each thread waits for.
        waits: Vec<Wait>,
    },
    /// The tree still lived by its timers when the virtual time was used up.
    Horizon {
        /// What each thread waits for.
        waits: Vec<Wait>,
    },
    /// No timer is left, but what some thread waits for is not known well enough for a proof.
    Undecided {
        /// Why there is no proof.
        why: String,
        /// What each thread waits for.
        waits: Vec<Wait>,
    },
    /// The real time that the run was given was used up; see [`Warp::within`](crate::Warp::within).
    OutOfTime,
    /// The caller's look ended the run.
    Stopped,
}

impl Verdict {
    /// What each thread waited for at the end; nothing if the command ended.
    pub fn waits(&self) -> &[Wait] {
        match self {
            Verdict::Deadlock { waits }
            | Verdict::WaitsFor { waits }
            | Verdict::Horizon { waits }
            | Verdict::Undecided { waits, .. } => waits,
            Verdict::Exited { .. } | Verdict::Signalled { .. } | Verdict::OutOfTime | Verdict::Stopped => &[],
        }
    }
}

/// What one thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The thread's name; control characters are replaced by `?`.
    pub program: String,
    /// The system call that it waits in.
    pub call: String,
    /// The things that can end the wait, each with its origin.
    pub objects: Vec<Object>,
    /// Virtual time until the wait ends by itself.
    #[serde(serialize_with = "maybe_seconds", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
}

/// Something that a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Object {
    /// The thing, such as `fd 3 pipe:[4711]` or `futex 0x7f00`.
    pub name: String,
    /// Where the event that ends the wait would come from.
    pub source: Source,
    /// Processes of the tree that could end the wait.
    pub holders: Vec<i32>,
}

/// Where the event that ends a wait would come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The tree itself.
    Inside,
    /// A process, a person or a machine outside of the tree: which.
    Outside(String),
    /// It is not known: why.
    Unknown(String),
}

/// A deadline that expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// The process whose deadline it was.
    pub pid: i32,
    /// The name of its thread.
    pub program: String,
    /// The system call or the kind of timer.
    pub call: String,
    /// How long the wait lasted in virtual time.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub lasted: Duration,
    /// When it expired, in virtual time from the start.
    #[serde(rename = "at_seconds", serialize_with = "seconds")]
    pub at: Duration,
}

/// All expired deadlines of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timer {
    /// The name of the thread, or of the process whose timer it was.
    pub program: String,
    /// The system call or the kind of timer.
    pub call: String,
    /// How often it expired.
    pub count: u64,
    /// The shortest such wait.
    #[serde(rename = "shortest_seconds", serialize_with = "seconds")]
    pub shortest: Duration,
    /// The longest such wait.
    #[serde(rename = "longest_seconds", serialize_with = "seconds")]
    pub longest: Duration,
}

/// Something that cannot be done in virtual time, and which program wanted it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Note {
    /// The program.
    pub program: String,
    /// What it is.
    pub what: Limit,
}

/// What virtual time does not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// It wanted to trace other processes, as a debugger does. It was told that this is not permitted.
    Traces,
    /// It is installed setuid or setgid, and ran without these rights.
    SetUid,
    /// It is a 32-bit program, whose clocks and waits are real.
    ThirtyTwoBit,
    /// It could not be killed at the end of the run.
    NotKilled,
    /// Its clock reads are slow because its vDSO could not be replaced.
    SlowClock,
}

impl Limit {
    /// It as the predicate of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Limit::Traces => "wanted to trace another process, which is not possible in virtual time; it was refused",
            Limit::SetUid => "is setuid or setgid; in virtual time it runs without these rights",
            Limit::ThirtyTwoBit => "is a 32-bit program; its time is real",
            Limit::NotKilled => {
                "could not be killed: it is frozen, or held in the kernel; it dies when that lets it go"
            }
            Limit::SlowClock => "reads its clock slowly, because its vDSO could not be replaced",
        }
    }
}

/// The most objects of one wait that a text names.
const NAMED: usize = 12;

impl Display for Wait {
    /// What a thread waits for, and who could end the wait.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let objects: Vec<String> = self.objects.iter().take(NAMED).map(ToString::to_string).collect();
        let thread = if self.pid == self.tid { self.pid.to_string() } else { format!("{}/{}", self.pid, self.tid) };
        write!(f, "{} ({thread}) in {} waits for {}", self.program, self.call, objects.join(", "))
    }
}

impl Display for Object {
    /// Its name, and where what ends the wait would come from.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.source {
            Source::Inside if self.holders.is_empty() => f.write_str(name),
            Source::Inside => {
                let holders: Vec<String> = self.holders.iter().map(ToString::to_string).collect();
                write!(f, "{name} (by {})", holders.join(", "))
            }
            Source::Outside(whom) => write!(f, "{name} (from outside: {whom})"),
            Source::Unknown(why) => write!(f, "{name} (unknown: {why})"),
        }
    }
}

impl Display for Timer {
    /// What expired, how often, and how long it was.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shortest, longest) = (in_seconds(self.shortest), in_seconds(self.longest));
        let each = if shortest == longest { format!("{shortest} each") } else { format!("{shortest} to {longest}") };
        write!(f, "{} of {}: {} times, {each}", self.call, self.program, self.count)
    }
}

/// Seconds without zeros at the end.
pub fn in_seconds(span: Duration) -> String {
    let text = format!("{}.{:09}", span.as_secs(), span.subsec_nanos());
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

fn seconds<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(span.as_secs_f64())
}

fn maybe_seconds<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => seconds(span, to),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_no_zeros_at_the_end() {
        assert_eq!(in_seconds(Duration::from_millis(1_500)), "1.5 s");
        assert_eq!(in_seconds(Duration::from_secs(1_800)), "1800 s");
        assert_eq!(in_seconds(Duration::ZERO), "0 s");
    }
}
