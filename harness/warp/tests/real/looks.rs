//! Looks at the tree at instants of virtual time.

use crate::support::{command, run_with, seconds};
use libtest_mimic::Trial;
use rehang_warp::{Look, Next, Verdict};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("looks::a_look_sees_waits_as_the_program_made_them", || {
            let mut looks: Vec<Look> = Vec::new();
            let ran = run_with(command(&["timeout", "1800", "sleep", "3600"]), |warp| {
                warp.look(seconds(600), |look| {
                    looks.push(look.clone());
                    Next::At(look.at + seconds(600))
                })
            });
            assert_eq!(ran.nanos(), 1_800_000_000_000);
            let at: Vec<u64> = looks.iter().map(|look| look.at.as_secs()).collect();
            // the last one comes before the deadline of the same instant
            assert_eq!(at, [600, 1200, 1800]);
            for look in &looks {
                let [timeout, sleep] = &look.threads[..] else { panic!("{look:?}") };
                assert_eq!(timeout.call.expect("a call").number, libc::SYS_rt_sigsuspend);
                assert_eq!(timeout.deadline, None);
                assert_eq!(sleep.call.expect("a call").number, libc::SYS_clock_nanosleep);
                assert_eq!(sleep.deadline, Some(seconds(3600) - look.at));
                assert_eq!((look.root, sleep.stopped), (timeout.pid, false));
            }
            Ok(())
        }),
        Trial::test("looks::a_look_can_end_the_run", || {
            let ran = run_with(command(&["sleep", "3600"]), |warp| warp.look(seconds(5), |_| Next::Stop));
            assert_eq!((ran.ending.verdict.clone(), ran.nanos()), (Verdict::Stopped, 5_000_000_000));
            Ok(())
        }),
        Trial::test("looks::looks_change_nothing", || {
            let script = "for i in 1 2 3; do sleep 10.5; done; exec date +%N";
            let with = run_with(command(&["sh", "-c", script]), |warp| {
                warp.look(seconds(1), |look| Next::At(look.at + std::time::Duration::from_millis(1_250)))
            });
            assert_eq!((with.nanos(), with.output.as_str()), (31_500_000_000, "500000000\n"));
            Ok(())
        }),
    ]
}
