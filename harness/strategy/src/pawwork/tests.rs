//! The seed's tests and known failures (5.1–5.7), at decision level, in exact virtual times.

use crate::companion::tests::fuzz::{self, question};
use crate::testing::Patience;
use crate::{Act, Ask, InsideAct, InsideSeen, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Strategy, Then};
use rehang_words::VTime;
use serde_json::{Value, json};

/// A strategy under test, and everything that it has done so far.
struct Bench {
    strategy: Box<dyn Strategy>,
    acts: Vec<(u64, Act)>,
}

impl Bench {
    fn new(spec: &str) -> Bench {
        let (entry, params) = crate::spec::Spec::parse(spec).and_then(|spec| spec.resolve()).expect("a strategy");
        Bench { strategy: (entry.build)(&params), acts: vec![] }
    }

    /// Shows it something, after all ticks that are due before that.
    fn see(&mut self, now: u64, seen: Seen) -> Vec<Act> {
        self.until(now.saturating_sub(1));
        let mut acts = Vec::new();
        self.strategy.on(VTime(now), &seen, &mut acts);
        self.acts.extend(acts.iter().map(|act| (now, act.clone())));
        acts
    }

    /// Gives it the ticks that it asks for.
    fn until(&mut self, end: u64) {
        let mut patience = Patience::new();
        while let Some(at) = self.strategy.deadline().filter(|at| at.0 <= end) {
            patience.spend();
            let mut acts = Vec::new();
            self.strategy.on(at, &Seen::Tick, &mut acts);
            self.acts.extend(acts.into_iter().map(|act| (at.0, act)));
        }
    }

    fn aborts(&self) -> Vec<(u64, String, bool)> {
        let aborts = self.acts.iter().filter_map(|(t, act)| match act {
            Act::Inside(InsideAct::AbortStream { session, fail, .. }) => Some((*t, session.clone(), *fail)),
            _ => None,
        });
        aborts.collect()
    }

    fn requests(&self) -> Vec<(u64, &'static str, String)> {
        let requests = self.acts.iter().filter_map(|(t, act)| match act {
            Act::Protocol(ProtocolAct::Request { method, path, .. }) => Some((*t, *method, path.clone())),
            _ => None,
        });
        requests.collect()
    }
}

fn open() -> Seen {
    Seen::Inside(InsideSeen::StreamOpen { session: "ses_1".to_owned() })
}

fn moved(progress: bool) -> Seen {
    Seen::Inside(InsideSeen::StreamMoved { session: "ses_1".to_owned(), progress })
}

fn pending(id: &str, session: &str) -> Seen {
    let (id, session) = (id.to_owned(), session.to_owned());
    Seen::Inside(InsideSeen::Pending(Ask {
        id,
        session,
        child: false,
        questions: vec![question(false)],
        permission: String::new(),
    }))
}

fn closing(id: &str, reason: &'static str) -> Seen {
    Seen::Inside(InsideSeen::Closing { id: id.to_owned(), session: "ses_1".to_owned(), reason })
}

fn submit(id: &str, body: Value) -> Seen {
    let dismiss = body["action"] == "dismiss";
    Seen::Inside(InsideSeen::Submitted { id: id.to_owned(), session: "ses_1".to_owned(), dismiss, body })
}

fn verdict(acts: Vec<Act>) -> (u16, Then) {
    match acts.as_slice() {
        [Act::Inside(InsideAct::Verdict { status, then, .. })] => (*status, then.clone()),
        other => panic!("no verdict: {other:?}"),
    }
}

#[test]
fn a_silent_stream_is_drained_and_not_failed() {
    let mut bench = Bench::new("ledger@v0");
    bench.see(0, open());
    bench.see(5_000, moved(false));
    bench.until(9_000_000);
    assert_eq!(bench.aborts(), [(605_000, "ses_1".to_owned(), false)]);
}

