//! Objects as the releases write them: sessions, messages, parts, in each dialect.
//!
//! Invariant: checked against the goldens of 1.2.15 and 1.18.33; what was not recorded of a dialect is read from
//! upstream.

use super::json::{field, next_field, number, quote, strings};
use super::release::{Dialect, Release};
use super::state::{Body, Message, Model, Part, Role, Session, Tool, ToolState, Usage};
use rehang_scenario::turns::Question;
use std::sync::LazyLock;

/// The folder that the agent reports as its working folder on a stage, where processes have none.
pub const DIRECTORY: &str = "/project";

/// The model of a session that has had no prompt.
static FALLBACK: LazyLock<Model> = LazyLock::new(Model::default);

/// Appends a session's info. `parent` is its parent's id, or empty.
pub fn session(out: &mut String, release: &Release, session: &Session, parent: &str) {
    out.push('{');
    field!(out, "id", &session.id);
    if release.dialect > Dialect::V1_0 {
        next_field!(out, "slug", &session.id);
    }
    next_field!(out, "version", &release.version);
    next_field!(out, "projectID", "global");
    next_field!(out, "directory", &session.directory);
    if !parent.is_empty() {
        next_field!(out, "parentID", parent);
    }
    next_field!(out, "title", &session.title);
    if release.dialect == Dialect::V1_18 {
        next_field!(out, "path", &session.directory);
        if session.parent.is_some() || session.model.is_some() {
            next_field!(out, "agent", session.agent);
        }
        if let Some(model) = &session.model {
            out.push_str(",\"model\":{");
            field!(out, "id", &model.id);
            next_field!(out, "providerID", &model.provider);
            out.push_str(",\"variant\":\"default\"}");
        }
        out.push_str(",\"cost\":0,\"tokens\":");
        let (input, output) = session.tokens;
        tokens(out, Usage { input, output, summed: false });
    }
    if session.summarised {
        out.push_str(",\"summary\":{\"additions\":0,\"deletions\":0,\"files\":0}");
    }
    if !session.denies.is_empty() {
        out.push_str(",\"permission\":[");
        for (at, permission) in session.denies.iter().enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            field!(out, "permission", permission);
            out.push_str(",\"pattern\":\"*\",\"action\":\"deny\"}");
        }
        out.push(']');
    }
    out.push_str(",\"time\":{\"created\":");
    number(out, session.created_ms);
    out.push_str(",\"updated\":");
    number(out, session.updated_ms);
    out.push_str("}}");
}

/// Appends a message's info. A user message shows its summary if one was made.
pub fn info(out: &mut String, release: &Release, session: &Session, message: &Message, summary: bool) {
    let model = session.model.as_ref().unwrap_or(&FALLBACK);
    out.push('{');
    field!(out, "id", &message.id);
    next_field!(out, "sessionID", &session.id);
    match &message.role {
        Role::User => {
            out.push_str(",\"role\":\"user\",\"time\":{\"created\":");
            number(out, message.created_ms);
            out.push('}');
            if summary {
                out.push_str(",\"summary\":{\"diffs\":[]}");
            }
            next_field!(out, "agent", session.agent);
            out.push_str(",\"model\":{");
            field!(out, "providerID", &model.provider);
            next_field!(out, "modelID", &model.id);
            out.push('}');
            if session.parent.is_some() && release.dialect < Dialect::V1_18 {
                out.push_str(",\"tools\":{\"todowrite\":false,\"todoread\":false,\"task\":false}");
            }
        }
        Role::Assistant(reply) => {
            out.push_str(",\"role\":\"assistant\",\"time\":{\"created\":");
            number(out, message.created_ms);
            if let Some(completed) = reply.completed_ms {
                out.push_str(",\"completed\":");
                number(out, completed);
            }
            out.push('}');
            if let Some((name, text)) = &reply.error {
                out.push_str(",\"error\":");
                error(out, name, text);
            }
            next_field!(out, "parentID", &session.messages[reply.to].id);
            next_field!(out, "modelID", &model.id);
            next_field!(out, "providerID", &model.provider);
            next_field!(out, "mode", session.agent);
            next_field!(out, "agent", session.agent);
            out.push_str(",\"path\":{");
            field!(out, "cwd", &session.directory);
            out.push_str(",\"root\":\"/\"},\"cost\":0,\"tokens\":");
            usage(out, reply.usage);
            if let Some(finish) = reply.finish {
                next_field!(out, "finish", finish);
            }
        }
    }
    out.push('}');
}

