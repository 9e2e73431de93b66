//! Whether an agent can play what a scenario asks of it, and whether names in it name anything.
//!
//! Invariant: only what is impossible is refused here (a question to a program that has no model, an event fault
//! without a server); what merely never happened is allowed.

use crate::agents;
use crate::editor::{EditorStep, Protocol, default_editor};
use crate::limits;
use crate::problem::{quoted, shown};
use crate::text::{did_you_mean, suggest};
use crate::time::Span;
use crate::turns::{Lacks, Nested, Turn, Unmet, steps_json, unmet};
use crate::{
    Agent, Does, Fault, ModelDoes, ProcessDoes, Scenario, Sees, Stage, Step, Terminal, ToolDoes, ToolServer,
    ToolServerDoes, Via, WrapperFault,
};

/// Signals that a step may name.
pub const SIGNALS: [&str; 12] =
    ["HUP", "INT", "QUIT", "TERM", "KILL", "STOP", "CONT", "TSTP", "TTIN", "TTOU", "WINCH", "USR1"];
/// Those of them that no process can ignore (signal(7)).
pub const UNSTOPPABLE: [&str; 2] = ["KILL", "STOP"];
/// Commands of the opencode companion.
pub const COMPANION_COMMANDS: [&str; 10] = [
    "heal",
    "heal --dry-run",
    "heal --all",
    "status",
    "status --all",
    "status task-1",
    "status task-2",
    "task-resume-candidate",
    "result",
    "cancel",
];

/// Variables of the dynamic loader, of the C library and of rehang, by what they begin with (ld.so(8)).
const RESERVED: [&str; 4] = ["LD_", "GLIBC_TUNABLES", "GCONV_PATH", "REHANG_"];

/// The one variable of rehang's that a scenario may set: the fake announces a byte more than it wrote, which must be
/// detected.
const LIES: &str = "REHANG_FAKE_LIES";

/// The word that means, in braces, what the last tool call told the model.
const ANSWER: &str = "answer";

/// Something impossible, by its path in the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Impossible {
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Whether it is for real releases alone.
fn is_live(scenario: &Scenario) -> bool {
    scenario.stages.as_ref().is_some_and(|stages| stages.only == [Stage::Live])
}

/// Whether its agent can play all that a scenario asks of it.
pub fn is_playable(scenario: &Scenario) -> bool {
    impossible(scenario).is_empty()
}

/// Everything in a scenario that is impossible.
pub(crate) fn impossible(scenario: &Scenario) -> Vec<Impossible> {
    let mut seen = Look::default();
    seen.agent(&scenario.agent, "agent");
    seen.turns(&scenario.turns, &scenario.agent, "turns");
    seen.args(&scenario.args, "args");
    for (name, value) in &scenario.env {
        seen.argument(name.len() + 1 + value.len(), &format!("env.{name}"), "variable");
        if name != LIES && RESERVED.iter().any(|reserved| name.starts_with(reserved)) {
            let message = format!("`{name}` is read before an agent's first instruction, or by rehang itself");
            seen.no(format!("env.{name}"), message, Some("a scenario sets what its agent reads"));
        }
    }
    if scenario.runs > 1 && scenario.faults.iter().any(is_vanishing) {
        seen.no("runs".to_owned(), "a wrapper that vanishes runs nothing again", Some("leave `runs` out"));
    }
    let left_behind = seen.left_behind.saturating_mul(scenario.runs as usize);
    if left_behind > limits::LEFT_BEHIND {
        let place = if scenario.agent.kind().has_model { "turns" } else { "agent" };
        let message =
            format!("{left_behind} processes in the background over all runs, more than {}", limits::LEFT_BEHIND);
        seen.no(place.to_owned(), message, Some("one that stays shows what many show"));
    }
    if let Some(server) = &scenario.tool_server {
        seen.tool_server(server, scenario);
    }
    seen.hook(scenario);
    for (i, fault) in scenario.faults.iter().enumerate() {
        seen.fault(fault, &scenario.agent, &format!("faults.{i}"));
    }
    let kind = scenario.agent.kind();
    seen.editor(scenario);
    for (i, person) in scenario.people.iter().enumerate() {
        let path = format!("people.{i}");
        if let (Via::Http | Via::Companion, false) = (person.via, kind.has_server) {
            seen.no(format!("{path}.via"), format!("{} has no server to reach", kind.title), None);
        }
        let has_keys = |terminal: &Terminal| terminal.stdin_is_tty() || *terminal == Terminal::CttyNull;
        if let Does::Type(keys) = &person.does
            && scenario.terminals.iter().any(has_keys)
        {
            seen.keys(keys, format!("{path}.does.type"));
        }
        if let (Some(Sees::Blocker), false) = (person.sees, kind.has_front_end) {
            seen.no(format!("{path}.sees"), "only PawWork lists blockers", None);
        }
        let front_end = matches!(person.does, Does::Dispose | Does::Leave(_));
        if front_end && !(person.via == Via::Http && kind.has_front_end) {
            seen.no(format!("{path}.does"), "only PawWork's front end does this, with `via = \"http\"`", None);
        }
        if let Does::Run(command) = &person.does {
            seen.word(&format!("{path}.does.run"), "command of the companion", command, &COMPANION_COMMANDS);
        }
    }
    seen.found
}

