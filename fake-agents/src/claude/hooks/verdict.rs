//! What a hook's end means: whether it blocks, stops, or decides a permission.
//!
//! Invariant: an exit code other than 0 and 2, an output that is no JSON, and a hook that was given up decide nothing.

use super::settings::{Command, What};
use serde_json::Value;

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookEnd {
    /// Its exit code.
    pub code: u8,
    /// What it printed.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// Its limit has passed, or it was given up with the turn.
    pub cancelled: bool,
}

/// What a hook decides of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::claude) enum Permission {
    /// It runs without a question.
    Allow,
    /// It does not run.
    Deny,
    /// A person is asked.
    Ask,
}

/// What one hook, or all hooks of an event, decide.
#[derive(Debug, Clone, PartialEq, Hash, Default)]
pub(in crate::claude) struct Verdict {
    /// Why what was about to happen does not happen.
    pub blocks: Option<Reason>,
    /// Whether the turn ends after it.
    pub stops: bool,
    /// The decision about a tool, and why.
    pub permission: Option<(Permission, String)>,
    /// Whether it adds a text to the conversation.
    pub adds: bool,
}

/// Why something is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::claude) struct Reason {
    /// The text, as the hook gave it.
    pub text: String,
    /// The command, if its exit code says it and not its output.
    pub command: Option<String>,
}

impl Reason {
    /// The text after the command that gave it.
    pub fn with_command(&self) -> String {
        match &self.command {
            Some(command) => format!("[{command}]: {}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Verdict {
    /// What the end of a command means; `is_context`: what it prints is for the model.
    pub fn of_command(command: &Command, end: &HookEnd, is_context: bool) -> Verdict {
        match end {
            HookEnd { cancelled: true, .. } => Verdict::default(),
            HookEnd { code: 2, stderr, .. } => {
                let reason = Reason { text: stderr.clone(), command: Some(command.line.clone()) };
                Verdict { blocks: Some(reason), ..Verdict::default() }
            }
            HookEnd { code: 0, stdout, .. } => match serde_json::from_str::<Value>(stdout.trim()) {
                Ok(said) if said.is_object() => Verdict::of_output(&said),
                _ => Verdict { adds: is_context && !stdout.trim().is_empty(), ..Verdict::default() },
            },
            _ => Verdict::default(),
        }
    }

    /// What a JSON output means.
    pub fn of_output(said: &Value) -> Verdict {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let own = &said["hookSpecificOutput"];
        let mut verdict = Verdict {
            stops: said["continue"] == false,
            adds: own["additionalContext"].is_string(),
            ..Verdict::default()
        };
        match said["decision"].as_str() {
            Some("block") => verdict.blocks = Some(Reason { text: text(&said["reason"]), command: None }),
            Some("approve") => verdict.permission = Some((Permission::Allow, text(&said["reason"]))),
            _ => {}
        }
        match own["decision"]["behavior"].as_str() {
            Some("allow") => verdict.permission = Some((Permission::Allow, String::new())),
            Some("deny") => verdict.permission = Some((Permission::Deny, text(&own["decision"]["message"]))),
            _ => {}
        }
        let permission = match own["permissionDecision"].as_str() {
            Some("allow") => Some(Permission::Allow),
            Some("deny") => Some(Permission::Deny),
            Some("ask") => Some(Permission::Ask),
            _ => None,
        };
        if let Some(permission) = permission {
            verdict.permission = Some((permission, text(&own["permissionDecisionReason"])));
        }
        verdict
    }

    /// Adds another hook's verdict: the strictest counts.
    pub fn and(&mut self, other: Verdict) {
        let strictness = |permission: &Option<(Permission, String)>| match permission {
            None => 0,
            Some((Permission::Allow, _)) => 1,
            Some((Permission::Ask, _)) => 2,
            Some((Permission::Deny, _)) => 3,
        };
        let Verdict { blocks, stops, permission, adds } = other;
        self.blocks = self.blocks.take().or(blocks);
        self.stops |= stops;
        self.adds |= adds;
        if strictness(&permission) > strictness(&self.permission) {
            self.permission = permission;
        }
    }

    /// What the end of a hook means.
    pub fn of(what: &What, end: &HookEnd, is_context: bool) -> Verdict {
        match what {
            What::Command(command) => Verdict::of_command(command, end, is_context),
            What::Callback(_) if end.cancelled => Verdict::default(),
            What::Callback(_) => Verdict::of_output(&serde_json::from_str(&end.stdout).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u8, stdout: &str) -> Verdict {
        let command = Command { line: "check".to_owned(), steps: Vec::new(), shown: String::new() };
        let end = HookEnd { code, stdout: stdout.to_owned(), stderr: "no\n".to_owned(), cancelled: false };
        Verdict::of_command(&command, &end, true)
    }

    #[test]
    fn exit_codes_and_outputs_decide() {
        assert_eq!(of(2, "").blocks.map(|reason| reason.with_command()).as_deref(), Some("[check]: no\n"));
        assert_eq!(of(1, r#"{"decision":"block"}"#), Verdict::default());
        assert!(of(0, "some text").adds && !of(0, "").adds && !of(0, "{}").adds);
        assert!(of(0, r#"{"continue":false}"#).stops);
        let mut both = of(0, r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}"#);
        both.and(of(0, r#"{"decision":"approve"}"#));
        assert_eq!(both.permission, Some((Permission::Deny, "r".to_owned())));
    }
}
