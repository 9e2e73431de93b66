//! A scenario, typed: one TOML file after `[[vary]]` and `[control]` are applied and defaults filled in.
//!
//! Invariant: every enum is externally tagged and no struct is flattened, so that an error keeps its place
//! in the file; what can be a list is always a list.

use crate::editor::{EditorStep, default_editor};
use crate::expect::Expect;
use crate::fault::Fault;
use crate::person::Person;
use crate::time::Span;
use crate::tools::ToolServer;
use crate::turns::{Step, Turn};
pub use rehang_words::Terminal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One scenario: what the model makes the agent do, what goes wrong, who could answer, what must come out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// One line: what happens.
    pub title: String,
    /// A paragraph for the reader: why this is worth a file.
    #[serde(default)]
    pub about: Option<String>,
    /// The mechanism in the hang catalogue (`Q1`, `B6`, …) or the benign look-alike (`F1`, …).
    pub mechanism: String,
    /// Public issues, pull requests or commits: `owner/repo#123`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub cites: Vec<String>,
    /// Who plays the agent.
    pub agent: Agent,
    /// How the agent's standard streams are connected.
    #[serde(default = "default_terminals")]
    #[schemars(length(max = 8))]
    pub terminals: Vec<Terminal>,
    /// What the model says and does, in order.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// A tool server of the Model Context Protocol that the agent is configured to use. A real release is told of it by
    /// `args` or `env`, and reaches it at `http://127.0.0.1:4099/mcp`.
    #[serde(default)]
    pub tool_server: Option<ToolServer>,
    /// A hook of the session's start: what it does, step by step. The file of a real release says how it is configured
    /// (`[recipe.hook]`); no fake runs it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub hook: Vec<Step>,
    /// What goes wrong.
    #[serde(default)]
    #[schemars(length(max = crate::limits::FAULTS))]
    pub faults: Vec<Fault>,
    /// Who can act, by which way.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub people: Vec<Person>,
    /// With `mode = "acp"`, `mode = "app-server"` or `mode = "sdk"`: what the agent's editor does, step by step.
    #[serde(default = "default_editor")]
    #[schemars(length(max = 100))]
    pub editor: Vec<EditorStep>,
    /// How often the caller runs the agent, one run after the other, whatever the result of each. A server keeps
    /// running, and gets its next prompt in the same session; any other agent is started anew. The last run's end is
    /// the cell's.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = crate::limits::RUNS))]
    pub runs: u32,
    /// How long the cell goes on after its end, so that what comes too late is seen. The outcome stays the same.
    #[serde(default)]
    pub afterwards: Option<Span>,
    /// The agent's whole environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Further arguments of the agent's command line.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub args: Vec<String>,
    /// Seeds: they decide the order of simultaneous events, so that at a limit two seeds give both orders.
    #[serde(default = "default_seeds")]
    #[schemars(length(max = 100))]
    pub seeds: Vec<u64>,
    /// The stages that it can run on, if not all, and why.
    #[serde(default)]
    pub stages: Option<Stages>,
    /// Processes left on purpose, by role (`agent.1.1`) or program (`dev-server`).
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub survives: Vec<String>,
    /// Cells that are left out, each with a reason.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub skip: Vec<Skip>,
    /// What must come out; the first match wins.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub expect: Vec<Expect>,
}

/// The terminals of a scenario that names none.
pub fn default_terminals() -> Vec<Terminal> {
    vec![Terminal::Tty, Terminal::Null, Terminal::Pipe, Terminal::Closed]
}

/// The seeds of a scenario that names none.
pub fn default_seeds() -> Vec<u64> {
    vec![1]
}

