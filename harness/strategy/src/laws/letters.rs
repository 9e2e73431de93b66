//! The alphabets of [`super::alike`]: what a strategy in each seat may see, in few letters, so that they often come
//! together.
//!
//! Invariant: the first letter begins a run.

use crate::companion::tests::fuzz::question;
use crate::pawwork::REASONING;
use crate::testing::looked;
use crate::{Ask, InsideSeen, ProcessSeen, ProtocolSeen, Seen, Stream};
use rehang_evidence::Sure;
use rehang_hangs::Signature;
use rehang_words::Terminal;
use serde_json::{Value, json};

/// What follows a number that is an age in the body of an answer.
pub const AGO: &str = " ms ago";

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum Letter {
    /// Nothing happens for this many milliseconds.
    Wait(u64),
    /// Nothing happens until the strategy's deadline.
    Due,
    /// The strategy sees this.
    See(Seen),
    /// A request in flight is answered: its place, the status, the body (see [`AGO`]).
    Respond(usize, u16, Value),
    /// A request in flight is lost.
    Fail(usize, &'static str),
}

/// What a letter can be the answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request is answered or lost.
    Answer,
    /// The server's children were counted.
    Children,
    /// The server's pid was looked for.
    Pid,
    /// The worker was looked at.
    Worker,
    /// The agent's processes were looked at.
    Processes,
}

impl Letter {
    /// Whether another letter says something similar, in other words.
    pub fn is_like(&self, other: &Letter) -> bool {
        use std::mem::discriminant;
        match (self, other) {
            (Letter::See(seen), Letter::See(other)) => discriminant(seen) == discriminant(other),
            (one, other) => discriminant(one) == discriminant(other),
        }
    }

    /// What the letter is an answer to, if it is one.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Letter::Respond(..) | Letter::Fail(..) => Some(Kind::Answer),
            Letter::See(Seen::Protocol(ProtocolSeen::Children(_))) => Some(Kind::Children),
            Letter::See(Seen::Protocol(ProtocolSeen::Pid(_))) => Some(Kind::Pid),
            Letter::See(Seen::Protocol(ProtocolSeen::Worker(_))) => Some(Kind::Worker),
            Letter::See(Seen::Process(ProcessSeen::Looked(_))) => Some(Kind::Processes),
            Letter::See(_) | Letter::Wait(_) | Letter::Due => None,
        }
    }
}

fn see(all: impl IntoIterator<Item = Seen>) -> Vec<Letter> {
    all.into_iter().map(Letter::See).collect()
}

fn wait<const N: usize>(all: [u64; N]) -> Vec<Letter> {
    all.map(Letter::Wait).to_vec()
}

fn started(session: &str, prompt: &str) -> Seen {
    Seen::Process(ProcessSeen::Started { session: session.to_owned(), prompt: prompt.to_owned() })
}

