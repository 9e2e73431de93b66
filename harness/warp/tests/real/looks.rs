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
        Trial::test("looks::a_tree_that_is_over_is_looked_at_until_no_look_is_asked_for", || {
            let script = "import os, time\ntime.sleep(30)\nr, w = os.pipe()\nos.read(r, 1)";
            let mut looks: Vec<(u64, i64)> = Vec::new();
            let ran = run_with(command(&["python3", "-c", script]), |warp| {
                warp.look(seconds(20), |look| {
                    looks.push((look.at.as_secs(), look.threads[0].call.expect("a call").number));
                    if looks.len() < 3 { Next::At(look.at * 10) } else { Next::Never }
                })
            });
            assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending);
            assert_eq!(ran.nanos(), 30_000_000_000, "it was over then, however long it is looked at");
            let (sleep, read) = (libc::SYS_clock_nanosleep, libc::SYS_read);
            assert_eq!(looks, [(20, sleep), (200, read), (2_000, read)]);
            Ok(())
        }),
        Trial::test("looks::a_look_knows_births_alarms_and_what_a_clock_showed", || {
            let script = "sleep 5; perl -e 'alarm 100; sleep 1000'; exit 7";
            let mut looks: Vec<Look> = Vec::new();
            let ran = run_with(command(&["sh", "-c", script]), |warp| {
                warp.look(seconds(15), |look| {
                    looks.push(look.clone());
                    Next::Never
                })
            });
            let [sh, perl] = &looks[0].processes[..] else { panic!("{looks:?}") };
            assert_eq!((sh.born, sh.alarm), (seconds(0), None));
            assert_eq!((perl.born, perl.alarm), (seconds(5), Some(seconds(90))));
            assert_eq!(looks[0].jumps.at(std::time::Instant::now()), seconds(15));
            let ends: Vec<_> = ran.ending.exits.iter().map(|exit| (exit.born, exit.at, exit.code)).collect();
            assert_eq!(
                ends,
                [(seconds(5), seconds(105), None), (seconds(0), seconds(105), Some(7))],
                "the first sleep was never looked at"
            );
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
