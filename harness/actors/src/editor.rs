//! The editor that drives an agent over the Agent Client Protocol: it plays the steps of its scenario.
//!
//! Invariant: a step begins when the one before it is done, line by line of what the agent says, however its output is
//! cut into pieces.

use crate::{Actor, Exit, Input, Output, PROMPT};
use rehang_scenario::{Canon, EditorAnswer, EditorStep, Until, VTime};
use rehang_trace::RunEnd;
use rehang_wire::claude::Lines;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The folder that the editor has open. Nothing in a cell reads it.
const FOLDER: &str = "/project";

/// An editor.
#[derive(Debug)]
pub struct Editor {
    steps: Vec<EditorStep>,
    /// How many of them are done.
    done: usize,
    /// Whether the step that is not done has sent its request.
    sent: bool,
    /// When its pause is over.
    goes_on: Option<VTime>,
    lines: Lines,
    /// Its requests; their ids are their places.
    requests: Vec<Request>,
    session: String,
    /// The permissions that are not answered, by the ids of the agent's requests.
    asked: VecDeque<Value>,
    /// What the agent has said in this turn: anything, and of a tool call that it runs.
    seen: [bool; 2],
    text: String,
}

/// A request of the editor's.
#[derive(Debug)]
struct Request {
    method: String,
    /// The agent's reply: an error is its message.
    reply: Option<Result<(), String>>,
}

impl Editor {
    /// An editor with these steps.
    pub fn new(steps: Vec<EditorStep>) -> Editor {
        let (lines, requests, asked) = (Lines::default(), Vec::new(), VecDeque::new());
        let (session, text) = (String::new(), String::new());
        Editor { steps, done: 0, sent: false, goes_on: None, lines, requests, session, asked, seen: [false; 2], text }
    }

    /// Plays all steps that can be played now.
    fn play(&mut self, now: VTime, out: &mut Vec<Output>) {
        while let Some(step) = self.steps.get(self.done).cloned() {
            if !self.is_done(now, &step, out) {
                return;
            }
            self.done += 1;
        }
    }

    /// Begins a step or goes on with it; whether it is done.
    fn is_done(&mut self, now: VTime, step: &EditorStep, out: &mut Vec<Output>) -> bool {
        match step {
            EditorStep::Initialize => {
                let none = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
                return self.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": none}), out);
            }
            EditorStep::NewSession => {
                return self.call("session/new", json!({"cwd": FOLDER, "mcpServers": []}), out);
            }
            EditorStep::Prompt => {
                self.seen = [false; 2];
                self.text.clear();
                let prompt = json!([{"type": "text", "text": PROMPT}]);
                self.request("session/prompt", json!({"sessionId": self.session, "prompt": prompt}), out);
            }
            EditorStep::Request(method) => self.request(method, json!({"sessionId": self.session}), out),
            EditorStep::Until(Until::Reply) => return self.is_over(),
            EditorStep::Until(Until::Update) => return self.seen[0] || self.is_over(),
            EditorStep::Until(Until::Tool) => return self.seen[1] || self.is_over(),
            EditorStep::Until(Until::Permission) => return !self.asked.is_empty() || self.is_over(),
            EditorStep::Answer(answer) => match self.asked.pop_front() {
                Some(id) => reply(&id, *answer, out),
                None => return self.is_over(),
            },
            EditorStep::Cancel => {
                out.push(Output::Acts("stop"));
                let params = json!({"sessionId": self.session});
                write(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}), out);
            }
            EditorStep::Pause(span) => {
                let over = *self.goes_on.get_or_insert(now + *span) <= now;
                self.goes_on.take_if(|_| over);
                return over;
            }
            EditorStep::StopReading => out.push(Output::Reads(false)),
            EditorStep::Read => out.push(Output::Reads(true)),
            EditorStep::Close => out.push(Output::CloseStdin),
        }
        true
    }

    /// Whether all of its requests have their replies: nothing more comes of the turn.
    fn is_over(&self) -> bool {
        self.requests.iter().all(|request| request.reply.is_some())
    }

    /// Sends a request once; whether it has a reply.
    fn call(&mut self, method: &str, params: Value, out: &mut Vec<Output>) -> bool {
        if !std::mem::replace(&mut self.sent, true) {
            self.request(method, params, out);
        }
        self.sent = self.requests.last().is_some_and(|request| request.reply.is_none());
        !self.sent
    }

    fn request(&mut self, method: &str, params: Value, out: &mut Vec<Output>) {
        let id = self.requests.len();
        write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), out);
        self.requests.push(Request { method: method.to_owned(), reply: None });
    }

    fn hear(&mut self, message: &Value) {
        match (message["method"].as_str(), message.get("id")) {
            (Some("session/request_permission"), Some(id)) => self.asked.push_back(id.clone()),
            (Some("session/update"), None) => {
                let update = &message["params"]["update"];
                let kind = update["sessionUpdate"].as_str().unwrap_or_default();
                self.seen[0] |= kind.starts_with("agent_") || kind.starts_with("tool_call");
                self.seen[1] |= update["status"] == "in_progress";
                if kind == "agent_message_chunk" {
                    self.text.push_str(update["content"]["text"].as_str().unwrap_or_default());
                }
            }
            (None, Some(id)) => {
                let at = id.as_u64().and_then(|id| usize::try_from(id).ok());
                let Some(request) = at.and_then(|at| self.requests.get_mut(at)) else { return };
                let error = message.get("error").map(|error| error["message"].as_str().unwrap_or_default().to_owned());
                request.reply.get_or_insert(error.map_or(Ok(()), Err));
                if let Some(session) = message["result"]["sessionId"].as_str() {
                    session.clone_into(&mut self.session);
                }
            }
            _ => {}
        }
    }

    /// What the person at the editor concludes from the agent's end.
    fn concludes(&self, exit: Exit) -> Result<(), String> {
        let lacks = |what: String| Err(if exit == Exit::Code(0) { what } else { exit.to_string() });
        for Request { method, reply } in &self.requests {
            match reply {
                None => return lacks(format!("no reply to {method}")),
                // no agent has any other method that a file names
                Some(Err(message)) if matches!(&**method, "initialize" | "session/new" | "session/prompt") => {
                    return Err(format!("{method}: {message}"));
                }
                Some(_) => {}
            }
        }
        match exit {
            Exit::Code(1..) => Err(exit.to_string()),
            _ if self.done < self.steps.len() => lacks("the agent has ended".to_owned()),
            // who has all replies has lost nothing
            _ => Ok(()),
        }
    }
}