/// Who plays the agent: a persona and the release that it behaves as.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Code: `fake-claude`.
    Claude(Claude),
    /// opencode: `fake-opencode`.
    Opencode(Opencode),
    /// altimate-code, a fork of opencode with R1–R3 of the question auto-answer.
    Altimate(Altimate),
    /// PawWork, a fork of opencode with a blocker ledger and external results.
    Pawwork(Pawwork),
    /// Codex: `fake-codex`.
    Codex(Codex),
    /// Gemini CLI: `fake-gemini`.
    Gemini(Gemini),
    /// A plain program in an agent's place: what it does, step by step.
    Program(Vec<Step>),
}

/// Claude Code: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claude {
    /// The release.
    #[serde(rename = "as", default = "claude_release")]
    #[schemars(extend("enum" = crate::agents::CLAUDE.releases))]
    pub release: String,
    /// How it is started.
    #[serde(default)]
    pub mode: ClaudeMode,
}

fn claude_release() -> String {
    crate::agents::CLAUDE.default_release.to_owned()
}

/// How Claude Code is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaudeMode {
    /// `claude -p PROMPT`: text out.
    #[default]
    Print,
    /// `claude -p PROMPT --output-format stream-json --verbose`.
    Json,
    /// `claude -p --input-format stream-json --output-format stream-json --verbose`: messages both ways.
    StreamJson,
    /// `claude PROMPT` on a terminal: prompts on screen, answers typed.
    Interactive,
    /// `claude` as the Claude Agent SDK starts it, driven over stdin and stdout by an `editor`. 2.0.77 and newer.
    Sdk,
}

/// opencode: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Opencode {
    /// The release.
    #[serde(rename = "as", default = "opencode_release")]
    #[schemars(extend("enum" = crate::agents::OPENCODE.releases))]
    pub release: String,
    /// How it is started.
    #[serde(default)]
    pub mode: OpencodeMode,
    /// With `serve`: how the baseline client drives it.
    #[serde(default)]
    pub client: Client,
}

fn opencode_release() -> String {
    crate::agents::OPENCODE.default_release.to_owned()
}

/// How opencode is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OpencodeMode {
    /// `opencode run --format json PROMPT`.
    #[default]
    Run,
    /// `opencode serve`, driven over HTTP by a client.
    Serve,
    /// `opencode PROMPT` on a terminal: asks on screen, answers typed.
    Interactive,
    /// `opencode acp`, driven over stdin and stdout by an `editor`.
    Acp,
}

/// The baseline client of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// `POST /session/:id/message`, and waits for the reply.
    #[default]
    Post,
    /// `POST /session/:id/prompt_async`, and waits for `session.idle` on `/event`.
    Events,
    /// As `events`, and after a reconnect fetches status and open asks.
    Resync,
}

/// altimate-code 0.8: form of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Altimate {
    /// How it is started.
    #[serde(default)]
    pub mode: OpencodeMode,
    /// With `run`: `--attach` to a server; then the handler does not change the environment.
    #[serde(default)]
    pub attach: bool,
    /// With `serve`: how the baseline client drives it.
    #[serde(default)]
    pub client: Client,
}

/// PawWork: always a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pawwork {
    /// How the baseline client drives it.
    #[serde(default)]
    pub client: Client,
    /// A reasoning model: its first progress may take 120 s instead of 30 s (461b025e2).
    #[serde(default)]
    pub reasoning: bool,
}

/// Codex: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Codex {
    /// The release.
    #[serde(rename = "as", default = "codex_release")]
    #[schemars(extend("enum" = crate::agents::CODEX.releases))]
    pub release: String,
    /// How it is started.
    #[serde(default)]
    pub mode: CodexMode,
    /// Whether its command line has the prompt. Without it the prompt is what `args` or stdin give, or there is none.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub prompt: bool,
}

fn yes() -> bool {
    true
}

// the signature is serde's
fn is_yes(flag: &bool) -> bool {
    *flag
}

fn codex_release() -> String {
    crate::agents::CODEX.default_release.to_owned()
}

/// How Codex is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodexMode {
    /// `codex exec PROMPT`: text out.
    #[default]
    Exec,
    /// `codex exec --json PROMPT`: one event a line.
    Json,
    /// `codex app-server`, driven over stdin and stdout by an `editor`. 0.116.0 and newer.
    AppServer,
}

