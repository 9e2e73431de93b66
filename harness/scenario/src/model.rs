//! A scenario, typed: one TOML file after `[[vary]]` and `[control]` are applied and defaults filled in.
//!
//! Invariant: every enum is externally tagged and no struct is flattened, so that an error keeps its place
//! in the file; what can be a list is always a list.

use crate::policy::Policy;
use crate::time::Span;
use crate::turns::Turn;
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
    /// What goes wrong.
    #[serde(default)]
    #[schemars(length(max = crate::limits::FAULTS))]
    pub faults: Vec<Fault>,
    /// Who can act, by which way.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub people: Vec<Person>,
    /// How often the caller runs the agent, one run behind the other, whatever came of each. A server lives on, and
    /// gets its next prompt in the same session; any other agent is started anew. The last run's end is the cell's.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = crate::limits::RUNS))]
    pub runs: u32,
    /// How long the cell goes on behind its end, so that what comes too late is seen. The outcome stays as it was.
    #[serde(default)]
    pub afterwards: Option<Span>,
    /// The agent's environment; it has no other.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Further arguments of the agent's command line.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub args: Vec<String>,
    /// Seeds: they decide ties, so that at a limit two seeds give both orders.
    #[serde(default = "default_seeds")]
    #[schemars(length(max = 100))]
    pub seeds: Vec<u64>,
    /// The stages that it can run on, where not all, and why.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// A plain program that stands where an agent would: what it does, step by step.
    Program(Vec<Step>),
}

/// Claude Code: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
}

/// opencode: release and form of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OpencodeMode {
    /// `opencode run --format json PROMPT`.
    #[default]
    Run,
    /// `opencode serve`, driven over HTTP by a client.
    Serve,
    /// `opencode PROMPT` on a terminal: asks on screen, answers typed.
    Interactive,
}

/// The baseline client of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Altimate {
    /// How it is started.
    #[serde(default)]
    pub mode: OpencodeMode,
    /// With `run`: `--attach` to a server, where the handler leaves the environment alone.
    #[serde(default)]
    pub attach: bool,
    /// With `serve`: how the baseline client drives it.
    #[serde(default)]
    pub client: Client,
}

/// PawWork: always a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pawwork {
    /// How the baseline client drives it.
    #[serde(default)]
    pub client: Client,
    /// A reasoning model: its first progress may take 120 s instead of 30 s (461b025e2).
    #[serde(default)]
    pub reasoning: bool,
}

/// How the agent's standard streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Terminal {
    /// All three streams are a controlling terminal.
    Tty,
    /// stdin is `/dev/null`; stdout and stderr are pipes.
    Null,
    /// stdin is a pipe, open, and nobody writes; stdout and stderr are pipes.
    Pipe,
    /// stdin is a pipe whose other end is closed; stdout and stderr are pipes.
    Closed,
    /// As `tty`, but the agent is in a background process group: an interactive shell has started it with `&`. When the
    /// terminal is hung up, the shell hangs its jobs up and dies, as bash does.
    TtyBackground,
    /// A controlling terminal, stdin `/dev/null`, stdout and stderr pipes.
    CttyNull,
    /// As `null`, but stdout's reader has stopped.
    StdoutStopped,
    /// As `null`, but stdout's reader takes 4,096 bytes a second.
    StdoutSlow,
    /// As `tty-background`, but the shell ignores a hang-up, as under `nohup` or `trap '' HUP`.
    TtyBackgroundNohup,
}

impl Terminal {
    /// All of them, in their order.
    pub const ALL: [Terminal; 9] = [
        Terminal::Tty,
        Terminal::Null,
        Terminal::Pipe,
        Terminal::Closed,
        Terminal::TtyBackground,
        Terminal::CttyNull,
        Terminal::StdoutStopped,
        Terminal::StdoutSlow,
        Terminal::TtyBackgroundNohup,
    ];

    /// Whether stdin is a terminal.
    pub fn stdin_is_tty(self) -> bool {
        self == Terminal::Tty || self.is_background()
    }

    /// Whether the agent is in the background of a shell's terminal.
    pub fn is_background(self) -> bool {
        matches!(self, Terminal::TtyBackground | Terminal::TtyBackgroundNohup)
    }

    /// The word that a file uses.
    pub fn name(self) -> &'static str {
        match self {
            Terminal::Tty => "tty",
            Terminal::Null => "null",
            Terminal::Pipe => "pipe",
            Terminal::Closed => "closed",
            Terminal::TtyBackground => "tty-background",
            Terminal::CttyNull => "ctty-null",
            Terminal::StdoutStopped => "stdout-stopped",
            Terminal::StdoutSlow => "stdout-slow",
            Terminal::TtyBackgroundNohup => "tty-background-nohup",
        }
    }
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
    /// Stacks; all where none is named. A name without a version means every version of it.
    #[serde(default)]
    pub strategies: Vec<String>,
    /// Terminals; all where none is named.
    #[serde(default)]
    pub terminals: Vec<Terminal>,
    /// Why.
    pub because: String,
}

