//! What the model does, turn by turn, and what the children of its bash tool do, step by step.
//!
//! Invariant: turns are data. A `say` or `think` belongs to the model response of the tool call that follows it; a
//! response ends after a tool call (or a `together` group), at a `finish`, or at the end. [`responses`] is the one
//! place that cuts a list of turns into responses.

use crate::model::Agent;
use crate::time::Span;
pub use rehang_words::{Choice, Finish, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that the model does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Says a text. `{answer}` is replaced by what the last tool call told the model.
    Say(String),
    /// Says nothing for this span: slow, not hung. Its stream sends a sign of life from time to time.
    Think(Span),
    /// Calls the question tool.
    Ask(Vec<Question>),
    /// Calls a tool that needs a permission.
    Permit(Permit),
    /// Calls the bash tool.
    Bash(Bash),
    /// Starts a subagent.
    Task(Task),
    /// Several tool calls in one response.
    Together(Vec<Turn>),
    /// The context is compacted, which takes this span.
    Compact(Span),
    /// Ends the response with this reason instead of the natural one.
    Finish(Finish),
}

/// A call of a tool that needs a permission and starts no process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Permit {
    /// The tool: `write`, `edit`, `webfetch`, …
    #[serde(default = "write_tool")]
    pub tool: String,
    /// The permission: `edit`, `external_directory`, …
    pub permission: String,
    /// What it is asked for.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// What the tool returns when it is allowed.
    #[serde(default)]
    pub output: String,
}

fn write_tool() -> String {
    "write".to_owned()
}

/// A call of the bash tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bash {
    /// The command line, as the model writes it. It is shown, never run.
    pub command: String,
    /// The permission that is asked for before anything is spawned: `bash`, `external_directory`.
    #[serde(default)]
    pub asks: Option<String>,
    /// What the command does, step by step.
    #[serde(default)]
    pub does: Vec<Step>,
    /// The tool's time limit, if the model sets one.
    #[serde(default)]
    pub timeout: Option<Span>,
    /// How the tool connects and ends its child; by default the release's own way.
    #[serde(default)]
    pub tool: BashTool,
}

/// How a bash tool connects its child, waits for it and ends it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BashTool {
    /// The child's stdin: `null` by default.
    #[serde(default)]
    pub stdin: Option<ChildStdin>,
    /// What the tool waits for: by default the end of the pipes.
    #[serde(default)]
    pub waits_for: Option<WaitsFor>,
    /// What it ends when its time is up: by default the child's group.
    #[serde(default)]
    pub kills: Option<Kills>,
    /// The child gets a session of its own, and so no controlling terminal. `true` by default.
    #[serde(default)]
    pub new_session: Option<bool>,
    /// The child runs on the tool's own terminal in a background process group.
    #[serde(default)]
    pub background_group: bool,
}

/// What a bash tool's child has as stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChildStdin {
    /// `/dev/null`.
    Null,
    /// An open pipe to which nobody writes.
    Pipe,
    /// The agent's own stdin.
    Inherit,
}

/// What a bash tool waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// The end of the child's stdout and stderr, and its exit.
    Pipes,
    /// The child's exit, and what is in the pipes then.
    Exit,
}

/// What a bash tool ends when its time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kills {
    /// The child alone, by SIGTERM.
    Child,
    /// The child's process group by SIGTERM.
    Group,
    /// The child's process group by SIGTERM, then, 200 ms later (opencode, SIGKILL_TIMEOUT_MS), by SIGKILL.
    GroupThenKill,
}

