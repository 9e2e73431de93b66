//! What an agent says of itself in what it writes: the messages of its stdout, the control sequences of its terminal.
//!
//! It is a claim, for an agent whose own records and server say nothing: which calls are without a result, which
//! permissions it has asked its host for, whether a turn is open. The diagnosis still looks at what the process waits for:
//! a claim explains, and can give a wait its longer limit; alone it makes no hang.
//!
//! Invariant: bounded in bytes and number. Output whose first line is no message has no messages: a line that looks like
//! one is quoted there, and may be a tool's.

use crate::data::{Agent, Pid, Snapshot};
use crate::kind;
use crate::read::{MAX_TEXT, Story};
use rehang_wire::claude::Lines;
use serde_json::Value;
use std::collections::VecDeque;

/// The form of an agent that speaks the Agent Client Protocol on its stdin and stdout.
pub const ACP: &str = "acp";
/// The form of a Codex that speaks its own protocol there (`codex app-server`).
pub const APP_SERVER: &str = "app-server";
/// What a question to the user is called among what an agent has asked for.
pub(crate) const QUESTION: &str = "question";
/// The same, of a tool server in the middle of a call, which may have a limit of its own.
pub(crate) const ELICITATION: &str = "elicitation";
/// The most requests to a host that are kept.
const MAX_REQUESTS: usize = 64;
/// The most bytes of a control sequence that are kept; those that are looked for are shorter.
const MAX_SEQUENCE: usize = 64;

/// What was heard so far.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    lines: Lines,
    speech: Option<Speech>,
    sequence: Sequence,
    /// Whether the terminal was last told that work goes on.
    at_work: Option<bool>,
}

#[derive(Debug, Clone)]
enum Speech {
    Text,
    /// Claude Code's stream of messages (`--output-format stream-json`).
    Claude(Story),
    /// The Agent Client Protocol, version 1; of version 2's draft, `state_update` too.
    Acp(Talk),
    /// Codex' own protocol.
    AppServer(Talk),
}

/// What an agent has said to the host that holds its streams.
#[derive(Debug, Clone, Default)]
struct Talk {
    /// What it has asked for, by its tool calls or its requests, and not said anything else of since.
    asked: Vec<(String, String)>,
    turn: &'static str,
}

/// Whether an agent of this form takes requests on its standard input, and asks its host there by requests of its own.
pub(crate) fn asks_host(form: &str) -> bool {
    [ACP, APP_SERVER].contains(&form)
}

impl Heard {
    /// Takes what the command has written to its stdout, or to its terminal.
    pub fn output(&mut self, bytes: &[u8], at_terminal: bool) {
        if at_terminal {
            for &byte in bytes {
                if let Some(said) = self.sequence.next(byte) {
                    self.at_work = at_work(&said).or(self.at_work);
                }
            }
            return;
        }
        if matches!(self.speech, Some(Speech::Text)) {
            return;
        }
        self.lines.push(bytes);
        while let Some(line) = self.lines.next_line() {
            if line.trim().is_empty() {
                continue;
            }
            let message = serde_json::from_str::<Value>(&line).ok().filter(Value::is_object);
            let speech = self.speech.get_or_insert_with(|| Speech::of(message.as_ref()));
            match (speech, message) {
                (Speech::Text, _) => {
                    self.lines = Lines::default();
                    return;
                }
                (Speech::Claude(story), Some(message)) => story.said(&message),
                (Speech::Acp(talk), Some(message)) => talk.said_in_acp(&message),
                (Speech::AppServer(talk), Some(message)) => talk.said_in_app_server(&message),
                (_, None) => {}
            }
        }
    }

