//! Loops that wait for the clock, loops that compute, random numbers, clocks beside the usual ones.

use crate::support::{self, command, run, run_with};
use libtest_mimic::Trial;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("limits::a_loop_that_reads_the_clock_ends", || {
            let ran = run(support::program(&["limits"]));
            // read 5,000 times at each instant, it moves by 1 ms
            assert_eq!(ran.output, "10\n");
            assert_eq!(ran.nanos(), 10_000_000);
            assert!(ran.ending.repeatable);
            Ok(())
        }),
        Trial::test("limits::a_loop_that_computes_is_ended_and_not_repeatable", || {
            let words = ["timeout", "30", "sh", "-c", "while :; do :; done"];
            let ran = run_with(command(&words), |warp| warp.busy(Duration::from_millis(200)));
            assert_eq!(exit_code(&ran), 124);
            assert!(!ran.ending.repeatable);
            assert!(ran.nanos() >= 30_000_000_000);
            Ok(())
        }),
        Trial::test("limits::random_numbers_come_from_the_seed", || {
            let script = "od -An -N16 -tx1 /dev/urandom; exec head -c 4 /dev/random | od -An -tx1";
            let draw = |seed| run_with(command(&["sh", "-c", script]), |warp| warp.seed(seed)).output;
            let first = draw(7);
            assert_eq!(first.split_ascii_whitespace().count(), 20);
            assert_eq!(first, draw(7));
            assert_ne!(first, draw(8));
            Ok(())
        }),
        Trial::test("limits::the_time_of_day_begins_where_it_is_told", || {
            let start = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            let date = |start: SystemTime| {
                run_with(command(&["sh", "-c", "sleep 3600; date +%s.%N"]), |warp| warp.start(start)).output
            };
            assert_eq!(date(start), "1000003600.000000000\n");
            Ok(())
        }),
        Trial::test("limits::a_program_that_traces_is_refused_and_named", || {
            if !support::has("strace") && !support::has("gdb") {
                return Ok(());
            }
            let words: &[&str] = if support::has("strace") {
                &["strace", "true"]
            } else {
                &["gdb", "-batch", "-ex", "run", "/bin/true"]
            };
            let ran = run(command(words));
            let traces = |note: &rehang_warp::Note| note.what == rehang_warp::Limit::Traces;
            assert!(ran.ending.notes.iter().any(traces), "{:?}", ran.ending);
            Ok(())
        }),
        Trial::test("limits::a_command_that_does_not_exist_is_reported", || {
            let error = rehang_warp::Warp::new(command(&["/does/not/exist"])).run().expect_err("no such file");
            match error {
                rehang_warp::Error::Start { error, .. } => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
                other => panic!("{other}"),
            }
            Ok(())
        }),
    ]
}

fn exit_code(ran: &support::Ran) -> i32 {
    match ran.ending.verdict {
        rehang_warp::Verdict::Exited { code } => code,
        ref other => panic!("{other:?}"),
    }
}

/// Reads its clock until 10 ms are over.
pub fn program() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(10) {}
    println!("{}", begun.elapsed().as_millis());
}