// ---------------------------------------------------------------------------------------------------
// What goes wrong
// ---------------------------------------------------------------------------------------------------

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// An event on the server's `/event` stream is lost, late, doubled, out of order, or the stream is cut.
    Event(EventFault),
    /// The model's stream stalls, ends early, is reset, only keeps alive, or answers with an error.
    Model(ModelFault),
    /// The prompt's POST never closes, is cut, or is refused.
    Post(PostFault),
    /// Any other request of a client fails.
    Get(GetFault),
    /// A process crashes, freezes or thaws.
    Process(ProcessFault),
    /// A tool's end is lost: its process is over, its state is not.
    Tool(ToolFault),
    /// The server's queue refuses further prompts.
    Queue(QueueFault),
    /// `pgrep` cannot be had: the child count is unknown.
    Pgrep(PgrepFault),
    /// The wrapper does not read one of the agent's streams.
    Wrapper(WrapperFault),
    /// The companion's job worker.
    Worker(WorkerFault),
}

/// A fault on the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventFault {
    /// The event's type, such as `question.asked`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which of them, from 1; 0 means every one.
    #[serde(default = "one")]
    pub nth: u32,
    /// What becomes of it.
    pub does: EventDoes,
}

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventDoes {
    /// It never arrives.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives behind the event that follows it.
    Reorder,
    /// It arrives late.
    Delay(Span),
    /// The stream is closed before it; clients reconnect after so long, and nothing is told again but by PawWork
    /// where it has a ledger or its successor.
    Cut(Span),
    /// From it on the stream is open and silent.
    Mute,
}

/// A fault of the model's stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelFault {
    /// Which model response, from 1, over all sessions; 0 means every one.
    #[serde(default = "one")]
    pub response: u32,
    /// After how many chunks of it.
    #[serde(default)]
    pub after: u32,
    /// What happens.
    pub does: ModelDoes,
    /// With a status: how long the server says to wait before another try (`Retry-After`, in whole seconds, rounded
    /// up). Only a server can say it: a persona that plays its model in-process does not hear it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Span>,
}

/// What a model's stream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelDoes {
    /// Open and silent, for ever.
    Stall,
    /// Silent for so long, then goes on.
    Pause(Span),
    /// Only keep-alive comments, one every so often, for ever.
    KeepAlive(Span),
    /// The stream ends early, in good order, without a finish reason.
    Truncate,
    /// The whole text arrives and the stream ends without a finish reason.
    NoFinish,
    /// The connection is reset.
    Reset,
    /// The request is answered with this HTTP status instead of a stream.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// Every chunk takes so long.
    Slow(Span),
    /// The model says this response of the agent's own session again to each later request, for ever. `response` counts the
    /// responses of the file's `turns` here.
    Repeats,
}

/// A fault of the prompt's POST.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PostFault {
    /// Which prompt, from 1.
    #[serde(default = "one")]
    pub nth: u32,
    /// What happens.
    pub does: PostDoes,
}

/// What becomes of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PostDoes {
    /// The turn ends; the response never comes.
    NeverCloses,
    /// The connection is closed after so long, the turn goes on.
    Cut(Span),
    /// The prompt is refused at once with this status.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// The prompt is accepted, and no turn begins.
    Ignored,
}

/// A fault of another request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GetFault {
    /// The path, such as `/question`; `*` at its end stands for any rest.
    pub path: String,
    /// How many of them fail, from the first; 0 means every one.
    #[serde(default)]
    pub times: u32,
    /// The status that they get; 0 means the connection is closed without one.
    #[schemars(range(max = 599))]
    pub status: u16,
}

/// A fault of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessFault {
    /// Its role: `agent`, `agent.1`, …
    #[serde(default = "agent_role")]
    pub role: String,
    /// When, from the cell's begin.
    pub at: Span,
    /// What happens.
    pub does: ProcessDoes,
}

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessDoes {
    /// SIGKILL.
    Crash,
    /// SIGSTOP.
    Freeze,
    /// SIGCONT.
    Thaw,
    /// Crash, and a new server at the same address that knows the stored sessions.
    Restart,
    /// A server's event loop is stuck: it lives and listens, and takes, answers and says nothing more.
    Mute,
}

/// A fault of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolFault {
    /// Which tool call, from 1.
    #[serde(default = "one")]
    pub nth: u32,
    /// What happens.
    pub does: ToolDoes,
}