    /// Adds what was claimed to the agent that is nearest to the roots of a snapshot, if it has said nothing elsewhere.
    pub fn add_to(&self, snapshot: &mut Snapshot) {
        let Some((pid, name)) = nearest(snapshot) else { return };
        let at = snapshot.agents.iter().position(|agent| agent.pid == pid).unwrap_or_else(|| {
            snapshot.agents.push(Agent { pid, name, ..Agent::default() });
            snapshot.agents.len() - 1
        });
        let agent = &mut snapshot.agents[at];
        if !agent.turn.is_empty() || !agent.running.is_empty() || !agent.asks.is_empty() || agent.busy.is_some() {
            return;
        }
        match &self.speech {
            Some(Speech::Claude(story)) => {
                (agent.running, agent.turn) = story.told();
                agent.sources.push("its messages on its standard output".to_owned());
            }
            Some(Speech::Acp(talk)) => talk.add_to(agent, ACP, "Agent Client Protocol"),
            Some(Speech::AppServer(talk)) => talk.add_to(agent, APP_SERVER, "Codex' app-server protocol"),
            Some(Speech::Text) | None => {}
        }
        if let Some(at_work) = self.at_work {
            // the end of one piece of work is not the end of a turn
            if at_work && agent.turn.is_empty() {
                "open".clone_into(&mut agent.turn);
            }
            let says = if at_work { "work goes on" } else { "no work goes on" };
            agent.sources.push(format!("its terminal's control sequences: {says}"));
        }
    }
}

/// The agent that is nearest to the roots.
fn nearest(snapshot: &Snapshot) -> Option<(Pid, String)> {
    let mut next: VecDeque<Pid> = snapshot.roots.iter().copied().collect();
    // a process has one parent, so none comes twice; those that a broken snapshot makes their own are counted
    for _ in 0..=snapshot.tree.len() {
        let pid = next.pop_front()?;
        let Some(process) = snapshot.tree.get(&pid) else { continue };
        if let Some(kind) = kind::agent(process) {
            return Some((pid, kind.name.to_owned()));
        }
        next.extend(snapshot.tree.values().filter(|child| child.ppid == pid).map(|child| child.pid));
    }
    None
}

impl Speech {
    fn of(first: Option<&Value>) -> Speech {
        match first {
            Some(message) if message["jsonrpc"] == "2.0" => Speech::Acp(Talk::default()),
            Some(message) if message["result"]["userAgent"].is_string() => Speech::AppServer(Talk::default()),
            Some(message) if message["type"].is_string() => Speech::Claude(Story::default()),
            _ => Speech::Text,
        }
    }
}

impl Talk {
    fn add_to(&self, agent: &mut Agent, form: &str, protocol: &str) {
        form.clone_into(&mut agent.form);
        agent.running = self.asked.iter().map(|(_, what)| what.clone()).collect();
        self.turn.clone_into(&mut agent.turn);
        agent.sources.push(format!("its messages on its standard output ({protocol})"));
    }

    /// The agent asks its host for something.
    fn asks(&mut self, id: &str, what: &str) {
        self.turn = "open";
        if self.asked.len() < MAX_REQUESTS {
            let what = what.chars().take(MAX_TEXT).collect::<String>();
            self.asked.push((id.to_owned(), rehang_words::text::visible(&what)));
        }
    }

    fn said_in_app_server(&mut self, message: &Value) {
        let params = &message["params"];
        let word = |value: &'_ Value| value.as_str().map(str::to_owned);
        match (message["method"].as_str(), message.get("id")) {
            (Some("item/tool/call"), Some(_)) => {
                let call = params["callId"].as_str().unwrap_or_default();
                self.asks(call, params["tool"].as_str().unwrap_or("a tool of its host's"));
            }
            (Some(method), Some(id)) => {
                let is_question = params["_meta"]["codex_approval_kind"].is_null();
                let what = match method {
                    "item/tool/requestUserInput" => {
                        word(&params["questions"][0]["question"]).map(|question| format!("{QUESTION}: {question}"))
                    }
                    "mcpServer/elicitation/request" if is_question => {
                        word(&params["message"]).map(|question| format!("{ELICITATION}: {question}"))
                    }
                    "mcpServer/elicitation/request" => word(&params["_meta"]["tool_name"]),
                    "item/fileChange/requestApproval" => Some("a change of a file".to_owned()),
                    _ => word(&params["command"]),
                };
                self.asks(&id.to_string(), &what.unwrap_or_else(|| method.to_owned()));
            }
            (Some("serverRequest/resolved"), None) => {
                let id = params["requestId"].to_string();
                self.asked.retain(|(asked, _)| *asked != id);
            }
            (Some("turn/completed"), None) => self.over(),
            (Some("item/completed"), None) => {
                self.asked.retain(|(call, _)| params["item"]["id"] != call.as_str());
                self.turn = "open";
            }
            (Some(method), None) if method.starts_with("item/") || method == "turn/started" => self.turn = "open",
            _ => {}
        }
    }

