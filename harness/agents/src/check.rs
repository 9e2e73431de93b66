//! What is wrong with an agent's file beyond its shape: ranges that are not valid, words that a template may not have.
//!
//! Invariant: a file that passes gives a recipe for every release that its quirks do not call broken, and every word of
//! its templates is one that is filled in.

use crate::model::{File, Layer, Wish};
use rehang_scenario::Problem;
use rehang_scenario::problem::shown;
use rehang_scenario::text::{did_you_mean, suggest};
use std::collections::BTreeSet;
use std::ops::Range;

/// Words that the stage fills in; see [`crate::Words`].
const WORDS: [&str; 12] =
    ["base_url", "port", "key", "home", "cwd", "prompt", "prompt_json", "model", "root", "arch", "machine", "args"];
/// Words of a call; see [`crate::ToolShape`].
const CALL_WORDS: [&str; 20] = [
    "command",
    "description",
    "prompt",
    "timeout_ms",
    "timeout_s",
    "questions",
    "question",
    "header",
    "options",
    "labels",
    "multiple",
    "custom",
    "index",
    "id",
    "label",
    "tool",
    "permission",
    "pattern",
    "patterns",
    "output",
];

/// The problems of a file, in the order of their places.
pub fn check(file: &File, text: &str) -> Vec<Problem> {
    let mut check = Check { text, problems: Vec::new() };
    let name_is_plain = file.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if file.name.is_empty() || !name_is_plain {
        check.say(&file.name, "an agent's name", "lower-case letters, digits and `-`");
    }
    let own: BTreeSet<&str> = layers(file).flat_map(wishes).flat_map(words_of).collect();
    for layer in layers(file) {
        check.layer(layer, &own);
    }
    for quirk in &file.quirk {
        if let Err(error) = semver::VersionReq::parse(&quirk.versions) {
            check.say(&quirk.versions, "a range of versions", &format!("{error}; write it like this: `>=1.2, <1.4`"));
        }
    }
    let base = &file.recipe;
    let missing = [
        ("program", base.program.is_empty()),
        ("dialect", base.dialect.is_none()),
        ("model", base.model.is_none()),
        ("window-ms", base.window_ms.is_none()),
        ("memory-mib", base.memory_mib.is_none()),
        ("forms", base.forms.is_empty()),
    ];
    for (key, _) in missing.into_iter().filter(|(_, missing)| *missing) {
        let at = text.find("[recipe]").map_or(0..0, |at| at..at + "[recipe]".len());
        let problem = Problem::new(at, format!("`{key}` is missing in `recipe`"));
        check.problems.push(problem.label("it belongs here").help("every release needs it; a quirk may change it"));
    }
    check.problems.sort_by_key(|problem| problem.span.start);
    check.problems
}

fn layers(file: &File) -> impl Iterator<Item = &Layer> {
    std::iter::once(&file.recipe).chain(file.quirk.iter().map(|quirk| &quirk.recipe))
}

/// What a layer adds for a scenario.
fn wishes(layer: &Layer) -> impl Iterator<Item = &Wish> {
    [&layer.allow, &layer.ask, &layer.server, &layer.hook].into_iter().flatten()
}

fn words_of(wish: &Wish) -> impl Iterator<Item = &str> {
    wish.words.keys().map(String::as_str)
}

