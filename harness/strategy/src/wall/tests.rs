use crate::testing::{Bench, deeds};
use crate::{Facts, Seen, Stream};
use rehang_scenario::Span;

#[test]
fn it_looks_at_nothing_but_the_clock() {
    let mut bench = Bench::started("wall");
    bench.until(14_399_999);
    bench.see(Seen::Output(Stream::Stdout, b"still here\n".to_vec()));
    let want = [(14_400_000, "KILL group".to_owned()), (14_400_000, "stopped: wall".to_owned())];
    assert_eq!(deeds(&bench.until(20_000_000)), want);
    assert_eq!(bench.strategy.bound(&Facts::default()), Some(Span::hours(4)));
}

#[test]
fn what_is_over_and_what_has_no_cap_is_left_alone() {
    let mut over = Bench::started("wall(cap=1m)");
    over.until(59_999);
    over.see(Seen::Exited(0));
    over.see(Seen::OutputEnd(Stream::Stdout));
    let mut held = over;
    held.until(59_999);
    assert_eq!(deeds(&held.until(60_000))[1..], [(60_000, "stopped: wall".to_owned())], "somebody holds stderr");
    let mut over = Bench::started("wall(cap=1m)");
    over.see(Seen::OutputEnd(Stream::Stdout));
    over.see(Seen::OutputEnd(Stream::Stderr));
    over.see(Seen::Exited(0));
    assert_eq!(over.until(100_000_000), []);
    assert_eq!(Bench::started("wall(cap=0ms)").until(100_000_000), []);
}
