//! The wrapper that is there to be copied works: a command that ends is left alone, one that hangs is ended for its
//! reason.
//!
//! Invariant: the strategies' clock is paced, so that minutes take a second; only outcomes are asserted.

#[allow(dead_code)]
#[path = "../examples/wrapper.rs"]
mod wrapper;

use rehang_strategy::Settled;
use std::process::Command;
use wrapper::Ended;

fn run(script: &str) -> Ended {
    wrapper::run(Command::new("sh").args(["-c", script]), 200).expect("it runs")
}

#[test]
fn what_ends_by_itself_ends_with_its_own_code() {
    let ended = run("echo out; echo err >&2; exit 7");
    assert!(matches!(ended, Ended::Itself(status) if status.code() == Some(7)), "{ended:?}");
}

#[test]
fn what_never_ends_is_ended() {
    let ended = run("echo up; exec sleep infinity");
    let Ended::By(who, Settled::Stopped(cause, _)) = &ended else { panic!("{ended:?}") };
    assert_eq!((who.as_str(), cause.as_str()), ("guard-process", "never-ends"));
}

#[test]
fn what_leaves_its_pipe_behind_is_taken_as_over() {
    let ended = run("sleep 1000 & echo done");
    assert!(matches!(&ended, Ended::By(_, Settled::Completed(text)) if text == "done\n"), "{ended:?}");
}
