//! The report: one HTML file that needs no network.
//!
//! The page's frame is written here, its data stands in it as JSON, and `page/report.js` draws it. Cells come in
//! chunks that are parsed when they are opened, so that a report of 5,000 cells opens as fast as one of 50.
//!
//! Invariants: data cannot leave its script element (`<` is escaped); scripts put it into the page as text.

use crate::cell::CellPage;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use rehang_judge::score::ScoreRow;
use serde::Serialize;

/// Cells of one chunk.
/// `page/report.js` divides by the same number.
const CHUNK: usize = 40;

/// What a report holds.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What ran, for the title: `42 scenarios in lockstep`.
    pub title: String,
    /// The command that makes this report again.
    pub command: String,
    /// A line about the whole: how many cells, how many not as expected.
    pub summary: String,
    /// The scoreboard.
    pub score: Vec<ScoreRow>,
    /// The cells.
    pub cells: Vec<CellPage>,
}

/// What the list of cells shows: the rest of a cell stands in its chunk.
#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    strategy: &'a str,
    mechanism: &'a str,
    terminal: &'a str,
    control: bool,
    outcome: &'a str,
    why: Option<&'a str>,
    broken: &'a [String],
    expected: bool,
    virtual_ms: u64,
}

/// Writes a report.
pub fn html(page: &Page) -> String {
    let entries: Vec<Entry<'_>> = page.cells.iter().map(entry).collect();
    document(page, &entries).into_string()
}

fn entry(cell: &CellPage) -> Entry<'_> {
    let row = &cell.row;
    Entry {
        id: &cell.id,
        strategy: &row.strategy,
        mechanism: &cell.mechanism,
        terminal: &row.terminal,
        control: cell.control,
        outcome: &row.outcome,
        why: row.cause.as_deref().or(row.blocked_on.as_deref()),
        broken: &row.broken,
        expected: row.expected,
        virtual_ms: row.virtual_ms,
    }
}

fn document(page: &Page, entries: &[Entry<'_>]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "rehang: " (page.title) }
                style { (PreEscaped(include_str!("page/report.css"))) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    h1 { a href="#" { "rehang" } }
                    p.what { (page.title) }
                    p.summary { (page.summary) }
                }
                main id="main" tabindex="-1" {
                    noscript { p { "This report draws its pictures with a script; the data is in the page's source." } }
                    section id="board" aria-labelledby="board-title" {
                        h2 id="board-title" { "Which strategy ends which hang, and which does harm" }
                        p { "A square opens its cells. Letters: r resolved, s stopped truthfully, m missed, "
                            "W stopped wrongly, H harmed, · untouched; the number counts the cells of the worst letter." }
                        div.scroll id="heat" tabindex="0" role="region" aria-label="Scoreboard" {}
                    }
                    section id="list" aria-labelledby="list-title" {
                        h2 id="list-title" { "Cells" }
                        form id="filter" role="search" {
                            label { "Filter " input id="words" type="search" autocomplete="off" spellcheck="false"; }
                            label { input id="bad" type="checkbox"; " only what is not as expected" }
                            span id="count" role="status" {}
                        }
                        div.scroll id="cells" {}
                        nav id="pages" aria-label="Pages" {}
                    }
                    section id="cell" hidden aria-live="polite" {}
                }
                footer { p { "Made by " code { (page.command) } } }
                (data("score", &page.score))
                (data("entries", entries))
                @for (place, chunk) in page.cells.chunks(CHUNK).enumerate() {
                    (data(&format!("chunk-{place}"), chunk))
                }
                script { (PreEscaped(include_str!("page/report.js"))) }
            }
        }
    }
}

/// Data in a script element that is not run. `<` cannot end it or begin a comment.
fn data<T: Serialize + ?Sized>(id: &str, value: &T) -> Markup {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()).replace('<', "\\u003c");
    html! { script type="application/json" id=(id) { (PreEscaped(text)) } }
}