/// Gemini CLI: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gemini {
    /// The release.
    #[serde(rename = "as", default = "gemini_release")]
    #[schemars(extend("enum" = crate::agents::GEMINI.releases))]
    pub release: String,
    /// How it is started.
    #[serde(default)]
    pub mode: GeminiMode,
    /// Whether its command line has the prompt. Without it the prompt is what `args` or stdin give, or there is none.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub prompt: bool,
}

fn gemini_release() -> String {
    crate::agents::GEMINI.default_release.to_owned()
}

/// How Gemini CLI is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GeminiMode {
    /// `gemini -p PROMPT`: text out.
    #[default]
    Print,
    /// `gemini -p PROMPT -o json`: one object at the end.
    Json,
    /// `gemini -p PROMPT -o stream-json`: events out.
    StreamJson,
    /// `gemini PROMPT`: from 0.29.0 on a session, if there is a terminal.
    Interactive,
}

/// Where a cell runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Persona and kernel model in one process.
    Sim,
    /// Real processes in virtual time.
    Lockstep,
    /// Real releases on the wall clock.
    Live,
}

impl Stage {
    /// The word that a file uses.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Sim => "sim",
            Stage::Lockstep => "lockstep",
            Stage::Live => "live",
        }
    }
}

/// The stages of a scenario that cannot run on all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stages {
    /// Where it runs.
    pub only: Vec<Stage>,
    /// The kernel behaviour that the others do not model.
    pub because: String,
}

/// Cells that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Skip {
    /// Stacks; all if none is named. A name without a version means every version of it.
    #[serde(default)]
    pub strategies: Vec<String>,
    /// Terminals; all if none is named.
    #[serde(default)]
    pub terminals: Vec<Terminal>,
    /// Why.
    pub because: String,
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockedOn, Invariant};
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_name_is_the_word_that_a_file_uses() {
        assert!(Terminal::ALL.iter().all(|terminal| to_value(terminal).unwrap() == terminal.name()));
        assert!(Invariant::ALL.iter().all(|invariant| to_value(invariant).unwrap() == invariant.name()));
        assert!(
            [Stage::Sim, Stage::Lockstep, Stage::Live].iter().all(|stage| to_value(stage).unwrap() == stage.name())
        );
        for on in BlockedOn::ALL {
            assert_eq!((BlockedOn::of(on.word()), on.to_string().as_str()), (Some(on), on.word()));
        }
        assert_eq!(["", "Question", "x"].map(BlockedOn::of), [None; 3]);
        let mut words = BlockedOn::ALL.map(BlockedOn::word).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), BlockedOn::ALL.len());
    }

    #[test]
    fn what_stdin_is_on_each_terminal() {
        let names = |is: fn(Terminal) -> bool| {
            Terminal::ALL.into_iter().filter(|one| is(*one)).map(Terminal::name).collect::<Vec<_>>()
        };
        assert_eq!(names(Terminal::stdin_is_tty), ["tty", "tty-background", "tty-background-nohup"]);
        assert_eq!(names(Terminal::is_background), ["tty-background", "tty-background-nohup"]);
    }

    #[test]
    fn a_scenario_that_says_little_has_these_defaults() {
        let scenario: Scenario =
            from_value(json!({ "title": "T", "mechanism": "F1", "agent": { "claude": {} } })).unwrap();
        assert_eq!(
            scenario.terminals.iter().map(|one| one.name()).collect::<Vec<_>>(),
            ["tty", "null", "pipe", "closed"]
        );
        assert_eq!((scenario.seeds, scenario.runs, scenario.agent.release()), (vec![1], 1, Some("2.0.77")));
        let opencode: Agent = from_value(json!({ "opencode": {} })).unwrap();
        assert_eq!(opencode.release(), Some("1.2.15"));
    }
}
