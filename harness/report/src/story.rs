//! A cell in one sentence: what the agent waits for, who ended that and after how long, and what was wrong about it.
//!
//! Invariant: every word of it is from the row, from the row of the same cell without a strategy, or from the trace; what
//! is not known there is not said.

use rehang_judge::Row;
use rehang_scenario::OutcomeKind::{Completed, Failed, Hung, Stopped};
use rehang_scenario::text::duration;
use rehang_scenario::{BlockedOn, Invariant};
use rehang_trace::{Fact, Trace, What};
use std::path::Path;

/// The most characters of a question that the sentence quotes.
const QUESTION_MAX: usize = 80;

/// What the sentence needs beside the row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The agent's name: see [`agent`].
    pub agent: &'a str,
    /// The question that it is about: see [`question`].
    pub question: &'a str,
    /// The row of the same cell without a strategy, if it ran too.
    pub without: Option<&'a Row>,
}

/// The name of the program that a trace's agent was started as, a fake's without `fake-`.
pub fn agent(trace: &Trace) -> &str {
    let argv = trace.events.iter().find_map(|event| match &event.what {
        What::Spawn { argv, .. } if event.who == "agent" => argv.first(),
        _ => None,
    });
    let name = argv.and_then(|program| Path::new(program).file_name()?.to_str()).unwrap_or_default();
    match name.strip_prefix("fake-").unwrap_or(name) {
        "" | "fake" => "the agent",
        // a program in an agent's place
        "tool" => "the program",
        name => name,
    }
}

/// The question that a trace leaves open; if none is, the only one that was asked; empty if there were several.
pub fn question(trace: &Trace) -> &str {
    let facts = trace.events.iter().filter_map(|event| match &event.what {
        What::Fact(fact) => Some(fact),
        _ => None,
    });
    let (mut asked, mut open): (Vec<&str>, Vec<(&str, &str)>) = (Vec::new(), Vec::new());
    for fact in facts {
        match fact {
            Fact::Asked { id, questions, .. } => {
                let question = questions.first().map(|question| question.question.as_str());
                asked.extend(question);
                open.extend(question.map(|question| (id.as_str(), question)));
            }
            Fact::AskEnded { id, .. } => open.retain(|(other, _)| other != id),
            _ => {}
        }
    }
    match (open.first(), asked.as_slice()) {
        (Some((_, question)), _) => question,
        (None, [only]) => only,
        _ => "",
    }
}

/// The sentence. It begins with a name as it is written, so with a small letter.
pub fn sentence(row: &Row, beside: &Beside<'_>) -> String {
    let Beside { agent, without, .. } = *beside;
    let hangs = without.filter(|row| row.outcome == Hung).and_then(|row| row.blocked_on);
    let waits = hangs.map(|on| format!("{agent} {}", waits(on, beside.question)));
    let (strategy, ran) = (row.strategy.as_str(), duration(row.virtual_ms));
    let cause = row.cause.as_deref().unwrap_or("without a cause");
    let waited =
        row.waited_ms.map_or_else(|| format!("after {ran}"), |ms| format!("{} after the last progress", duration(ms)));
    let mut told = match (row.outcome, waits) {
        (Hung, _) => {
            let on = row.blocked_on.unwrap_or(BlockedOn::Unknown);
            let proof = row.proof.map_or_else(|| "no proof".to_owned(), |proof| proof.to_string());
            let nobody = if strategy == "none" {
                "nobody ends that".to_owned()
            } else {
                format!("{strategy} does not end that")
            };
            format!("{agent} {}, and {nobody}: proved by {proof}", self::waits(on, beside.question))
        }
        (Stopped, Some(waits)) => format!("{waits}; {strategy} ended it {waited}, with the cause “{cause}”"),
        (Stopped, None) if strategy == "none" => format!("{agent} was ended {waited}, with the cause “{cause}”"),
        (Stopped, None) => format!("{strategy} ended {agent} {waited}, with the cause “{cause}”"),
        (Completed, Some(waits)) => format!("Without help {waits}; with {strategy} it completed after {ran}"),
        (Completed, None) => format!("{agent} completed after {ran}"),
        (Failed, Some(waits)) => format!("{waits}; with {strategy} it failed after {ran}: {cause}"),
        (Failed, None) => format!("{agent} failed after {ran}: {cause}"),
        (outcome, _) => format!("{outcome} after {ran}: {cause}"),
    };
    let completes = without.is_some_and(|row| row.outcome == Completed);
    if completes && matches!(row.outcome, Stopped | Failed | Hung) {
        told.push_str(&format!("; without {strategy} it completes"));
    }
    told.push_str(". ");
    told.push_str(&broken(row));
    told
}

/// What of it is not as it must be.
fn broken(row: &Row) -> String {
    let wrong: Vec<&str> = row.broken.iter().copied().map(meaning).collect();
    match (wrong.is_empty(), row.outcome) {
        (false, _) => format!("What is wrong: {}.", wrong.join("; ")),
        (true, Stopped) => "What was reported is true, and nothing was left behind.".to_owned(),
        (true, Completed | Failed) => "Nothing untrue was said, and nothing was left behind.".to_owned(),
        (true, _) => "Nothing untrue was said.".to_owned(),
    }
}

/// A broken invariant in words.
fn meaning(invariant: Invariant) -> &'static str {
    match invariant {
        Invariant::RejectedWithoutCause => "an ask was refused, and nobody refused it",
        Invariant::AskWithoutEnd => "an ask was never ended, or ended twice",
        Invariant::UntrueReport => "what was reported is not what was done",
        Invariant::OutOfBounds => "it ended later than its own limits allow, or never",
        Invariant::Harm => "a healthy run was ended or changed",
        Invariant::DoubleOrInventedReply => "an ask got two replies, or an answer that nobody gave",
        Invariant::Unfinished => "a run was called complete before it was",
        Invariant::LeftBehind => "something was left behind",
        Invariant::AttributedToUser => "the user is said to have done what no user did",
    }
}

