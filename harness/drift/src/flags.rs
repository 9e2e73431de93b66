//! The options that a release's own `--help` lists: its fake accepts each, with a value if it has one.
//!
//! Invariant: an option that was not found in a text is not counted as accepted; a text without one is an error of the
//! caller's.

use crate::{Compared, Difference};
use regex::Regex;
use serde_json::json;
use std::sync::LazyLock;

/// An option, as a help text lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its names, as they are written: `-p`, `--print`.
    pub names: Vec<String>,
    /// A value that it takes: the first of its choices, or a word; `None` if it takes none, or need not have one.
    pub value: Option<String>,
}

/// The names of an option at the beginning of a line, and the value's name after them.
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(-{1,2}[A-Za-z][\w-]*(?:,\s+-{1,2}[A-Za-z][\w-]*)*)(?:[ =](<[^>]+>|\[[^\]]+\]))?(?:\.{3})?(?:\s{2,}|\s*$)")
        .expect("it is a regular expression")
});
/// The first of some choices, as commander, yargs and clap write them.
static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:\(choices:|\[choices:|\[possible values:)\s*"?([\w.-]+)"#).expect("it is a regular expression")
});
/// The first of some choices in a description without such a mark: `(user, project, local)`.
static AMONG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\((\w+)(?:, \w+)+\)").expect("it is a regular expression"));
/// yargs names the type after the description.
static TYPED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[(string|number|array)\]").expect("it is a regular expression"));

/// What only prints a text and exits.
const PRINTS: [&str; 5] = ["-h", "--help", "-v", "-V", "--version"];

/// The options of a help text, in order.
pub fn listed(help: &str) -> Vec<Flag> {
    let lines: Vec<&str> = help.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| LISTED.is_match(lines[at])).collect();
    let mut all = Vec::new();
    for (nth, &at) in starts.iter().enumerate() {
        let Some(found) = LISTED.captures(lines[at]) else { continue };
        let names: Vec<String> = found[1].split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(|name| PRINTS.contains(&name.as_str())) {
            continue;
        }
        let about = lines[at..starts.get(nth + 1).copied().unwrap_or(lines.len())].join(" ");
        let choice = CHOICE.captures(&about).or_else(|| AMONG.captures(&about)).map(|found| found[1].to_owned());
        let needs = found.get(2).is_some_and(|value| value.as_str().starts_with('<')) || TYPED.is_match(&about);
        all.push(Flag { names, value: needs.then(|| choice.unwrap_or_else(|| "1".to_owned())) });
    }
    all
}

/// Which of these options a fake accepts; `accepts` is told further arguments of its command line.
pub fn compare(flags: &[Flag], accepts: impl Fn(&[String]) -> bool) -> Compared {
    let mut compared = Compared::default();
    for flag in flags {
        for name in &flag.names {
            compared.events += 1;
            let words: Vec<String> = std::iter::once(name.clone()).chain(flag.value.clone()).collect();
            if !accepts(&words) {
                let recorded = Some(json!(words.join(" ")));
                compared.differences.push(Difference { at: name.clone(), recorded, fake: None });
            }
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(names: &[&str], value: Option<&str>) -> Flag {
        Flag { names: names.iter().map(|&name| name.to_owned()).collect(), value: value.map(str::to_owned) }
    }

    #[test]
    fn the_options_of_three_libraries_are_read() {
        let commander = "Options:\n  -d, --debug [filter]   Debug --mode here\n  \
            --output-format <format>  Format (choices: \"text\",\n                            \"json\")\n  \
            --allowedTools, --allowed-tools <tools...>  A list\n  --setting-sources <s>  Of (user, local)\n  -h, --help  Help";
        let all = [
            flag(&["-d", "--debug"], None),
            flag(&["--output-format"], Some("text")),
            flag(&["--allowedTools", "--allowed-tools"], Some("1")),
            flag(&["--setting-sources"], Some("user")),
        ];
        assert_eq!(listed(commander), all);
        let yargs = "  -m, --model   the model\n                [string]\n      --continue  go on  [boolean]";
        assert_eq!(listed(yargs), [flag(&["-m", "--model"], Some("1")), flag(&["--continue"], None)]);
        let clap = "  -c, --config <key=value>\n          Override\n\n  -i, --image <FILE>...\n          Images\n      --json\n";
        assert_eq!(
            listed(clap),
            [flag(&["-c", "--config"], Some("1")), flag(&["-i", "--image"], Some("1")), flag(&["--json"], None)]
        );
    }

    #[test]
    fn an_option_that_is_refused_is_a_difference() {
        let flags = [flag(&["-p", "--print"], None), flag(&["--new"], Some("x"))];
        let compared = compare(&flags, |words| words[0] != "--new");
        assert_eq!(compared.events, 3);
        assert_eq!(compared.differences.iter().map(|one| one.at.as_str()).collect::<Vec<_>>(), ["--new"]);
    }
}
