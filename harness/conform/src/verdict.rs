//! What a run shows about the agent.
//!
//! Invariant: [`Verdict::Owes`] is made only of a deadlock that the tracer proved, or of a run that was still alive at its
//! horizon; whatever else has no end is [`Verdict::Undecided`].

use crate::client::What;
use crate::fault::Fault;
use crate::message::Answer;
use crate::obligation::{Ledger, Obligation, Side};
use crate::protocol::{self, NO_METHOD};
use crate::run::Run;
use crate::script::{Expect, Step};
use rehang_warp::{Object, Verdict as End, Wait};
use rehang_words::text::{counted, cut, duration, in_one_line};
use serde::Serialize;
use std::collections::BTreeSet;

/// The most waits that are named.
const PLACES: usize = 6;
/// The longest text of the agent's that is quoted, in characters.
const QUOTED: usize = 120;
/// Signals by which a program ends whose pipes or whose client are gone: HUP, PIPE, TERM.
const OF_A_PIPE: [i32; 3] = [1, 13, 15];

/// What a run shows, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The agent met all that it owed.
    Fine,
    /// So it did, with an error as a reply, where an error is right.
    ErrorReply,
    /// The client was silent, and after some time the agent went on without it.
    GivesUp,
    /// The client was silent, and the agent waits for it without a limit. That is a fact, and no fault.
    Waits,
    /// The fault was not played: what it needs did not happen.
    NotReached,
    /// It is not known.
    Undecided,
    /// A reply is not what the protocol says.
    Wrong,
    /// The agent's process ended though its stdin was open, or after that by a signal that no end of a pipe explains.
    Died,
    /// The agent never gives what it owes.
    Owes,
}

impl Verdict {
    /// It as a word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Fine => "fine",
            Verdict::ErrorReply => "error",
            Verdict::GivesUp => "gives-up",
            Verdict::Waits => "waits",
            Verdict::NotReached => "not-reached",
            Verdict::Undecided => "undecided",
            Verdict::Wrong => "WRONG",
            Verdict::Died => "DIED",
            Verdict::Owes => "OWES",
        }
    }

    /// Whether it speaks against the agent.
    pub fn is_finding(self) -> bool {
        self >= Verdict::Wrong
    }
}

/// A run, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What it shows.
    pub verdict: Verdict,
    /// That in a sentence whose subject is the agent; it quotes the agent, in one line without control characters.
    pub text: String,
    /// What its processes wait for, if it has not ended.
    pub places: Vec<String>,
    /// Who owed what.
    pub ledger: Ledger,
}

impl Judged {
    /// Judges a run.
    pub fn of(fault: &Fault, run: &Run) -> Judged {
        let ledger = Ledger::of(&run.events);
        let end = &run.ending.verdict;
        let (verdict, text) = match end {
            End::Exited { .. } => over(fault, &ledger),
            End::Deadlock { .. } | End::Horizon { .. } => silent(fault, &ledger, run),
            End::OutOfTime => (Verdict::Undecided, "used up the real time (--within)".to_owned()),
            End::WaitsFor { waits } => (Verdict::Undecided, outside(waits)),
            End::Undecided { why, .. } => (Verdict::Undecided, format!("waits, but {}", in_one_line(why))),
            End::Signalled { .. } | End::Stopped => (Verdict::Undecided, "was stopped".to_owned()),
        };
        let places = places(run);
        Judged { verdict, text, places, ledger }
    }

    /// What it shows if lines on stdout that are no messages are wrong: nothing else is known to speak against the agent.
    #[must_use]
    pub fn with_odd_lines(mut self) -> Judged {
        if let Some(line) = self.ledger.odd_lines.first().filter(|_| self.verdict < Verdict::Undecided) {
            let line = cut(&in_one_line(line), QUOTED);
            (self.verdict, self.text) = (Verdict::Wrong, format!("writes to stdout what is no message: {line}"));
        }
        self
    }
}

fn outside(waits: &[Wait]) -> String {
    let is_outside = |object: &&Object| matches!(object.source, rehang_warp::Source::Outside(_));
    let found = waits.iter().find_map(|wait| Some((wait, wait.objects.iter().find(is_outside)?)));
    match found {
        Some((wait, object)) => {
            format!("waits for the outside: {} for {}", wait.program, in_one_line(&object.to_string()))
        }
        None => "waits for the outside".to_owned(),
    }
}

