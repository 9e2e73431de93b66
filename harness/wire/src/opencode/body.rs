//! The bodies: what clients send, and the parts of answers and events that are read here.
//!
//! Invariants: what is written has the keys in the order in which the releases' own clients send them; what is read may
//! have any shape.

use super::route::Route;
use rehang_words::{Choice, Question as Asked};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of `POST /session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MakeSession {
    /// The title; a release that gets one does not ask its model for it.
    pub title: String,
}

/// The body of a prompt: one text part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TextPart<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The content of a prompt's body, as a server reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompted {
    /// Its text parts, one a line.
    pub text: String,
    /// The provider's id and the model's; `None` if the server is to choose.
    pub model: Option<(String, String)>,
}

/// The body of `POST /question/:id/reply`: for each question the labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// The labels chosen for each question.
    pub answers: Vec<Vec<String>>,
}

/// The answer to a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Permit {
    /// It is allowed this once.
    Once,
    /// It is allowed, and so is whatever else its patterns match.
    Always,
    /// It is rejected.
    Reject,
}

/// The route by which a permission is answered: the two name the answer differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyRoute {
    /// [`Route::Permit`], from 1.1 on: the key is `reply`.
    Own,
    /// [`Route::PermitIn`]: the key is `response`.
    Session,
}

/// The body that answers a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PermissionReply<'a> {
    /// The body for [`ReplyRoute::Own`].
    Own {
        /// The answer to the permission.
        reply: Permit,
        /// What the model is told in addition.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    /// The body for [`ReplyRoute::Session`].
    Session {
        /// The answer to the permission.
        response: Permit,
    },
}

/// What a session is doing, as the list of statuses and `session.status` say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does nothing; a list does not show such a session.
    Idle,
    /// It is in a turn.
    Busy,
    /// It waits to ask its model again.
    Retry,
    /// A status of a newer release: it is doing something.
    Other,
}

/// An open question: an entry of the list, or what `question.asked` says.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// The question's id.
    pub id: &'a str,
    /// The id of the session that asks.
    pub session: &'a str,
    /// The questions that are asked.
    pub questions: Vec<Asked>,
}

/// An open permission: an entry of the list, or what `permission.asked` or 1.0's `permission.updated` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission<'a> {
    /// The permission's id.
    pub id: &'a str,
    /// The id of the session that asks.
    pub session: &'a str,
    /// What is to be allowed: `bash`, `edit`, …
    pub permission: &'a str,
    /// How it is answered: 1.0, which says `type` for `permission`, has only the session's route.
    pub via: ReplyRoute,
}

impl<'a> Prompt<'a> {
    /// A prompt of this text.
    pub fn new(text: &'a str) -> Prompt<'a> {
        Prompt { parts: [TextPart { r#type: "text", text }] }
    }

    /// The JSON body.
    pub fn body(&self) -> Value {
        to_value(self)
    }
}

impl Prompted {
    /// Reads a body; `None` if it has no list of parts.
    pub fn of(body: &Value) -> Option<Prompted> {
        let parts = body.get("parts")?.as_array()?;
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        let model = body.get("model").and_then(|model| {
            let owned = |key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
            Some((owned("providerID")?, owned("modelID")?))
        });
        Some(Prompted { text: texts.join("\n"), model })
    }
}

impl MakeSession {
    /// The JSON body.
    pub fn body(&self) -> Value {
        to_value(self)
    }
}

impl Answers {
    /// The JSON body.
    pub fn body(&self) -> Value {
        to_value(self)
    }
}

impl Permit {
    /// The answer of this word; `None` if there is no such word.
    pub fn parse(word: &str) -> Option<Permit> {
        match word {
            "once" => Some(Permit::Once),
            "always" => Some(Permit::Always),
            "reject" => Some(Permit::Reject),
            _ => None,
        }
    }

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Permit::Once => "once",
            Permit::Always => "always",
            Permit::Reject => "reject",
        }
    }
}

impl ReplyRoute {
    /// The key of the answer on the wire.
    pub fn key(self) -> &'static str {
        match self {
            ReplyRoute::Own => "reply",
            ReplyRoute::Session => "response",
        }
    }
}

impl PermissionReply<'_> {
    /// The JSON body.
    pub fn body(&self) -> Value {
        to_value(self)
    }
}

impl Status {
    /// The status that `{"type": …}` says; `None` if it has no type.
    pub fn of(status: &Value) -> Option<Status> {
        match text(status, "type") {
            "" => None,
            "idle" => Some(Status::Idle),
            "busy" => Some(Status::Busy),
            "retry" => Some(Status::Retry),
            _ => Some(Status::Other),
        }
    }
}

impl<'a> Question<'a> {
    /// Reads a question.
    pub fn of(request: &'a Value) -> Question<'a> {
        let questions = list(&request["questions"]).iter().map(asked).collect();
        Question { id: text(request, "id"), session: text(request, "sessionID"), questions }
    }
}

impl<'a> Permission<'a> {
    /// Reads a permission: 1.0's has no key `permission`.
    pub fn of(request: &'a Value) -> Permission<'a> {
        let old = request["permission"].is_null();
        Permission {
            id: text(request, "id"),
            session: text(request, "sessionID"),
            permission: text(request, if old { "type" } else { "permission" }),
            via: if old { ReplyRoute::Session } else { ReplyRoute::Own },
        }
    }

    /// The route that answers it.
    pub fn route(&self) -> Route<'a> {
        match self.via {
            ReplyRoute::Own => Route::Permit(self.id),
            ReplyRoute::Session => Route::PermitIn { session: self.session, id: self.id },
        }
    }
}

/// Reads questions; `multiSelect` is Claude Code's word for `multiple`.
pub fn asked(question: &Value) -> Asked {
    let owned = |value: &Value, key: &str| text(value, key).to_owned();
    let choice = |o: &Value| Choice { label: owned(o, "label"), description: owned(o, "description") };
    Asked {
        question: owned(question, "question"),
        header: owned(question, "header"),
        options: list(&question["options"]).iter().map(choice).collect(),
        multiple: question["multiple"] == true || question["multiSelect"] == true,
        custom: question["custom"].as_bool(),
    }
}

/// The answers of a reply's body; `None` if they are not lists of texts.
pub fn answers_of(body: &Value) -> Option<Vec<Vec<String>>> {
    Vec::deserialize(body.get("answers")?).ok()
}

/// The text of a member; empty if it is not a text.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// None of these can fail to be written: they hold only texts and lists.
fn to_value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bodies_are_those_of_the_releases_clients() {
        assert_eq!(Prompt::new("go").body().to_string(), r#"{"parts":[{"type":"text","text":"go"}]}"#);
        let own = PermissionReply::Own { reply: Permit::Reject, message: Some("no") };
        assert_eq!(own.body().to_string(), r#"{"reply":"reject","message":"no"}"#);
        assert_eq!(PermissionReply::Session { response: Permit::Once }.body().to_string(), r#"{"response":"once"}"#);
        let answers = vec![vec!["a".to_owned()], vec![]];
        assert_eq!(answers_of(&Answers { answers: answers.clone() }.body()), Some(answers));
        assert_eq!(answers_of(&json!({ "answers": ["a"] })), None);
    }

    #[test]
    fn a_permission_says_how_it_is_answered() {
        let new = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" });
        assert_eq!(Permission::of(&new).route().to_string(), "/permission/per_1/reply");
        let old = json!({ "id": "per_1", "sessionID": "ses_1", "type": "bash" });
        assert_eq!(Permission::of(&old).route().to_string(), "/session/ses_1/permissions/per_1");
    }

    #[test]
    fn any_shape_is_read_as_far_as_it_goes() {
        for body in [Value::Null, json!([1]), json!({ "id": 3, "questions": 3 }), json!({ "questions": [3, {}] })] {
            assert_eq!((Question::of(&body).id, Permission::of(&body).permission), ("", ""), "{body}");
            assert_eq!(Status::of(&body), None);
        }
        assert_eq!(Status::of(&json!({ "type": "compacting" })), Some(Status::Other));
    }
}
