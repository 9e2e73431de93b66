//! Which agents there are: the name of each, which releases and modes a file may name, and how it can be reached.
//!
//! A new agent is described here and in [`Agent`], is played by a folder of the fakes, and is started by a line of
//! their registry. All other code asks [`AgentKind`] or a method of [`Agent`].
//!
//! Invariant: an [`Agent`]'s variant is matched here, in the fakes that play it, and where a log of that agent is
//! imported (`tests/tidy.rs`).

#[cfg(test)]
mod tests;

pub use rehang_words::{Form, Wire};

use crate::editor::Protocol;
use crate::model::{Agent, Altimate, Claude, ClaudeMode, Client, Gemini, GeminiMode, Opencode, OpencodeMode, Pawwork};
use crate::model::{Codex, CodexMode};
use crate::turns::Step;
use std::fmt;

/// All of them, in the order in which lists name them.
pub static ALL: [&AgentKind; 7] = [&CLAUDE, &OPENCODE, &ALTIMATE, &PAWWORK, &CODEX, &GEMINI, &PROGRAM];

/// Claude Code.
pub static CLAUDE: AgentKind = AgentKind {
    word: "claude",
    title: "Claude Code",
    short: "claude",
    programs: &["fake-claude", "claude"],
    releases: &["1.0.128", "2.0.77", "2.1.329"],
    default_release: "2.0.77",
    modes: &[PRINT, JSON, STREAM_JSON, SCREEN, SDK],
    flag: None,
    has_model: true,
    has_server: false,
    has_front_end: false,
    args: &[
        &["--permission-prompt-tool", "stdio"],
        &["--permission-prompt-tool", "stdio"],
        &["--dangerously-skip-permissions"],
        &["--allowedTools", "Bash"],
        &["--disallowedTools", "Bash"],
        &["--disallowedTools", "AskUserQuestion"],
        &["--permission-mode", "plan"],
        &["--permission-mode", "dontAsk"],
        &["--permission-mode", "acceptEdits"],
    ],
    make: |settings| {
        let mode = ClaudeMode::ALL.into_iter().find(|mode| mode.mode() == settings.mode).unwrap_or_default();
        Agent::Claude(Claude { release: settings.release.to_owned(), mode })
    },
};

/// opencode.
pub static OPENCODE: AgentKind = AgentKind {
    word: "opencode",
    title: "opencode",
    short: "opencode",
    programs: &["fake-opencode", "opencode"],
    releases: &["1.0.185", "1.2.15", "1.3.2", "1.18.33"],
    default_release: "1.2.15",
    modes: &[RUN, SERVE, SESSION, ACP],
    flag: None,
    has_model: true,
    has_server: true,
    has_front_end: false,
    args: OPENCODE_ARGS,
    make: |settings| {
        let (mode, client) = (OpencodeMode::of(settings.mode), settings.client);
        Agent::Opencode(Opencode { release: settings.release.to_owned(), mode, client })
    },
};

/// altimate-code, a fork of opencode.
pub static ALTIMATE: AgentKind = AgentKind {
    word: "altimate",
    title: "altimate-code",
    short: "altimate-code",
    programs: &["fake-altimate", "altimate"],
    releases: &[],
    default_release: "0.8.10",
    modes: &[RUN, SERVE, SESSION],
    flag: Some("attach"),
    make: |settings| {
        let (mode, client) = (OpencodeMode::of(settings.mode), settings.client);
        Agent::Altimate(Altimate { mode, attach: settings.flag, client })
    },
    ..OPENCODE
};

/// PawWork, a fork of opencode that is always a server.
pub static PAWWORK: AgentKind = AgentKind {
    word: "pawwork",
    title: "PawWork",
    short: "PawWork",
    programs: &["fake-pawwork", "pawwork"],
    releases: &[],
    default_release: "1.0.0",
    modes: &[PAWWORK_SERVE],
    flag: Some("reasoning"),
    has_front_end: true,
    make: |settings| Agent::Pawwork(Pawwork { client: settings.client, reasoning: settings.flag }),
    ..OPENCODE
};

