//! The command line, as the real one reads it.
//!
//! Invariant: an unknown option is skipped, as yargs does without `strict`.

use rehang_scenario::{Agent, OpencodeMode};

/// What the program is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Prints the version: `--version`.
    Version,
    /// One prompt: `run`.
    Run,
    /// The server: `serve`.
    Serve,
    /// `models [PROVIDER]`.
    Models,
    /// `auth list`, `providers list`.
    Credentials,
    /// `session list`.
    Sessions,
    /// Prints the help: `--help`, or a command that needs another word.
    Help,
    /// The agent of an editor, over stdin and stdout: `acp`.
    Acp,
    /// None of these: a session on a terminal.
    Interactive,
}

/// A command line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Args {
    /// The command.
    pub command: Command,
    /// `--format json`.
    pub json: bool,
    /// `--auto`, `--yolo`, `--dangerously-skip-permissions`: permissions are answered "once".
    pub auto: bool,
    /// `--attach URL`.
    pub attach: Option<String>,
    /// `--port N` was given: `run` listens too, and says where on stderr.
    pub listens: bool,
    /// The port of `--port`; 0 if none is given, or no number.
    pub port: u16,
    /// The address of `--hostname`; empty if none is given.
    pub hostname: String,
    /// `--as VERSION`, an option of ours: the release to play.
    pub version: Option<String>,
    /// The prompt; empty if none is given.
    pub prompt: String,
}

/// Reads a command line without the program's name.
pub fn parse(args: &[String]) -> Args {
    let mut parsed = Args {
        command: Command::Interactive,
        json: false,
        auto: false,
        attach: None,
        listens: false,
        port: 0,
        hostname: String::new(),
        version: None,
        prompt: String::new(),
    };
    let mut words: Vec<&str> = Vec::new();
    let mut rest = args.iter().map(String::as_str);
    let mut begun = false;
    while let Some(arg) = rest.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (arg, None),
        };
        let mut value = || inline.clone().or_else(|| rest.next().map(str::to_owned));
        match name {
            "--" => {
                words.extend(rest.by_ref());
                break;
            }
            "--version" | "-v" => parsed.command = Command::Version,
            "--format" => parsed.json = value().as_deref() == Some("json"),
            "--auto" | "--yolo" | "--dangerously-skip-permissions" => parsed.auto = true,
            "--attach" => parsed.attach = value(),
            "--as" => parsed.version = value(),
            "--port" | "--hostname" | "--title" | "--model" | "-m" | "--agent" | "--session" | "-s" | "--prompt"
            | "--cwd" => {
                let given = value();
                match name {
                    "--port" => {
                        parsed.listens = true;
                        parsed.port = given.and_then(|port| port.parse().ok()).unwrap_or(0);
                    }
                    "--hostname" => parsed.hostname = given.unwrap_or_default(),
                    "--prompt" => parsed.prompt = given.unwrap_or_default(),
                    _ => {}
                }
            }
            "--help" | "-h" => parsed.command = Command::Help,
            _ if name.starts_with('-') => {}
            "run" if !begun => parsed.command = Command::Run,
            "serve" if !begun => parsed.command = Command::Serve,
            "acp" if !begun => parsed.command = Command::Acp,
            "models" if !begun => parsed.command = Command::Models,
            "auth" | "providers" | "session" if !begun => {
                let list = rest.next().is_some_and(|word| matches!(word, "list" | "ls"));
                parsed.command = match name {
                    _ if !list => Command::Help,
                    "session" => Command::Sessions,
                    _ => Command::Credentials,
                };
            }
            word => words.push(word),
        }
        begun |= !name.starts_with('-');
    }
    if !words.is_empty() {
        parsed.prompt = words.join(" ");
    }
    parsed
}

/// The command line of this agent with these further arguments and this prompt.
pub fn argv(agent: &Agent, args: &[String], prompt: &str) -> Vec<String> {
    let (mode, attach) = match agent {
        Agent::Opencode(opencode) => (opencode.mode, false),
        Agent::Altimate(altimate) => (altimate.mode, altimate.attach),
        _ => (OpencodeMode::Serve, false),
    };
    let mut argv = vec![agent.kind().fake()];
    match mode {
        OpencodeMode::Run => argv.extend(["run", "--format", "json"]),
        OpencodeMode::Serve => argv.push("serve"),
        OpencodeMode::Acp => argv.push("acp"),
        OpencodeMode::Interactive => {}
    }
    if attach {
        argv.extend(["--attach", "http://127.0.0.1:4096"]);
    }
    argv.extend(args.iter().map(String::as_str));
    match mode {
        OpencodeMode::Run => argv.push(prompt),
        OpencodeMode::Interactive => argv.extend(["--prompt", prompt]),
        OpencodeMode::Serve | OpencodeMode::Acp => {}
    }
    argv.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Args {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_anywhere() {
        let args = words("run --format json fix it --auto --port=0");
        assert_eq!((args.command, args.json, args.auto, args.listens), (Command::Run, true, true, true));
        assert_eq!(args.prompt, "fix it");
    }

    #[test]
    fn a_word_behind_the_command_is_the_prompt() {
        assert_eq!(words("run run serve").prompt, "run serve");
        assert_eq!(words("serve").command, Command::Serve);
        assert_eq!(words("acp --cwd /project").command, Command::Acp);
        assert_eq!(words("run acp").command, Command::Run);
        assert_eq!(words("--version").command, Command::Version);
    }
}
