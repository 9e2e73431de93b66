//! `rehang new FILE`: a first scenario, to be changed into one's own.
//!
//! Invariant: what is written hangs under `none`, has a control arm that does not, and no existing file is overwritten
//! (`harness/cli/tests/command/new.rs`, for every agent).

use super::{Code, CommandError};
use crate::shell::quoted;
use clap::Args;
use rehang_runner::outputs;
use rehang_scenario::agents::Mode;
use rehang_scenario::text::one_of;
use rehang_scenario::{AgentKind, Form, Protocol, agents};
use std::io::Write;
use std::path::PathBuf;

/// Write a first scenario for an agent of your choice: it hangs, and runs.
///
/// The agent asks a question, or whether it may run a command, and nobody answers; in the control arm somebody does. One that
/// asks nobody waits for its stdin or for its model. The file is there to be changed: its page is docs/scenarios.md. An existing
/// file is not overwritten.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang new my-hang.toml                      opencode asks a question
  rehang new my-hang.toml --agent claude       Claude Code asks its host whether it may
  rehang new my-hang.toml --agent codex        Codex reads a stdin that stays open
  rehang new my-hang.toml --acp                opencode asks its editor whether it may
  rehang new my-hang.toml --app-server         Codex asks its editor whether it may
  rehang new my-hang.toml --sdk                Claude Code asks a client of its SDK whether it may
  rehang run my-hang.toml --strategy none      it hangs, and that is proved
  rehang run my-hang.toml --accept             writes down what every other strategy does")]
pub struct New {
    /// The file to write; it must not exist.
    pub file: PathBuf,
    /// Which agent hangs: opencode, claude, altimate, pawwork, codex or gemini.
    #[arg(long, value_name = "AGENT", default_value = "opencode", value_parser = agent)]
    pub agent: String,
    /// opencode as the agent of an editor, which drives it over the Agent Client Protocol.
    #[arg(long, conflicts_with = "agent")]
    pub acp: bool,
    /// Codex as the agent of an editor, which drives it over `codex app-server`.
    #[arg(long, conflicts_with_all = ["agent", "acp"])]
    pub app_server: bool,
    /// Claude Code as the agent of a client of the Claude Agent SDK.
    #[arg(long, conflicts_with_all = ["agent", "acp", "app_server"])]
    pub sdk: bool,
}

/// The agents that can be chosen, with how each is asked: it has a server, or a host at its stdin, or nobody.
fn offered() -> impl Iterator<Item = (&'static AgentKind, Mode)> {
    agents::ALL.into_iter().filter(|kind| kind.has_model).filter_map(|kind| {
        let of = |form: Form| kind.modes.iter().find(|mode| mode.form == form && mode.editor().is_none()).copied();
        [Form::Serve, Form::Stdin, Form::Run].into_iter().find_map(of).map(|mode| (kind, mode))
    })
}

/// The agent that an editor drives over this protocol.
fn driven(protocol: Protocol) -> Option<(&'static AgentKind, Mode)> {
    let of = |kind: &AgentKind| kind.modes.iter().find(|mode| mode.editor() == Some(protocol)).copied();
    agents::ALL.into_iter().find_map(|kind| of(kind).map(|mode| (kind, mode)))
}

fn agent(word: &str) -> Result<String, String> {
    let found = offered().find(|(kind, _)| kind.word == word);
    found.map(|_| word.to_owned()).ok_or_else(|| one_of(word, offered().map(|(kind, _)| kind.word)))
}

impl New {
    /// Writes the file.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let chosen = offered().find(|(kind, _)| kind.word == self.agent);
        let spoken = [(self.acp, Protocol::Acp), (self.app_server, Protocol::AppServer), (self.sdk, Protocol::Sdk)];
        let spoken = spoken.into_iter().find(|(is_asked, _)| *is_asked);
        let chosen = spoken.map_or(chosen, |(_, protocol)| driven(protocol));
        let (kind, mode) = chosen.ok_or_else(|| CommandError::Usage(format!("no agent is called '{}'", self.agent)))?;
        outputs::write_new(&self.file, template(kind, mode))?;
        let file = quoted(&self.file.display().to_string());
        let waits = match mode.form {
            Form::Run if reads_stdin(kind) => "for the end of its stdin, which stays open",
            Form::Run => "for its model, which only keeps the connection alive",
            _ => "for an answer, and nobody gives one",
        };
        writeln!(out, "wrote {file}: {} waits {waits}", kind.title)?;
        writeln!(out, "    rehang run {file} --strategy none     shows the hang, with its proof")?;
        writeln!(out, "    rehang run {file} --accept            writes down what every other strategy does")?;
        Ok(Code::Expected)
    }
}