/// llm.test.ts: "does not count awaiting question blockers as silent provider timeout".
#[test]
fn an_awaiting_question_arms_the_clock_again_and_never_ends_it() {
    for spec in ["ledger@v0", "external-result"] {
        let mut bench = Bench::new(spec);
        bench.see(0, open());
        bench.see(1_000, moved(true));
        bench.see(1_000, pending("que_1", "ses_1"));
        bench.see(1_900_000, closing("que_1", "replied"));
        let notes =
            bench.acts.iter().filter(|(_, act)| *act == Act::Inside(InsideAct::Note("re-arm"))).map(|(t, _)| *t);
        assert_eq!(notes.collect::<Vec<_>>(), [601_000, 1_201_000, 1_801_000], "{spec}");
        assert!(bench.aborts().is_empty());
        // 5.7: what is left of the period after the reply may be short; the tool's result starts a new one.
        assert_eq!(bench.strategy.deadline(), Some(VTime(2_401_000)));
        bench.see(1_900_000, moved(true));
        bench.until(9_000_000);
        assert_eq!(bench.aborts(), [(2_500_000, "ses_1".to_owned(), false)]);
    }
}

/// 5.7, by reading: the session must be the same one.
#[test]
fn a_childs_question_does_not_pause_its_parents_clock() {
    let mut bench = Bench::new("ledger@v0");
    bench.see(0, open());
    bench.see(1_000, pending("que_1", "ses_2"));
    bench.until(700_000);
    assert_eq!(bench.aborts(), [(600_000, "ses_1".to_owned(), false)]);
}

#[test]
fn a_permission_does_not_pause_it_either() {
    let mut bench = Bench::new("ledger@v0");
    bench.see(0, open());
    let (id, session, permission) = ("per_1".to_owned(), "ses_1".to_owned(), "bash".to_owned());
    let acts = bench.see(
        1_000,
        Seen::Inside(InsideSeen::Pending(Ask { id, session, child: false, questions: vec![], permission })),
    );
    assert!(acts.is_empty());
    bench.until(700_000);
    assert_eq!(bench.aborts().len(), 1);
}

#[test]
fn first_progress_has_its_own_limit_which_fails_the_turn() {
    let mut bench = Bench::new("ledger@v0(connect=30s)");
    bench.see(0, open());
    bench.see(29_000, moved(false));
    bench.until(60_000);
    assert_eq!(bench.aborts(), [(30_000, "ses_1".to_owned(), true)]);
    assert!(bench.acts.iter().any(|(_, act)| matches!(act, Act::Inside(InsideAct::AbortStream { text, .. })
        if text == "LLM stream connection timed out after 30000ms without provider progress")));

    let mut bench = Bench::new("external-result");
    let env = vec![(super::REASONING.to_owned(), "1".to_owned())];
    bench.see(0, Seen::Inside(InsideSeen::Boot { env, stdin_tty: false, run: false, listens: true }));
    bench.see(0, open());
    bench.see(119_999, moved(true));
    bench.until(719_998);
    assert!(bench.aborts().is_empty());
    bench.until(719_999);
    assert_eq!(bench.aborts(), [(719_999, "ses_1".to_owned(), false)]);
}

#[test]
fn the_connect_limit_waits_for_a_question_and_fires_after_its_answer() {
    let mut bench = Bench::new("ledger@v0(connect=30s)");
    bench.see(0, open());
    bench.see(1_000, pending("que_1", "ses_1"));
    bench.see(65_000, closing("que_1", "replied"));
    bench.until(99_000);
    assert_eq!(bench.aborts(), [(90_000, "ses_1".to_owned(), true)]);
}

#[test]
fn a_stream_that_ended_has_no_clock() {
    let mut bench = Bench::new("ledger@v0");
    bench.see(0, open());
    bench.see(1_000, Seen::Inside(InsideSeen::StreamClosed { session: "ses_1".to_owned() }));
    assert_eq!(bench.strategy.deadline(), None);
}

#[test]
fn a_blocker_is_published_when_it_comes_and_once_when_it_goes() {
    let mut bench = Bench::new("ledger@v0");
    let published = |acts: Vec<Act>| match acts.as_slice() {
        [Act::Inside(InsideAct::Publish(event))] => event.clone(),
        other => panic!("{other:?}"),
    };
    let up = published(bench.see(7, pending("que_1", "ses_1")));
    assert_eq!(up["type"], "session.blocker.upserted");
    assert_eq!((up["properties"]["armedAt"].as_u64(), up["properties"]["updatedAt"].as_u64()), (Some(7), Some(7)));
    let again = published(bench.see(9, pending("que_1", "ses_1")));
    assert_eq!(
        (again["properties"]["armedAt"].as_u64(), again["properties"]["updatedAt"].as_u64()),
        (Some(7), Some(9))
    );
    let down = published(bench.see(11, closing("que_1", "dismissed")));
    let gone = json!({"kind": "question", "sessionID": "ses_1", "requestID": "que_1", "reason": "dismissed"});
    assert_eq!(down, json!({"type": "session.blocker.removed", "properties": gone}));
    assert!(bench.see(11, closing("que_1", "dismissed")).is_empty());
}