fn write(message: Value, out: &mut Vec<Output>) {
    out.push(Output::Write(format!("{message}\n").into_bytes()));
}

/// Answers the agent's request of this id. What the person at the editor does is an act; what the editor does wrong is
/// none.
fn reply(id: &Value, answer: EditorAnswer, out: &mut Vec<Output>) {
    let (act, option) = match answer {
        EditorAnswer::Allow | EditorAnswer::Twice => (Some("allow"), "once"),
        EditorAnswer::Always => (Some("always"), "always"),
        EditorAnswer::Reject => (Some("deny"), "reject"),
        EditorAnswer::Cancelled => (Some("dismiss"), ""),
        EditorAnswer::NotOffered => (None, "none of these"),
        EditorAnswer::Error | EditorAnswer::WrongShape => (None, ""),
    };
    out.extend(act.map(Output::Acts));
    let mut message = json!({"jsonrpc": "2.0", "id": id});
    match answer {
        EditorAnswer::Error => message["error"] = json!({"code": -32603, "message": "Internal error"}),
        EditorAnswer::WrongShape => message["result"] = json!({}),
        EditorAnswer::Cancelled => message["result"] = json!({"outcome": {"outcome": "cancelled"}}),
        _ => message["result"] = json!({"outcome": {"outcome": "selected", "optionId": option}}),
    }
    if answer == EditorAnswer::Twice {
        write(message.clone(), out);
    }
    write(message, out);
}

impl Actor for Editor {
    fn deadline(&self) -> Option<VTime> {
        self.goes_on
    }

