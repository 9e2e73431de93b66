//! The catalogue's entries as data: a mechanism's section of the book, taken apart for a page.
//!
//! Invariant: nothing is added to the book's text and nothing left out; what is between backticks stays so, and the page
//! that shows it makes code of it.

use serde::Serialize;

/// What the book says of a mechanism.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// `Q1`.
    pub id: String,
    /// `question-no-answerer`.
    pub name: String,
    /// How it hangs; a text for each paragraph.
    pub lead: Vec<String>,
    /// What else is known of it: a head such as `Ends with`, and its text.
    pub parts: Vec<(String, String)>,
}

/// The entries of a page: each is a section `## Q1 question-no-answerer`.
pub fn explained(page: &str) -> Vec<Explained> {
    page.split("\n## ").skip(1).filter_map(entry).collect()
}

fn entry(section: &str) -> Option<Explained> {
    let (title, text) = section.split_once('\n')?;
    let (id, name) = title.split_once(' ').filter(|(_, name)| !name.contains(' '))?;
    let (mut lead, mut parts) = (Vec::new(), Vec::new());
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        if !block.starts_with("- **") {
            lead.push(in_a_line(block));
            continue;
        }
        for item in format!("\n{block}").split("\n- **").skip(1) {
            let (head, text) = item.split_once("**")?;
            parts.push((head.to_owned(), in_a_line(text.trim_start_matches(':'))));
        }
    }
    Some(Explained { id: id.to_owned(), name: name.to_owned(), lead, parts })
}

fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::Mechanism;

    const PAGE: &str = include_str!("../../../docs/mechanisms.md");

    #[test]
    fn every_mechanism_is_taken_apart_and_no_word_is_lost() {
        let all = explained(PAGE);
        let names: Vec<(&str, &str)> = all.iter().map(|entry| (entry.id.as_str(), entry.name.as_str())).collect();
        let mut wanted: Vec<(&str, &str)> = Mechanism::ALL.iter().map(|m| (m.id(), m.name())).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(sorted, wanted);
        for entry in &all {
            let section = PAGE.split("\n## ").find(|section| section.starts_with(&format!("{} ", entry.id))).unwrap();
            let parts = entry.parts.iter().flat_map(|(head, text)| [head, text]);
            let shown: usize = entry.lead.iter().chain(parts).map(|text| text.split_whitespace().count()).sum();
            let words = section.split_once('\n').unwrap().1.split_whitespace().filter(|word| *word != "-").count();
            assert!(shown == words && !entry.lead.is_empty(), "{}: {shown} of {words}", entry.id);
        }
    }
}
