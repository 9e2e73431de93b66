//! The command line of `fake-gemini`, read as the real one reads it.
//!
//! Invariant: it accepts what the real one accepts, and refuses what the real one refuses, with exit code 1.

use crate::registry::Called;
use rehang_scenario::agents::GEMINI;
use rehang_scenario::{Agent, GeminiMode};

/// The format of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// What the model says.
    #[default]
    Text,
    /// One object at the end.
    Json,
    /// Every event, one object a line.
    StreamJson,
}

/// What runs without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Approval {
    /// Nothing that changes anything.
    #[default]
    Default,
    /// Edits.
    AutoEdit,
    /// Everything.
    Yolo,
    /// Nothing: it plans.
    Plan,
}

impl Approval {
    const ALL: [(Approval, &'static str); 4] = [
        (Approval::Default, "default"),
        (Approval::AutoEdit, "auto_edit"),
        (Approval::Yolo, "yolo"),
        (Approval::Plan, "plan"),
    ];

    fn parse(word: &str) -> Option<Approval> {
        Approval::ALL.into_iter().find(|(_, name)| *name == word).map(|(approval, _)| approval)
    }

    fn name(self) -> &'static str {
        Approval::ALL.into_iter().find(|(approval, _)| *approval == self).map_or("default", |(_, name)| name)
    }
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// `--list-extensions`: there are none.
    Extensions,
    /// `--list-sessions`: there are none.
    Sessions,
}

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Args {
    /// `-p`: one turn, no terminal needed.
    pub prompt: Option<String>,
    /// `-i`: a session that begins with this prompt.
    pub session: Option<String>,
    /// The words without an option.
    pub positional: Option<String>,
    /// `-o`.
    pub output: Format,
    /// `--approval-mode`, `--yolo`.
    pub approval: Approval,
    /// `--allowed-tools`.
    pub allowed: Vec<String>,
    /// `-s`: it is to run in a container.
    pub sandbox: bool,
    /// `--skip-trust`: the folder counts as trusted.
    pub skip_trust: bool,
    /// A list that it prints instead of a run.
    pub lists: Option<List>,
    /// `--as`, an option of ours: the release to play.
    pub release: Option<String>,
}

/// The result of reading a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parsed {
    /// It runs with these arguments.
    Run(Args),
    /// It prints this text and exits with 0.
    Help,
    /// It prints its version and exits with 0.
    Version(Option<String>),
    /// It says this on stderr and exits with 1.
    Refuse(String),
}

/// Options that take one word and have no effect here.
const ONE_WORD: [&str; 15] = [
    "-m",
    "--model",
    "--sandbox-image",
    "-r",
    "--resume",
    "--session-id",
    "--delete-session",
    "--fake-responses",
    "--record-responses",
    "-w",
    "--worktree",
    "--proxy",
    "--telemetry-target",
    "--telemetry-otlp-endpoint",
    "--session-file",
];
/// Options that take every word up to the next option and have no effect here.
const MANY_WORDS: [&str; 6] =
    ["-e", "--extensions", "--include-directories", "--allowed-mcp-server-names", "--policy", "--admin-policy"];
/// Options without a word that have no effect here.
const NO_WORD: [&str; 13] = [
    "-d",
    "--debug",
    "-a",
    "--all-files",
    "--show-memory-usage",
    "-c",
    "--checkpointing",
    "--screen-reader",
    "--raw-output",
    "--accept-raw-output-risk",
    "--telemetry",
    "--acp",
    "--experimental-acp",
];

/// Reads a command line without the program's name.
pub(super) fn parse(words: &[String]) -> Parsed {
    let mut args = Args::default();
    let mut positional: Vec<&str> = Vec::new();
    let (mut yolo, mut with_mode) = (false, false);
    let mut i = 0;
    while i < words.len() {
        let word = words[i].as_str();
        i += 1;
        if word == "--" {
            positional.extend(words[i..].iter().map(String::as_str));
            break;
        }
        if !word.starts_with('-') || word == "-" {
            positional.push(word);
            continue;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word, None),
        };
        let mut one = || {
            inline.clone().or_else(|| {
                i += 1;
                words.get(i - 1).cloned()
            })
        };
        let missing = || Parsed::Refuse(format!("Not enough arguments following: {}\n", name.trim_start_matches('-')));
        let choice = |given: &str, choices: &str| {
            let option = name.trim_start_matches('-');
            Parsed::Refuse(format!("Invalid values:\n  Argument: {option}, Given: \"{given}\", Choices: {choices}\n"))
        };
        match name {
            "-p" | "--prompt" => match one() {
                Some(prompt) => args.prompt = Some(prompt),
                None => return missing(),
            },
            "-i" | "--prompt-interactive" => match one() {
                Some(prompt) => args.session = Some(prompt),
                None => return missing(),
            },
            "-y" | "--yolo" => yolo = true,
            "-s" | "--sandbox" => args.sandbox = true,
            "--skip-trust" => args.skip_trust = true,
            "-l" | "--list-extensions" => args.lists = Some(List::Extensions),
            "--list-sessions" => args.lists = Some(List::Sessions),
            "-v" | "--version" => return Parsed::Version(args.release),
            "-h" | "--help" => return Parsed::Help,
            "--as" => match one() {
                Some(release) => args.release = Some(release),
                None => return missing(),
            },
            "-o" | "--output-format" => match one().as_deref() {
                Some("text") => args.output = Format::Text,
                Some("json") => args.output = Format::Json,
                Some("stream-json") => args.output = Format::StreamJson,
                Some(other) => return choice(other, "\"text\", \"json\", \"stream-json\""),
                None => return missing(),
            },
            "--approval-mode" => match one() {
                Some(word) => match Approval::parse(&word) {
                    Some(approval) => (args.approval, with_mode) = (approval, true),
                    None => return choice(&word, "\"default\", \"auto_edit\", \"yolo\", \"plan\""),
                },
                None => return missing(),
            },
            "--allowed-tools" => match one() {
                Some(list) => args.allowed.extend(list.split(',').map(|tool| tool.trim().to_owned())),
                None => return missing(),
            },
            _ if ONE_WORD.contains(&name) => match one() {
                Some(_) => {}
                None => return missing(),
            },
            _ if MANY_WORDS.contains(&name) => {
                while inline.is_none() && words.get(i).is_some_and(|word| !word.starts_with('-')) {
                    i += 1;
                }
            }
            _ if NO_WORD.contains(&name) => {}
            _ => return Parsed::Refuse(format!("Unknown argument: {}\n", name.trim_start_matches('-'))),
        }
    }
    args.positional = (!positional.is_empty()).then(|| positional.join(" "));
    let refuse = |text: &str| Parsed::Refuse(format!("{text}\n"));
    if yolo && with_mode {
        return refuse("Cannot use both --yolo (-y) and --approval-mode together. Use --approval-mode=yolo instead.");
    }
    if yolo {
        args.approval = Approval::Yolo;
    }
    match (&args.prompt, &args.session, &args.positional) {
        (Some(_), _, Some(_)) => refuse("Cannot use both a positional prompt and the --prompt (-p) flag together"),
        (Some(_), Some(_), _) => refuse("Cannot use both --prompt (-p) and --prompt-interactive (-i) together"),
        _ => Parsed::Run(args),
    }
}

