//! Arbitrary observations, in any order: no strategy panics, and none depends on when the clock began.

use crate::companion::message::shapes;
use crate::testing::SHRINK_MAX_MS;
use crate::{Ask, Entry, InsideSeen, Params, ProcessSeen, ProtocolSeen, Seen};
use proptest::prelude::*;
use rehang_words::{Canon, VTime};
use rehang_words::{Choice, Question};
use serde_json::{Value, json};

/// An observation with small ids and near times, so that it often meets what the strategy waits for.
type Pick = (u8, u8, u8, bool);

/// The spans between observations: none, one tick, and both sides of the strategies' own limits.
const STEPS: [u64; 12] = [0, 1, 2_999, 3_000, 5_000, 10_000, 29_999, 30_000, 60_000, 600_000, 900_001, 3_600_001];

/// Plays random observations to each entry, twice, at two begins of the clock: no panic, the same canonical
/// states, the same number of acts, deadlines that are shifted by as much.
pub(crate) fn check(entries: &[Entry]) {
    let picks = proptest::collection::vec((0..STEPS.len(), any::<Pick>()), 1..40);
    proptest!(ProptestConfig { cases: 400, failure_persistence: None, max_shrink_time: SHRINK_MAX_MS, ..ProptestConfig::default() }, |(picks in picks, shift in 1_u64..10_000_000, spec: bool)| {
        for entry in entries {
            let mut params = Params::defaults(entry.params);
            if spec {
                params.words.insert("worker", "watcher");
                params.counts.insert("max_polls", 2);
                params.spans.insert("prompt_timeout", rehang_words::Span::secs(40));
            }
            let (early, late) = (play(entry, &params, &picks, 0), play(entry, &params, &picks, shift));
            for ((step, early), late) in early.iter().enumerate().zip(&late) {
                prop_assert_eq!(early, late, "{} at step {}", entry.name, step);
            }
        }
    });
}

/// After each observation: the canonical state, how many acts, and how long until the deadline.
fn play(entry: &Entry, params: &Params, picks: &[(usize, Pick)], begin: u64) -> Vec<(Vec<u8>, usize, Option<u64>)> {
    let mut strategy = (entry.build)(params);
    let mut now = begin;
    let mut seen =
        vec![(0, Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }))];
    seen.extend(picks.iter().map(|(step, pick)| (STEPS[*step], build(pick, begin))));
    // Every third run begins with something else.
    if picks.len().is_multiple_of(3) {
        seen.remove(0);
    }
    let mut states = Vec::new();
    for (step, seen) in seen {
        now += step;
        let mut acts = Vec::new();
        strategy.on(VTime(now), &seen, &mut acts);
        let mut canon = Canon::new(VTime(now));
        strategy.canon(&mut canon);
        let left = strategy.deadline().map(|at| at.since(VTime(now)).as_ms());
        states.push((canon.into_bytes(), acts.len(), left));
    }
    states
}

fn build(&(kind, a, b, flag): &Pick, begin: u64) -> Seen {
    let id = format!("que_{}", a % 3);
    let session = format!("ses_{}", 1 + b % 2);
    match kind % 20 {
        0..=2 => Seen::Tick,
        // An error's text is kept as it is, so it must not name a time.
        3 => Seen::Protocol(ProtocolSeen::Response {
            id: u32::from(a % 12),
            status: 400,
            body: json!("bad model").into(),
        }),
        4..=5 => {
            Seen::Protocol(ProtocolSeen::Response { id: u32::from(a % 12), status: 200, body: body(b, begin).into() })
        }
        6 => Seen::Protocol(ProtocolSeen::Failed {
            id: u32::from(a % 12),
            why: ["closed", "reset", "refused", "timeout"][usize::from(b % 4)].to_owned(),
        }),
        7 => Seen::Protocol(ProtocolSeen::Children([None, Some(0), Some(0), Some(2)][usize::from(a % 4)])),
        8 => Seen::Protocol(ProtocolSeen::Pid(flag)),
        9 => Seen::Protocol(ProtocolSeen::Worker(flag)),
        10 => Seen::Protocol(ProtocolSeen::Command(
            ["heal", "heal --dry-run", "status", "result", "cancel", ""][usize::from(a % 6)].to_owned(),
        )),
        11 => Seen::Protocol(ProtocolSeen::WorkerDied),
        12 => Seen::Protocol(ProtocolSeen::Event(event(a, b).into())),
        13 => Seen::Inside(InsideSeen::StreamOpen { session }),
        14 => Seen::Inside(InsideSeen::StreamMoved { session, progress: flag }),
        15 => Seen::Inside(InsideSeen::StreamClosed { session }),
        16 => Seen::Inside(InsideSeen::Pending(Ask {
            id,
            session,
            child: false,
            questions: vec![question(flag)],
            permission: String::new(),
        })),
        17 => Seen::Inside(InsideSeen::Closing { id, session, reason: "cancelled" }),
        18 => {
            let body = [
                json!({"answers": [["A"]], "messageID": "msg_1", "action": "submit"}),
                json!({"answers": []}),
                json!("no JSON"),
            ];
            Seen::Inside(InsideSeen::Submitted {
                id,
                session,
                dismiss: flag && a > 99,
                body: body[usize::from(b % 3)].clone(),
            })
        }
        _ => Seen::Inside(InsideSeen::Ended { id }),
    }
}

fn body(pick: u8, begin: u64) -> Value {
    let mut body = match pick % 8 {
        0 | 1 => shapes::bash_running(&"x".repeat(usize::from(pick))),
        2 => shapes::finished(2_000, Some("tool-calls"), "so far"),
        3 => shapes::finished(2_000, None, "cut"),
        4 => shapes::empty(1_000),
        5 => json!([{"id": "que_1", "sessionID": "ses_1"}]),
        6 => json!({"info": {"error": {"name": "Aborted"}}, "parts": 3}),
        _ => json!([]),
    };
    if let Some(Value::Object(times)) = body.pointer_mut("/0/info/time") {
        times.values_mut().for_each(|time| *time = json!(time.as_u64().unwrap_or(0) + begin));
    }
    body
}

fn event(a: u8, b: u8) -> Value {
    let (message, call) = (format!("msg_{}", b % 2), format!("call_{}", b % 2));
    match a % 5 {
        0 | 1 => json!({"type": "message.part.updated", "properties": {"part": {
            "id": format!("prt_{b}"), "sessionID": "ses_1", "messageID": message, "callID": call, "tool": "question",
            "state": {"status": if a.is_multiple_of(2) { "running" } else { "completed" }}}}}),
        2 => json!({"type": "question.asked", "properties": {"id": "que_1", "sessionID": "ses_1"}}),
        3 => json!({"type": "session.status", "properties": {"sessionID": "ses_1", "status": {"type": "busy"}}}),
        _ => json!({"type": "question.replied", "properties": {"requestID": "que_1", "sessionID": "ses_1"}}),
    }
}

/// One question with the options A and B.
pub(crate) fn question(multiple: bool) -> Question {
    let option = |label: &str| Choice { label: label.to_owned(), description: String::new() };
    Question {
        question: "Which?".to_owned(),
        header: String::new(),
        options: vec![option("A"), option("B")],
        multiple,
        custom: Some(false),
    }
}

#[test]
fn the_companion_takes_any_sequence() {
    check(crate::companion::ENTRIES);
}
