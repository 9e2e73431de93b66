//! Agents that the caller names: programs that [`crate::kind`] does not know.
//!
//! Invariant: a name marks a process by its own name, its program, the script of its interpreter or its `-m` module, never
//! by a word somewhere in its arguments.

use crate::data::{Process, Snapshot};
use crate::kind::{program, stem};
use crate::shells;
use rehang_words::text::{shown, visible};

/// The names of agents, as the caller gives them. An empty list marks nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentNames(Vec<String>);

/// Why a word is no name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentNameError {
    /// It is empty.
    #[error("an agent's name cannot be empty")]
    Empty,
    /// It has more than [`AgentNames::MAX_CHARS`] characters.
    #[error("an agent's name has at most {} characters", AgentNames::MAX_CHARS)]
    Long,
    /// It is a path.
    #[error("give the name alone, without its folder: {0}")]
    Path(String),
    /// It runs any program, so that each of them would count as an agent.
    #[error("{0} runs other programs: give the name of the agent's script or module")]
    Interpreter(String),
    /// There are more than [`AgentNames::MAX`].
    #[error("at most {} agents can be named", AgentNames::MAX)]
    Many,
}

impl AgentNames {
    /// The most names.
    pub const MAX: usize = 16;
    /// The most characters of a name.
    pub const MAX_CHARS: usize = 64;

    /// Checks the names. A character that a terminal would obey is replaced, as it is in the snapshot.
    ///
    /// # Errors
    /// There are too many; one is empty, too long, a path, or the name of a shell, an interpreter or a launcher.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<AgentNames, AgentNameError> {
        let mut all = Vec::new();
        for name in names {
            if all.len() == AgentNames::MAX {
                return Err(AgentNameError::Many);
            }
            all.push(checked(name.as_ref())?);
        }
        Ok(AgentNames(all))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Marks the processes of a snapshot that have one of the names ([`Process::agent`]).
    pub fn mark(&self, snapshot: &mut Snapshot) {
        if self.0.is_empty() {
            return;
        }
        for process in snapshot.tree.values_mut().chain(snapshot.around.values_mut()) {
            process.agent = self.iter().find(|name| is_called(process, name)).map(str::to_owned);
        }
    }
}

fn checked(name: &str) -> Result<String, AgentNameError> {
    if name.chars().nth(AgentNames::MAX_CHARS).is_some() {
        return Err(AgentNameError::Long);
    }
    if name.trim().is_empty() {
        return Err(AgentNameError::Empty);
    }
    if name.contains('/') {
        return Err(AgentNameError::Path(shown(stem(name))));
    }
    let called = Process { comm: name.to_owned(), ..Process::default() };
    if shells::is_shell(&called) || shells::is_launcher(&called) || Interpreter::of(&called).is_some() {
        return Err(AgentNameError::Interpreter(shown(name)));
    }
    Ok(visible(name))
}

fn is_called(process: &Process, name: &str) -> bool {
    if process.comm == name || program(process) == name || process.exe.as_deref().is_some_and(|exe| stem(exe) == name) {
        return true;
    }
    match Interpreter::of(process).and_then(|interpreter| interpreter.runs(process.args.get(1..)?)) {
        Some(Runs::Script(path)) => {
            let file = path.rsplit('/').next().unwrap_or(path);
            file == name || ENDS.iter().any(|end| file.strip_suffix(end) == Some(name))
        }
        // a name has hyphens where its module has underscores
        Some(Runs::Module(module)) => module == name || module == name.replace('-', "_"),
        None => false,
    }
}

/// The ends of scripts' names.
const ENDS: [&str; 12] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".py", ".rb", ".pl", ".php", ".sh"];

/// A program that runs scripts, and those of its options that matter to find which, from its manual.
struct Interpreter {
    /// Its names; a version may follow one (`python3.12`).
    names: &'static [&'static str],
    /// Options that take code, so that there is no script.
    code: &'static [&'static str],
    /// Options that take the next argument.
    valued: &'static [&'static str],
    /// The option that takes the name of a module to run.
    module: &'static str,
    /// The first argument, if it only says that a script follows.
    verb: &'static str,
    /// Whether options of one letter can be written together.
    joins: bool,
}

/// What an interpreter was started to run.
#[derive(Debug, PartialEq, Eq)]
enum Runs<'a> {
    Script(&'a str),
    Module(&'a str),
}

#[rustfmt::skip]
const INTERPRETERS: [Interpreter; 9] = [
    Interpreter {
        names: &["node", "MainThread", "tsx", "ts-node"], code: &["-e", "--eval", "-p", "--print", "-pe"],
        valued: &["-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"],
        module: "", verb: "", joins: false,
    },
    Interpreter {
        names: &["bun"], code: &["-e", "--eval", "-p", "--print"],
        valued: &["-r", "--preload", "--cwd", "-c", "--config", "--env-file"], module: "", verb: "run", joins: false,
    },
    Interpreter {
        names: &["deno"], code: &[], valued: &["-c", "--config", "--import-map"], module: "", verb: "run", joins: false,
    },
    Interpreter {
        names: &["python", "pypy"], code: &["-c"], valued: &["-W", "-X", "--check-hash-based-pycs"], module: "-m",
        verb: "", joins: true,
    },
    Interpreter {
        names: &["ruby"], code: &["-e"], valued: &["-C", "-E", "-I", "-r"], module: "", verb: "", joins: true,
    },
    Interpreter { names: &["perl"], code: &["-e", "-E"], valued: &["-I"], module: "", verb: "", joins: true },
    Interpreter { names: &["php"], code: &["-r"], valued: &["-c", "-d"], module: "", verb: "", joins: false },
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"], code: &["-c"],
        valued: &["-o", "-O", "--rcfile", "--init-file"], module: "", verb: "", joins: true,
    },
    Interpreter { names: &["fish"], code: &["-c", "--command"], valued: &["-C"], module: "", verb: "", joins: true },
];