    fn said_in_acp(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("session/request_permission") => {
                let call = &params["toolCall"];
                let id = call["toolCallId"].as_str().unwrap_or_default();
                self.asks(id, call["title"].as_str().unwrap_or("a tool"));
            }
            Some("session/update") => self.update(&params["update"]),
            Some(_) => {}
            // the answer to session/prompt
            None if message["result"]["stopReason"].is_string() => self.over(),
            None => {}
        }
    }

    fn update(&mut self, update: &Value) {
        match (update["sessionUpdate"].as_str(), update["state"].as_str()) {
            (Some("state_update"), Some("idle")) => return self.over(),
            // the call goes on or is over, so its permission was answered
            (Some("tool_call_update"), _) if update["status"].is_string() => {
                self.asked.retain(|(id, _)| update["toolCallId"] != id.as_str());
            }
            _ => {}
        }
        self.turn = "open";
    }

    fn over(&mut self) {
        self.asked.clear();
        self.turn = "ended";
    }
}

/// Whether an operating system command says that work goes on: `9;4` is progress (ConEmu, Windows Terminal, Ghostty), where
/// 0 takes it away; `133` marks commands (FinalTerm), where C begins one and D ends it.
fn at_work(command: &[u8]) -> Option<bool> {
    match command {
        [b'9', b';', b'4', b';', state, ..] => Some(*state != b'0'),
        [b'1', b'3', b'3', b';', b'C', ..] => Some(true),
        [b'1', b'3', b'3', b';', b'D', ..] => Some(false),
        _ => None,
    }
}

/// Finds operating system commands (`ESC ] … BEL`, or `… ESC \`) in a terminal's output.
#[derive(Debug, Clone, Default)]
enum Sequence {
    #[default]
    Outside,
    Escape,
    Inside(Vec<u8>),
    /// After an escape inside.
    Closing(Vec<u8>),
}

