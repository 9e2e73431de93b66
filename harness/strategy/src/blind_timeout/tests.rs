use crate::testing::{Bench, ask, deeds, question, report};
use crate::{Act, InsideSeen, Seen};

fn opened() -> Bench {
    let mut bench = Bench::of("blind-timeout");
    bench.see(Seen::Inside(InsideSeen::StreamOpen { session: "ses_1".to_owned() }));
    bench
}

#[test]
fn a_pending_question_is_silence() {
    let mut bench = opened();
    bench.until(5_000);
    bench.see(Seen::Inside(InsideSeen::StreamMoved { session: "ses_1".to_owned(), progress: true }));
    bench.see(Seen::Inside(InsideSeen::Pending(ask(vec![question("q", &[])]))));
    assert_eq!(bench.until(604_999), []);
    let acts = bench.until(605_000);
    assert_eq!(deeds(&acts), [(605_000, "abort ses_1 fail=false asks=true".to_owned())]);
    let acts: Vec<Act> = acts.into_iter().map(|(_, act)| act).collect();
    let policy = report(&acts);
    assert_eq!(policy.constants["stream_timeout_ms"], 600_000);
    assert_eq!(policy.text.as_deref(), Some("no event on the model's stream for 10m"));
    assert_eq!((policy.detected.as_deref(), policy.cause.as_deref()), (Some("silent-stream"), Some("silent-stream")));
    assert_eq!(bench.strategy.deadline(), None, "once");
}

#[test]
fn it_holds_on_to_a_question_whose_stream_has_closed() {
    let mut bench = opened();
    bench.see(Seen::Inside(InsideSeen::Pending(ask(vec![question("q", &[])]))));
    bench.see(Seen::Inside(InsideSeen::StreamClosed { session: "ses_1".to_owned() }));
    assert_eq!(bench.until(600_000).len(), 2);
}

#[test]
fn an_answer_and_a_closed_stream_are_left_alone() {
    let mut bench = opened();
    bench.see(Seen::Inside(InsideSeen::Pending(ask(vec![question("q", &[])]))));
    bench.until(599_999);
    bench.see(Seen::Inside(InsideSeen::Ended { id: "que_1".to_owned() }));
    bench.see(Seen::Inside(InsideSeen::StreamClosed { session: "ses_1".to_owned() }));
    assert_eq!(bench.until(10_000_000), []);
}

#[test]
fn a_childs_stream_does_not_move_its_parents() {
    let mut bench = opened();
    bench.see(Seen::Inside(InsideSeen::StreamOpen { session: "ses_2".to_owned() }));
    bench.until(300_000);
    bench.see(Seen::Inside(InsideSeen::StreamMoved { session: "ses_2".to_owned(), progress: true }));
    let acts = bench.until(600_000);
    assert_eq!(deeds(&acts), [(600_000, "abort ses_1 fail=false asks=true".to_owned())]);
}