impl Interpreter {
    /// The interpreter that a process is, by how it was called, its file or its name.
    fn of(process: &Process) -> Option<&'static Interpreter> {
        let called = [Some(program(process)), process.exe.as_deref().map(stem), Some(process.comm.as_str())];
        let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
        let is_one = |name: &str, called: &str| called.strip_prefix(name).is_some_and(is_version);
        let find = |called: &str| {
            INTERPRETERS.iter().find(|interpreter| interpreter.names.iter().any(|name| is_one(name, called)))
        };
        called.into_iter().flatten().find_map(find)
    }

    /// What is run with these arguments; `None` for code in an argument and for commands from the standard input.
    fn runs<'a>(&self, args: &'a [String]) -> Option<Runs<'a>> {
        let mut args = args.iter().map(String::as_str).peekable();
        args.next_if(|arg| !self.verb.is_empty() && *arg == self.verb);
        while let Some(arg) = args.next() {
            if arg == "--" {
                return args.next().map(Runs::Script);
            }
            if !arg.starts_with('-') {
                return Some(Runs::Script(arg));
            }
            if arg == "-" {
                return None;
            }
            if !self.joins || arg.starts_with("--") {
                if self.code.contains(&arg) {
                    return None;
                }
                if self.valued.contains(&arg) {
                    args.next();
                }
                continue;
            }
            for (at, letter) in arg.char_indices().skip(1) {
                let rest = &arg[at + letter.len_utf8()..];
                let is_among = |options: &[&str]| options.iter().any(|option| option.chars().eq(['-', letter]));
                if is_among(self.code) {
                    return None;
                }
                if is_among(&[self.module]) {
                    return if rest.is_empty() { args.next() } else { Some(rest) }.map(Runs::Module);
                }
                if is_among(self.valued) {
                    if rest.is_empty() {
                        args.next();
                    }
                    break;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(comm: &str, args: &[&str]) -> bool {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        is_called(&Process { comm: comm.into(), args, ..Process::default() }, "my-agent")
    }

    #[test]
    fn a_process_is_named_by_its_name_program_script_or_module() {
        assert!(is("my-agent", &[]) && is("MainThread", &["my-agent"]) && is("x", &["/opt/bin/my-agent", "-p"]));
        let exe = Process { comm: "x".into(), exe: Some("/opt/my-agent (deleted)".into()), ..Process::default() };
        assert!(is_called(&exe, "my-agent") && !is_called(&exe, "my"));
        assert!(is("node", &["node", "my-agent.js"]) && is("node", &["node", "-r", "a.js", "/x/my-agent.ts", "x"]));
        assert!(is("bun", &["bun", "run", "my-agent.ts"]) && is("deno", &["deno", "run", "-A", "my-agent.ts"]));
        assert!(is("python3", &["/venv/bin/python3.12", "-u", "/venv/bin/my-agent"]));
        assert!(is("sh", &["/bin/sh", "-e", "my-agent.sh"]) && is("node", &["node", "--", "my-agent"]));
        for args in [
            &["python", "-m", "my_agent"][..],
            &["python3", "-um", "my_agent", "--x"],
            &["python3", "-mmy_agent"],
            &["python", "-W", "ignore", "-Xdev", "-m", "my_agent"],
        ] {
            assert!(is("python3", args), "{args:?}");
        }
    }

    #[test]
    fn a_word_of_the_arguments_names_nobody() {
        for args in [
            &["cat", "my-agent.js"][..],
            &["node", "server.js", "my-agent"],
            &["node", "-e", "x", "my-agent"],
            &["node", "-r", "my-agent.js", "server.js"],
            &["python3", "-c", "import x", "my-agent"],
            &["python3", "-m", "pip", "my_agent"],
            &["python3", "-m", "my_agent.tools"],
            &["python3", "server.py", "-m", "my_agent"],
            &["bash", "-c", "my-agent"],
            &["bash", "-lc", "my-agent"],
            &["bash", "-s", "-", "my-agent"],
            &["node", "my-agent-server.js"],
            &["node", "my-agent.js.bak"],
            &["npx", "my-agent"],
            &["node"],
            &[],
        ] {
            assert!(!is(args.first().copied().unwrap_or("x"), args), "{args:?}");
        }
    }

    #[test]
    fn names_have_limits() {
        let new = |name: &str| AgentNames::new([name]);
        assert_eq!(new("my-agent").unwrap().iter().collect::<Vec<_>>(), ["my-agent"]);
        assert_eq!(new(" "), Err(AgentNameError::Empty));
        assert!(new(&"ä".repeat(64)).is_ok());
        assert_eq!(new(&"ä".repeat(65)), Err(AgentNameError::Long));
        assert_eq!(new("./x/agent"), Err(AgentNameError::Path("agent".into())));
        for name in ["node", "python3.12", "bash", "env", "npx", "MainThread"] {
            assert_eq!(new(name), Err(AgentNameError::Interpreter(name.into())));
        }
        assert!(new("nodeagent").is_ok() && new("sh-agent").is_ok());
        assert!(AgentNames::new(["a"; 16]).is_ok());
        assert_eq!(AgentNames::new(["a"; 17]), Err(AgentNameError::Many));
        // as the reader of processes writes it
        assert_eq!(new("a\u{1b}]52;b").unwrap().iter().collect::<Vec<_>>(), ["a\u{fffd}]52;b"]);
    }
}
