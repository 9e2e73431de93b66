//! Agents that we know, by how they were started; databases, by their names.
//!
//! Invariant: pure; a process is an agent by its program or script, never by a word somewhere in its arguments.

use crate::data::Process;
use std::path::Path;

/// A known agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name in a sentence.
    pub title: &'static str,
    /// The name of its program.
    pub name: &'static str,
    /// Programs and scripts that are it.
    programs: &'static [&'static str],
    /// The npm package whose files are it.
    package: &'static str,
    /// Arguments that mean that it runs without a person: its task was given on the command line.
    headless: &'static [&'static str],
}

/// An agent, known or named by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyAgent<'a> {
    /// Its name in a sentence.
    pub title: &'a str,
    /// The name of its program.
    pub name: &'a str,
    headless: &'static [&'static str],
}

/// The agents whose arguments and packages were seen in releases of 2025 and 2026.
#[rustfmt::skip]
const KINDS: [Kind; 25] = [
    // title, name, programs, package, headless
    kind("opencode", "opencode", &["opencode", "fake-opencode"], "opencode", &["run"]),
    kind("Claude Code", "claude", &["claude", "fake-claude"], "@anthropic-ai/claude-code",
        &["-p", "--print", "--input-format", "--output-format"]),
    kind("Codex", "codex", &["codex", "fake-codex"], "@openai/codex", &["exec", "e"]),
    kind("Gemini CLI", "gemini", &["gemini", "fake-gemini"], "@google/gemini-cli", &["-p", "--prompt"]),
    kind("Qwen Code", "qwen", &["qwen"], "@qwen-code/qwen-code", &["-p", "--prompt"]),
    kind("Copilot CLI", "copilot", &["copilot"], "@github/copilot", &["-p", "--prompt"]),
    kind("aider", "aider", &["aider"], "aider", &["-m", "--message"]),
    kind("goose", "goose", &["goose"], "goose", &["run"]),
    kind("Crush", "crush", &["crush"], "@charmland/crush", &["run"]),
    kind("altimate-code", "altimate", &["altimate", "altimate-code", "fake-altimate"], "altimate-code", &["run"]),
    kind("PawWork", "pawwork", &["pawwork", "fake-pawwork"], "pawwork", &["run"]),
    kind("Cursor CLI", "cursor", &["cursor-agent"], "", &["-p", "--print"]),
    kind("Kimi CLI", "kimi", &["kimi", "kimi-cli", "kimi-code"], "@moonshot-ai/kimi-code",
        &["-p", "--print", "--prompt"]),
    kind("Antigravity CLI", "agy", &["agy", "antigravity"], "", &["-p", "--print", "--prompt"]),
    kind("Amp", "amp", &["amp"], "@sourcegraph/amp", &["-x", "--execute"]),
    kind("Droid", "droid", &["droid"], "", &["exec"]),
    kind("Auggie", "auggie", &["auggie"], "@augmentcode/auggie", &["-p", "--print"]),
    kind("Kiro CLI", "kiro", &["kiro-cli", "kiro-cli-chat"], "", &["--no-interactive"]),
    kind("Cline", "cline", &["cline"], "cline", &["-y", "--yolo", "task"]),
    kind("iFlow CLI", "iflow", &["iflow"], "@iflow-ai/iflow-cli", &["-p", "--prompt"]),
    kind("CodeBuddy", "codebuddy", &["codebuddy"], "@tencent-ai/codebuddy-code", &["-p", "--print"]),
    kind("OpenHands", "openhands", &["openhands"], "", &["--headless", "-t", "--task"]),
    kind("Mistral Vibe", "vibe", &["vibe", "vibe-acp"], "", &["-p", "--prompt"]),
    kind("Junie", "junie", &["junie"], "", &["--task"]),
    kind("Trae Agent", "trae", &["trae-cli"], "", &["run"]),
];

const fn kind(
    title: &'static str,
    name: &'static str,
    programs: &'static [&'static str],
    package: &'static str,
    headless: &'static [&'static str],
) -> Kind {
    Kind { title, name, programs, package, headless }
}

/// Agents that wait for the end of their stdin without a limit, although they have timers: Codex 0.169.0 was alive after a day
/// of virtual time, with timers of a minute and less (UPSTREAM.md, stdin-open).
const NO_LIMIT_OF_STDIN: [&str; 1] = ["codex"];

/// Whether a process is an agent whose timers do not end its wait for stdin.
pub fn has_no_limit_of_stdin(process: &Process) -> bool {
    of(process).is_some_and(|kind| NO_LIMIT_OF_STDIN.contains(&kind.name))
}

/// Interpreters: what they run is their first argument that is no flag.
const INTERPRETERS: [&str; 6] = ["node", "bun", "deno", "python", "python3", "MainThread"];

/// The name of a process's program: as it was called, which is not always what the kernel calls it.
pub fn program(process: &Process) -> &str {
    process.args.first().map_or(process.comm.as_str(), |arg| stem(arg.trim_start_matches('-')))
}

