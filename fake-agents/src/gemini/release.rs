//! The differences between the releases that are played: 0.11.3, 0.29.0 and 0.61.0.
//!
//! Invariant: every difference between releases is a field here; the other modules ask the field and never the version.
//! [`super::behaviours`] says how each value is known.

use crate::ReleaseError;
use rehang_scenario::Span;
use rehang_scenario::turns::{ChildStdin, WaitsFor};

/// What the releases that keep sessions say if there are none.
const NO_SESSIONS: &str = "No previous sessions found for this project.\n";

/// What a release of Gemini CLI does as no other, or not as all others do.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: &'static str,
    /// The model that its `init` event names.
    pub model: &'static str,
    /// Whether a positional prompt at a terminal opens a session; otherwise it runs once, as `-p` does.
    pub positional_opens_session: bool,
    /// Whether it runs without a person in a trusted folder alone.
    pub wants_trust: bool,
    /// Whether the folder of its settings is that of a variable of its own; otherwise the system's settings are a file that a
    /// variable names.
    pub has_home: bool,
    /// Whether a model that makes the same call for the fifth time is warned, before the run ends if it makes it again.
    pub warns_of_loop: bool,
    /// The exit code if it is given nothing to do.
    pub no_input: u8,
    /// What a command's child has as stdin: with a pseudo-terminal of its own, it can wait there for a key for ever.
    pub child_stdin: ChildStdin,
    /// What it waits for at a command's end.
    pub waits_for: WaitsFor,
    /// Whether it catches SIGINT, SIGTERM and SIGHUP without a terminal, and ends with 0; its commands go on then. Otherwise
    /// they end it, and its commands lose their terminals.
    pub catches_signals: bool,
    /// Whether Ctrl-C at a terminal cancels a run; otherwise it ends it as SIGINT does.
    pub ctrl_c_cancels: bool,
    /// How long a command may print nothing before it is ended; `None`: without limit.
    pub inactivity: Option<Span>,
    /// Whether a command's output loses all white space around it; a pseudo-terminal's keeps it within its last line.
    pub trims: bool,
    /// The columns to which it fills up the lines of a command's output, but the last: those of its pseudo-terminal.
    pub pads_to: usize,
    /// Whether a person is shown, of a command that was ended, both why and its output.
    pub shows_why: bool,
    /// Whether the calls of one response run at the same time.
    pub together: bool,
    /// Whether it has a tool with which the model starts a subagent.
    pub has_subagents: bool,
    /// Whether it can ask a question at a terminal.
    pub has_questions: bool,
    /// The waits before a request that was refused with 429 or 5xx is sent again; after the last one it gives up. They
    /// begin with 5 s and double up to 30 s (retry.js), which the real one varies by up to 30 % at random. 0.29.0 does
    /// that twice, half a second apart (geminiChat.js).
    pub refused: &'static [Span],
    /// After how many of these waits a request that was refused with 429 is given up.
    pub refused_429: usize,
    /// What it says of a request that was refused with 429, after the server's own text; `None`: the server's whole answer.
    pub says_429: Option<&'static str>,
    /// The exit code after it; `None`: the status, in eight bits.
    pub exit_429: Option<u8>,
    /// Whether the model is told of processes that a command left in its group.
    pub lists_left: bool,
    /// The waits before a response that was cut is asked for again; after the last one it gives up.
    pub cut: &'static [Span],
    /// Whether a stream that is lost, or silent for too long, is asked for again as a cut one is.
    pub asks_again_if_lost: bool,
    /// Whether it says that a response was given up; otherwise the run ends as a success.
    pub says_cut: bool,
    /// Whether an error of the API is its result; otherwise the run ends as a success.
    pub says_error: bool,
    /// The type that an error of the API has in its result.
    pub error_type: &'static str,
    /// What its model is told of a tool that does not exist: before and after the tool's name.
    pub no_such_tool: [&'static str; 2],
    /// The tools that it proposes in place of the shell, of a question and of a subagent.
    pub proposes: [&'static str; 3],
    /// Whether a command's result lists all its parts, also those that are empty.
    pub lists_all: bool,
    /// Whether a command's result is marked as untrusted.
    pub marks_untrusted: bool,
    /// Whether a call's id begins with its tool.
    pub prefixes_ids: bool,
    /// Whether its statistics count cached tokens.
    pub counts_cached: bool,
    /// Whether its statistics count for each model.
    pub counts_models: bool,
    /// Whether the object at the end of a run names the session.
    pub names_session: bool,
    /// How often it says that it asks for nothing.
    pub yolo_lines: usize,
    /// The same before a list.
    pub yolo_lines_of_lists: usize,
    /// What it says on stderr of extensions if there are none.
    pub no_extensions: &'static str,
    /// What it says on stdout of sessions if there are none; an error in a release that has no such list.
    pub no_sessions: Result<&'static str, &'static str>,
}

/// All releases, oldest first.
pub static ALL: [Release; 3] = [
    Release {
        version: "0.11.3",
        model: "auto",
        positional_opens_session: false,
        wants_trust: false,
        has_home: false,
        warns_of_loop: false,
        no_input: 1,
        child_stdin: ChildStdin::Pipe,
        catches_signals: false,
        ctrl_c_cancels: false,
        waits_for: WaitsFor::Exit,
        inactivity: None,
        trims: false,
        pads_to: 80,
        shows_why: false,
        together: false,
        has_subagents: false,
        has_questions: false,
        refused: &[Span::secs(5), Span::secs(10)],
        refused_429: 2,
        says_429: None,
        exit_429: None,
        lists_left: true,
        cut: &[Span::ms(500), Span::ZERO, Span::ms(500)],
        asks_again_if_lost: false,
        says_cut: false,
        says_error: false,
        error_type: "Error",
        no_such_tool: ["Tool \"", "\" not found in registry. Tools must use the exact names that are registered."],
        proposes: [
            "\"search_file_content\", \"read_file\", \"web_fetch\"",
            "\"replace\", \"read_file\", \"glob\"",
            "\"save_memory\", \"read_file\", \"glob\"",
        ],
        lists_all: true,
        marks_untrusted: false,
        prefixes_ids: false,
        counts_cached: false,
        counts_models: false,
        names_session: false,
        yolo_lines: 1,
        yolo_lines_of_lists: 0,
        no_extensions: "Installed extensions:\n",
        no_sessions: Err("Unknown arguments: list-sessions, listSessions\n"),
    },
    Release {
        version: "0.29.0",
        model: "auto-gemini-3",
        positional_opens_session: true,
        wants_trust: false,
        has_home: true,
        warns_of_loop: false,
        no_input: 42,
        child_stdin: ChildStdin::Pipe,
        catches_signals: false,
        ctrl_c_cancels: true,
        waits_for: WaitsFor::Exit,
        inactivity: Some(INACTIVITY),
        trims: false,
        pads_to: 0,
        shows_why: false,
        together: false,
        has_subagents: false,
        has_questions: true,
        refused: &[Span::secs(5), Span::secs(10), Span::ms(500), Span::secs(5), Span::secs(10)],
        refused_429: 2,
        says_429: Some(""),
        exit_429: Some(1),
        lists_left: true,
        cut: &[Span::ZERO],
        asks_again_if_lost: false,
        says_cut: false,
        says_error: true,
        error_type: "Error",
        no_such_tool: ["Tool \"", "\" not found."],
        proposes: [
            "\"grep_search\", \"cli_help\", \"read_file\"",
            "\"replace\", \"cli_help\", \"read_file\"",
            "\"save_memory\", \"cli_help\", \"read_file\"",
        ],
        lists_all: false,
        marks_untrusted: false,
        prefixes_ids: false,
        counts_cached: true,
        counts_models: false,
        names_session: true,
        yolo_lines: 2,
        yolo_lines_of_lists: 2,
        no_extensions: "Installed extensions:\n",
        no_sessions: Ok(NO_SESSIONS),
    },
    Release {
        version: "0.61.0",
        model: "auto",
        positional_opens_session: true,
        wants_trust: true,
        has_home: true,
        warns_of_loop: true,
        no_input: 42,
        child_stdin: ChildStdin::Null,
        catches_signals: true,
        ctrl_c_cancels: true,
        waits_for: WaitsFor::Pipes,
        inactivity: Some(INACTIVITY),
        trims: true,
        pads_to: 0,
        shows_why: true,
        together: true,
        has_subagents: true,
        has_questions: true,
        refused: &REFUSED_61,
        refused_429: 9,
        says_429: Some(QUOTA),
        exit_429: None,
        lists_left: false,
        cut: &[Span::secs(1), Span::secs(2), Span::secs(4)],
        asks_again_if_lost: true,
        says_cut: true,
        says_error: true,
        error_type: "unknown",
        no_such_tool: ["Tool \"", "\" not found."],
        proposes: [
            "\"update_topic\", \"grep_search\", \"invoke_agent\"",
            "\"replace\", \"read_file\", \"grep_search\"",
            "\"replace\", \"read_file\", \"grep_search\"",
        ],
        lists_all: false,
        marks_untrusted: true,
        prefixes_ids: true,
        counts_cached: true,
        counts_models: true,
        names_session: true,
        yolo_lines: 2,
        yolo_lines_of_lists: 2,
        no_extensions: "",
        no_sessions: Ok(NO_SESSIONS),
    },
];

impl Release {
    /// The release of this version.
    ///
    /// # Errors
    /// It is none of the versions that are played.
    pub fn parse(version: &str) -> Result<&'static Release, ReleaseError> {
        ALL.iter().find(|release| release.version == version).ok_or_else(|| ReleaseError::Unknown {
            fake: "fake-gemini",
            version: version.to_owned(),
            plays: ALL.iter().map(|release| release.version).collect(),
        })
    }
}

