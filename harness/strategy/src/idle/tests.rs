use crate::testing::{Bench, deeds, report};
use crate::{Act, Facts, ProcessAct, ProcessSeen, Seen, Stream};
use rehang_words::{Span, VTime};

const RESULT: &str = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}\n";

fn deeds_until(bench: &mut Bench, ms: u64) -> Vec<(u64, String)> {
    deeds(&bench.until(ms))
}

fn words(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, word)| (*at, (*word).to_owned())).collect()
}

#[test]
fn idle_is_strictly_above_the_limit_on_the_grid_of_select() {
    let mut bench = Bench::started("idle@f54b32f");
    assert_eq!(bench.until(600_999), [], "600 s are not more than 600 s");
    let acts = bench.until(601_000);
    assert_eq!(deeds(&acts), words(&[(601_000, "KILL")]), "the process alone");
    let policy = report(&acts.into_iter().map(|(_, act)| act).collect::<Vec<_>>());
    assert_eq!((policy.cause.as_deref(), policy.constants["idle_ms"]), (Some("idle"), 600_000));
    let ends = bench.see(Seen::Process(ProcessSeen::Exited(-9)));
    assert!(
        matches!(&ends[..], [Act::Process(ProcessAct::Settle(crate::Settled::Stopped(cause, text)))] if cause == "idle" && text == "idle timeout after 600s")
    );
    assert_eq!(bench.strategy.deadline(), None);
}

/// little-loops calls its `on_process_end` in a `finally`, after it has waited for the process (f54b32f9d): after an end by
/// the idle limit and by the wall clock, as after one of its own.
#[test]
fn its_caller_is_told_once_the_process_is_gone() {
    for spec in ["idle@f54b32f(timeout=10s)", "idle@f54b32f(timeout=0ms, wall=10s)", "idle@grace(timeout=10s)"] {
        let mut bench = Bench::started(spec);
        let told = |acts: &[Act]| acts.iter().filter(|act| matches!(act, Act::Process(ProcessAct::Settle(_)))).count();
        let acts: Vec<Act> = bench.until(11_000).into_iter().map(|(_, act)| act).collect();
        assert!(acts.iter().any(|act| matches!(act, Act::Process(ProcessAct::Kill { .. }))), "{spec}");
        assert_eq!(told(&acts), 0, "{spec}: the process is killed, and not gone");
        assert_eq!(told(&bench.see(Seen::Process(ProcessSeen::Exited(-9)))), 1, "{spec}");
    }
    let mut bench = Bench::started("idle@grace(timeout=10s)");
    bench.out(RESULT);
    assert!(!bench.see(Seen::Process(ProcessSeen::Exited(0))).is_empty(), "an end of its own");
}

#[test]
fn a_line_of_either_stream_resets_it_blank_ones_too() {
    for (stream, text) in [(Stream::Stdout, "x\n"), (Stream::Stderr, "\n")] {
        let mut bench = Bench::started("idle@f54b32f(timeout=10s)");
        assert_eq!(bench.until(9_500), []);
        assert_eq!(bench.see(Seen::Process(ProcessSeen::Output(stream, text.into()))), []);
        assert_eq!(bench.until(20_499), []);
        assert_eq!(deeds_until(&mut bench, 20_500), words(&[(20_500, "KILL")]));
    }
}

#[test]
fn a_line_at_the_limit_goes_before_the_check() {
    let mut bench = Bench::started("idle@f54b32f(timeout=10s)");
    bench.until(400);
    bench.out("x\n");
    assert_eq!(bench.until(10_900), []);
    bench.out("y\n");
    assert_eq!(deeds_until(&mut bench, 21_900), words(&[(21_900, "KILL")]));
}

#[test]
fn zero_is_off_and_the_wall_goes_first() {
    let mut off = Bench::started("idle@off");
    assert_eq!(deeds_until(&mut off, 3_601_000), words(&[(3_601_000, "KILL")]));
    let mut none = Bench::started("idle@f54b32f(timeout=0ms, wall=0ms)");
    assert_eq!(none.strategy.deadline(), None);
    assert_eq!(none.until(1_000_000_000), []);
    let mut both = Bench::started("idle@f54b32f(timeout=10s, wall=10s)");
    let acts: Vec<Act> = both.until(11_000).into_iter().map(|(_, act)| act).collect();
    assert_eq!(report(&acts).cause.as_deref(), Some("wall"));
}

#[test]
fn half_a_line_wedges_both_timers() {
    let mut bench = Bench::started("idle@f54b32f");
    bench.out("Proceed? (y/n) ");
    assert_eq!(bench.strategy.deadline(), None);
    assert_eq!(bench.until(3_000_000), []);
    assert_eq!(bench.out("y\n"), [], "the idle limit has passed, but nobody looked");
}

#[test]
fn half_a_line_that_ends_late_is_over_the_wall() {
    let mut bench = Bench::started("idle@f54b32f");
    bench.out("half");
    bench.until(5_000_000);
    let acts: Vec<(u64, Act)> = bench.out(" a line\n").into_iter().map(|act| (0, act)).collect();
    assert_eq!(deeds(&acts), words(&[(0, "KILL")]));
}

