//! Which options a release does not have.
//!
//! Invariant: each release refuses what it refused when it was given each option that [`super::args`] reads, one by one
//! (tests/golden/claude-VERSION/command-line/options.jsonl).

use super::args::{Args, Refusal};
use super::release::Release;

/// What 1.0.128 refuses, and the other two have.
const SINCE_2_0_77: [&str; 13] = [
    "--agent",
    "--allow-dangerously-skip-permissions",
    "--append-system-prompt-file",
    "--betas",
    "--chrome",
    "--disable-slash-commands",
    "--json-schema",
    "--max-budget-usd",
    "--max-thinking-tokens",
    "--no-chrome",
    "--no-session-persistence",
    "--plugin-dir",
    "--tools",
];
/// What 1.0.128 and 2.0.77 refuse, and 2.1.329 has.
const SINCE_2_1_329: [&str; 29] = [
    "--autocompact",
    "--ax-screen-reader",
    "--background",
    "--bare",
    "--bg",
    "--brief",
    "--cloud",
    "--debug-file",
    "--desktop",
    "--effort",
    "--environment",
    "--exclude-dynamic-system-prompt-sections",
    "--file",
    "--forward-subagent-text",
    "--from-pr",
    "--include-hook-events",
    "--name",
    "-n",
    "--permission-prompts",
    "--plugin-url",
    "--prompt-suggestions",
    "--remote-control",
    "--remote-control-session-name-prefix",
    "--restricted",
    "--safe-mode",
    "--system-prompt-snapshot",
    "--tmux",
    "--worktree",
    "-w",
];
/// What 2.1.329 refuses, and the older two have.
const UNTIL_2_0_77: [&str; 1] = ["--mcp-debug"];

impl Args {
    /// The first option that a release does not have.
    pub fn refused_by(&self, release: Release) -> Option<Refusal> {
        let is_refused = |name: &str| match release {
            Release::V1_0_128 => SINCE_2_0_77.contains(&name) || SINCE_2_1_329.contains(&name),
            Release::V2_0_77 => SINCE_2_1_329.contains(&name),
            Release::V2_1_329 => UNTIL_2_0_77.contains(&name),
        };
        self.named.iter().find(|name| is_refused(name)).map(|name| Refusal::Unknown(name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::args::{Parsed, parse};
    use std::path::Path;

    #[test]
    fn each_release_refuses_the_options_that_it_refused() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let mut refused = 0;
        for release in [Release::V1_0_128, Release::V2_0_77, Release::V2_1_329] {
            let file = golden.join(format!("claude-{}/command-line/options.jsonl", release.version()));
            for line in std::fs::read_to_string(file).expect("a recording").lines() {
                let given: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let words = ["-p", given["option"].as_str().expect("an option"), "x", "hello"].map(str::to_owned);
                let is_unknown = match parse(&words) {
                    Parsed::Run(args) => args.refused_by(release).is_some(),
                    Parsed::Refuse(why) => matches!(why, Refusal::Unknown(_)),
                    _ => false,
                };
                assert_eq!(is_unknown, given["refused"] == true, "{}: {line}", release.version());
                refused += u32::from(is_unknown);
            }
        }
        assert_eq!(refused, 75, "options were added or lost");
    }
}
