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
        Trial::test("limits::a_ticker_is_skipped_if_that_is_asked_for", || {
            let ticked = |skip: Option<Duration>| {
                run_with(support::program(&["limits", "ticker"]), |warp| match skip {
                    Some(span) => warp.skip_tickers(span),
                    None => warp,
                })
            };
            let (skipped, whole) = (ticked(Some(Duration::from_secs(10))), ticked(None));
            // each limit of the others is the same: the sleep of an hour, the polls, the wait that is ended by a thread
            assert_eq!(skipped.output, "1000 2000 3600000\n");
            assert_eq!(whole.output, skipped.output);
            assert_eq!(whole.nanos(), skipped.nanos());
            // 100 ticks of 25 ms before it is one, then one each 10 s; some hundred waits of the others
            assert!(skipped.ending.jumps < 2_000, "{:?}", skipped.ending);
            assert!(whole.ending.jumps > 140_000, "{:?}", whole.ending);
            assert!(skipped.ending.lengthened > 300, "{:?}", skipped.ending);
            assert_eq!(whole.ending.lengthened, 0);
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

/// A thread ticks every 25 ms, for ever. Another one polls 200 times for 5 ms, then wakes a third 200 times that waits
/// for that for 20 ms at most. Then an hour passes.
pub fn ticker() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(25));
        }
    });
    let begun = Instant::now();
    let polls = || {
        (0..200).for_each(|_| {
            // SAFETY: polls no descriptor.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 5) };
        })
    };
    polls();
    let polled = begun.elapsed().as_millis();
    let (send, receive) = std::sync::mpsc::channel();
    let woken = std::thread::spawn(move || (0..200).all(|_| receive.recv_timeout(Duration::from_millis(20)).is_ok()));
    for _ in 0..200 {
        // SAFETY: polls no descriptor.
        unsafe { libc::poll(std::ptr::null_mut(), 0, 5) };
        let _ = send.send(());
    }
    assert!(woken.join().expect("it ran"), "each word came in time");
    let woke = begun.elapsed().as_millis();
    std::thread::sleep(Duration::from_secs(3_600) - begun.elapsed());
    println!("{polled} {woke} {}", begun.elapsed().as_millis());
}

/// Reads its clock until 10 ms are over.
pub fn program() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(10) {}
    println!("{}", begun.elapsed().as_millis());
}