fn is_vanishing(fault: &Fault) -> bool {
    matches!(fault, Fault::Wrapper(WrapperFault::Vanishes(_)))
}

#[derive(Default)]
struct Look {
    found: Vec<Impossible>,
    /// Processes that one run leaves behind.
    left_behind: usize,
    /// How many strings were too long for any process so far: a string that contains a too long one is too long itself.
    too_long: usize,
}

fn json_bytes(steps: &[Step]) -> usize {
    steps_json(steps).len()
}

impl Look {
    fn no(&mut self, path: String, message: impl Into<String>, help: Option<&str>) {
        self.found.push(Impossible { path, message: message.into(), help: help.map(str::to_owned) });
    }

    fn word(&mut self, path: &str, what: &str, word: &str, known: &[&str]) {
        if known.contains(&word) {
            return;
        }
        let help = match suggest(word, known.iter().copied()) {
            Some(meant) => did_you_mean(meant),
            None => format!("there are {}", quoted(known.iter().copied())),
        };
        self.no(path.to_owned(), format!("unknown {what} `{}`", shown(word)), Some(&help));
    }

    fn args(&mut self, args: &[String], path: &str) {
        for (i, arg) in args.iter().enumerate() {
            self.argument(arg.len(), &format!("{path}.{i}"), "argument");
        }
    }

    /// Refuses a string that the kernel would not pass on, so that no process would ever see it.
    fn argument(&mut self, bytes: usize, path: &str, what: &str) {
        if bytes > limits::ARG_BYTES {
            let message = format!("this {what} has {bytes} bytes, more than {} KiB", limits::ARG_BYTES >> 10);
            self.no(path.to_owned(), message, Some("a long text fits into a turn"));
        }
    }

    /// Keys that are typed at a terminal: flow control is not modelled. Other texts have no control characters.
    fn keys(&mut self, keys: &str, path: String) {
        let key = match keys.chars().find(|c| matches!(c, '\x11' | '\x13')) {
            Some('\x13') => "Ctrl-S",
            Some(_) => "Ctrl-Q",
            None => return,
        };
        let help = "leave the key out; where a reader of the output is to stop, there are the terminal `stdout-stopped` \
                    and the fault `{ wrapper = \"ignores-stdout\" }`";
        self.no(path, format!("{key} stops or starts a terminal's output, which no stage models"), Some(help));
    }

    fn agent(&mut self, agent: &Agent, path: &str) {
        let kind = agent.kind();
        let path = format!("{path}.{}", kind.word);
        if let Some(release) = agent.release() {
            self.word(&format!("{path}.as"), &format!("release of {}", kind.title), release, kind.releases);
        }
        if let Some(mode) = agent.mode().filter(|mode| !kind.modes.contains(mode)) {
            self.word(
                &format!("{path}.mode"),
                &format!("mode of {}", kind.title),
                mode.word,
                &kind.modes.iter().map(|mode| mode.word).collect::<Vec<_>>(),
            );
        }
        if let Some(steps) = agent.steps() {
            self.process(steps, &path);
        }
    }

    fn turns(&mut self, turns: &[Turn], agent: &Agent, path: &str) {
        if !agent.kind().has_model && !turns.is_empty() {
            let help = "what it does are the steps of `agent = { program = […] }`";
            return self.no(path.to_owned(), "a plain program has no model, so it plays no turns", Some(help));
        }
        for (i, turn) in turns.iter().enumerate() {
            self.turn(turn, agent, &format!("{path}.{i}"));
        }
    }

