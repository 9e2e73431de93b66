//! The command's last signal, and ends that no quiescent tree comes to.

use crate::support::{command, run_with, seconds};
use libtest_mimic::Trial;
use rehang_warp::Verdict;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("last::a_command_can_say_what_it_knows_at_the_horizon", || {
            let script = "trap 'echo told $(date +%s); exit 7' USR1; date +%s; while :; do sleep 1000 & wait; done";
            let ran =
                run_with(command(&["sh", "-c", script]), |warp| warp.until(seconds(3600)).last_signal(libc::SIGUSR1));
            assert!(matches!(ran.ending.verdict, Verdict::Horizon { .. }), "{:?}", ran.ending.verdict);
            assert_eq!(ran.ending.elapsed, seconds(3600));
            let words: Vec<&str> = ran.output.split_ascii_whitespace().collect();
            let [begun, "told", at] = words[..] else { panic!("{}", ran.output) };
            let [begun, at] = [begun, at].map(|word| word.parse::<u64>().expect("a time"));
            assert_eq!(at - begun, 3600);
            Ok(())
        }),
        Trial::test("last::a_command_can_say_what_it_knows_in_a_deadlock", || {
            let script = "d=$(mktemp -d); mkfifo $d/f; exec 9<>$d/f; rm -r $d; \
                          trap 'echo told; exit 7' USR1; cat <&9 & wait";
            let ran = run_with(command(&["bash", "-c", script]), |warp| warp.last_signal(libc::SIGUSR1));
            assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending.verdict);
            assert_eq!(ran.output, "told\n");
            Ok(())
        }),
        Trial::test("last::no_time_passes_after_the_last_signal", || {
            let script = "trap 'echo told; sleep 1; echo late' USR1; while :; do sleep 1000 & wait; done";
            let ran =
                run_with(command(&["sh", "-c", script]), |warp| warp.until(seconds(3600)).last_signal(libc::SIGUSR1));
            assert!(matches!(ran.ending.verdict, Verdict::Horizon { .. }), "{:?}", ran.ending.verdict);
            assert_eq!(ran.output, "told\n");
            Ok(())
        }),
        Trial::test("last::a_loop_that_computes_ends_at_the_horizon", || {
            let ran = run_with(command(&["sh", "-c", "while :; do :; done"]), |warp| {
                warp.until(seconds(3600)).busy(Duration::from_millis(100))
            });
            assert!(matches!(ran.ending.verdict, Verdict::Horizon { .. }), "{:?}", ran.ending.verdict);
            assert_eq!(ran.ending.elapsed, seconds(3600));
            assert!(!ran.ending.repeatable);
            Ok(())
        }),
        Trial::test("last::what_expires_at_the_horizon_is_waited_for", || {
            // it computes for a while after the last sleep, which ends at the horizon
            let script = "sleep 3600; n=0; while [ $n -lt 2000000 ]; do n=$((n+1)); done; echo $n; sleep 1";
            let ran = run_with(command(&["sh", "-c", script]), |warp| warp.until(seconds(3600)));
            assert!(matches!(ran.ending.verdict, Verdict::Horizon { .. }), "{:?}", ran.ending.verdict);
            assert_eq!(ran.output, "2000000\n");
            Ok(())
        }),
        Trial::test("last::the_real_time_can_be_used_up", || {
            // without a limit it would end after 10^9 sleeps
            let script = "trap 'echo told; exit 7' USR1; while :; do sleep 0.001 & wait; done";
            let ran = run_with(command(&["sh", "-c", script]), |warp| {
                warp.until(seconds(1_000_000)).within(Duration::from_millis(300)).last_signal(libc::SIGUSR1)
            });
            assert_eq!(ran.ending.verdict, Verdict::OutOfTime);
            assert!(ran.ending.elapsed < seconds(1_000_000));
            assert_eq!(ran.output, "told\n");
            Ok(())
        }),
    ]
}
