//! Real releases in CI, and the table of them.
//!
//! Invariant: the list of releases in the table is here and nowhere else.

use crate::tools::{self, Profile};
use xshell::Shell;

/// The releases of `compat.json`.
const TABLE: [&str; 30] = [
    "opencode@1.0.185",
    "opencode@1.1.53",
    "opencode@1.2.15",
    "opencode@1.2.27",
    "opencode@1.3.0",
    "opencode@1.3.2",
    "opencode@1.14.41",
    "opencode@1.18.33",
    "claude@1.0.128",
    "claude@2.0.77",
    "claude@2.1.20",
    "claude@2.1.113",
    "claude@2.1.329",
    "codex@0.45.0",
    "codex@0.58.0",
    "codex@0.80.0",
    "codex@0.98.0",
    "codex@0.116.0",
    "codex@0.169.0",
    "gemini@0.11.3",
    "gemini@0.29.0",
    "gemini@0.61.0",
    "qwen@0.24.4",
    "copilot@1.0.102",
    "aider@0.86.2",
    "cline@3.0.65",
    "kilo@7.7.9",
    "droid@0.225.2",
    "cn@1.5.47",
    "mini-swe-agent@2.4.6",
];
/// The newest release of each agent that the machine's own Python or Node.js runs, for the nightly run.
const NEWEST: [&str; 12] = [
    "opencode@latest",
    "claude@latest",
    "codex@latest",
    "gemini@latest",
    "qwen@latest",
    "copilot@latest",
    "aider@latest",
    "cline@latest",
    "kilo@latest",
    "droid@latest",
    "cn@latest",
    "mini-swe-agent@latest",
];
/// What is on record.
const COMPAT: &str = "compat.json";
/// The rows while the table is being filled; a stopped run goes on with them.
const RESULTS: &str = "target/upstream.ndjson";

/// Runs `rehang upstream`; without arguments, the newest release of each agent, compared with the table's rows.
pub fn upstream(sh: &Shell, rest: &[String]) -> xshell::Result<u8> {
    if !rest.is_empty() {
        return tools::run(sh, tools::REHANG, &["upstream"], rest, Profile::Dev);
    }
    let mut args = vec!["upstream"];
    args.extend(NEWEST);
    args.extend(["--baseline", COMPAT]);
    tools::run(sh, tools::REHANG, &args, &[], Profile::Dev)
}

/// Continues to fill `compat.json` from where it was.
pub fn table(sh: &Shell, rest: &[String]) -> xshell::Result<u8> {
    if !sh.path_exists(RESULTS) {
        tools::run(sh, tools::LAB, &["compat", "--rows", RESULTS], &[], Profile::Dev)?;
    }
    let mut args = vec!["upstream"];
    args.extend(TABLE);
    args.extend(["--results", RESULTS]);
    let code = tools::run(sh, tools::REHANG, &args, rest, Profile::Dev)?;
    tools::run(sh, tools::LAB, &["compat", "--add", RESULTS], &[], Profile::Dev).map(|added| code.max(added))
}
