//! What is wrong with a request, or with what the script answers to it.
//!
//! Invariant: a conversation is judged as the strictest of the vendors' servers would (each call has one result, and a
//! result its call), whatever its dialect. Nothing here changes what is answered.

use rehang_wire::model::{Message, ModelRequest, Part, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// The body is not a request of this API.
    #[error("malformed request: {0}")]
    Malformed(String),
    /// A tool result without a call.
    #[error("result of `{0}`, which nobody called")]
    OrphanResult(String),
    /// A second result of one call.
    #[error("a second result of `{0}`")]
    SecondResult(String),
    /// The conversation went on without the result of a call.
    #[error("no result of `{0}`, and the conversation goes on")]
    NoResult(String),
    /// The script calls a tool that this request does not offer. The agent still gets the call.
    #[error("the script calls `{0}`, which the request does not offer")]
    NotOffered(String),
    /// The script's call lacks an argument that the tool's schema requires: the agent's file is out of date.
    #[error("the script calls `{tool}` without `{argument}`, which the tool requires")]
    MissingArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The agent's file has no tool for a scripted turn; the model says a text instead.
    #[error("{0}")]
    NoShape(String),
    /// The agent asks for more turns than the script has.
    #[error("the script has no response {0}")]
    BeyondScript(String),
    /// A request of another API than the agent's file says.
    #[error("a request of another api than the agent's file says: {0}")]
    OtherApi(String),
    /// The body is longer than the limit.
    #[error("the request's body is longer than {0} bytes")]
    TooLong(usize),
    /// More requests than the limit; further ones are neither reported nor counted.
    #[error("more than {0} requests")]
    TooMany(u32),
}

/// The end of [`Problem::NotOffered`]'s text: the exchange is whole nevertheless.
pub const NOT_OFFERED: &str = "which the request does not offer";

/// The begin of [`Problem::BeyondScript`]'s text: what the model then says is no part of the scenario.
pub const BEYOND_SCRIPT: &str = "the script has no response";

/// What is wrong with a conversation.
pub(crate) fn conversation(request: &ModelRequest) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !request.messages.iter().any(|m| m.role != "system") {
        problems.push(Problem::Malformed("no messages".to_owned()));
    }
    if let Some(message) = request.messages.iter().find(|m| !ROLES.contains(&m.role.as_str())) {
        problems.push(Problem::Malformed(format!("a message of the role `{}`", message.role)));
    }
    let mut called = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut done = BTreeSet::new();
    for message in &request.messages {
        // Calls of one response may come as messages of their own (OpenAI responses); a text of the assistant or the
        // user after a result begins the next step.
        let next_step = message.parts.iter().any(|part| matches!(part, Part::Text(_))) && !has_results(message);
        if next_step && message.role != "system" && !calls(message) {
            problems.extend(open.drain(..).map(|id| Problem::NoResult(id.to_owned())));
        }
        for part in &message.parts {
            match part {
                Part::Call(ToolCall { id, .. }) => {
                    called.insert(id.as_str());
                    open.push(id);
                }
                Part::Result { id, .. } => {
                    open.retain(|open| open != id);
                    if !called.contains(id.as_str()) {
                        problems.push(Problem::OrphanResult(id.clone()));
                    } else if !done.insert(id.as_str()) {
                        problems.push(Problem::SecondResult(id.clone()));
                    }
                }
                Part::Text(_) => {}
            }
        }
    }
    problems.extend(open.into_iter().map(|id| Problem::NoResult(id.to_owned())));
    problems
}

/// What is wrong with a scripted call, given the tools that the request offers.
pub(crate) fn call(request: &ModelRequest, call: &ToolCall) -> Vec<Problem> {
    let Some(tool) = request.tools.iter().find(|tool| tool.name == call.name) else {
        return vec![Problem::NotOffered(call.name.clone())];
    };
    let required = tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    required
        .filter_map(Value::as_str)
        .filter(|name| call.input.get(name).is_none())
        .map(|name| Problem::MissingArgument { tool: call.name.clone(), argument: name.to_owned() })
        .collect()
}

/// `tool` messages have become the user's here, `developer` ones the system's.
const ROLES: [&str; 3] = ["system", "user", "assistant"];

fn has_results(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Result { .. }))
}

fn calls(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::Call(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_wire::model::Tool;
    use serde_json::json;

    fn called(id: &str) -> Part {
        Part::Call(ToolCall { id: id.to_owned(), name: "bash".to_owned(), input: json!({}) })
    }

    fn result(id: &str) -> Part {
        Part::Result { id: id.to_owned(), text: "ok".to_owned(), is_error: false }
    }

    fn found(messages: &[(&str, Vec<Part>)]) -> Vec<Problem> {
        let message = |(role, parts): &(&str, Vec<Part>)| Message { role: (*role).to_owned(), parts: parts.clone() };
        conversation(&ModelRequest { messages: messages.iter().map(message).collect(), ..ModelRequest::default() })
    }

    fn said(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn a_whole_conversation_is_right_in_each_shape() {
        let user = ("user", vec![said("go")]);
        let one = [
            user.clone(),
            ("assistant", vec![said("so"), called("a"), called("b")]),
            ("user", vec![result("a"), result("b"), said("reminder")]),
        ];
        assert_eq!(found(&one), []);
        let items = [
            user.clone(),
            ("assistant", vec![said("so")]),
            ("assistant", vec![called("a")]),
            ("assistant", vec![called("b")]),
            ("user", vec![result("a")]),
            ("user", vec![result("b")]),
            ("assistant", vec![said("done")]),
            user,
        ];
        assert_eq!(found(&items), []);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let user = ("user", vec![said("go")]);
        assert_eq!(found(&[("system", vec![said("x")])]), [Problem::Malformed("no messages".to_owned())]);
        assert_eq!(
            found(&[user.clone(), ("ghost", vec![])]),
            [Problem::Malformed("a message of the role `ghost`".to_owned())]
        );
        assert_eq!(found(&[user.clone(), ("user", vec![result("a")])]), [Problem::OrphanResult("a".to_owned())]);
        let twice = [user.clone(), ("assistant", vec![called("a")]), ("user", vec![result("a"), result("a")])];
        assert_eq!(found(&twice), [Problem::SecondResult("a".to_owned())]);
        let none = [user.clone(), ("assistant", vec![called("a")]), user.clone()];
        assert_eq!(found(&none), [Problem::NoResult("a".to_owned())]);
        assert_eq!(found(&none[..2]), [Problem::NoResult("a".to_owned())]);
    }

    #[test]
    fn a_call_is_held_to_what_is_offered() {
        let offer = Tool {
            name: "bash".to_owned(),
            parameters: json!({"required": ["command", "description"]}),
            ..Tool::default()
        };
        let request = ModelRequest { tools: vec![offer], ..ModelRequest::default() };
        let scripted =
            |name: &str| ToolCall { id: String::new(), name: name.to_owned(), input: json!({"command": "ls"}) };
        assert_eq!(call(&request, &scripted("question")), [Problem::NotOffered("question".to_owned())]);
        let missing = Problem::MissingArgument { tool: "bash".to_owned(), argument: "description".to_owned() };
        assert_eq!(call(&request, &scripted("bash")), [missing]);
    }
}
