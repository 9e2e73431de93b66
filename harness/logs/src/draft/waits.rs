//! The steps with which a program waits for what a log says that it waits for: a tool server, a log-in, a lock, a server on
//! the network.
//!
//! Invariant: the two arms differ in one span alone, after which the control goes on.

use super::made;
use crate::guess::{Guess, Hang};
use crate::note::Kind;
use crate::story::Story;
use rehang_scenario::turns::Step;
use serde_json::{Value, json};

/// After what span a control arm goes on without what it waits for, and a log-in is given up. A choice: as in the
/// scenarios of these mechanisms.
const GIVES_UP: &str = "30s";
const LOGS_IN: &str = "2m";

/// The steps of the two arms with which it waits; `None` if the format has none for this mechanism.
pub(super) fn steps(story: &Story, guess: &Guess) -> Option<(Vec<Step>, Vec<Step>)> {
    let arms = |of: &dyn Fn(Option<&str>) -> Value, span: &str| -> Option<(Vec<Step>, Vec<Step>)> {
        Some((made(of(None))?, made(of(Some(span)))?))
    };
    let within = |name: &str, span: Option<&str>, with: Value| {
        let mut step = with;
        if let Some(span) = span {
            step["within"] = json!(span);
        }
        json!({ name: step })
    };
    let own = guess.hang == Hang::Program;
    let model = matches!(guess.hang, Hang::Model { .. }) && story.agent.kind == Kind::Other;
    let command_waits_for_lock = matches!(guess.hang, Hang::Bash { waits: crate::commands::Waits::Lock, .. });
    match guess.mechanism {
        "X1" if own => arms(
            &|span| {
                json!([
                    {"start": {"name": "tool-server", "does": ["hold"]}},
                    within("receive", span, json!({"from": "tool-server"})),
                    {"end": "tool-server"},
                    {"print": "done"},
                ])
            },
            GIVES_UP,
        ),
        "X4" if own => arms(&|span| json!([within("listen", span, json!({})), {"print": "done"}]), LOGS_IN),
        "R1" if own => {
            arms(&|span| json!([within("lock", span, json!({"database": true})), {"print": "done"}]), GIVES_UP)
        }
        "R2" if own || command_waits_for_lock => arms(
            &|span| {
                let mut steps = holder();
                steps.extend([within("take-lock", span, json!({})), json!({"end": HOLDER}), json!({"print": "done"})]);
                Value::Array(steps)
            },
            GIVES_UP,
        ),
        "X6" | "M1" if own || model => {
            arms(&|span| json!([within("fetch", span, json!({})), {"print": "done"}]), GIVES_UP)
        }
        _ => None,
    }
}

const HOLDER: &str = "holder";

/// A process that takes the lock and keeps it: its line says that it has it.
fn holder() -> Vec<Value> {
    vec![
        json!({"start": {"name": HOLDER, "does": [{"take-lock": {}}, {"print": "has the lock"}, "hold"]}}),
        json!({"receive": {"from": HOLDER}}),
    ]
}

/// The steps of a command that waits for a lock for ever.
pub(super) fn waits_for_lock() -> Vec<Step> {
    let mut steps = holder();
    steps.push(json!({"take-lock": {}}));
    made(Value::Array(steps)).unwrap_or_else(|| vec![Step::Hold])
}
