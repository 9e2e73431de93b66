//! The fake opencode under the scheduler, on the simulated kernel: what each mode prints, answers and waits for.

use rehang_os::sim::SimKernel;
use rehang_scenario::{Scenario, Terminal, VTime};
use rehang_stage::{Job, Record, has_trace, run};
use rehang_trace::{AskEnd, Cause, Ended, Event, Fact, Trace, What};
use serde_json::{Value, json};

fn scenario(agent: Value, turns: Value, more: Value) -> Scenario {
    let mut all = json!({ "title": "t", "mechanism": "Q1", "agent": agent, "turns": turns });
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    serde_json::from_value(all).expect("a scenario")
}

fn play(scenario: &Scenario, stack: &str, terminal: Terminal) -> Record {
    let job = Job::new(scenario, stack, terminal, 1);
    let record = run(&mut SimKernel::new(rehang_fakes::program), &job).expect("the cell runs");
    if std::env::var("SHOW").is_ok() {
        for event in &record.trace.events {
            eprintln!("{:>8} {:<10} {}", event.t.0, event.who, serde_json::to_string(&event.what).unwrap());
        }
    }
    record
}

fn on(release: &str, mode: &str) -> Value {
    json!({ "opencode": { "as": release, "mode": mode } })
}

fn ask() -> Value {
    json!([
        { "ask": [{ "question": "Which database?", "options": [{ "label": "sqlite" }, { "label": "postgres" }] }] },
        { "say": "Done: {answer}" },
    ])
}

fn out(record: &Record, stream: u8) -> String {
    let text = |what: &What| match what {
        What::Out { fd, text } if *fd == stream => Some(text.clone()),
        _ => None,
    };
    record.trace.events.iter().filter_map(|event| text(&event.what)).collect()
}

fn facts(record: &Record) -> Vec<&Fact> {
    let events = record.trace.events.iter();
    events.filter_map(|event| if let What::Fact(fact) = &event.what { Some(fact) } else { None }).collect()
}

/// How the cell ended: `completed`, `failed`, or what the agent waits for.
fn end(record: &Record) -> String {
    let settled = record.trace.events.iter().find_map(|event| match &event.what {
        What::Settled { outcome, .. } => Some(*outcome),
        _ => None,
    });
    let ended = record.trace.events.iter().find_map(|event| match &event.what {
        What::Ended(ended) => Some(ended),
        _ => None,
    });
    let of_agent = |waits: &[(String, String)]| {
        waits.iter().find(|(role, _)| role == "agent").map_or(String::new(), |(_, on)| on.clone())
    };
    match (settled, ended) {
        (Some(outcome), _) => outcome.to_string(),
        (None, Some(Ended::Deadlock(waits))) => format!("deadlock: {}", of_agent(waits)),
        (None, Some(Ended::Lasso { waits, .. })) => format!("lasso: {}", of_agent(waits)),
        (None, other) => format!("{other:?}"),
    }
}

#[test]
fn run_prints_a_line_a_part_and_exits() {
    let it = scenario(on("1.2.15", "run"), json!([{ "say": "Hello." }]), json!({}));
    let record = play(&it, "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    let out = out(&record, 1);
    let kinds: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a JSON line")["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["step_start", "text", "step_finish"]);
    assert!(out.contains("\"text\":\"Hello.\""));
}

#[test]
fn a_question_hangs_run_before_1_3() {
    let record = play(&scenario(on("1.2.15", "run"), ask(), json!({})), "none", Terminal::Null);
    assert_eq!(end(&record), "deadlock: question");
}

#[test]
fn a_question_is_withheld_from_run_since_1_3() {
    for release in ["1.0.185", "1.3.2", "1.18.33"] {
        let record = play(&scenario(on(release, "run"), ask(), json!({})), "none", Terminal::Tty);
        assert_eq!(end(&record), "completed", "{release}");
        assert!(!facts(&record).iter().any(|fact| matches!(fact, Fact::Asked { .. })), "{release}");
        let told = facts(&record).into_iter().find_map(|fact| match fact {
            Fact::ToolEnded { text, .. } => Some(text.clone()),
            _ => None,
        });
        assert!(told.unwrap().contains("Model tried to call unavailable tool 'question'"), "{release}");
    }
}

#[test]
fn a_childs_question_still_hangs_run_since_1_3() {
    let turns = json!([{ "task": { "description": "look", "turns": ask() } }, { "say": "Done." }]);
    let record = play(&scenario(on("1.3.2", "run"), turns, json!({})), "none", Terminal::Null);
    assert_eq!(end(&record), "deadlock: question");
}

