//! The command line of `fake-claude`, read as the real one reads it.
//!
//! Invariant: it accepts what the real one accepts, and refuses what the real one refuses, with its words and its exit
//! code. `--allowedTools` and its like take every word up to the next option, including a prompt that follows them:
//! that is a trap of the real one, and is kept.

use super::release::Release;
use crate::ReleaseError;
use rehang_scenario::agents::CLAUDE;
use rehang_scenario::{Agent, ClaudeMode};

/// The format of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// The last text of the model.
    #[default]
    Text,
    /// The result message, as JSON.
    Json,
    /// Every message, one JSON object a line.
    StreamJson,
}

/// A mode of asking for permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// It asks before tools that need a permission.
    #[default]
    Default,
    /// Edits files without asking.
    AcceptEdits,
    /// Asks for nothing except questions.
    Bypass,
    /// Denies instead of asking.
    DontAsk,
    /// Plans; asks as the default does.
    Plan,
}

impl Mode {
    /// The mode of this name.
    pub fn parse(name: &str) -> Option<Mode> {
        [Mode::Default, Mode::AcceptEdits, Mode::Bypass, Mode::DontAsk, Mode::Plan]
            .into_iter()
            .find(|m| m.name() == name)
    }

    /// The mode's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::Bypass => "bypassPermissions",
            Mode::DontAsk => "dontAsk",
            Mode::Plan => "plan",
        }
    }
}

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Args {
    /// `-p`: one turn, no terminal needed.
    pub print: bool,
    /// The prompt, if one was given.
    pub prompt: Option<String>,
    /// `--output-format`.
    pub output: Format,
    /// `--input-format stream-json`.
    pub messages_in: bool,
    /// `--verbose`.
    pub verbose: bool,
    /// `--permission-mode`, `--dangerously-skip-permissions`.
    pub mode: Mode,
    /// `--allowedTools`: `Bash`, `Bash(touch:*)`.
    pub allowed: Vec<String>,
    /// `--disallowedTools`.
    pub disallowed: Vec<String>,
    /// `--permission-prompt-tool stdio`: asks go over the control protocol.
    pub asks_host: bool,
    /// `--mcp-config`: the name of a tool server of the client's own in it.
    pub own_server: Option<String>,
    /// `--settings`: JSON, or the name of a file.
    pub settings: Option<String>,
    /// `--setting-sources`: those of `user`, `project` and `local` that are read; all if it is not given.
    pub sources: Option<Vec<String>>,
    /// `--include-hook-events`.
    pub hook_events: bool,
    /// The options, as they were named: not every release has each of them.
    pub named: Vec<String>,
    /// `--as`, an option of ours: the release to play.
    pub release: Option<String>,
}

/// The result of reading a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// It runs with these arguments.
    Run(Args),
    /// It prints this to stdout and exits with 0.
    Print(String),
    /// It prints the version of the release that was named before.
    Version(Option<String>),
    /// It says this on stderr and exits with 1.
    Refuse(Refusal),
}

/// Why a command line is refused, in the real one's words; the text ends with a newline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing comes after an option that takes a value.
    #[error("error: option '{0} <value>' argument missing\n")]
    NoValue(String),
    /// An option has a value that is none of its choices.
    #[error("error: option '{option}' argument '{given}' is invalid. Allowed choices are {allowed}.\n")]
    Choice {
        /// The option, with the name of its value.
        option: &'static str,
        /// The value that was given.
        given: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// Permissions are to go to a tool that does not exist here.
    #[error("Error: MCP tool {0} (passed via --permission-prompt-tool) not found. Available MCP tools: none\n")]
    NoTool(String),
    /// A source of settings that there is not.
    #[error(
        "Error processing --setting-sources: Invalid setting source: {0}. Valid options are: user, project, local\n"
    )]
    Source(String),
    /// An option that it does not know.
    #[error("error: unknown option '{0}'\n")]
    Unknown(String),
    /// Messages are asked for on stdout, but not all of them.
    #[error("Error: When using --print, --output-format=stream-json requires --verbose\n")]
    NotVerbose,
    /// Messages are given on stdin, but none are asked for on stdout.
    #[error("Error: --input-format=stream-json requires output-format=stream-json.\n")]
    NoMessagesOut,
}