/// What an agent does that is blocked on something.
fn waits(on: BlockedOn, question: &str) -> String {
    let what = match on {
        BlockedOn::Stopped => return "is stopped by a signal".to_owned(),
        BlockedOn::Spin => return "runs on the spot: it takes steps, and no time passes".to_owned(),
        BlockedOn::Exit => return "has given its result and does not exit".to_owned(),
        BlockedOn::Question if question.is_empty() => "the answer to its question",
        BlockedOn::Question => {
            let quoted = crate::cell::plain(question, QUESTION_MAX).replace('\n', " ");
            return format!("waits for the answer to its question “{quoted}”");
        }
        BlockedOn::Permission => "a permission that it asked for",
        BlockedOn::Stdin => "its standard input to end or to say something",
        BlockedOn::Tty => "somebody at its terminal",
        BlockedOn::Pipe => "a pipe that is full, or that somebody else holds open",
        BlockedOn::Bash => "the command of its bash tool",
        BlockedOn::Model => "the model",
        BlockedOn::Tool => "a tool",
        BlockedOn::Worker => "the companion's worker",
        BlockedOn::Post => "the response to its client's prompt",
        BlockedOn::Event => "an event",
        BlockedOn::Child => "a process that it started",
        BlockedOn::Nothing => return "does nothing, and waits for nothing".to_owned(),
        BlockedOn::Timer => "a time of its own",
        BlockedOn::Client => "a client of its server",
        BlockedOn::Peer => "the answer of a server that it asked",
        BlockedOn::File => "a file that does not open",
        BlockedOn::Message => "a message of its host",
        BlockedOn::Unknown => "something that rehang has no word for",
    };
    format!("waits for {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use rehang_scenario::{OutcomeKind, Proof, VTime};
    use rehang_trace::{AskEnd, AskKind, Cause, Event};

    fn row(strategy: &str, outcome: OutcomeKind) -> Row {
        Row {
            strategy: strategy.into(),
            outcome,
            blocked_on: None,
            proof: None,
            broken: Vec::new(),
            virtual_ms: 13_000,
            ..testing::row()
        }
    }

    fn hung() -> Row {
        let blocked_on = Some(BlockedOn::Question);
        Row { blocked_on, proof: Some(Proof::Deadlock), ..row("none", Hung) }
    }

    fn told(row: &Row, without: Option<&Row>) -> String {
        sentence(row, &Beside { agent: "claude", question: "Which?", without })
    }

    #[test]
    fn it_says_what_is_waited_for_who_ended_it_and_after_how_long() {
        let none = hung();
        assert_eq!(
            told(&none, Some(&none)),
            "claude waits for the answer to its question “Which?”, and nobody ends that: proved by deadlock. Nothing \
             untrue was said."
        );
        let ended = Row { cause: Some("question-open".into()), waited_ms: Some(12_000), ..row("guard", Stopped) };
        assert_eq!(
            told(&ended, Some(&none)),
            "claude waits for the answer to its question “Which?”; guard ended it 12s after the last progress, with the \
             cause “question-open”. What was reported is true, and nothing was left behind."
        );
        let resolved = told(&row("guard", Completed), Some(&none));
        assert!(resolved.starts_with("Without help claude waits for") && resolved.contains("with guard it completed"));
    }

    #[test]
    fn harm_and_lies_are_said_and_what_did_not_run_is_not() {
        let broken = vec![Invariant::UntrueReport, Invariant::Harm];
        let killed = Row { cause: Some("idle".into()), broken, ..row("idle", Stopped) };
        let healthy = told(&killed, Some(&row("none", Completed)));
        assert!(
            healthy.contains("; without idle it completes. What is wrong: what was reported is not what"),
            "{healthy}"
        );
        let alone = told(&killed, None);
        assert!(alone.starts_with("idle ended claude after 13s") && !alone.contains("completes"), "{alone}");
        assert!(!alone.contains("is true"), "{alone}");
    }

    #[test]
    fn the_question_is_the_one_that_is_open() {
        let event = |fact: Fact| Event { t: VTime(0), who: "agent".into(), what: What::Fact(fact) };
        let asked = |id: &str, question: &str| {
            let question = serde_json::from_value(serde_json::json!({ "question": question })).expect("a question");
            let (id, session, questions, permission) = (id.into(), "ses_1".into(), vec![question], String::new());
            event(Fact::Asked { id, kind: AskKind::Question, session, questions, permission })
        };
        let ended = |id: &str| {
            let (id, by, answers) = (id.into(), "user".into(), Vec::new());
            event(Fact::AskEnded { id, end: AskEnd::Replied, cause: Cause::Answer, by, answers })
        };
        let of = |events: Vec<Event>| question(&Trace { events }).to_owned();
        assert_eq!(of(vec![asked("a", "First?"), asked("b", "Second?"), ended("a")]), "Second?");
        assert_eq!(of(vec![asked("a", "Only?"), ended("a")]), "Only?");
        assert_eq!(of(vec![asked("a", "First?"), asked("b", "Second?"), ended("a"), ended("b")]), "");
    }

    #[test]
    fn a_trace_names_its_agent_and_its_question() {
        assert_eq!((agent(&testing::trace()), question(&testing::trace())), ("the agent", ""));
    }
}
