//! The editor of `mode = "acp"` (opencode), `mode = "app-server"` (Codex) and `mode = "sdk"` (Claude Code): a client of the
//! Agent Client Protocol, of Codex' own, or of Claude Code's control protocol, step by step.
//!
//! Invariant: an editor does what its steps say and nothing else. A request of the agent's that no step answers stays open.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The protocol between an editor and its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The Agent Client Protocol: `session/prompt` is answered once the turn is over.
    Acp,
    /// Codex' own: `turn/start` is answered at once, and `turn/completed` says that the turn is over.
    AppServer,
    /// Claude Code's control protocol, which the Claude Agent SDK speaks: a message of the user's begins a turn, and `result`
    /// is its end.
    Sdk,
}

/// One step of an editor. Its words are those of the Agent Client Protocol; what they are in the others' follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditorStep {
    /// Claude Code alone, before `initialize`: the client has a hook of this event, which it is called back for.
    Hook(HookEvent),
    /// Sends `initialize`, and waits for its reply.
    Initialize,
    /// Sends `session/new` (`thread/start`), and waits for its reply. To Claude Code nothing is sent: it has one session.
    NewSession,
    /// Sends `session/prompt` (`turn/start`, a message of the user's) for the session, and goes on.
    Prompt,
    /// Sends a request of this method for the session, and goes on. To Claude Code, a second word is its mode:
    /// `set_permission_mode plan`.
    Request(String),
    /// Waits for this.
    Until(Until),
    /// Waits for a permission that it has not answered, and answers it. If the turn is over first, there is none. In Codex'
    /// protocol, every request of the agent's is one: for a command, a file, an answer of the user, a tool of the client's. So
    /// it is in Claude Code's: for a tool, a hook, a message to the client's tool server.
    Answer(EditorAnswer),
    /// The same, but waits for two, and answers the second.
    AnswerSecond(EditorAnswer),
    /// Sends `session/cancel`: the person at the editor stops the turn. In Codex' protocol, waits for the id of the turn,
    /// and sends the request `turn/interrupt`; in Claude Code's, sends the request `interrupt`.
    Cancel,
    /// Does nothing for this time.
    Pause(Span),
    /// Reads nothing from now on.
    StopReading,
    /// Reads again.
    Read,
    /// Closes the agent's stdin.
    Close,
}

/// What a client's hook is called back for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// A prompt, before its turn begins.
    UserPromptSubmit,
    /// A tool call, before it is decided whether it may run.
    PreToolUse,
    /// A tool call that has run.
    PostToolUse,
    /// The end of a turn.
    Stop,
}

/// What an editor waits for. It waits no longer than until all of its requests have their replies, and all turns are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The replies to all of its requests, and the ends of all turns.
    Reply,
    /// A text or a tool call of the turn.
    Update,
    /// A tool call of the turn that runs.
    Tool,
    /// A permission that it has not answered.
    Permission,
}

/// What an editor answers to `session/request_permission`, or to a request of Codex' or Claude Code's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EditorAnswer {
    /// The person there allows it once.
    Allow,
    /// The person there allows it for ever.
    Always,
    /// The person there refuses it.
    Reject,
    /// The person there dismisses it: the outcome is `cancelled` (Codex: the decision is `cancel`; Claude Code: it is denied,
    /// and the turn is to end).
    Cancelled,
    /// The person there allows it once, and the editor sends that twice.
    Twice,
    /// The editor selects an option that was not offered.
    NotOffered,
    /// The editor sends an error.
    Error,
    /// The editor sends an empty result.
    WrongShape,
}

/// The editor of a scenario that names none: it prompts once, and closes stdin after the reply.
pub fn default_editor() -> Vec<EditorStep> {
    use EditorStep::{Close, Initialize, NewSession, Prompt};
    vec![Initialize, NewSession, Prompt, EditorStep::Until(Until::Reply), Close]
}

#[cfg(test)]
mod tests {
    use crate::playable::impossible;
    use crate::{load, to_toml};

    fn refused(agent: &str, more: &str) -> Vec<String> {
        let rest = "turns = [{ say = \"x\" }]\n[[expect]]\noutcome = \"completed\"\n";
        let text = format!("title = \"t\"\nmechanism = \"P3\"\nagent = {{ {agent} }}\n{more}\n{rest}");
        let family = load("x.toml", text.as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
        let scenario = &family.variants[0].scenario;
        let again = load("x.toml", to_toml(scenario, None).as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.variants[0].scenario.editor, scenario.editor);
        impossible(scenario).into_iter().map(|thing| thing.path).collect()
    }

    #[test]
    fn an_editor_has_pipes_and_nobody_beside_it() {
        let acp = "opencode = { mode = \"acp\" }";
        let none: [&str; 0] = [];
        assert_eq!(refused(acp, "terminals = [\"pipe\"]\neditor = [{ until = \"tool\" }, { pause = \"3s\" }]"), none);
        assert_eq!(refused(acp, ""), ["terminals"]);
        let person = "people = [{ via = \"stdin\", does = \"allow\" }]";
        assert_eq!(refused(acp, &format!("terminals = [\"pipe\"]\n{person}")), ["people"]);
        assert_eq!(refused("opencode = {}", "editor = []"), ["editor"]);
        let codex = |version: &str| format!("codex = {{ as = \"{version}\", mode = \"app-server\" }}");
        assert_eq!(
            refused(&codex("0.116.0"), "terminals = [\"pipe\"]\neditor = [{ answer-second = \"allow\" }]"),
            none
        );
        assert_eq!(refused(&codex("0.58.0"), "terminals = [\"pipe\"]"), ["agent.codex.as"]);
        let unprompted = "codex = { mode = \"app-server\", prompt = false }";
        assert_eq!(refused(unprompted, "terminals = [\"pipe\"]"), ["agent.codex.prompt"]);
        let sdk = "claude = { mode = \"sdk\" }";
        let own = "terminals = [\"pipe\"]\neditor = [{ hook = \"stop\" }, \"initialize\"]";
        assert_eq!(refused(sdk, own), none);
        assert_eq!(refused(acp, own), ["editor.0"]);
        assert_eq!(refused("claude = { as = \"1.0.128\", mode = \"sdk\" }", own), ["agent.claude.as"]);
        assert_eq!(refused("altimate = { mode = \"acp\" }", "terminals = [\"pipe\"]"), ["agent.altimate.mode"]);
    }
}