/// The call that ends a run if it is the same as so many before it, itself counted (`TOOL_CALL_LOOP_THRESHOLD`,
/// loopDetectionService.js).
pub const SAME_CALLS_MAX: u32 = 5;
/// How long a command may print nothing (`tools.shell.inactivityTimeout`, default 300 s; config.js of 0.29.0 and 0.61.0).
const INACTIVITY: Span = Span::secs(300);
/// How long it waits for the first byte of a stdin that is no terminal (`pipedInputShouldBeAvailableInMs`, readStdin.js).
/// After the first byte it reads to the end, without limit.
pub const STDIN_FIRST_BYTE: Span = Span::ms(500);
/// The most bytes of stdin that become a prompt (`MAX_STDIN_SIZE`, readStdin.js).
pub const STDIN_MAX: usize = 8 * 1024 * 1024;
/// The time from SIGTERM to SIGKILL of a command that is ended (`SIGKILL_TIMEOUT_MS`, shellExecutionService.js).
pub const KILL_GRACE: Span = Span::ms(200);
/// How long the model's stream may be silent: undici's `bodyTimeout`, which Node sets to 300 s.
pub const SILENCE_MAX: Span = Span::secs(300);
/// What 0.61.0 says after a refusal with 429.
const QUOTA: &str = "\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, \
                     or switch to another /auth method";
/// 0.61.0 sends a request ten times.
const REFUSED_61: [Span; 9] = {
    let mut all = [Span::secs(30); 9];
    (all[0], all[1], all[2]) = (Span::secs(5), Span::secs(10), Span::secs(20));
    all
};
