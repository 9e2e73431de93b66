//! `rehang explain WORD`: what a word of rehang's output means.
//!
//! Invariant: it prints the book's own text. An entry is a section of a page (`## Q1 question-no-answerer`) or a row of
//! a table whose first cell is the word; a strategy is explained by its own entry.

use super::{Code, CommandError};
use crate::{book, on_record};
use clap::Args;
use rehang_agents::Version;
use rehang_hangs::Mechanism;
use rehang_scenario::text::{did_you_mean, suggest};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The pages whose entries are explained.
const PAGES: [(&str, &str); 6] = [
    ("mechanisms", book::MECHANISMS),
    ("results", book::VERDICTS),
    ("signatures", book::SIGNATURES),
    ("what guard finds", book::GUARD),
    ("what why says", book::WHY),
    ("words", book::GLOSSARY),
];

/// Say what a word of rehang's output means.
///
/// A mechanism, an outcome, a proof, an invariant, a mark of the table, an exit code, a finding of `rehang
/// why`, a strategy.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang explain Q1                       how a question without anybody to answer it hangs, and what ends it
  rehang explain rejected-without-cause   what an invariant holds
  rehang explain W                        a mark of the table
  rehang explain                          all words there are")]
pub struct Explain {
    /// The word; without it, all words are listed.
    #[arg(value_name = "WORD")]
    pub word: Option<String>,
}

/// What a page says of some words.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    words: Vec<&'a str>,
    text: String,
}

impl Explain {
    /// Prints.
    ///
    /// # Errors
    /// No such word.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let Some(word) = &self.word else {
            all(out)?;
            return Ok(Code::Expected);
        };
        let all_entries = PAGES.iter().flat_map(|(_, page)| entries(page));
        let mut texts: Vec<String> = all_entries.filter_map(|entry| entry.of(word)).collect();
        if let Some(id) = Mechanism::ALL.iter().find(|m| is(m.id(), word) || is(m.name(), word)) {
            texts.push(format!(
                "`rehang score {id}`: which strategy ends it today; `rehang list --files {id}`: its scenarios"
            ));
            texts.extend(releases(*id));
        }
        let strategies = rehang_strategy::all();
        let stacks = rehang_strategy::catalogue::named();
        let named = stacks.iter().filter(|stack| is(stack.name, word));
        texts.extend(named.map(|stack| stack.to_string().trim_end().to_owned()));
        let meant = strategies.iter().filter(|entry| is(entry.name, word) || is(entry.family(), word));
        texts.extend(meant.map(|entry| entry.to_string().trim_end().to_owned()));
        if !texts.is_empty() {
            writeln!(out, "{}", texts.join("\n\n"))?;
            return Ok(Code::Expected);
        }
        let pages: Vec<Entry<'_>> = PAGES.iter().flat_map(|(_, page)| entries(page)).collect();
        let words = pages.iter().flat_map(|entry| entry.words.iter().copied());
        let names = strategies.iter().flat_map(|entry| [entry.name, entry.family()]);
        let names = names.chain(stacks.iter().map(|stack| stack.name));
        let near = suggest(word, words.chain(names)).map(|near| format!("; {}", did_you_mean(near)));
        let near = near.unwrap_or_else(|| "; `rehang explain` lists the words there are".to_owned());
        Err(CommandError::Usage(format!("nothing is called '{word}'{near}")))
    }
}

/// Which releases are on record as hung by a mechanism, in one line.
fn releases(mechanism: Mechanism) -> Option<String> {
    let scenarios = rehang_upstream::plan::scenarios(&[], &[]).unwrap_or_default();
    let is_of = |name: &str| scenarios.iter().any(|s| s.name == name && s.scenario.mechanism == mechanism.id());
    let mut by_agent: BTreeMap<&str, BTreeSet<Version>> = BTreeMap::new();
    for row in on_record::hangs().filter(|row| is_of(&row.scenario)) {
        by_agent.entry(&row.agent).or_default().extend(Version::parse(&row.version));
    }
    let agents = by_agent.iter().map(|(agent, versions)| {
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        format!("{agent} {}", versions.join(", "))
    });
    let line = agents.collect::<Vec<_>>().join("; ");
    (!line.is_empty()).then(|| format!("Releases that were seen to hang by it: {line} (`rehang agents NAME`)"))
}

