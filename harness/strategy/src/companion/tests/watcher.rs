//! The watchers: 2.1 and the RAN defects of 2.5.

use super::*;

/// 2.1: at defaults 10–15 s after the tool started, and never before 15 s after the prompt.
#[test]
fn a_stuck_bash_is_ended_ten_to_fifteen_seconds_after_it_began() {
    for start in [0, 1, 4_999, 5_000, 5_001, 9_999, 10_000, 12_345] {
        for spec in ["watcher@pr3", "watcher@pr5", "watcher@desc"] {
            let story = play(spec, World { messages: bash_from(start), ..World::default() }, H4);
            let (t, cause, text) = story.stopped();
            assert_eq!(cause, "bash-stuck");
            assert_eq!(t, 10_000 + start.max(1).div_ceil(5_000) * 5_000, "{spec} from {start}");
            assert!(t >= 15_000 && (start < 5_000 || (10_000..=15_000).contains(&(t - start))));
            assert_eq!(
                text,
                "bash tool stuck — opencode serve (pid agent) has no child for 3 polls while tool.status=running"
            );
            assert_eq!(story.report().detected.as_deref(), Some("no-children"));
        }
    }
}

/// RAN with 1 s polls: 7.5 s, half a second of which are processes that cost nothing here.
#[test]
fn with_polls_of_a_second_it_takes_seven() {
    let story = play("watcher@pr3(poll=1s)", World { messages: bash_from(0), ..World::default() }, H4);
    assert_eq!(story.stopped().0, 7_000);
}

#[test]
fn a_child_resets_the_misses_and_no_count_leaves_them() {
    let counted = |counts: &'static [Option<u32>]| World {
        messages: bash_from(0),
        children: Box::new(move |now| counts.get((now / 5_000 - 1) as usize).copied().unwrap_or(Some(0))),
        ..World::default()
    };
    let t = |counts| play("watcher@pr3", counted(counts), H4).stopped().0;
    assert_eq!(t(&[]), 15_000);
    assert_eq!(t(&[Some(0), Some(0), None]), 20_000);
    assert_eq!(t(&[Some(0), Some(0), Some(1)]), 30_000);
}

#[test]
fn without_a_pid_or_a_count_only_idleness_is_left() {
    for (pid, children) in [(false, Some(0)), (true, None)] {
        let world = World { messages: bash_from(0), pid, children: Box::new(move |_| children), ..World::default() };
        let (t, cause, text) = play("watcher@pr3", world, H4).stopped();
        assert_eq!((t, cause.as_str(), text.as_str()), (910_000, "idle", "session idle 905s > 900s"));
    }
}

/// 2.5 b and i: a sibling child masks the stuck bash, and output that streams into the metadata is not seen.
#[test]
fn a_masked_or_streaming_bash_is_killed_for_idleness_by_pr3() {
    let streams = |now: u64| Ok(shapes::bash_running(&"x".repeat((now / 1_000) as usize)));
    let world = World { messages: Box::new(streams), children: Box::new(|_| Some(1)), ..World::default() };
    assert_eq!(play("watcher@pr3", world, H4).stopped().0, 910_000);
}

/// RAN: with idle at 6 s four extensions within 35 s; the end is the prompt timeout's, bare (2.5 b, g).
#[test]
fn pr5_extends_for_ever_while_any_child_lives() {
    let world = || World { messages: bash_from(0), children: Box::new(|_| Some(1)), ..World::default() };
    let story = play("watcher@pr5(idle=6s, poll=1s)", world(), 35_000);
    assert_eq!(story.says().iter().map(|(t, _)| *t).collect::<Vec<_>>(), [12_000, 19_000, 26_000, 33_000]);
    let (t, cause, text) = play("watcher@pr5", world(), H4).stopped();
    assert_eq!((t, cause.as_str(), text.as_str()), (H4, "prompt-timeout", "prompt timeout"));
}

#[test]
fn the_descendant_extends_twice() {
    let world = World { messages: bash_from(0), children: Box::new(|_| Some(2)), ..World::default() };
    let (t, _, text) = play("watcher@desc", world, H4).stopped();
    assert_eq!(t, 1_820_000);
    assert_eq!(text, "session idle timeout: exceeded max extensions (2) with 2 child process(es) alive");
}

/// 2.5 h, by reading: it says 900000 and acts at more than 3600000.
#[test]
fn pr5_tells_another_idle_limit_than_it_has() {
    let story = play("watcher@pr5", World { messages: bash_from(0), pid: false, ..World::default() }, H4);
    assert_eq!(story.stopped().0, 3_610_000);
    assert_eq!(story.report().constants["idle_ms"], 900_000);
    let told = play("watcher@pr5(idle=1m)", World { messages: bash_from(0), pid: false, ..World::default() }, H4);
    assert_eq!(told.report().constants["idle_ms"], 60_000);
    let pr3 = play("watcher@pr3", World { messages: bash_from(0), pid: false, ..World::default() }, H4);
    assert_eq!(pr3.report().constants["idle_ms"], 900_000);
}

/// 2.5 a, RAN: it resolved on the first poll.
#[test]
fn a_tool_calls_step_is_taken_for_the_end() {
    let step = |_| Ok(shapes::finished(2_000, Some("tool-calls"), "so far"));
    for spec in ["watcher@pr3", "watcher@pr5", "watcher@desc"] {
        let story = play(spec, World { messages: Box::new(step), ..World::default() }, H4);
        assert_eq!(story.settled(), Some((5_000, Settled::Completed("so far".to_owned()))));
    }
}