/// Options that take one word and have no effect here.
const ONE_WORD: [&str; 23] = [
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--system-prompt",
    "--system-prompt-file",
    "--model",
    "--fallback-model",
    "--max-turns",
    "--max-thinking-tokens",
    "--session-id",
    "--agent",
    "--agents",
    "--json-schema",
    "--max-budget-usd",
    "--effort",
    "--debug-file",
    "--name",
    "-n",
    "--autocompact",
    "--environment",
    "--permission-prompts",
    "--plugin-url",
    "--remote-control-session-name-prefix",
    "--system-prompt-snapshot",
];
/// Options that take the next word if it is no option, and have no effect here: a prompt after them is taken too.
const MAYBE_A_WORD: [&str; 11] = [
    "--resume",
    "-r",
    "--debug",
    "-d",
    "--from-pr",
    "--worktree",
    "-w",
    "--cloud",
    "--prompt-suggestions",
    "--remote-control",
    "--teleport",
];
/// Options that take every word up to the next option and have no effect here.
const MANY_WORDS: [&str; 6] = ["--add-dir", "--mcp-config", "--plugin-dir", "--betas", "--tools", "--file"];
/// Options without a word that have no effect here.
const NO_WORD: [&str; 24] = [
    "--include-partial-messages",
    "--replay-user-messages",
    "--continue",
    "-c",
    "--fork-session",
    "--strict-mcp-config",
    "--no-session-persistence",
    "--allow-dangerously-skip-permissions",
    "--mcp-debug",
    "--ide",
    "--chrome",
    "--no-chrome",
    "--disable-slash-commands",
    "--bare",
    "--brief",
    "--safe-mode",
    "--tmux",
    "--exclude-dynamic-system-prompt-sections",
    "--ax-screen-reader",
    "--background",
    "--bg",
    "--desktop",
    "--forward-subagent-text",
    "--restricted",
];

