//! What a person answers to an ask, on each wire: a request to the server, a line of Claude's control protocol, keys.
//!
//! Invariant: the answer follows from the ask and from what the scenario has the person do, and from nothing else.

use crate::sight::Sight;
use rehang_scenario::{Does, Malformed, turns::Question};
use rehang_wire::claude;
use rehang_wire::opencode::{Answers, PermissionReply, Permit, Prompt, ReplyRoute, Route};
use serde_json::{Value, json};

/// What a person does, in the scenario's word.
pub fn word(does: &Does) -> &'static str {
    match does {
        Does::Answer(_) | Does::Answers(_) => "answer",
        Does::Allow => "allow",
        Does::Always => "always",
        Does::Deny => "deny",
        Does::Skip => "skip",
        Does::Dismiss => "dismiss",
        Does::Stop => "stop",
        Does::Dispose => "dispose",
        Does::Leave(_) => "leave",
        Does::SoftStop => "soft-stop",
        Does::HangUp => "hang-up",
        Does::Malformed(_) => "malformed",
        Does::Type(_) => "type",
        Does::Prompt(_) => "prompt",
        Does::Run(_) => "run",
    }
}

/// The POST that a person sends to opencode's server, its path and its body; `None` if there is nothing to send.
/// `session` is the one that they look at.
pub fn request(does: &Does, session: &str, sight: Option<&Sight>) -> Option<(String, Value)> {
    let (route, body) = match (does, sight) {
        (Does::Stop, _) => (Route::Abort { session, soft: false }, Value::Null),
        (Does::SoftStop, _) => (Route::Abort { session, soft: true }, Value::Null),
        (Does::Dispose, _) => (Route::Dispose, Value::Null),
        (Does::Prompt(text), _) => (Route::Prompt { session, waits: false }, Prompt::new(text).body()),
        (does, Some(sight)) if !sight.extra.is_null() => (Route::Respond(&sight.session), external(does, sight)),
        (does, Some(sight)) if sight.is_question() => match answers(does, &sight.questions) {
            Some(answers) => (Route::Answer(&sight.id), Answers { answers }.body()),
            None => (Route::Reject(&sight.id), Value::Null),
        },
        (does, Some(Sight { id, session, via: ReplyRoute::Session, .. })) => {
            (Route::PermitIn { session, id }, PermissionReply::Session { response: permit(does) }.body())
        }
        (does, Some(Sight { id, via: ReplyRoute::Own, .. })) => {
            (Route::Permit(id), PermissionReply::Own { reply: permit(does), message: None }.body())
        }
        (_, None) => return None,
    };
    match does {
        Does::Malformed(Malformed::Syntax) => Some((route.to_string(), Value::String("{\"answers\":".to_owned()))),
        _ => Some((route.to_string(), body)),
    }
}

/// The line that a person writes to the stdin of Claude Code, without its newline; `None` if there is nothing to say.
pub fn line(does: &Does, sight: Option<&Sight>) -> Option<String> {
    Some(match (does, sight) {
        (Does::Stop, _) => claude::interrupt("interrupt_1").to_string(),
        (Does::Type(text), _) => text.clone(),
        (Does::Prompt(text), _) => claude::user(text).to_string(),
        (Does::Malformed(Malformed::Syntax), _) => "{\"type\":\"control_response\",".to_owned(),
        (Does::Deny | Does::Dismiss, Some(sight)) => claude::deny(&sight.id, "The user said no.").to_string(),
        (Does::Skip | Does::Allow | Does::Always, Some(sight)) => claude::allow(&sight.id, &sight.extra).to_string(),
        (does, Some(sight)) => {
            let mut input = sight.extra.clone();
            let picked = answers(does, &sight.questions).unwrap_or_default();
            let pairs = sight.questions.iter().zip(picked);
            let map = pairs.map(|(q, labels)| (q.question.clone(), Value::String(labels.join(", "))));
            if let Some(input) = input.as_object_mut() {
                input.insert("answers".to_owned(), Value::Object(map.collect()));
            }
            claude::allow(&sight.id, &input).to_string()
        }
        (_, None) => return None,
    })
}

