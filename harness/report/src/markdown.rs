//! A summary in Markdown: for a CI job's page.
//!
//! Invariant: what a cell says is put into code spans, so that nothing of it is markup.

use rehang_judge::score::Scoreboard;
use rehang_scenario::text::{counted, counted_as};
use std::fmt::Write;

/// Cells that are listed; the rest is counted.
const LISTED_MAX: usize = 50;
/// Characters of one text: a list of them stays far below the 1 MiB that GitHub accepts from a step.
const TEXT_MAX: usize = 600;

/// A cell that is not as expected.
#[derive(Debug, Clone, Default)]
pub struct Unexpected {
    /// Its name.
    pub id: String,
    /// Its outcome; a dash if rehang itself failed.
    pub outcome: String,
    /// The invariants that it breaks.
    pub broken: String,
    /// Why it is not as expected.
    pub why: String,
}

/// The summary of a run of `cells` cells; for a bad file, its path and what is wrong with it.
pub fn markdown(score: &Scoreboard, unexpected: &[Unexpected], cells: usize, bad_files: &[(String, String)]) -> String {
    let mut out = String::new();
    let verdict = match unexpected.len() {
        _ if cells == 0 => "no cell ran".to_owned(),
        0 => format!("{}, all as expected", counted(cells, "cell")),
        n => format!("{n} of {} NOT as expected", counted(cells, "cell")),
    };
    let bad = match bad_files.len() {
        0 => String::new(),
        n => format!("{} ERRORS; ", counted_as(n, "FILE HAS", "FILES HAVE")),
    };
    let _ = writeln!(out, "### rehang: {bad}{verdict}\n");
    for (file, errors) in bad_files.iter().take(LISTED_MAX) {
        let _ = writeln!(out, "- {}: {}", code(file), code(errors));
    }
    more(&mut out, bad_files.len());
    if !unexpected.is_empty() {
        out.push_str("| cell | outcome | breaks | why |\n|---|---|---|---|\n");
        for cell in unexpected.iter().take(LISTED_MAX) {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                in_table(&cell.id),
                cell.outcome,
                cell.broken,
                in_table(&cell.why)
            );
        }
        more(&mut out, unexpected.len());
    }
    out.push_str("| strategy | cells | resolved | stopped | missed | wrongly | harmed | untouched | undecided |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for row in score.rows().iter().filter(|row| row.mechanism.is_empty()) {
        let counts = [row.cells, row.resolved, row.stopped, row.missed, row.wrongly, row.harmed, row.untouched];
        let counts: Vec<String> = counts.iter().chain([&row.undecided]).map(u64::to_string).collect();
        let _ = writeln!(out, "| {} | {} |", in_table(&row.strategy), counts.join(" | "));
    }
    out
}

/// Ends a list of `count` entries: says how many are not listed.
fn more(out: &mut String, count: usize) {
    if count > LISTED_MAX {
        let _ = writeln!(out, "\n… and {} more.", count - LISTED_MAX);
    }
    if count > 0 {
        out.push('\n');
    }
}

fn code(text: &str) -> String {
    // characters that hide or reorder text are made visible
    let text = crate::cell::plain(text, TEXT_MAX);
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("`{}`", plain.replace('`', "'"))
}

/// In a table, where a bar ends a cell even within a code span, unless it has a backslash.
fn in_table(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_summary_of_a_run_that_is_not_as_expected() {
        let cells = [Unexpected {
            id: "made/up::none::tty::1".to_owned(),
            outcome: "hung".to_owned(),
            broken: "ask-without-end".to_owned(),
            why: "hung | where `completed`\nis expected <b>".to_owned(),
        }];
        expect![[r#"
            ### rehang: 1 of 12 cells NOT as expected

            | cell | outcome | breaks | why |
            |---|---|---|---|
            | `made/up::none::tty::1` | hung | ask-without-end | `hung \| where 'completed' is expected <b>` |

            | strategy | cells | resolved | stopped | missed | wrongly | harmed | untouched | undecided |
            |---|--:|--:|--:|--:|--:|--:|--:|--:|
        "#]]
        .assert_eq(&markdown(&Scoreboard::new(), &cells, 12, &[]));
    }

    #[test]
    fn a_summary_of_a_run_that_is() {
        assert!(markdown(&Scoreboard::new(), &[], 12, &[]).starts_with("### rehang: 12 cells, all as expected\n"));
    }

    #[test]
    fn a_summary_stays_below_what_a_page_takes() {
        let long = Unexpected { id: "i".repeat(9_000), why: "€|".repeat(100_000), ..Unexpected::default() };
        let text = markdown(&Scoreboard::new(), &vec![long; 60], 60, &vec![("f".to_owned(), "x".repeat(99_999)); 60]);
        assert!(text.len() < 1 << 19, "{}", text.len());
        assert!(text.contains("… and 10 more"));
    }

    #[test]
    fn a_bad_file_is_the_first_that_is_said() {
        let bad = [("hangs/bad.toml".to_owned(), "line 1: unknown key `titel`".to_owned())];
        expect![[r#"
            ### rehang: 1 FILE HAS ERRORS; 12 cells, all as expected

            - `hangs/bad.toml`: `line 1: unknown key 'titel'`

            | strategy | cells | resolved | stopped | missed | wrongly | harmed | untouched | undecided |
            |---|--:|--:|--:|--:|--:|--:|--:|--:|
        "#]]
        .assert_eq(&markdown(&Scoreboard::new(), &[], 12, &bad));
    }
}