/// Appends a part of a message.
pub fn part(out: &mut String, session: &str, message: &str, part: &Part) {
    out.push('{');
    field!(out, "id", &part.id);
    next_field!(out, "sessionID", session);
    next_field!(out, "messageID", message);
    match &part.body {
        Body::Prompt(text) => {
            next_field!(out, "type", "text");
            next_field!(out, "text", text);
        }
        Body::Text { text, start_ms, end_ms } => {
            next_field!(out, "type", "text");
            next_field!(out, "text", text);
            times(out, *start_ms, *end_ms);
        }
        Body::StepStart => next_field!(out, "type", "step-start"),
        Body::StepFinish { reason, usage: said } => {
            next_field!(out, "type", "step-finish");
            next_field!(out, "reason", reason);
            out.push_str(",\"cost\":0,\"tokens\":");
            usage(out, *said);
        }
        Body::Tool(it) => tool(out, it),
    }
    out.push('}');
}

/// Appends a message with its parts, as a reply to a POST and as an element of a list.
pub fn whole(out: &mut String, release: &Release, of: &Session, message: &Message) {
    out.push_str("{\"info\":");
    info(out, release, of, message, of.summarised);
    out.push_str(",\"parts\":[");
    for (at, it) in message.parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        part(out, &of.id, &message.id, it);
    }
    out.push_str("]}");
}

/// Appends an error object.
pub fn error(out: &mut String, name: &str, text: &str) {
    out.push('{');
    field!(out, "name", name);
    out.push_str(",\"data\":{");
    field!(out, "message", text);
    out.push_str("}}");
}

/// Appends questions as an array.
pub fn questions(out: &mut String, questions: &[Question]) {
    out.push('[');
    for (at, question) in questions.iter().enumerate() {
        out.push_str(if at > 0 { ",{" } else { "{" });
        field!(out, "question", &question.question);
        next_field!(out, "header", &question.header);
        out.push_str(",\"options\":[");
        for (at, option) in question.options.iter().enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            field!(out, "label", &option.label);
            next_field!(out, "description", &option.description);
            out.push('}');
        }
        out.push_str("],\"multiple\":");
        out.push_str(if question.multiple { "true" } else { "false" });
        if let Some(custom) = question.custom {
            out.push_str(if custom { ",\"custom\":true" } else { ",\"custom\":false" });
        }
        out.push('}');
    }
    out.push(']');
}

/// Appends answers as an array of arrays.
pub fn answers(out: &mut String, answers: &[Vec<String>]) {
    out.push('[');
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        strings(out, answer);
    }
    out.push(']');
}

fn tool(out: &mut String, tool: &Tool) {
    next_field!(out, "type", "tool");
    next_field!(out, "callID", &tool.call);
    next_field!(out, "tool", &tool.name);
    out.push_str(",\"state\":{\"status\":");
    let (status, end_ms) = match &tool.state {
        ToolState::Pending => {
            out.push_str("\"pending\",\"input\":{},\"raw\":\"\"}");
            return;
        }
        ToolState::Running => ("running", None),
        ToolState::Completed { end_ms, .. } => ("completed", Some(*end_ms)),
        ToolState::Error { end_ms, .. } => ("error", Some(*end_ms)),
    };
    quote(out, status);
    out.push_str(",\"input\":");
    out.push_str(&tool.input);
    match &tool.state {
        ToolState::Completed { output, .. } => next_field!(out, "output", output),
        ToolState::Error { error, .. } => next_field!(out, "error", error),
        ToolState::Pending | ToolState::Running => {}
    }
    if !tool.title.is_empty() && !matches!(tool.state, ToolState::Error { .. }) {
        next_field!(out, "title", &tool.title);
    }
    if !tool.metadata.is_empty() || matches!(tool.state, ToolState::Completed { .. }) {
        out.push_str(",\"metadata\":{");
        out.push_str(&tool.metadata);
        out.push('}');
    }
    times(out, tool.start_ms, end_ms);
    out.push('}');
}

fn times(out: &mut String, start_ms: u64, end_ms: Option<u64>) {
    out.push_str(",\"time\":{\"start\":");
    number(out, start_ms);
    if let Some(end) = end_ms {
        out.push_str(",\"end\":");
        number(out, end);
    }
    out.push('}');
}

fn usage(out: &mut String, said: Option<Usage>) {
    let said = said.unwrap_or(Usage { input: 0, output: 0, summed: false });
    tokens(out, said);
}

fn tokens(out: &mut String, usage: Usage) {
    out.push('{');
    if usage.summed {
        out.push_str("\"total\":");
        number(out, usage.input + usage.output);
        out.push(',');
    }
    out.push_str("\"input\":");
    number(out, usage.input);
    out.push_str(",\"output\":");
    number(out, usage.output);
    out.push_str(",\"reasoning\":0,\"cache\":{\"read\":0,\"write\":0}}");
}
