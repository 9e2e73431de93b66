//! The command line of `fake-codex`, read as `codex exec` reads it, and what it asks in a scenario's words.
//!
//! Invariant: every flag of `codex exec --help` of the releases that are played is accepted; what has no effect here is
//! in [`ONE_WORD`] and [`NO_WORD`].

use super::release::{IDLE, REQUEST_RETRIES, STREAM_RETRIES};
use crate::registry::Called;
use rehang_scenario::agents::CODEX;
use rehang_scenario::{Agent, CodexMode, Span};

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Args {
    /// `--json`: one event a line.
    pub json: bool,
    /// The prompt; `None` if there is none, or it is `-`: it comes over stdin.
    pub prompt: Option<String>,
    /// `exec resume`.
    pub resumes: bool,
    /// `exec resume --last`.
    pub last: bool,
    /// `exec resume SESSION`: the session's id.
    pub session: Option<String>,
    /// `--sandbox`, or the one that another flag implies.
    pub sandbox: &'static str,
    /// When a command is asked for; in `exec` never.
    pub approval: Approval,
    /// `--enable default_mode_request_user_input`: the model may ask the user a question.
    pub asks_user: bool,
    /// How often a broken stream is asked for again: `-c model_providers.NAME.stream_max_retries=N`.
    pub stream_retries: u32,
    /// How often a refused request is tried again: `-c model_providers.NAME.request_max_retries=N`.
    pub request_retries: u32,
    /// How long a stream may be without an event: `-c model_providers.NAME.stream_idle_timeout_ms=N`.
    pub idle: Span,
    /// `--as`, an option of ours: the release to play.
    pub release: Option<String>,
}

/// When the client is asked whether a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Never: a command that would have to leave the sandbox is refused.
    Never,
    /// Before a command leaves the sandbox (`on-request`, `on-failure`).
    Leaving,
    /// Before every command. The releases let some through that only read (`ls`, `cat`), which is not played.
    Untrusted,
}

impl Approval {
    /// The one of this word.
    pub fn of(word: &str) -> Option<Approval> {
        match word {
            "never" => Some(Approval::Never),
            "on-request" | "on-failure" | "onRequest" | "onFailure" => Some(Approval::Leaving),
            "untrusted" | "unlessTrusted" => Some(Approval::Untrusted),
            _ => None,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Approval::Never => "never",
            Approval::Leaving => "on-request",
            Approval::Untrusted => "untrusted",
        }
    }
}

/// The result of reading a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// It runs with these arguments.
    Run(Args),
    /// It serves a client over its streams: `app-server`.
    Serve(Args),
    /// It prints this to stdout and exits with 0.
    Print(String),
    /// It prints the version of the release that was named before.
    Version(Option<String>),
    /// It says this on stderr and exits with 2, as clap does.
    Refuse(Refusal),
}

/// Why a command line is refused; the text ends with a newline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing comes after an option that takes a value.
    #[error(
        "error: a value is required for '{0} <VALUE>' but none was supplied\n\nFor more information, try '--help'.\n"
    )]
    NoValue(String),
    /// An option has a value that is none of its choices.
    #[error(
        "error: invalid value '{given}' for '{option}'\n  [possible values: {allowed}]\n\nFor more information, try '--help'.\n"
    )]
    Choice {
        /// The option, with the name of its value.
        option: &'static str,
        /// The value that was given.
        given: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// An option that it does not know.
    #[error(
        "error: unexpected argument '{0}' found\n\nUsage: codex exec [OPTIONS] [PROMPT]\n\nFor more information, try '--help'.\n"
    )]
    Unknown(String),
    /// `resume --last` has a prompt too, and takes it for a session (0.45.0, 0.58.0).
    #[error(
        "error: the argument '--last' cannot be used with '[SESSION_ID]'\n\nUsage: codex exec resume --last [SESSION_ID] [PROMPT]\n\nFor more information, try '--help'.\n"
    )]
    LastWithSession,
    /// It was not started as `exec`.
    #[error("fake-codex plays `codex exec` and `codex app-server` alone: without them the release draws a screen\n")]
    NotExec,
}

