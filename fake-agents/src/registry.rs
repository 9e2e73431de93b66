//! The registry of the fakes: which agent each plays, under which names, and how it is started.
//!
//! Invariant: each agent that a file can name has exactly one persona here, and each of its names starts it.

use crate::{Behaviour, ReleaseError, claude, codex, gemini, mcp, opencode, stand_in, tool};
use rehang_os::{CannotStart, Fakes, Program, Programs};
use rehang_scenario::plan::Plan;
use rehang_scenario::{Agent, AgentKind, Mode, agents};
use std::sync::LazyLock;

/// One fake. [`AgentKind`] has what the file format knows of it.
#[derive(Debug, Clone, Copy)]
pub struct Persona {
    /// The agent that it plays; its names are [`AgentKind::programs`].
    pub kind: &'static AgentKind,
    program: Programs,
    argv: fn(&Agent, &[String], &str) -> Vec<String>,
    plays: fn(&Agent) -> Result<(), ReleaseError>,
    called: fn(&[String]) -> Option<Called>,
    behaviours: fn() -> Vec<Behaviour>,
}

/// The personas, in the order of [`agents::ALL`].
pub static PERSONAS: [Persona; 7] = [
    Persona {
        kind: &agents::CLAUDE,
        program: claude::program,
        argv: claude::argv,
        plays: claude::plays,
        called: claude::called,
        behaviours: claude::known_behaviours,
    },
    Persona { kind: &agents::OPENCODE, behaviours: opencode::known_behaviours, ..OPENCODE_FORK },
    Persona { kind: &agents::ALTIMATE, ..OPENCODE_FORK },
    Persona { kind: &agents::PAWWORK, ..OPENCODE_FORK },
    Persona {
        kind: &agents::CODEX,
        program: codex::program,
        argv: codex::argv,
        plays: codex::plays,
        called: codex::called,
        behaviours: codex::known_behaviours,
    },
    Persona {
        kind: &agents::GEMINI,
        program: gemini::program,
        argv: gemini::argv,
        plays: gemini::plays,
        called: gemini::called,
        behaviours: gemini::known_behaviours,
    },
    Persona {
        kind: &agents::PROGRAM,
        program: tool::program,
        argv: |agent, _, _| tool::argv(agent.steps().unwrap_or_default(), "program"),
        plays: |_| Ok(()),
        called: |_| None,
        behaviours: Vec::new,
    },
];

/// The behaviours that opencode and its forks share; they are listed once, under opencode.
const OPENCODE_FORK: Persona = Persona {
    kind: &agents::OPENCODE,
    program: opencode::program,
    argv: opencode::argv,
    plays: |agent| opencode::release::Release::of(agent).map(drop),
    called: opencode::called,
    behaviours: Vec::new,
};

/// What a command line asks of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// How the agent is started.
    pub mode: Mode,
    /// The arguments that change what it does.
    pub args: Vec<String>,
}

impl Persona {
    /// Whether it plays the release that this agent names.
    ///
    /// # Errors
    /// It does not play it: the error lists the releases, or says what is wrong with this one.
    pub fn plays(&self, agent: &Agent) -> Result<(), ReleaseError> {
        (self.plays)(agent)
    }

    /// What these arguments ask of it; `None` if they only ask for a version, or are refused. An agent that can be
    /// started in only one way is always started that way.
    pub fn called(&self, args: &[String]) -> Option<Called> {
        let called = (self.called)(args)?;
        let modes = self.kind.modes;
        let only = modes.first().filter(|_| modes.len() == 1);
        let mode = modes.iter().find(|mode| mode.word == called.mode.word).or(only).copied()?;
        Some(Called { mode, ..called })
    }

    /// The behaviours that it plays on purpose.
    pub fn behaviours(&self) -> Vec<Behaviour> {
        (self.behaviours)()
    }
}