#[test]
fn run_rejects_a_permission_and_exits_0() {
    let turns = json!([{ "bash": { "command": "rm -rf x", "asks": "bash" } }, { "say": "never" }]);
    let it = scenario(on("1.2.15", "run"), turns, json!({}));
    let record = play(&it, "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert!(out(&record, 2).contains("! permission requested: bash (rm -rf x); auto-rejecting"));
    assert!(!out(&record, 1).contains("never"));
    assert!(!record.trace.events.iter().any(|event| event.who == "agent.1"), "nothing was started");
}

#[test]
fn run_allows_with_auto_and_starts_the_command() {
    let turns = json!([
        { "bash": { "command": "make", "asks": "bash", "does": [{ "print": "built" }, { "exit": 3 }] } },
        { "say": "It said {answer}" },
    ]);
    let it = scenario(on("1.18.33", "run"), turns, json!({ "args": ["--auto"] }));
    let record = play(&it, "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert!(out(&record, 1).contains("It said built"));
    assert!(out(&record, 1).contains("\"exit\":3"));
}

#[test]
fn a_childs_permission_hangs_run_until_children_are_followed() {
    let turns = json!([
        { "task": { "description": "x", "turns": [{ "bash": { "command": "ls", "asks": "bash" } }] } },
        { "say": "Done." },
    ]);
    for (release, expected) in [("1.2.15", "deadlock: permission"), ("1.18.33", "completed")] {
        let record = play(&scenario(on(release, "run"), turns.clone(), json!({})), "none", Terminal::Null);
        assert_eq!(end(&record), expected, "{release}");
    }
}

#[test]
fn run_waits_for_the_end_of_stdin_before_anything_else() {
    let it = scenario(on("1.2.15", "run"), json!([{ "say": "Hello." }]), json!({}));
    let record = play(&it, "none", Terminal::Pipe);
    assert_eq!(end(&record), "deadlock: stdin");
    assert!(facts(&record).is_empty(), "no session was made");
    assert_eq!(end(&play(&it, "none", Terminal::Closed)), "completed");
    assert_eq!(end(&play(&it, "none", Terminal::Tty)), "completed");
}

#[test]
fn altimates_last_cut_of_stdin_gives_up_after_half_a_second() {
    let it = scenario(json!({ "altimate": {} }), json!([{ "say": "Hello." }]), json!({ "args": ["--as", "pr935"] }));
    let record = play(&it, "none", Terminal::Pipe);
    assert_eq!(end(&record), "completed");
    assert!(out(&record, 2).contains("stdin produced no data; proceeding without it."));
    let at = record.trace.events.iter().find(|e| matches!(e.what, What::Fact(Fact::Session { .. }))).unwrap().t;
    assert_eq!(at, VTime(500));
}

#[test]
fn a_lost_idle_status_keeps_run_for_ever() {
    let lost = json!({ "faults": [{ "event": { "type": "session.status:idle", "nth": 0, "does": "drop" } }] });
    let record = play(&scenario(on("1.2.15", "run"), json!([{ "say": "Hi." }]), lost), "none", Terminal::Null);
    assert_eq!(end(&record), "deadlock: event");
}

#[test]
fn a_bash_tool_is_killed_at_its_limit() {
    let turns = json!([{ "bash": { "command": "sleep", "does": ["hold"], "timeout": "3s" } }, { "say": "{answer}" }]);
    let record = play(&scenario(on("1.2.15", "run"), turns, json!({})), "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert!(out(&record, 1).contains("exceeding timeout 3000 ms"));
    let killed = record.trace.events.iter().find(|e| matches!(e.what, What::Killed(_))).unwrap();
    assert_eq!((killed.who.as_str(), killed.t), ("agent.1", VTime(3_100)));
}

#[test]
fn serve_answers_a_prompt() {
    for release in ["1.0.185", "1.2.15", "1.3.2", "1.18.33"] {
        for client in ["post", "events", "resync"] {
            let agent = json!({ "opencode": { "as": release, "mode": "serve", "client": client } });
            let record = play(&scenario(agent, json!([{ "say": "Hello." }]), json!({})), "none", Terminal::Null);
            assert_eq!(end(&record), "completed", "{release} {client}");
        }
    }
}

/// A server writes what a turn has published at its end, but for a cut in the middle of it.
#[test]
fn what_was_published_before_a_cut_arrives_and_nothing_after_it() {
    let kinds = |more: Value| -> Vec<String> {
        let agent = json!({ "opencode": { "as": "1.2.15", "mode": "serve", "client": "events" } });
        let record = play(&scenario(agent, json!([{ "say": "Done." }]), more), "none", Terminal::Null);
        let stream = record.trace.events.iter().take_while(|event| event.what != What::SseEnd);
        let kind = |event: &Event| if let What::Sse(json) = &event.what { Some(json.kind().to_owned()) } else { None };
        stream.filter_map(kind).collect()
    };
    let whole = kinds(json!({}));
    for cut in ["message.part.delta", "session.idle"] {
        let at = whole.iter().position(|kind| kind == cut).expect("it is published");
        assert!(at > 2, "{whole:?}");
        let faults = json!([{ "event": { "type": cut, "does": { "cut": "3s" } } }]);
        assert_eq!(kinds(json!({ "faults": faults })), whole[..at]);
    }
}

#[test]
fn a_person_answers_over_http() {
    let people = json!({ "people": [
        { "via": "http", "sees": "events", "after": "2s", "does": { "answer": ["postgres"] } }
    ]});
    let record = play(&scenario(on("1.2.15", "serve"), ask(), people), "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    let ended = facts(&record).into_iter().find_map(|fact| match fact {
        Fact::AskEnded { end, cause, by, answers, .. } => Some((*end, *cause, by.clone(), answers.clone())),
        _ => None,
    });
    let answers = vec![vec!["postgres".to_owned()]];
    assert_eq!(ended, Some((AskEnd::Replied, Cause::Answer, "user".to_owned(), answers)));
}

#[test]
fn a_person_answers_at_the_terminal() {
    let people = json!({ "people": [
        { "via": "tty", "sees": "screen", "after": "1s", "does": { "answer": ["sqlite"] } },
        { "via": "tty", "sees": "clock", "after": "20s", "does": { "type": "\u{4}" } },
    ]});
    let record = play(&scenario(on("1.2.15", "interactive"), ask(), people), "none", Terminal::Tty);
    assert_eq!(end(&record), "completed");
    assert!(out(&record, 0).contains("\"Which database?\"=\"sqlite\""));
}

#[test]
fn auto_answer_keeps_the_question_from_being_asked() {
    let record = play(&scenario(json!({ "altimate": {} }), ask(), json!({})), "auto-answer@r1", Terminal::Null);
    assert_eq!(end(&record), "completed");
    let preempted = facts(&record).into_iter().any(|fact| matches!(fact, Fact::Preempted { live: false, .. }));
    assert!(preempted && !facts(&record).iter().any(|fact| matches!(fact, Fact::Asked { .. })));
}

#[test]
fn auto_answer_at_the_ask_layer_replies_to_an_ask() {
    let it = scenario(json!({ "altimate": {} }), ask(), json!({}));
    let record = play(&it, "auto-answer@r1(at=ask)", Terminal::Null);
    assert_eq!(end(&record), "completed");
    let by = facts(&record).into_iter().find_map(|fact| match fact {
        Fact::AskEnded { by, cause, .. } => Some((by.clone(), *cause)),
        _ => None,
    });
    assert_eq!(by, Some(("auto-answer@r1(at=ask)".to_owned(), Cause::Policy)));
}

#[test]
fn a_blind_timeout_rejects_the_question_and_the_ledger_does_not() {
    let people = json!({ "people": [
        { "via": "http", "sees": "list", "after": "900s", "does": { "answer": ["postgres"] } }
    ]});
    let it = scenario(json!({ "pawwork": {} }), ask(), people);
    let ends = |record: &Record| {
        let end = |fact: &&Fact| match fact {
            Fact::AskEnded { end, cause, .. } => Some((*end, *cause)),
            _ => None,
        };
        facts(record).iter().filter_map(end).collect::<Vec<_>>()
    };
    assert_eq!(ends(&play(&it, "blind-timeout", Terminal::Null)), [(AskEnd::Rejected, Cause::Silence)]);
    let record = play(&it, "ledger@v0", Terminal::Null);
    assert_eq!(ends(&record), [(AskEnd::Replied, Cause::Answer)]);
    assert_eq!(end(&record), "completed");
}

#[test]
fn an_external_result_is_answered_by_its_own_route() {
    let people = json!({ "people": [
        { "via": "http", "sees": "tree", "after": "5s", "does": { "answer": ["postgres"] } }
    ]});
    let record = play(&scenario(json!({ "pawwork": {} }), ask(), people), "external-result", Terminal::Null);
    assert_eq!(end(&record), "completed");
}

#[test]
fn a_stalled_model_hangs_and_one_that_fails_is_asked_again() {
    let fault = |does: Value| json!({ "faults": [{ "model": { "does": does } }] });
    let turns = json!([{ "say": "Hello." }]);
    let stalled = play(&scenario(on("1.2.15", "run"), turns.clone(), fault(json!("stall"))), "none", Terminal::Null);
    assert_eq!(end(&stalled), "deadlock: model");
    let again =
        play(&scenario(on("1.2.15", "run"), turns.clone(), fault(json!({ "status": 429 }))), "none", Terminal::Null);
    assert_eq!(end(&again), "completed");
    let over = again.trace.events.iter().find(|e| matches!(e.what, What::Exit(0))).unwrap().t;
    assert_eq!(over, VTime(2_000));
    let fatal = play(&scenario(on("1.2.15", "run"), turns, fault(json!({ "status": 404 }))), "none", Terminal::Null);
    assert_eq!(end(&fatal), "failed");
}

#[test]
fn a_stream_that_never_says_why_it_ends_is_asked_for_ever() {
    let fault = json!({ "faults": [{ "model": { "response": 0, "does": "no-finish" } }] });
    let it = scenario(on("1.2.15", "run"), json!([{ "say": "Hello." }]), fault);
    let record = play(&it, "none", Terminal::Null);
    assert!(end(&record).starts_with("lasso"), "{}", end(&record));
}

fn person(via: &str, sees: &str, after: &str, does: Value) -> Value {
    json!({ "via": via, "sees": sees, "after": after, "does": does })
}

fn responses(record: &Record, path: &str) -> Vec<(u16, Value)> {
    let ids: Vec<u32> = record
        .trace
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Request { id, path: of, .. } if of.contains(path) => Some(*id),
            _ => None,
        })
        .collect();
    let answered = |what: &What| match what {
        What::Response { id, status, body } if ids.contains(id) => Some((*status, body.clone_value())),
        _ => None,
    };
    record.trace.events.iter().filter_map(|event| answered(&event.what)).collect()
}