/// What becomes of a tool's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolDoes {
    /// The command is over and its state stays `running`.
    NeverFlips,
    /// The state flips, and the loop never takes the result up.
    LosesResult,
    /// The step ends with `tool-calls`, and the loop takes so long before the next message is there (opencode:
    /// it reads the whole history first). The session is busy all the while.
    Lags(Span),
}

/// A fault of the server's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFault {
    /// 503 for each prompt.
    Refuses,
    /// Prompts wait behind the one that runs.
    Holds,
}

/// A fault of the child count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PgrepFault {
    /// No `pgrep` on this machine.
    Unavailable,
    /// No `lsof`: the server's pid cannot be found.
    NoPid,
}

/// A fault of the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WrapperFault {
    /// stderr is piped and never read.
    IgnoresStderr,
    /// stdout is piped and never read.
    IgnoresStdout,
    /// It goes away: its ends of all pipes close, and it does not come back.
    Vanishes(Span),
}

/// A fault of the companion's job worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerFault {
    /// It dies at this instant; the server goes on.
    Dies(Span),
    /// It dies at this instant, and another process gets its pid at once: who asks by pid finds it alive.
    PidTaken(Span),
    /// It is dead before it took the job: the job stays queued.
    NeverStarts,
}

fn one() -> u32 {
    1
}

fn agent_role() -> String {
    "agent".to_owned()
}

// ---------------------------------------------------------------------------------------------------
// Who can act
// ---------------------------------------------------------------------------------------------------

/// Somebody who can act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Person {
    /// The way by which they act.
    pub via: Via,
    /// What their client shows them. Nobody answers what they cannot see.
    #[serde(default)]
    pub sees: Option<Sees>,
    /// The directory that their client is open in, where it is not the agent's: it is shown the asks of that one.
    #[serde(default)]
    pub directory: Option<String>,
    /// Which ask they act on, from 1 in the order they see them; 0 means each.
    #[serde(default)]
    pub ask: u32,
    /// How long after they see it; without `sees` and ask (`does = "stop"`, …), after the cell's begin.
    #[serde(default)]
    pub after: Span,
    /// What they do.
    pub does: Does,
}

/// The way by which somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The terminal that the agent runs on.
    Tty,
    /// Another client of the agent's server.
    Http,
    /// The agent's stdin, in its control protocol.
    Stdin,
    /// The opencode companion's command line (`heal`, `status`, `result`, `cancel`).
    Companion,
}

/// What somebody's client shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sees {
    /// Events of the root session, as they arrive.
    Events,
    /// Events of the whole session tree, as they arrive.
    Tree,
    /// `GET /question` and `GET /permission`, every 2 s.
    List,
    /// `GET /blocker`, every 2 s.
    Blocker,
    /// The screen.
    Screen,
    /// Messages on the agent's stdout.
    Messages,
    /// No ask at all: they act by the clock.
    Clock,
}

/// What somebody does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Answers: a label for each question.
    Answer(Vec<String>),
    /// Answers a multiple choice: labels for each question.
    Answers(Vec<Vec<String>>),
    /// Allows once.
    Allow,
    /// Allows for ever.
    Always,
    /// Denies.
    Deny,
    /// Sends an empty answer: skipped, not rejected.
    Skip,
    /// Dismisses the question.
    Dismiss,
    /// Stops the session, whatever it waits for (hard abort, interrupt, Ctrl-C).
    Stop,
    /// Disposes of the server's instance, as a reload does (PawWork): what is asked there ends as `shutdown`.
    Dispose,
    /// Leaves the session in the front end, and comes back to it so much later: no request, and no ask is touched.
    Leave(Span),
    /// Stops the session only where nothing is asked (PawWork, `mode=soft`).
    SoftStop,
    /// Hangs up the terminal or closes the connection.
    HangUp,
    /// Sends a reply that does not fit the question.
    Malformed(Malformed),
    /// Types these bytes.
    Type(#[schemars(extend("x-marks" = "typed"))] String),
    /// Sends a further prompt.
    Prompt(String),
    /// Runs a command of the companion: `heal`, `heal --dry-run`, `status`, `result`, `cancel`.
    Run(String),
}

/// How a reply does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Malformed {
    /// One answer too few.
    Count,
    /// Two answers to a single choice.
    Multi,
    /// A label that is not offered, where no own answer is allowed.
    Label,
    /// No JSON.
    Syntax,
}

// ---------------------------------------------------------------------------------------------------
// What must come out
// ---------------------------------------------------------------------------------------------------