/// Whether its default release reads its stdin to the end beside a prompt.
fn reads_stdin(kind: &AgentKind) -> bool {
    *kind == agents::CODEX
}

/// The text of the file.
fn template(kind: &AgentKind, mode: Mode) -> String {
    let mut settings = Vec::new();
    if !kind.releases.is_empty() {
        settings.push(format!("as = \"{}\"", kind.default_release));
    }
    if kind.modes.len() > 1 {
        settings.push(format!("mode = \"{}\"", mode.word));
    }
    let settings = if settings.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", settings.join(", ")) };
    let agent = format!("agent     = {{ {} = {settings} }}", kind.word);
    // the permission for which each of them asks its editor
    let asks = if mode.editor() == Some(Protocol::AppServer) { "escalated" } else { "bash" };
    match mode.form {
        Form::Stdin if mode.editor().is_some() => format!(
            r#"title     = "Asks its editor whether it may, and the editor never answers"
mechanism = "P3"
{agent}
terminals = ["pipe"]
turns = [
  {{ bash = {{ command = "touch out.txt", asks = "{asks}", does = [{{ print = "made" }}] }} }},
  {{ say = "The tool said: {{answer}}" }},
]

[[expect]]
strategies = ["none"]
outcome    = {{ hung = "permission" }}

{REST}
editor = ["initialize", "new-session", "prompt", {{ answer = "allow" }}, {{ until = "reply" }}, "close"]
"#
        ),
        Form::Stdin => format!(
            r#"title     = "Asks its host whether it may, and the host never answers"
mechanism = "P3"
{agent}
terminals = ["pipe"]
args      = ["--permission-prompt-tool", "stdio"]

turns = [
  {{ bash = {{ command = "touch out.txt", asks = "bash", does = [{{ print = "made" }}] }} }},
  {{ say = "The tool said: {{answer}}" }},
]

[[expect]]
strategies = ["none"]
outcome    = {{ hung = "permission" }}

{REST}
people = [{{ via = "stdin", after = "2s", does = "allow" }}]
"#
        ),
        Form::Run if reads_stdin(kind) => format!(
            r#"title     = "Reads a stdin that nobody writes to and nobody closes, beside its prompt"
mechanism = "S1"
{agent}
terminals = ["pipe"]
turns     = [{{ say = "hello" }}]

[[expect]]
strategies = ["none"]
outcome    = {{ hung = "stdin" }}

{REST}
terminals = ["null"]
"#
        ),
        Form::Run => format!(
            r#"title     = "The model keeps its connection alive, and says nothing more"
mechanism = "M2"
{agent}
terminals = ["null"]
turns     = [{{ say = "Half of " }}, {{ say = "what there is to say." }}]
faults    = [{{ model = {{ after = 1, does = {{ keep-alive = "60s" }} }} }}]

[[expect]]
strategies = ["none"]
outcome    = {{ hung = "model" }}

{REST}
faults = []
"#
        ),
        _ => format!(
            r#"title     = "Asks which database, and nobody is there"
mechanism = "Q1"
{agent}
terminals = ["null"]

turns = [
  {{ ask = [{{ question = "Which database?", options = [{{ label = "sqlite" }}, {{ label = "postgres" }}] }}] }},
  {{ say = "Done: {{answer}}." }},
]

[[expect]]
strategies = ["none"]
outcome    = {{ hung = "question" }}

{REST}
people = [{{ via = "http", after = "2s", does = {{ answer = ["sqlite"] }} }}]
"#
        ),
    }
}

/// What all files have: the other strategies, and the begin of the control arm.
const REST: &str = r#"[[expect]]
outcome    = "as none"                             # every other strategy: a guess

[control]                                          # the one change under which it does not hang"#;
