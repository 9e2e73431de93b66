//! Random traces, for property tests.
//!
//! Invariant: only tests depend on this crate. A feature of `rehang-trace` in its place would build every crate above that
//! one a second time for the tests.

use proptest::prelude::*;
use rehang_scenario::{
    Policy, VTime,
    turns::{Choice, Question},
};
use rehang_trace::{AskEnd, AskKind, Cause, Ended, Event, Fact, Horizon, RunEnd, Trace, What};
use serde_json::{Value, json};

/// Any trace, with few different names, so that events often refer to each other.
pub fn any_trace() -> impl proptest::strategy::Strategy<Value = Trace> {
    let event = (0u64..4_000_000, any_who(), any_what());
    let events = proptest::collection::vec(event, 0..40);
    let sorted = (events, any::<bool>()).prop_map(|(mut events, sorted)| {
        if sorted {
            events.sort_by_key(|event| event.0);
        }
        events
    });
    sorted.prop_map(|events| {
        let event = |(t, who, what): (u64, String, What)| Event { t: VTime(t), who: who.into(), what };
        Trace { events: events.into_iter().map(event).collect() }
    })
}

fn any_who() -> impl proptest::strategy::Strategy<Value = String> {
    const KNOWN: &[&str] = &["agent", "agent.1", "wrapper", "client", "person1", "idle@off", "recovery@430", "worker"];
    prop_oneof![9 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => any_text()]
}

fn any_id() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::sample::select(&["que_1", "que_2", "call_1", "ses_1", "ses_2", ""][..]).prop_map(str::to_owned)
}

fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "User has answered your questions: \"Which?\"=\"A\".",
        "No user was available to answer.",
        "TERMINAL=completed",
        "heartbeat — still running/x (elapsed 1s)",
        "stop",
        "completed",
        "failed",
        "stopped",
        "idle",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_1\"}]}}\n",
        "agent",
        "KILL",
    ];
    prop_oneof![4 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
    const KINDS: &[&str] = &["question.asked", "question.replied", "question.rejected", "permission.replied", "x"];
    prop_oneof![
        Just(Value::Null),
        any::<u32>().prop_map(Value::from),
        any_id().prop_map(|id| json!([{"id": id}])),
        (proptest::sample::select(KINDS), any_id())
            .prop_map(|(kind, id)| json!({"type": kind, "properties": {"id": id, "requestID": id, "reply": "reject"}})),
    ]
}

fn any_policy() -> impl proptest::strategy::Strategy<Value = Policy> {
    let texts = (proptest::option::of(any_text()), proptest::option::of(any_text()));
    let answers = proptest::option::of(proptest::collection::vec(proptest::collection::vec(any_text(), 0..2), 0..3));
    (texts, answers, any::<u64>()).prop_map(|((detected, cause), answered, n)| Policy {
        detected,
        cause,
        answered,
        constants: [("idle_ms".to_owned(), n)].into(),
        ..Policy::default()
    })
}

fn any_cause() -> impl proptest::strategy::Strategy<Value = (AskEnd, Cause)> {
    use {AskEnd::*, Cause::*};
    let ends = proptest::sample::select(vec![Replied, Skipped, Rejected, Dropped]);
    (ends, proptest::sample::select(vec![Answer, Dismiss, Stop, Shutdown, Malformed, Policy, Silence]))
}

fn any_fact() -> impl proptest::strategy::Strategy<Value = Fact> {
    let text = any_text;
    prop_oneof![
        (any_id(), any_id()).prop_map(|(id, parent)| Fact::Session { id, parent }),
        (any_id(), any::<bool>()).prop_map(|(session, busy)| Fact::Busy { session, busy }),
        (any_id(), any::<u32>()).prop_map(|(session, response)| Fact::ModelAsked { session, response }),
        (any_id(), text()).prop_map(|(session, text)| Fact::ModelSaid { session, text }),
        (any_id(), proptest::sample::select(&["stop", "tool-calls", "none"][..]))
            .prop_map(|(session, finish)| Fact::ModelDone { session, finish: finish.into() }),
        (any_id(), any_id()).prop_map(|(call, session)| Fact::ToolBegan { call, tool: "bash".into(), session }),
        (any_id(), any::<bool>(), text()).prop_map(|(call, error, text)| Fact::ToolEnded { call, error, text }),
        (any_id(), any_id(), any::<bool>()).prop_map(|(id, session, permission)| Fact::Asked {
            id,
            kind: if permission { AskKind::Permission } else { AskKind::Question },
            session,
            questions: vec![question()],
            permission: String::new(),
        }),
        (any_id(), any_cause(), any_who()).prop_map(|(id, (end, cause), by)| Fact::AskEnded {
            id,
            end,
            cause,
            by,
            answers: vec![vec!["A".into()]],
        }),
        (any_id(), any_who(), text(), any::<bool>()).prop_map(|(call, by, text, live)| Fact::Preempted {
            call,
            by,
            questions: vec![],
            answers: vec![vec!["A".into()]],
            text,
            live,
        }),
        (any::<bool>(), text()).prop_map(|(ok, text)| Fact::Result { ok, text }),
        (any_who(), any_policy()).prop_map(|(strategy, policy)| Fact::Policy { strategy, policy: policy.into() }),
        (any_who(), text()).prop_map(|(strategy, act)| Fact::Acted { strategy, act }),
    ]
}