/// What must come out of the cells that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The arm that it speaks of. A control cell that no rule names must complete with nothing broken.
    #[serde(default)]
    pub arm: Arm,
    /// Stacks; all where none is named. A name without a version means every version of it.
    #[serde(default)]
    pub strategies: Vec<String>,
    /// Terminals; all where none is named.
    #[serde(default)]
    pub terminals: Vec<Terminal>,
    /// Seeds; all where none is named.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// The outcome.
    pub outcome: Expected,
    /// The proof of a hang.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The end comes no later than this.
    #[serde(default)]
    pub within: Option<Span>,
    /// The end comes no earlier than this.
    #[serde(default)]
    pub not_before: Option<Span>,
    /// The exact set of broken invariants.
    #[serde(default)]
    pub breaks: Vec<Invariant>,
    /// Claims that the strategy's report must make.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// Texts that the model must have been told (substrings of tool results).
    #[serde(default)]
    pub told: Vec<String>,
    /// Texts that a strategy must have said to its user (substrings), in this order.
    #[serde(default)]
    pub says: Vec<String>,
    /// The HTTP statuses that what people do over HTTP must get, one each, in the order of their acts; 0 is no response.
    #[serde(default)]
    #[schemars(inner(range(max = 599)))]
    pub gets: Vec<u16>,
}

impl Expect {
    /// A rule for all cells of an arm: they complete with nothing broken.
    pub const fn completes(arm: Arm) -> Expect {
        Expect {
            arm,
            strategies: Vec::new(),
            terminals: Vec::new(),
            seeds: Vec::new(),
            outcome: Expected::Completed,
            proof: None,
            within: None,
            not_before: None,
            breaks: Vec::new(),
            policy: None,
            told: Vec::new(),
            says: Vec::new(),
            gets: Vec::new(),
        }
    }
}

/// The scenario itself, or the same with the one change under which it does not hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The scenario itself.
    #[default]
    Main,
    /// Its control arm.
    Control,
}

/// All that a hang can be on: the words of the judge (`rehang_judge::blocked` says when it is which), and what the
/// agents say of themselves where none of its rules holds.
pub const BLOCKED_ON: [&str; 20] = [
    "stopped",
    "spin",
    "exit",
    "question",
    "permission",
    "stdin",
    "tty",
    "pipe",
    "bash",
    "model",
    "tool",
    "worker",
    "post",
    "event",
    "child",
    "nothing",
    "timer",
    "client",
    "message",
    "unknown",
];

/// An outcome, as a file expects it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// It came to its end.
    Completed,
    /// The agent said that it failed.
    Failed,
    /// It hangs: on what, a word of [`BLOCKED_ON`] (`question`, `permission`, `stdin`, `bash`, `model`, `event`, …).
    Hung(String),
    /// A strategy or a person ended it: the cause (`idle`, `wall`, `bash-stuck`, …).
    Stopped(String),
    /// Neither an end nor a proof of a hang came before virtual time or the steps ran out.
    Undecided,
    /// The same as under the strategy `none`.
    #[serde(rename = "as none")]
    AsNone,
}

/// How a hang is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// All blocked, nothing in flight, no timer left.
    Deadlock,
    /// The whole state repeats exactly while only immaterial timers fire.
    Lasso,
}

/// An invariant that holds on every cell, whatever the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// `rejected` appears only with a cause. Silence is none.
    RejectedWithoutCause,
    /// Every ask has exactly one end, or is pending in a session that is busy; nothing is listed after its end.
    AskWithoutEnd,
    /// The reported policy, cause and constants are those that acted.
    UntrueReport,
    /// It ends within the bound computed from the strategy's own constants.
    OutOfBounds,
    /// Where `none` completes, every strategy completes with the same transcript.
    Harm,
    /// At most one reply an id; no answer is invented and passed off as the user's; a live answerer beats an automatic one.
    DoubleOrInventedReply,
    /// Never `completed` on an unfinished step; the result is whole.
    Unfinished,
    /// Nothing is left, apart from what the scenario declares as `survives`.
    LeftBehind,
    /// No text that a model or a caller reads says that a user did something that no person did.
    AttributedToUser,
}

impl Invariant {
    /// All of them, in their order.
    pub const ALL: [Invariant; 9] = [
        Invariant::RejectedWithoutCause,
        Invariant::AskWithoutEnd,
        Invariant::UntrueReport,
        Invariant::OutOfBounds,
        Invariant::Harm,
        Invariant::DoubleOrInventedReply,
        Invariant::Unfinished,
        Invariant::LeftBehind,
        Invariant::AttributedToUser,
    ];

    /// The word that a file uses.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::RejectedWithoutCause => "rejected-without-cause",
            Invariant::AskWithoutEnd => "ask-without-end",
            Invariant::UntrueReport => "untrue-report",
            Invariant::OutOfBounds => "out-of-bounds",
            Invariant::Harm => "harm",
            Invariant::DoubleOrInventedReply => "double-or-invented-reply",
            Invariant::Unfinished => "unfinished",
            Invariant::LeftBehind => "left-behind",
            Invariant::AttributedToUser => "attributed-to-user",
        }
    }
}

pub use crate::turns::Step;