/// The paragraph of a mechanism's section that has a label, such as `Prevent`, in one line.
pub fn advice(mechanism: &str, label: &str) -> Option<String> {
    let sections = book::MECHANISMS.split("\n## ").skip(1);
    let section = sections.into_iter().find(|section| section.split_whitespace().next() == Some(mechanism))?;
    let text = section.split(&format!("\n- **{label}**: ")).nth(1)?.split("\n- **").next()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// All words, by page.
fn all(out: &mut dyn Write) -> std::io::Result<()> {
    let strategies = rehang_strategy::all();
    let names = ("strategies", strategies.iter().map(|entry| entry.name).collect::<Vec<_>>());
    let pages = PAGES.iter().map(|(name, page)| {
        let mut words: Vec<&str> = entries(page).into_iter().filter_map(|entry| entry.words.first().copied()).collect();
        let mut seen = std::collections::BTreeSet::new();
        words.retain(|word| seen.insert(*word));
        (*name, words)
    });
    for (name, words) in pages.chain([names]) {
        writeln!(out, "{name}:")?;
        let mut line = String::new();
        for word in words {
            if line.len() + word.len() + 2 > 96 {
                writeln!(out, " {line}")?;
                line.clear();
            }
            line.push_str(&format!(" {word}"));
        }
        writeln!(out, " {line}\n")?;
    }
    Ok(())
}

fn is(name: &str, word: &str) -> bool {
    name.eq_ignore_ascii_case(word)
}

impl Entry<'_> {
    /// Its text, if it explains this word. The marks of the table differ by case.
    fn of(self, word: &str) -> Option<String> {
        let fits = |own: &&str| if own.chars().count() == 1 { *own == word } else { is(own, word) };
        self.words.iter().any(fits).then_some(self.text)
    }
}

/// The sections and rows of a page.
fn entries(page: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut head: Vec<&str> = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let (title, text) = section.split_once('\n').unwrap_or((section, ""));
        let words: Vec<&str> = title.split_whitespace().collect();
        // a title of more words is a heading of the page
        if words.len() <= 2 && !text.contains("\n|") {
            entries.push(Entry { text: format!("{title}\n\n{}", plain(text)), words });
        }
        for line in text.lines() {
            match cells(line) {
                None => head.clear(),
                Some(cells) if head.is_empty() => head = cells,
                Some(cells) if cells.iter().all(|cell| cell.starts_with("---")) => {}
                Some(cells) => entries.extend(row(&head, &cells)),
            }
        }
    }
    entries
}

/// The cells of a table's row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split(" | ").map(str::trim).collect())
}

/// What a row says of the word, or words, in its first cell.
fn row<'a>(head: &[&str], cells: &[&'a str]) -> Option<Entry<'a>> {
    let (first, rest) = cells.split_first()?;
    let words: Vec<&str> = match first.strip_prefix('`').and_then(|code| code.split_once('`')) {
        Some((code, _)) => vec![code],
        None => first.split(", ").collect(),
    };
    let text = match rest {
        [meaning] => format!("{}: {}", first.trim_matches('`'), plain(meaning)),
        rest => {
            let cells = head.iter().skip(1).zip(rest).map(|(head, cell)| format!("\n  {head}: {}", plain(cell)));
            format!("{}{}", first.replace('`', ""), cells.collect::<String>())
        }
    };
    Some(Entry { words, text })
}

