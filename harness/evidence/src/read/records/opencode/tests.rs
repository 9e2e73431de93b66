//! What opencode's server, its log and its journal are taken to say.
//!
//! Invariant: the server is one of this test's own, on loopback; the files are in a folder of their own.

use super::*;
use crate::data::{Descriptor, Mode, Pid, SocketState};
use crate::read::process::net_namespace;
use crate::read::staged::Served;
use expect_test::{Expect, expect};
use std::fmt::Write as _;

/// A server that answers these targets with 200 and these bodies, `refused` ones with 500, and all others with 404.
fn serve(answers: &'static [(&str, &str)]) -> Served {
    Served::new(move |target| {
        let (path, _) = target.split_once("?directory=").or(target.split_once("&directory=")).unwrap_or((target, ""));
        let found = answers.iter().find(|(of, _)| path == *of).map(|(_, body)| *body);
        let (status, body) = match found {
            Some(body) => body.strip_prefix("refused").map_or((200, body), |body| (500, body)),
            None => (404, "{}"),
        };
        format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    })
}

fn own() -> Pid {
    std::process::id() as Pid
}

/// An opencode on this machine, in our own network namespace. Its process does not exist, so nothing else of it is read.
fn opencode(cwd: Option<&str>) -> Process {
    let mut process = Process { pid: Pid::MAX, cwd: cwd.map(str::to_owned), ..Process::default() };
    process.namespaces.net = net_namespace(own());
    process.args = ["opencode", "run", "go"].map(str::to_owned).to_vec();
    process
}

fn told(agent: &Agent) -> String {
    let mut out = String::new();
    for ask in &agent.asks {
        let nested = if ask.nested { ", nested" } else { "" };
        let _ = writeln!(out, "{} {} of {}{nested}: {} {:?}", ask.kind, ask.id, ask.session, ask.text, ask.options);
    }
    let _ = writeln!(out, "busy {:?}, turn {:?}, running {:?}", agent.busy, agent.turn, agent.running);
    out
}

/// What the server says, how it can be answered, and what it was asked for.
fn says(cwd: Option<&str>, answers: &'static [(&str, &str)], want: Expect) {
    let served = serve(answers);
    let mut agent = Agent::default();
    let is = server(&opencode(cwd), served.at, &mut agent);
    let mut out = told(&agent);
    let _ = writeln!(out, "is one: {is}");
    if !agent.answer.is_empty() {
        let _ = writeln!(out, "answer: {}", agent.answer);
    }
    let sources: Vec<&str> = agent.sources.iter().map(String::as_str).collect();
    let _ = writeln!(out, "sources: {}", sources.join(", "));
    let asked = served.asked();
    let targets: Vec<&str> = asked.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    let _ = writeln!(out, "asked: {}", targets.join(" "));
    want.assert_eq(&out.replace(&served.at.to_string(), "HOST"));
}

