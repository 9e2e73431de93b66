//! The page of all signatures, `docs/signatures.md`: a section each, which `rehang explain` prints.

use crate::draft::Shown;
use crate::{Facts, Signature};
use std::fmt::Write as _;

const HEAD: &str = "\
# Signatures

A signature is the name of what `rehang why` finds. Its section says what `why` calls it, what it means, and which
[mechanisms](mechanisms.md) it shows. The page of guard has [the limit of each](guard.md#the-limit-of-each-finding) that ends a
run; a run that shows another one ends by its silence. `rehang explain WORD` prints both.

This page is made from `harness/hangs/src/signature`. `UPDATE_EXPECT=1 cargo test -p rehang-hangs` writes it anew.
";

/// The page, as Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut all = Signature::ALL.to_vec();
    all.sort_by_key(|signature| signature.word());
    for signature in all {
        let Facts { word, called, means, mechanisms, judged, draft, .. } = signature.facts();
        let _ = write!(page, "\n## {word}\n\n**{called}**: {means}.\n");
        let mut facts = Vec::new();
        if !mechanisms.is_empty() {
            let names = mechanisms.iter().map(|mechanism| format!("{mechanism} {}", mechanism.name()));
            facts.push(format!("- **Mechanisms**: {}\n", names.collect::<Vec<_>>().join(", ")));
        }
        if !judged.is_empty() {
            let words = judged.iter().map(|on| format!("`{on}`"));
            facts.push(format!("- **Blocked on**, in a result: {}\n", words.collect::<Vec<_>>().join(", ")));
        }
        let shown = |agent| mechanisms.iter().map(move |id| Shown { mechanism: Some(*id), agent, ..Shown::default() });
        if ["claude", "opencode"].into_iter().flat_map(shown).any(|shown| draft(&shown).is_some()) {
            facts.push(
                "- **Scenario**: `rehang why PID --scenario FILE` drafts one that hangs the same way\n".to_owned(),
            );
        }
        if !facts.is_empty() {
            let _ = write!(page, "\n{}", facts.concat());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_made_from_the_catalogue() {
        expect_test::expect_file!["../../../docs/signatures.md"].assert_eq(&super::page());
    }
}
