//! What the companion reads out of `GET /session/:id/message?limit=1`: the last message, and nothing else.
//!
//! Invariant: a body of any shape gives an answer; what is missing reads as in the companion's JavaScript (absent,
//! zero, empty). Times on the wire are the server's clock in ms; here that is virtual time, unchanged.

use crate::canon::option;
use rehang_words::{Canon, Span, VTime};
use serde_json::Value;

/// The last message of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last<'a>(&'a Value);

/// What a poll compares with the previous poll (seed 2.1, step 2).
///
/// Defect i: of a tool's output only `state.output` counts, but a running bash writes to `state.metadata.output`; nor
/// does the length of a text that grows count. So a busy session looks unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    id: String,
    created: Option<u64>,
    completed: Option<u64>,
    parts: usize,
    status: String,
    output_len: usize,
}

impl<'a> Last<'a> {
    /// The last message of a list; `None` if the list is empty.
    pub(crate) fn of(body: &'a Value) -> Option<Last<'a>> {
        body.as_array().and_then(|list| list.last()).map(Last)
    }

    /// The message that a prompt's POST returned.
    pub(crate) fn reply(body: &'a Value) -> Last<'a> {
        Last(body)
    }

    fn info(self) -> &'a Value {
        &self.0["info"]
    }

    fn parts(self) -> &'a [Value] {
        self.0["parts"].as_array().map_or(&[], Vec::as_slice)
    }

    fn last_tool(self) -> Option<&'a Value> {
        self.parts().iter().rev().find(|part| part["type"] == "tool")
    }

    fn time(self, name: &str) -> Option<u64> {
        self.info()["time"][name].as_u64()
    }

    /// When it was made or, if that is later, completed.
    pub(crate) fn touched(self) -> Option<VTime> {
        self.time("created").max(self.time("completed")).map(VTime)
    }

    /// When it was made, if it says so.
    pub(crate) fn created(self) -> Option<VTime> {
        self.time("created").map(VTime)
    }

    /// Its finish reason, if that is a string.
    pub(crate) fn finish(self) -> Option<&'a str> {
        self.info()["finish"].as_str()
    }

    /// The text of all its parts.
    pub(crate) fn text(self) -> String {
        self.parts().iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect()
    }

    /// The error that it ended with: its message, or its name.
    pub(crate) fn error(self) -> Option<&'a str> {
        let error = &self.info()["error"];
        error["data"]["message"].as_str().or_else(|| error["name"].as_str())
    }

    /// What a poll compares with the previous poll.
    pub(crate) fn signature(self) -> Signature {
        let state = self.last_tool().map_or(&Value::Null, |tool| &tool["state"]);
        Signature {
            id: self.info()["id"].as_str().unwrap_or_default().to_owned(),
            created: self.time("created"),
            completed: self.time("completed"),
            parts: self.parts().len(),
            status: state["status"].as_str().unwrap_or_default().to_owned(),
            output_len: state["output"].as_str().map_or(0, str::len),
        }
    }

    /// Whether it counts as the end of what was prompted at `start`. With `lenient` a completion without a
    /// finish reason does too (PR 5, unless OPENCODE_STRICT_TERMINAL=1).
    ///
    /// Defect a: any finish reason will do, `tool-calls` too, after which the session's loop goes on.
    pub(crate) fn is_terminal(self, start: VTime, lenient: bool) -> bool {
        self.info()["role"] == "assistant"
            && self.time("completed").is_some_and(|completed| completed >= start.0)
            && (lenient || self.finish().is_some())
    }

    /// Whether its last tool is a bash that runs.
    pub(crate) fn bash_runs(self) -> bool {
        self.last_tool().is_some_and(|tool| tool["tool"] == "bash" && tool["state"]["status"] == "running")
    }

    /// Whether it is an assistant's message in which nothing has begun: no part and no input token.
    pub(crate) fn is_empty(self) -> bool {
        let tokens = self.info()["tokens"]["input"].as_u64().unwrap_or(0);
        self.info()["role"] == "assistant" && self.parts().is_empty() && tokens == 0
    }
}

impl Signature {
    /// Its times as their distance from now, without a limit: the next poll's times are compared with them.
    pub(crate) fn canon(&self, canon: &mut Canon) {
        let Self { id, created, completed, parts, status, output_len } = self;
        canon.text(id).num(*parts as u64).text(status).num(*output_len as u64);
        for time in [created, completed] {
            option(canon, time.map(VTime), |canon, at| {
                canon.deadline(Some(at)).age(at, Span(u64::MAX));
            });
        }
    }
}

#[cfg(test)]
pub(crate) mod shapes {
    //! Bodies as opencode 1.2.15 sends them, cut down to what is read.

    use serde_json::{Value, json};

    /// A bash that runs; its output so far is in the metadata, where opencode puts it.
    pub(crate) fn bash_running(so_far: &str) -> Value {
        json!([{
            "info": {"id": "msg_2", "role": "assistant", "time": {"created": 1_000}, "tokens": {"input": 10}},
            "parts": [
                {"type": "step-start"},
                {"type": "tool", "tool": "bash", "callID": "call_1",
                 "state": {"status": "running", "input": {}, "metadata": {"output": so_far}, "time": {"start": 1_000}}},
            ],
        }])
    }

    /// A step that is over.
    pub(crate) fn finished(completed: u64, finish: Option<&str>, text: &str) -> Value {
        let mut body = json!([{
            "info": {"id": "msg_2", "role": "assistant", "time": {"created": 1_000, "completed": completed}},
            "parts": [{"type": "text", "text": text}],
        }]);
        if let Some(finish) = finish {
            body[0]["info"]["finish"] = json!(finish);
        }
        body
    }

    /// An assistant's message in which nothing has begun.
    pub(crate) fn empty(created: u64) -> Value {
        json!([{
            "info": {"id": "msg_2", "role": "assistant", "time": {"created": created}, "tokens": {"input": 0}},
            "parts": [],
        }])
    }

    /// What a prompt's POST returns.
    pub(crate) fn reply(text: &str) -> Value {
        finished(2_000, Some("stop"), text)[0].clone()
    }
}
