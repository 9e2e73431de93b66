//! Claude Code's stream-json exchanges: the same input gives the same messages.
//!
//! An exchange is played on the simulated kernel: what the host wrote is written at the same place, and the fake must
//! write what was recorded, in order, key for key, once ids, times, costs and usage are normalised. [`LEFT_OUT`],
//! [`VARYING`] and [`ORDERED_BY_MODEL`] are all that is not compared.

use crate::Compared;
use crate::session::{Session, Setup};
use rehang_os::os::Exit;
use rehang_scenario::Wire;
use rehang_scenario::agents::{CODEX, GEMINI};
use serde_json::{Map, Value, json};

/// What the fake leaves out on purpose: a pattern of keys from the message's top (`*` is any one), and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("message.content.*.input.description", DESCRIBED),
    ("request.input.description", DESCRIBED),
    ("request.description", DESCRIBED),
    ("description", DESCRIBED),
    ("message.content.*.input.prompt", "the model server marks in it which subagent's turns are meant"),
    ("summary", DESCRIBED),
    ("permission_denials.*.tool_input.description", DESCRIBED),
];
const DESCRIBED: &str = "a scenario's bash turn has a command and no description of it";

/// Keys whose values are times, costs, usage or pids.
pub const VARYING: &[&str] = &[
    "timestamp",
    "duration_ms",
    "duration_api_ms",
    "retry_delay_ms",
    "ttft_ms",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "total_cost_usd",
    "usage",
    "modelUsage",
    "model_usage_since_last_result",
    "pid",
    "run_id",
];

/// Where the order of keys is the model server's, which the release passes on: patterns as in [`LEFT_OUT`].
pub const ORDERED_BY_MODEL: &[&str] = &["message", "message.content.*.input", "message.content.*.input.questions.*"];

/// One line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Written to the agent's stdin; else it came from its stdout.
    pub sent: bool,
    /// The message; a text if the line is not a message; `<close>` if stdin was closed.
    pub message: Value,
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ends {
    /// With this exit code.
    Exit(u8),
    /// Not at all: it waits for this, and no timer is left.
    Hangs(String),
}

/// Reads a recording: one JSON object a line, `{t, dir, msg}`. Lines of stderr, and its exit, are left out.
///
/// # Errors
/// A line that is not such an object.
pub fn read(text: &str) -> Result<Vec<Line>, serde_json::Error> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line)?;
        if line["dir"] == "IN" || line["dir"] == "OUT" {
            lines.push(Line { sent: line["dir"] == "IN", message: line["msg"].take() });
        }
    }
    Ok(lines)
}

/// The most deadlines of a fake for which time is moved on.
const TICKS_MAX: u32 = 1_000;

/// Plays an exchange and compares. The lines that `opencode run --format json` prints are compared as those of
/// [`crate::opencode`] are.
pub fn compare(setup: Setup, lines: &[Line], ends: &Ends) -> Compared {
    if *setup.agent.kind() == CODEX {
        let said: Vec<Value> = lines.iter().filter(|line| !line.sent).map(|line| line.message.clone()).collect();
        return crate::codex::compare(setup, &said, None, ends);
    }
    let mut compared = Compared::default();
    let is_claude = setup.agent.wires().contains(&Wire::InClaude);
    let is_gemini = *setup.agent.kind() == GEMINI;
    let mut run = Run { session: setup.run(), answered: 0 };
    let mut said = 0;
    for line in lines {
        if !line.sent {
            said += 1;
            continue;
        }
        // The host waited for what it had read by then, and the fake has said it without further input.
        run.wait(said);
        let early = run.session.messages().len();
        if early < said {
            compared.differ("messages before the host's next", said, early);
            return compared;
        }
        if let Err(why) = run.write(&line.message) {
            compared.differ("the host's answer", line.message.clone(), why.to_string());
            return compared;
        }
    }
    // A text that is a line in the recording can come in several pieces.
    run.wait(if is_gemini { usize::MAX } else { lines.iter().filter(|l| !l.sent).count() });
    let recorded: Vec<Value> = lines.iter().filter(|l| !l.sent).map(|l| l.message.clone()).collect();
    let said = run.session.messages();
    match is_claude {
        _ if is_gemini => compared.lists("lines", &crate::gemini::normal(&recorded), &crate::gemini::normal(&said)),
        true => compared.lists("messages", &normal(&recorded), &normal(&said)),
        false => compared.lists("lines", &crate::opencode::normal(&recorded), &crate::opencode::normal(&said)),
    }
    run.ended(ends, &mut compared);
    compared.asked = run.session.asked;
    compared
}