#[test]
fn a_server_lists_its_asks_and_its_busy_sessions() {
    says(
        Some("/work/x"),
        &[
            (
                "/session/status",
                r#"{"ses_1":{"type":"busy"},"ses_2":{"type":"idle"},"ses_3":{"type":"busy"},"a/b":{"type":"busy"}}"#,
            ),
            (
                "/session/ses_1/message?limit=1",
                r#"[{"info":{"role":"assistant"},"parts":[
                {"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"make"}}},
                {"type":"tool","tool":"task","state":{"status":"running","metadata":{"sessionId":"ses_3"}}},
                {"type":"tool","tool":"task","state":{"status":"running","metadata":{"sessionId":"ses_2"},"input":{"prompt":"p"}}}
            ]}]"#,
            ),
            (
                "/session/ses_3/message?limit=1",
                r#"[{"info":{"role":"assistant","time":{"completed":1},"finish":"stop"},"parts":[]}]"#,
            ),
            (
                "/question",
                r#"[{"id":"que_1","sessionID":"ses_3","questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}]"#,
            ),
            (
                "/permission",
                r#"[{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["rm x","ls"]},{"id":"per_2","sessionID":"a/b","permission":"edit"}]"#,
            ),
            ("/session/ses_1", r#"{"id":"ses_1"}"#),
            ("/session/ses_3", r#"{"id":"ses_3","parentID":"ses_1"}"#),
        ],
        expect![[r#"
            question que_1 of ses_3, nested: Which? ["a", "b"]
            permission per_1 of ses_1: bash: rm x ls ["once", "always", "reject"]
            permission per_2 of a/b: edit:  ["once", "always", "reject"]
            busy Some(3), turn "open", running ["bash: make", "task: {\"prompt\":\"p\"}"]
            is one: true
            answer: curl -d '{"answers":[["…"]]}' -H 'content-type: application/json' http://HOST/question/que_1/reply
            sources: GET http://HOST/session/status, GET http://HOST/question, GET http://HOST/permission
            asked: /session/status?directory=/work/x /session/ses_1/message?limit=1&directory=/work/x /session/ses_3/message?limit=1&directory=/work/x /question?directory=/work/x /permission?directory=/work/x /session/ses_3?directory=/work/x /session/ses_1?directory=/work/x
        "#]],
    );
    says(
        None,
        &[
            ("/session/status", r#"{"ses_1":{"type":"retry"},"ses_2":{"type":"busy"}}"#),
            ("/session/ses_2/message?limit=1", r#"[{"info":{"role":"user"}}]"#),
            ("/question", r#"{"not":"a list"}"#),
            ("/permission", r#"[{"id":"per_1","sessionID":"ses_9","permission":"bash"}]"#),
        ],
        expect![[r#"
            permission per_1 of ses_9: bash:  ["once", "always", "reject"]
            busy Some(2), turn "retrying", running []
            is one: true
            answer: curl -d '{"reply":"once"}' -H 'content-type: application/json' http://HOST/permission/per_1/reply
            sources: GET http://HOST/session/status, GET http://HOST/permission
            asked: /session/status /session/ses_2/message?limit=1 /question /permission /session/ses_9
        "#]],
    );
}

#[test]
fn a_server_that_does_not_say_what_its_sessions_do_lists_its_asks() {
    says(
        None,
        &[
            ("/session/status", "refused"),
            ("/question", r#"[{"id":"que_1","sessionID":"a/b","questions":[{"question":"Which?"}]}]"#),
        ],
        expect![[r#"
            question que_1 of a/b: Which? []
            busy None, turn "", running []
            is one: true
            answer: curl -d '{"answers":[["…"]]}' -H 'content-type: application/json' http://HOST/question/que_1/reply
            sources: GET http://HOST/question
            asked: /session/status /question /permission
        "#]],
    );
}

#[test]
fn a_folder_that_would_be_another_query_is_not_named() {
    let quiet: &[(&str, &str)] = &[("/session/status", "{}"), ("/question", "[]"), ("/permission", "[]")];
    let asked = |cwd: &str| {
        let served = serve(quiet);
        let mut agent = Agent::default();
        assert!(server(&opencode(Some(cwd)), served.at, &mut agent));
        assert_eq!((agent.busy, agent.answer.as_str()), (Some(0), ""));
        served.asked()[0].split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let found = ["/work/x", "/a b", "/a&b", "/a\u{e9}"].map(asked);
    let plain = "/session/status";
    assert_eq!(found, ["/session/status?directory=/work/x", plain, plain, plain]);
}

#[test]
fn a_server_that_does_not_answer_as_opencode_does_is_none() {
    let is = |answers| {
        let served = serve(answers);
        let mut agent = Agent::default();
        (server(&opencode(None), served.at, &mut agent), agent == Agent::default(), served.asked().len())
    };
    let none = (false, true, 1);
    assert_eq!(is(&[]), none);
    assert_eq!(is(&[("/session/status", "[]")]), none);
    assert_eq!(is(&[("/session/status", "<html>")]), none);
    // one that fails is asked for its lists too
    assert_eq!(is(&[("/session/status", "refused{}")]), (false, true, 3));
    assert!(is(&[("/session/status", "{}")]).0);
}

/// One that listens on all addresses is asked on loopback; if its server says nothing, its log is read.
#[test]
fn the_log_is_read_if_no_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("opencode/log");
    std::fs::create_dir_all(&logs).unwrap();
    let path = logs.join("dev.log");
    std::fs::write(&path, "x service=question id=que_7 questions=1 asking\n").unwrap();
    let path = path.to_str().unwrap().to_owned();
    let read = |local: Option<String>| {
        let mut process = opencode(None);
        process.pid = own();
        let object = Object::File { path: path.clone(), inode: 1, device: (0, 0), offset: 0, at_end: false };
        process.fds.push(Descriptor { fd: 8, mode: Mode::Write, what: object });
        process.fds.push(Descriptor { fd: 9, mode: Mode::Both, what: Object::Socket { inode: 7 } });
        let socket = |local| Socket { inode: 7, state: SocketState::Listening, local, ..Socket::default() };
        let sockets = local.map(|local| (7, socket(local))).into_iter().collect();
        let mut agent = Agent::default();
        super::read(&process, &sockets, true, &Reach::default(), &mut agent);
        assert_eq!(agent.form, "run");
        (agent.asks.first().map(|ask| ask.id.clone()), agent.sources)
    };
    let from_log = (Some("que_7".to_owned()), vec![path.clone()]);
    assert_eq!(read(None), from_log);
    assert_eq!(read(Some("/run/socket".to_owned())), from_log);
    let other = serve(&[]);
    assert_eq!(read(Some(other.at.to_string())), from_log);
    let served = serve(&[("/session/status", "{}"), ("/question", r#"[{"id":"que_8","sessionID":"ses_1"}]"#)]);
    for local in [served.at.to_string(), format!("0.0.0.0:{}", served.at.port())] {
        let (ask, sources) = read(Some(local));
        let source = format!("GET http://{}/session/status", served.at);
        assert_eq!((ask.as_deref(), sources.first()), (Some("que_8"), Some(&source)));
    }
}

#[test]
fn an_id_goes_into_a_path_only_if_it_is_plain() {
    let is = ["ses_1", "A9_", "", "a/b", "a b", "ü", "a?"].map(plain);
    assert_eq!(is, [true, true, false, false, false, false, false]);
}

#[test]
fn what_a_last_message_says() {
    let at_work = |id: &str| id == "ses_busy";
    let after = |before: &str, message: &str| {
        let mut agent = Agent { turn: before.to_owned(), ..Agent::default() };
        turn(&serde_json::from_str::<Vec<Value>>(message).unwrap(), &at_work, &mut agent);
        (agent.turn, agent.running)
    };
    let running = |part: &str| after("", &format!(r#"[{{"info":{{}},"parts":[{part}]}}]"#)).1;
    let tool = |name: &str, status: &str, more: &str| {
        running(&format!(r#"{{"type":"tool","tool":"{name}","state":{{"status":"{status}"{more}}}}}"#))
    };
    let none: [String; 0] = [];
    let make = r#","input":{"command":"make\tall"}"#;
    assert_eq!(tool("bash", "running", make), ["bash: make all"]);
    assert_eq!(tool("bash", "completed", make), none);
    assert_eq!(tool("question", "running", make), none);
    assert_eq!(tool("read", "running", r#","input":{"file":"x"}"#), [r#"read: {"file":"x"}"#]);
    assert_eq!(tool("task", "running", ""), none, "its session is not known");
    let task = |id: &str| tool("task", "running", &format!(r#","metadata":{{"sessionId":"{id}"}}{make}"#));
    assert_eq!((task("ses_busy"), task("ses_idle")), (vec![], vec!["task: make all".to_owned()]));
    assert_eq!(running(r#"{"type":"tool","state":{"status":"running","input":{"command":"x"}}}"#), ["a tool: x"]);
    assert_eq!(running(r#"{"type":"text","tool":"bash","state":{"status":"running"}}"#), none);
    let part = r#"{"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"x"}}}"#;
    assert_eq!([15, 16, 17].map(|count| running(&[part; 17][..count].join(",")).len()), [15, 16, 16]);
    // the last message counts; it is complete if an assistant's message has ended, and not with calls
    let info = |before: &str, info: &str| after(before, &format!(r#"[{{"info":{{}}}},{{"info":{info}}}]"#)).0;
    let whole = r#"{"role":"assistant","time":{"completed":5},"finish":"stop"}"#;
    let rows = [
        whole,
        r#"{"role":"user","time":{"completed":5},"finish":"stop"}"#,
        r#"{"role":"assistant","time":{"created":5},"finish":"stop"}"#,
        r#"{"role":"assistant","time":{"completed":5},"finish":"tool-calls"}"#,
        "{}",
    ];
    assert_eq!(rows.map(|row| info("", row)), ["ended", "open", "open", "open", "open"]);
    assert_eq!(["open", "retrying", "ended"].map(|before| info(before, whole)), ["open", "retrying", "ended"]);
    assert_eq!(["open", "retrying", "ended"].map(|before| info(before, "{}")), ["open", "retrying", "open"]);
    assert_eq!(after("", "[]"), (String::new(), vec![]));
}

#[test]
fn what_a_list_of_asks_says() {
    let ask = |kind: &str, one: &str| {
        let ask = listed(&serde_json::from_str(one).unwrap(), kind);
        format!("{} {} {}: {} {:?} {}", ask.kind, ask.id, ask.session, ask.text, ask.options, ask.nested)
    };
    let one = r#"{"id":"i","sessionID":"s","permission":"bash","patterns":["a","b"],
        "questions":[{"question":"Which?","options":[{"label":"x"},{"label":"y"}]},{"question":"And?"}]}"#;
    assert_eq!(ask("question", one), r#"question i s: Which? ["x", "y"] false"#);
    assert_eq!(ask("permission", one), r#"permission i s: bash: a b ["once", "always", "reject"] false"#);
    assert_eq!(ask("question", "{}"), "question  :  [] false");
}

#[test]
fn an_ask_is_open_until_its_end_is_logged() {
    let open = |lines: &[&str]| -> Vec<String> {
        let asks =
            open_asks(&lines.iter().map(|line| format!("INFO 2026-11-21T02:43:00 +4ms {line}\n")).collect::<String>());
        asks.iter().map(|ask| format!("{} {} {}", ask.kind, ask.id, ask.text)).collect()
    };
    let question = "service=question id=que_1 questions=1 asking";
    let permission = r#"service=permission id=per_1 permission=bash patterns=["touch x"] asking"#;
    let (asked, wanted) = ("question que_1 ", r#"permission per_1 bash: ["touch x"]"#);
    assert_eq!(open(&[question, "service=bus type=question.asked publishing"]), [asked]);
    assert_eq!(open(&[question, permission]), [asked, wanted]);
    let none: [&str; 0] = [];
    for end in
        ["requestID=que_1 answers=[[\"a\"]] replied", "requestID=que_1 rejected", "permissionID=que_1 x", "id=que_1 x"]
    {
        assert_eq!(open(&[question, permission, &format!("service=question {end}")]), [wanted], "{end}");
    }
    assert_eq!(open(&[question, "service=question requestID=que_2 replied"]), [asked]);
    assert_eq!(open(&[question, "service=other requestID=que_1 replied"]), [asked]);
    assert_eq!(open(&[question, "service=other id=que_3 asking"]), [asked]);
    assert_eq!(open(&[question, permission, "service=bus type=session.idle publishing"]), none);
    // which permission was answered is not said: the oldest
    let replied = "service=bus type=permission.replied publishing";
    let second = "service=permission id=per_2 permission=edit asking";
    assert_eq!(open(&[permission, question, second, replied]), [asked, "permission per_2 edit: "]);
    assert_eq!(open(&[question, replied]), [asked]);
    assert_eq!(open(&["service=question questions=1 asking", "service=permission asking"]), none);
    let many: Vec<String> = (0..20).map(|at| format!("service=question id=que_{at} asking")).collect();
    assert_eq!(open(&many.iter().map(String::as_str).collect::<Vec<_>>()).len(), 16);
}

/// A process that has these files open, of this very process's folder.
fn holds(paths: &[&std::path::Path]) -> Process {
    let object = |path: &&std::path::Path| {
        let what = Object::File {
            path: path.to_str().unwrap().to_owned(),
            inode: 1,
            device: (0, 0),
            offset: 0,
            at_end: false,
        };
        Descriptor { fd: 9, mode: Mode::Write, what }
    };
    Process { pid: own(), fds: paths.iter().map(object).collect(), ..Process::default() }
}

#[test]
fn a_log_is_one_of_its_own_and_its_question_is_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let text = "x service=question id=que_1 asking\nx service=permission id=per_1 permission=bash patterns=[] asking\n";
    let (one, two, other) =
        (made("opencode/log/a.log", text), made("altimate-code/log/a.log", text), made("log/a.log", text));
    let journal = made("opencode.db-wal", r#"{"tool":"question","question":"Which?","label":"a"}"#);
    let told_by = |paths: &[&std::path::Path]| {
        let mut agent = Agent::default();
        log(&holds(paths), &Reach::default(), &mut agent);
        let asks: Vec<String> =
            agent.asks.iter().map(|ask| format!("{}: {} {:?}", ask.id, ask.text, ask.options)).collect();
        (asks.join(", "), agent.sources.len())
    };
    let plain = ("que_1:  [], per_1: bash: [] []".to_owned(), 1);
    assert_eq!(told_by(&[&other, &one]), plain);
    assert_eq!(told_by(&[&two]), plain);
    assert_eq!(told_by(&[&other]), (String::new(), 0));
    assert_eq!(told_by(&[&one, &journal]), (r#"que_1: Which? ["a"], per_1: bash: [] []"#.to_owned(), 1));
    assert_eq!(told_by(&[&folder.path().join("opencode/log/none")]), (String::new(), 0));
}

#[test]
fn the_words_of_the_last_question_in_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db-wal");
    let of = |text: &str| {
        std::fs::write(&path, text).unwrap();
        words(&holds(&[folder.path(), &path]), &Reach::default())
    };
    let is = |question: &str, options: &[&str]| {
        Some((question.to_owned(), options.iter().map(|&one| one.to_owned()).collect()))
    };
    let part = r#""tool":"question""#;
    let asks = |question: &str, labels: &str| format!(r#"{part},"question":"{question}",{labels}"#);
    assert_eq!(of(&asks("A \\\"b\\\"?", r#""label":"x","label":"y","label":"x""#)), is("A \"b\"?", &["x", "y"]));
    let (first, second) = (asks("One?", r#""label":"x","#), asks("Two?", r#""label":"z""#));
    assert_eq!(of(&format!("\u{0}{first}\u{0}{second}")), is("Two?", &["z"]));
    // the last part is still pending: the one before it counts, with all that follows closely
    assert_eq!(of(&format!("{first}{part},\"pending\"")), is("One?", &["x"]));
    assert_eq!(
        [of(""), of(part), of(r#""question":"x""#), of(&format!(r#"{part},"question":"x"#))],
        [const { None }; 4]
    );
    // a question belongs to the part if it begins within 4,096 bytes
    let away = |bytes: usize| of(&format!(r#"{part}{}"question":"Far?""#, " ".repeat(bytes - part.len())));
    assert_eq!((away(4_095), away(4_096)), (is("Far?", &[]), None));
    // a label does if it ends within 4,096 characters
    let label = |after: usize| {
        let begin = asks("Which?", "");
        let label = r#""label":"ü""#;
        let gap = " ".repeat(after - begin.chars().count() - label.chars().count());
        of(&format!("before {begin}{gap}{label}, and more"))
    };
    assert_eq!((label(4_096), label(4_097)), (is("Which?", &["ü"]), is("Which?", &[])));
    let many: String = (0..20).map(|at| format!(r#""label":"{at}","#)).collect();
    assert_eq!(of(&asks("Which?", &many)).map(|(_, options)| options.len()), Some(16));
    assert_eq!(words(&holds(&[folder.path()]), &Reach::default()), None);
}

#[test]
fn no_more_than_the_end_of_a_log_and_of_a_journal_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("opencode/log")).unwrap();
    let (path, journal) = (folder.path().join("opencode/log/a.log"), folder.path().join("opencode.db-wal"));
    let asked = "x service=question id=que_1 asking\n";
    let question = r#""tool":"question","question":"Which?""#;
    let found = |after: usize| {
        let rest = "\n".repeat(after);
        std::fs::write(&path, format!("\n{asked}{rest}")).unwrap();
        let mut agent = Agent::default();
        log(&holds(&[&path]), &Reach::default(), &mut agent);
        agent.asks.len()
    };
    assert_eq!((found((1 << 20) - asked.len() - 1), found(1 << 20)), (1, 0));
    let found = |after: usize| {
        std::fs::write(&journal, format!("\n{question}{}", "\n".repeat(after))).unwrap();
        words(&holds(&[&journal]), &Reach::default()).is_some()
    };
    assert_eq!((found((4 << 20) - question.len() - 1), found(4 << 20)), (true, false));
}
