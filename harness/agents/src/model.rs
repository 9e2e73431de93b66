//! An agent, typed: one TOML file of `scenarios/agents/`.
//!
//! Invariant: the code holds nothing about any one agent; a new agent or a version's quirk is a change of a file.
//! Templates hold `{word}`s; [`crate::Words`] says which there are. `{{` and `}}` mean the brackets themselves.

use rehang_scenario::Form;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An agent's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// What the command line calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Where its releases come from.
    pub source: Source,
    /// The recipe of every release, before quirks.
    pub recipe: Layer,
    /// What is different in some releases; later quirks override earlier ones.
    #[serde(default)]
    pub quirk: Vec<Quirk>,
}

/// Where releases come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// An npm package. `{arch}` in its name is `x64` or `arm64`.
    Npm(String),
    /// A PyPI package.
    Pypi(String),
}

/// What is different in some releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirk {
    /// The releases, as a semver range: `>=1.2, <1.4`. A pre-release counts as the release that it leads to.
    pub versions: String,
    /// How this is known.
    pub because: String,
    /// These releases cannot run here, for this reason.
    #[serde(default)]
    pub broken: Option<String>,
    /// What overrides the recipe: tables key by key, all else as a whole.
    #[serde(default)]
    pub recipe: Layer,
}

/// A recipe, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layer {
    /// Another package for these releases.
    #[serde(default)]
    pub source: Option<Source>,
    /// What starts it, before any argument: `{root}` is the folder that it is installed in, `{arch}` as above.
    #[serde(default)]
    pub program: Vec<String>,
    /// The model API that it speaks.
    #[serde(default)]
    pub dialect: Option<Dialect>,
    /// The model's name.
    #[serde(default)]
    pub model: Option<String>,
    /// Its environment, beside that of the sandbox (`PATH`, `HOME`, XDG folders, `TMPDIR`). An empty value in a quirk
    /// removes a variable.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that it finds: a path (`{home}/…`, `{cwd}/…`) and the text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// How it is started.
    #[serde(default)]
    pub forms: BTreeMap<Form, Start>,
    /// What is added if bash may run without asking.
    #[serde(default)]
    pub allow: Option<Wish>,
    /// What is added if bash has to ask.
    #[serde(default)]
    pub ask: Option<Wish>,
    /// What is added if the scenario has a tool server that the agent starts: the program `tool-server`, as a server of the
    /// name `db`. The word `call` is the name by which the model calls its tool `query`.
    #[serde(default)]
    pub server: Option<Wish>,
    /// What is added if the scenario has a hook of the session's start: the program `hook`.
    #[serde(default)]
    pub hook: Option<Wish>,
    /// How the model calls its tools.
    #[serde(default)]
    pub tools: BTreeMap<Call, ToolShape>,
    /// A model request is a main one, and spends a scripted turn, if it offers one of these tools; any tool if none is
    /// named. `*`: every request is a main one, as with an agent that offers no tools.
    #[serde(default)]
    pub main: Option<Vec<String>>,
    /// A request whose last user message contains one of these texts is not a main one.
    #[serde(default)]
    pub side: Vec<String>,
    /// How many assistant messages a request has before the model has said a word.
    #[serde(default)]
    pub preload: Option<u32>,
    /// Milliseconds without material progress after which a run counts as a hang.
    #[serde(default)]
    #[schemars(range(min = 1_000, max = 600_000))]
    pub window_ms: Option<u64>,
    /// Peak resident memory of one run, in MiB; as many runs as fit into memory run side by side.
    #[serde(default)]
    pub memory_mib: Option<u64>,
    /// What its output says, line by line; the first match wins.
    #[serde(default)]
    pub signs: Vec<Sign>,
    /// What it cannot do, and why.
    #[serde(default)]
    pub cannot: BTreeMap<Feature, String>,
}

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// `POST …/chat/completions`.
    OpenaiChat,
    /// `POST …/responses`.
    OpenaiResponses,
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST …/models/MODEL:streamGenerateContent`.
    Gemini,
}

/// A command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Start {
    /// Arguments. An argument that is `{args}` alone is replaced by those of `allow` or `ask`, and of the scenario.
    pub args: Vec<String>,
    /// The arguments if the scenario's agent has `prompt = false`; without them the release cannot play such a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bare: Option<Vec<String>>,
    /// Lines that are written to its stdin when it has started.
    #[serde(default)]
    pub says: Vec<String>,
    /// Of a server: the words of the line that it prints when it listens; its address follows them.
    #[serde(default)]
    pub listening: Option<String>,
    /// Its environment; it overrides the recipe's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// What is added for a wish of the scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wish {
    /// Environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Arguments, where the command line has `{args}`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further words for the templates of `env`, `files` and the command line.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    /// Files, beside the recipe's or in their place. If a scenario has a hook as well as a server, the hook's file counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// A call that a scenario's turn makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// The question tool.
    Ask,
    /// The bash tool.
    Bash,
    /// A subagent.
    Task,
    /// A tool that needs a permission and starts no process: `{tool}`, `{permission}`, `{pattern}`, `{patterns}`,
    /// `{output}`.
    Permit,
}

/// How the model calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolShape {
    /// The tool's name.
    pub name: String,
    /// Its arguments. A text that is one `{word}` alone becomes that word's value: `{command}`, `{description}`,
    /// `{prompt}`, `{timeout_ms}`, `{timeout_s}`, `{questions}` (as `question` says), `{question}`, `{header}`, `{options}`.
    /// A key whose value is a word that the turn does not have is left out.
    pub arguments: Value,
    /// The element of `{questions}`: `{index}` (from 1), `{question}`, `{header}`, `{options}`, `{labels}`, `{multiple}`,
    /// `{custom}`.
    #[serde(default)]
    pub question: Option<Value>,
    /// The element of `{options}`: `{label}`, `{description}`.
    #[serde(default)]
    pub option: Option<Value>,
}

/// What a line of the output means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sign {
    /// The line contains this text.
    #[serde(default)]
    pub text: Option<String>,
    /// The line is JSON with these values at these pointers (`"/type" = "result"`).
    #[serde(default)]
    pub json: BTreeMap<String, Value>,
    /// What it means.
    pub means: Means,
}

/// What a line of output means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Nothing: no progress, though something is printed.
    Nothing,
    /// It waits for an answer.
    Asks,
    /// It refused a question or a permission by itself.
    Refuses,
    /// It is done.
    Completes,
    /// It failed.
    Fails,
}

/// A feature that a scenario needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// A prompt on the command line.
    Run,
    /// Prompts over stdin.
    Stdin,
    /// A server.
    Serve,
    /// A person at a terminal.
    Interactive,
    /// A question tool.
    Question,
    /// A bash tool.
    Bash,
    /// A bash tool that asks first.
    Permission,
    /// A subagent.
    Subagent,
    /// A subagent's bash tool that asks first.
    SubagentPermission,
    /// Two calls at once.
    Together,
    /// A tool server that it starts.
    Server,
    /// A hook of the session's start.
    Hook,
}
