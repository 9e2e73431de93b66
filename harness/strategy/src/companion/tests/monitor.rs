//! The monitor of a job (seed 2.4).

use super::*;

const RUNS: &str = "opencode task-1: running/investigating (elapsed 0ms) — [investigating] Running task...";

#[test]
fn it_says_changes_heartbeats_and_the_end() {
    let world = World {
        messages: bash_from(0),
        post: Some((610_001, Ok((200, shapes::reply(&"r".repeat(2_000)))))),
        ..World::default()
    };
    let story = play("monitor@pr3", world, H4);
    let says = story.says();
    assert_eq!(says[0], (0, RUNS.to_owned()));
    assert_eq!(
        says[1],
        (300_000, "opencode task-1: heartbeat — still running/investigating (elapsed 5m 0s)".to_owned())
    );
    assert_eq!(says[2].0, 600_000);
    assert_eq!(says[3], (630_000, "opencode task-1: completed/completed (elapsed 10m 30s)".to_owned()));
    let summary = "opencode task-1 TERMINAL=completed — result summary:";
    assert_eq!(says[4], (630_000, format!("{summary}\n{}", "r".repeat(1_500))));
    assert_eq!(story.settled().map(|(t, _)| t), Some(630_000));
}

#[test]
fn pr5_gives_up_after_an_hour_while_the_job_runs() {
    let story = play("monitor@pr5", World { messages: bash_from(0), ..World::default() }, H4 - 1);
    let last = story.says().pop();
    let gave_up =
        "opencode task-1 TERMINAL=timeout — monitor gave up after 120 polls (last status: running/investigating)";
    assert_eq!(last, Some((3_570_000, gave_up.to_owned())));
    assert_eq!(story.settled(), None);
    let pr3 = play("monitor@pr3", World { messages: bash_from(0), ..World::default() }, H4 - 1);
    assert!(pr3.says().iter().all(|(_, text)| !text.contains("TERMINAL")));
    assert!(pr3.says().last().is_some_and(|(t, _)| *t > 14_000_000));
}

/// Its status heals, so it finds out a dead worker, and says so.
#[test]
fn its_polls_heal() {
    let world = World { messages: bash_from(0), worker_dies: Some(2_000), ..World::default() };
    let story = play("monitor@pr3", world, H4);
    assert_eq!(story.stopped().0, 90_000);
    assert!(
        story
            .says()
            .last()
            .is_some_and(|(_, text)| text.contains("TERMINAL=failed — result summary:\ntask-worker exited"))
    );
}

/// A job that never gets a worker: the heartbeat says `queued` for ever.
#[test]
fn a_queued_job_is_told_as_queued() {
    let story = play("monitor@pr3", World { worker_starts: false, ..World::default() }, 301_000);
    assert_eq!(story.says()[0].1, "opencode task-1: queued/queued (elapsed 0ms)");
    assert!(story.says()[1].1.contains("heartbeat — still queued/queued"));
}

/// It holds an end back until its next poll, and there is none after it gave up.
#[test]
fn who_gave_up_holds_no_end_back() {
    let ends = |max_polls: u32| {
        let post = Some((40_000, Ok((200, shapes::reply("done")))));
        let world = World { messages: bash_from(0), post, ..World::default() };
        play(&format!("monitor@pr5(max_polls={max_polls})"), world, H4).settled().map(|(t, _)| t)
    };
    assert_eq!([1, 2, 3, 4].map(ends), [40_000, 40_000, 60_000, 60_000].map(Some));
}