#[test]
fn the_ledger_destroys_a_question_over_a_malformed_reply() {
    let reply = |body| {
        verdict({
            let mut bench = Bench::new("ledger@v0");
            bench.see(0, pending("que_1", "ses_1"));
            bench.see(1, submit("que_1", body))
        })
    };
    assert_eq!(reply(json!({"answers": [["A"]]})), (200, Then::Take(vec![vec!["A".to_owned()]])));
    assert_eq!(reply(json!({"answers": [[]]})), (200, Then::Take(vec![vec![]])));
    assert_eq!(reply(json!({"answers": [[" "]]})).0, 200);
    assert_eq!(reply(json!({"answers": []})), (400, Then::Destroy));
    assert_eq!(reply(json!({"answers": [["A", "B"]]})), (400, Then::Destroy));
    assert_eq!(reply(json!({"answers": [["C"]]})), (400, Then::Destroy));
    assert_eq!(reply(json!("{answers")), (400, Then::Keep));
    assert_eq!(reply(json!({"action": "dismiss"})), (200, Then::Dismiss));
    assert_eq!(verdict(Bench::new("ledger@v0").see(0, submit("que_9", json!({"answers": []})))), (404, Then::Keep));
}

#[test]
fn external_results_keep_what_does_not_fit() {
    let mut bench = Bench::new("external-result");
    bench.see(0, pending("call_1", "ses_1"));
    let mut respond = |now, id: &str, body: Value| match bench.see(now, submit(id, body)).pop() {
        Some(Act::Inside(InsideAct::Verdict { status, body, then, .. })) => {
            (status, body["error"].as_str().unwrap_or("").to_owned(), then)
        }
        other => panic!("{other:?}"),
    };
    let answer =
        |answers: Value| json!({"messageID": "msg_1", "callID": "call_1", "action": "submit", "answers": answers});
    let keep = |status: u16, error: &str| (status, error.to_owned(), Then::Keep);
    assert_eq!(respond(1, "call_1", json!("no JSON")), keep(400, "bad_body"));
    let mut of_no_message = answer(json!([["A"]]));
    of_no_message["messageID"] = Value::Null;
    assert_eq!(respond(1, "call_1", of_no_message), keep(400, "bad_body"));
    let mut of_no_action = answer(json!([["A"]]));
    of_no_action["action"] = json!("look");
    assert_eq!(respond(1, "call_1", of_no_action), keep(400, "bad_body"));
    assert_eq!(respond(1, "call_9", answer(json!([["A"]]))), keep(404, "not_found"));
    assert_eq!(respond(1, "call_1", answer(json!([]))), keep(422, "answer_count_mismatch"));
    assert_eq!(respond(1, "call_1", answer(json!([["A", "B"]]))), keep(422, "multi_answer_to_single_select"));
    assert_eq!(respond(1, "call_1", answer(json!([["C"]]))), keep(422, "label_not_in_options"));
    assert_eq!(respond(1_000, "call_1", answer(json!([["A"]]))).0, 200);
    assert_eq!(respond(1_000, "call_1", answer(json!([["B"]]))), keep(409, "already_resolved"));
    assert_eq!(respond(30_999, "call_1", answer(json!([["B"]]))), keep(409, "already_resolved"));
    assert_eq!(respond(31_000, "call_1", answer(json!([["B"]]))), keep(404, "not_found"));
}

