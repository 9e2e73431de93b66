//! Tools that ask at a terminal: how their prompts begin, and the switch that makes them fail instead of asking.
//!
//! Invariant: a tool is known by its program's name, and a switch is one of its own documentation.

use crate::data::Process;

/// A tool that asks.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its programs, as the kernel names their processes: at most 15 bytes.
    programs: &'static [&'static str],
    /// How its prompts begin.
    pub prompts: &'static [&'static str],
    /// What to set or to add, so that it fails at once instead of asking.
    pub switch: &'static str,
}

const TOOLS: [Tool; 10] = [
    // git's manual, GIT_TERMINAL_PROMPT
    Tool {
        programs: &["git", "git-remote-http", "git-remote-ftp", "git-credential-"],
        prompts: &["Username for '", "Password for '"],
        switch: "GIT_TERMINAL_PROMPT=0 in its environment",
    },
    // ssh_config(5), BatchMode
    Tool {
        programs: &["ssh", "scp", "sftp", "ssh-add"],
        prompts: &["Are you sure you want to continue connecting", "Enter passphrase for "],
        switch: "-o BatchMode=yes (under git: GIT_SSH_COMMAND='ssh -o BatchMode=yes')",
    },
    // sudo(8), --non-interactive
    Tool { programs: &["sudo"], prompts: &["[sudo] password for "], switch: "-n" },
    // gpg(1)
    Tool { programs: &["gpg", "gpg2", "pinentry-curses", "pinentry-tty"], prompts: &[], switch: "gpg --batch" },
    // apt-get(8), debconf(7)
    Tool {
        programs: &["apt", "apt-get", "dpkg", "debconf", "frontend"],
        prompts: &["Do you want to continue? [Y/n]"],
        switch: "-y, with DEBIAN_FRONTEND=noninteractive in its environment",
    },
    // `gh help environment`
    Tool { programs: &["gh"], prompts: &[], switch: "GH_PROMPT_DISABLED=1 in its environment" },
    // `terraform plan -help`
    Tool { programs: &["terraform", "tofu"], prompts: &[], switch: "-input=false" },
    // psql(1), --no-password
    Tool { programs: &["psql", "pg_dump", "pg_restore"], prompts: &["Password for user "], switch: "-w" },
    // rm(1)
    Tool { programs: &["rm"], prompts: &["rm: remove "], switch: "-f" },
    // unzip(1)
    Tool { programs: &["unzip"], prompts: &["replace "], switch: "-o, or -n to keep what is there" },
];

/// Which tool a process is.
pub fn of(process: &Process) -> Option<&'static Tool> {
    let named = |name: &&str| process.comm == *name || (name.ends_with('-') && process.comm.starts_with(*name));
    TOOLS.iter().find(|tool| tool.programs.iter().any(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_by_its_whole_name_or_by_one_that_ends_with_a_hyphen() {
        let switch = |comm: &str| of(&Process { comm: comm.to_owned(), ..Process::default() }).map(|tool| tool.switch);
        let git = Some("GIT_TERMINAL_PROMPT=0 in its environment");
        assert_eq!(["git", "git-remote-http", "git-credential-", "git-credential-s"].map(switch), [git; 4]);
        assert_eq!(["gitk", "git-remote-https", "git-credential", "ssh-", ""].map(switch), [None; 5]);
        assert_eq!((switch("sudo"), switch("tofu")), (Some("-n"), Some("-input=false")));
    }
}