/// The client has played its plan, or the agent has ended.
fn over(fault: &Fault, ledger: &Ledger) -> (Verdict, String) {
    if let Some(wrong) = ledger.all.iter().find_map(wrong) {
        return (Verdict::Wrong, wrong);
    }
    if let Some(id) = ledger.strays.first() {
        return (Verdict::Wrong, format!("replies to {}, a request that nobody made", in_one_line(&id.to_string())));
    }
    if let Some((ms, code, said)) = &ledger.ended {
        let with = if *code < 0 { format!("by signal {}", -code) } else { format!("with {code}") };
        if let Some(closed) = ledger.closed {
            let verdict = if *code >= 0 || OF_A_PIPE.contains(&-code) { Verdict::Fine } else { Verdict::Died };
            let after = duration(ms.saturating_sub(closed));
            return (verdict, format!("ends {with}, {after} after the end of its stdin"));
        }
        if !ledger.is_over {
            let said = cut(&in_one_line(said.trim()), QUOTED);
            let said = if said.is_empty() { said } else { format!(": {said}") };
            let owed = ledger.open(Side::Agent).next().map(|debt| format!(", and owes the reply to {}", debt.name()));
            return (Verdict::Died, format!("ends {with} at {}{}{said}", duration(*ms), owed.unwrap_or_default()));
        }
    }
    if let Some((ms, count)) = ledger.too_much {
        let why = format!("writes without an end: {} until {}", counted(count, "event"), duration(ms));
        return (Verdict::Undecided, why);
    }
    if let Some(why) = &ledger.not_reached {
        return (Verdict::NotReached, why.clone());
    }
    if !ledger.is_over {
        return (Verdict::Undecided, "is in a run whose record has no end".to_owned());
    }
    // the client never answered, and yet the turn is over
    if let Some(asked) = ledger.open(Side::Client).next().filter(|_| fault.may_wait) {
        let prompt = ledger.all.iter().find(|debt| debt.by == Side::Agent && debt.method == "session/prompt");
        let after = prompt.and_then(|prompt| prompt.replies.first()).map(|(ms, _)| ms.saturating_sub(asked.since));
        return (Verdict::GivesUp, format!("gives up {} after {}", asked.name(), duration(after.unwrap_or(0))));
    }
    let error = ledger.all.iter().filter(|debt| debt.by == Side::Agent).find_map(|debt| match debt.replies.first() {
        Some((_, answer @ Answer::Error { .. })) => Some((debt, answer)),
        _ => None,
    });
    match error {
        Some((debt, answer)) => {
            let answer = cut(&in_one_line(&answer.describe()), QUOTED);
            (Verdict::ErrorReply, format!("answers {} with {answer}", debt.name()))
        }
        None => (Verdict::Fine, "answers all".to_owned()),
    }
}

/// What is wrong with the replies to a request of the client's.
fn wrong(debt: &Obligation) -> Option<String> {
    let (expect, (_, answer)) = (debt.expect?, debt.replies.first()?);
    let (name, described) = (debt.name(), cut(&in_one_line(&answer.describe()), QUOTED));
    if debt.replies.len() > 1 {
        return Some(format!("answers {name} {} times", debt.replies.len()));
    }
    if let Answer::Result(result) = answer
        && let Some(fault) = protocol::fault_of(&debt.method, result)
        && !matches!(expect, Expect::Error | Expect::NoMethod)
    {
        return Some(format!("answers {name} wrongly: {}", in_one_line(&fault)));
    }
    let due = match (expect, answer) {
        (Expect::Result | Expect::Version(_) | Expect::OtherVersion(_), Answer::Error { .. }) => "a result",
        (Expect::CancelledOrOver | Expect::Cancelled, Answer::Error { .. }) => "the stop reason `cancelled`",
        (Expect::Error, Answer::Result(_)) => "an error",
        (Expect::NoMethod, Answer::Error { code, .. }) if *code == NO_METHOD => return None,
        (Expect::NoMethod, _) => "error -32601",
        (Expect::Cancelled, Answer::Result(result)) if result["stopReason"] != "cancelled" => {
            "the stop reason `cancelled`"
        }
        // a turn that nobody cancelled: what the client hears is the end of another one
        (Expect::Result, Answer::Result(result)) if result["stopReason"] == "cancelled" => "the end of that turn",
        (Expect::Version(asked), Answer::Result(result)) if result["protocolVersion"] != asked => {
            "version 1, which rehang speaks"
        }
        (Expect::OtherVersion(asked), Answer::Result(result)) if result["protocolVersion"] == asked => {
            "the latest version that it supports"
        }
        _ => return None,
    };
    Some(format!("answers {name} with {described}; due is {due}"))
}