/// Codex: `codex exec`, which has no server and asks nobody anything.
pub static CODEX: AgentKind = AgentKind {
    word: "codex",
    title: "Codex",
    short: "codex",
    programs: &["fake-codex", "codex"],
    releases: &["0.45.0", "0.58.0", "0.116.0", "0.169.0"],
    default_release: "0.169.0",
    modes: &[EXEC, EXEC_JSON, APP_SERVER],
    flag: None,
    has_model: true,
    has_server: false,
    has_front_end: false,
    args: &[
        &["--sandbox", "workspace-write"],
        &["--dangerously-bypass-approvals-and-sandbox"],
        &["-c", "model_providers.fake.stream_max_retries=0"],
    ],
    make: |settings| {
        let mode = CodexMode::ALL.into_iter().find(|mode| mode.mode() == settings.mode).unwrap_or_default();
        Agent::Codex(Codex { release: settings.release.to_owned(), mode, prompt: true })
    },
};

/// Gemini CLI.
pub static GEMINI: AgentKind = AgentKind {
    word: "gemini",
    title: "Gemini CLI",
    short: "gemini",
    programs: &["fake-gemini", "gemini"],
    releases: &["0.11.3", "0.29.0", "0.61.0"],
    default_release: "0.29.0",
    modes: &[GEMINI_PRINT, GEMINI_JSON, GEMINI_EVENTS, GEMINI_SCREEN],
    flag: None,
    has_model: true,
    has_server: false,
    has_front_end: false,
    args: &[&["--yolo"], &["--approval-mode", "auto_edit"]],
    make: |settings| {
        let mode = GeminiMode::ALL.into_iter().find(|mode| mode.mode() == settings.mode).unwrap_or_default();
        Agent::Gemini(Gemini { release: settings.release.to_owned(), mode, prompt: true })
    },
};

/// A plain program where an agent would be.
pub static PROGRAM: AgentKind = AgentKind {
    word: "program",
    title: "a plain program",
    short: "a plain program",
    programs: &["fake-tool"],
    releases: &[],
    default_release: "",
    modes: &[],
    flag: None,
    has_model: false,
    has_server: false,
    has_front_end: false,
    args: &[],
    make: |_| Agent::Program(Vec::new()),
};

const PRINT: Mode =
    Mode { word: "print", form: Form::Run, title: "claude -p", wires: &[Wire::Process, Wire::InClaude, Wire::InRun] };
const JSON: Mode = Mode { word: "json", title: "claude -p with messages out", ..PRINT };
const STREAM_JSON: Mode = Mode {
    word: "stream-json",
    form: Form::Stdin,
    title: "claude with messages both ways",
    wires: &[Wire::Process, Wire::ClaudeStream, Wire::InClaude],
};
const SCREEN: Mode =
    Mode { word: "interactive", form: Form::Interactive, title: "claude on a terminal", wires: IN_CLAUDE };
const SDK: Mode = Mode {
    word: "sdk",
    form: Form::Stdin,
    title: "claude, with a client of the Claude Agent SDK at its stdin",
    wires: &[Wire::Process],
};
const IN_CLAUDE: &[Wire] = &[Wire::Process, Wire::InClaude];
const RUN: Mode =
    Mode { word: "run", form: Form::Run, title: "run", wires: &[Wire::Process, Wire::InOpencode, Wire::InRun] };
const IN_OPENCODE: &[Wire] = &[Wire::Process, Wire::InOpencode];
const SESSION: Mode =
    Mode { word: "interactive", form: Form::Interactive, title: "an interactive session", wires: IN_OPENCODE };
const ACP: Mode =
    Mode { word: "acp", form: Form::Stdin, title: "acp, with an editor at its stdin", wires: IN_OPENCODE };
const SERVE: Mode =
    Mode { word: "serve", form: Form::Serve, title: "serve", wires: &[Wire::OpencodeHttp, Wire::InOpencode] };
const PAWWORK_SERVE: Mode = Mode { wires: &[Wire::OpencodeHttp, Wire::PawworkHttp, Wire::InOpencode], ..SERVE };

const EXEC: Mode = Mode { word: "exec", form: Form::Run, title: "codex exec", wires: &[Wire::Process] };
const EXEC_JSON: Mode = Mode { word: "json", title: "codex exec with events out", ..EXEC };
const APP_SERVER: Mode = Mode {
    word: "app-server",
    form: Form::Stdin,
    title: "codex app-server, with an editor at its stdin",
    wires: &[Wire::Process],
};