/// The feature that lets the model ask the user a question outside of the plan mode.
const ASKS_USER: &str = "default_mode_request_user_input";
/// Options that take one word and have no effect here.
const ONE_WORD: &[&str] = &[
    "--disable",
    "-i",
    "--image",
    "-m",
    "--model",
    "--local-provider",
    "-p",
    "--profile",
    "-C",
    "--cd",
    "--add-dir",
    "--thread-source",
    "--cyber-access-program",
    "--output-schema",
    "--color",
    "-o",
    "--output-last-message",
    "-a",
    "--ask-for-approval",
];
/// Options without a word that have no effect here.
const NO_WORD: &[&str] = &[
    "--strict-config",
    "--oss",
    "--dangerously-bypass-hook-trust",
    "--worktree",
    "--skip-git-repo-check",
    "--trust",
    "--ephemeral",
    "--ignore-user-config",
    "--ignore-rules",
    "--include-plan-tool",
    "--progress-cursor",
    "--all",
];
pub(super) const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];

/// Reads a command line without the program's name.
pub fn parse(words: &[String]) -> Parsed {
    let mut args = Args {
        json: false,
        prompt: None,
        resumes: false,
        last: false,
        session: None,
        sandbox: SANDBOXES[0],
        approval: Approval::Never,
        asks_user: false,
        stream_retries: STREAM_RETRIES,
        request_retries: REQUEST_RETRIES,
        idle: IDLE,
        release: None,
    };
    let (mut exec, mut serves, mut free, mut options) = (false, false, Vec::new(), true);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !options || !word.starts_with('-') || word == "-" {
            match word.as_str() {
                "exec" | "e" if !exec && !serves && options => exec = true,
                "app-server" if !exec && !serves && free.is_empty() && options => serves = true,
                "resume" if exec && free.is_empty() && !args.resumes && options => args.resumes = true,
                _ => free.push(word.clone()),
            }
            continue;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut one =
            || inline.clone().or_else(|| words.next().cloned()).ok_or_else(|| Refusal::NoValue(name.to_owned()));
        let done = match name {
            "--" => {
                options = false;
                Ok(())
            }
            "--json" | "--experimental-json" => {
                args.json = true;
                Ok(())
            }
            "-V" | "--version" => return Parsed::Version(args.release),
            "-h" | "--help" => return Parsed::Print(HELP.to_owned()),
            "--enable" => one().map(|feature| args.asks_user |= feature == ASKS_USER),
            "--as" => one().map(|version| args.release = Some(version)),
            "-c" | "--config" => one().map(|pair| configure(&mut args, &pair)),
            "-s" | "--sandbox" => one().and_then(|given| match SANDBOXES.into_iter().find(|mode| *mode == given) {
                Some(mode) => {
                    args.sandbox = mode;
                    Ok(())
                }
                None => {
                    let allowed = "read-only, workspace-write, danger-full-access";
                    Err(Refusal::Choice { option: "--sandbox <SANDBOX_MODE>", given, allowed })
                }
            }),
            "--full-auto" | "--approve-for-me" => {
                args.sandbox = SANDBOXES[1];
                Ok(())
            }
            "--dangerously-bypass-approvals-and-sandbox" | "--yolo" => {
                args.sandbox = SANDBOXES[2];
                Ok(())
            }
            "--last" => {
                args.last = true;
                Ok(())
            }
            _ if ONE_WORD.contains(&name) => one().map(drop),
            _ if NO_WORD.contains(&name) => Ok(()),
            _ => Err(Refusal::Unknown(name.to_owned())),
        };
        if let Err(refusal) = done {
            return Parsed::Refuse(refusal);
        }
    }
    if serves {
        return free.first().map_or(Parsed::Serve(args), |word| Parsed::Refuse(Refusal::Unknown(word.clone())));
    }
    if !exec {
        return Parsed::Refuse(Refusal::NotExec);
    }
    // `exec resume SESSION PROMPT`, `exec resume --last PROMPT`
    let at = usize::from(args.resumes && !args.last);
    args.session = free.first().filter(|_| at > 0).cloned();
    if let Some(more) = free.get(at + 1) {
        return Parsed::Refuse(Refusal::Unknown(more.clone()));
    }
    args.prompt = free.get(at).filter(|prompt| *prompt != "-").cloned();
    Parsed::Run(args)
}

