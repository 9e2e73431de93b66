//! The command line of `fake-tool`.
//!
//! Invariant: [`argv`] and [`parse`] are inverse to each other, and the command that is shown is never read.

use rehang_os::os::{CannotStart, Sig};
use rehang_scenario::turns::{Step, steps_json, unmet};

/// The longest list of steps, in bytes of JSON: the kernel takes no longer argument.
pub const PLAYS_MAX_BYTES: usize = rehang_scenario::limits::STEPS_BYTES;

/// The text of `--help`.
pub const HELP: &str = "\
fake-tool: plays a child process that hangs, floods, escapes or behaves, step by step

usage: fake-tool --plays STEPS [-- COMMAND SHOWN]

STEPS is a JSON list, in the words of a scenario file (`does` of a `bash` turn):
  {\"print\": \"line\"}                    a line to stdout
  {\"warn\": \"line\"}                     a line to stderr
  {\"prompt\": \"text\"}                   a text to stdout, no newline
  {\"sleep\": \"10m\"}                     silence
  {\"every\": {\"every\": \"5s\", \"print\": \"…\", \"times\": 3}}   a line after each 5 s; 0 times is for ever
  {\"fill\": {\"bytes\": 65537, \"stderr\": true}}   this many bytes, in blocks of 4,096
  {\"result\": {\"text\": \"done\", \"bytes\": 100000, \"cut\": true}}   a stream-json result, padded; cut: what the
                                       pipe does not take at once is lost
  \"close-output\"                       closes stdout and stderr
  \"read-stdin\"                         a line of stdin
  \"read-stdin-to-end\"                  all of stdin
  {\"ask-tty\": \"Password: \"}            prompts and reads a line on /dev/tty
  \"set-tty\"                            changes the terminal's settings
  {\"ignore\": [\"TERM\", \"HUP\"]}          ignores signals
  {\"background\": {\"name\": \"dev-server\", \"does\": STEPS, \"stdout\": true, \"stderr\": true,
                  \"piped\": false, \"setsid\": false, \"double-fork\": false}}   leaves a process in the background
  {\"run\": STEPS}                       starts a process and waits for it
  {\"start\": {\"name\": \"mcp-server\", \"does\": STEPS, \"stdin\": \"pipe\", \"stdout\": \"pipe\", \"stderr\": \"inherit\",
            \"missing\": false, \"unreaped\": false}}   starts a process with pipes to it, and goes on
  {\"send\": {\"to\": \"mcp-server\", \"line\": \"…\"}}   a line to its stdin
  {\"receive\": {\"from\": \"mcp-server\", \"within\": \"30s\"}}   a line of its stdout
  {\"hang-up\": \"mcp-server\"}            closes the pipe to its stdin
  {\"await\": {\"of\": \"mcp-server\", \"within\": \"30s\"}}   waits until it is over
  {\"end\": \"mcp-server\"}                SIGTERM, and waits until it is over
  {\"listen\": {\"within\": \"5m\"}}         waits for a connection on a free port
  {\"fetch\": {\"within\": \"30s\"}}         asks a server that takes the connection and never answers
                                         (\"kept\": \"1h\": on a connection that brought an answer an hour before)
  {\"open-fifo\": {\"skips\": false}}      opens a FIFO that nobody writes to; with skips it passes it over
  {\"lock\": {\"database\": false, \"within\": \"10s\"}}   waits for a lock that is never let go; a database's by naps
  {\"take-lock\": {\"within\": \"10s\"}}     takes the lock of its folder, or waits for it, and keeps it
  {\"agent\": {\"agent\": …, \"turns\": […]}}   runs a fake agent and waits for it
  \"setsid\"                             goes into a session of its own
  \"hold\"                               waits for ever
  \"again\"                              begins its steps anew
  \"spin\"                               never rests
  {\"raise\": \"STOP\"}                    signals itself
  {\"exit\": 3}                          exits

exit code: that of the last command; 141 if nobody reads any more; 1 if there is no terminal to ask on
example:   fake-tool --plays '[{\"print\":\"building\"},{\"sleep\":\"2s\"},\"read-stdin\",{\"exit\":0}]'
";

/// The meaning of a command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Parsed {
    /// It plays these steps.
    Play(Vec<Step>),
    /// It prints the help.
    Help,
    /// It has no steps.
    Nothing,
}

/// The command line that plays these steps; `shown` is what a process list shows after them.
pub fn argv(steps: &[Step], shown: &str) -> Vec<String> {
    let mut argv = vec!["fake-tool".to_owned(), "--plays".to_owned(), steps_json(steps)];
    if !shown.is_empty() {
        argv.extend(["--".to_owned(), shown.to_owned()]);
    }
    argv
}

/// The command that a command line of [`argv`] shows; `survives` may name it.
pub fn shown(argv: &[String]) -> Option<&str> {
    match argv {
        [_, plays, _, dashes, shown] if plays == "--plays" && dashes == "--" => Some(shown),
        _ => None,
    }
}

/// Reads a command line without the program's name.
pub(super) fn parse(words: &[String]) -> Result<Parsed, CannotStart> {
    let words: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    match words.as_slice() {
        [] => Ok(Parsed::Nothing),
        ["--help" | "-h"] => Ok(Parsed::Help),
        ["--plays", plays] => {
            if plays.len() > PLAYS_MAX_BYTES {
                return Err(CannotStart::new(format!("steps longer than {PLAYS_MAX_BYTES} bytes")));
            }
            let steps = serde_json::from_str(plays).map_err(|e| CannotStart::new(format!("no list of steps: {e}")))?;
            Ok(Parsed::Play(checked(steps)?))
        }
        ["--plays"] => Err(CannotStart::new("--plays needs a JSON list of steps")),
        ["--plays", _, word, ..] | [word, ..] => {
            Err(CannotStart::new(format!("unknown argument `{word}`; the command that is shown comes after `--`")))
        }
    }
}

/// The steps, if each signal that they name exists and can be used.
pub(super) fn checked(steps: Vec<Step>) -> Result<Vec<Step>, CannotStart> {
    let unknown = |name: &str| CannotStart::new(format!("no signal is called `{name}`"));
    for step in &steps {
        match step {
            Step::Ignore(names) => {
                for name in names {
                    match Sig::from_name(name) {
                        Some(Sig::Kill | Sig::Stop) => {
                            return Err(CannotStart::new(format!("nobody can ignore {name}")));
                        }
                        Some(_) => {}
                        None => return Err(unknown(name)),
                    }
                }
            }
            Step::Raise(name) if Sig::from_name(name).is_none() => {
                return Err(unknown(name));
            }
            _ => {}
        }
    }
    if let Some(unmet) = unmet(&steps).first() {
        return Err(CannotStart::new(format!(
            "step {}: no process called `{}` can do that, or it has one already",
            unmet.at + 1,
            unmet.name
        )));
    }
    Ok(steps)
}