#[test]
fn an_event_stream_beats_every_ten_seconds() {
    let client = json!({ "opencode": { "as": "1.18.33", "mode": "serve", "client": "events" } });
    let turns = json!([{ "think": "35s" }, { "say": "Hello." }]);
    let record = play(&scenario(client, turns, json!({})), "none", Terminal::Null);
    let beat = |what: &What| matches!(what, What::Sse(event) if event["type"] == "server.heartbeat");
    let beats: Vec<u64> = record.trace.events.iter().filter(|e| beat(&e.what)).map(|e| e.t.0).collect();
    assert_eq!(beats, [10_000, 20_000, 30_000]);
}

#[test]
fn a_stop_leaves_the_prompt_open_in_1_2_and_ends_it_in_1_18() {
    let people = json!({ "people": [person("http", "clock", "5s", json!("stop"))] });
    let old = play(&scenario(on("1.2.15", "serve"), ask(), people.clone()), "none", Terminal::Null);
    assert!(end(&old).starts_with("deadlock"), "{}", end(&old));
    assert_eq!(responses(&old, "/abort"), [(200, json!(true))]);
    let new = play(&scenario(on("1.18.33", "serve"), ask(), people), "none", Terminal::Null);
    let answers = responses(&new, "/message");
    assert_eq!(answers[0].1["info"]["error"]["name"], "MessageAbortedError");
    assert_eq!(answers[0].1["parts"][1]["state"]["error"], "Tool execution aborted");
}