/// Nothing can happen any more, or nothing has happened for the whole horizon.
fn silent(fault: &Fault, ledger: &Ledger, run: &Run) -> (Verdict, String) {
    let at = u64::try_from(run.ending.elapsed.as_millis()).unwrap_or(u64::MAX);
    let is_proved = matches!(run.ending.verdict, End::Deadlock { .. });
    let how_long = match is_proved {
        true => "for ever (a deadlock, proved)".to_owned(),
        false => format!("still at {}", duration(at)),
    };
    let asked = ledger.waits_for();
    let is_unread = ledger.is_unread && waits_to_write(ledger, run);
    if fault.may_wait && (asked.is_some() || is_unread) {
        let whom = match asked {
            Some(asked) => format!("the client's reply to {}", asked.name()),
            None => "the client to read its stdout".to_owned(),
        };
        let limit = match is_proved {
            true => "no limit, proved".to_owned(),
            false => format!("no limit in {}", duration(at)),
        };
        return (Verdict::Waits, format!("waits for {whom}: {limit}"));
    }
    let why = match asked {
        Some(asked) if ledger.cancelled.is_some_and(|at| at >= asked.since) => {
            Some(format!("it waits for the reply to {}, in a turn that the client cancelled", asked.name()))
        }
        Some(asked) if ledger.closed.is_some() => {
            Some(format!("it waits for the reply to {}, which can no longer come", asked.name()))
        }
        Some(asked) => Some(format!("it waits for the reply to {}, which the client does not give", asked.name())),
        None if is_unread => Some("it waits for the client to read its stdout".to_owned()),
        None => places(run).into_iter().next(),
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let debts: Vec<&Obligation> = ledger.open(Side::Agent).collect();
    let owed = match (ledger.closed, debts.first()) {
        (Some(closed), _) => format!("its end since its stdin was closed at {}", duration(closed)),
        (None, Some(debt)) => {
            let more = match debts.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let cancelled = ledger.cancelled.filter(|at| *at >= debt.since && debt.method == "session/prompt");
            let since = match cancelled {
                Some(at) => format!("since the cancel at {}", duration(at)),
                None => format!("since {}", duration(debt.since)),
            };
            format!("the reply to {}{more} {since}", debt.name())
        }
        (None, None) if ends(fault, &Step::Written) => "a read of its stdin".to_owned(),
        (None, None) => return (Verdict::Undecided, format!("owes nothing, and yet the run has no end{why}")),
    };
    (Verdict::Owes, format!("owes {owed}, {how_long}{why}"))
}

fn ends(fault: &Fault, step: &Step) -> bool {
    fault.plan.steps.contains(step)
}

/// Whether the agent waits in a write on its stdout; or in an event loop, which watches stdout always, with a stdout that
/// may be full.
fn waits_to_write(ledger: &Ledger, run: &Run) -> bool {
    let may_be_full = ledger.closed.is_none() || ledger.has_unread;
    let is_so = |client: i32, stdout: &str, wait: &Wait| {
        let names = wait.objects.iter().any(|object| object.name.ends_with(stdout));
        wait.pid != client && names && (wait.call.contains("write") || may_be_full)
    };
    let started = started(run).filter(|(.., stdout)| !stdout.is_empty());
    started.is_some_and(|(client, _, out)| run.ending.verdict.waits().iter().any(|wait| is_so(client, out, wait)))
}

/// The client's process, and the names of the agent's stdin and stdout.
fn started(run: &Run) -> Option<(i32, &str, &str)> {
    run.events.iter().find_map(|event| match &event.what {
        What::Started { client, stdin, stdout } => Some((*client, stdin.as_str(), stdout.as_str())),
        _ => None,
    })
}

/// What the agent's processes wait for, one text each.
fn places(run: &Run) -> Vec<String> {
    let Some((client, stdin, stdout)) = started(run) else { return Vec::new() };
    let waits = run.ending.verdict.waits();
    let program = |pid: &i32| waits.iter().find(|wait| wait.pid == *pid).map(|wait| wait.program.as_str());
    let object = |wait: &Wait, object: &Object| {
        if object.name.ends_with(stdin) && !stdin.is_empty() {
            return Some("its stdin".to_owned());
        }
        if object.name.ends_with(stdout) && !stdout.is_empty() {
            // an event loop watches it whether it has something to write or not
            if !wait.call.contains("write") {
                return None;
            }
            return Some("the client to read its stdout".to_owned());
        }
        let others: BTreeSet<&str> =
            object.holders.iter().filter(|pid| **pid != wait.pid && **pid != client).filter_map(program).collect();
        let others: Vec<&str> = others.into_iter().collect();
        // `fd 7 socket:[4711]`: the numbers say nothing to a reader, and differ in each run
        let kind = ["pipe", "socket"].into_iter().find(|kind| object.name.contains(&format!("{kind}:[")));
        let name = kind.map_or_else(|| object.name.clone(), |kind| format!("a {kind}"));
        // all files of this kind have one name
        let is_nameless = object.name.contains("anon_inode:");
        (!others.is_empty() && !is_nameless).then(|| format!("{name} of {}", others.join(", ")))
    };
    let place = |pid: i32| {
        let of = || waits.iter().filter(move |wait| wait.pid == pid);
        let seen: BTreeSet<(String, &str)> = of()
            .flat_map(|wait| wait.objects.iter().filter_map(|thing| Some((object(wait, thing)?, wait.call.as_str()))))
            .collect();
        let main = of().next()?;
        let whom = match seen.is_empty() {
            true => format!("in {} waits for itself alone", main.call),
            false => {
                let whom: Vec<String> = seen.iter().map(|(whom, call)| format!("{whom} ({call})")).collect();
                format!("waits for {}", whom.join(", "))
            }
        };
        let timer = of().filter_map(|wait| wait.deadline).min();
        let timer = timer.map(|left| format!("; its next timer is in {}", rehang_words::text::took(left)));
        Some(in_one_line(&format!("{} {whom}{}", main.program, timer.unwrap_or_default())))
    };
    let main = waits.iter().filter(|wait| wait.pid == wait.tid && wait.pid != client);
    let mut places: Vec<String> = main.take(PLACES).filter_map(|wait| place(wait.pid)).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What is wrong with a reply to a request of this method, of which `expect` is right.
    fn of(method: &str, expect: Expect, answer: Answer) -> String {
        let (id, method) = (json!(1), method.to_owned());
        let replies = vec![(5, answer)];
        let debt = Obligation { by: Side::Agent, id, method, ordinal: 1, since: 0, replies, expect: Some(expect) };
        wrong(&debt).unwrap_or_default()
    }

    fn result(result: Value) -> Answer {
        Answer::Result(result)
    }

    fn error(code: i64) -> Answer {
        Answer::Error { code, message: "no".to_owned() }
    }

    #[test]
    fn a_reply_is_right_or_it_is_said_what_is_due() {
        let stop = |reason: &str| result(json!({ "stopReason": reason }));
        let version = |version: u32| result(json!({ "protocolVersion": version }));
        for (method, expect, answer) in [
            ("session/prompt", Expect::Result, stop("end_turn")),
            ("session/prompt", Expect::Either, error(-1)),
            ("session/prompt", Expect::Error, error(-1)),
            ("session/prompt", Expect::Cancelled, stop("cancelled")),
            ("session/prompt", Expect::CancelledOrOver, stop("end_turn")),
            ("_x", Expect::NoMethod, error(NO_METHOD)),
            ("initialize", Expect::Version(1), version(1)),
            // the latest that it supports
            ("initialize", Expect::OtherVersion(9_999), version(2)),
        ] {
            assert_eq!(of(method, expect, answer), "", "{method} {expect:?}");
        }
        for (method, expect, answer, due) in [
            ("session/prompt", Expect::Result, error(-1), "a result"),
            ("session/prompt", Expect::Result, stop("cancelled"), "the end of that turn"),
            ("session/prompt", Expect::Error, stop("end_turn"), "an error"),
            ("session/prompt", Expect::Cancelled, stop("end_turn"), "the stop reason `cancelled`"),
            ("session/prompt", Expect::CancelledOrOver, error(-1), "the stop reason `cancelled`"),
            ("_x", Expect::NoMethod, error(-1), "error -32601"),
            ("_x", Expect::NoMethod, result(Value::Null), "error -32601"),
            ("initialize", Expect::Version(1), version(2), "version 1, which rehang speaks"),
            ("initialize", Expect::OtherVersion(9_999), version(9_999), "the latest version that it supports"),
        ] {
            let said = of(method, expect, answer);
            assert!(said.ends_with(&format!("; due is {due}")), "{method} {expect:?}: {said}");
        }
        let wrongly = of("session/new", Expect::Result, result(Value::Null));
        assert_eq!(wrongly, "answers session/new wrongly: `sessionId` of its result is no text");
    }
}
