//! A summary in Markdown: for a CI job's page.
//!
//! Invariant: what a cell says is put into code spans, so that nothing of it is markup.

use crate::cell::CellPage;
use rehang_judge::score::Scoreboard;
use std::fmt::Write;

/// Cells that are listed; the rest is counted.
const LISTED_MAX: usize = 50;

/// The summary of a run.
pub fn markdown(score: &Scoreboard, unexpected: &[CellPage], cells: usize) -> String {
    let mut out = String::new();
    let verdict = if unexpected.is_empty() { "all as expected" } else { "not as expected" };
    let _ = writeln!(out, "### rehang: {cells} cells, {verdict}\n");
    if !unexpected.is_empty() {
        out.push_str("| cell | outcome | breaks | why |\n|---|---|---|---|\n");
        for cell in unexpected.iter().take(LISTED_MAX) {
            let why = cell.mismatches.first().map_or("", String::as_str);
            let broken = cell.row.broken.join(", ");
            let _ = writeln!(out, "| {} | {} | {} | {} |", code(&cell.id), cell.row.outcome, broken, code(why));
        }
        if unexpected.len() > LISTED_MAX {
            let _ = writeln!(out, "\n… and {} more.", unexpected.len() - LISTED_MAX);
        }
        out.push('\n');
    }
    out.push_str("| strategy | cells | resolved | stopped | missed | wrongly | harmed | untouched |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for row in score.rows().iter().filter(|row| row.mechanism.is_empty()) {
        let counts = [row.cells, row.resolved, row.stopped, row.missed, row.wrongly, row.harmed, row.untouched];
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let _ = writeln!(out, "| {} | {} |", code(&row.strategy), counts.join(" | "));
    }
    out
}

fn code(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || c == '|' { ' ' } else { c }).collect();
    format!("`{}`", plain.replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn a_summary_of_a_run_that_is_not_as_expected() {
        let cells = [testing::page("hung | where `completed`\nis expected <b>")];
        expect![[r#"
            ### rehang: 12 cells, not as expected

            | cell | outcome | breaks | why |
            |---|---|---|---|
            | `made/up::none::tty::1` | hung | ask-without-end | `hung   where 'completed' is expected <b>` |

            | strategy | cells | resolved | stopped | missed | wrongly | harmed | untouched |
            |---|--:|--:|--:|--:|--:|--:|--:|
        "#]]
        .assert_eq(&markdown(&Scoreboard::new(), &cells, 12));
    }

    #[test]
    fn a_summary_of_a_run_that_is() {
        assert!(markdown(&Scoreboard::new(), &[], 12).starts_with("### rehang: 12 cells, all as expected\n"));
    }
}