const GEMINI_PRINT: Mode = Mode { word: "print", form: Form::Run, title: "gemini -p", wires: &[Wire::Process] };
const GEMINI_JSON: Mode = Mode { word: "json", title: "gemini -p with an object at the end", ..GEMINI_PRINT };
const GEMINI_EVENTS: Mode = Mode { word: "stream-json", title: "gemini -p with events out", ..GEMINI_PRINT };
const GEMINI_SCREEN: Mode =
    Mode { word: "interactive", form: Form::Interactive, title: "gemini with a positional prompt", ..GEMINI_PRINT };

/// The releases of Codex whose `app-server` tells its client that a turn is over.
pub const WITH_TURNS: [&str; 2] = ["0.116.0", "0.169.0"];

/// The releases of Claude Code that the fake plays for a client of the Claude Agent SDK: 1.0.128 is not recorded for one.
pub const WITH_SDK: [&str; 2] = ["2.0.77", "2.1.329"];

/// Arguments of opencode and its forks that change who is asked.
const OPENCODE_ARGS: &[&[&str]] = &[&["--auto"], &["--dangerously-skip-permissions"], &["--port", "0"], &["--yolo"]];

/// What is known of an agent, independent of the release and mode that is played.
#[derive(Clone, Copy)]
pub struct AgentKind {
    /// The word for it in a scenario file: `claude`.
    pub word: &'static str,
    /// Its name in a sentence: `Claude Code`.
    pub title: &'static str,
    /// Its name in a summary: `claude`.
    pub short: &'static str,
    /// The names that its fake is started under: the fake's own, then that of the real program, if it has one.
    pub programs: &'static [&'static str],
    /// Releases with whose recordings or sources the fake is compared, oldest first. Empty if a file cannot name one.
    pub releases: &'static [&'static str],
    /// The release that is played if none is named; empty if it has none.
    pub default_release: &'static str,
    /// How it can be started, the default first. Empty if a file cannot say.
    pub modes: &'static [Mode],
    /// A key of a file that is on or off: `attach`.
    pub flag: Option<&'static str>,
    /// A model tells it what to do, so it plays turns and has tools.
    pub has_model: bool,
    /// It can be a server: events, requests, a queue and workers can fail.
    pub has_server: bool,
    /// It has a front end that lists blockers, disposes of instances and leaves.
    pub has_front_end: bool,
    /// Arguments that change whom it asks, each with its words. One that a random search must draw more often is listed
    /// twice.
    pub args: &'static [&'static [&'static str]],
    make: fn(&Settings<'_>) -> Agent,
}

impl AgentKind {
    /// The agent whose fake is started under this name.
    pub fn of_program(name: &str) -> Option<&'static AgentKind> {
        ALL.into_iter().find(|kind| kind.programs.contains(&name))
    }

    /// The fake's own name: `fake-claude`.
    pub fn fake(&self) -> &'static str {
        self.programs.first().copied().unwrap_or_default()
    }

    /// An agent of this kind. What the kind has no key for is left out.
    pub fn agent(&self, settings: &Settings<'_>) -> Agent {
        (self.make)(settings)
    }

    /// The agent of a file that names only its kind.
    pub fn default_agent(&self) -> Agent {
        self.agent(&Settings {
            release: self.default_release,
            mode: self.modes.first().copied().unwrap_or(RUN),
            client: Client::default(),
            flag: false,
        })
    }

    fn place(&self) -> usize {
        ALL.iter().position(|kind| kind.word == self.word).unwrap_or(ALL.len())
    }
}

impl fmt::Debug for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

impl PartialEq for AgentKind {
    fn eq(&self, other: &AgentKind) -> bool {
        self.word == other.word
    }
}

impl Eq for AgentKind {}