/// The persona that plays an agent.
pub fn persona(agent: &Agent) -> &'static Persona {
    let kind = agent.kind();
    PERSONAS.iter().find(|persona| persona.kind == kind).unwrap_or(&PERSONAS[0])
}

/// The persona of this name: `fake-claude`, `claude`.
pub fn named(name: &str) -> Option<&'static Persona> {
    PERSONAS.iter().find(|persona| persona.kind.programs.contains(&name))
}

/// The command line with which an agent is started: its mode, its further arguments, its prompt.
pub fn argv(agent: &Agent, args: &[String], prompt: &str) -> Vec<String> {
    (persona(agent).argv)(agent, args, prompt)
}

/// The names that a fake can be started under.
pub fn names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        PERSONAS.iter().flat_map(|persona| persona.kind.programs).copied().chain([mcp::NAME]).collect()
    });
    &NAMES
}

/// What this build of the fakes is: a digest of its sources.
pub const BUILD: &str = env!("REHANG_FAKES_BUILD");

/// The argument with which the binary of the fakes prints its [`BUILD`].
pub const BUILD_ARG: &str = "--build";

/// The program that `argv[0]` names.
///
/// # Errors
/// An unknown program, or arguments that do not fit.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let name = rehang_os::os::program_name(argv);
    if name == mcp::NAME {
        return mcp::program(argv);
    }
    let persona = named(name).ok_or_else(|| CannotStart::new(format!("no fake is called `{name}`")))?;
    (persona.program)(argv, plan)
}

/// Plays the fake that this process was started as, and does not return in that case: see [`rehang_os::dispatch`].
pub fn dispatch() -> bool {
    crate::model_server::dispatch();
    rehang_os::dispatch(Fakes { names: names(), programs: program, folder: stand_in::setup })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::agents::Settings;
    use rehang_scenario::{ClaudeMode, Client};

    #[test]
    fn each_agent_has_one_persona_and_each_name_one_program() {
        assert_eq!(PERSONAS.map(|persona| persona.kind.word), agents::ALL.map(|kind| kind.word));
        let mut unique = names().to_vec();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names().len());
        for name in names() {
            let error = program(&[(*name).to_owned()], None).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("no fake is called"), "{name}: {error}");
        }
        assert!(program(&["ls".to_owned()], None).is_err());
    }

    #[test]
    fn each_release_that_a_file_can_name_is_played_and_no_other_of_claude() {
        for kind in agents::ALL {
            for release in kind.releases.iter().chain([&kind.default_release]) {
                let mut agent = kind.default_agent();
                agent.set_release(release);
                assert_eq!(persona(&agent).plays(&agent), Ok(()), "{kind:?} {release}");
            }
        }
        assert_eq!(claude::Release::ALL.map(claude::Release::version), agents::CLAUDE.releases);
        assert_eq!(gemini::ALL.each_ref().map(|release| release.version), agents::GEMINI.releases);
    }

    #[test]
    fn a_command_line_is_read_back_as_what_it_was_made_from() {
        for kind in agents::ALL.into_iter().filter(|kind| kind.has_model) {
            for &mode in kind.modes {
                let agent = kind.agent(&Settings {
                    release: kind.default_release,
                    mode,
                    client: Client::default(),
                    flag: false,
                });
                let argv = argv(&agent, &[], "go");
                assert_eq!(argv[0], kind.fake());
                let called = named(&argv[0]).and_then(|persona| persona.called(&argv[1..]));
                // a client of the Agent SDK starts it as any host does that answers its prompts
                let is_of_sdk = mode == ClaudeMode::Sdk.mode();
                let (mode, args) = match is_of_sdk {
                    true => (
                        ClaudeMode::StreamJson.mode(),
                        ["--permission-prompt-tool", "stdio"].map(str::to_owned).to_vec(),
                    ),
                    false => (mode, Vec::new()),
                };
                assert_eq!(called, Some(Called { mode, args }), "{argv:?}");
            }
        }
    }
}