#[test]
fn both_ends_of_one_exit_are_one_wake_up() {
    let mut bench = Bench::started("idle@f54b32f");
    bench.until(600_500);
    let ends = [
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)),
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)),
        Seen::Process(ProcessSeen::Exited(0)),
    ];
    assert_eq!(bench.see_all(&ends), [], "no pipe is left, so no clock is looked at any more");
}

#[test]
fn closed_pipes_and_a_living_process() {
    let mut old = Bench::started("idle@f54b32f");
    old.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    old.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)));
    assert_eq!(old.until(100_000_000), [], "waits for ever");
    let mut main = Bench::started("idle@grace");
    main.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    main.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)));
    assert_eq!(main.until(299_999), [], "a process that closed its streams is not killed within the grace");
    assert_eq!(deeds_until(&mut main, 300_000), words(&[(300_000, "TERM group")]));
}

#[test]
fn a_burst_gives_one_line_a_wake_up() {
    let mut bench = Bench::started("idle@grace");
    bench.out(&format!("one\n{RESULT}"));
    assert_eq!(bench.strategy.deadline(), Some(VTime(3_601_000)), "the result is in the reader's buffer, unseen");
    bench.until(4_070);
    bench.see(Seen::Process(ProcessSeen::Exited(0)));
    let ends = bench.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    assert!(
        matches!(&ends[..], [Act::Process(ProcessAct::Settle(crate::Settled::Completed(text)))] if text == "done"),
        "seen at the end"
    );
}

#[test]
fn a_burst_and_a_held_pipe_hang_to_the_wall() {
    let mut bench = Bench::started("idle@grace");
    bench.out(&format!("one\n{RESULT}"));
    bench.until(1_000);
    assert_eq!(bench.see(Seen::Process(ProcessSeen::Exited(0))), []);
    let deeds = deeds_until(&mut bench, 4_000_000);
    assert_eq!(deeds, words(&[(3_601_000, "TERM group"), (3_601_000, "stopped: wall")]));
}

#[test]
fn more_than_a_chunk_wakes_it_again() {
    let mut bench = Bench::started("idle@grace");
    let filler = "x".repeat(80) + "\n";
    bench.out(&format!("{}{RESULT}", filler.repeat(200)));
    assert_eq!(bench.strategy.deadline(), Some(VTime(3_601_000)));
    bench.out(&filler.repeat(300));
    assert_eq!(
        bench.strategy.deadline(),
        Some(VTime(300_000)),
        "the lines before it came out while the kernel had more"
    );
}

#[test]
fn a_result_ends_the_reading_without_an_end_of_file() {
    let mut bench = Bench::started("idle@grace");
    bench.out(RESULT);
    bench.until(2_000);
    let ends = bench.see(Seen::Process(ProcessSeen::Exited(0)));
    assert!(matches!(&ends[..], [Act::Process(ProcessAct::Settle(crate::Settled::Completed(text)))] if text == "done"));
}

#[test]
fn behind_its_result_it_has_300_s_then_term_then_kill_then_it_is_given_up() {
    let mut bench = Bench::started("idle@grace");
    bench.out(RESULT);
    let deeds = deeds_until(&mut bench, 1_000_000);
    let want = [(300_000, "TERM group"), (330_000, "KILL group"), (340_000, "stopped: lingers")];
    assert_eq!(deeds, words(&want));
    let mut hard = Bench::started("idle@grace(linger=30s, kill_grace=0ms)");
    hard.out(RESULT);
    assert_eq!(deeds_until(&mut hard, 30_000), words(&[(30_000, "KILL group")]));
}

#[test]
fn the_bound_is_the_wall_and_what_follows_it() {
    let bound = |spec| Bench::of(spec).strategy.bound(&Facts::default());
    assert_eq!(bound("idle@f54b32f"), Some(Span::secs(3_601)));
    assert_eq!(bound("idle@grace"), Some(Span::secs(3_601 + 300 + 30 + 10)));
    assert_eq!(bound("idle@off(wall=0ms)"), None);
}

#[test]
fn a_second_start_does_not_begin_the_clocks_anew() {
    let mut bench = Bench::started("idle@f54b32f");
    bench.until(500_000);
    bench.see(Seen::Process(ProcessSeen::Started { session: String::new(), prompt: "go".to_owned() }));
    assert_eq!(deeds_until(&mut bench, 601_000), words(&[(601_000, "KILL")]));
}

#[test]
fn a_tick_that_comes_too_early_ends_nothing() {
    let mut bench = Bench::started("idle@grace");
    bench.out(RESULT);
    let mut deeds = Vec::new();
    for second in 1..=400 {
        deeds.extend(deeds_until(&mut bench, second * 1_000));
        if bench.strategy.deadline().is_some_and(|at| at > bench.now) {
            assert_eq!(bench.see(Seen::Tick), [], "at {}", bench.now);
        }
    }
    assert_eq!(deeds, words(&[(300_000, "TERM group"), (330_000, "KILL group"), (340_000, "stopped: lingers")]));
}

#[test]
fn a_line_of_stderr_is_no_result() {
    let mut bench = Bench::started("idle@grace");
    assert_eq!(bench.see(Seen::Process(ProcessSeen::Output(Stream::Stderr, RESULT.into()))), []);
    assert_eq!(bench.strategy.deadline(), Some(VTime(3_601_000)), "the wall alone: it still reads");
}