#[test]
fn a_permission_is_no_external_result_and_a_call_is_kept_as_it_was_first() {
    let body = || json!({"messageID": "msg_1", "callID": "call_1", "action": "dismiss"});
    let mut bench = Bench::new("external-result");
    let (id, session) = ("call_1".to_owned(), "ses_1".to_owned());
    bench.see(
        0,
        Seen::Inside(InsideSeen::Pending(Ask {
            id,
            session,
            child: false,
            questions: vec![],
            permission: "bash".to_owned(),
        })),
    );
    assert_eq!(verdict(bench.see(1, submit("call_1", body()))).0, 404);
    bench.see(2, pending("call_1", "ses_1"));
    assert_eq!(verdict(bench.see(3, submit("call_1", body()))), (200, Then::Dismiss));
    bench.see(4, pending("call_1", "ses_1"));
    assert_eq!(verdict(bench.see(5, submit("call_1", body()))), (409, Then::Keep));
}

#[test]
fn a_response_that_races_an_abort_meets_the_tombstone() {
    let body = || json!({"messageID": "msg_1", "callID": "call_1", "action": "dismiss"});
    let mut bench = Bench::new("external-result");
    bench.see(0, pending("call_1", "ses_1"));
    bench.see(5, closing("call_1", "cancelled"));
    assert_eq!(verdict(bench.see(5, submit("call_1", body()))), (409, Then::Keep));
    let mut bench = Bench::new("external-result");
    bench.see(0, pending("call_1", "ses_1"));
    assert_eq!(verdict(bench.see(5, submit("call_1", body()))), (200, Then::Dismiss));
}

#[test]
fn a_question_beyond_the_limits_is_refused_at_the_tool() {
    let refused = |change: fn(&mut rehang_words::Question)| {
        let mut asked = question(false);
        change(&mut asked);
        let (id, session) = ("call_1".to_owned(), "ses_1".to_owned());
        let ask = Ask { id, session, child: false, questions: vec![asked], permission: String::new() };
        matches!(
            Bench::new("ledger@v0").see(0, Seen::Inside(InsideSeen::ToolAsks(ask))).as_slice(),
            [Act::Inside(InsideAct::Withhold { .. })]
        )
    };
    assert!(!refused(|_| ()));
    assert!(refused(|q| q.options[1].label = " A ".to_owned()));
    assert!(refused(|q| drop(q.options.pop())));
    assert!(refused(|q| q.header = "h".repeat(31)));
    assert!(!refused(|q| q.question = "q".repeat(200)));
    assert!(refused(|q| q.question = "q".repeat(201)));
}

mod recovery {
    use super::*;

    fn part(status: &str) -> Seen {
        Seen::Protocol(ProtocolSeen::Event(
            json!({"type": "message.part.updated", "properties": {"part": {
            "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "callID": "call_1", "type": "tool",
            "tool": "question", "state": {"status": status}}}})
            .into(),
        ))
    }

    fn status(kind: &str) -> Seen {
        let properties = json!({"sessionID": "ses_1", "status": {"type": kind}});
        Seen::Protocol(ProtocolSeen::Event(json!({"type": "session.status", "properties": properties}).into()))
    }

    fn asked(call: &str) -> Value {
        json!({"id": "que_1", "sessionID": "ses_1", "questions": [], "tool": {"messageID": "msg_1", "callID": call}})
    }

    fn listed(id: u32, list: Value) -> Seen {
        Seen::Protocol(ProtocolSeen::Response { id, status: 200, body: list.into() })
    }

