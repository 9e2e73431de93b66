//! The differences between the releases that are played: 0.45.0, 0.58.0, 0.116.0 and 0.169.0.
//!
//! Invariant: every difference between releases is a field of [`Release`] or decided by one; the program asks, and does
//! not compare versions. Values are as recorded (tests/golden/codex-*), unless [`super::behaviours`] marks them `read`.

use crate::ReleaseError;
use rehang_scenario::Span;

/// A release of Codex.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: &'static str,
    /// How it runs commands.
    pub shell: Shell,
    /// Whether the commands of one response run at the same time.
    pub together: bool,
    /// Whether a response ends with its connection, and not with `response.completed`.
    pub reads_to_the_end: bool,
    /// What becomes of a response that says of itself that it is incomplete.
    pub incomplete: Incomplete,
    /// Whether `exec`, but not `exec resume`, reads a stdin that is no terminal to its end, though a prompt is given
    /// (0.169.0).
    pub reads_stdin_beside_prompt: bool,
    /// Whether `resume --last` takes a prompt; otherwise it takes the first word for a session, and refuses both.
    pub last_takes_prompt: bool,
    /// Whether `resume` of a session that is not there fails; otherwise it begins one.
    pub misses_session: bool,
    /// The exit code after SIGINT.
    pub exit_interrupted: u8,
    /// How it keeps a session.
    pub kept: Kept,
    /// How `app-server` speaks.
    pub server: Protocol,
    /// Whether a request that is refused with 429 is tried again.
    pub retries_429: bool,
    /// How it says that a broken stream is asked for again.
    pub retry_words: RetryWords,
    /// Whether a command's `item.started` has `"exit_code":null`.
    pub starts_with_exit_code: bool,
    /// What the model is told of a question: no release can ask one in `exec`.
    pub told_of_question: &'static str,
    /// What the model is told if it asks to run a command outside of the sandbox.
    pub told_of_escalation: &'static str,
    /// What the model is told of a patch in a sandbox that may not write, where nobody is asked.
    pub told_of_patch: &'static str,
    /// What is said of a server's error (5xx).
    pub overloaded: &'static str,
    /// What is said of a stream that was reset.
    pub reset: &'static str,
    /// Lines on stderr before the turn, without `--json`.
    pub greeting: &'static [&'static str],
    /// What follows the version in the first line.
    pub preview: &'static str,
    /// How it sums reasoning up, as its head says.
    pub summaries: &'static str,
    /// A warning that comes before the turn: its model is not in the release's list.
    pub model_warning: Option<&'static str>,
    /// Whether `usage` also counts what was written to a cache and what was reasoned.
    pub usage_is_long: bool,
    /// Whether the model is told the command line again.
    pub tells_command: bool,
    /// Whether a command that still runs at the turn's end is reported as completed.
    pub completes_running: bool,
    /// Whether the output of a command is on a line of its own, after the command.
    pub breaks_command_line: bool,
    /// Whether the last error is said twice without `--json`.
    pub fails_twice: bool,
}

/// How a release runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// `shell`: waits for the end of the command, and then for its pipes: for this long each, or without a limit.
    Waits(Option<Span>),
    /// `exec_command`: after [`YIELD`] the model is told that the command runs on, and the command is a terminal in the
    /// background.
    Yields,
}

/// How a release keeps a session ([`super::rollout`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A prompt has a kind; a response's items are kept once all its calls have ended (0.45.0).
    Kind,
    /// The same, and a prompt has images (0.58.0).
    Images,
    /// Turns have ids and an end; an item is kept at once (0.116.0).
    Tasks,
    /// What was a message is an item; lines are numbered (0.169.0).
    Items,
}

impl Kept {
    /// Whether turns have ids and an end, what was used is counted over all of them, and the last session is the last
    /// of its folder.
    pub fn names_turns(self) -> bool {
        matches!(self, Kept::Tasks | Kept::Items)
    }
}

/// How `app-server` speaks to its client ([`super::app_server`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Conversations and raw events (0.45.0).
    Conversations,
    /// The same, and the first of threads, whose turns have no end (0.58.0).
    Both,
    /// Threads and turns (0.116.0).
    Threads,
    /// The same, and each message and item has its instant (0.169.0).
    Timed,
}