/// What a person types at the agent's terminal; `None` if there is nothing to type.
pub fn keys(does: &Does, sight: Option<&Sight>) -> Option<String> {
    Some(match (does, sight) {
        (Does::Stop, _) => "\x03".to_owned(),
        (Does::Type(text), _) => text.clone(),
        (Does::Prompt(text), _) => format!("{text}\n"),
        (Does::Skip, sight) => "\n".repeat(sight.map_or(1, |sight| sight.questions.len().max(1))),
        (Does::Dismiss, _) => "\x04".to_owned(),
        (Does::Allow, _) => "1\n".to_owned(),
        (Does::Always, _) => "2\n".to_owned(),
        (Does::Deny, _) => "3\n".to_owned(),
        (does, Some(sight)) => {
            let picked = answers(does, &sight.questions).unwrap_or_default();
            let lines = sight.questions.iter().zip(picked).map(|(question, labels)| {
                let number = |label: &String| {
                    let at = question.options.iter().position(|o| o.label == *label);
                    at.map_or(label.clone(), |at| (at + 1).to_string())
                };
                labels.iter().map(number).collect::<Vec<_>>().join(",") + "\n"
            });
            lines.collect()
        }
        (_, None) => return None,
    })
}

/// The answers that a person gives; `None` if they refuse.
fn answers(does: &Does, questions: &[Question]) -> Option<Vec<Vec<String>>> {
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

/// The reply to a part that waits for an external result.
fn external(does: &Does, sight: &Sight) -> Value {
    let mut body = sight.extra.clone();
    match answers(does, &sight.questions) {
        Some(answers) => {
            body["action"] = json!("submit");
            body["answers"] = json!(answers);
        }
        None => body["action"] = json!("dismiss"),
    }
    body
}

fn permit(does: &Does) -> Permit {
    match does {
        Does::Always => Permit::Always,
        Does::Allow | Does::Answer(_) => Permit::Once,
        _ => Permit::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Sight {
        let options = json!([{ "label": "a" }, { "label": "b" }]);
        let questions = json!([{ "question": "Which?", "options": options }]);
        Sight::question(&json!({ "id": "que_1", "sessionID": "ses_1", "questions": questions }))
    }

    #[test]
    fn the_same_answer_on_each_wire() {
        let does = Does::Answer(vec!["b".to_owned()]);
        let (path, body) = request(&does, "ses_1", Some(&ask())).unwrap();
        assert_eq!((path.as_str(), body), ("/question/que_1/reply", json!({ "answers": [["b"]] })));
        assert_eq!(keys(&does, Some(&ask())).as_deref(), Some("2\n"));
        let control = Sight { extra: json!({ "questions": [] }), ..ask() };
        let line: Value = serde_json::from_str(&line(&does, Some(&control)).unwrap()).unwrap();
        assert_eq!(line["response"]["response"]["updatedInput"]["answers"], json!({ "Which?": "b" }));
    }

    #[test]
    fn a_permission_goes_by_the_route_that_the_release_has() {
        let path = |asked: Value| request(&Does::Allow, "ses_1", Some(&Sight::permission(&asked))).unwrap().0;
        let old = json!({ "id": "per_1", "sessionID": "ses_2", "type": "bash" });
        assert_eq!(path(old), "/session/ses_2/permissions/per_1");
        let new = json!({ "id": "per_1", "sessionID": "ses_2", "permission": "bash" });
        assert_eq!(path(new), "/permission/per_1/reply");
    }

    #[test]
    fn without_an_ask_nobody_answers() {
        let does = Does::Answer(vec!["b".to_owned()]);
        assert_eq!((request(&does, "s", None), line(&does, None), keys(&does, None)), (None, None, None));
    }
}
