//! What opencode's server, its log and its journal say.

use super::super::http::tests::serve;
use super::*;
use crate::data::{Descriptor, Family, Mode, Namespaces, Pid, SocketState};
use expect_test::expect;
use serde_json::json;
use std::sync::{Arc, Mutex};

#[test]
fn an_ask_is_open_until_its_end_is_logged() {
    let asked = "INFO  2026-11-21T02:43:00 +45ms service=question id=que_1 questions=1 asking\n\
                 INFO  2026-11-21T02:43:00 +0ms service=bus type=question.asked publishing\n";
    let open = open_asks(asked);
    assert_eq!(open.iter().map(|ask| ask.id.as_str()).collect::<Vec<_>>(), ["que_1"]);
    for end in ["requestID=que_1 answers=[[\"a\"]] replied", "requestID=que_1 rejected"] {
        assert!(open_asks(&format!("{asked}INFO x +1ms service=question {end}\n")).is_empty());
    }
    assert!(open_asks(&format!("{asked}INFO x +1ms service=bus type=session.idle publishing\n")).is_empty());
    let other = "INFO x +1ms service=permission id=per_9 permission=bash patterns=[\"touch x\"] asking\n";
    assert_eq!(open_asks(&format!("{asked}{other}"))[1].text, "bash: [\"touch x\"]");
}

#[test]
fn an_end_in_the_log_ends_the_ask_that_it_names() {
    let question = |id: &str| format!("INFO x +1ms service=question id={id} questions=1 asking\n");
    let permission = |id: &str| format!("INFO x +1ms service=permission id={id} permission=edit patterns=[] asking\n");
    let open = |lines: &[String]| {
        let asks = open_asks(&lines.concat());
        asks.into_iter().map(|ask| format!("{} {}", ask.kind, ask.id)).collect::<Vec<_>>().join(", ")
    };
    let (one, two, three) = (question("que_1"), permission("per_2"), permission("per_3"));
    let all = || vec![one.clone(), two.clone(), three.clone()];
    let with = |line: &str| open(&[all(), vec![format!("INFO x +1ms {line}\n")]].concat());
    assert_eq!(open(&all()), "question que_1, permission per_2, permission per_3");
    // no id: the oldest permission is assumed, and none other
    assert_eq!(with("service=bus type=permission.replied publishing"), "question que_1, permission per_3");
    assert_eq!(with("service=permission permissionID=per_3 response=once"), "question que_1, permission per_2");
    assert_eq!(with("service=question id=que_1 rejected"), "permission per_2, permission per_3");
    assert_eq!(with("service=question requestID=que_9 replied"), open(&all()));
    assert_eq!(with("service=bus type=permission.asked publishing"), open(&all()));
    assert_eq!(with("service=question questions=1 asking"), open(&all()), "an ask without an id");
    assert_eq!(
        open(&[one.clone(), "INFO x +1ms service=bus type=permission.replied publishing\n".into()]),
        "question que_1"
    );
    let many: Vec<String> = (0..20).map(|n| question(&format!("que_{n}"))).collect();
    assert_eq!(open_asks(&many.concat()).len(), 16);
    assert_eq!(open_asks(&two)[0].text, "edit: []");
}

fn own() -> Pid {
    std::process::id() as Pid
}

/// This process as an opencode that listens at an address.
fn process(args: &[&str]) -> Process {
    let namespaces = Namespaces { net: super::super::super::process::net_namespace(own()), ..Namespaces::default() };
    let fds = vec![Descriptor { fd: 5, mode: Mode::Both, what: Object::Socket { inode: 80 } }];
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    Process { pid: own(), args, namespaces, fds, cwd: Some("/work".into()), ..Process::default() }
}

fn sockets(to: SocketAddr) -> BTreeMap<u64, Socket> {
    let state = SocketState::Listening;
    BTreeMap::from([(80, Socket { inode: 80, family: Family::Tcp, state, local: to.to_string(), ..Socket::default() })])
}

