//! How much of a text, a call and a session is kept.
//!
//! Invariant: what is returned here is at most as long as [`limits`] allows, and no part of a secret is kept.

use super::session::{Session, Step};
use crate::limits;
use crate::note::Calls;

pub(super) fn push(session: &mut Session, step: Step) {
    session.steps.push_back(step);
    while session.steps.len() > limits::STEPS {
        session.steps.pop_front();
        session.before += 1;
    }
}

/// A text cut to what is kept of it, at a word's end, so that no part of a secret is kept.
pub fn kept(text: &str) -> String {
    if text.len() <= limits::TEXT_BYTES {
        return text.to_owned();
    }
    let head = cut(text, limits::TEXT_BYTES);
    let end = head.rfind(char::is_whitespace).unwrap_or(0);
    head[..end].to_owned()
}

pub(super) fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

pub(super) fn bounded(does: Calls) -> Calls {
    match does {
        Calls::Ask(questions) => Calls::Ask(bounded_questions(questions)),
        Calls::Bash { command, timeout_ms } => Calls::Bash { command: kept(&command), timeout_ms },
        Calls::Task { description, child } => {
            Calls::Task { description: kept(&description), child: child.map(|c| kept(&c)) }
        }
        Calls::Tool { name, on } => Calls::Tool { name: kept(&name), on: kept(&on) },
    }
}

pub(super) fn bounded_questions(
    mut questions: Vec<rehang_scenario::turns::Question>,
) -> Vec<rehang_scenario::turns::Question> {
    questions.truncate(limits::LIST);
    for question in &mut questions {
        question.question = kept(&question.question);
        question.header = kept(&question.header);
        question.options.truncate(limits::LIST);
        for option in &mut question.options {
            option.label = kept(&option.label);
            option.description = kept(&option.description);
        }
    }
    questions
}

/// What is known of a call from two notes: a pending call has no input yet.
pub(super) fn merged(old: Calls, new: Calls) -> Calls {
    match (old, new) {
        (Calls::Ask(old), Calls::Ask(new)) if new.is_empty() => Calls::Ask(old),
        (Calls::Bash { command, timeout_ms }, Calls::Bash { command: new, timeout_ms: limit }) => {
            Calls::Bash { command: if new.is_empty() { command } else { new }, timeout_ms: limit.or(timeout_ms) }
        }
        (Calls::Task { description, child }, Calls::Task { description: new, child: id }) => {
            Calls::Task { description: if new.is_empty() { description } else { new }, child: id.or(child) }
        }
        (Calls::Tool { name, on }, Calls::Tool { name: _, on: new }) => {
            Calls::Tool { name, on: if new.is_empty() { on } else { new } }
        }
        (_, new) => new,
    }
}
