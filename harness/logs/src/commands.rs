//! What a command line is likely to wait for, by its words alone.
//!
//! Invariant: a guess, and reported as one: a command is never run, and its words decide only the order of suspects.

use rehang_scenario::prompt::{self, WaitsAt};

/// What a command likely waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Input on stdin (B1).
    Stdin,
    /// Something typed on `/dev/tty` (B2).
    Tty,
    /// A key in a pager (B3).
    Pager,
    /// An editor to be closed (B4).
    Editor,
    /// Nothing: it serves or watches for ever (B5).
    Forever,
    /// What it left in the background holds its output (B6).
    Background,
    /// A lock (R2).
    Lock,
    /// Nothing: it works, for long (F1).
    Builds,
    /// It cannot be told.
    Unknown,
}

impl Waits {
    /// The mechanism.
    pub fn mechanism(self) -> &'static str {
        match self {
            Waits::Stdin => "B1",
            Waits::Tty => "B2",
            Waits::Pager => "B3",
            Waits::Editor => "B4",
            Waits::Forever => "B5",
            Waits::Background | Waits::Unknown | Waits::Builds => "B6",
            Waits::Lock => "R2",
        }
    }

    /// Why, in words.
    pub fn because(self) -> &'static str {
        match self {
            Waits::Stdin => "such a command reads its stdin",
            Waits::Tty => "such a command asks on /dev/tty, past its stdin",
            Waits::Pager => "such a command opens a pager on a terminal",
            Waits::Editor => "such a command opens an editor",
            Waits::Forever => "such a command serves or watches and never ends by itself",
            Waits::Background => "it leaves a process behind that holds its output",
            Waits::Lock => "such a command waits for a lock",
            Waits::Builds => "such a command may run for long, and then a process below it holds its output",
            Waits::Unknown => "nothing in its words says why; a process that it left may hold its output",
        }
    }
}

/// What this command line likely waits for.
pub fn waits(command: &str) -> Waits {
    let command: String = command.chars().take(2_000).collect();
    let command = in_shell(&command).to_owned();
    let parts = command.split(['\n', ';']).flat_map(|part| part.split("&&")).flat_map(|part| part.split("||"));
    let trimmed = command.trim_end();
    if trimmed.ends_with('&') && !trimmed.ends_with("&&") || trimmed.contains(" & ") || trimmed.contains("nohup ") {
        return Waits::Background;
    }
    parts.map(str::trim).map(simple).find(|waits| *waits != Waits::Unknown).unwrap_or(Waits::Unknown)
}

/// A command without the shell that is told to run it, if it names one.
pub fn in_shell(command: &str) -> &str {
    within_shell(command).unwrap_or(command)
}

/// The command that a shell is told to run: `bash -lc '…'`, as Codex records each command.
fn within_shell(command: &str) -> Option<&str> {
    let (shell, rest) = command.trim().split_once(' ')?;
    let shell = shell.rsplit(['/', '\\']).next().unwrap_or(shell);
    let (flag, rest) = rest.trim_start().split_once(' ')?;
    let is = matches!(shell, "sh" | "bash" | "zsh" | "dash" | "fish") && flag.starts_with('-') && flag.ends_with('c')
        || matches!(shell, "powershell" | "powershell.exe" | "pwsh") && flag.eq_ignore_ascii_case("-command");
    let rest = rest.trim();
    let quoted = ['\'', '"'].iter().find_map(|q| rest.strip_prefix(*q)?.strip_suffix(*q));
    is.then(|| quoted.unwrap_or(rest))
}