/// What is read from a server with these answers, and what it was asked.
fn told(answers: Vec<(&'static str, Value)>) -> (String, Vec<String>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let to = serve(move |request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let path = path.replace("?directory=/work", "").replace("&directory=/work", "");
        seen.lock().unwrap().push(path.clone());
        let answer = answers.iter().find(|(of, _)| *of == path);
        let (status, body) = answer.map_or((404, "{}".to_owned()), |(_, body)| (200, body.to_string()));
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    });
    let mut agent = Agent::default();
    read(&process(&["opencode", "serve"]), &sockets(to), &mut agent);
    let asked = asked.lock().unwrap().clone();
    (format!("{agent:#?}").replace(&to.to_string(), "HOST"), asked)
}

fn message(parts: Value, info: Value) -> Value {
    json!([{ "info": info, "parts": parts }])
}

#[test]
fn a_server_tells_what_is_busy_and_what_it_asks() {
    let question = json!([{
        "id": "que_1", "sessionID": "ses_b",
        "questions": [{ "question": "Which\nbranch?", "options": [{ "label": "main" }, { "label": "dev" }] }],
    }]);
    let permission =
        json!([{ "id": "per_2", "sessionID": "ses_a", "permission": "bash", "patterns": ["touch x", "ls"] }]);
    let running = json!([
        { "type": "text", "tool": "bash", "state": { "status": "running" } },
        { "type": "tool", "tool": "bash", "state": { "status": "completed", "input": { "command": "ls" } } },
        { "type": "tool", "tool": "bash", "state": { "status": "running", "input": { "command": "sleep 9" } } },
    ]);
    let (agent, asked) = told(vec![
        ("/session/status", json!({ "ses_a": { "type": "busy" }, "ses_b": { "type": "idle" } })),
        ("/session/ses_a/message?limit=1", message(running, json!({ "role": "assistant" }))),
        ("/question", question),
        ("/permission", permission),
        ("/session/ses_a", json!({})),
        ("/session/ses_b", json!({ "parentID": "ses_a" })),
    ]);
    expect![[r#"
        Agent {
            pid: 0,
            name: "",
            form: "serve",
            asks: [
                Ask {
                    kind: "question",
                    id: "que_1",
                    session: "ses_b",
                    text: "Which branch?",
                    options: [
                        "main",
                        "dev",
                    ],
                    nested: true,
                },
                Ask {
                    kind: "permission",
                    id: "per_2",
                    session: "ses_a",
                    text: "bash: touch x ls",
                    options: [
                        "once",
                        "always",
                        "reject",
                    ],
                    nested: false,
                },
            ],
            busy: Some(
                1,
            ),
            running: [
                "bash: sleep 9",
            ],
            turn: "open",
            answer: "curl -d '{\"answers\":[[\"…\"]]}' -H 'content-type: application/json' http://HOST/question/que_1/reply",
            sources: [
                "GET http://HOST/session/status",
                "GET http://HOST/question",
                "GET http://HOST/permission",
            ],
        }"#]].assert_eq(&agent);
    expect!["/session/status /session/ses_a/message?limit=1 /question /permission /session/ses_b /session/ses_a"]
        .assert_eq(&asked.join(" "));
}

#[test]
fn a_permission_alone_is_answered_by_its_own_route() {
    let permission = json!([{ "id": "per_2", "sessionID": "no/plain", "permission": "bash", "patterns": [] }]);
    let status = json!({ "ses_a": { "type": "retry" }, "no/plain": { "type": "busy" }, "ses_c": {} });
    let (agent, asked) = told(vec![("/session/status", status), ("/permission", permission)]);
    expect![[r#"
        Agent {
            pid: 0,
            name: "",
            form: "serve",
            asks: [
                Ask {
                    kind: "permission",
                    id: "per_2",
                    session: "no/plain",
                    text: "bash: ",
                    options: [
                        "once",
                        "always",
                        "reject",
                    ],
                    nested: false,
                },
            ],
            busy: Some(
                3,
            ),
            running: [],
            turn: "retrying",
            answer: "curl -d '{\"reply\":\"once\"}' -H 'content-type: application/json' http://HOST/permission/per_2/reply",
            sources: [
                "GET http://HOST/session/status",
                "GET http://HOST/permission",
            ],
        }"#]].assert_eq(&agent);
    expect!["/session/status /session/ses_c/message?limit=1 /question /permission"].assert_eq(&asked.join(" "));
}

#[test]
fn what_is_no_opencode_is_not_believed() {
    let nothing = format!("{:#?}", Agent { form: "serve".into(), ..Agent::default() });
    assert_eq!(told(vec![]).0, nothing);
    assert_eq!(told(vec![("/session/status", json!([]))]).0, nothing);
    let (idle, _) = told(vec![("/session/status", json!({}))]);
    assert!(idle.contains("busy: Some(\n        0,"), "{idle}");
}

#[test]
fn a_server_on_every_address_is_asked_on_loopback() {
    let to = serve(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec());
    let mut agent = Agent::default();
    let everywhere = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), to.port());
    read(&process(&["opencode", "serve"]), &sockets(everywhere), &mut agent);
    assert_eq!(agent.sources, [format!("GET http://{to}/session/status")]);
    // a folder that would not fit into a target is left out
    for folder in ["/a b", "/a&b", "/ä"] {
        let mut agent = Agent::default();
        let process = Process { cwd: Some(folder.into()), ..process(&["opencode"]) };
        assert!(server(&process, to, &mut agent), "{folder}");
    }
}

#[test]
fn a_turn_is_over_once_its_last_answer_stops_and_no_tool_runs_on_the_side() {
    let tool = |name: &str, status: &str, state: Value| {
        let mut state = state;
        state["status"] = status.into();
        json!({ "type": "tool", "tool": name, "state": state })
    };
    let turn_of = |parts: Vec<Value>, info: Value, before: &str| {
        let mut agent = Agent { turn: before.to_owned(), ..Agent::default() };
        turn(&[json!({}), json!({ "info": info, "parts": parts })], &|id| id == "ses_busy", &mut agent);
        format!("{} {:?}", agent.turn, agent.running)
    };
    let done = || json!({ "role": "assistant", "finish": "stop", "time": { "completed": 5 } });
    let without = |key: &str, value: Value| {
        let mut info = done();
        info[key] = value;
        turn_of(vec![], info, "")
    };
    assert_eq!(turn_of(vec![], done(), ""), "ended []");
    assert_eq!(without("role", "user".into()), "open []");
    assert_eq!(without("finish", "tool-calls".into()), "open []");
    assert_eq!(without("time", json!({})), "open []");
    // one that is open, or asks again, counts before one that is over
    assert_eq!(turn_of(vec![], done(), "open"), "open []");
    assert_eq!(turn_of(vec![], done(), "retrying"), "retrying []");
    assert_eq!(turn_of(vec![], json!({}), "retrying"), "retrying []");
    assert_eq!(turn_of(vec![], json!({}), "ended"), "open []");
    let runs = |name: &str, state: Value| turn_of(vec![tool(name, "running", state)], done(), "");
    let task = |session: &str| json!({ "metadata": { "sessionId": session }, "input": {} });
    assert_eq!(runs("bash", json!({ "input": { "command": "ls" } })), "ended [\"bash: ls\"]");
    assert_eq!(runs("read", json!({ "input": { "path": 1 } })), "ended [\"read: {\\\"path\\\":1}\"]");
    assert_eq!(runs("question", json!({})), "ended []");
    assert_eq!(runs("task", json!({})), "ended []", "its session is not known yet");
    assert_eq!(runs("task", task("ses_busy")), "ended []");
    assert_eq!(runs("task", task("ses_idle")), "ended [\"task: {}\"]");
    let many = (0..20).map(|_| tool("bash", "running", json!({ "input": {} }))).collect();
    assert_eq!(turn_of(many, done(), "").matches("bash").count(), 16);
    let mut none = Agent::default();
    turn(&[], &|_| true, &mut none);
    assert_eq!(none, Agent::default());
}

#[test]
fn an_id_is_plain_if_it_fits_into_a_path() {
    assert!(["ses_1", "A", "_"].into_iter().all(plain));
    assert!(!["", "a/b", "a b", "ä", "a-b"].into_iter().any(plain));
}

/// This process with one file open, which holds this.
fn with_file(name: &str, text: &str) -> (tempfile::TempDir, Process) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let what = Object::File { path, inode: 7, device: (8, 1), offset: 0 };
    let fds = vec![Descriptor { fd: 5, mode: Mode::Both, what }];
    (folder, Process { pid: own(), fds, args: vec!["opencode".into(), "run".into()], ..Process::default() })
}

#[test]
fn without_a_server_the_log_tells_what_is_open() {
    let line = "INFO x +1ms service=question id=que_1 questions=1 asking\n";
    for (name, open) in [("opencode/log/x.log", 1), ("altimate-code/log/x.log", 1), ("other/log/x.log", 0)] {
        let (_folder, process) = with_file(name, line);
        let mut agent = Agent::default();
        read(&process, &BTreeMap::new(), &mut agent);
        assert_eq!((agent.asks.len(), agent.sources.len(), agent.form.as_str()), (open, open, "run"), "{name}");
    }
}

#[test]
fn the_journal_has_the_words_of_the_last_question() {
    let part = |question: &str, labels: &[&str]| {
        let options: Vec<Value> = labels.iter().map(|label| json!({ "label": label })).collect();
        let asked = json!({ "question": question, "options": options });
        format!("\u{1}{}{}", r#"{"type":"tool","tool":"question","state":{"input":"#, asked)
    };
    let open = |text: &str| {
        let (_folder, process) = with_file("opencode.db-wal", text);
        words(&process)
    };
    let some =
        |question: &str, labels: &[&str]| Some((question.to_owned(), labels.iter().map(|&l| l.to_owned()).collect()));
    assert_eq!(open(&part("Which?", &["a", "b", "a"])), some("Which?", &["a", "b"]));
    let two = format!("{} {}", part("First?", &["a"]), part("Second \\\"?", &[]));
    assert_eq!(open(&two).map(|(question, _)| question), Some("Second \\\"?".to_owned()));
    // written as pending, without an input yet
    let pending = format!("{} {}", part("First?", &["a"]), r#"{"tool":"question","state":{"status":"pending"}}"#);
    assert_eq!(open(&pending).map(|(question, _)| question), Some("First?".to_owned()));
    assert_eq!(open("nothing"), None);
    let far = format!(r#""tool":"question"{}"question":"Which?""#, " ".repeat(4_096 - 17));
    assert_eq!(open(&far), None, "4,096 bytes on");
    let near = format!(r#""tool":"question"{}"question":"Which?""#, " ".repeat(4_095 - 17));
    assert_eq!(open(&near), some("Which?", &[]));
    let (_folder, other) = with_file("other.db-wal", &part("Which?", &[]));
    assert_eq!(words(&other), None);
    // the log has the id, the journal the words
    let (_log, mut process) = with_file(
        "opencode/log/x.log",
        "x service=question id=que_1 asking\nx service=permission id=per_1 permission=edit asking\n",
    );
    let (_journal, journal) = with_file("opencode.db-wal", &part("Which?", &["a"]));
    process.fds.extend(journal.fds);
    let mut agent = Agent::default();
    log(&process, &mut agent);
    let asks: Vec<_> = agent.asks.iter().map(|ask| (ask.text.as_str(), ask.options.len())).collect();
    assert_eq!(asks, [("Which?", 1), ("edit: ", 0)]);
}
