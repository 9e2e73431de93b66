//! The healer: 2.2, and what 2.5 says of it.

use super::*;

fn dead(messages: Box<dyn Fn(u64) -> Result<Json, u16>>, commands: Vec<(u64, &'static str)>) -> World {
    World { messages, worker_dies: Some(2_000), commands, ..World::default() }
}

#[test]
fn a_worker_that_lives_is_left_alone_and_finishes() {
    let world = World {
        messages: bash_from(0),
        post: Some((90_000, Ok((200, shapes::reply("done"))))),
        commands: vec![(70_000, "heal")],
        ..World::default()
    };
    let story = play("heal@pr3", world, H4);
    assert_eq!(story.action(70_000), ("skipped".to_owned(), "worker still alive".to_owned()));
    assert_eq!(story.settled(), Some((90_000, Settled::Completed("done".to_owned()))));
}

/// The threshold of 60 s, a tick before it and at it; defect e is the same act on a session that still writes.
#[test]
fn a_dead_worker_fails_its_job_after_a_minute_of_stillness() {
    let story = play("heal@pr3", dead(bash_from(0), vec![(60_999, "heal"), (61_000, "heal")]), H4);
    assert_eq!(story.action(60_999), ("skipped".to_owned(), "idle 59s < 60s threshold".to_owned()));
    let text = "task-worker exited without completion; session last updated 60s ago";
    assert_eq!(story.action(61_000), ("healed-failed".to_owned(), text.to_owned()));
    assert_eq!(story.stopped(), (61_000, "worker-dead".to_owned(), text.to_owned()));
    let report = story.report();
    assert_eq!(report.constants["still_ms"], 60_000);
    assert_eq!((report.text.as_deref(), report.cause.as_deref()), (Some(text), Some("worker-dead")));
    assert_eq!(report.rule.as_deref(), Some("healed-failed"));
}

/// 2.5 a, RAN: partial text becomes the result, though the worker lives.
#[test]
fn a_tool_calls_step_heals_to_completed() {
    let step = |_| Ok(shapes::finished(2_000, Some("tool-calls"), "so far"));
    let world = World { messages: Box::new(step), commands: vec![(9_000, "heal")], ..World::default() };
    let story = play("heal@pr5", world, H4);
    assert_eq!(story.action(9_000), ("healed-completed".to_owned(), "finish: tool-calls".to_owned()));
    assert_eq!(story.settled(), Some((9_000, Settled::Completed("so far".to_owned()))));
}

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() {
    let fails = dead(bash_from(0), vec![(99_000, "heal --dry-run"), (99_001, "status")]);
    let story = play("heal@pr3", fails, 99_000);
    assert_eq!(story.action(99_000).0, "would-fail");
    assert_eq!(story.settled(), None);
    let done = |_| Ok(shapes::finished(2_000, Some("stop"), "done"));
    let story = play("heal@pr3", dead(Box::new(done), vec![(9_000, "heal --dry-run")]), H4);
    assert_eq!(story.action(9_000).0, "would-complete");
    assert_eq!(story.settled(), None);
}

/// 2.5 f: no session, so never healed; and the prompt was never sent.
#[test]
fn a_queued_job_with_a_dead_worker_is_never_healed() {
    let world = World { worker_starts: false, commands: vec![(H4, "heal")], ..World::default() };
    let story = play("heal@pr5", world, H4);
    assert_eq!(story.action(H4), ("skipped".to_owned(), "no opencodeSessionId".to_owned()));
    assert!(!story.0.iter().any(|(_, act)| matches!(act, Act::Protocol(ProtocolAct::Request { .. }))));
}

#[test]
fn an_unreachable_server_fails_the_job_in_pr5_only() {
    let world = || dead(Box::new(|_| Err(0)), vec![(59_999, "heal"), (60_000, "heal")]);
    let story = play("heal@pr3", world(), H4);
    assert_eq!(story.action(60_000), ("skipped".to_owned(), "server unreachable: refused".to_owned()));
    assert_eq!(story.settled(), None);
    let story = play("heal@pr5", world(), H4);
    assert_eq!(story.action(59_999).0, "skipped");
    assert_eq!(story.action(60_000).1, "server unreachable while worker dead");
    assert_eq!(story.stopped().1, "server-unreachable");
}

/// A server that answers with an error is reachable.
#[test]
fn an_error_status_is_reachable_and_not_terminal() {
    let story = play("heal@pr3", dead(Box::new(|_| Err(500)), vec![(60_000, "heal")]), H4);
    assert_eq!(story.action(60_000).0, "healed-failed");
}

/// 2.5 k: the worker's late failure replaces what was healed; the run was settled before.
#[test]
fn a_late_worker_writes_over_a_healed_job() {
    let done = |_| Ok(shapes::finished(2_000, Some("stop"), "done"));
    let world = World {
        messages: Box::new(done),
        post: Some((20_000, Err("closed"))),
        commands: vec![(9_000, "heal"), (10_000, "status"), (21_000, "status"), (22_000, "result")],
        ..World::default()
    };
    let story = play_on("heal@pr3", world, 30_000, true);
    let said = |t| story.says().into_iter().find(|(at, _)| *at == t).map(|(_, text)| text).unwrap_or_default();
    assert!(said(10_000).contains(r#""status":"completed","phase":"completed""#), "{}", said(10_000));
    assert!(said(21_000).contains(r#""status":"failed""#));
    assert!(said(22_000).contains("other side closed"));
    let settles = story.0.iter().filter(|(_, act)| matches!(act, Act::Process(ProcessAct::Settle(_)))).count();
    assert_eq!(settles, 1);
}

#[test]
fn a_cancel_tells_the_server_and_fails_the_job() {
    let world = World { messages: bash_from(0), commands: vec![(9_000, "cancel")], ..World::default() };
    let story = play("heal@pr3", world, H4);
    assert!(story.0.iter().any(
        |(_, act)| matches!(act, Act::Protocol(ProtocolAct::Request { path, .. }) if path == "/session/ses_1/abort")
    ));
    assert_eq!(story.stopped(), (9_000, "cancel".to_owned(), "Canceled by user".to_owned()));
}

#[test]
fn its_worker_can_be_the_watcher() {
    let story = play("heal@pr3(worker=watcher)", World { messages: bash_from(0), ..World::default() }, H4);
    assert_eq!(story.stopped().0, 15_000);
    let plain = play("heal@pr3", World { messages: bash_from(0), ..World::default() }, H4);
    assert_eq!(plain.stopped().1, "prompt-timeout");
}

/// A command that comes while another one asks the server waits for it.
#[test]
fn commands_are_carried_out_one_after_the_other() {
    let commands = vec![(9_000, "heal"), (9_000, "status"), (9_000, "result")];
    let story = play("heal@pr3", World { messages: bash_from(0), commands, ..World::default() }, 10_000);
    let said: Vec<String> = story.says().into_iter().filter(|(at, _)| *at == 9_000).map(|(_, text)| text).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("actions") && said[1].contains("\"status\":\"running\""), "{said:?}");
}

#[test]
fn a_command_that_there_is_not_is_named() {
    let story = play("heal@pr3", World { commands: vec![(9_000, "undo")], ..World::default() }, 10_000);
    assert!(story.says().contains(&(9_000, "unknown command: undo".to_owned())), "{:?}", story.says());
}

/// The worker writes the status first and the data file next: a result between the two has no text.
#[test]
fn a_result_without_its_data_file_is_null() {
    let now = VTime(20_000);
    let mut strategy = built("heal@pr3");
    let mut on = |seen: Seen| {
        let mut acts = Vec::new();
        strategy.on(now, &seen, &mut acts);
        acts
    };
    on(Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }));
    let sent = on(Seen::Protocol(ProtocolSeen::Worker(true)));
    let [Act::Protocol(ProtocolAct::Request { id, .. })] = sent.as_slice() else {
        panic!("the prompt is sent: {sent:?}")
    };
    on(Seen::Protocol(ProtocolSeen::Response {
        id: *id,
        status: 200,
        body: std::sync::Arc::new(shapes::reply("done")),
    }));
    let mut result = || match on(Seen::Protocol(ProtocolSeen::Command("result".to_owned()))).as_slice() {
        [Act::Say(text)] => text.clone(),
        other => panic!("it says one thing: {other:?}"),
    };
    assert_eq!(result(), r#"{"status":"completed","rendered":null}"#);
    strategy.on(now, &Seen::Tick, &mut Vec::new());
    let mut acts = Vec::new();
    strategy.on(now, &Seen::Protocol(ProtocolSeen::Command("result".to_owned())), &mut acts);
    let done = r#"{"status":"completed","rendered":"done","healed":false}"#;
    assert_eq!(acts, [Act::Say(done.to_owned())]);
}