/// Which agent a process is: a known one, or one that the caller has named ([`crate::AgentNames`]).
///
/// Of a named one nothing is known but its part in the tree, so the rules decide the careful way. It counts as run by a
/// person, since no argument is known to say otherwise: its terminal may be answered, and a finished turn may be followed by
/// the next one. Its timers, its signal handlers and its port can each wake it, its host may send it the next message, and
/// it may compute. Rules that rest on how a program is built ask [`of`] instead.
pub fn agent(process: &Process) -> Option<AnyAgent<'_>> {
    let known = |kind: &Kind| AnyAgent { title: kind.title, name: kind.name, headless: kind.headless };
    let named = |name| AnyAgent { title: name, name, headless: &[] };
    of(process).map(known).or_else(|| process.agent.as_deref().map(named))
}

/// Whether a program runs others, which are its argument.
pub fn is_interpreter(stem: &str) -> bool {
    INTERPRETERS.iter().any(|name| stem.starts_with(name))
}

/// Which known agent a process is.
pub fn of(process: &Process) -> Option<&'static Kind> {
    let program = process.args.first().map(String::as_str);
    let [program, exe, comm] = [program, process.exe.as_deref(), Some(process.comm.as_str())].map(|it| it.map(stem));
    let interpreted = [program, exe, comm].into_iter().flatten().any(is_interpreter);
    let script = process.args.iter().skip(1).find(|arg| !arg.starts_with('-')).filter(|_| interpreted);
    let stems = [program, exe, comm, script.map(|path| stem(path))];
    KINDS.iter().find(|kind| {
        let named = stems.iter().flatten().any(|stem| kind.programs.contains(stem));
        let packaged = !kind.package.is_empty()
            && script.is_some_and(|path| {
                path.contains("node_modules/") && path.contains(&format!("node_modules/{}/", kind.package))
            });
        named || packaged
    })
}

/// Whether it was started to run without a person.
pub fn headless(agent: &AnyAgent<'_>, process: &Process) -> bool {
    process
        .args
        .iter()
        .skip(1)
        .any(|arg| agent.headless.iter().any(|word| arg == word || arg.starts_with(&format!("{word}="))))
}

/// Whether it was started by a host that sends it messages on its standard input (Claude Code).
pub fn is_hosted(process: &Process) -> bool {
    let pairs = process.args.windows(2).any(|pair| pair == ["--input-format", "stream-json"]);
    pairs || process.args.iter().any(|arg| arg == "--input-format=stream-json")
}

/// Whether it was started in a mode in which it asks for no permission (Claude Code).
pub fn bypasses(process: &Process) -> bool {
    let mode = |pair: &[String]| pair == ["--permission-mode", "bypassPermissions"];
    let bare = ["--permission-mode=bypassPermissions", "--dangerously-skip-permissions"];
    process.args.windows(2).any(mode) || process.args.iter().any(|arg| bare.contains(&arg.as_str()))
}

/// Whether it was started as a server.
pub fn serves(process: &Process) -> bool {
    process
        .args
        .iter()
        .skip(1)
        .take(4)
        .any(|arg| ["serve", "web", "acp", "app-server", "mcp-server", "mcp"].contains(&arg.as_str()))
}

/// How an opencode was started: `serve`, `run`, `tui`.
pub fn opencode_form(process: &Process) -> &'static str {
    match serves(process) {
        true => "serve",
        false if process.args.iter().any(|arg| arg == "run") => "run",
        false => "tui",
    }
}

/// Whether a process looks like a helper that waits on its standard input for requests by design: a tool server of the
/// Model Context Protocol, a language server.
pub fn helper(process: &Process) -> bool {
    const WORDS: [&str; 5] = ["mcp", "language-server", "langserver", "lsp", "--stdio"];
    let said = |arg: &String| {
        let arg = arg.to_ascii_lowercase();
        WORDS.iter().any(|word| arg == *word || arg.split(['/', '-', '_', '.', '@']).any(|part| part == *word))
            || arg.contains("language-server")
            || arg == "--stdio"
    };
    process.args.iter().take(8).any(said)
}

/// Names of programs that adopt orphans.
const TAKES_ORPHANS: [&str; 7] = ["systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan"];

/// Whether its parent is a process that adopts orphans.
pub fn adopted(process: &Process) -> bool {
    process.ppid <= 1 || TAKES_ORPHANS.contains(&process.parent_name.as_str())
}

/// The bytes that SQLite locks: PENDING_BYTE and the 511 after it, which most databases are too short to reach.
pub const OF_A_DATABASE: std::ops::Range<u64> = 0x4000_0000..0x4000_0200;

/// Whether a file is an SQLite database, or one of the files that SQLite keeps beside it.
pub fn is_database(path: &str) -> bool {
    [".db", ".sqlite", ".sqlite3", ".db3", "-wal", "-shm", "-journal"].iter().any(|end| path.ends_with(end))
}