/// A `KEY=VALUE` of `-c`: what decides how long it waits for a model.
fn configure(args: &mut Args, pair: &str) {
    let Some((key, value)) = pair.split_once('=') else { return };
    let Ok(number) = value.trim().parse::<u32>() else { return };
    match key.trim().strip_prefix("model_providers.").and_then(|rest| rest.split_once('.')) {
        Some((_, "stream_max_retries")) => args.stream_retries = number,
        Some((_, "request_max_retries")) => args.request_retries = number,
        Some((_, "stream_idle_timeout_ms")) => args.idle = Span(number.into()),
        _ => {}
    }
}

/// The command line with which a scenario's agent is started: its mode, its further arguments, its prompt.
pub fn argv(agent: &Agent, args: &[String], prompt: &str) -> Vec<String> {
    let mode = match agent {
        Agent::Codex(codex) => codex.mode,
        _ => CodexMode::default(),
    };
    let exec = ["exec", "--skip-git-repo-check", "--json"];
    let words: &[&str] = match mode {
        CodexMode::Exec => &exec[..2],
        CodexMode::Json => &exec,
        CodexMode::AppServer => &["app-server"],
    };
    let prompt = (mode != CodexMode::AppServer && agent.is_prompted()).then(|| prompt.to_owned());
    let head = std::iter::once(CODEX.fake()).chain(words.iter().copied());
    head.map(str::to_owned).chain(args.iter().cloned()).chain(prompt).collect()
}

/// What these arguments ask of it; `None` if they only ask for a version, or are refused.
pub fn called(words: &[String]) -> Option<Called> {
    let (args, mode) = match parse(words) {
        Parsed::Run(args) if args.json => (args, CodexMode::Json),
        Parsed::Run(args) => (args, CodexMode::Exec),
        Parsed::Serve(args) => (args, CodexMode::AppServer),
        _ => return None,
    };
    let mut kept = match args.sandbox {
        "read-only" => Vec::new(),
        sandbox => vec!["--sandbox".to_owned(), sandbox.to_owned()],
    };
    let numbers = [
        ("stream_max_retries", args.stream_retries.into(), STREAM_RETRIES.into()),
        ("request_max_retries", args.request_retries.into(), REQUEST_RETRIES.into()),
        ("stream_idle_timeout_ms", args.idle.as_ms(), IDLE.as_ms()),
    ];
    for (key, given, usual) in numbers {
        if given != usual {
            kept.extend(["-c".to_owned(), format!("model_providers.fake.{key}={given}")]);
        }
    }
    if args.asks_user {
        kept.extend(["--enable", ASKS_USER].map(str::to_owned));
    }
    Some(Called { mode: mode.mode(), args: kept })
}

const HELP: &str = "Run Codex non-interactively

Usage: codex exec [OPTIONS] [PROMPT]
       codex exec resume [--last | SESSION_ID] [PROMPT]
       codex app-server

This is fake-codex, which plays `codex exec` and `codex app-server` with a scripted model.

Options:
  -c, --config <key=value>   model_providers.NAME.stream_max_retries, request_max_retries, stream_idle_timeout_ms
  -s, --sandbox <MODE>       read-only, workspace-write, danger-full-access
      --enable <FEATURE>     default_mode_request_user_input: the model may ask questions
      --json                 Print events to stdout as JSONL
      --as <VERSION>         The release to play: 0.45.0, 0.58.0, 0.116.0, 0.169.0
  -h, --help                 Print help
  -V, --version              Print version

