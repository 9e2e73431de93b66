//! The editor that drives an agent over the Agent Client Protocol, or Codex or Claude Code over their own: it plays the steps
//! of its scenario.
//!
//! Invariant: a step begins when the one before it is done, line by line of what the agent says, however its output is
//! cut into pieces.

mod sdk;
mod shapes;

use crate::{Actor, Exit, Input, Output, PROMPT};
use rehang_scenario::{Canon, EditorAnswer, EditorStep, Protocol, Until, VTime};
use rehang_trace::RunEnd;
use rehang_wire::claude::{self, Lines};
use serde_json::{Value, json};
use shapes::{Asks, Heard, Said, Wanted};
use std::collections::VecDeque;

/// An editor.
#[derive(Debug)]
pub struct Editor {
    protocol: Protocol,
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
    /// The turns that the agent has answered with, or that a message has begun; the Agent Client Protocol has none.
    turns: Vec<Turn>,
    /// What the agent has asked for and has no answer to, by the ids of its requests.
    asked: VecDeque<(Value, Wanted)>,
    /// Whether the person has stopped the turn.
    stopped: bool,
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

/// A turn of Codex' protocol; in Claude Code's it has no id, and they end in the order of their prompts.
#[derive(Debug)]
struct Turn {
    id: String,
    /// Its end; an error is why it failed.
    end: Option<Result<(), String>>,
}

impl Editor {
    /// An editor with these steps.
    pub fn new(protocol: Protocol, steps: Vec<EditorStep>) -> Editor {
        Editor {
            protocol,
            steps,
            done: 0,
            sent: false,
            goes_on: None,
            lines: Lines::default(),
            requests: Vec::new(),
            session: String::new(),
            turns: Vec::new(),
            asked: VecDeque::new(),
            stopped: false,
            seen: [false; 2],
            text: String::new(),
        }
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
            EditorStep::Hook(_) => {}
            EditorStep::Initialize => {
                let is_done = self.call(shapes::initialize(self.protocol, &self.steps[..self.done]), out);
                if is_done && self.protocol == Protocol::AppServer {
                    self.write(json!({"method": "initialized"}), out);
                }
                return is_done;
            }
            EditorStep::NewSession => {
                return shapes::new_session(self.protocol).is_none_or(|asks| self.call(asks, out));
            }
            EditorStep::Prompt => {
                (self.seen, self.stopped) = ([false; 2], false);
                self.text.clear();
                match shapes::prompt(self.protocol, &self.session) {
                    Some((method, params)) => self.request(method, params, out),
                    None => {
                        self.turns.push(Turn { id: String::new(), end: None });
                        self.write(claude::user(PROMPT), out);
                    }
                }
            }
            EditorStep::Request(method) => {
                let (method, params) = shapes::about(self.protocol, &self.session, method);
                self.request(method, params, out);
            }
            EditorStep::Until(Until::Reply) => return self.is_over(),
            EditorStep::Until(Until::Update) => return self.seen[0] || self.is_over(),
            EditorStep::Until(Until::Tool) => return self.seen[1] || self.is_over(),
            EditorStep::Until(Until::Permission) => return !self.asked.is_empty() || self.is_over(),
            EditorStep::Answer(answer) => return self.answers(0, *answer, out),
            EditorStep::AnswerSecond(answer) => return self.answers(1, *answer, out),
            EditorStep::Cancel => return self.cancels(out),
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

    /// Whether nothing more is asked for: before its first turn, a client of the Claude Agent SDK may be greeted as a tool server.
    fn is_asked_no_more(&self) -> bool {
        self.is_over() && !(self.protocol == Protocol::Sdk && self.turns.is_empty())
    }

    /// Whether all of its requests have their replies, and all turns are over: nothing more comes.
    fn is_over(&self) -> bool {
        self.requests.iter().all(|request| request.reply.is_some()) && self.turns.iter().all(|turn| turn.end.is_some())
    }

    /// Answers what the agent asks for, the first or the second of what has no answer; whether that is done, or never can be.
    fn answers(&mut self, at: usize, answer: EditorAnswer, out: &mut Vec<Output>) -> bool {
        let Some((id, wanted)) = self.asked.remove(at) else { return self.is_asked_no_more() };
        let (act, message) = wanted.answered(answer, &id);
        self.stopped |= act == Some("stop");
        out.extend(act.map(Output::Acts));
        if answer == EditorAnswer::Twice {
            self.write(message.clone(), out);
        }
        self.write(message, out);
        true
    }

    /// The person at the editor stops the turn; whether its id is known, if it needs one.
    fn cancels(&mut self, out: &mut Vec<Output>) -> bool {
        let (id, turn) = (&self.session, self.turns.last().map(|turn| turn.id.as_str()));
        let is_asked = |request: &Request| request.method == "turn/start" && request.reply.is_none();
        if self.protocol == Protocol::AppServer && self.requests.iter().any(is_asked) {
            return false;
        }
        out.push(Output::Acts("stop"));
        self.stopped = true;
        match self.protocol {
            Protocol::Acp => self.write(json!({"method": "session/cancel", "params": {"sessionId": id}}), out),
            Protocol::AppServer => {
                let params = json!({"threadId": id, "turnId": turn.unwrap_or_default()});
                self.request("turn/interrupt", params, out);
            }
            Protocol::Sdk => self.request("interrupt", json!({}), out),
        }
        true
    }

    /// Sends a request once; whether it has a reply.
    fn call(&mut self, (method, params): Asks, out: &mut Vec<Output>) -> bool {
        if !std::mem::replace(&mut self.sent, true) {
            self.request(method, params, out);
        }
        self.sent = self.requests.last().is_some_and(|request| request.reply.is_none());
        !self.sent
    }

    fn request(&mut self, method: &str, params: Value, out: &mut Vec<Output>) {
        self.write(shapes::request(self.protocol, self.requests.len(), method, params), out);
        self.requests.push(Request { method: method.to_owned(), reply: None });
    }

    /// Writes a message; only the Agent Client Protocol names the version of JSON-RPC.
    fn write(&self, mut message: Value, out: &mut Vec<Output>) {
        if self.protocol == Protocol::Acp {
            message["jsonrpc"] = json!("2.0");
        }
        out.push(Output::Write(format!("{message}\n").into_bytes()));
    }

    fn hear(&mut self, message: &Value) {
        match Heard::of(self.protocol, message) {
            Heard::Asks(id, wanted) => self.asked.push_back((id, wanted)),
            Heard::TakesBack(id) => self.asked.retain(|(of, _)| *of != id),
            Heard::Says(Said { update, tool, text, over }) => {
                self.seen[0] |= update;
                self.seen[1] |= tool;
                self.text.extend(text);
                if let Some((id, failed)) = over
                    && let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id && turn.end.is_none())
                {
                    // Claude Code's result of a turn that was stopped is an error
                    let failed = failed.filter(|_| !(self.protocol == Protocol::Sdk && self.stopped));
                    turn.end = Some(failed.map_or(Ok(()), Err));
                }
            }
            Heard::Replies(id, error) => {
                let Some(request) = self.requests.get_mut(id) else { return };
                request.reply.get_or_insert(error.map_or(Ok(()), Err));
                let result = &message["result"];
                if let Some(session) = result["sessionId"].as_str().or(result["thread"]["id"].as_str()) {
                    session.clone_into(&mut self.session);
                }
                if let Some(id) = result["turn"]["id"].as_str().filter(|id| self.turns.iter().all(|of| of.id != *id)) {
                    self.turns.push(Turn { id: id.to_owned(), end: None });
                }
            }
            Heard::Nothing => {}
        }
    }

