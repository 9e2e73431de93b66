//! Where the values of a scenario were written: what is kept of a file's tree once it is typed.
//!
//! Invariant: as deep as the tree and no deeper; the values themselves are gone.

use super::tree::Node;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The places of a value and of all that is in it.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// In bytes; a file is far shorter than 4 GiB.
    start: u32,
    end: u32,
    inside: Inside,
}

#[derive(Debug, Clone)]
enum Inside {
    Nothing,
    List(Box<[Places]>),
    Table(Box<[(Box<str>, Places)]>),
}

impl Places {
    /// Those of a whole file.
    pub(crate) fn of(tree: &DeTable<'_>) -> Places {
        Places { start: 0, end: 0, inside: Inside::of_table(tree) }
    }

    /// Where the value at a path was written, or the nearest value that holds it; `None` if no part of the path is there.
    pub(crate) fn nearest(&self, path: &str) -> Option<Range<usize>> {
        let mut found = None;
        let mut all = &self.inside;
        for step in path.split('.') {
            let next = match all {
                Inside::Table(table) => table.iter().find(|(key, _)| **key == *step).map(|(_, places)| places),
                Inside::List(list) => step.parse().ok().and_then(|index: usize| list.get(index)),
                Inside::Nothing => None,
            };
            let Some(next) = next else { break };
            found = Some(next.start as usize..next.end as usize);
            all = &next.inside;
        }
        found
    }
}

impl Inside {
    fn of_table(table: &DeTable<'_>) -> Inside {
        Inside::Table(table.iter().map(|(key, node)| (key.get_ref().as_ref().into(), of_node(node))).collect())
    }
}

fn of_node(node: &Node<'_>) -> Places {
    let span = node.span();
    let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    let inside = match node.get_ref() {
        DeValue::Array(list) => Inside::List(list.iter().map(of_node).collect()),
        DeValue::Table(table) => Inside::of_table(table),
        _ => Inside::Nothing,
    };
    Places { start: at(span.start), end: at(span.end), inside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_tables_and_lists_as_far_as_it_goes() {
        let text = "a = [{ b = [7] }]\nc = 8";
        let places = Places::of(DeTable::parse(text).expect("toml").get_ref());
        let found = |path: &str| places.nearest(path).map(|span| &text[span]);
        let all = ["a", "a.0", "a.0.b", "a.0.b.0", "c"].map(found);
        assert_eq!(all, ["[{ b = [7] }]", "{ b = [7] }", "[7]", "7", "8"].map(Some));
        assert_eq!(["a.1", "a.x", "a.0.c", "c.0", "a.0.b.0.0"].map(found), [all[0], all[0], all[1], all[4], all[3]]);
        assert_eq!(["", "x", ".a"].map(found), [None; 3]);
    }
}