fn any_what() -> impl proptest::strategy::Strategy<Value = What> {
    let text = any_text;
    let path = || prop_oneof![Just("/question"), Just("/question/que_1/reject"), Just("/session/ses_1/abort")];
    let run_end = || proptest::sample::select(&RunEnd::ALL[..]);
    let ends = || proptest::collection::vec((any_who(), text()), 0..3);
    let processes = prop_oneof![
        Just(What::Spawn { parent: String::new(), argv: vec!["a/b".into(), String::new()] }),
        any::<u8>().prop_map(What::Exit),
        text().prop_map(What::Killed),
        text().prop_map(What::Stopped),
        Just(What::Continued),
        Just(What::Adopted),
        (text(), any_who()).prop_map(|(sig, to)| What::Signal { sig, to }),
        (0u8..4, text()).prop_map(|(fd, text)| What::Out { fd, text }),
        (0u8..4).prop_map(|fd| What::OutEnd { fd }),
        text().prop_map(|text| What::In { text }),
        Just(What::InEnd),
        text().prop_map(|what| What::Left { what }),
    ];
    let wire = prop_oneof![
        (0u32..4, path(), any_value()).prop_map(|(id, path, body)| What::Request {
            id,
            method: if path.len() > 9 { "POST" } else { "GET" }.into(),
            path: path.into(),
            body: body.into(),
        }),
        (0u32..4, any_value()).prop_map(|(id, body)| What::Response { id, status: 200, body: body.into() }),
        (0u32..4, text()).prop_map(|(id, why)| What::RequestFailed { id, why }),
        any_value().prop_map(|value| What::Sse(value.into())),
        Just(What::SseEnd),
    ];
    let acts = prop_oneof![
        (text(), any_value()).prop_map(|(at, saw)| What::Looked { at, saw }),
        any_policy().prop_map(|policy| What::Report(policy.into())),
        text().prop_map(What::Says),
        text().prop_map(What::Acts),
        text().prop_map(What::Fault),
        (run_end(), text(), text()).prop_map(|(outcome, cause, text)| What::Settled { outcome, cause, text }),
        (run_end(), text(), text()).prop_map(|(outcome, cause, text)| What::RunOver { outcome, cause, text }),
        ends().prop_map(|waits| What::Ended(Ended::Deadlock(waits))),
        ends().prop_map(|waits| What::Ended(Ended::Lasso { waits, cycle_ms: 5 })),
        ends().prop_map(|waits| What::Ended(Ended::Horizon { reason: Horizon::Time, waits })),
        Just(What::Ended(Ended::Settled)),
    ];
    prop_oneof![3 => processes, 2 => wire, 2 => acts, 6 => any_fact().prop_map(What::Fact)]
}

/// A question with two options, `A` and `B`.
pub fn question() -> Question {
    let choice = |label: &str| Choice { label: label.into(), description: String::new() };
    Question {
        question: "Which?".into(),
        header: String::new(),
        options: vec![choice("A"), choice("B")],
        multiple: false,
        custom: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_trace::ndjson::{Header, VERSION, read, sha256, write};

    fn bytes(trace: &Trace) -> Vec<u8> {
        let header = Header {
            rehang_trace: VERSION,
            scenario: "a/b".to_owned(),
            strategy: "none".to_owned(),
            terminal: "null".to_owned(),
            stage: "sim".to_owned(),
            seed: 1,
            order: None,
            control: false,
        };
        let mut out = Vec::new();
        write(&header, trace, &mut out).expect("a Vec takes all");
        out
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(trace in any_trace()) {
            let (_, read) = read(bytes(&trace).as_slice()).expect("what was written");
            prop_assert_eq!(sha256(&read), sha256(&trace));
            prop_assert_eq!(read, trace);
        }

        #[test]
        fn another_event_is_another_hash(trace in any_trace(), at in 0u64..9) {
            let mut other = trace.clone();
            other.events.push(Event { t: VTime(at), who: "agent".into(), what: What::Continued });
            prop_assert_ne!(sha256(&other), sha256(&trace));
        }
    }
}
