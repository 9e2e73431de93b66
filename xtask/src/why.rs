//! `rehang why` on real releases in the middle of a hang: does it say the right thing, every time?
//!
//! Each release hangs in a sandbox of its own, with the model server outside of its process tree, and is looked at from
//! outside of the sandbox. Looking into connections needs root, because a sandbox has a network of its own.
//!
//! Invariant: what is expected is written here, and was found out by other means: the scenario makes the hang, and the
//! live stage sees it.

use crate::tools::{self, Profile};
use serde_json::Value;
use xshell::{Shell, cmd};

/// A release, a scenario, a terminal, seconds until the cell is over (0: as the scenario says), and what must be
/// reported.
const HANGS: [(&str, &str, &str, u32, &str); 6] = [
    ("opencode@1.2.27", "question", "null", 0, "hung question-open Q1"),
    ("codex@0.169.0", "stdin-open", "pipe", 0, "hung stdin-open S1"),
    ("claude@2.1.329", "permission/claude-host-mute[2.1.329]", "pipe", 0, "hung permission-open P3"),
    ("claude@2.1.329", "alive-after-result", "pipe", 0, "hung alive-after-result H1"),
    // a silence counts from 60 s on
    ("opencode@1.3.0", "stream-stalled", "null", 90, "hung model-silent M1"),
    // a keep-alive line every 5 s is mostly outside of the window, and a model that thinks looks the same from outside:
    // so this hang cannot be proved, and the sentence says both
    ("opencode@1.3.0", "stream-keepalive-only", "null", 60, "waiting peer-keepalive M2 (guess)"),
];

/// Asks `times` times about each; returns 1 if something else was reported.
pub fn real(sh: &Shell, filter: Option<&str>, times: u32) -> xshell::Result<u8> {
    let rehang = tools::built(sh, tools::REHANG, Profile::Dev)?;
    let times = times.max(1) as usize;
    let mut code = 0;
    for (release, scenario, terminal, seconds, right) in HANGS {
        if filter.is_some_and(|filter| ![release, scenario].iter().any(|word| word.contains(filter))) {
            continue;
        }
        let limit = if seconds > 0 { vec!["--deadline".to_owned(), seconds.to_string()] } else { Vec::new() };
        let repeat = times.to_string();
        let rows = cmd!(
            sh,
            "{rehang} upstream {release} {scenario} --terminal {terminal} {limit...} --clock wall --why --repeat {repeat} --jobs 1 --format json"
        );
        let rows = rows.quiet().read()?;
        let said: Vec<String> = rows
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .flat_map(|row| row["why"].as_array().cloned().unwrap_or_default())
            .filter_map(|why| why.as_str().map(str::to_owned))
            .collect();
        let fits = said.iter().filter(|text| text.starts_with(right)).count();
        let is_right = fits == said.len() && fits >= times;
        println!(
            "{}  {release} {scenario} {terminal}: {fits} of {times} say {right}",
            if is_right { "ok    " } else { "WRONG " }
        );
        said.iter().for_each(|text| println!("        {text}"));
        if !is_right {
            code = 1;
        }
    }
    Ok(code)
}
