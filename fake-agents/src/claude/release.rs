//! The differences between the releases that are played: 1.0.128, 2.0.77 and 2.1.329.
//!
//! Invariant: every difference between releases is decided here or in `texts`; the engine asks, and does not compare
//! versions. Values are as recorded (tests/golden/claude-*), unless [`super::behaviours`] marks them `read`.

use crate::ReleaseError;
use rehang_scenario::{Span, Transport, turns::WaitsFor};

/// A release of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// 1.0.128: it has no AskUserQuestion.
    V1_0_128,
    /// 2.0.77: AskUserQuestion is offered even if nobody can answer.
    V2_0_77,
    /// 2.1.329: AskUserQuestion is offered only if somebody can answer.
    V2_1_329,
}

impl Release {
    /// All releases, oldest first.
    pub const ALL: [Release; 3] = [Release::V1_0_128, Release::V2_0_77, Release::V2_1_329];

    /// The release of this version.
    ///
    /// # Errors
    /// It is none of the versions that are played.
    pub fn parse(version: &str) -> Result<Release, ReleaseError> {
        Release::ALL.into_iter().find(|r| r.version() == version).ok_or_else(|| ReleaseError::Unknown {
            fake: "fake-claude",
            version: version.to_owned(),
            plays: Release::ALL.into_iter().map(Release::version).collect(),
        })
    }