impl PartialOrd for AgentKind {
    fn partial_cmp(&self, other: &AgentKind) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// In the order of [`ALL`].
impl Ord for AgentKind {
    fn cmp(&self, other: &AgentKind) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

/// What a file can say of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// `as`.
    pub release: &'a str,
    /// `mode`: one of the kind's.
    pub mode: Mode,
    /// `client`.
    pub client: Client,
    /// The key that [`AgentKind::flag`] names.
    pub flag: bool,
}

/// How an agent is started, in a file's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// The word for it in a file: `stream-json`.
    pub word: &'static str,
    /// The form of use that this means.
    pub form: Form,
    /// What it is called in a sentence: `claude -p`.
    pub title: &'static str,
    /// The ways by which a strategy can reach it in this mode.
    pub wires: &'static [Wire],
}

impl Mode {
    /// The protocol in which an editor drives an agent that is started so; `None` if none does.
    pub fn editor(self) -> Option<Protocol> {
        let spoken = [(ACP, Protocol::Acp), (APP_SERVER, Protocol::AppServer), (SDK, Protocol::Sdk)];
        spoken.into_iter().find(|(of, _)| *of == self).map(|(_, protocol)| protocol)
    }
}

/// What one agent of a scenario is and does. Each match names every agent, so that a new one does not compile until all
/// of this is filled in.
impl Agent {
    /// What is known of it, whatever its release and mode.
    pub fn kind(&self) -> &'static AgentKind {
        match self {
            Agent::Claude(_) => &CLAUDE,
            Agent::Opencode(_) => &OPENCODE,
            Agent::Altimate(_) => &ALTIMATE,
            Agent::Pawwork(_) => &PAWWORK,
            Agent::Codex(_) => &CODEX,
            Agent::Gemini(_) => &GEMINI,
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
            Agent::Codex(_) | Agent::Gemini(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn steps_mut(&mut self) -> Option<&mut Vec<Step>> {
        match self {
            Agent::Program(steps) => Some(steps),
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Pawwork(_) => None,
            Agent::Codex(_) | Agent::Gemini(_) => None,
        }
    }

    /// How it is started, in its file's words; `None` if a file cannot say.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Agent::Claude(claude) => Some(claude.mode.mode()),
            Agent::Opencode(opencode) => Some(opencode.mode.mode()),
            Agent::Altimate(altimate) => Some(altimate.mode.mode()),
            Agent::Pawwork(_) => PAWWORK.modes.first().copied(),
            Agent::Codex(codex) => Some(codex.mode.mode()),
            Agent::Gemini(gemini) => Some(gemini.mode.mode()),
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
            Agent::Codex(codex) => {
                codex.mode = CodexMode::ALL.into_iter().find(|own| own.mode() == mode).unwrap_or_default();
            }
            Agent::Gemini(gemini) => {
                gemini.mode = GeminiMode::ALL.into_iter().find(|own| own.mode() == mode).unwrap_or_default();
            }
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

    /// The protocol in which an editor drives it; `None` if none does.
    pub fn editor(&self) -> Option<Protocol> {
        self.mode()?.editor()
    }

    /// Whether it is driven by an editor.
    pub fn has_editor(&self) -> bool {
        self.editor().is_some()
    }

    /// The release that its file names, or that is played if it names none; `None` if a file cannot name one.
    pub fn release(&self) -> Option<&str> {
        match self {
            Agent::Claude(claude) => Some(&claude.release),
            Agent::Opencode(opencode) => Some(&opencode.release),
            Agent::Codex(codex) => Some(&codex.release),
            Agent::Gemini(gemini) => Some(&gemini.release),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => None,
        }
    }

    /// Names another release; does nothing if a file cannot name one.
    pub fn set_release(&mut self, release: &str) {
        match self {
            Agent::Claude(claude) => release.clone_into(&mut claude.release),
            Agent::Opencode(opencode) => release.clone_into(&mut opencode.release),
            Agent::Codex(codex) => release.clone_into(&mut codex.release),
            Agent::Gemini(gemini) => release.clone_into(&mut gemini.release),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => {}
        }
    }

    /// Whether its command line has the prompt, or it is prompted in another way as its mode says.
    pub fn is_prompted(&self) -> bool {
        match self {
            Agent::Codex(codex) => codex.prompt,
            Agent::Gemini(gemini) => gemini.prompt,
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => true,
        }
    }

    /// How the baseline client drives its server; `None` if it cannot be a server.
    pub fn client(&self) -> Option<Client> {
        match self {
            Agent::Opencode(opencode) => Some(opencode.client),
            Agent::Altimate(altimate) => Some(altimate.client),
            Agent::Pawwork(pawwork) => Some(pawwork.client),
            Agent::Claude(_) | Agent::Program(_) => None,
            Agent::Codex(_) | Agent::Gemini(_) => None,
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

    /// Whether an agent, as the fakes play it, gives up a model's stream that is silent for long (300 s). Only a stream
    /// that sends nothing but signs of life keeps such an agent waiting for ever. A test of the fakes checks this for
    /// each release.
    pub fn gives_silence_up(&self) -> bool {
        match self {
            Agent::Claude(_) => true,
            Agent::Codex(_) | Agent::Gemini(_) => true,
            Agent::Opencode(opencode) => OPENCODE.releases.last() == Some(&opencode.release.as_str()),
            Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => false,
        }
    }

    /// Whether its only reply route is the legacy one for permissions (opencode 1.0.185).
    pub fn has_legacy_replies(&self) -> bool {
        match self {
            Agent::Opencode(opencode) => OPENCODE.releases.first() == Some(&opencode.release.as_str()),
            Agent::Claude(_) | Agent::Altimate(_) | Agent::Pawwork(_) | Agent::Program(_) => false,
            Agent::Codex(_) | Agent::Gemini(_) => false,
        }
    }

    /// Whether its model reasons, for which PawWork waits longer (461b025e2).
    pub fn is_reasoning(&self) -> bool {
        match self {
            Agent::Pawwork(pawwork) => pawwork.reasoning,
            Agent::Claude(_) | Agent::Opencode(_) | Agent::Altimate(_) | Agent::Program(_) => false,
            Agent::Codex(_) | Agent::Gemini(_) => false,
        }
    }
}

/// Whether a plain program prints Claude's messages, and so is read as a Claude stream.
fn prints_messages(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Print(line) if line.starts_with("{\"type\":")))
}

impl ClaudeMode {
    /// All of them, in the order of the file format.
    pub const ALL: [ClaudeMode; 5] =
        [ClaudeMode::Print, ClaudeMode::Json, ClaudeMode::StreamJson, ClaudeMode::Interactive, ClaudeMode::Sdk];

    /// What it comes to.
    pub fn mode(self) -> Mode {
        match self {
            ClaudeMode::Print => PRINT,
            ClaudeMode::Json => JSON,
            ClaudeMode::StreamJson => STREAM_JSON,
            ClaudeMode::Interactive => SCREEN,
            ClaudeMode::Sdk => SDK,
        }
    }
}

impl CodexMode {
    /// All of them, in the order of the file format.
    pub const ALL: [CodexMode; 3] = [CodexMode::Exec, CodexMode::Json, CodexMode::AppServer];

    /// What it comes to.
    pub fn mode(self) -> Mode {
        match self {
            CodexMode::Exec => EXEC,
            CodexMode::Json => EXEC_JSON,
            CodexMode::AppServer => APP_SERVER,
        }
    }
}

impl GeminiMode {
    /// All of them, in the order of the file format.
    pub const ALL: [GeminiMode; 4] =
        [GeminiMode::Print, GeminiMode::Json, GeminiMode::StreamJson, GeminiMode::Interactive];

    /// What it comes to.
    pub fn mode(self) -> Mode {
        match self {
            GeminiMode::Print => GEMINI_PRINT,
            GeminiMode::Json => GEMINI_JSON,
            GeminiMode::StreamJson => GEMINI_EVENTS,
            GeminiMode::Interactive => GEMINI_SCREEN,
        }
    }
}

impl OpencodeMode {
    /// All of them, in the order of the file format.
    pub const ALL: [OpencodeMode; 4] =
        [OpencodeMode::Run, OpencodeMode::Serve, OpencodeMode::Interactive, OpencodeMode::Acp];

    /// What it comes to.
    pub fn mode(self) -> Mode {
        match self {
            OpencodeMode::Run => RUN,
            OpencodeMode::Serve => SERVE,
            OpencodeMode::Interactive => SESSION,
            OpencodeMode::Acp => ACP,
        }
    }

    fn of(mode: Mode) -> OpencodeMode {
        OpencodeMode::ALL.into_iter().find(|own| own.mode() == mode).unwrap_or_default()
    }
}