fn simple(part: &str) -> Waits {
    let piped = part.contains('|');
    let mut words = part.split_ascii_whitespace().skip_while(|w| w.contains('=') && !w.starts_with('-')).peekable();
    while words.peek().is_some_and(|w| matches!(*w, "time" | "env" | "exec" | "command" | "timeout")) {
        words.next();
    }
    let words: Vec<&str> = words.collect();
    let Some((&program, rest)) = words.split_first() else { return Waits::Unknown };
    let program = program.rsplit('/').next().unwrap_or(program);
    let has = |flags: &[&str]| rest.iter().any(|w| flags.contains(w));
    let sub = rest.iter().find(|w| !w.starts_with('-')).copied().unwrap_or_default();
    let any = |needles: &[&str]| needles.iter().any(|n| part.contains(n));
    match program {
        _ if prompt::of_program(program) == WaitsAt::Editor => Waits::Editor,
        _ if program == "man" || prompt::of_program(program) == WaitsAt::Pager => Waits::Pager,
        "crontab" if has(&["-e"]) => Waits::Editor,
        "git" if sub == "rebase" && has(&["-i", "--interactive"]) => Waits::Editor,
        "git" if sub == "commit" && !any(&["-m", "--message", "-F", "--no-edit", "--file", "-C"]) => Waits::Editor,
        "git" if sub == "add" && has(&["-p", "-i", "--patch"]) => Waits::Stdin,
        "git" if matches!(sub, "log" | "diff" | "show" | "branch") && !piped && !has(&["--no-pager"]) => Waits::Pager,
        "sudo" if !has(&["-n", "--non-interactive", "-S"]) => Waits::Tty,
        "ssh" | "scp" | "sftp" | "su" | "passwd" | "ssh-keygen" | "gpg" | "kinit" => Waits::Tty,
        "npx" | "npm" | "pnpm" | "yarn" | "apt" | "apt-get" if has(&["-y", "--yes"]) => Waits::Builds,
        "npx" if !has(&["--no-install"]) && !any(&["vitest", "watch"]) => Waits::Stdin,
        "npm" | "pnpm" | "yarn" if matches!(sub, "init" | "create" | "login" | "adduser") => Waits::Stdin,
        "apt" | "apt-get" if matches!(sub, "install" | "remove" | "upgrade" | "dist-upgrade") => Waits::Stdin,
        "python" | "python3" | "node" | "irb" | "psql" | "mysql" | "sqlite3" | "bc" if rest.is_empty() => Waits::Stdin,
        "read" | "select" => Waits::Stdin,
        "cat" | "tee" | "wc" | "sort" if rest.is_empty() && !piped => Waits::Stdin,
        "grep" | "rg" | "egrep"
            if rest.iter().filter(|w| !w.starts_with('-')).count() < 2
                && !piped
                && !any(&["<"])
                && !has(&["-r", "-R"]) =>
        {
            Waits::Stdin
        }
        "flock" => Waits::Lock,
        "vitest" | "nodemon" | "webpack-dev-server" | "watch" | "yes" | "http-server" | "uvicorn" | "gunicorn"
        | "vite" => {
            if has(&["run", "build"]) {
                Waits::Builds
            } else {
                Waits::Forever
            }
        }
        _ if any(&["input(", "readline(", "getpass("]) => Waits::Stdin,
        _ if any(&[
            "--watch",
            " watch",
            "tail -f",
            "logs -f",
            "--follow",
            "http.server",
            "port-forward",
            "runserver",
        ]) =>
        {
            Waits::Forever
        }
        _ if any(&[
            "sleep infinity",
            "tail -F",
            "flask run",
            "rails s",
            "next dev",
            "ng serve",
            "docker compose up",
            "docker-compose up",
        ]) && !has(&["-d"]) =>
        {
            Waits::Forever
        }
        "npm" | "pnpm" | "yarn" | "bun" | "deno" if any(&[" start", " dev", " serve", " watch", " preview"]) => {
            Waits::Forever
        }
        "cargo" | "make" | "npm" | "pnpm" | "yarn" | "go" | "mvn" | "gradle" | "pytest" | "bazel" | "pip"
        | "docker" | "cmake" | "ninja" => Waits::Builds,
        _ => Waits::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_suspected_by_their_words() {
        for (command, is) in [
            ("git commit", Waits::Editor),
            ("git commit -m x", Waits::Unknown),
            ("cd a && git rebase -i HEAD~3", Waits::Editor),
            ("git log", Waits::Pager),
            ("git log | head", Waits::Unknown),
            ("sudo make install", Waits::Tty),
            ("npx create-thing", Waits::Stdin),
            ("npx -y create-thing", Waits::Builds),
            ("npm run dev", Waits::Forever),
            ("npm start & echo started", Waits::Background),
            ("tail -f log", Waits::Forever),
            ("cargo build --release", Waits::Builds),
            ("rg pattern", Waits::Stdin),
            ("rg pattern src", Waits::Unknown),
            ("FOO=1 /usr/bin/vim x", Waits::Editor),
            ("bash -lc 'npm run dev'", Waits::Forever),
            ("/usr/bin/zsh -lc \"sudo ls\"", Waits::Tty),
            ("bash -lc ls", Waits::Unknown),
            ("bash build.sh", Waits::Unknown),
            ("./x.sh", Waits::Unknown),
            ("", Waits::Unknown),
        ] {
            assert_eq!(waits(command), is, "{command}");
        }
    }
}
