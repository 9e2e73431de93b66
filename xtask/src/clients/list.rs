//! The clients: which, in which version, driven how.
//!
//! Invariant: every version is named in full, so that what the page of wrappers says can be made again.

/// A client that people install.
pub struct Client {
    /// Where it comes from.
    pub registry: Registry,
    /// Its package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Further packages that its driver compares with, and their versions.
    pub beside: &'static [(&'static str, &'static str)],
    /// The script of `tests/clients` that drives it; of a program that needs none, the program.
    pub script: &'static str,
    /// The scenario that is played for it.
    pub scenario: &'static str,
    /// With which arguments the script runs, and what it must print.
    pub runs: &'static [(&'static [&'static str], Expected)],
    /// As which wrappers it is measured.
    pub rows: &'static [Row],
}

/// A client as a wrapper.
pub struct Row {
    /// The script's argument.
    pub argument: &'static str,
    /// The terminal that the wrapper is put on.
    pub terminal: &'static str,
    /// What its limits are, for the page.
    pub about: &'static str,
}

/// What a driver must print.
pub enum Expected {
    /// Its exit code says whether all is well.
    Success,
    /// The lines of a file of `tests/clients`.
    File(&'static str),
}

/// Where a client comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// npm.
    Npm,
    /// PyPI, wheels only.
    PyPI,
    /// crates.io.
    Crates,
}

impl Registry {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Registry::Npm => "npm",
            Registry::PyPI => "PyPI",
            Registry::Crates => "crates.io",
        }
    }
}

use Expected::{File, Success};

const NEVER: &str = "The host's callback for a permission never returns. The SDK has no limit of its own.";
const DENIES: &str = "The host's callback denies what it is asked.";
const GUARDED: &str = "rehang's guard decides; no limit of its own.";
const LOOPS: &str = "Its limit: an hour for a command.";

/// All of them.
pub const CLIENTS: [Client; 13] = [
    Client {
        registry: Registry::Npm,
        package: "@opencode-ai/sdk",
        version: "1.19.3",
        beside: &[],
        script: "opencode.mjs",
        scenario: "opencode.toml",
        runs: &[
            (&["default", "answers"], Success),
            (&["default", "denies"], Success),
            (&["default", "never"], Success),
            (&["v2", "answers"], Success),
            (&["v2", "denies"], Success),
            (&["v2", "never"], Success),
        ],
        rows: &[],
    },
    Client {
        registry: Registry::Npm,
        package: "@opencode-ai/sdk",
        version: "1.19.3",
        beside: &[("opencode-linux-x64", "1.18.33")],
        script: "opencode_methods.mjs",
        scenario: "opencode.toml",
        runs: &[(&["default"], File("opencode-methods-default.txt")), (&["v2"], File("opencode-methods-v2.txt"))],
        rows: &[],
    },
    Client {
        registry: Registry::Npm,
        package: "acpx",
        version: "0.1.15",
        beside: &[],
        script: "acpx.mjs",
        scenario: "acp.toml",
        runs: &[(&["approve"], Success), (&["deny"], Success)],
        rows: &[],
    },
    Client {
        registry: Registry::Npm,
        package: "@anthropic-ai/claude-agent-sdk",
        version: "0.3.331",
        beside: &[],
        script: "claude.mjs",
        scenario: "claude.toml",
        runs: &[(&["answers"], Success), (&["denies"], Success), (&["never"], Success)],
        rows: &[
            Row { argument: "never", terminal: "pipe", about: NEVER },
            Row { argument: "denies", terminal: "pipe", about: DENIES },
            Row { argument: "guarded", terminal: "pipe", about: GUARDED },
        ],
    },
    Client {
        registry: Registry::Npm,
        package: "@anthropic-ai/claude-agent-sdk",
        version: "0.3.331",
        beside: &[],
        script: "claude_control.mjs",
        scenario: "claude.toml",
        runs: &[(&[], File("claude-control-npm.txt"))],
        rows: &[],
    },
    Client {
        registry: Registry::PyPI,
        package: "claude-agent-sdk",
        version: "0.2.188",
        beside: &[],
        script: "claude_sdk.py",
        scenario: "claude.toml",
        runs: &[(&["answers"], Success), (&["denies"], Success), (&["never"], Success)],
        rows: &[
            Row { argument: "never", terminal: "pipe", about: NEVER },
            Row { argument: "denies", terminal: "pipe", about: DENIES },
            Row { argument: "guarded", terminal: "pipe", about: GUARDED },
        ],
    },
    Client {
        registry: Registry::PyPI,
        package: "claude-agent-sdk",
        version: "0.2.188",
        beside: &[],
        script: "claude_control.py",
        scenario: "claude.toml",
        runs: &[(&[], File("claude-control-pypi.txt"))],
        rows: &[],
    },
    Client {
        registry: Registry::PyPI,
        package: "little-loops",
        version: "1.37.0",
        beside: &[],
        script: "run_little_loops.py",
        scenario: "little-loops.toml",
        runs: &[(&["completes"], Success), (&["runs-out-of-time"], Success)],
        rows: &[
            Row { argument: "wraps", terminal: "null", about: LOOPS },
            Row { argument: "guarded", terminal: "null", about: GUARDED },
        ],
    },
    Client {
        registry: Registry::PyPI,
        package: "little-loops",
        version: "1.167.0",
        beside: &[],
        script: "run_little_loops.py",
        scenario: "little-loops.toml",
        runs: &[(&["completes"], Success), (&["runs-out-of-time"], Success)],
        rows: &[
            Row {
                argument: "wraps",
                terminal: "null",
                about: "Its limits: an hour for a command, five minutes after the end of its streams.",
            },
            Row { argument: "guarded", terminal: "null", about: GUARDED },
        ],
    },
    Client {
        registry: Registry::Crates,
        package: "ralph-cli",
        version: "2.10.1",
        beside: &[],
        script: "run_ralph.sh",
        scenario: "little-loops.toml",
        runs: &[(&[], Success)],
        rows: &[Row {
            argument: "go",
            terminal: "null",
            about: "Its limit: four hours for a loop. The npm package @ralph-orchestrator/ralph-cli fetches the same \
                    program with an install script.",
        }],
    },
    Client {
        registry: Registry::PyPI,
        package: "codex-autorunner",
        version: "2.2.3",
        beside: &[],
        script: "run_codex_app_server.py",
        scenario: "codex-app-server.toml",
        runs: &[(&["completes,accepts,declines,cancels,unanswered"], File("codex-autorunner.txt"))],
        rows: &[],
    },
    Client {
        registry: Registry::PyPI,
        package: "codex-autorunner",
        version: "2.2.3",
        beside: &[],
        script: "run_codex_app_server.py",
        scenario: "codex-app-server-silent.toml",
        runs: &[(&["interrupts,stalls"], File("codex-autorunner-silent.txt"))],
        rows: &[],
    },
    Client {
        registry: Registry::PyPI,
        package: "codex-autorunner",
        version: "2.2.3",
        beside: &[],
        script: "run_codex_autorunner.py",
        scenario: "opencode-turn.toml",
        runs: &[(&["plain"], Success)],
        rows: &[],
    },
];