/// What becomes of a response that says of itself that it is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// It has no end: it is asked for again, as one that was cut.
    NoEnd,
    /// It is asked for again, and its reason is said.
    Breaks,
    /// The turn fails.
    Fails,
}

/// How a release says that a broken stream is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryWords {
    /// `stream error: WHY; retrying 1/5 in 200ms…`
    StreamError,
    /// `Reconnecting... 1/5`
    Reconnecting,
    /// `Reconnecting... 1/5 (WHY)`
    Because,
    /// The same with `--json`; without it `ERROR: Reconnecting... 1/5`.
    Error,
}

const V0_58: Release = Release {
    version: "0.58.0",
    shell: Shell::Waits(Some(IO_DRAIN)),
    together: false,
    reads_to_the_end: true,
    incomplete: Incomplete::NoEnd,
    reads_stdin_beside_prompt: false,
    last_takes_prompt: false,
    misses_session: false,
    exit_interrupted: 0,
    kept: Kept::Images,
    server: Protocol::Both,
    retries_429: true,
    retry_words: RetryWords::Reconnecting,
    starts_with_exit_code: true,
    told_of_question: "unsupported call: request_user_input",
    told_of_escalation: "approval policy is Never; reject command — you should not ask for escalated permissions if the \
                         approval policy is Never",
    told_of_patch: "patch rejected: writing outside of the project; rejected by user approval settings",
    reset: "stream disconnected before completion: Transport error: Error while reading the server response: error \
            decoding response body",
    overloaded: "We're currently experiencing high demand, which may cause temporary errors.",
    greeting: &["Snapshots disabled: current directory is not a Git repository."],
    preview: " (research preview)",
    summaries: "auto",
    model_warning: None,
    usage_is_long: false,
    tells_command: false,
    completes_running: false,
    breaks_command_line: false,
    fails_twice: false,
};

const V0_116: Release = Release {
    reset: "stream disconnected before completion: Transport error: network error: error decoding response body",
    version: "0.116.0",
    shell: Shell::Yields,
    together: true,
    reads_to_the_end: false,
    incomplete: Incomplete::Breaks,
    last_takes_prompt: true,
    kept: Kept::Tasks,
    server: Protocol::Threads,
    retries_429: false,
    retry_words: RetryWords::Because,
    told_of_question: "request_user_input is unavailable in Default mode",
    told_of_escalation: "approval policy is Never; reject command — you cannot ask for escalated permissions if the \
                         approval policy is Never",
    greeting: &["mcp startup: no servers"],
    summaries: "none",
    tells_command: true,
    completes_running: true,
    ..V0_58
};

impl Release {
    /// All releases, oldest first.
    pub const ALL: [&Release; 4] = [
        &Release {
            version: "0.45.0",
            reset: "stream disconnected before completion: Transport error: error decoding response body",
            shell: Shell::Waits(None),
            kept: Kept::Kind,
            server: Protocol::Conversations,
            retry_words: RetryWords::StreamError,
            starts_with_exit_code: false,
            greeting: &[],
            ..V0_58
        },
        &V0_58,
        &V0_116,
        &Release {
            version: "0.169.0",
            incomplete: Incomplete::Fails,
            reads_stdin_beside_prompt: true,
            misses_session: true,
            exit_interrupted: 1,
            kept: Kept::Items,
            server: Protocol::Timed,
            told_of_patch: "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
            retry_words: RetryWords::Error,
            overloaded: "We’re currently experiencing high demand, which may cause temporary errors.",
            greeting: &[],
            preview: "",
            model_warning: Some(
                "Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance \
                 and cause issues.",
            ),
            usage_is_long: true,
            tells_command: false,
            completes_running: false,
            breaks_command_line: true,
            fails_twice: true,
            ..V0_116
        },
    ];