/// The file's name without folder and the ends of scripts.
pub fn stem(path: &str) -> &str {
    let file = match path.contains('/') {
        true => Path::new(path).file_name().and_then(|file| file.to_str()).unwrap_or(path),
        // most are asked for again and again by a name alone
        false => path,
    };
    // `opencode (deleted)`: the file was replaced by an update while it ran; a title that a program gives itself is
    // padded
    let file = file.trim_end();
    let file = file.strip_suffix(" (deleted)").unwrap_or(file);
    [".js", ".mjs", ".cjs", ".py"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file)
}

/// Whether a command that watches or listens ends at its first event or client: inotifywait(1) without `-m`, `fswatch -1`,
/// nc(1) and ncat(1) without `-k`, socat(1) without `fork`.
pub fn ends_at_first(process: &Process) -> bool {
    let short = |arg: &String, letter: char| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter);
    let has = |letter: char, long: &str| process.args.iter().skip(1).any(|arg| short(arg, letter) || arg == long);
    match program(process) {
        "inotifywait" => !has('m', "--monitor") && !has('d', "--daemon"),
        "fswatch" => has('1', "--one-event"),
        "nc" | "ncat" | "netcat" | "nc.openbsd" | "nc.traditional" => !has('k', "--keep-open"),
        "socat" => !process.args.iter().any(|arg| arg.split(',').any(|option| option == "fork")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(comm: &str, args: &[&str]) -> Process {
        Process { comm: comm.into(), args: args.iter().map(|&arg| arg.to_owned()).collect(), ..Process::default() }
    }

    #[test]
    fn an_agent_is_known_by_its_program_or_its_script() {
        let name = |comm: &str, args: &[&str]| of(&started(comm, args)).map(|kind| kind.name);
        assert_eq!(name("opencode", &["/usr/bin/opencode", "run"]), Some("opencode"));
        assert_eq!(name("node", &["node", "/opt/bin/claude.js", "-p"]), Some("claude"));
        assert_eq!(
            name("node", &["node", "--no-warnings", "/x/node_modules/@openai/codex/bin/main.js"]),
            Some("codex")
        );
        assert_eq!(name("MainThread", &["claude"]), Some("claude"));
        // never by a word somewhere among the arguments
        assert_eq!(name("grep", &["grep", "opencode"]), None);
        assert_eq!(name("cat", &["cat", "/x/node_modules/@openai/codex/bin/main.js"]), None);
        assert_eq!(name("node", &["node", "server.js", "claude"]), None);
    }

    #[test]
    fn how_it_was_started_is_in_its_arguments() {
        let without = |args: &[&str]| {
            let process = started("claude", args);
            let claude = agent(&process).expect("an agent by its name");
            headless(&claude, &process)
        };
        assert!(without(&["claude", "-p", "x"]) && without(&["claude", "--output-format=json"]));
        assert!(!without(&["claude"]) && !without(&["-p"]) && !without(&["claude", "--printer"]));
        let hosted = |args: &[&str]| is_hosted(&started("claude", args));
        assert!(hosted(&["claude", "-p", "--input-format", "stream-json"]));
        assert!(hosted(&["claude", "--input-format=stream-json"]));
        assert!(!hosted(&["claude", "-p", "--output-format", "stream-json"]) && !hosted(&["claude", "stream-json"]));
        let form = |args: &[&str]| opencode_form(&started("opencode", args));
        assert_eq!(form(&["opencode", "serve"]), "serve");
        assert_eq!(form(&["opencode", "--log", "x", "web"]), "serve");
        assert_eq!(form(&["opencode", "run", "x"]), "run");
        assert_eq!(form(&["opencode"]), "tui");
        // a word of the prompt is no command
        assert_eq!(form(&["opencode", "run", "a", "b", "c", "serve"]), "run");
    }

    #[test]
    fn a_helper_is_known_by_a_whole_word() {
        let is = |args: &[&str]| helper(&started("node", args));
        assert!(is(&["node", "github-mcp-server.js"]) && is(&["node", "mcp"]) && is(&["rust", "--stdio"]));
        assert!(is(&["typescript-language-server"]) && is(&["node", "/x/vscode-langserver/main.js"]));
        assert!(!is(&["node", "mcpanel.js"]) && !is(&["helper"]) && !is(&["studio"]));
    }

    #[test]
    fn a_stem_is_the_name_alone() {
        let names =
            ["/usr/bin/opencode", "claude.js", "x/a.mjs", "a.cjs", "b.py", "codex (deleted)", "claude   ", "a.rs", "/"];
        let wanted = ["opencode", "claude", "a", "a", "b", "codex", "claude", "a.rs", "/"];
        assert_eq!(names.map(stem), wanted);
    }

    #[test]
    fn a_database_and_what_lies_beside_it() {
        assert!(
            ["a.db", "x/b.sqlite", "b.sqlite3-wal", "c.db-shm", "c.db3-journal"].map(is_database).iter().all(|is| *is)
        );
        assert!(!["a.dbx", "db", "a.log", "wal"].map(is_database).iter().any(|is| *is));
    }
}