The other options of the release are accepted and have no effect.

Examples:
  fake-codex exec --json --as 0.169.0 'go' < /dev/null
  fake-codex exec resume --last 'go on'
  fake-codex app-server --as 0.169.0
";

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn parsed(line: &str) -> Parsed {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn args(line: &str) -> Args {
        match parsed(line) {
            Parsed::Run(args) => args,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_prompt_is_the_first_free_word_and_a_dash_is_stdin() {
        assert_eq!(args("exec go").prompt.as_deref(), Some("go"));
        assert_eq!(args("e -m gpt-5 go --json").prompt.as_deref(), Some("go"));
        assert_eq!(args("exec -- --json").prompt.as_deref(), Some("--json"));
        assert_eq!((args("exec -").prompt, args("exec").prompt), (None, None));
        assert_eq!(args("exec resume --last more").prompt.as_deref(), Some("more"));
        assert_eq!(args("exec resume 0198 more").prompt.as_deref(), Some("more"));
        assert_eq!(args("exec resume 0198").prompt, None);
    }

    #[test]
    fn what_decides_how_long_it_waits_is_read() {
        let all = args(
            "exec -c model_providers.fake.stream_max_retries=0 -c model_providers.x.request_max_retries=1 \
                        --config=model_providers.x.stream_idle_timeout_ms=2000 -c model=gpt-5 --full-auto go",
        );
        assert_eq!(
            (all.stream_retries, all.request_retries, all.idle, all.sandbox),
            (0, 1, Span::secs(2), "workspace-write")
        );
        assert_eq!(args("exec --yolo go").sandbox, "danger-full-access");
    }

    #[test]
    fn a_server_is_a_mode_of_its_own() {
        let line = "app-server --enable default_mode_request_user_input -c model_providers.x.stream_max_retries=0";
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Parsed::Serve(args) = parse(&words) else { panic!("it serves") };
        assert_eq!((args.stream_retries, args.approval, args.asks_user), (0, Approval::Never, true));
        let called = called(&words).map(|called| (called.mode.word, called.args.join(" ")));
        let kept = "-c model_providers.fake.stream_max_retries=0 --enable default_mode_request_user_input";
        assert_eq!(called, Some(("app-server", kept.to_owned())));
    }

    #[test]
    fn what_is_refused_says_why() {
        let why = |line: &str| match parsed(line) {
            Parsed::Refuse(why) => why.to_string().lines().next().unwrap_or_default().to_owned(),
            other => panic!("{line}: {other:?}"),
        };
        expect!["error: unexpected argument '--nope' found"].assert_eq(&why("exec --nope go"));
        expect!["error: invalid value 'all' for '--sandbox <SANDBOX_MODE>'"].assert_eq(&why("exec -s all go"));
        expect!["error: a value is required for '--model <VALUE>' but none was supplied"]
            .assert_eq(&why("exec go --model"));
        expect!["error: unexpected argument 'on' found"].assert_eq(&why("exec go on"));
        expect!["fake-codex plays `codex exec` and `codex app-server` alone: without them the release draws a screen"]
            .assert_eq(&why("go"));
        assert!(called(&["--version".to_owned()]).is_none());
        expect!["error: unexpected argument 'generate-ts' found"].assert_eq(&why("app-server generate-ts"));
    }

    #[test]
    fn what_changes_what_it_does_is_kept_of_a_call() {
        let line = "exec --json --yolo -C /tmp -c model_providers.mine.stream_max_retries=0 go";
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let kept = called(&words).map(|called| (called.mode.word, called.args.join(" ")));
        let wanted = "--sandbox danger-full-access -c model_providers.fake.stream_max_retries=0";
        assert_eq!(kept, Some(("json", wanted.to_owned())));
    }
}
