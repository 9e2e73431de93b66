use crate::testing::{Bench, deeds, report};
use crate::{Facts, Intended, ProcessSeen, Seen, Stream};
use rehang_words::Span;

#[test]
fn it_looks_at_nothing_but_the_clock() {
    let mut bench = Bench::started("wall");
    bench.until(14_399_999);
    bench.see(Seen::Process(ProcessSeen::Output(Stream::Stdout, b"still here\n".to_vec())));
    let want = [(14_400_000, "KILL group".to_owned()), (14_400_000, "stopped: wall".to_owned())];
    let acts = bench.until(20_000_000);
    assert_eq!(deeds(&acts), want);
    let policy = report(&acts.into_iter().map(|(_, act)| act).collect::<Vec<_>>());
    assert_eq!(policy.text.as_deref(), Some("the run was not over after 4h"));
    assert_eq!((policy.detected.as_deref(), policy.cause.as_deref()), (Some("wall"), Some("wall")));
    assert_eq!(policy.constants, [("cap_ms".to_owned(), 14_400_000)].into());
    assert_eq!(bench.strategy.bound(&Facts::default()), Some(Span::hours(4)));
}

#[test]
fn what_is_over_and_what_has_no_cap_is_left_alone() {
    let mut over = Bench::started("wall(cap=1m)");
    over.until(59_999);
    over.see(Seen::Process(ProcessSeen::Exited(0)));
    over.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    let mut held = over;
    held.until(59_999);
    assert_eq!(deeds(&held.until(60_000))[1..], [(60_000, "stopped: wall".to_owned())], "somebody holds stderr");
    let mut over = Bench::started("wall(cap=1m)");
    over.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    over.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)));
    over.see(Seen::Process(ProcessSeen::Exited(0)));
    assert_eq!(over.until(100_000_000), []);
    assert_eq!(Bench::started("wall(cap=0ms)").until(100_000_000), []);
}

/// A strategy that announces what it will do announces what it then does.
#[test]
fn what_is_announced_is_what_comes() {
    let mut bench = Bench::started("wall(cap=1m)");
    bench.until(10_000);
    let intent = bench.strategy.intent().expect("it is announced");
    assert_eq!((intent.since.0, intent.at.0, intent.cause.as_str()), (0, 60_000, "wall"));
    assert_eq!((intent.does, intent.text.as_str()), (Intended::End, "the run was not over after 1m"));
    assert!(bench.strategy.outlives_run());
    bench.until(60_000);
    assert!(bench.strategy.intent().is_none());
}

/// `timeout` around several runs: the cap applies to all of them together.
#[test]
fn a_second_run_has_what_the_first_one_left() {
    let mut bench = Bench::started("wall(cap=1m)");
    bench.until(50_000);
    bench.see_all(&[
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)),
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)),
        Seen::Process(ProcessSeen::Exited(1)),
    ]);
    assert_eq!(bench.strategy.deadline(), None);
    bench.see(Seen::Process(ProcessSeen::Started { session: String::new(), prompt: "again".to_owned() }));
    assert_eq!(bench.strategy.deadline().map(|at| at.0), Some(60_000));
}