    /// The release's version.
    pub fn version(self) -> &'static str {
        match self {
            Release::V1_0_128 => "1.0.128",
            Release::V2_0_77 => "2.0.77",
            Release::V2_1_329 => "2.1.329",
        }
    }

    /// How long it waits for its tool server's answer to `initialize` before it begins without it (recorded over HTTP for
    /// 2.0.77 and 2.1.329; measured over stdio in virtual time, of 2.1.329 with a server that is mute at `initialize` alone;
    /// for 1.0.128 the same as for 2.0.77 is assumed).
    pub fn server_limit(self, over: Transport) -> Span {
        match (self, over) {
            (Release::V1_0_128 | Release::V2_0_77, _) => Span::secs(30),
            (Release::V2_1_329, Transport::Http) => Span::secs(25),
            (Release::V2_1_329, Transport::Stdio) => Span::secs(27),
        }
    }

    /// How long it waits for each answer of its client's own tool server before its prompt begins without it (recorded in
    /// virtual time; 2.1.329 says hello twice).
    pub fn own_server_limit(self) -> Span {
        Span::secs(if self == Release::V2_1_329 { 30 } else { 60 })
    }

    /// Whether it begins a connection to its client's tool server when a prompt comes, if there is none by then (recorded).
    pub fn connects_again(self) -> bool {
        self != Release::V2_1_329
    }

    /// How long it then waits for the list of its tools; `None`: as long as is left of [`Release::server_limit`] (recorded
    /// likewise).
    pub fn list_limit(self) -> Option<Span> {
        match self {
            Release::V1_0_128 | Release::V2_0_77 => Some(Span::secs(60)),
            Release::V2_1_329 => None,
        }
    }

    /// What it calls a tool server that has answered `initialize` and not said which tools it has (recorded likewise).
    pub fn without_list(self) -> &'static str {
        match self {
            Release::V1_0_128 | Release::V2_0_77 => "connected",
            Release::V2_1_329 => "pending",
        }
    }

    /// How long a tool server over HTTP may be silent in a call before the call is given up (recorded for 2.1.329, whose words
    /// name `CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT`; the others have none within 330 s, and over stdio 2.1.329 has none within
    /// 420 s: UPSTREAM.md). Comments on the stream are no sign of life to it.
    pub fn call_limit(self) -> Option<Span> {
        match self {
            Release::V1_0_128 | Release::V2_0_77 => None,
            Release::V2_1_329 => Some(Span::secs(300)),
        }
    }

    /// How long after the connection broke off in the middle of a call the call is given up (recorded for 2.1.329: 120 s in two
    /// runs, 90 s in another).
    pub fn dropped_limit(self) -> Option<Span> {
        match self {
            Release::V1_0_128 | Release::V2_0_77 => None,
            Release::V2_1_329 => Some(Span::secs(120)),
        }
    }

    /// How often a call of a tool server's tool says that it still runs (recorded for 2.1.329).
    pub fn tool_beats(self) -> Option<Span> {
        match self {
            Release::V1_0_128 | Release::V2_0_77 => None,
            Release::V2_1_329 => Some(Span::secs(30)),
        }
    }

    /// The model that it names (recorded).
    pub fn model(self) -> &'static str {
        match self {
            Release::V1_0_128 => "claude-sonnet-4-20250514",
            Release::V2_0_77 => "claude-sonnet-4-5-20250929",
            Release::V2_1_329 => "claude-opus-5-5",
        }
    }

    /// The tools of `system/init` (recorded); `answerer`: somebody can answer a question.
    pub fn tools(self, answerer: bool) -> Vec<&'static str> {
        let all: &[&str] = match self {
            Release::V1_0_128 => &[
                "Task",
                "Bash",
                "Glob",
                "Grep",
                "ExitPlanMode",
                "Read",
                "Edit",
                "MultiEdit",
                "Write",
                "NotebookEdit",
                "WebFetch",
                "TodoWrite",
                "WebSearch",
                "BashOutput",
                "KillShell",
                "SlashCommand",
            ],
            Release::V2_0_77 => &[
                "Task",
                "TaskOutput",
                "Bash",
                "Glob",
                "Grep",
                "ExitPlanMode",
                "Read",
                "Edit",
                "Write",
                "NotebookEdit",
                "WebFetch",
                "TodoWrite",
                "WebSearch",
                "KillShell",
                "AskUserQuestion",
                "Skill",
                "EnterPlanMode",
                "LSP",
            ],
            Release::V2_1_329 => &[
                "Task",
                "AskUserQuestion",
                "Bash",
                "CronCreate",
                "CronDelete",
                "CronList",
                "Edit",
                "EnterPlanMode",
                "EnterWorktree",
                "ExitPlanMode",
                "ExitWorktree",
                "ListAgents",
                "Monitor",
                "NotebookEdit",
                "Read",
                "ReportFindings",
                "ScheduleWakeup",
                "SendMessage",
                "Skill",
                "TaskStop",
                "ToolSearch",
                "WebFetch",
                "WebSearch",
                "Workflow",
                "Write",
            ],
        };
        let needs_answerer = |tool: &&str| {
            self == Release::V2_1_329 && matches!(*tool, "AskUserQuestion" | "EnterPlanMode" | "ExitPlanMode")
        };
        all.iter().copied().filter(|tool| answerer || !needs_answerer(tool)).collect()
    }

    /// How long `-p` with a prompt waits for the first byte of a stdin that is no terminal; `None`: to its end.
    pub fn stdin_limit(self) -> Option<Span> {
        (self == Release::V2_1_329).then_some(Span::secs(3))
    }

    /// Whether a block's message is written only when the model's next text is there, with the stop reason of the whole
    /// response.
    pub fn holds_last_block(self) -> bool {
        self < Release::V2_1_329
    }

    /// Whether a response that is cut in the middle of a text is dropped, with the turn, and one that is refused or reset
    /// is asked for at once as one whole message; 2.1.329 tries both again.
    pub fn drops_cut_response(self) -> bool {
        self < Release::V2_1_329
    }

    /// Whether a stream that was given up as silent after its finish counts as a whole response, and one that was
    /// silent after a call has that call run; older ones ask for the response again in both cases.
    pub fn keeps_silent_response(self) -> bool {
        self == Release::V2_1_329
    }

    /// How often a request that failed is tried again; `whole`: it asks for a whole message, in place of a broken
    /// stream (2.1.329 counts to 9 there: measured).
    pub fn retries_max(self, whole: bool) -> u32 {
        RETRIES_MAX - u32::from(whole && self == Release::V2_1_329)
    }

    /// Whether it says that a request which did not get through is tried again (measured; for a refused one it is not
    /// known).
    pub fn tells_of_retries(self) -> bool {
        self == Release::V2_1_329
    }

    /// Whether an interrupt shows the text that it cut short.
    pub fn shows_cut_words(self) -> bool {
        self == Release::V2_1_329
    }

    /// What a command's call waits for.
    pub fn waits_for(self) -> WaitsFor {
        if self == Release::V2_1_329 { WaitsFor::Exit } else { WaitsFor::Pipes }
    }

    /// Whether a command that is over its limit is moved to the background: the model is told so, and goes on.
    pub fn moves_commands(self) -> bool {
        self > Release::V1_0_128
    }

    /// Whether it lives until its commands in the background have ended, and tells the model so (recorded).
    pub fn stays_for_commands(self) -> bool {
        self == Release::V2_1_329
    }

    /// How long a command may run in the background: as 2.1.329 tells its model.
    pub fn background_limit(self) -> Option<Span> {
        self.stays_for_commands().then_some(Span::mins(10))
    }

    /// Whether its commands are ended when it leaves, by itself or by a signal; those of 1.0.128 and 2.0.77 go on
    /// (recorded).
    pub fn ends_commands_with_itself(self) -> bool {
        self == Release::V2_1_329
    }

    /// Whether a run that prints ends in order when its terminal hangs up; 1.0.128 and 2.0.77 die of SIGHUP (recorded).
    pub fn catches_hang_up(self) -> bool {
        self == Release::V2_1_329
    }

    /// Whether a command's limit is cut to [`BASH_LIMIT_MAX`] if the model asks for more.
    pub fn cuts_bash_limit(self) -> bool {
        self == Release::V2_1_329
    }

    /// How long a command runs before it is called a task on the wire; `None`: it never is.
    pub fn task_after(self) -> Option<Span> {
        (self == Release::V2_1_329).then_some(Span::secs(3))
    }

    /// Whether an interrupted turn is an error: in its result, and in the exit code of a process that ends after it.
    pub fn interrupt_is_error(self) -> bool {
        self == Release::V2_1_329
    }

    /// Whether it calls a subagent a task, names it in each of its messages and frames its report (recorded).
    pub fn tells_of_subagents(self) -> bool {
        self == Release::V2_1_329
    }

    /// The tool that starts a subagent, as the model calls it.
    pub fn subagent_tool(self) -> &'static str {
        if self.tells_of_subagents() { "Agent" } else { "Task" }
    }

    /// How long a hook may take if its settings say nothing. Read: 60 s in 1.0.128 and 2.0.77, 10 min in 2.1.329.
    pub fn hook_limit(self) -> Span {
        if self == Release::V2_1_329 { Span::mins(10) } else { Span::secs(60) }
    }

    /// How long a hook of the session's end may take if its settings say nothing: 2.1.329 gives it 1.5 s (recorded).
    pub fn end_hook_limit(self) -> Span {
        if self == Release::V2_1_329 { Span::ms(1_500) } else { self.hook_limit() }
    }

    /// Whether a callback of the host is given up after its limit; 1.0.128 waits for it without one (recorded).
    pub fn limits_callbacks(self) -> bool {
        self > Release::V1_0_128
    }

    /// The limit of a callback that is told of a prompt, if it has one of its own; the prompt is then blocked (recorded).
    pub fn prompt_check_limit(self) -> Option<Span> {
        (self == Release::V2_1_329).then_some(Span::secs(30))
    }

    /// How long an ask is open before hooks are told of it: 6 s in 2.1.329 (recorded); older ones told nobody in 9 s.
    pub fn notice_after(self) -> Option<Span> {
        (self == Release::V2_1_329).then_some(Span::secs(6))
    }

    /// Whether a settings hook is shown on the wire: one of the session's start, or one of any event if it was asked
    /// for.
    pub fn shows_hook(self, at_start: bool, asked_for: bool) -> bool {
        match self {
            Release::V1_0_128 => false,
            Release::V2_0_77 => at_start,
            Release::V2_1_329 => at_start || asked_for,
        }
    }

    /// What the end of a hook's command waits for.
    pub fn hook_waits_for(self) -> WaitsFor {
        if self == Release::V2_1_329 { WaitsFor::Exit } else { WaitsFor::Pipes }
    }

    /// Whether a control request of a kind that it does not know is refused; older releases do not answer it at all.
    pub fn refuses_unknown_requests(self) -> bool {
        self == Release::V2_1_329
    }

    /// Whether `num_turns` counts the assistant's messages too.
    pub fn counts_assistant(self) -> bool {
        self == Release::V1_0_128
    }
}

