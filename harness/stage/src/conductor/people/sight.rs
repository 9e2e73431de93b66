//! An ask as somebody sees it on the wire, and what they give as an answer to it.
//!
//! Invariant: fields that a scenario does not know are passed over; whatever shape a body has, it is read as far as it goes.

use rehang_scenario::{Canon, Does, Malformed, turns::Question};
use rehang_trace::AskKind;
use serde_json::{Value, json};

/// An ask as somebody sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sight {
    pub(super) id: String,
    pub(super) kind: AskKind,
    pub(super) session: String,
    pub(super) questions: Vec<Question>,
    /// What an external result needs, and what a control request held.
    pub(super) extra: Value,
}

impl Sight {
    pub(super) fn canon(&self, canon: &mut Canon) {
        let Sight {
            id,
            kind,
            session,
            questions: _, // not compared: an id has one text for good
            extra: _,     // not compared: an id has one text for good
        } = self;
        canon.text(id).num(*kind as u64).text(session);
    }
}

pub(super) fn question_in(request: &Value) -> Sight {
    Sight {
        id: request["id"].as_str().unwrap_or_default().to_owned(),
        kind: AskKind::Question,
        session: request["sessionID"].as_str().unwrap_or_default().to_owned(),
        questions: questions_of(&request["questions"]),
        extra: Value::Null,
    }
}

pub(super) fn permission_in(request: &Value) -> Sight {
    Sight { kind: AskKind::Permission, questions: Vec::new(), ..question_in(request) }
}

pub(super) fn external_in(part: &Value) -> Sight {
    let call = part["callID"].as_str().unwrap_or_default();
    Sight {
        id: call.to_owned(),
        kind: AskKind::Question,
        session: part["sessionID"].as_str().unwrap_or_default().to_owned(),
        questions: questions_of(&part["state"]["input"]["questions"]),
        extra: json!({ "messageID": part["messageID"], "callID": call }),
    }
}

pub(super) fn external_reply(does: &Does, sight: &Sight) -> Option<Value> {
    let mut body = sight.extra.clone();
    match answers(does, &sight.questions) {
        Some(answers) => {
            body["action"] = json!("submit");
            body["answers"] = json!(answers);
        }
        None => body["action"] = json!("dismiss"),
    }
    Some(body)
}

/// Questions as they stand on the wire: fields that a scenario does not know are passed over.
pub(super) fn questions_of(value: &Value) -> Vec<Question> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    let options = |v: &Value| {
        let all = v.as_array().map_or(&[][..], Vec::as_slice);
        let choice = |o: &Value| rehang_scenario::turns::Choice {
            label: text(&o["label"]),
            description: text(&o["description"]),
        };
        all.iter().map(choice).collect()
    };
    let question = |q: &Value| Question {
        question: text(&q["question"]),
        header: text(&q["header"]),
        options: options(&q["options"]),
        multiple: q["multiple"] == true || q["multiSelect"] == true,
        custom: q["custom"].as_bool(),
    };
    all.iter().map(question).collect()
}

/// The answers that somebody gives; none where they refuse.
pub(super) fn answers(does: &Does, questions: &[Question]) -> Option<Vec<Vec<String>>> {
    let first = |q: &Question| q.options.first().map(|o| o.label.clone()).unwrap_or_default();
    Some(match does {
        Does::Answer(labels) => labels.iter().map(|l| vec![l.clone()]).collect(),
        Does::Answers(all) => all.clone(),
        Does::Skip => questions.iter().map(|_| Vec::new()).collect(),
        Does::Malformed(Malformed::Count | Malformed::Syntax) => {
            questions.iter().skip(1).map(|q| vec![first(q)]).collect()
        }
        Does::Malformed(Malformed::Multi) => {
            questions.iter().map(|q| q.options.iter().take(2).map(|o| o.label.clone()).collect()).collect()
        }
        Does::Malformed(Malformed::Label) => questions.iter().map(|_| vec!["none of these".to_owned()]).collect(),
        Does::Allow | Does::Always => questions.iter().map(|q| vec![first(q)]).collect(),
        _ => return None,
    })
}