/// Letters of the tool boundary, the ask layer and the model's stream.
pub fn inside() -> Vec<Letter> {
    let boot = |env: &[(&str, &str)], stdin_tty, run, listens| {
        Seen::Inside(InsideSeen::Boot {
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            stdin_tty,
            run,
            listens,
        })
    };
    let [session, other] = ["ses_1", "ses_2"].map(str::to_owned);
    let mut letters = see([
        boot(&[], false, true, false),
        boot(&[], true, false, true),
        boot(&[], false, true, true),
        boot(&[(crate::auto_answer::AUTO_ANSWER, "first"), (REASONING, "1")], false, true, false),
    ]);
    for (id, child) in [("que_1", false), ("que_1", true), ("que_2", false)] {
        let mut asked = question(id == "que_2");
        asked.question = id.to_owned();
        let session = if child { &other } else { &session }.clone();
        let ask = Ask { id: id.to_owned(), session, child, questions: vec![asked], permission: String::new() };
        letters.extend(see([
            Seen::Inside(InsideSeen::ToolAsks(ask.clone())),
            Seen::Inside(InsideSeen::Pending(ask.clone())),
        ]));
        // The same id with another question, as a server that was restarted may give it.
        let changed = Ask { questions: vec![question(false), question(true)], ..ask };
        letters.push(Letter::See(Seen::Inside(InsideSeen::Pending(changed))));
    }
    let permission = Ask {
        id: "per_1".to_owned(),
        session: session.clone(),
        child: false,
        questions: vec![],
        permission: "bash".to_owned(),
    };
    letters.push(Letter::See(Seen::Inside(InsideSeen::Pending(permission))));
    for id in ["que_1", "que_2", "per_1"].map(str::to_owned) {
        letters.push(Letter::See(Seen::Inside(InsideSeen::Ended { id: id.clone() })));
        letters.push(Letter::See(Seen::Inside(InsideSeen::Closing {
            id: id.clone(),
            session: session.clone(),
            reason: "cancelled",
        })));
        for answers in [json!([["A"]]), json!([["A", "B"]]), json!([["A"], ["B"]]), json!([["C"]])] {
            let body = json!({ "messageID": "msg_1", "action": "submit", "answers": answers });
            let session = session.clone();
            letters.push(Letter::See(Seen::Inside(InsideSeen::Submitted {
                id: id.clone(),
                session,
                dismiss: false,
                body,
            })));
        }
    }
    for session in [session, other] {
        letters.push(Letter::See(Seen::Inside(InsideSeen::StreamOpen { session: session.clone() })));
        letters.push(Letter::See(Seen::Inside(InsideSeen::StreamMoved { session: session.clone(), progress: true })));
        letters.push(Letter::See(Seen::Inside(InsideSeen::StreamMoved { session: session.clone(), progress: false })));
        letters.push(Letter::See(Seen::Inside(InsideSeen::StreamClosed { session })));
    }
    letters.extend(wait([1, 999, 1_000, 2_000, 3_000, 5_000, 29_000, 120_000]));
    letters
}

/// What looks at the agent's processes find.
fn looks() -> [Seen; 4] {
    [
        looked(Signature::NeverEnds, true, Sure::Likely),
        looked(Signature::NeverEnds, false, Sure::Likely),
        looked(Signature::QuestionOpen, true, Sure::Certain),
        looked(Signature::Serves, true, Sure::Likely),
    ]
}

/// Letters of a process and its streams, with lines of Claude Code's among them.
pub fn process() -> Vec<Letter> {
    let mut letters = see([started("", "go")]);
    letters.extend(see(looks()));
    letters.extend(lines(&[
        r#"{"type":"result","is_error":false,"result":"done"}"#,
        r#"{"type":"result","is_error":true,"result":"no"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"AskUserQuestion"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"AskUserQuestion"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t3","name":"Bash"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t1"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t3"}]}}"#,
        "tick",
        "tock",
    ]));
    let typed = |text: &str| Seen::Protocol(ProtocolSeen::Typed(format!("{text}\n").into_bytes()));
    letters.extend(see([
        typed(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#),
        typed(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3"}]}}"#),
        typed(r#"{"type":"user","message":{"content":[{"type":"text","text":"hi"}]}}"#),
        typed(r#"{"type":"control_response"}"#),
        Seen::Process(ProcessSeen::Output(Stream::Stdout, b"{\"type\":\"result\",".to_vec())),
        Seen::Process(ProcessSeen::Output(Stream::Stdout, b"\"result\":\"late\"}\n".to_vec())),
        Seen::Process(ProcessSeen::Output(Stream::Stdout, b"a\nb\n".to_vec())),
        Seen::Process(ProcessSeen::Output(Stream::Stderr, b"warning\n".to_vec())),
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)),
        Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)),
        Seen::Process(ProcessSeen::Wrote(b"hi\n".to_vec())),
        Seen::Process(ProcessSeen::Exited(0)),
        Seen::Process(ProcessSeen::Exited(-9)),
        Seen::Process(ProcessSeen::Terminal(Terminal::Pipe)),
        Seen::Process(ProcessSeen::Terminal(Terminal::Tty)),
        Seen::Process(ProcessSeen::Terminal(Terminal::StdoutStopped)),
    ]));
    letters.extend(wait([1, 500, 1_000, 2_000, 9_000, 29_000, 60_000, 300_000, 18_000_000]));
    letters
}

