//! Open asks on Claude Code's control protocol: `can_use_tool` requests that nobody has responded to.
//!
//! Invariant: a request is closed by the first response to it, as seen in what others write to stdin, or by its cancel,
//! its tool's result, or the end of the turn.

use super::{OPEN_MAX, Open, Rule, Ruling};
use crate::lines::{Lines, blocks, text};
use crate::{Act, ProcessAct, ProcessSeen, ProtocolAct, Seen, Settled, Stream, Whom};
use rehang_words::{Canon, VTime};
use rehang_words::{Choice, Question};
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub(super) struct Claude {
    out: Lines,
    others: Lines,
    open: Vec<Request>,
}

#[derive(Debug)]
struct Request {
    open: Open,
    /// The tool call that waits.
    call: String,
    input: Value,
}

impl Claude {
    pub(super) fn on(&mut self, rule: &Rule, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::Output(Stream::Stdout, bytes)) => {
                for message in self.out.take(bytes) {
                    self.message(now, &message);
                }
            }
            Seen::Process(ProcessSeen::Wrote(bytes)) => {
                for message in self.others.take(bytes) {
                    let id = text(&message["response"], "request_id");
                    self.open.retain(|request| request.open.id != id);
                }
            }
            Seen::Process(ProcessSeen::Exited(_)) => self.open.clear(),
            Seen::Tick => self.reply(rule, now, acts),
            _ => {}
        }
    }

    pub(super) fn deadline(&self, rule: &Rule) -> Option<VTime> {
        self.open.iter().filter(|r| !r.open.replied).map(|r| rule.due(&r.open)).min()
    }

    pub(super) fn canon(&self, rule: &Rule, canon: &mut Canon) {
        let Self { out, others, open } = self;
        out.canon(canon);
        others.canon(canon);
        canon.list(open, |canon, Request { open, call, input }| {
            open.canon(canon, rule.after);
            canon.text(call).text(&input.to_string());
        });
    }

    fn message(&mut self, now: VTime, message: &Value) {
        match text(message, "type") {
            "control_request" if text(&message["request"], "subtype") == "can_use_tool" => self.asked(now, message),
            "control_cancel_request" => {
                let id = text(message, "request_id");
                self.open.retain(|request| request.open.id != id);
            }
            "user" => {
                for block in blocks(message) {
                    let call = text(block, "tool_use_id");
                    self.open.retain(|request| call.is_empty() || request.call != call);
                }
            }
            "result" => self.open.clear(),
            _ => {}
        }
    }

    fn asked(&mut self, now: VTime, message: &Value) {
        let request = &message["request"];
        let id = text(message, "request_id").to_owned();
        if id.is_empty() || self.open.len() >= OPEN_MAX || self.open.iter().any(|r| r.open.id == id) {
            return;
        }
        let input = request["input"].clone();
        let questions: Vec<Question> = input["questions"].as_array().into_iter().flatten().map(question).collect();
        let tool = text(request, "tool_name");
        let permission = if questions.is_empty() { tool.to_owned() } else { String::new() };
        let open = Open { id, session: String::new(), questions, permission, since: now, replied: false, old: false };
        self.open.push(Request { open, call: text(request, "tool_use_id").to_owned(), input });
    }

    fn reply(&mut self, rule: &Rule, now: VTime, acts: &mut Vec<Act>) {
        for request in self.open.iter_mut().filter(|r| !r.open.replied && now >= rule.due(&r.open)) {
            request.open.replied = true;
            let ruling = rule.rules(&request.open);
            if ruling == Ruling::Leave {
                continue;
            }
            acts.push(Act::Report(rule.report(&request.open, &ruling)));
            let response = match ruling {
                Ruling::Leave => continue,
                Ruling::Refuse(why) => json!({ "behavior": "deny", "message": why }),
                Ruling::Answer(answers) => {
                    json!({ "behavior": "allow", "updatedInput": with_answers(request, &answers) })
                }
                Ruling::Stop(why) => {
                    acts.push(Act::Process(ProcessAct::Kill { sig: "TERM", whom: Whom::Group }));
                    acts.push(Act::Process(ProcessAct::Settle(Settled::Stopped("asked".to_owned(), why))));
                    continue;
                }
            };
            let response = json!({ "subtype": "success", "request_id": request.open.id, "response": response });
            let line = json!({ "type": "control_response", "response": response });
            acts.push(Act::Protocol(ProtocolAct::Write(format!("{line}\n").into_bytes())));
        }
    }
}

/// The tool's input with the answers in it, as Claude Code's own callers give them.
fn with_answers(request: &Request, answers: &[Vec<String>]) -> Value {
    let questions = request.open.questions.iter().map(|q| q.question.clone());
    let answers: Map<String, Value> =
        questions.zip(answers).map(|(question, labels)| (question, json!(labels.join(", ")))).collect();
    let mut input = request.input.clone();
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".to_owned(), Value::Object(answers));
    }
    input
}

/// A question as the wire has it; `multiSelect` is Claude Code's word, `multiple` opencode's.
pub(super) fn question(value: &Value) -> Question {
    let options = value["options"].as_array().into_iter().flatten();
    Question {
        question: text(value, "question").to_owned(),
        header: text(value, "header").to_owned(),
        options: options
            .map(|o| Choice { label: text(o, "label").to_owned(), description: text(o, "description").to_owned() })
            .collect(),
        multiple: value["multiple"] == true || value["multiSelect"] == true,
        custom: value["custom"].as_bool(),
    }
}