/// One step of a child process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Prints a line to stdout.
    Print(#[schemars(extend("x-marks" = "printed"))] String),
    /// Prints a line to stderr.
    Warn(#[schemars(extend("x-marks" = "printed"))] String),
    /// Prints a text to stdout without a newline.
    Prompt(#[schemars(extend("x-marks" = "printed"))] String),
    /// Is silent for this span.
    Sleep(Span),
    /// Prints lines at an even pace.
    Every(Every),
    /// Writes this many bytes, in whole blocks of 4,096 and a rest.
    Fill(Fill),
    /// Gives its result, as an agent does at its end: a stream-json `result` line on stdout.
    Result(Final),
    /// Closes its stdout and stderr, and goes on.
    CloseOutput,
    /// Reads a line of stdin.
    ReadStdin,
    /// Reads stdin to its end.
    ReadStdinToEnd,
    /// Opens `/dev/tty`, prints a prompt there and reads a line. Without a controlling terminal it fails (ENXIO).
    AskTty(#[schemars(extend("x-marks" = "printed"))] String),
    /// Changes the terminal's settings, which stops a background process (SIGTTOU).
    SetTty,
    /// Ignores these signals: `TERM`, `HUP`, `INT`.
    Ignore(Vec<String>),
    /// Leaves a process behind that goes on alone.
    Background(Background),
    /// Starts a process and waits for it, as a shell does for a command.
    Run(Vec<Step>),
    /// Starts a process with pipes to it, and goes on: a hook, a tool server, a language server.
    Start(Start),
    /// Writes a line to the stdin of a process that `start` has started.
    Send(Send),
    /// Reads a line of its stdout.
    Receive(Receive),
    /// Closes the pipe to its stdin: it reads the end.
    HangUp(String),
    /// Waits until it is over.
    Await(Await),
    /// Ends it by SIGTERM, and waits until it is over.
    End(String),
    /// Listens on a free port of this machine and waits until somebody connects, as a log-in waits for its browser.
    Listen(Listen),
    /// Asks a server that takes the connection and never answers, as for a list of models or an update.
    Fetch(Fetch),
    /// Opens every file of a folder that has a FIFO in it, which nobody has open for writing.
    OpenFifo(OpenFifo),
    /// Waits for a lock on a file that another run on the machine, which is not part of the scenario, holds for ever.
    Lock(Lock),
    /// Takes the lock of the cell, which a state folder, a profile or a port is to those who share it: one process has it,
    /// until it ends, and any other waits.
    TakeLock(TakeLock),
    /// Is itself an agent: an agent run by another agent's bash tool.
    Agent(Nested),
    /// Goes into a session of its own.
    Setsid,
    /// Waits for ever on nothing.
    Hold,
    /// Begins its list anew, as `while :; do …; done` does.
    Again,
    /// Spins: takes steps without time passing.
    Spin,
    /// Raises this signal in itself: `STOP`, `KILL`, …
    Raise(String),
    /// Exits with this code.
    Exit(u8),
}

/// Lines at an even pace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Every {
    /// The pace.
    pub every: Span,
    /// The line.
    #[schemars(extend("x-marks" = "printed"))]
    pub print: String,
    /// How often; 0 means for ever.
    #[serde(default)]
    #[schemars(range(max = crate::limits::EVERY_TIMES))]
    pub times: u32,
    /// To stderr instead of stdout.
    #[serde(default)]
    pub stderr: bool,
}

/// A number of bytes on a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fill {
    /// How many, at most 1 MiB.
    #[schemars(range(max = 1_048_576))]
    pub bytes: u32,
    /// To stderr instead of stdout.
    #[serde(default)]
    pub stderr: bool,
}

/// The result of a program in an agent's place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Final {
    /// What it says.
    #[schemars(extend("x-marks" = "printed"))]
    pub text: String,
    /// Pads the line to this many bytes, its end included, at most 1 MiB.
    #[serde(default)]
    #[schemars(range(max = 1_048_576))]
    pub bytes: u32,
    /// What the pipe does not take at once is lost, as after Node's `process.exit`.
    #[serde(default)]
    pub cut: bool,
    /// What is printed instead, line by line, in place of an agent with other messages. Not for scenario files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub lines: Vec<String>,
}

/// A process that is left behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Background {
    /// What it is called (`dev-server`); `survives` may name it.
    #[serde(default)]
    pub name: String,
    /// What it does.
    pub does: Vec<Step>,
    /// It holds its parent's stdout. `true` by default.
    #[serde(default)]
    pub stdout: Option<bool>,
    /// It holds its parent's stderr. `true` by default.
    #[serde(default)]
    pub stderr: Option<bool>,
    /// Its stdout and stderr are pipes to its parent, which never reads them. As a Node program with `stdio: "pipe"`,
    /// the parent does not end by itself while that child lives; an explicit `exit` still ends it.
    #[serde(default)]
    pub piped: bool,
    /// It escapes with setsid.
    #[serde(default)]
    pub setsid: bool,
    /// It escapes by a double fork: its parent is gone at once.
    #[serde(default)]
    pub double_fork: bool,
}

