use crate::testing::{Bench, Patience, deed, report};
use crate::{Act, ProcessSeen, ProtocolAct, ProtocolSeen, Seen};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A server: its sessions and what is asked there. Answers requests at once, and records what was posted.
#[derive(Default)]
struct Server {
    busy: Vec<&'static str>,
    parents: BTreeMap<&'static str, &'static str>,
    questions: Vec<Value>,
    permissions: Vec<Value>,
    broken: bool,
    posted: Vec<(u64, String, Value)>,
    reports: Vec<crate::Act>,
}

impl Server {
    fn get(&self, path: &str) -> (u16, Value) {
        if self.broken {
            return (500, Value::Null);
        }
        match path {
            "/session/status" => {
                (200, self.busy.iter().map(|s| ((*s).to_owned(), json!({ "type": "busy" }))).collect())
            }
            "/question" => (200, json!(self.questions)),
            "/permission" => (200, json!(self.permissions)),
            _ => {
                let id = path.trim_start_matches("/session/");
                self.parents.get(id).map_or((404, Value::Null), |p| (200, json!({ "id": id, "parentID": p })))
            }
        }
    }

    /// Lets time pass, and answers requests meanwhile.
    fn run(&mut self, bench: &mut Bench, ms: u64) {
        let mut patience = Patience::new();
        while bench.strategy.deadline().is_some_and(|at| at.0 <= ms) {
            patience.spend();
            let at = bench.strategy.deadline().map_or(ms, |at| at.0.max(bench.now.0));
            let acts = bench.until(at).into_iter().map(|(_, act)| act).collect();
            self.serve(bench, acts);
        }
        bench.until(ms);
    }

    fn serve(&mut self, bench: &mut Bench, acts: Vec<Act>) {
        for act in acts {
            let Act::Protocol(ProtocolAct::Request { id, method, path, body, .. }) = act else {
                self.reports.push(act);
                continue;
            };
            let (status, got) = if method == "GET" {
                self.get(&path)
            } else {
                self.posted.push((bench.now.0, path.clone(), body));
                self.questions.retain(|q| !path.contains(q["id"].as_str().unwrap_or("-")));
                (200, json!(true))
            };
            let more = bench.see(Seen::Protocol(ProtocolSeen::Response { id, status, body: got.into() }));
            self.serve(bench, more);
        }
    }

    fn paths(&self) -> Vec<(u64, &str)> {
        self.posted.iter().map(|(at, path, _)| (*at, path.as_str())).collect()
    }
}

fn asked(id: &str, session: &str) -> Value {
    json!({ "id": id, "sessionID": session, "questions": [{ "question": "Which?", "options": [{ "label": "A" }, { "label": "B" }] }] })
}

fn server() -> Server {
    let parents = [("ses_1", ""), ("ses_2", "ses_1"), ("ses_3", "ses_2"), ("ses_9", "")].into();
    Server { busy: vec!["ses_1", "ses_2", "ses_3", "ses_9"], parents, ..Server::default() }
}

fn on_server(spec: &str) -> Bench {
    let mut bench = Bench::of(spec);
    bench.see(Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }));
    bench
}

#[test]
fn a_question_is_refused_once_and_after_its_time() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.run(&mut bench, 12_000);
    bench.see(Seen::Protocol(ProtocolSeen::Event(
        json!({ "type": "question.asked", "properties": asked("que_1", "ses_1") }).into(),
    )));
    server.questions = vec![asked("que_1", "ses_1")];
    server.run(&mut bench, 500_000);
    assert_eq!(server.paths(), [(42_000, "/question/que_1/reject")]);
    let policy = report(&server.reports);
    assert_eq!(
        policy.text.as_deref(),
        Some("no user answered the question `Which?` within 30s; it was refused by policy")
    );
    assert_eq!((policy.answered, policy.constants["after_ms"]), (None, 30_000));
}

#[test]
fn a_live_answerer_goes_first() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.questions = vec![asked("que_1", "ses_1")];
    server.run(&mut bench, 34_999);
    server.questions.clear();
    server.run(&mut bench, 500_000);
    assert_eq!(server.paths(), [], "it was seen at 5 s, answered before 35 s, and the last look says so");
}

#[test]
fn the_whole_tree_and_nothing_but_the_tree() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.questions = vec![asked("que_3", "ses_3"), asked("que_9", "ses_9"), asked("que_0", "ses_0")];
    server.permissions = vec![json!({ "id": "per_2", "sessionID": "ses_2", "permission": "bash" })];
    server.run(&mut bench, 60_000);
    assert_eq!(server.paths(), [(35_000, "/question/que_3/reject"), (35_000, "/permission/per_2/reply")]);
    assert_eq!(server.posted[1].2["reply"], "reject");
    let message = server.posted[1].2["message"].as_str().unwrap_or_default();
    assert!(message.contains("No user is available") && message.contains("stop"), "{message}");
}

#[test]
fn what_an_abort_left_in_the_list_is_not_touched() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.questions = vec![asked("que_1", "ses_1")];
    server.busy.clear();
    server.run(&mut bench, 500_000);
    assert_eq!(server.paths(), []);
}

