//! An ask as a person sees it: in an event, in a list, in a control request, on a screen.
//!
//! Invariant: fields that a scenario does not know are skipped; a body of any shape is read as far as it can be.

use rehang_scenario::{Canon, turns::Question};
use rehang_trace::{AskKind, Json};
use rehang_wire::claude::FromAgent;
use rehang_wire::opencode::{self, ReplyRoute, kind};
use serde_json::{Value, json};

/// An ask as a person sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// The ask's id on the wire.
    pub id: String,
    /// Whether it is a question or a permission.
    pub kind: AskKind,
    /// The session that asks; empty if the wire has no sessions.
    pub session: String,
    /// Its questions; none for a permission.
    pub questions: Vec<Question>,
    /// The permission that is asked for; empty for a question, and in a control request.
    pub permission: String,
    /// What a reply must repeat: the input of a control request, or the message and the call of an external result.
    pub extra: Value,
    /// Through which route of opencode's server a permission is answered.
    pub via: ReplyRoute,
}

impl Sight {
    /// An ask that is read on a screen.
    pub fn on_screen(id: &str, kind: AskKind, questions: &[Question]) -> Sight {
        Sight {
            id: id.to_owned(),
            kind,
            session: String::new(),
            questions: questions.to_vec(),
            permission: String::new(),
            extra: Value::Null,
            via: ReplyRoute::Own,
        }
    }

    /// A question of opencode's server.
    pub fn question(request: &Value) -> Sight {
        let opencode::Question { id, session, questions } = opencode::Question::of(request);
        Sight {
            id: id.to_owned(),
            kind: AskKind::Question,
            session: session.to_owned(),
            questions,
            permission: String::new(),
            extra: Value::Null,
            via: ReplyRoute::Own,
        }
    }

    /// A permission of opencode's server. Up to 1.0 it names a `type`, from 1.1 on a `permission`.
    pub fn permission(request: &Value) -> Sight {
        let opencode::Permission { id, session, permission, via } = opencode::Permission::of(request);
        Sight {
            id: id.to_owned(),
            kind: AskKind::Permission,
            session: session.to_owned(),
            questions: Vec::new(),
            permission: permission.to_owned(),
            extra: Value::Null,
            via,
        }
    }

    /// An entry of the list of questions, of permissions, or of PawWork's blockers.
    pub fn listed(entry: &Value) -> Sight {
        if entry.get("questions").is_some() {
            Sight::question(entry)
        } else if entry.get("request").is_some() {
            Sight::question(&entry["request"])
        } else {
            Sight::permission(entry)
        }
    }

    /// A part that waits for an external result (PawWork).
    pub fn external(part: &Value) -> Sight {
        let call = text(&part["callID"]);
        Sight {
            id: call.clone(),
            questions: questions(&part["state"]["input"]["questions"]),
            extra: json!({ "messageID": part["messageID"], "callID": call }),
            ..Sight::question(part)
        }
    }

    /// A request of Claude's control protocol for a tool; `None` if the message is anything else.
    pub fn control(message: &FromAgent) -> Option<Sight> {
        let FromAgent::CanUseTool { id, tool, input, .. } = message else { return None };
        let asked = &input["questions"];
        Some(Sight {
            id: id.clone(),
            kind: if tool == "AskUserQuestion" { AskKind::Question } else { AskKind::Permission },
            session: String::new(),
            questions: serde_json::from_value(asked.clone()).unwrap_or_else(|_| questions(asked)),
            permission: String::new(),
            extra: input.clone(),
            via: ReplyRoute::Own,
        })
    }

    /// Whether it is a question, and no permission.
    pub fn is_question(&self) -> bool {
        self.kind == AskKind::Question
    }

    pub(crate) fn canon(&self, canon: &mut Canon) {
        let Sight {
            id,
            kind,
            session,
            questions: _,  // not compared: an id has one text for good
            permission: _, // not compared: an id has one text for good
            extra: _,      // not compared: an id has one text for good
            via: _,        // not compared: an id has one text for good
        } = self;
        canon.text(id).num(*kind as u64).text(session);
    }
}

/// The ask that an event of opencode's server opens: a question, a permission, a blocker or an external result.
pub fn asked_by(event: &Json) -> Option<Sight> {
    let properties = || &event["properties"];
    match event.kind() {
        kind::QUESTION_ASKED => Some(Sight::question(properties())),
        kind::PERMISSION_ASKED | kind::PERMISSION_UPDATED => Some(Sight::permission(properties())),
        kind::BLOCKER_UPSERTED => Some(Sight::question(&properties()["request"])),
        kind::PART_UPDATED if event.text().contains("externalResultReady") => {
            let part = &properties()["part"];
            let ready = part["state"]["metadata"]["externalResultReady"] == true;
            (ready && part["state"]["status"] == "running").then(|| Sight::external(part))
        }
        _ => None,
    }
}

fn questions(value: &Value) -> Vec<Question> {
    value.as_array().into_iter().flatten().map(opencode::asked).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_of_an_old_release_is_told_by_its_shape() {
        let old = Sight::permission(&json!({ "id": "per_1", "sessionID": "s", "type": "bash", "title": "ls" }));
        assert!((old.via, old.permission.as_str()) == (ReplyRoute::Session, "bash"), "{old:?}");
        let new = Sight::permission(&json!({ "id": "per_1", "sessionID": "s", "permission": "bash" }));
        assert!((new.via, new.permission.as_str()) == (ReplyRoute::Own, "bash"), "{new:?}");
    }

    #[test]
    fn a_body_of_any_shape_is_read_as_far_as_it_goes() {
        for body in [Value::Null, json!([1]), json!({ "questions": 3 }), json!({ "questions": [3, {}] })] {
            assert_eq!(Sight::question(&body).id, "", "{body}");
        }
        let part = json!({ "callID": "c", "sessionID": "s", "state": { "status": "running", "metadata": {} } });
        let event = Json::from(json!({ "type": "message.part.updated", "properties": { "part": part } }));
        assert_eq!(asked_by(&event), None, "a part that waits for nobody");
    }
}