/// How long the model's stream may be silent before it is given up, and the response is asked for again as a whole. Any
/// byte counts. Measured on 1.0.128, 2.0.77 and 2.1.329: 300 s in each. In the older ones it is the limit of undici under
/// them (`bodyTimeout`, which Node sets to 300 s); the newest has one of its own (`CLAUDE_STREAM_IDLE_TIMEOUT_MS`). 2.1.113,
/// which is not played, has none: its runtime is Bun.
pub const SILENCE_MAX: Span = Span::secs(300);

/// How often in a row hooks can keep 2.1.329 from ending its turn (`CLAUDE_CODE_STOP_HOOK_BLOCK_CAP`, recorded).
pub const STOPS_BLOCKED_MAX: u32 = 8;

/// How often a failed request is tried again (`CLAUDE_CODE_MAX_RETRIES`, 2.0.77: 10).
const RETRIES_MAX: u32 = 10;

/// The wait before try `n` (from 1) is repeated: 0.5 s, doubled up to 32 s; the real one adds up to 25 % at random.
pub fn backoff(n: u32) -> Span {
    Span::ms(500u64.saturating_mul(1 << n.saturating_sub(1).min(6)).min(32_000))
}

/// A bash command's time limit if the model sets none (`BASH_DEFAULT_TIMEOUT_MS`).
pub const BASH_LIMIT: Span = Span::secs(120);
/// The longest time limit that the model can set (`BASH_MAX_TIMEOUT_MS`).
pub const BASH_LIMIT_MAX: Span = Span::mins(10);
/// How many characters of a command's output the model is shown (`BASH_MAX_OUTPUT_LENGTH`).
pub const BASH_OUTPUT_MAX: usize = 30_000;
/// The time from SIGTERM to SIGKILL, if a scenario's bash tool escalates: opencode's SIGKILL_TIMEOUT_MS.
pub const KILL_GRACE: Span = Span::ms(200);
/// The folder that every release reports as its working folder.
pub const CWD: &str = "/home/agent/project";