/// The host answers, although there is no request to answer.
#[derive(Debug, thiserror::Error)]
#[error("the fake has asked for nothing yet")]
struct NothingAsked;

struct Run {
    session: Session,
    /// How many of the fake's requests were answered.
    answered: usize,
}

impl Run {
    fn write(&mut self, message: &Value) -> Result<(), NothingAsked> {
        if message == "<close>" {
            self.session.close();
            return Ok(());
        }
        let mut message = message.clone();
        if message["type"] == "control_response" {
            // The fake's requests have ids of its own.
            let mut requests = self.session.messages().into_iter().filter(|m| m["type"] == "control_request");
            let request = requests.nth(self.answered).ok_or(NothingAsked)?;
            message["response"]["request_id"] = request["request_id"].clone();
            self.answered += 1;
        }
        self.session.send(&message);
        Ok(())
    }

    /// Lets time pass until this many messages were said, or no more will be.
    fn wait(&mut self, said: usize) {
        for _ in 0..TICKS_MAX {
            if self.session.messages().len() >= said || !self.session.tick() {
                return;
            }
        }
    }

    /// Compares how both ended: the fake exits if the release did, and hangs if the release did.
    fn ended(&mut self, ends: &Ends, compared: &mut Compared) {
        match ends {
            Ends::Exit(code) => {
                for _ in 0..TICKS_MAX {
                    if self.session.exit.is_some() || !self.session.tick() {
                        break;
                    }
                }
                if self.session.exit != Some(Exit::Code(*code)) {
                    compared.differ("its end", format!("exit {code}"), format!("{:?}", self.session.exit));
                }
            }
            Ends::Hangs(on) => {
                // what its children wait for is theirs
                let waits = self.session.waits();
                if !self.session.waits_for(on) || self.session.tick() {
                    compared.differ("its end", format!("hangs on {on}"), format!("{waits:?}"));
                }
            }
        }
    }
}

/// Each message with its ids numbered by first appearance, what varies replaced, what is left out removed.
fn normal(messages: &[Value]) -> Vec<Value> {
    let mut ids = Vec::new();
    messages.iter().map(|message| normal_value(message, &mut Vec::new(), &mut ids)).collect()
}

fn normal_value(value: &Value, at: &mut Vec<String>, ids: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => {
            let mut all = Map::new();
            let mut map: Vec<_> = map.iter().collect();
            if ORDERED_BY_MODEL.contains(&at.join(".").as_str()) {
                map.sort_by_key(|(key, _)| key.as_str());
            }
            for (key, value) in map {
                at.push(key.clone());
                if !left_out(at) {
                    let varies = VARYING.contains(&key.as_str());
                    all.insert(key.clone(), if varies { json!("~") } else { normal_value(value, at, ids) });
                }
                at.pop();
            }
            Value::Object(all)
        }
        Value::Array(list) => {
            at.push("*".to_owned());
            let list = list.iter().map(|value| normal_value(value, at, ids)).collect();
            at.pop();
            Value::Array(list)
        }
        // Where a release keeps its files depends on the sandbox: the given recordings have one folder for all of them.
        Value::String(text) if is_path(text) => json!("/home/agent/project"),
        Value::String(text) if is_id(text) => {
            let n = ids.iter().position(|id| id == text).unwrap_or_else(|| {
                ids.push(text.clone());
                ids.len() - 1
            });
            Value::from(format!("#{n}"))
        }
        other => other.clone(),
    }
}

fn left_out(at: &[String]) -> bool {
    let at = at.join(".");
    LEFT_OUT.iter().any(|(pattern, _)| *pattern == at)
}

fn is_path(text: &str) -> bool {
    let inside = ["/home/agent", "/tmp/", "/run/"].iter().any(|folder| text.starts_with(folder));
    inside && !text.contains(char::is_whitespace)
}

fn is_id(text: &str) -> bool {
    let uuid = text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    uuid || ["task_", "msg_", "toolu_", "call_", "ses_", "req_"].iter().any(|prefix| text.starts_with(prefix))
}
