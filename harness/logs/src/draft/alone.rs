//! Agents that run alone: `codex exec` and `gemini -p` ask nobody, and nobody but a signal reaches them.
//!
//! Invariant: a log becomes such an agent only if a release that is played ends, or hangs, as the log did; else it becomes a
//! program that prints the same.

use super::actors::nearest;
use super::{Draft, Drafter, blank};
use crate::guess::{End, Guess, Hang};
use crate::note::{Calls, Kind};
use crate::story::{Story, What};
use rehang_scenario::agents::{CODEX, GEMINI, Settings};
use rehang_scenario::{Agent, Client, Terminal};

/// Whether the fake of this agent can do what the log did. No release that is played waits for ever for a model that is
/// silent or refuses, except Gemini CLI for one that keeps its stream alive.
pub(super) fn is_played(kind: Kind, guess: &Guess) -> bool {
    match guess.hang {
        Hang::None | Hang::Failed { .. } | Hang::Bash { .. } | Hang::Tool { .. } => kind.is_alone(),
        Hang::Model { refuses: None, cuts: false, .. } => kind == Kind::Gemini,
        _ => false,
    }
}

/// Whether it is one of these agents.
pub(super) fn is_alone(agent: &Agent) -> bool {
    let kind = *agent.kind();
    kind == CODEX || kind == GEMINI
}

/// The agent, started so that events come out, as they did into the log.
fn agent(story: &Story) -> Agent {
    let (kind, word) = if story.agent.kind == Kind::Gemini { (&GEMINI, "stream-json") } else { (&CODEX, "json") };
    let release = nearest(story.agent.release.as_deref(), kind.releases, kind.default_release);
    let mode = kind.modes.iter().find(|mode| mode.word == word).or(kind.modes.first()).copied();
    let default = kind.default_agent();
    mode.map_or(default, |mode| {
        kind.agent(&Settings { release: &release, mode, client: Client::default(), flag: false })
    })
}

/// Codex, which reads a stdin that has no end; under the control arm it has one.
pub(super) fn reads_stdin(story: &Story) -> Option<Draft> {
    let scenario = blank(agent(story), vec![Terminal::Pipe])?;
    let mut control = scenario.clone();
    control.terminals = vec![Terminal::Null];
    Some(Draft { scenario, control: Some(control), left_out: 0 })
}

impl Drafter<'_> {
    pub(super) fn alone(&self) -> Option<(Agent, Vec<Terminal>)> {
        self.story.agent.kind.is_alone().then(|| (agent(self.story), vec![Terminal::Null]))
    }

    /// What lets Gemini CLI run its commands, unless the log shows that it has no such tool.
    pub(super) fn allowed(&self) -> Vec<String> {
        let steps = self.story.sessions.values().flat_map(|session| &session.steps);
        let refused = steps.filter_map(|step| match &step.what {
            What::Called(call) if matches!(call.does, Calls::Bash { .. }) => call.told.as_ref(),
            _ => None,
        });
        let is_refused =
            refused.map(|told| told.text.as_str()).any(|text| text.contains("run_shell_command\" not found"));
        match self.story.agent.kind {
            Kind::Gemini if !is_refused => vec!["--approval-mode".to_owned(), "yolo".to_owned()],
            _ => Vec::new(),
        }
    }

    /// Whether it failed for a reason that the log does not name as the model's: here its model refuses.
    pub(super) fn fails_unexplained(&self) -> bool {
        self.story.agent.kind.is_alone() && self.guess.end == End::Failed && self.guess.hang == Hang::None
    }
}
