//! The digest of a trace: a number by which runs of a cell are compared where their traces are not kept.
//!
//! Invariants: equal traces have equal digests, on every stage and in every process of one build of rehang. Equal is what
//! `==` says: the order of the keys in what a strategy looked at ([`What::Looked`](crate::What)) is no part of it, as it is
//! of the text. Another build may have other digests, so none is written to a file: what is kept has the SHA-256 of its text
//! ([`sha256`](crate::sha256)). A digest finds accidents, not forgeries.

use crate::Trace;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// The same in all processes, so that they can compare.
const SEED: u64 = 0;

impl Trace {
    /// The digest of its events, in the form that `Hash` gives them: no text is written for it.
    pub fn digest(&self) -> u64 {
        FixedState::with_seed(SEED).hash_one(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, Fact, Json, Trace, What};
    use rehang_scenario::VTime;
    use serde_json::json;

    fn of(events: &[(u64, &str, What)]) -> Trace {
        let event = |(t, who, what): &(u64, &str, What)| Event { t: VTime(*t), who: (*who).into(), what: what.clone() };
        Trace { events: events.iter().map(event).collect() }
    }

    #[test]
    fn another_trace_has_another_digest() {
        let sse = |text: &str| What::Sse(Json::of_text(text));
        let looked = |n: u32| What::Looked { at: "worker".to_owned(), saw: json!({ "pid": n, "alive": true }) };
        let said = |text: &str| What::Fact(Fact::ModelSaid { session: "ses_1".to_owned(), text: text.to_owned() });
        let traces = [
            of(&[]),
            of(&[(0, "agent", What::Exit(0))]),
            of(&[(1, "agent", What::Exit(0))]),
            of(&[(0, "agent.1", What::Exit(0))]),
            of(&[(0, "agent", What::Exit(1))]),
            of(&[(0, "agent", What::Exit(0)), (0, "agent", What::Exit(0))]),
            of(&[(0, "agent", What::Exit(0)), (0, "agent", What::Exit(1))]),
            of(&[(0, "agent", What::Exit(1)), (0, "agent", What::Exit(0))]),
            of(&[(0, "client", sse("{\"a\":1}"))]),
            of(&[(0, "client", sse("{\"a\":2}"))]),
            of(&[(0, "a", looked(1))]),
            of(&[(0, "a", looked(2))]),
            of(&[(0, "a", said("x"))]),
            of(&[(0, "a", said("xy"))]),
            of(&[(0, "a", said("x")), (0, "a", said("y"))]),
        ];
        for (at, one) in traces.iter().enumerate() {
            for (other_at, other) in traces.iter().enumerate() {
                assert_eq!(one.digest() == other.clone().digest(), at == other_at, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_text_that_somebody_looked_into_is_still_the_same() {
        let event = What::Sse(Json::of_text("{\"type\":\"a\"}"));
        let trace = of(&[(0, "client", event.clone())]);
        let before = trace.digest();
        let What::Sse(json) = &event else { return };
        assert_eq!((json.kind(), json["type"].as_str()), ("a", Some("a")));
        assert_eq!(trace.digest(), before);
    }
}