    /// A question that has been running since 1,000 ms, and of which no event told.
    fn missing() -> Bench {
        let mut bench = Bench::new("recovery@430");
        bench.see(0, Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }));
        bench.see(0, status("busy"));
        bench.see(1_000, part("running"));
        bench
    }

    const HALT: (&str, &str) = ("POST", "/session/ses_1/abort");

    fn halts(bench: &Bench) -> Vec<u64> {
        bench.requests().iter().filter(|(_, m, p)| (*m, p.as_str()) == HALT).map(|(t, ..)| *t).collect()
    }

    #[test]
    fn it_looks_after_three_seconds_and_takes_up_a_question_that_is_listed() {
        let mut bench = missing();
        bench.until(60_000);
        assert_eq!(bench.requests(), [(4_000, "GET", "/question".to_owned())]);
        bench.see(4_001, listed(1, json!([asked("call_1")])));
        bench.until(60_000);
        assert!(halts(&bench).is_empty());
        assert_eq!(bench.strategy.deadline(), None);
    }

    /// #756: nobody did anything, and the session is aborted.
    #[test]
    fn a_question_that_is_not_listed_is_killed() {
        for list in [json!([]), json!([asked("call_9")])] {
            let mut bench = missing();
            bench.until(4_000);
            bench.see(4_001, listed(1, list));
            assert_eq!(halts(&bench), [4_001]);
        }
    }

    #[test]
    fn a_request_without_ids_stands_for_one_question() {
        let mut bench = missing();
        bench.until(4_000);
        bench.see(4_001, listed(1, json!([{"id": "que_1", "sessionID": "ses_1"}])));
        assert!(halts(&bench).is_empty());
    }

    /// Three retries of 3 s, then the halt; one list that works in between saves the question.
    #[test]
    fn a_list_that_fails_four_times_is_a_halt_and_three_times_is_not() {
        for failures in [3, 4] {
            let mut bench = missing();
            for n in 1..=failures {
                bench.until(1_000 + 3_000 * u64::from(n));
                bench.see(
                    1_000 + 3_000 * u64::from(n),
                    Seen::Protocol(ProtocolSeen::Response { id: n, status: 500, body: Value::Null.into() }),
                );
            }
            if failures == 3 {
                bench.until(13_000);
                bench.see(13_000, listed(4, json!([asked("call_1")])));
            }
            assert_eq!(halts(&bench), if failures == 4 { vec![13_000] } else { vec![] });
        }
    }

    #[test]
    fn leaving_cancels_and_coming_back_arms_anew() {
        let mut bench = missing();
        bench.see(
            3_999,
            Seen::Protocol(ProtocolSeen::Event(
                json!({"type": "question.asked", "properties": asked("call_1")}).into(),
            )),
        );
        bench.until(60_000);
        assert!(bench.requests().is_empty());
        let replied = json!({"sessionID": "ses_1", "requestID": "que_1"});
        bench.see(
            60_000,
            Seen::Protocol(ProtocolSeen::Event(json!({"type": "question.replied", "properties": replied}).into())),
        );
        assert_eq!(bench.strategy.deadline(), Some(VTime(63_000)));
        bench.see(61_000, part("completed"));
        assert_eq!(bench.strategy.deadline(), None);
    }

    #[test]
    fn whoever_navigates_away_takes_the_clock_along_and_its_retries() {
        let mut bench = missing();
        bench.see(2_000, Seen::Protocol(ProtocolSeen::Command("leave".to_owned())));
        bench.until(60_000);
        assert_eq!(bench.requests(), [], "nobody looks at a session that is not on the screen");
        bench.see(60_000, Seen::Protocol(ProtocolSeen::Command("come-back".to_owned())));
        bench.until(62_999);
        assert_eq!(bench.requests(), []);
        bench.until(63_000);
        assert_eq!(bench.requests().len(), 1);
    }

    #[test]
    fn an_event_during_the_look_makes_it_void() {
        let mut bench = missing();
        bench.until(4_000);
        let acts = bench.see(
            4_001,
            Seen::Protocol(ProtocolSeen::Event(
                json!({"type": "question.asked", "properties": asked("call_1")}).into(),
            )),
        );
        assert_eq!(acts, [Act::Protocol(ProtocolAct::Cancel { id: 1 })]);
        bench.see(4_002, listed(1, json!([])));
        assert!(halts(&bench).is_empty());
    }

    #[test]
    fn an_idle_session_is_left_alone_and_one_arm_fires_once() {
        let mut bench = missing();
        bench.see(2_000, status("idle"));
        bench.until(60_000);
        bench.see(60_000, part("running"));
        bench.until(90_000);
        assert!(bench.requests().is_empty());
    }

    #[test]
    fn a_halt_that_fails_is_a_warning() {
        let mut bench = missing();
        bench.until(4_000);
        bench.see(4_001, listed(1, json!([])));
        let acts = bench.see(4_002, Seen::Protocol(ProtocolSeen::Failed { id: 2, why: "closed".to_owned() }));
        assert!(matches!(acts.as_slice(), [Act::Say(text)] if text.contains("could not halt")));
        bench.until(90_000);
        assert_eq!(halts(&bench), [4_001]);
    }
}

#[test]
fn pawworks_strategies_take_any_sequence() {
    fuzz::check(super::ENTRIES);
}