impl Sequence {
    /// Takes a byte; returns the command that it ends. What is too long is cut: no command of such a length is looked for.
    fn next(&mut self, byte: u8) -> Option<Vec<u8>> {
        let (next, said) = match (std::mem::take(self), byte) {
            (Sequence::Inside(said), 0x07) | (Sequence::Closing(said), b'\\') => (Sequence::Outside, Some(said)),
            (Sequence::Inside(said), 0x1b) => (Sequence::Closing(said), None),
            (Sequence::Inside(mut said), _) => {
                if said.len() < MAX_SEQUENCE {
                    said.push(byte);
                }
                (Sequence::Inside(said), None)
            }
            (Sequence::Escape | Sequence::Closing(_), b']') => (Sequence::Inside(Vec::new()), None),
            (_, 0x1b) => (Sequence::Escape, None),
            _ => (Sequence::Outside, None),
        };
        *self = next;
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Process;
    use std::collections::BTreeMap;

    /// A shell that started an agent, which started another.
    fn snapshot() -> Snapshot {
        let process = |pid: Pid, ppid: Pid, name: &str| {
            (pid, Process { pid, ppid, comm: name.into(), args: vec![name.into()], ..Process::default() })
        };
        let tree = BTreeMap::from([process(7, 1, "sh"), process(3, 7, "goose"), process(2, 3, "claude")]);
        Snapshot { roots: vec![7], tree, ..Snapshot::default() }
    }

    fn claims(heard: &Heard) -> (Pid, String, Vec<String>, String) {
        let mut snapshot = snapshot();
        heard.add_to(&mut snapshot);
        let agent = &snapshot.agents[0];
        assert_eq!(snapshot.agents.len(), 1);
        (agent.pid, agent.form.clone(), agent.running.clone(), agent.turn.clone())
    }

    fn said(lines: &[&str]) -> (Vec<String>, String) {
        let mut heard = Heard::default();
        // bytes come as they like
        for piece in format!("{}\n", lines.join("\n")).as_bytes().chunks(7) {
            heard.output(piece, false);
        }
        let (pid, _, running, turn) = claims(&heard);
        assert_eq!(pid, 3);
        (running, turn)
    }

    const ASK: &str = r#"{"jsonrpc":"2.0","id":4,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1","title":"npm test"},"options":[]}}"#;
    const UPDATE: &str =
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"KIND"}}}"#;

    fn update(kind: &str) -> String {
        UPDATE.replace(r#""KIND""#, kind)
    }

    #[test]
    fn a_permission_is_open_until_its_call_goes_on() {
        let open = (vec!["npm test".to_owned()], "open".to_owned());
        let none = |turn: &str| (Vec::new(), turn.to_owned());
        let first = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;
        assert_eq!(said(&[first]), none(""));
        assert_eq!(said(&[first, ASK]), open);
        assert_eq!(said(&[first, ASK, &update(r#""agent_message_chunk""#)]), open);
        let of = |call: &str, status: &str| {
            update(&format!(r#""tool_call_update","toolCallId":"{call}","status":"{status}""#))
        };
        assert_eq!(said(&[first, ASK, &of("c2", "completed")]), open, "of another call");
        for status in ["in_progress", "completed", "failed"] {
            assert_eq!(said(&[first, ASK, &of("c1", status)]), none("open"));
        }
        assert_eq!(
            said(&[first, ASK, r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#]),
            none("ended")
        );
        assert_eq!(said(&[first, ASK, r#"{"jsonrpc":"2.0","id":3,"result":{"other":1}}"#]), open);
        assert_eq!(said(&[first, ASK, &update(r#""state_update","state":"idle""#)]), none("ended"));
        assert_eq!(said(&[first, ASK, &update(r#""state_update","state":"requires_action""#)]), open);
        let many: Vec<&str> = std::iter::repeat_n(ASK, 100).collect();
        assert_eq!(said(&many).0.len(), MAX_REQUESTS);
    }

    #[test]
    fn what_codex_asks_is_open_until_it_says_that_it_is_over() {
        let first = r#"{"id":0,"result":{"userAgent":"x"}}"#;
        let asks = |method: &str, params: &str| format!(r#"{{"method":"{method}","id":4,"params":{params}}}"#);
        let command = asks("item/commandExecution/requestApproval", r#"{"command":"make"}"#);
        let open = |what: &str| (vec![what.to_owned()], "open".to_owned());
        let none = |turn: &str| (Vec::new(), turn.to_owned());
        assert_eq!(said(&[first]), none(""));
        assert_eq!(said(&[first, &command]), open("make"));
        let question = asks("item/tool/requestUserInput", r#"{"questions":[{"question":"Which?"}]}"#);
        assert_eq!(said(&[first, &question]), open("question: Which?"));
        let elicits =
            |meta: &str| asks("mcpServer/elicitation/request", &format!(r#"{{"message":"Which?","_meta":{meta}}}"#));
        assert_eq!(said(&[first, &elicits("null")]), open("elicitation: Which?"));
        let approves = r#"{"codex_approval_kind":"mcp_tool_call","tool_name":"query"}"#;
        assert_eq!(said(&[first, &elicits(approves)]), open("query"));
        let resolved = |id: u32| format!(r#"{{"method":"serverRequest/resolved","params":{{"requestId":{id}}}}}"#);
        assert_eq!(said(&[first, &command, &resolved(3)]), open("make"));
        assert_eq!(said(&[first, &command, &resolved(4)]), none("open"));
        let call = asks("item/tool/call", r#"{"callId":"c","tool":"query"}"#);
        let ends = r#"{"method":"item/completed","params":{"item":{"id":"c"}}}"#;
        assert_eq!(said(&[first, &call]), open("query"));
        assert_eq!(said(&[first, &call, ends]), none("open"));
        assert_eq!(said(&[first, &call, r#"{"method":"turn/completed","params":{}}"#]), none("ended"));
    }

    #[test]
    fn calls_of_claude_are_without_a_result_until_one_comes() {
        let first = r#"{"type":"system","subtype":"init"}"#;
        let call = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}"#;
        let of_a_subagent = call.replace("null", r#""t0""#).replace("t1", "t9");
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#;
        let open = (vec!["Bash: make".to_owned()], "open".to_owned());
        let none = |turn: &str| (Vec::new(), turn.to_owned());
        assert_eq!(said(&[first, call]), open);
        assert_eq!(said(&[first, call, &of_a_subagent]), open);
        assert_eq!(said(&[first, call, result]), none("open"));
        assert_eq!(said(&[first, call, r#"{"type":"result","subtype":"success"}"#]), none("ended"));
    }

    #[test]
    fn output_that_begins_with_text_has_no_messages() {
        let mut heard = Heard::default();
        heard.output(format!("Reading the log:\n{ASK}\n").as_bytes(), false);
        assert_eq!(claims(&heard), (3, String::new(), Vec::new(), String::new()));
        assert_eq!(said(&["[1]", ASK]), (Vec::new(), String::new()));
        // and what is no message between messages is none
        let first = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(said(&[first, "a warning", ASK]).0.len(), 1);
    }

    #[test]
    fn a_terminal_is_told_that_work_goes_on() {
        let told = |text: &str| {
            let mut heard = Heard::default();
            text.as_bytes().chunks(3).for_each(|piece| heard.output(piece, true));
            let at_work = heard.at_work;
            assert_eq!(claims(&heard).3, if at_work == Some(true) { "open" } else { "" });
            at_work
        };
        assert_eq!(told("\u{1b}]9;4;3\u{7}"), Some(true));
        assert_eq!(told("\u{1b}]9;4;1;50\u{1b}\\ and \u{1b}]0;a title\u{7}"), Some(true));
        assert_eq!(told("\u{1b}]9;4;3\u{7}\u{1b}]9;4;0\u{7}"), Some(false));
        assert_eq!(told("\u{1b}]133;C\u{7}"), Some(true));
        assert_eq!(told("\u{1b}]133;D;0\u{7}"), Some(false));
        let long = format!("\u{1b}]{}9;4;3\u{7}", "x".repeat(1_000_000));
        assert_eq!(
            [long.as_str(), "9;4;3\u{7}", "\u{1b}]9;4;3", "\u{1b}[9;4;3\u{7}", "\u{1b}]9;5;3\u{7}"].map(told),
            [None; 5]
        );
    }

    #[test]
    fn what_an_agent_says_elsewhere_counts_more() {
        let mut heard = Heard::default();
        heard.output(format!("{ASK}\n").as_bytes(), false);
        let mut snapshot = snapshot();
        let known = Agent { pid: 3, name: "goose".into(), turn: "ended".into(), ..Agent::default() };
        snapshot.agents.push(known.clone());
        heard.add_to(&mut snapshot);
        assert_eq!(snapshot.agents, [known]);
        let mut without = Snapshot::default();
        heard.add_to(&mut without);
        assert_eq!(without, Snapshot::default());
    }
}