    /// The release of this version.
    ///
    /// # Errors
    /// It is none of the versions that are played.
    pub fn parse(version: &str) -> Result<&'static Release, ReleaseError> {
        Release::ALL.into_iter().find(|release| release.version == version).ok_or_else(|| ReleaseError::Unknown {
            fake: "fake-codex",
            version: version.to_owned(),
            plays: Release::ALL.map(|release| release.version).to_vec(),
        })
    }

    /// A command line as the release runs it. `/bin/sh` is the sandbox's user's shell, as recorded.
    pub fn in_shell(&self, command: &str) -> String {
        let quoted = || match command.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c)) {
            true if !command.is_empty() => command.to_owned(),
            _ => format!("'{}'", command.replace('\'', r"'\''")),
        };
        match self.shell {
            Shell::Waits(_) => format!("bash -lc {}", quoted()),
            Shell::Yields => format!("/bin/sh -lc {}", quoted()),
        }
    }
}

/// What one response of the scripted model is charged: input and output tokens.
pub const TOKENS: (u32, u32) = (10, 3);
/// How long each pipe of a command is read after its end (0.58.0: 4.0 s with both held).
const IO_DRAIN: Span = Span::secs(2);
/// How long the output of a command is read after its end (0.116.0 and 0.169.0: `Wall time: 0.0503`).
pub const TRAILING: Span = Span::ms(50);
/// The time limit of `shell` if the model sets none (codex-rs/core/src/exec.rs).
pub const SHELL_LIMIT: Span = Span::secs(10);
/// How long `exec_command` waits before it tells the model that the command runs on.
pub const YIELD: Span = Span::secs(10);
/// How long a command has run before `app-server` says that it runs: what it prints before is no delta (0.116.0, 0.169.0).
pub const SHOWN_AFTER: Span = Span::ms(150);
/// The time limit of a call of a tool server (0.116.0: 120.0 s; 0.169.0 has none while the user is asked).
pub const SERVER_LIMIT: Span = Span::secs(120);
/// How long after its answer a turn begins, where it does not begin at once: until then there is none to interrupt (0.169.0:
/// 10 to 20 ms).
pub const TURN_BEGINS: Span = Span::ms(10);
/// The exit code that is reported once a time limit has passed.
pub const TIMED_OUT: i32 = 124;
/// How many bytes of a command's output are kept (`EXEC_OUTPUT_MAX_BYTES`, 0.116.0; read).
pub const OUTPUT_MAX_BYTES: usize = 1024 * 1024;

/// How long the model's stream may be without an event, a comment being none (`stream_idle_timeout_ms`; recorded: 5 min,
/// also with a keep-alive every 5 s).
pub const IDLE: Span = Span::mins(5);
/// How often a stream that broke is asked for again (`stream_max_retries`).
pub const STREAM_RETRIES: u32 = 5;
/// How often a request that was refused is tried again, for each stream (`request_max_retries`).
pub const REQUEST_RETRIES: u32 = 4;

/// The wait before try `n` (from 1) is repeated: 0.2 s, doubled each time (`codex-rs/core/src/util.rs`); the real one
/// adds or takes up to 10 % at random.
pub fn backoff(n: u32) -> Span {
    Span::ms(200u64.saturating_mul(1 << n.saturating_sub(1).min(16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_of_those_that_are_played() {
        assert_eq!(Release::ALL.map(|one| one.version), rehang_scenario::agents::CODEX.releases);
        let error = Release::parse("0.44.0").unwrap_err();
        assert_eq!(error.to_string(), "fake-codex does not play 0.44.0; it plays 0.45.0, 0.58.0, 0.116.0, 0.169.0");
    }

    #[test]
    fn the_waits_are_those_of_a_recording() {
        // model-500 with retries: the messages are 3.4, 3.4, 3.8, 4.6 and 6.2 s apart, give or take 10 %
        let requests: u64 = (1..=REQUEST_RETRIES).map(|n| backoff(n).as_ms()).sum();
        assert_eq!(
            (1..=5).map(|n| requests + backoff(n).as_ms()).collect::<Vec<_>>(),
            [3_200, 3_400, 3_800, 4_600, 6_200]
        );
    }

    #[test]
    fn a_command_line_is_quoted_as_a_shell_needs_it() {
        let [old, .., new] = Release::ALL;
        assert_eq!(old.in_shell("step1"), "bash -lc step1");
        assert_eq!(new.in_shell("npm ci"), "/bin/sh -lc 'npm ci'");
        assert_eq!(new.in_shell("echo it's"), r"/bin/sh -lc 'echo it'\''s'");
    }
}