/// The command line with which a scenario's agent is started: its mode, its further arguments, its prompt.
pub fn argv(agent: &Agent, args: &[String], prompt: &str) -> Vec<String> {
    let mode = match agent {
        Agent::Gemini(gemini) => gemini.mode,
        _ => GeminiMode::default(),
    };
    let (output, option): (&[&str], &[&str]) = match mode {
        GeminiMode::Print => (&[], &["-p"]),
        GeminiMode::Json => (&["-o", "json"], &["-p"]),
        GeminiMode::StreamJson => (&["-o", "stream-json"], &["-p"]),
        GeminiMode::Interactive => (&[], &[]),
    };
    let given = option.iter().copied().chain([prompt]).filter(|_| agent.is_prompted());
    let own = output.iter().copied().chain(given).map(str::to_owned);
    std::iter::once(GEMINI.fake().to_owned()).chain(args.iter().cloned()).chain(own).collect()
}

/// What these arguments ask of it; `None` if they only ask for a version, or are refused.
pub fn called(words: &[String]) -> Option<Called> {
    let Parsed::Run(args) = parse(words) else { return None };
    let mode = match (&args.prompt, args.output) {
        (None, _) => GeminiMode::Interactive,
        (_, Format::Text) => GeminiMode::Print,
        (_, Format::Json) => GeminiMode::Json,
        (_, Format::StreamJson) => GeminiMode::StreamJson,
    };
    let mut kept: Vec<String> = Vec::new();
    if args.approval != Approval::Default {
        kept.extend(["--approval-mode".to_owned(), args.approval.name().to_owned()]);
    }
    if args.sandbox {
        kept.push("--sandbox".to_owned());
    }
    if !args.allowed.is_empty() {
        kept.extend(["--allowed-tools".to_owned(), args.allowed.join(",")]);
    }
    Some(Called { mode: mode.mode(), args: kept })
}

/// The text of `--help`.
pub(super) const HELP: &str = "\
Usage: fake-gemini [options] [query..]

Plays Gemini CLI against a scripted model. A prompt after -p prints and exits; a positional prompt at a terminal opens
a session, except in 0.11.3.

Options:
      --as               the release to play: 0.11.3, 0.29.0 (default), 0.61.0
  -p, --prompt           run without a person
  -i, --prompt-interactive   a session that begins with this prompt
  -o, --output-format    text, json, stream-json
  -y, --yolo             runs everything without asking
      --approval-mode    default, auto_edit, yolo, plan
      --allowed-tools    tools that need no permission: run_shell_command
  -v, --version          the release's version
  -h, --help             this

Options of the real one that change nothing here are taken too. What the model does comes from the harness, or
from REHANG_PLAN (JSON); without either it says hello.

Example: fake-gemini --as 0.61.0 -o stream-json -p 'fix the tests'
";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Parsed {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_real_ones_lines_are_read() {
        let Parsed::Run(args) = read("--skip-trust -o stream-json --approval-mode yolo -p go") else { panic!() };
        assert_eq!(
            (args.output, args.approval, args.prompt.as_deref()),
            (Format::StreamJson, Approval::Yolo, Some("go"))
        );
        let Parsed::Run(args) = read("fix the tests -y --allowed-tools=run_shell_command,glob") else { panic!() };
        assert_eq!((args.positional.as_deref(), args.approval), (Some("fix the tests"), Approval::Yolo));
        assert_eq!(args.allowed, ["run_shell_command", "glob"]);
    }

    #[test]
    fn what_the_real_one_refuses_is_refused() {
        for line in [
            "-p go more",
            "-p a -i b",
            "--approval-mode maybe",
            "-o xml",
            "--no-such-option",
            "-y --approval-mode plan",
            "-p",
        ] {
            assert!(matches!(read(line), Parsed::Refuse(_)), "{line}");
        }
    }
}