    fn turn(&mut self, turn: &Turn, agent: &Agent, path: &str) {
        match turn {
            Turn::Bash(bash) => {
                self.shown(&bash.command, &format!("{path}.bash.command"), "command");
                self.process(&bash.does, &format!("{path}.bash.does"));
            }
            Turn::Task(task) => self.turns(&task.turns, agent, &format!("{path}.task.turns")),
            Turn::Together(calls) => {
                for (i, call) in calls.iter().enumerate() {
                    let path = format!("{path}.together.{i}");
                    match call {
                        Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_) => self.turn(call, agent, &path),
                        _ => self.no(
                            path,
                            "only tool calls go together",
                            Some("tool calls are `ask`, `permit`, `bash`, `task`"),
                        ),
                    }
                }
            }
            Turn::Say(text) => self.placeholders(text, &format!("{path}.say")),
            Turn::Think(_) | Turn::Ask(_) | Turn::Permit(_) | Turn::Compact(_) | Turn::Finish(_) => {}
        }
    }

    /// `{answer}`, misspelt. Any other braces are the text's own.
    fn placeholders(&mut self, text: &str, path: &str) {
        let inner = text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(inner, _)| inner));
        for word in inner.filter(|word| word.len() <= ANSWER.len() + 2 && *word != ANSWER) {
            if suggest(word, [ANSWER]).is_some() {
                let message = format!("`{{{}}}` stands for nothing", shown(word));
                self.no(path.to_owned(), message, Some(&did_you_mean("{answer}")));
            }
        }
    }

    /// Checks the name of a process in a process list, which it gets as an argument.
    fn shown(&mut self, text: &str, path: &str, what: &str) {
        let (bytes, most) = (text.len(), limits::EXEC_STRING_BYTES);
        if bytes > most {
            self.too_long += 1;
            let message = format!("this {what} has {bytes} bytes; Linux takes at most {most} as one argument");
            self.no(path.to_owned(), message, Some("the start of it says as much: what runs is in `does`"));
        }
    }

    /// A process and its steps. If a process that it starts has too many, only that one is reported.
    fn process(&mut self, steps: &[Step], path: &str) {
        let before = self.too_long;
        self.steps(steps, path);
        if self.too_long == before {
            self.one_string(json_bytes(steps), path);
        }
    }

    /// Checks steps of this many bytes, which a process gets as one argument.
    fn one_string(&mut self, bytes: usize, path: &str) {
        let most = limits::STEPS_BYTES;
        if bytes > most {
            self.too_long += 1;
            let message = format!("these steps are {bytes} bytes of JSON; Linux takes at most {most} as one argument");
            self.no(path.to_owned(), message, Some("`fill` writes many bytes, `every` many lines"));
        }
    }

    /// An agent that a process starts, which gets itself and its turns in one variable.
    fn nested(&mut self, nested: &Nested, path: &str) {
        let json = |json: serde_json::Result<String>| json.map_or(0, |json| json.len());
        let bytes = json(serde_json::to_string(&nested.agent)) + json(serde_json::to_string(&nested.turns));
        let most = limits::NESTED_BYTES;
        if bytes > most {
            self.too_long += 1;
            let message = format!("this agent and its turns are {bytes} bytes of JSON, more than {most}");
            let help = "it gets them in one variable, and Linux takes no longer one: shorten its texts";
            let place = if nested.turns.is_empty() { "agent" } else { "turns" };
            self.no(format!("{path}.{place}"), message, Some(help));
        }
    }

    fn steps(&mut self, steps: &[Step], path: &str) {
        for Unmet { at, key, name, lacks } in unmet(steps) {
            let name = shown(name);
            let (message, help) = match lacks {
                Lacks::Start => (
                    format!("nothing called `{name}` was started before this step"),
                    "`{ start = { name = \"…\", does = […] } }` comes before it in the same list",
                ),
                Lacks::Pipe => (
                    format!("there is no pipe to `{name}` for this step"),
                    "leave its `stdin`, `stdout` or `missing` out: a pipe is what a started process has by itself",
                ),
                Lacks::Name => (format!("something called `{name}` was started before"), "give each its own name"),
            };
            self.no(format!("{path}.{at}.{key}"), message, Some(help));
        }
        let left_behind = self.left_behind;
        for (i, step) in steps.iter().enumerate() {
            let path = format!("{path}.{i}");
            match step {
                Step::Ignore(signals) => {
                    for (j, signal) in signals.iter().enumerate() {
                        self.word(&format!("{path}.ignore.{j}"), "signal", signal, &SIGNALS);
                        if UNSTOPPABLE.contains(&signal.as_str()) {
                            let message = format!("nobody can ignore {signal}");
                            self.no(format!("{path}.ignore.{j}"), message, Some("leave it out (signal(7))"));
                        }
                    }
                }
                Step::Raise(signal) => self.word(&format!("{path}.raise"), "signal", signal, &SIGNALS),
                Step::Background(child) => {
                    self.left_behind += 1;
                    self.shown(&child.name, &format!("{path}.background.name"), "name");
                    let before = self.too_long;
                    self.process(&child.does, &format!("{path}.background.does"));
                    if child.double_fork && self.too_long == before {
                        self.one_string(json_bytes(&[child.of_the_middle()]), &format!("{path}.background.does"));
                    }
                }
                Step::Run(steps) => self.process(steps, &format!("{path}.run")),
                Step::Start(start) => {
                    self.left_behind += 1;
                    self.shown(&start.name, &format!("{path}.start.name"), "name");
                    self.process(&start.does, &format!("{path}.start.does"));
                }
                Step::Agent(nested) => {
                    let before = self.too_long;
                    self.agent(&nested.agent, &format!("{path}.agent.agent"));
                    self.turns(&nested.turns, &nested.agent, &format!("{path}.agent.turns"));
                    self.args(&nested.args, &format!("{path}.agent.args"));
                    if self.too_long == before {
                        self.nested(nested, &format!("{path}.agent"));
                    }
                }
                _ => {}
            }
        }
        if self.left_behind > left_behind
            && let Some(at) = steps.iter().position(|step| *step == Step::Again)
        {
            let help = "`again` repeats what ends by itself: `run` waits for a process";
            let message = "each round would leave one process more in the background";
            self.no(format!("{path}.{at}"), message, Some(help));
        }
    }

    fn hook(&mut self, scenario: &Scenario) {
        if !scenario.hook.is_empty() && !is_live(scenario) {
            let help = "for a real release: `stages = { only = [\"live\"], … }`; of Claude Code's fake, by `args = [\"--settings\", …]`";
            self.no("hook".to_owned(), "no fake runs the hook of another's file", Some(help));
        }
        self.steps(&scenario.hook, "hook");
    }

    fn tool_server(&mut self, server: &ToolServer, scenario: &Scenario) {
        if scenario.agent.kind() != &agents::CLAUDE && !is_live(scenario) {
            let help = "`agent = { claude = { … } }`; for a real release of another agent, `stages = { only = [\"live\"], … }`";
            self.no("tool-server".to_owned(), "of the fakes, Claude Code's alone uses a tool server", Some(help));
        }
        let is_plain = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        for (key, name) in [("name", &server.name), ("tool", &server.tool)] {
            if !is_plain(name) {
                let message = format!("`{}` cannot be a part of a tool's name", shown(name));
                self.no(
                    format!("tool-server.{key}"),
                    message,
                    Some("letters, digits and `-`: the model calls `mcp__NAME__TOOL`"),
                );
            }
        }
        if server.output.len() > limits::TOOL_OUTPUT_BYTES {
            let message = format!("a result longer than {} bytes", limits::TOOL_OUTPUT_BYTES);
            self.no("tool-server.output".to_owned(), message, None);
        }
        if server.fault.as_ref().is_some_and(|fault| fault.does == ToolServerDoes::KeepAlive(Span::ZERO)) {
            let help = "give them a pace: `keep-alive = \"15s\"`";
            self.no("tool-server.fault.does".to_owned(), "keep-alives without any time between them", Some(help));
        }
    }

    fn editor(&mut self, scenario: &Scenario) {
        if !scenario.agent.has_editor() {
            if scenario.editor != default_editor() {
                let help = "`agent = { opencode = { mode = \"acp\" } }`, `agent = { codex = { mode = \"app-server\" } }`, \
                            `agent = { claude = { mode = \"sdk\" } }`";
                let message = "only an agent in the mode `acp`, `app-server` or `sdk` has an editor";
                self.no("editor".to_owned(), message, Some(help));
            }
            return;
        }
        let (kind, release) = (scenario.agent.kind(), scenario.agent.release().unwrap_or_default());
        let is_sdk = scenario.agent.editor() == Some(Protocol::Sdk);
        for (i, step) in scenario.editor.iter().enumerate().filter(|_| !is_sdk) {
            if matches!(step, EditorStep::Hook(_)) {
                let help = "`agent = { claude = { mode = \"sdk\" } }`";
                self.no(format!("editor.{i}"), "only a client of the Claude Agent SDK has this", Some(help));
            }
        }
        if is_sdk && kind.releases.contains(&release) && !agents::WITH_SDK.contains(&release) {
            let help = format!("releases that are recorded for it: {}", quoted(agents::WITH_SDK));
            let message = "this release is not recorded for a client of the Claude Agent SDK";
            self.no(format!("agent.{}.as", kind.word), message, Some(&help));
        }
        if scenario.agent.editor() == Some(Protocol::AppServer) {
            if !scenario.agent.is_prompted() {
                let help = "leave it out: its editor prompts it or does not, by its steps";
                let message = "`app-server` has no prompt on its command line";
                self.no(format!("agent.{}.prompt", kind.word), message, Some(help));
            }
            if kind.releases.contains(&release) && !agents::WITH_TURNS.contains(&release) {
                let help = format!("releases whose turns have an end: {}", quoted(agents::WITH_TURNS));
                let message =
                    "an editor speaks of threads and turns to `app-server`, and no turn of this release has an end";
                self.no(format!("agent.{}.as", kind.word), message, Some(&help));
            }
        }
        if scenario.terminals != [Terminal::Pipe] {
            let help = "write `terminals = [\"pipe\"]`";
            self.no("terminals".to_owned(), "an editor and its agent speak over pipes alone", Some(help));
        }
        if !scenario.people.is_empty() {
            let help = "a person at an editor acts by its steps: `editor = [\"initialize\", \"new-session\", \"prompt\", { answer = \"allow\" }, …]`";
            self.no("people".to_owned(), "nobody but its editor reaches this agent", Some(help));
        }
    }

    fn fault(&mut self, fault: &Fault, agent: &Agent, path: &str) {
        let kind = agent.kind();
        if fault.needs_server() && !kind.has_server {
            self.no(path.to_owned(), format!("{} has no server for this fault", kind.title), None);
        }
        if let Fault::Process(process) = fault
            && matches!(process.does, ProcessDoes::Mute | ProcessDoes::Restart)
            && !(process.role == "agent" && agent.serves())
        {
            let help = "`agent = { opencode = { mode = \"serve\" } }`, and no other `role` than `agent`";
            let message = match process.does {
                ProcessDoes::Mute => "only a server's event loop can be stuck",
                _ => "only a server is started again at its address",
            };
            self.no(format!("{path}.process.does"), message, Some(help));
        }
        if let Fault::Process(process) = fault
            && process.does == ProcessDoes::MuteOutput
            && !(process.role == "agent" && agent.kind() == &agents::CLAUDE)
        {
            let help = "`agent = { claude = { … } }`, and no other `role` than `agent`";
            self.no(format!("{path}.process.does"), "only Claude Code's output can stop", Some(help));
        }
        if fault.needs_model() && !kind.has_model {
            self.no(path.to_owned(), "a plain program has no model and no tools for this fault", None);
        }
        if let Fault::Model(model) = fault
            && let ModelDoes::KeepAlive(Span::ZERO) = model.does
        {
            let help = "give them a pace: `keep-alive = \"15s\"`";
            self.no(format!("{path}.model.does"), "keep-alives without any time between them", Some(help));
        }
        if let Fault::Model(model) = fault
            && model.does == ModelDoes::Repeats
            && (model.response == 0 || model.after > 0)
        {
            let help = "name the response of `turns` that comes again: `response = 1`, without `after`";
            self.no(format!("{path}.model.does"), "one response is repeated, and all of it", Some(help));
        }
        let lags = matches!(fault, Fault::Tool(tool) if matches!(tool.does, ToolDoes::Lags(_)));
        if lags && kind.has_model && !kind.has_server {
            self.no(path.to_owned(), "only opencode and its forks are known to lag between two steps", None);
        }
    }
}