struct Check<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn layer(&mut self, layer: &Layer, own: &BTreeSet<&str>) {
        let known: BTreeSet<&str> = WORDS.into_iter().chain(own.iter().copied()).collect();
        let wished = wishes(layer).flat_map(|wish| wish.env.values().chain(&wish.args));
        let started = layer.forms.values().flat_map(|form| {
            form.args.iter().chain(form.bare.iter().flatten()).chain(&form.says).chain(form.env.values())
        });
        let all_files = || wishes(layer).map(|wish| &wish.files).chain([&layer.files]).flatten();
        let files = all_files().flat_map(|(path, text)| [path, text]);
        for template in layer.program.iter().chain(layer.env.values()).chain(files).chain(started).chain(wished) {
            self.template(template, &known);
        }
        for (path, _) in all_files() {
            let is_absolute = path.starts_with('/') || path.starts_with("{home}") || path.starts_with("{cwd}");
            if !is_absolute || path.split('/').any(|part| part == "..") {
                self.say(path, "a path in the sandbox", "an absolute path, or one below {home} or {cwd}, without `..`");
            }
        }
        let call: BTreeSet<&str> = CALL_WORDS.into_iter().collect();
        for tool in layer.tools.values() {
            let values = [Some(&tool.arguments), tool.question.as_ref(), tool.option.as_ref()];
            for value in values.into_iter().flatten() {
                self.value(value, &call);
            }
        }
    }

    fn value(&mut self, value: &serde_json::Value, known: &BTreeSet<&str>) {
        match value {
            serde_json::Value::String(text) => self.template(text, known),
            serde_json::Value::Array(list) => list.iter().for_each(|item| self.value(item, known)),
            serde_json::Value::Object(map) => map.values().for_each(|item| self.value(item, known)),
            _ => {}
        }
    }

    fn template(&mut self, template: &str, known: &BTreeSet<&str>) {
        for word in words(template).filter(|word| !known.contains(word)) {
            let at = self.place(&format!("{{{word}}}"));
            let problem = Problem::new(at, format!("no template has the word `{{{}}}`", shown(word)));
            let meant = suggest(word, known.iter().copied());
            self.problems.push(match meant {
                Some(meant) => problem.label(did_you_mean(&format!("{{{meant}}}"))),
                None => problem.label("nobody fills it in").help("a bracket itself is written twice: `{{` and `}}`"),
            });
        }
    }

    fn say(&mut self, found: &str, what: &str, how: &str) {
        let at = self.place(found);
        self.problems.push(Problem::new(at, format!("`{}` is not {what}", shown(found))).label(shown(how)));
    }

    /// Where a text is in the file; the file's first line if the file spells it in another way.
    fn place(&self, found: &str) -> Range<usize> {
        self.text.find(found).map_or(0..0, |at| at..at + found.len())
    }
}

/// The words of a template: `{word}`, but not `{{` and `}}`.
fn words(template: &str) -> impl Iterator<Item = &str> {
    let mut rest = template;
    std::iter::from_fn(move || {
        loop {
            let (_, here) = rest.split_at(rest.find('{')?);
            if let Some(after) = here.strip_prefix("{{") {
                rest = after;
                continue;
            }
            rest = &here[1..];
            let Some((word, after)) = rest.split_once('}') else { continue };
            if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                rest = after;
                return Some(word);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::Agent;
    use expect_test::expect;

    const GOOD: &str = r#"
name   = "mine"
title  = "Mine"
source = { npm = "mine" }

[recipe]
program    = ["{root}/mine"]
dialect    = "openai-chat"
model      = "m"
window-ms  = 10_000
memory-mib = 100
env        = { URL = "{base_url}", JSON = "{{\"a\":1}}" }
forms      = { run = { args = ["{args}", "{prompt}"] } }
"#;

    fn problems(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        Agent::load("mine.toml", &GOOD.replace(from, to)).expect_err("a problem").to_string()
    }

    #[test]
    fn a_good_file_is_taken() {
        Agent::load("mine.toml", GOOD).unwrap_or_else(|e| panic!("{e}"));
    }

    #[test]
    fn all_problems_come_at_once_with_their_places() {
        expect![[r#"
            error: `recipe.dialect` cannot be `openai-chap`
             --> mine.toml:8:11
              |
            8 | dialect = "openai-chap"
              |           ^^^^^^^^^^^^^ did you mean `openai-chat`?

            error: unknown key `modle` in `recipe`
             --> mine.toml:9:1
              |
            9 | modle      = "m"
              | ^^^^^ did you mean `model`?

        "#]]
        .assert_eq(&problems("dialect    = \"openai-chat\"\nmodel ", "dialect = \"openai-chap\"\nmodle "));
    }

    #[test]
    fn a_word_that_nobody_fills_in_is_named() {
        expect![[r#"
            error: no template has the word `{base_ulr}`
              --> mine.toml:12:23
               |
            12 | env        = { URL = "{base_ulr}", JSON = "{{\"a\":1}}" }
               |                       ^^^^^^^^^^ did you mean `{base_url}`?

        "#]]
        .assert_eq(&problems("{base_url}", "{base_ulr}"));
    }

    #[test]
    fn a_range_that_is_none_is_named() {
        let quirk = "[[quirk]]\nversions = \"since 1.2\"\nbecause = \"x\"\n\n[recipe]";
        expect![[r#"
            error: `since 1.2` is not a range of versions
             --> mine.toml:7:13
              |
            7 | versions = "since 1.2"
              |             ^^^^^^^^^ unexpected character 's' while parsing major version number; write it like this:…

        "#]]
        .assert_eq(&problems("[recipe]", quirk));
    }
}