/// A process with pipes to the process that starts it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Start {
    /// What it is called (`mcp-server`): further steps and `survives` may name it, and a process list shows it.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub does: Vec<Step>,
    /// Its stdin: by default a pipe.
    #[serde(default)]
    pub stdin: Option<StartStream>,
    /// Its stdout: by default a pipe. Only `receive` reads it.
    #[serde(default)]
    pub stdout: Option<StartStream>,
    /// Its stderr: by default the parent's own.
    #[serde(default)]
    pub stderr: Option<StartStream>,
    /// There is no such program: nothing is started, and no exit ever comes (Node's `error` without `exit`).
    #[serde(default)]
    pub missing: bool,
    /// The parent never learns of its exit: nobody reaps it, and it stays a zombie.
    #[serde(default)]
    pub unreaped: bool,
}

impl Start {
    /// Whether its stdin is a pipe that its parent writes to.
    pub fn hears(&self) -> bool {
        !self.missing && self.stdin.unwrap_or(StartStream::Pipe) == StartStream::Pipe
    }

    /// Whether its stdout is a pipe that its parent can read.
    pub fn speaks(&self) -> bool {
        !self.missing && self.stdout.unwrap_or(StartStream::Pipe) == StartStream::Pipe
    }
}

/// What a started process has as one of its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartStream {
    /// A pipe to its parent.
    Pipe,
    /// The parent's own.
    Inherit,
    /// `/dev/null`.
    Null,
}

/// A line for a started process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Send {
    /// Its name.
    pub to: String,
    /// The line.
    #[schemars(extend("x-marks" = "printed"))]
    pub line: String,
}

/// A line of a started process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Receive {
    /// Its name.
    pub from: String,
    /// Goes on without it after this span; by default it waits for ever. The end of its stdout ends the wait too.
    #[serde(default)]
    pub within: Option<Span>,
}

/// The end of a started process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Await {
    /// Its name.
    pub of: String,
    /// Goes on without it after this span; by default it waits for ever.
    #[serde(default)]
    pub within: Option<Span>,
}

/// A wait for somebody who connects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listen {
    /// Goes on without anybody after this span; by default it waits for ever.
    #[serde(default)]
    pub within: Option<Span>,
}

/// A question to a server that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fetch {
    /// Goes on without an answer after this span; by default it waits for ever.
    #[serde(default)]
    pub within: Option<Span>,
    /// The connection has been kept: a first question was answered at once, and this is how long ago that was when the
    /// question is asked that nobody answers. By default the connection is new.
    #[serde(default)]
    pub kept: Option<Span>,
}

/// A FIFO among the files that are opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OpenFifo {
    /// Opens regular files only, and passes the FIFO over (`grep -D skip`). `false` by default.
    #[serde(default)]
    pub skips: bool,
}

/// A lock that another run holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lock {
    /// The file is an SQLite database: the process naps for 1 s and tries again, as SQLite's busy handler does.
    /// `false` by default: it waits in the system call (`flock`).
    #[serde(default)]
    pub database: bool,
    /// Goes on without the lock after this span (`flock -w`, SQLite's `busy_timeout`); by default it waits for ever.
    #[serde(default)]
    pub within: Option<Span>,
}

/// The lock of the cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TakeLock {
    /// Goes on without the lock after this span; by default it waits for ever.
    #[serde(default)]
    pub within: Option<Span>,
}

/// A step that names a process which it cannot use, since no `start` before it gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmet<'a> {
    /// The step's place in its list.
    pub at: usize,
    /// The key that holds the name, below the step: `send.to`.
    pub key: &'static str,
    /// The name.
    pub name: &'a str,
    /// What is missing.
    pub lacks: Lacks,
}

/// Why a step has no process that it can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// Nothing of that name was started before it.
    Start,
    /// Its stream is not a pipe.
    Pipe,
    /// Another one of that name was started before it.
    Name,
}

