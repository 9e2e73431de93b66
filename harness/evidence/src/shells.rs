//! Shells, and programs that only start another one.
//!
//! Invariant: pure; a process is one by its program's name.

use crate::data::Process;
use crate::kind::stem;

/// Shells in which people and agents work.
pub const COMMON: [&str; 6] = ["bash", "zsh", "fish", "sh", "dash", "ksh"];
/// POSIX shells and fish.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"];
/// Programs whose manuals say that they run another command: of coreutils, util-linux, procps, sudo, npm, pnpm, yarn, bun
/// and uv.
const LAUNCHERS: [&str; 24] = [
    "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "ionice", "chrt", "taskset", "time", "flock", "script",
    "sudo", "doas", "unbuffer", "xvfb-run", "npm", "npx", "pnpm", "yarn", "bunx", "uv", "uvx", "tini",
];

fn is_one(process: &Process, names: &[&str]) -> bool {
    let program = process.args.first().map_or(process.comm.as_str(), String::as_str);
    // a login shell's name begins with a hyphen
    names.contains(&stem(program.trim_start_matches('-'))) || names.contains(&stem(&process.comm))
}

/// Whether a process is a shell, which goes on with its next command after one has ended.
pub fn is_shell(process: &Process) -> bool {
    is_one(process, &SHELLS)
}

/// Whether a process was started to start another program.
pub fn is_launcher(process: &Process) -> bool {
    is_one(process, &LAUNCHERS)
}

/// Whether it is a shell that reads its commands from its standard input: neither a command (`-c`) nor a script was
/// given to it.
pub fn is_fed(process: &Process) -> bool {
    let is_command = |arg: &String| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('c');
    let script = process.args.iter().skip(1).any(|arg| !arg.starts_with('-'));
    is_shell(process) && !process.args.is_empty() && !script && !process.args.iter().skip(1).any(is_command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(comm: &str, args: &[&str]) -> Process {
        Process { comm: comm.into(), args: args.iter().map(|&arg| arg.to_owned()).collect(), ..Process::default() }
    }

    #[test]
    fn a_shell_is_fed_unless_it_was_given_a_command_or_a_script() {
        let fed = |args: &[&str]| is_fed(&started("bash", args));
        assert!(fed(&["bash"]) && fed(&["-bash"]) && fed(&["/bin/bash", "--norc", "-l"]) && fed(&["bash", "-i"]));
        assert!(!fed(&["bash", "-c", "cat"]) && !fed(&["bash", "-lc", "cat"]) && !fed(&["bash", "run.sh"]));
        assert!(!is_fed(&started("cat", &["cat"])) && !is_fed(&started("bash", &[])));
    }

    #[test]
    fn what_starts_another_program_is_no_shell() {
        let timeout = started("timeout", &["timeout", "60", "claude"]);
        assert!(is_launcher(&timeout) && !is_shell(&timeout));
        assert!(is_shell(&started("sh", &["/bin/sh", "-c", "x"])) && !is_launcher(&started("node", &["node", "x.js"])));
    }
}