#[test]
fn policies_answer_by_the_label_that_was_offered_or_refuse() {
    let posted = |spec: &str| {
        let (mut bench, mut server) = (on_server(spec), server());
        server.questions = vec![asked("que_1", "ses_1")];
        server.permissions = vec![json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" })];
        server.run(&mut bench, 40_000);
        server.posted.into_iter().map(|(_, path, body)| (path, body)).collect::<Vec<_>>()
    };
    assert_eq!(
        posted("pending-ask(policy=first)")[0],
        ("/question/que_1/reply".to_owned(), json!({ "answers": [["A"]] }))
    );
    assert_eq!(posted("pending-ask(policy=label, label=B)")[0].1, json!({ "answers": [["B"]] }));
    assert_eq!(posted("pending-ask(policy=label, label=C)")[0].0, "/question/que_1/reject", "never invented");
    for policy in ["first", "label"] {
        assert_eq!(posted(&format!("pending-ask(policy={policy})"))[1].1["reply"], "reject", "never widened");
    }
    let denied = posted("pending-ask(policy=deny)");
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0].0, "/permission/per_1/reply");
    let stopped: Vec<String> = posted("pending-ask(policy=stop)").into_iter().map(|(path, _)| path).collect();
    assert_eq!(stopped, ["/question/que_1/reject", "/permission/per_1/reply", "/session/ses_1/abort"]);
}

#[test]
fn lists_that_fail_leave_the_events() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.broken = true;
    server.run(&mut bench, 1_000);
    let old = json!({ "id": "per_1", "sessionID": "ses_1", "type": "bash" });
    bench.see(Seen::Protocol(ProtocolSeen::Event(json!({ "type": "permission.updated", "properties": old }).into())));
    server.run(&mut bench, 60_000);
    assert_eq!(server.paths(), [(31_000, "/session/ses_1/permissions/per_1")]);
}

#[test]
fn a_stream_that_was_cut_is_made_up_for_by_the_lists() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.run(&mut bench, 12_000);
    server.questions = vec![asked("que_1", "ses_1")];
    let acts = bench.see(Seen::Protocol(ProtocolSeen::EventsCut));
    assert!(
        acts.iter().any(|act| matches!(act, Act::Protocol(ProtocolAct::Request { path, .. }) if path == "/question")),
        "{acts:?}"
    );
    let mut early = Bench::of("pending-ask");
    assert_eq!(early.see(Seen::Protocol(ProtocolSeen::EventsCut)), [], "there is no run yet");
}

#[test]
fn a_session_that_is_told_of_again_and_again_is_one() {
    let (mut bench, mut server) = (on_server("pending-ask"), server());
    server.broken = true; // what is known is known by the events alone
    let created = |id: &str, parent: &str| json!({ "type": "session.updated", "properties": { "info": { "id": id, "parentID": parent } } });
    for _ in 0..11_000 {
        bench.see(Seen::Protocol(ProtocolSeen::Event(created("ses_1", "").into())));
    }
    bench.see(Seen::Protocol(ProtocolSeen::Event(created("ses_2", "ses_1").into())));
    server.run(&mut bench, 1_000);
    let ask = json!({ "id": "per_1", "sessionID": "ses_2", "type": "bash" });
    bench.see(Seen::Protocol(ProtocolSeen::Event(json!({ "type": "permission.updated", "properties": ask }).into())));
    server.run(&mut bench, 60_000);
    assert_eq!(server.paths(), [(31_000, "/session/ses_2/permissions/per_1")]);
}

const BASH: &str = "{\"type\":\"control_request\",\"request_id\":\"u1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\"}}\n";
const ASK: &str = "{\"type\":\"control_request\",\"request_id\":\"u1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"AskUserQuestion\",\"input\":{\"questions\":[{\"question\":\"Which color?\",\"options\":[{\"label\":\"Red\"},{\"label\":\"Blue\"}]}]},\"tool_use_id\":\"toolu_1\"}}\n";

#[test]
fn claudes_requests_are_denied_after_their_time() {
    let mut bench = Bench::started("pending-ask");
    bench.out(BASH);
    assert_eq!(bench.until(29_999), []);
    let acts: Vec<Act> = bench.until(30_000).into_iter().map(|(_, act)| act).collect();
    let written = acts.iter().find_map(deed).expect("a line");
    assert!(written.starts_with("write {\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"u1\",\"response\":{\"behavior\":\"deny\",\"message\":\"No user is available"), "{written}");
    assert_eq!(bench.until(10_000_000), [], "once");
    let mut hook = Bench::started("pending-ask");
    hook.out(&BASH.replace("can_use_tool", "hook_callback"));
    assert_eq!(hook.until(10_000_000), [], "only what asks for a permission waits for a user");
}

#[test]
fn claudes_questions_are_answered_as_its_own_callers_do() {
    let mut bench = Bench::started("pending-ask(policy=first)");
    bench.out(ASK);
    let acts: Vec<Act> = bench.until(30_000).into_iter().map(|(_, act)| act).collect();
    let written = acts.iter().find_map(deed).expect("a line");
    assert!(
        written.contains("\"behavior\":\"allow\"") && written.contains("\"answers\":{\"Which color?\":\"Red\"}"),
        "{written}"
    );
    assert_eq!(report(&acts).rule.as_deref(), Some("first"));
}

#[test]
fn whoever_responds_first_to_claude_ends_it() {
    let response = "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"u1\",\"response\":{\"behavior\":\"allow\"}}}\n";
    for seen in [
        Seen::Process(ProcessSeen::Wrote(response.into())),
        Seen::Process(ProcessSeen::Output(
            crate::Stream::Stdout,
            b"{\"type\":\"control_cancel_request\",\"request_id\":\"u1\"}\n".to_vec(),
        )),
        Seen::Process(ProcessSeen::Exited(0)),
    ] {
        let mut bench = Bench::started("pending-ask");
        bench.out(BASH);
        bench.until(29_999);
        bench.see(seen.clone());
        assert_eq!(bench.until(10_000_000), [], "{seen:?}");
    }
}
