//! How a wrapper calls its agent, read from what it called a fake with.
//!
//! Invariant: only what changes the agent's behaviour is kept; prompts, models and session names are not.

use crate::unfit::Unfit;
use rehang_fakes::claude::{self, Format, Mode, Parsed};
use rehang_fakes::opencode::{self, Command};
use rehang_scenario::{Agent, ClaudeMode, OpencodeMode, Scenario};

/// How an agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `claude`.
    Claude(ClaudeMode, Vec<String>),
    /// `opencode`.
    Opencode(OpencodeMode, Vec<String>),
    /// `altimate`.
    Altimate(OpencodeMode, Vec<String>),
    /// `pawwork`.
    Pawwork(Vec<String>),
}

impl Call {
    /// What a command line does; none where it only asks for a version or is refused.
    pub fn of(argv: &[String]) -> Option<Call> {
        let name = argv.first()?.rsplit('/').next()?.trim_start_matches("fake-");
        let words = argv.get(1..).unwrap_or_default();
        match name {
            "claude" => match claude::parse(words) {
                Parsed::Run(args) => Some(claude_call(&args)),
                Parsed::Print(_) | Parsed::Version(_) | Parsed::Refuse(_) => None,
            },
            "opencode" | "altimate" | "pawwork" => {
                let args = opencode::parse(words);
                let mut kept = Vec::new();
                if args.auto {
                    kept.push("--auto".to_owned());
                }
                if args.listens {
                    kept.extend(["--port".to_owned(), "0".to_owned()]);
                }
                let mode = match args.command {
                    Command::Version => return None,
                    Command::Run => OpencodeMode::Run,
                    Command::Serve => OpencodeMode::Serve,
                    Command::Interactive => OpencodeMode::Interactive,
                };
                Some(match name {
                    "opencode" => Call::Opencode(mode, kept),
                    "altimate" => Call::Altimate(mode, kept),
                    _ => Call::Pawwork(kept),
                })
            }
            _ => None,
        }
    }

    /// In a few words.
    pub fn describe(&self) -> String {
        let (name, mode, args) = match self {
            Call::Claude(mode, args) => ("claude", claude_word(*mode), args),
            Call::Opencode(mode, args) => ("opencode", opencode_word(*mode), args),
            Call::Altimate(mode, args) => ("altimate", opencode_word(*mode), args),
            Call::Pawwork(args) => ("pawwork", "serve", args),
        };
        let args: String = args.iter().map(|arg| format!(" {arg}")).collect();
        format!("{name}, {mode}{args}")
    }

    /// The scenario as this wrapper would meet it: its agent is called as the wrapper calls it.
    ///
    /// # Errors
    /// Why it does not fit.
    pub fn meets(&self, scenario: &Scenario) -> Result<Scenario, Unfit> {
        let mut met = scenario.clone();
        let mode = |scenario, wrapper| Err(Unfit::Mode { scenario, wrapper });
        match (&mut met.agent, self) {
            (Agent::Claude(claude), Call::Claude(ours, args)) => {
                // what the answers look like is the wrapper's choice; who can be asked is the scenario's
                let kind = |mode: ClaudeMode| match mode {
                    ClaudeMode::Print | ClaudeMode::Json => "claude -p",
                    other => claude_word(other),
                };
                if kind(claude.mode) != kind(*ours) {
                    return mode(kind(claude.mode), kind(*ours));
                }
                claude.mode = *ours;
                met.args.clone_from(args);
            }
            (Agent::Opencode(opencode), Call::Opencode(ours, args)) => {
                if opencode.mode != *ours {
                    return mode(opencode_word(opencode.mode), opencode_word(*ours));
                }
                met.args.clone_from(args);
            }
            (Agent::Altimate(altimate), Call::Altimate(ours, args)) => {
                if altimate.mode != *ours {
                    return mode(opencode_word(altimate.mode), opencode_word(*ours));
                }
                met.args.clone_from(args);
            }
            (Agent::Pawwork(_), Call::Pawwork(args)) => met.args.clone_from(args),
            // a plain program says a line or two: it stands where one prompt is answered by one run
            (Agent::Program(_), Call::Claude(ClaudeMode::Print | ClaudeMode::Json, _))
            | (Agent::Program(_), Call::Opencode(OpencodeMode::Run, _)) => {}
            (agent, _) => return Err(Unfit::Agent { scenario: name(agent), wrapper: self.name() }),
        }
        Ok(met)
    }

    fn name(&self) -> &'static str {
        match self {
            Call::Claude(..) => "claude",
            Call::Opencode(..) => "opencode",
            Call::Altimate(..) => "altimate-code",
            Call::Pawwork(_) => "PawWork",
        }
    }
}

fn name(agent: &Agent) -> &'static str {
    match agent {
        Agent::Claude(_) => "claude",
        Agent::Opencode(_) => "opencode",
        Agent::Altimate(_) => "altimate-code",
        Agent::Pawwork(_) => "PawWork",
        Agent::Program(_) => "a plain program",
    }
}

fn claude_call(args: &claude::Args) -> Call {
    let mode = match () {
        () if args.messages_in => ClaudeMode::StreamJson,
        () if !args.print => ClaudeMode::Interactive,
        () if args.output == Format::StreamJson => ClaudeMode::Json,
        () => ClaudeMode::Print,
    };
    let mut kept: Vec<String> = Vec::new();
    let mut keep = |words: &[&str]| kept.extend(words.iter().map(|&word| word.to_owned()));
    if args.mode != Mode::Default {
        keep(&["--permission-mode", args.mode.name()]);
    }
    if args.asks_host {
        keep(&["--permission-prompt-tool", "stdio"]);
    }
    for (option, rules) in [("--allowedTools", &args.allowed), ("--disallowedTools", &args.disallowed)] {
        if !rules.is_empty() {
            keep(&[option, &rules.join(",")]);
        }
    }
    if mode == ClaudeMode::Print && args.output == Format::Json {
        keep(&["--output-format", "json"]);
    }
    Call::Claude(mode, kept)
}

fn claude_word(mode: ClaudeMode) -> &'static str {
    match mode {
        ClaudeMode::Print => "claude -p",
        ClaudeMode::Json => "claude -p with messages out",
        ClaudeMode::StreamJson => "claude with messages both ways",
        ClaudeMode::Interactive => "claude on a terminal",
    }
}

fn opencode_word(mode: OpencodeMode) -> &'static str {
    match mode {
        OpencodeMode::Run => "run",
        OpencodeMode::Serve => "serve",
        OpencodeMode::Interactive => "an interactive session",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Call> {
        Call::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_are_told_apart_by_what_changes_the_agent() {
        let claude = |mode, args: &[&str]| Some(Call::Claude(mode, args.iter().map(|&a| a.to_owned()).collect()));
        assert_eq!(of("/x/claude --version"), None);
        assert_eq!(
            of("claude --dangerously-skip-permissions -p go"),
            claude(ClaudeMode::Print, &["--permission-mode", "bypassPermissions"])
        );
        let sdk =
            "claude --output-format stream-json --verbose --input-format stream-json --permission-prompt-tool stdio";
        assert_eq!(of(sdk), claude(ClaudeMode::StreamJson, &["--permission-prompt-tool", "stdio"]));
        assert_eq!(of("claude -p go --model x --output-format stream-json --verbose"), claude(ClaudeMode::Json, &[]));
        assert_eq!(
            of("opencode serve --port 0"),
            Some(Call::Opencode(OpencodeMode::Serve, vec!["--port".into(), "0".into()]))
        );
        assert_eq!(of("something else"), None);
    }
}