#[test]
fn a_stop_ends_a_command_and_the_prompt_in_every_release() {
    let people = json!({ "people": [person("http", "clock", "5s", json!("stop"))] });
    let turns = json!([{ "bash": { "command": "sleep", "does": ["hold"] } }]);
    for release in ["1.0.185", "1.2.15", "1.18.33"] {
        let record = play(&scenario(on(release, "serve"), turns.clone(), people.clone()), "none", Terminal::Null);
        let answers = responses(&record, "/message");
        assert_eq!(answers[0].1["info"]["error"]["name"], "MessageAbortedError", "{release}");
        let killed = record.trace.events.iter().any(|e| e.who == "agent.1" && matches!(e.what, What::Killed(_)));
        assert!(killed, "{release}");
    }
}

#[test]
fn a_dismissed_question_ends_the_turn() {
    let people = json!({ "people": [person("http", "events", "1s", json!("dismiss"))] });
    let record = play(&scenario(on("1.2.15", "serve"), ask(), people), "none", Terminal::Null);
    let answers = responses(&record, "/message");
    assert_eq!(answers[0].1["parts"][1]["state"]["error"], "Error: The user dismissed this question");
    assert_eq!(answers[0].1["info"]["finish"], "tool-calls");
}

#[test]
fn allowing_for_ever_allows_the_next_call_too() {
    let bash = json!({ "bash": { "command": "make it", "asks": "bash", "does": [{ "print": "ok" }] } });
    let people = json!({ "people": [person("http", "events", "1s", json!("always"))] });
    let turns = json!([bash, bash, { "say": "Done." }]);
    let record = play(&scenario(on("1.2.15", "serve"), turns, people), "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert_eq!(facts(&record).iter().filter(|fact| matches!(fact, Fact::Asked { .. })).count(), 1);
}

#[test]
fn the_ledger_speaks_before_the_question_does() {
    let people = json!({ "people": [person("http", "blocker", "1s", json!({ "answer": ["postgres"] }))] });
    let agent = json!({ "pawwork": { "client": "events" } });
    let record = play(&scenario(agent, ask(), people), "ledger@v0", Terminal::Null);
    assert_eq!(end(&record), "completed");
    let told = |what: &What| match what {
        What::Sse(event) => {
            event["type"].as_str().filter(|k| k.contains("blocker") || k.starts_with("question")).map(str::to_owned)
        }
        _ => None,
    };
    let order: Vec<String> = record.trace.events.iter().filter_map(|event| told(&event.what)).collect();
    assert_eq!(order, ["session.blocker.upserted", "question.asked", "session.blocker.removed", "question.replied"]);
}

#[test]
fn a_soft_stop_spares_a_question_in_pawwork() {
    let people = json!({ "people": [
        person("http", "clock", "1s", json!("soft-stop")),
        person("http", "events", "5s", json!({ "answer": ["sqlite"] })),
    ]});
    let record = play(&scenario(json!({ "pawwork": {} }), ask(), people), "ledger@v0", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert_eq!(responses(&record, "/abort"), [(200, json!(false))]);
}

#[test]
fn a_stop_in_pawwork_rejects_with_a_reason() {
    let people = json!({ "people": [person("http", "clock", "1s", json!("stop"))] });
    let record = play(&scenario(json!({ "pawwork": {} }), ask(), people), "ledger@v0", Terminal::Null);
    let ended = facts(&record).into_iter().find_map(|fact| match fact {
        Fact::AskEnded { end, cause, .. } => Some((*end, *cause)),
        _ => None,
    });
    assert_eq!(ended, Some((AskEnd::Rejected, Cause::Stop)));
}

#[test]
fn post_and_get_faults_strike_where_they_are_named() {
    let post = |does: Value| json!({ "faults": [{ "post": { "does": does } }] });
    let turns = json!([{ "say": "Hello." }]);
    let play = |faults: Value| play(&scenario(on("1.2.15", "serve"), turns.clone(), faults), "none", Terminal::Null);
    let refused = play(post(json!({ "status": 400 })));
    assert_eq!(responses(&refused, "/message")[0].0, 400);
    assert!(!facts(&refused).iter().any(|fact| matches!(fact, Fact::ModelAsked { .. })));
    let open = play(post(json!("never-closes")));
    assert_eq!(end(&open), "deadlock: client");
    assert!(facts(&open).iter().any(|fact| matches!(fact, Fact::Result { ok: true, .. })));
    let ignored = play(post(json!("ignored")));
    assert!(!facts(&ignored).iter().any(|fact| matches!(fact, Fact::ModelAsked { .. })));
    let over = play(post(json!({ "cut": "300s" })));
    assert_eq!(responses(&over, "/message")[0].0, 200, "a turn that is over before the cut is answered");
    let slow = json!([{ "think": "301s" }, { "say": "Hello." }]);
    let cut = post(json!({ "cut": "300s" }));
    let cut = crate::play(&scenario(on("1.2.15", "serve"), slow, cut), "none", Terminal::Null);
    let failed = cut.trace.events.iter().find(|e| matches!(e.what, What::RequestFailed { .. })).unwrap();
    assert_eq!(failed.t, VTime(300_000));
    let queue = play(json!({ "faults": [{ "queue": "refuses" }] }));
    assert_eq!(responses(&queue, "/message")[0].0, 503);
}

#[test]
fn a_tool_whose_state_never_flips_keeps_the_turn_busy() {
    let turns = json!([{ "bash": { "command": "true", "does": [{ "print": "ok" }] } }, { "say": "Done." }]);
    for (does, on_what) in [("never-flips", "deadlock: bash"), ("loses-result", "deadlock: tool")] {
        let faults = json!({ "faults": [{ "tool": { "does": does } }] });
        let record = play(&scenario(on("1.2.15", "run"), turns.clone(), faults), "none", Terminal::Null);
        assert_eq!(end(&record), on_what, "{does}");
    }
}

#[test]
fn two_calls_in_one_response_ask_side_by_side() {
    let question = |text: &str| json!({ "ask": [{ "question": text, "options": [{ "label": "a" }] }] });
    let turns = json!([{ "together": [question("One?"), question("Two?")] }, { "say": "Done." }]);
    let people = json!({ "people": [
        json!({ "via": "http", "sees": "events", "ask": 0, "after": "1s", "does": { "answer": ["a"] } }),
    ]});
    let record = play(&scenario(on("1.2.15", "serve"), turns, people), "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
    assert_eq!(facts(&record).iter().filter(|fact| matches!(fact, Fact::AskEnded { .. })).count(), 2);
}

#[test]
fn the_question_tool_is_registered_by_the_client_variable() {
    let env = json!({ "env": { "OPENCODE_CLIENT": "serve" } });
    let record = play(&scenario(on("1.2.15", "run"), ask(), env), "none", Terminal::Null);
    assert_eq!(end(&record), "completed");
}

#[test]
fn the_client_that_waits_for_the_turns_end_is_nobody_who_answers() {
    let live = |people: Value| {
        let agent = json!({ "altimate": { "mode": "serve", "client": "events" } });
        let record = play(&scenario(agent, ask(), json!({ "people": people })), "auto-answer@r1", Terminal::Null);
        facts(&record).into_iter().find_map(|fact| match fact {
            Fact::Preempted { live, .. } => Some(*live),
            _ => None,
        })
    };
    assert_eq!(live(json!([])), Some(false));
    assert_eq!(live(json!([person("http", "events", "1s", json!({ "answer": ["sqlite"] }))])), Some(true));
}

#[test]
fn a_restarted_server_finds_what_it_stored() {
    let agent = json!({ "opencode": { "as": "1.2.15", "mode": "serve", "client": "resync" } });
    let faults = json!({ "faults": [{ "process": { "at": "5s", "does": "restart" } }] });
    let record = play(&scenario(agent, ask(), faults), "none", Terminal::Null);
    let messages = responses(&record, "/message");
    let (status, messages) = messages.last().expect("the client asks for the messages");
    assert_eq!((*status, &messages[0]["info"]["role"]), (200, &json!("user")));
    // it is the server's disk, and it is not shown to anybody
    let shown =
        |fact: &&Fact| matches!(fact, Fact::Acted { strategy, .. } if strategy == rehang_fakes::opencode::STORE);
    assert!(facts(&record).iter().find(|fact| shown(fact)).is_none());
}

#[test]
fn whether_a_cell_has_a_trace_is_told_where_it_strays() {
    let scenario = scenario(on("1.2.15", "run"), ask(), json!({}));
    let job = |stack| Job::new(&scenario, stack, Terminal::Null, 1);
    let mut kernel = SimKernel::new(rehang_fakes::program);
    let none = run(&mut kernel, &job("none")).expect("the cell runs").trace;
    let mut has = |stack, trace: &Trace| has_trace(&mut kernel, &job(stack), trace).expect("the cell runs");
    assert!(has("none", &none));
    // it ends the hang, long after the question
    assert!(!has("wall", &none));
    // it keeps the question from being asked
    assert!(!has("not-offered(as=refused)", &none));
    for (at, event) in none.events.iter().enumerate() {
        let mut other = none.clone();
        other.events.remove(at);
        assert!(!has("none", &other), "without {event:?}");
        other.events.insert(at, Event { t: VTime(event.t.0 + 1), ..event.clone() });
        assert!(!has("none", &other), "another {event:?}");
    }
    let more = Trace { events: [&none.events[..], &none.events[..1]].concat() };
    assert!(!has("none", &more));
    // a cell that was cut leaves nothing behind
    assert!(has("none", &none));
}