/// Letters of Claude Code's control protocol.
pub fn claude() -> Vec<Letter> {
    let mut letters = see([started("", "go")]);
    let asks = |id: &str, call: &str, tool: &str, input: Value| {
        json!({"type": "control_request", "request_id": id, "request": {
            "subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": call}})
        .to_string()
    };
    let question = |text: &str, label: &str| json!({"questions": [{"question": text, "options": [{"label": label}]}]});
    letters.extend(lines(&[
        &asks("c1", "t1", "Bash", json!({})),
        &asks("c1", "t2", "Bash", json!({})),
        &asks("c2", "t2", "AskUserQuestion", question("q", "A")),
        &asks("c2", "t2", "AskUserQuestion", question("q", "B")),
        &asks("c2", "t2", "AskUserQuestion", question("r", "A")),
        r#"{"type":"control_cancel_request","request_id":"c1"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2"}]}}"#,
        r#"{"type":"result"}"#,
    ]));
    letters.extend(see([
        Seen::Process(ProcessSeen::Wrote(
            b"{\"type\":\"control_response\",\"response\":{\"request_id\":\"c1\"}}\n".to_vec(),
        )),
        Seen::Process(ProcessSeen::Wrote(b"{\"type\":\"control_response\",".to_vec())),
        Seen::Process(ProcessSeen::Wrote(b"\"response\":{\"request_id\":\"c2\"}}\n".to_vec())),
        Seen::Process(ProcessSeen::Output(Stream::Stdout, b"{\"type\":".to_vec())),
        Seen::Process(ProcessSeen::Output(Stream::Stdout, b"\"result\"}\n".to_vec())),
        Seen::Process(ProcessSeen::Exited(0)),
    ]));
    letters.extend(wait([1, 1_000, 3_999, 4_000, 30_000]));
    letters
}

fn lines(all: &[&str]) -> Vec<Letter> {
    all.iter()
        .map(|line| Letter::See(Seen::Process(ProcessSeen::Output(Stream::Stdout, format!("{line}\n").into_bytes()))))
        .collect()
}

/// Letters of opencode's events, lists and statuses.
pub fn server() -> Vec<Letter> {
    let mut letters = see([started("ses_1", "go"), started("ses_9", "go")]);
    let tool = |call: &str| json!({"messageID": "msg_1", "callID": call});
    let asked = |id: &str, session: &str, label: &str| {
        json!({"id": id, "sessionID": session, "tool": tool("call_1"),
               "questions": [{"question": "q", "options": [{"label": label}]}]})
    };
    let event = |kind: &str, properties: Value| {
        Seen::Protocol(ProtocolSeen::Event(json!({"type": kind, "properties": properties}).into()))
    };
    let part = |id: &str, status: &str| {
        let state = json!({"status": status});
        json!({"part": {"id": id, "sessionID": "ses_1", "messageID": "msg_1", "callID": "call_1", "tool": "question", "state": state}})
    };
    letters.extend(see([
        event("question.asked", asked("que_1", "ses_1", "A")),
        event("question.asked", asked("que_1", "ses_2", "A")),
        event("question.asked", asked("que_1", "ses_1", "B")),
        event("question.replied", json!({"sessionID": "ses_1", "requestID": "que_1"})),
        event("permission.asked", json!({"id": "per_1", "sessionID": "ses_1", "permission": "bash"})),
        event("permission.updated", json!({"id": "per_1", "sessionID": "ses_1", "type": "bash"})),
        event("permission.replied", json!({"permissionID": "per_1"})),
        event("session.created", json!({"info": {"id": "ses_2", "parentID": "ses_1"}})),
        event("session.created", json!({"info": {"id": "ses_2"}})),
        event("session.status", json!({"sessionID": "ses_1", "status": {"type": "busy"}})),
        event("session.idle", json!({"sessionID": "ses_1"})),
        event("message.part.updated", part("prt_1", "running")),
        event("message.part.updated", part("prt_1", "completed")),
        event("message.part.updated", part("prt_2", "running")),
        Seen::Protocol(ProtocolSeen::Command("leave".to_owned())),
        Seen::Protocol(ProtocolSeen::Command("come-back".to_owned())),
        Seen::Protocol(ProtocolSeen::EventsCut),
        Seen::Process(ProcessSeen::Exited(0)),
        Seen::Protocol(ProtocolSeen::Children(Some(0))),
        Seen::Protocol(ProtocolSeen::Children(Some(1))),
        Seen::Protocol(ProtocolSeen::Children(None)),
    ]));
    let message = |finish: &str, text: &str| {
        json!([{"info": {"id": "msg_1", "role": "assistant", "finish": finish, "time": {"created": 9, "completed": 1}},
                "parts": [{"type": "text", "text": text}]}])
    };
    let bash = json!([{"info": {"role": "assistant"}, "parts": [{"tool": "bash", "state": {"status": "running"}}]}]);
    for which in 0..4 {
        letters.extend([Letter::Fail(which, "closed"), Letter::Respond(which, 404, Value::Null)]);
        letters.push(Letter::Respond(which, 200, json!([])));
        letters.push(Letter::Respond(which, 200, json!({"ses_1": {"type": "busy"}})));
    }
    for body in [
        json!({}),
        json!([asked("que_1", "ses_1", "A")]),
        json!([asked("que_1", "ses_2", "A")]),
        json!([{"id": "per_1", "sessionID": "ses_1", "permission": "bash"}]),
        json!({"id": "ses_2", "parentID": "ses_1"}),
        message("stop", "hi"),
        message("stop", "ho"),
        message("tool-calls", "hi"),
        json!([{"info": {"error": {"data": {"message": "no"}}}}]),
        bash,
    ] {
        letters.extend([Letter::Respond(0, 200, body.clone()), Letter::Respond(1, 200, body)]);
    }
    letters.extend(see(looks()));
    letters.extend(wait([1, 1_000, 1_000, 3_000, 10_000, 30_000, 30_000, 60_000, 600_000, 18_000_000]));
    letters
}