/// Reads a command line without the program's name.
pub fn parse(words: &[String]) -> Parsed {
    let mut args = Args::default();
    let mut skip_permissions = false;
    let mut i = 0;
    while i < words.len() {
        let word = words[i].as_str();
        i += 1;
        if word == "--" {
            // what follows is no option, whatever it looks like
            let rest = words.get(i).cloned();
            args.prompt = args.prompt.or(rest);
            break;
        }
        if !word.starts_with('-') || word == "-" {
            args.prompt.get_or_insert_with(|| word.to_owned());
            continue;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        args.named.push(name.to_owned());
        let mut one = || match inline.clone() {
            Some(value) => Ok(value),
            None => {
                i += 1;
                words.get(i - 1).cloned().ok_or_else(|| Refusal::NoValue(name.to_owned()))
            }
        };
        let done = match name {
            "-p" | "--print" => set(&mut args.print),
            "--verbose" => set(&mut args.verbose),
            "--dangerously-skip-permissions" => set(&mut skip_permissions),
            "-v" | "--version" => return Parsed::Version(args.release),
            "-h" | "--help" => return Parsed::Print(HELP.to_owned()),
            "--settings" => one().map(|settings| args.settings = Some(settings)),
            "--setting-sources" => one().and_then(|v| sources(&v).map(|named| args.sources = Some(named))),
            "--include-hook-events" => set(&mut args.hook_events),
            "--as" => one().map(|version| args.release = Some(version)),
            "--output-format" => one().and_then(|v| format(v).map(|f| args.output = f)),
            "--input-format" => one().and_then(|v| match v.as_str() {
                "text" => Ok(()),
                "stream-json" => set(&mut args.messages_in),
                _ => Err(choice("--input-format <format>", v, "text, stream-json")),
            }),
            "--permission-mode" => one().and_then(|v| match Mode::parse(&v) {
                Some(mode) => {
                    args.mode = mode;
                    Ok(())
                }
                None => {
                    Err(choice("--permission-mode <mode>", v, "acceptEdits, bypassPermissions, default, dontAsk, plan"))
                }
            }),
            "--permission-prompt-tool" => one().and_then(|v| match v.as_str() {
                "stdio" => set(&mut args.asks_host),
                _ => Err(Refusal::NoTool(v)),
            }),
            "--allowedTools" | "--allowed-tools" => {
                many(&mut i, words, inline, &mut args.allowed);
                Ok(())
            }
            "--disallowedTools" | "--disallowed-tools" => {
                many(&mut i, words, inline, &mut args.disallowed);
                Ok(())
            }
            _ if ONE_WORD.contains(&name) => one().map(drop),
            _ if MANY_WORDS.contains(&name) => {
                if let Some(text) = inline.as_ref().or(words.get(i)).filter(|_| name == "--mcp-config") {
                    args.own_server = of_config(text);
                }
                many(&mut i, words, inline, &mut Vec::new());
                Ok(())
            }
            _ if MAYBE_A_WORD.contains(&name) => {
                let takes = inline.is_none() && words.get(i).is_some_and(|next| !next.starts_with('-'));
                i += usize::from(takes);
                Ok(())
            }
            _ if NO_WORD.contains(&name) => Ok(()),
            _ => Err(Refusal::Unknown(name.to_owned())),
        };
        if let Err(refusal) = done {
            return Parsed::Refuse(refusal);
        }
    }
    if skip_permissions {
        args.mode = Mode::Bypass;
    }
    if args.print && args.output == Format::StreamJson && !args.verbose {
        return Parsed::Refuse(Refusal::NotVerbose);
    }
    if args.messages_in && args.output != Format::StreamJson {
        return Parsed::Refuse(Refusal::NoMessagesOut);
    }
    Parsed::Run(args)
}

/// What both of the Claude Agent SDKs start Claude Code with, if their client can be asked (PyPI's 0.2.189 and npm's of that week).
const SDK: [&str; 7] = [
    "--output-format",
    "stream-json",
    "--verbose",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];

/// The command line with which a scenario's agent is started: its mode, its further arguments, its prompt.
pub fn argv(agent: &Agent, args: &[String], prompt: &str) -> Vec<String> {
    let mode = match agent {
        Agent::Claude(claude) => claude.mode,
        _ => ClaudeMode::default(),
    };
    let words: &[&str] = match mode {
        ClaudeMode::Print => &["-p", prompt],
        ClaudeMode::Json => &["-p", prompt, "--output-format", "stream-json", "--verbose"],
        ClaudeMode::StreamJson => {
            &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        }
        ClaudeMode::Interactive => &[prompt],
        ClaudeMode::Sdk => &SDK,
    };
    let own = words.iter().map(|&word| word.to_owned());
    std::iter::once(CLAUDE.fake().to_owned()).chain(own).chain(args.iter().cloned()).collect()
}

/// The release that a command line or a plan names: `--as` first.
///
/// # Errors
/// It is none of the versions that are played.
pub fn release(args: &Args, planned: Option<&str>) -> Result<Release, ReleaseError> {
    Release::parse(args.release.as_deref().or(planned).unwrap_or(CLAUDE.default_release))
}

fn sources(list: &str) -> Result<Vec<String>, Refusal> {
    let named: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match named.iter().find(|name| !["user", "project", "local"].contains(name)) {
        Some(wrong) => Err(Refusal::Source((*wrong).to_owned())),
        None => Ok(named.into_iter().map(str::to_owned).collect()),
    }
}

fn set(flag: &mut bool) -> Result<(), Refusal> {
    *flag = true;
    Ok(())
}

fn format(name: String) -> Result<Format, Refusal> {
    match name.as_str() {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        "stream-json" => Ok(Format::StreamJson),
        _ => Err(choice("--output-format <format>", name, "text, json, stream-json")),
    }
}

fn choice(option: &'static str, given: String, allowed: &'static str) -> Refusal {
    Refusal::Choice { option, given, allowed }
}

/// The words of an option that takes many, up to the next option; each word may list several, separated by comma or
/// space.
fn many(i: &mut usize, words: &[String], inline: Option<String>, into: &mut Vec<String>) {
    let mut take = |list: &str| into.extend(rules(list));
    if let Some(list) = inline {
        take(&list);
        return;
    }
    while let Some(word) = words.get(*i).filter(|word| !word.starts_with('-')) {
        take(word);
        *i += 1;
    }
}

/// Splits `Bash(git diff:*), Edit` at commas and spaces outside of brackets.
fn rules(list: &str) -> Vec<String> {
    let (mut all, mut rule, mut depth) = (Vec::new(), String::new(), 0u32);
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                all.push(std::mem::take(&mut rule));
                continue;
            }
            _ => {}
        }
        rule.push(c);
    }
    all.push(rule);
    all.retain(|rule| !rule.is_empty());
    all
}