/// Without the marks of bold type.
fn plain(text: &str) -> String {
    text.trim().replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_evidence::diagnosis::graph::{Life, Over};
    use rehang_evidence::report::State;
    use rehang_evidence::{Diagnosis, Limits, Snapshot, Sure, Verdict, diagnose};
    use rehang_hangs::Signature;
    use rehang_scenario::Invariant;
    use serde_json::json;

    fn explained(word: &str) -> String {
        let mut out = Vec::new();
        match (Explain { word: Some(word.to_owned()) }).run(&mut out) {
            Ok(_) => String::from_utf8(out).unwrap(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn every_word_of_a_result_is_explained() {
        let mechanisms = Mechanism::ALL.iter().flat_map(|m| [m.id(), m.name()]);
        let invariants = Invariant::ALL.iter().map(|invariant| invariant.name());
        let outcomes = ["completed", "failed", "stopped", "hung", "undecided", "deadlock", "lasso"];
        let marks = rehang_judge::score::Score::ALL.map(|score| score.mark().to_string());
        let codes = [0, 1, 2, 3, 4, 5, 70].map(|code: u8| code.to_string());
        let strategies = rehang_strategy::all();
        let words = mechanisms.chain(invariants).chain(outcomes);
        let words = words.chain(marks.iter().map(String::as_str)).chain(codes.iter().map(String::as_str));
        for word in words.chain(strategies.iter().map(|entry| entry.name)) {
            let text = explained(word);
            assert!(text.len() > word.len() + 10 && !text.starts_with("error"), "{word}: {text}");
        }
    }

    /// The word of JSON.
    fn in_json(word: serde_json::Value) -> String {
        word.as_str().expect("a word").to_owned()
    }

    #[test]
    fn every_word_of_why_is_explained() {
        let none = Snapshot::default();
        let mut words: Vec<String> = Signature::ALL.iter().map(ToString::to_string).collect();
        words.extend(Verdict::ALL.iter().map(|verdict| in_json(json!(verdict))));
        words.extend(Over::ALL.iter().flat_map(|over| [in_json(json!(over)), over.name().to_owned()]));
        words.extend(State::ALL.iter().map(|state| in_json(json!(state))));
        words.extend(Life::ALL.iter().map(|life| in_json(json!(life))));
        for (sure, verdict) in
            Sure::ALL.iter().flat_map(|sure| Verdict::ALL.iter().map(move |verdict| (*sure, *verdict)))
        {
            let diagnosis = diagnose(&none, &none, &Limits::default());
            let diagnosis = Diagnosis { sure, verdict, ..diagnosis };
            let below = Diagnosis { agent_above: Some("claude".to_owned()), ..diagnosis.clone() };
            let proved = Diagnosis { closed_in: true, ..diagnosis.clone() };
            words.extend([diagnosis, below, proved].iter().map(|said| said.sure_in_words().to_owned()));
            words.push(in_json(json!(sure)));
        }
        let labels =
            ["ends with", "counts as hung", "out of sight", "closed in", "signature", "looked for", "not read"];
        words.extend(labels.into_iter().chain(["mechanism", "itself", "nobody"]).map(str::to_owned));
        for word in &words {
            let text = explained(word);
            assert!(text.len() > word.len() + 10 && !text.starts_with("error"), "{word}: {text}");
        }
        assert!(words.len() > 100);
    }

    #[test]
    fn every_hang_has_advice_and_every_healthy_run_says_what_tells_it() {
        for mechanism in Mechanism::ALL {
            let label = if mechanism.is_benign() { "Tell it by" } else { "Prevent" };
            assert!(advice(mechanism.id(), label).is_some_and(|text| text.len() > 20), "{mechanism} {label}");
        }
        assert!(advice("B8", "Prevent").is_some_and(|text| text.ends_with("TERM first, then KILL.")));
    }

    #[test]
    fn a_mark_is_not_another_s_letter() {
        assert!(explained("W").contains("told something false") && !explained("W").contains("harmed"));
        assert!(explained("s").starts_with("s, stopped"), "{}", explained("s"));
    }

    #[test]
    fn a_signature_has_its_meaning_and_then_its_limits() {
        let text = explained("tool-lost");
        assert!(text.starts_with("tool-lost\n\nhung: an agent waits for the result of a tool"), "{text}");
        assert!(text.contains("\n\ntool-lost\n  of: the agent\n  limit: 10m\n"), "{text}");
    }

    #[test]
    fn a_word_that_is_none_has_a_nearest() {
        assert_eq!(explained("deadlok"), "error: nothing is called 'deadlok'; did you mean `deadlock`?");
        assert!(explained("zzzzzzzzzzzz").ends_with("`rehang explain` lists the words there are"));
    }
}