/// Letters of what the companion polls, counts and is told.
pub fn companion() -> Vec<Letter> {
    let mut letters = see([started("ses_1", "go"), started("ses_2", "go"), started("ses_1", "stop")]);
    let command = |command: &str| Seen::Protocol(ProtocolSeen::Command(command.to_owned()));
    letters.extend(see([
        Seen::Protocol(ProtocolSeen::Pid(true)),
        Seen::Protocol(ProtocolSeen::Pid(true)),
        Seen::Protocol(ProtocolSeen::Pid(false)),
        Seen::Protocol(ProtocolSeen::Worker(true)),
        Seen::Protocol(ProtocolSeen::Worker(true)),
        Seen::Protocol(ProtocolSeen::Worker(false)),
        Seen::Protocol(ProtocolSeen::WorkerDied),
        Seen::Protocol(ProtocolSeen::Children(Some(0))),
        Seen::Protocol(ProtocolSeen::Children(Some(0))),
        Seen::Protocol(ProtocolSeen::Children(Some(2))),
        Seen::Protocol(ProtocolSeen::Children(None)),
        command("heal"),
        command("heal --dry-run"),
        command("status"),
        command("result"),
        command("cancel"),
    ]));
    let last = |id: &str, time: Value, finish: Option<&str>, parts: Value| json!([{"info": {"id": id, "role": "assistant", "finish": finish, "time": time}, "parts": parts}]);
    let bash =
        |output: &str| json!([{"type": "tool", "tool": "bash", "state": {"status": "running", "output": output}}]);
    let words = |text: &str| json!([{"type": "text", "text": text}]);
    for which in 0..3 {
        letters.extend([Letter::Fail(which, "closed"), Letter::Fail(which, "timeout")]);
        letters.extend([Letter::Respond(which, 404, Value::Null), Letter::Respond(which, 200, json!([]))]);
        for body in [
            last("msg_1", json!({"created": "1000 ms ago"}), None, bash("")),
            last("msg_1", json!({"created": "70000 ms ago"}), None, bash("x")),
            last("msg_2", json!({"created": "1000 ms ago"}), None, words("so far")),
            last("msg_2", json!({"created": "95000 ms ago"}), None, json!([])),
            last("msg_2", json!({"created": "1000 ms ago"}), None, words("quota")),
            last("msg_2", json!({"created": "2000 ms ago", "completed": "1000 ms ago"}), Some("stop"), words("done")),
            last("msg_2", json!({"created": "2000 ms ago", "completed": "1000 ms ago"}), None, words("cut")),
        ] {
            letters.push(Letter::Respond(which, 200, body));
        }
    }
    let reply = json!({"info": {"id": "msg_3"}, "parts": words("whole")});
    let error = json!({"info": {"error": {"name": "Aborted"}}});
    letters.extend([Letter::Respond(0, 200, reply), Letter::Respond(0, 200, error)]);
    letters.extend(wait([1, 5_000, 5_000, 5_000, 10_000, 30_000, 60_000, 61_000, 300_000]));
    letters
}