/// The text of `--help`.
const HELP: &str = "\
Usage: fake-claude [options] [prompt]

Plays Claude Code against a scripted model. A prompt on a terminal starts a session there; -p prints and exits.

Options:
  --as <version>                     the release to play: 1.0.128, 2.0.77 (default), 2.1.329
  -p, --print                        print the response and exit
  --output-format <format>           text, json, stream-json (the last needs --verbose)
  --input-format <format>            text, stream-json: messages and the control protocol on stdin
  --verbose                          with stream-json: every message
  --permission-mode <mode>           acceptEdits, bypassPermissions, default, dontAsk, plan
  --dangerously-skip-permissions     the same as --permission-mode bypassPermissions
  --allowedTools <tools...>          tools that need no permission: Bash, \"Bash(touch:*)\"
  --disallowedTools <tools...>       tools that are not offered
  --permission-prompt-tool stdio     ask over the control protocol
  -v, --version                      the release's version
  -h, --help                         this

Options of the real one that change nothing here are taken too. What the model does comes from the harness, or
from REHANG_PLAN (JSON); without either it says hello.
";

/// The name of the client's server on a command line: PyPI's SDK gives it as `--mcp-config`.
fn of_config(text: &str) -> Option<String> {
    let config: serde_json::Value = serde_json::from_str(text).ok()?;
    let servers = config["mcpServers"].as_object()?;
    servers.iter().find(|(_, server)| server["type"] == "sdk").map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &[&str]) -> Args {
        let words: Vec<String> = line.iter().map(|&w| w.to_owned()).collect();
        match parse(&words) {
            Parsed::Run(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_real_ones_lines_are_read() {
        let args = run(&[
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
            "--permission-prompt-tool=stdio",
            "--system-prompt",
            "",
        ]);
        assert!(args.asks_host && args.messages_in && !args.print && args.output == Format::StreamJson);
        let args = run(&["--dangerously-skip-permissions", "-p", "fix it"]);
        assert_eq!((args.mode, args.prompt.as_deref()), (Mode::Bypass, Some("fix it")));
        let args = run(&["-p", "go", "--allowedTools", "Bash(git diff:*),Edit", "Read"]);
        assert_eq!(args.allowed, ["Bash(git diff:*)", "Edit", "Read"]);
    }

    #[test]
    fn a_prompt_behind_a_list_of_tools_is_swallowed() {
        let args = run(&["-p", "--allowedTools", "Bash", "go"]);
        assert_eq!((args.prompt, args.allowed), (None, vec!["Bash".to_owned(), "go".to_owned()]));
    }

    #[test]
    fn what_the_real_one_refuses_is_refused() {
        let refused = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|&w| w.to_owned()).collect();
            matches!(parse(&words), Parsed::Refuse(_))
        };
        assert!(refused(&["-p", "go", "--output-format", "stream-json"]));
        assert!(refused(&["-p", "--input-format", "stream-json"]));
        assert!(refused(&["--permission-mode", "maybe"]));
        assert!(refused(&["--permission-mode"]));
        assert!(refused(&["--no-such-option"]));
    }
}