    /// What the person at the editor concludes from the agent's end.
    fn concludes(&self, exit: Exit) -> Result<(), String> {
        let lacks = |what: String| Err(if exit == Exit::Code(0) { what } else { exit.to_string() });
        for Request { method, reply } in &self.requests {
            match reply {
                None => return lacks(format!("no reply to {method}")),
                Some(Err(message)) if shapes::is_needed(method) => return Err(format!("{method}: {message}")),
                Some(_) => {}
            }
        }
        for turn in &self.turns {
            match &turn.end {
                None => return lacks("no end of the turn".to_owned()),
                Some(Err(message)) => return Err(format!("the turn failed: {message}")),
                Some(Ok(())) => {}
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
            protocol: _, // not compared: it never changes
            steps: _,    // not compared: they never change
            done,
            sent,
            goes_on,
            lines,
            requests,
            session,
            turns,
            asked,
            stopped,
            seen,
            text: _, // not compared: it goes into the text of the end, and no end is part of a cycle
        } = self;
        canon.num(*done as u64).flag(*sent).deadline(*goes_on).bytes(lines.held()).text(session);
        canon.flag(seen[0]).flag(seen[1]).flag(*stopped);
        canon.list(requests, |canon, Request { method, reply }| {
            canon.text(method).num(reply.as_ref().map_or(0, |reply| 1 + u64::from(reply.is_err())));
        });
        canon.list(turns, |canon, Turn { id, end }| {
            canon.text(id).num(end.as_ref().map_or(0, |end| 1 + u64::from(end.is_err())));
        });
        canon.num(asked.len() as u64);
        for (id, wanted) in asked {
            canon.text(&id.to_string()).text(&format!("{wanted:?}"));
        }
    }

    fn waits_for(&self) -> Option<&'static str> {
        match self.steps.get(self.done) {
            Some(EditorStep::Initialize | EditorStep::NewSession | EditorStep::Until(Until::Reply)) => Some("reply"),
            Some(EditorStep::Until(_) | EditorStep::Answer(_) | EditorStep::AnswerSecond(_)) => Some("event"),
            Some(EditorStep::Cancel) => Some("reply"),
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
        played_over(Protocol::Acp, steps, lines)
    }

    fn played_over(protocol: Protocol, steps: Vec<EditorStep>, lines: &[&str]) -> (Editor, Vec<String>) {
        let (mut editor, mut out) = (Editor::new(protocol, steps), Vec::new());
        editor.on(VTime(0), Input::Begin, &mut out);
        let bytes = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect::<Vec<u8>>();
        // at whatever places the bytes are cut
        for piece in bytes.chunks(7) {
            editor.on(VTime(0), Input::Output(piece.to_vec()), &mut out);
        }
        let shown = out.into_iter().map(|output| match output {
            Output::Write(line) => {
                let message: Value = serde_json::from_slice(&line).unwrap();
                assert_eq!(message["jsonrpc"] == "2.0", protocol == Protocol::Acp);
                let outcome = &message["result"]["outcome"];
                let option = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
                let word = message["method"].as_str().or(option).map(str::to_owned);
                match protocol {
                    Protocol::Acp => word.unwrap_or("?".to_owned()),
                    Protocol::AppServer | Protocol::Sdk => {
                        word.unwrap_or(format!("{} {}", message["id"], message["result"]))
                    }
                }
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

    const THREAD: [&str; 3] = [
        r#"{"id":0,"result":{"userAgent":"x"}}"#,
        r#"{"id":1,"result":{"thread":{"id":"thread"}}}"#,
        r#"{"id":2,"result":{"turn":{"id":"turn"}}}"#,
    ];

    #[test]
    fn a_turn_of_codex_is_over_when_it_says_so() {
        let all = ["initialize", "initialized", "thread/start", "turn/start", "<close>"];
        let delta = r#"{"method":"item/agentMessage/delta","params":{"delta":"Hi"}}"#;
        let over = |status: &str| {
            format!(
                r#"{{"method":"turn/completed","params":{{"turn":{{"id":"turn","status":"{status}","error":{{"message":"no"}}}}}}}}"#
            )
        };
        let concluded = |lines: &[&str], sent: usize| {
            let (mut editor, shown) = played_over(Protocol::AppServer, default_editor(), lines);
            assert_eq!(shown, all[..sent]);
            let mut out = Vec::new();
            editor.on(VTime(1), Input::Over(Exit::Code(0)), &mut out);
            match out.as_slice() {
                [Output::Settle { outcome: RunEnd::Completed, text, .. }] => Ok(text.clone()),
                [Output::Settle { cause, .. }] => Err(cause.clone()),
                other => panic!("{other:?}"),
            }
        };
        let [hello, thread, turn] = THREAD;
        assert_eq!(concluded(&[hello, thread], 4), Err("no reply to turn/start".to_owned()));
        assert_eq!(concluded(&[hello, thread, turn, delta], 4), Err("no end of the turn".to_owned()));
        assert_eq!(concluded(&[hello, thread, turn, delta, &over("completed")], 5), Ok("Hi".to_owned()));
        assert_eq!(concluded(&[hello, thread, turn, &over("failed")], 5), Err("the turn failed: no".to_owned()));
        // an interrupt needs the turn's id
        let mut steps = default_editor();
        steps.insert(3, EditorStep::Cancel);
        let sent = |lines: &[&str]| played_over(Protocol::AppServer, steps.clone(), lines).1.split_off(4);
        assert!(sent(&[hello, thread]).is_empty());
        assert_eq!(sent(&[hello, thread, turn]), ["stop", "turn/interrupt"]);
    }

    #[test]
    fn a_client_of_the_sdk_says_hello_with_its_hooks_and_answers_by_the_control_protocol() {
        let over = r#"{"type":"result","subtype":"success","is_error":false,"result":"Hi"}"#;
        let hello =
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"client_0","response":{}}}"#;
        let asks = |id: &str, request: &str| {
            format!(r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":{request}}}}}"#)
        };
        let tool = asks("r1", r#""can_use_tool","tool_name":"Bash","input":{"command":"ls"}"#);
        let hook = asks("r2", r#""hook_callback","callback_id":"hook_0""#);
        let call = asks("r3", r#""mcp_message","server_name":"client","message":{"method":"tools/call","id":2}"#);
        let back = r#"{"type":"control_cancel_request","request_id":"r4"}"#;
        let question = r#""can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Q?","options":[{"label":"A"}]}]}"#;
        let question = asks("r4", question);
        let answers = |answer| {
            let steps = vec![EditorStep::Answer(answer); 4];
            let start =
                [EditorStep::Hook(rehang_scenario::HookEvent::Stop), EditorStep::Initialize, EditorStep::Prompt];
            let (mut editor, mut out) = (Editor::new(Protocol::Sdk, [&start[..], &steps[..]].concat()), Vec::new());
            editor.on(VTime(0), Input::Begin, &mut out);
            for line in [hello, &tool, &hook, &call, &question, back, over] {
                editor.on(VTime(0), Input::Output(format!("{line}\n").into_bytes()), &mut out);
            }
            editor.on(VTime(0), Input::Over(Exit::Code(0)), &mut out);
            let shown = out.into_iter().map(|output| match output {
                Output::Write(line) => String::from_utf8(line).unwrap().trim_end().to_owned(),
                Output::Settle { outcome, cause, .. } => format!("{outcome:?} {cause}"),
                other => format!("{other:?}"),
            });
            shown.skip(2).collect::<Vec<_>>().join("\n")
        };
        let reply = |id: &str, said: &str| {
            let said = format!(r#"{{"subtype":"success","request_id":"{id}","response":{said}}}"#);
            format!(r#"{{"type":"control_response","response":{said}}}"#)
        };
        let allowed = [
            "Acts(\"allow\")",
            &reply("r1", r#"{"behavior":"allow","updatedInput":{"command":"ls"}}"#),
            &reply("r2", "{}"),
            &reply(
                "r3",
                r#"{"mcp_response":{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}}"#,
            ),
            "Acts(\"answer\")",
            &reply(
                "r4",
                r#"{"behavior":"allow","updatedInput":{"questions":[{"question":"Q?","options":[{"label":"A"}]}],"answers":{"Q?":"A"}}}"#,
            ),
            "Completed ",
        ];
        assert_eq!(answers(EditorAnswer::Allow), allowed.join("\n"));
        let ends = answers(EditorAnswer::Cancelled);
        let first = reply("r1", r#"{"behavior":"deny","message":"not now","interrupt":true}"#);
        assert!(ends.starts_with(&format!("Acts(\"stop\")\n{first}\n")), "{ends}");
        assert!(
            ends.contains(r#"{"decision":"block","reason":"not now"}"#) && ends.contains(r#""error":{"code":-32603"#),
            "{ends}"
        );
        assert_eq!(answers(EditorAnswer::Error).matches(r#""error":"Internal error""#).count(), 4);
    }

    #[test]
    fn each_request_of_codex_has_its_answer() {
        let methods = [
            ("item/commandExecution/requestApproval", "{}"),
            ("item/tool/requestUserInput", r#"{"questions":[{"id":"q","options":[{"label":"A"},{"label":"B"}]}]}"#),
            ("mcpServer/elicitation/request", "{}"),
            ("item/tool/call", "{}"),
        ];
        let answers = |answer| {
            let mut steps = default_editor();
            steps.insert(3, EditorStep::AnswerSecond(answer));
            let given = methods.map(|(method, params)| {
                let asks = |id| format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#);
                let (first, second) = (asks(7), asks(8));
                let [hello, thread, turn] = THREAD;
                let mut sent =
                    played_over(Protocol::AppServer, steps.clone(), &[hello, thread, turn, &first, &second]).1;
                sent.split_off(4).join(" ")
            });
            given.join("\n")
        };
        let allowed = concat!(
            "allow 8 {\"decision\":\"accept\"}\n",
            "answer 8 {\"answers\":{\"q\":{\"answers\":[\"A\"]}}}\n",
            "allow 8 {\"action\":\"accept\",\"content\":null}\n",
            "allow 8 {\"contentItems\":[{\"type\":\"inputText\",\"text\":\"done\"}],\"success\":true}"
        );
        assert_eq!(answers(EditorAnswer::Allow), allowed);
        assert!(answers(EditorAnswer::Cancelled).starts_with("stop 8 {\"decision\":\"cancel\"}\n"));
        assert!(answers(EditorAnswer::WrongShape).starts_with("8 {}\n8 {}\n"));
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