    fn on(&mut self, now: VTime, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Begin => self.play(now, out),
            Input::Output(bytes) => {
                self.lines.push(&bytes);
                while let Some(line) = self.lines.next_line() {
                    if let Ok(message) = serde_json::from_str(&line) {
                        self.hear(&message);
                        self.play(now, out);
                    }
                }
            }
            Input::Over(exit) => {
                let (outcome, cause) = match self.concludes(exit) {
                    Ok(()) => (RunEnd::Completed, String::new()),
                    Err(cause) => (RunEnd::Failed, cause),
                };
                out.push(Output::Settle { outcome, cause, text: self.text.clone() });
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: VTime, out: &mut Vec<Output>) {
        if self.goes_on.is_some_and(|at| at <= now) {
            self.play(now, out);
        }
    }

    fn canon(&self, _: &dyn Fn(u32) -> u64, canon: &mut Canon) {
        let Editor {
            steps: _, // not compared: they never change
            done,
            sent,
            goes_on,
            lines,
            requests,
            session,
            asked,
            seen,
            text: _, // not compared: it goes into the text of the end, and no end is part of a cycle
        } = self;
        canon.num(*done as u64).flag(*sent).deadline(*goes_on).bytes(lines.held()).text(session);
        canon.flag(seen[0]).flag(seen[1]);
        canon.list(requests, |canon, Request { method, reply }| {
            canon.text(method).num(reply.as_ref().map_or(0, |reply| 1 + u64::from(reply.is_err())));
        });
        canon.num(asked.len() as u64);
        for id in asked {
            canon.text(&id.to_string());
        }
    }

    fn waits_for(&self) -> Option<&'static str> {
        match self.steps.get(self.done) {
            Some(EditorStep::Initialize | EditorStep::NewSession | EditorStep::Until(Until::Reply)) => Some("reply"),
            Some(EditorStep::Until(_) | EditorStep::Answer(_)) => Some("event"),
            None if self.steps.contains(&EditorStep::Close) => Some("exit"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::default_editor;

    fn played(steps: Vec<EditorStep>, lines: &[&str]) -> (Editor, Vec<String>) {
        let (mut editor, mut out) = (Editor::new(steps), Vec::new());
        editor.on(VTime(0), Input::Begin, &mut out);
        let bytes = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect::<Vec<u8>>();
        // at whatever places the bytes are cut
        for piece in bytes.chunks(7) {
            editor.on(VTime(0), Input::Output(piece.to_vec()), &mut out);
        }
        let shown = out.into_iter().map(|output| match output {
            Output::Write(line) => {
                let message: Value = serde_json::from_slice(&line).unwrap();
                let outcome = &message["result"]["outcome"];
                let option = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
                message["method"].as_str().or(option).unwrap_or("?").to_owned()
            }
            Output::Acts(word) => word.to_owned(),
            Output::CloseStdin => "<close>".to_owned(),
            other => format!("{other:?}"),
        });
        (editor, shown.collect())
    }

    const HELLO: [&str; 2] = [r#"{"id":0,"result":{}}"#, r#"{"id":1,"result":{"sessionId":"ses_1"}}"#];
    const ASKED: &str = r#"{"id":0,"method":"session/request_permission","params":{}}"#;

    #[test]
    fn a_step_waits_for_the_one_before_it() {
        let say = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"Hi"}}}}"#;
        let all = ["initialize", "session/new", "session/prompt", "<close>"];
        for (lines, sent) in [(0, 1), (1, 2), (2, 3), (3, 3), (4, 4)] {
            let (mut editor, shown) =
                played(default_editor(), &[HELLO[0], HELLO[1], say, r#"{"id":2,"result":{}}"#][..lines]);
            assert_eq!(shown, all[..sent], "{lines}");
            let mut out = Vec::new();
            editor.on(VTime(1), Input::Over(Exit::Code(0)), &mut out);
            let (outcome, cause) = match lines {
                4 => (RunEnd::Completed, String::new()),
                _ => (RunEnd::Failed, format!("no reply to {}", all[lines.min(2)])),
            };
            let text = if lines < 3 { "" } else { "Hi" }.to_owned();
            assert_eq!(out, [Output::Settle { outcome, cause, text }]);
        }
    }

    #[test]
    fn what_a_person_does_is_an_act_and_what_the_editor_does_wrong_is_none() {
        let with = |answer| {
            let mut steps = default_editor();
            steps.insert(3, EditorStep::Answer(answer));
            played(steps, &[HELLO[0], HELLO[1], ASKED]).1.split_off(3)
        };
        assert_eq!(with(EditorAnswer::Twice), ["allow", "once", "once"]);
        assert_eq!(with(EditorAnswer::Cancelled), ["dismiss", "cancelled"]);
        assert_eq!(with(EditorAnswer::NotOffered), ["none of these"]);
        assert_eq!(with(EditorAnswer::WrongShape), ["?"]);
    }

    #[test]
    fn a_pause_is_over_at_its_time() {
        let steps = vec![EditorStep::Pause(rehang_scenario::Span::secs(3)), EditorStep::Close];
        let (mut editor, shown) = played(steps, &[]);
        assert_eq!((shown.len(), editor.deadline()), (0, Some(VTime(3_000))));
        let mut out = Vec::new();
        editor.tick(VTime(3_000), &mut out);
        assert_eq!((out, editor.deadline()), (vec![Output::CloseStdin], None));
    }
}