/// The steps of a list that name a process which was not started before them in the same list, or has no pipe for them.
pub fn unmet(steps: &[Step]) -> Vec<Unmet<'_>> {
    let mut started: Vec<&Start> = Vec::new();
    let mut all = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let of = |name: &str| started.iter().copied().find(|start| start.name == name);
        let (key, name, lacks) = match step {
            Step::Start(start) => {
                let twice = of(&start.name).map(|_| Lacks::Name);
                started.push(start);
                ("start.name", &start.name, twice)
            }
            Step::Send(Send { to, .. }) => ("send.to", to, pipe(of(to), Start::hears)),
            Step::HangUp(name) => ("hang-up", name, pipe(of(name), Start::hears)),
            Step::Receive(Receive { from, .. }) => ("receive.from", from, pipe(of(from), Start::speaks)),
            Step::Await(Await { of: name, .. }) => ("await.of", name, pipe(of(name), |_| true)),
            Step::End(name) => ("end", name, pipe(of(name), |_| true)),
            _ => continue,
        };
        all.extend(lacks.map(|lacks| Unmet { at, key, name, lacks }));
    }
    all
}

fn pipe(start: Option<&Start>, has: fn(&Start) -> bool) -> Option<Lacks> {
    match start {
        None => Some(Lacks::Start),
        Some(start) => (!has(start)).then_some(Lacks::Pipe),
    }
}

impl Background {
    /// The step of the middle process of a double fork: it has the streams, starts the other process and ends.
    pub fn of_the_middle(&self) -> Step {
        Step::Background(Background { double_fork: false, piped: false, ..self.clone() })
    }
}

/// Steps as the argument by which a process gets them.
pub fn steps_json(steps: &[Step]) -> String {
    // steps hold nothing that JSON cannot express
    serde_json::to_string(steps).unwrap_or_else(|_| "[]".to_owned())
}

/// An agent that another agent's bash tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nested {
    /// Who plays it.
    pub agent: Box<Agent>,
    /// What its model does.
    pub turns: Vec<Turn>,
    /// Further arguments.
    #[serde(default)]
    pub args: Vec<String>,
}

/// A subagent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Task {
    /// What it must do.
    pub description: String,
    /// What its model does.
    pub turns: Vec<Turn>,
}

/// One model response: what comes over one stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Response {
    /// `say`, `think`, `compact` and tool calls, in order.
    pub parts: Vec<Turn>,
    /// The reason it ends with.
    pub finish: Finish,
}

/// Cuts turns into model responses.
pub fn responses(turns: &[Turn]) -> Vec<Response> {
    let mut all = Vec::new();
    let mut parts = Vec::new();
    let mut pending_tool = false;
    for turn in turns {
        match turn {
            Turn::Finish(finish) => {
                all.push(Response { parts: std::mem::take(&mut parts), finish: *finish });
                pending_tool = false;
                continue;
            }
            _ if pending_tool => {
                all.push(Response { parts: std::mem::take(&mut parts), finish: Finish::ToolCalls });
                pending_tool = false;
            }
            _ => {}
        }
        match turn {
            Turn::Together(calls) => {
                parts.extend(calls.iter().cloned());
                pending_tool = true;
            }
            Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_) => {
                parts.push(turn.clone());
                pending_tool = true;
            }
            Turn::Say(_) | Turn::Think(_) | Turn::Compact(_) | Turn::Finish(_) => parts.push(turn.clone()),
        }
    }
    if !parts.is_empty() {
        let finish = if pending_tool { Finish::ToolCalls } else { Finish::Stop };
        all.push(Response { parts, finish });
    }
    all
}

/// The scripted response at a path: `3` is the third of the root session; `2.1/4` is the fourth response of the
/// subagent that part 1 (from 0) of the root's second response starts. After the last one the model says nothing and
/// stops.
pub fn response_at(turns: &[Turn], path: &str) -> Option<Response> {
    let all = responses(turns);
    match path.split_once('/') {
        None => {
            let nth: usize = path.parse().ok()?;
            let response = all.into_iter().nth(nth.checked_sub(1)?);
            Some(response.unwrap_or(Response { parts: Vec::new(), finish: Finish::Stop }))
        }
        Some((at, rest)) => {
            let (nth, part) = at.split_once('.')?;
            let response = all.into_iter().nth(nth.parse::<usize>().ok()?.checked_sub(1)?)?;
            match response.parts.get(part.parse::<usize>().ok()?)? {
                Turn::Task(task) => response_at(&task.turns, rest),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