#[cfg(test)]
mod options {
    use super::*;

    /// Options of the main command that each release's own package declares, those of the release before it left out: a
    /// value in `<>` is needed, one in `[]` is not.
    const OPTIONS: [(&str, &str); 3] = [
        (
            "1.0.128",
            "--add-dir <d> --agents <j> --allowedTools <t> --allowed-tools <t> --dangerously-skip-permissions \
             --disallowedTools <t> --disallowed-tools <t> --fallback-model <m> --fork-session --ide \
             --include-partial-messages --mcp-config <c> --mcp-debug --model <m> --replay-user-messages --session-id <u> \
             --setting-sources <s> --settings <f> --strict-mcp-config --verbose -c --continue -d [f] --debug [f] -p \
             --print -r [s] --resume [s] --append-system-prompt <p>",
        ),
        (
            "2.0.77",
            "--agent <a> --allow-dangerously-skip-permissions --betas <b> --chrome --no-chrome --disable-slash-commands \
             --no-session-persistence --plugin-dir <p> --tools <t> --system-prompt <p> --json-schema <s> \
             --max-budget-usd <n>",
        ),
        (
            "2.1.329",
            "--bare --effort <l> --include-hook-events --debug-file <p> --file <s> --from-pr [v] --safe-mode --brief \
             --tmux -n <n> --name <n> -w [n] --worktree [n] --exclude-dynamic-system-prompt-sections \
             --autocompact <t> --ax-screen-reader --bg --background --cloud [d] --desktop --environment <i> \
             --forward-subagent-text --permission-prompts <t> --plugin-url <u> --prompt-suggestions [v] \
             --remote-control [n] --remote-control-session-name-prefix <p> --restricted \
             --system-prompt-snapshot <s> --teleport [s] --settings <f>",
        ),
    ];

    #[test]
    fn every_option_of_each_release_is_accepted_with_its_value() {
        for (release, options) in OPTIONS {
            let words: Vec<&str> = options.split_whitespace().collect();
            for (at, name) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
                let value = words.get(at + 1).filter(|next| next.starts_with(['<', '[']));
                let mut line = vec!["-p".to_owned(), "go".to_owned(), (*name).to_owned()];
                // sources of settings are looked at
                let given = if *name == "--setting-sources" { "user" } else { "value" };
                line.extend(value.map(|_| given.to_owned()));
                match parse(&line) {
                    Parsed::Run(args) => assert_eq!(args.prompt.as_deref(), Some("go"), "{release} {name}"),
                    other => panic!("{release} {name}: {other:?}"),
                }
            }
        }
        assert!(matches!(parse(&["--no-such-option".to_owned()]), Parsed::Refuse(Refusal::Unknown(_))));
        assert!(matches!(parse(&["--effort".to_owned()]), Parsed::Refuse(Refusal::NoValue(_))));
    }

    /// A trap of the real one: a prompt after an option that may have a value is that value.
    #[test]
    fn an_option_that_may_have_a_value_takes_a_prompt() {
        let line = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let prompt = |words: &str| match parse(&line(words)) {
            Parsed::Run(args) => args.prompt,
            other => panic!("{other:?}"),
        };
        assert_eq!(prompt("-p --debug go"), None);
        assert_eq!(prompt("-p --debug=api go").as_deref(), Some("go"));
        assert_eq!(prompt("-p --debug -- --verbose").as_deref(), Some("--verbose"));
    }
}
