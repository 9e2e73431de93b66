//! What people of a scenario see of an ask, and what they say to it, on every wire of a real release.
//!
//! Invariant: nobody answers what they cannot see.

use crate::report::Ask;
use rehang_scenario::{Does, Malformed};
use serde_json::{Value, json};

/// An ask as somebody sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// Its id on the wire.
    pub id: String,
    /// Whether it is a question; else a permission.
    pub is_question: bool,
    /// The session that asks.
    pub session: String,
    /// The questions, each with the labels of its options.
    pub questions: Vec<(String, Vec<String>)>,
    /// What the tool was called with, where the wire shows it.
    pub input: Value,
    /// A permission of opencode up to 1.0, which takes its reply on a route of the session.
    pub legacy: bool,
}

impl Sight {
    /// A question or a permission of opencode's server.
    pub fn of_server(properties: &Value, is_question: bool) -> Sight {
        Sight {
            id: text(&properties["id"]),
            is_question,
            session: text(&properties["sessionID"]),
            questions: questions(&properties["questions"]),
            input: Value::Null,
            legacy: !is_question && properties["permission"].is_null(),
        }
    }

    /// A request of Claude's control protocol; none where it is another.
    pub fn of_control(message: &Value) -> Option<Sight> {
        let request = &message["request"];
        if message["type"] != "control_request" || request["subtype"] != "can_use_tool" {
            return None;
        }
        Some(Sight {
            id: text(&message["request_id"]),
            is_question: request["tool_name"] == "AskUserQuestion",
            session: String::new(),
            questions: questions(&request["input"]["questions"]),
            input: request["input"].clone(),
            legacy: false,
        })
    }

    /// For the report.
    pub fn ask(&self, known_by: &str, about: &str) -> Ask {
        let asked: Vec<&str> = self.questions.iter().map(|(question, _)| question.as_str()).collect();
        Ask {
            kind: if self.is_question { "question" } else { "permission" }.to_owned(),
            id: self.id.clone(),
            about: if asked.is_empty() { about.to_owned() } else { asked.join(" ") },
            known_by: known_by.to_owned(),
        }
    }

    /// The answers that somebody gives; none where they refuse.
    pub fn answers(&self, does: &Does) -> Option<Vec<Vec<String>>> {
        let first = |labels: &[String]| labels.first().cloned().unwrap_or_default();
        Some(match does {
            Does::Answer(labels) => labels.iter().map(|label| vec![label.clone()]).collect(),
            Does::Answers(all) => all.clone(),
            Does::Skip => self.questions.iter().map(|_| Vec::new()).collect(),
            Does::Malformed(Malformed::Count | Malformed::Syntax) => {
                self.questions.iter().skip(1).map(|(_, labels)| vec![first(labels)]).collect()
            }
            Does::Malformed(Malformed::Multi) => {
                self.questions.iter().map(|(_, labels)| labels.iter().take(2).cloned().collect()).collect()
            }
            Does::Malformed(Malformed::Label) => {
                self.questions.iter().map(|_| vec!["none of these".to_owned()]).collect()
            }
            Does::Allow | Does::Always => self.questions.iter().map(|(_, labels)| vec![first(labels)]).collect(),
            _ => return None,
        })
    }

    /// The line of Claude's control protocol by which somebody answers.
    pub fn control_response(&self, does: &Does) -> String {
        if matches!(does, Does::Malformed(Malformed::Syntax)) {
            return "{\"type\":\"control_response\",".to_owned();
        }
        let response = match does {
            Does::Deny | Does::Dismiss => json!({ "behavior": "deny", "message": "The user said no." }),
            Does::Allow | Does::Always | Does::Skip => json!({ "behavior": "allow", "updatedInput": self.input }),
            does => {
                let mut input = self.input.clone();
                let picked = self.answers(does).unwrap_or_default();
                let pairs = self.questions.iter().zip(picked);
                let answers = pairs.map(|((question, _), labels)| (question.clone(), Value::from(labels.join(", "))));
                if let Some(input) = input.as_object_mut() {
                    input.insert("answers".to_owned(), Value::Object(answers.collect()));
                }
                json!({ "behavior": "allow", "updatedInput": input })
            }
        };
        let response = json!({ "subtype": "success", "request_id": self.id, "response": response });
        json!({ "type": "control_response", "response": response }).to_string()
    }
}

/// A user's message as stream-json has it.
pub fn user_message(prompt: &str) -> String {
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": prompt }] });
    json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "" }).to_string()
}

/// An interrupt as the control protocol has it.
pub fn interrupt() -> String {
    let request = json!({ "subtype": "interrupt" });
    json!({ "type": "control_request", "request_id": "interrupt_1", "request": request }).to_string()
}

/// Whether somebody acts by the clock, or on an ask that they see.
pub fn acts_by_clock(does: &Does) -> bool {
    matches!(does, Does::Stop | Does::SoftStop | Does::HangUp | Does::Prompt(_) | Does::Run(_) | Does::Type(_))
}

/// What somebody does, in the scenario's word.
pub fn word(does: &Does) -> &'static str {
    match does {
        Does::Answer(_) | Does::Answers(_) => "answer",
        Does::Allow => "allow",
        Does::Always => "always",
        Does::Deny => "deny",
        Does::Skip => "skip",
        Does::Dismiss => "dismiss",
        Does::Stop => "stop",
        Does::SoftStop => "soft-stop",
        Does::Dispose => "dispose",
        Does::Leave(_) => "leave",
        Does::HangUp => "hang-up",
        Does::Malformed(_) => "malformed",
        Does::Type(_) => "type",
        Does::Prompt(_) => "prompt",
        Does::Run(_) => "run",
    }
}

fn questions(value: &Value) -> Vec<(String, Vec<String>)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let labels = |question: &Value| list(&question["options"]).iter().map(|option| text(&option["label"])).collect();
    list(value).iter().map(|question| (text(&question["question"]), labels(question))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
