//! A mechanism's page: the book's text, which strategy ends it, which release has it, which scenarios show it.
//!
//! Invariant: it has a section for each of these, and says so if there is nothing to show.

use super::boards::told;
use super::{Mechanism, Site, legend, releases, text, words, worst};
use maud::{Markup, html};
use rehang_judge::score::ScoreRow;
use rehang_scenario::text::duration;

/// The page.
pub fn page(site: &Site, of: &Mechanism) -> Markup {
    let rows: Vec<&ScoreRow> = site.score.iter().filter(|row| row.mechanism == of.text.id).collect();
    html! {
        @for line in &of.text.lead { p { (words(line)) } }
        dl { @for (head, line) in &of.text.parts { dt { (text(head)) } dd { (words(line)) } } }
        section {
            h2 { @if of.benign { "Which strategy leaves it alone" } @else { "Which strategy ends it" } }
            @if rows.is_empty() { p { "No scenario of it is in this board." } } @else {
                (legend())
                table.cards role="table" {
                    caption { "Each strategy on " (of.text.id) ", against the same runs without it" }
                    thead role="rowgroup" { tr role="row" { @for head in ["strategy", "worst", "all", "median wait", "what it does"] {
                        th role="columnheader" scope="col" { (head) }
                    } } }
                    tbody role="rowgroup" { @for row in rows { tr role="row" {
                        th role="rowheader" scope="row" { (text(&row.strategy)) }
                        (worst(row))
                        td role="cell" data-of="all" { (told(row)) }
                        td.n role="cell" data-of="median wait" { @if let Some(waited) = &row.waited { (duration(waited.median_ms)) } }
                        td role="cell" { (does(site, &row.strategy)) }
                    } } }
                }
            }
        }
        section {
            h2 { "Which release has it" }
            (releases::of(site, &of.text.id))
        }
        section {
            h2 { "Scenarios" }
            @if of.scenarios.is_empty() { p { "None in this selection." } } @else { ul { @for (name, title) in &of.scenarios {
                li { code { (text(name)) } ": " (text(title)) }
            } } }
            p { "Again: " code { "rehang run " (of.text.id) } "; what ends it: " code { "rehang score " (of.text.id) } }
        }
    }
}

fn does(site: &Site, strategy: &str) -> Markup {
    let known = site.strategies.iter().find(|(name, _)| name == strategy);
    html! { @if let Some((_, what)) = known { (words(what)) } }
}