#[test]
fn a_completion_without_finish_is_an_end_to_pr5_unless_strict() {
    let world = || World { messages: Box::new(|_| Ok(shapes::finished(2_000, None, "x"))), ..World::default() };
    assert_eq!(play("watcher@pr5", world(), H4).settled().map(|(t, _)| t), Some(5_000));
    for spec in ["watcher@pr3", "watcher@pr5(terminal=strict)"] {
        assert_eq!(play(spec, world(), H4).stopped().1, "idle", "{spec}");
    }
}

/// 2.5 c, RAN: the POST fails, polls fail, and idleness is not looked at: 4 h.
#[test]
fn a_crash_hangs_until_the_prompt_timeout_and_tells_of_the_fetch() {
    let crash = || World { messages: Box::new(|_| Err(0)), post: Some((3_000, Err("closed"))), ..World::default() };
    let story = play("watcher@pr3", crash(), H4);
    assert_eq!(story.settled(), Some((H4, Settled::Failed("fetch failed: other side closed".to_owned()))));
    assert_eq!(story.report().cause.as_deref(), Some("fetch"));
    assert_eq!(story.report().detected.as_deref(), Some("prompt-timeout"));
    assert_eq!(play("watcher@desc", crash(), H4).stopped().2, "prompt timeout");
}

/// 2.5 d, RAN: a POST that is refused at once surfaces when idleness fires.
#[test]
fn a_refused_prompt_is_told_when_idleness_fires() {
    let world = || World { post: Some((1, Ok((400, json!("bad model"))))), ..World::default() };
    let failed = || Settled::Failed("OpenCode prompt failed 400: bad model".to_owned());
    assert_eq!(play("watcher@pr3", world(), H4).settled(), Some((905_000, failed())));
    assert_eq!(play("watcher@pr5", world(), H4).settled(), Some((3_605_000, failed())));
}

/// 2.5 g: the POST was cut at 300 s; what ended the run later is not what is reported. The descendant fixes that.
#[test]
fn an_older_fetch_error_hides_the_abort() {
    let world = || World {
        messages: bash_from(0),
        children: Box::new(|now| Some(u32::from(now < 400_000))),
        post: Some((300_000, Err("closed"))),
        ..World::default()
    };
    let story = play("watcher@pr5", world(), H4);
    let (t, settled) = story.settled().expect("settled");
    assert_eq!(t, 410_000);
    assert!(matches!(settled, Settled::Failed(text) if text.starts_with("fetch failed: other side closed (hint: ")));
    assert_eq!(story.report().detected.as_deref(), Some("no-children"));
    assert_eq!(story.report().cause.as_deref(), Some("fetch"));
    assert_eq!(play("watcher@desc", world(), H4).stopped().1, "bash-stuck");
}

#[test]
fn the_first_success_wins_and_a_first_failure_waits() {
    let reply = || Some((8_000, Ok((200, shapes::reply("done")))));
    let story = play("watcher@pr3", World { messages: bash_from(0), post: reply(), ..World::default() }, H4);
    assert_eq!(story.settled(), Some((8_000, Settled::Completed("done".to_owned()))));
    let late = |now| Ok(if now < 20_000 { json!([]) } else { shapes::finished(19_000, Some("stop"), "late") });
    let world = World { messages: Box::new(late), post: Some((1_000, Err("reset"))), ..World::default() };
    let story = play("watcher@pr3", world, H4);
    assert_eq!(story.settled(), Some((20_000, Settled::Completed("late".to_owned()))));
}

#[test]
fn the_descendant_ends_on_an_empty_message_and_on_quota_prose() {
    let world = World { messages: Box::new(|_| Ok(shapes::empty(1_000))), ..World::default() };
    let (t, cause, text) = play("watcher@desc", world, H4).stopped();
    assert_eq!((t, cause.as_str()), (95_000, "stream-stall"));
    assert_eq!(text, "opencode stream stalled: empty assistant message for 94s");
    let mut body = shapes::empty(1_000);
    body[0]["parts"] = json!([{"type": "text", "text": "Quota exceeded, retrying"}]);
    let world = World { messages: Box::new(move |_| Ok(body.clone())), ..World::default() };
    assert_eq!(play("watcher@desc", world, H4).stopped().1, "quota");
}

#[test]
fn it_ends_within_its_bound_whatever_the_server_does() {
    for spec in ["watcher@pr3", "watcher@pr5", "watcher@desc"] {
        let (entry, params) = crate::spec::Spec::parse(spec).and_then(|s| s.resolve()).unwrap();
        let bound = (entry.build)(&params).bound(&crate::Facts::default()).expect("bounded");
        for status in [0, 500] {
            let story = play(spec, World { messages: Box::new(move |_| Err(status)), ..World::default() }, H4 * 2);
            assert!(story.settled().expect("ends").0 <= bound.as_ms());
        }
    }
}

#[test]
fn one_prompt_is_sent_to_the_first_session_that_is_named() {
    use crate::testing::Bench;
    let start =
        |session: &str| Seen::Process(ProcessSeen::Started { session: session.to_owned(), prompt: "go".to_owned() });
    let sent =
        |acts: &[Act]| acts.iter().filter(|act| matches!(act, Act::Protocol(ProtocolAct::Request { .. }))).count();
    let mut bench = Bench::of("watcher@pr5");
    assert_eq!(bench.see(start("")), [], "a process without a server");
    assert_eq!(sent(&bench.see(start("ses_1"))), 1);
    assert_eq!(bench.see(start("ses_2")), []);
}
