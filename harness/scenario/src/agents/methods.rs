//! What one agent of a scenario is and does: the only readers of its fields outside of its persona.
//!
//! Invariant: each match names every agent, so that a new one does not compile until all of this is said of it.

use super::{ALTIMATE, AgentKind, CLAUDE, ClaudeMode, Form, Mode, OPENCODE, OpencodeMode, PAWWORK, PROGRAM, Wire};
use crate::model::{Agent, Client};
use crate::turns::Step;

impl Agent {
    /// What is known of it, whatever its release and mode.
    pub fn kind(&self) -> &'static AgentKind {
        match self {
            Agent::Claude(_) => &CLAUDE,
            Agent::Opencode(_) => &OPENCODE,
            Agent::Altimate(_) => &ALTIMATE,
            Agent::Pawwork(_) => &PAWWORK,
            Agent::Program(_) => &PROGRAM,
        }
    }

    /// A plain program with these steps.
    pub fn program(steps: Vec<Step>) -> Agent {
        Agent::Program(steps)
    }

    /// The steps of a plain program.
    pub fn steps(&self) -> Option<&[Step]> {
        match self {
            Agent::Program(steps) => Some(steps),
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Pawwork(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn steps_mut(&mut self) -> Option<&mut Vec<Step>> {
        match self {
            Agent::Program(steps) => Some(steps),
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Pawwork(_) => None,
        }
    }

    /// How it is started, in its file's words; `None` if a file cannot say.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Agent::Claude(claude) => Some(claude.mode.mode()),
            Agent::Opencode(opencode) => Some(opencode.mode.mode()),
            Agent::Altimate(altimate) => Some(altimate.mode.mode()),
            Agent::Pawwork(_) => PAWWORK.modes.first().copied(),
            Agent::Program(_) => None,
        }
    }

    /// Changes how it is started. A mode of another kind is its default.
    pub fn set_mode(&mut self, mode: Mode) {
        match self {
            Agent::Claude(claude) => {
                claude.mode = ClaudeMode::ALL.into_iter().find(|own| own.mode() == mode).unwrap_or_default();
            }
            Agent::Opencode(opencode) => opencode.mode = OpencodeMode::of(mode),
            Agent::Altimate(altimate) => altimate.mode = OpencodeMode::of(mode),
            Agent::Pawwork(_) | Agent::Program(_) => {}
        }
    }

    /// How it is started. A plain program runs.
    pub fn form(&self) -> Form {
        self.mode().map_or(Form::Run, |mode| mode.form)
    }

    /// Whether it is a server here.
    pub fn serves(&self) -> bool {
        self.form() == Form::Serve
    }

    /// Whether somebody outside writes the prompt to its stdin.
    pub fn is_driven(&self) -> bool {
        self.form() == Form::Stdin
    }

    /// The release that its file names, or that is played if it names none; `None` if a file cannot name one.
    pub fn release(&self) -> Option<&str> {
        match self {
            Agent::Claude(claude) => Some(&claude.release),
            Agent::Opencode(opencode) => Some(&opencode.release),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => None,
        }
    }

    /// Names another release; nothing if a file cannot name one.
    pub fn set_release(&mut self, release: &str) {
        match self {
            Agent::Claude(claude) => release.clone_into(&mut claude.release),
            Agent::Opencode(opencode) => release.clone_into(&mut opencode.release),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => {}
        }
    }

    /// How the baseline client drives its server; `None` if it can be none.
    pub fn client(&self) -> Option<Client> {
        match self {
            Agent::Opencode(opencode) => Some(opencode.client),
            Agent::Altimate(altimate) => Some(altimate.client),
            Agent::Pawwork(pawwork) => Some(pawwork.client),
            Agent::Claude(_) | Agent::Program(_) => None,
        }
    }

    /// The wires on which a strategy can reach it.
    pub fn wires(&self) -> Vec<Wire> {
        let mut all = self.mode().map_or_else(|| vec![Wire::Process], |mode| mode.wires.to_vec());
        if self.steps().is_some_and(prints_messages) {
            all.push(Wire::ClaudeStream);
        }
        all
    }

    /// Whether an agent, as the fakes play it, gives up a model's stream that is silent for long (300 s). What keeps such
    /// a one waiting for ever is a stream that only says that it is alive. A test of the fakes holds each release to this.
    pub fn gives_silence_up(&self) -> bool {
        match self {
            Agent::Claude(_) => true,
            Agent::Opencode(opencode) => OPENCODE.releases.last() == Some(&opencode.release.as_str()),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => false,
        }
    }

    /// Whether it has the legacy route for permissions alone, and no other reply route (opencode 1.0.185).
    pub fn has_legacy_replies(&self) -> bool {
        match self {
            Agent::Opencode(opencode) => OPENCODE.releases.first() == Some(&opencode.release.as_str()),
            Agent::Claude(_) | Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => false,
        }
    }

    /// Whether its model reasons, for which PawWork waits longer (461b025e2).
    pub fn is_reasoning(&self) -> bool {
        match self {
            Agent::Pawwork(pawwork) => pawwork.reasoning,
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Program(_) => false,
        }
    }
}

/// Whether a plain program prints Claude's messages: what it says is what it speaks.
fn prints_messages(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Print(line) if line.starts_with("{\"type\":")))
}
