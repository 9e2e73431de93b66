//! A page of verdicts, rows × columns, whose squares open into details: for runs without traces, such as those of real
//! releases.
//!
//! Invariants: it needs neither a network nor a script (a square is a button of the browser's own popover, so that Enter
//! opens it, Escape closes it, and the focus comes back); what it shows is text.

use crate::cell::plain;
use crate::html::{banner, footer, head};
use maud::{DOCTYPE, Markup, html};

/// Characters of one text.
const TEXT_MAX: usize = 4_000;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it is of.
    pub title: String,
    /// The command that makes it again.
    pub command: String,
    /// A line about the whole.
    pub summary: String,
    /// A plot above the squares.
    pub plot: Option<Plot>,
    /// What the rows are: the first column's head.
    pub corner: String,
    /// The columns' heads.
    pub columns: Vec<String>,
    /// The rows: a head, and a square for each column; `None` if there is nothing to show.
    pub rows: Vec<(String, Vec<Option<Square>>)>,
}

/// A plot of bars: a row each, with a bar for each head.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What the rows are: the first column's head.
    pub corner: String,
    /// The heads of the bars' columns.
    pub heads: Vec<String>,
    /// The rows.
    pub rows: Vec<(String, Vec<Bar>)>,
}

/// A bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// Its length, in percent of its column.
    pub percent: u8,
    /// What it says.
    pub text: String,
    /// How it looks.
    pub colour: Colour,
}

/// A square.
#[derive(Debug, Clone, Default)]
pub struct Square {
    /// A few words: `hung`, `completed 1.2 s`.
    pub verdict: String,
    /// How it looks.
    pub colour: Colour,
    /// What it opens into.
    pub details: Vec<Detail>,
}

/// How a square looks; its words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Good, such as a run that completed.
    Good,
    /// Neither good nor bad: worth a look.
    Odd,
    /// Bad.
    Bad,
    /// Without a judgement.
    #[default]
    Plain,
}

/// A part of a square's details.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    /// What it is: `open asks`.
    pub name: String,
    /// A text each.
    pub texts: Vec<String>,
}

/// Writes the page.
pub fn table(table: &Table) -> String {
    let text = |text: &str| plain(text, TEXT_MAX);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&table.title, None))
            body {
                a.skip href="#main" { "Skip to the content" }
                (banner(&table.title, &html! { (text(&table.summary)) }))
                main id="main" tabindex="-1" {
                    @if let Some(plot) = &table.plot { (bars(plot)) }
                    p { "A square opens its details; Escape closes them." }
                    div.scroll tabindex="0" role="region" aria-label="Verdicts" {
                        table.verdicts {
                            caption { (text(&table.summary)) }
                            thead { tr {
                                th scope="col" { (text(&table.corner)) }
                                @for column in &table.columns { th scope="col" { (text(column)) } }
                            } }
                            tbody { @for (y, (name, squares)) in table.rows.iter().enumerate() { tr {
                                th scope="row" { (text(name)) }
                                @for (x, square) in squares.iter().enumerate() { td { @if let Some(square) = square {
                                    button class=(class(square.colour)) popovertarget=(format!("d{y}-{x}")) {
                                        (text(&square.verdict))
                                    }
                                } } }
                            } } }
                        }
                    }
                    @for (y, (name, squares)) in table.rows.iter().enumerate() {
                        @for (x, square) in squares.iter().enumerate() { @if let Some(square) = square {
                            @let column = table.columns.get(x).map_or("", String::as_str);
                            div popover id=(format!("d{y}-{x}")) role="dialog" aria-labelledby=(format!("t{y}-{x}")) {
                                h2 id=(format!("t{y}-{x}")) { (text(name)) ", " (text(column)) }
                                p { (text(&square.verdict)) }
                                dl { @for detail in &square.details { @if !detail.texts.is_empty() {
                                    dt { (text(&detail.name)) }
                                    @for each in &detail.texts { dd.mono { (text(each)) } }
                                } } }
                                button popovertarget=(format!("d{y}-{x}")) popovertargetaction="hide" { "Close" }
                            }
                        } }
                    }
                }
                (footer(&table.command))
            }
        }
    };
    page.into_string()
}

fn bars(plot: &Plot) -> Markup {
    let text = |text: &str| plain(text, TEXT_MAX);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(text(&plot.title)) {
            table.bars {
                caption { (text(&plot.title)) }
                thead { tr {
                    th scope="col" { (text(&plot.corner)) }
                    @for head in &plot.heads { th scope="col" { (text(head)) } }
                } }
                tbody { @for (name, bars) in &plot.rows { tr {
                    th scope="row" { (text(name)) }
                    @for bar in bars { td {
                        span class=(class(bar.colour)) style=(format!("inline-size: {}%", bar.percent.min(100))) {}
                        span { (text(&bar.text)) }
                    } }
                } } }
            }
        }
    }
}

fn class(colour: Colour) -> &'static str {
    match colour {
        Colour::Good => "k-r",
        Colour::Odd => "k-m",
        Colour::Bad => "k-H",
        Colour::Plain => "k-u",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_says_it_in_words() {
        let bar = Bar { percent: 40, text: "<10m".into(), colour: Colour::Good };
        let plot = Plot { rows: vec![("5m".into(), vec![bar])], ..Plot::default() };
        let page = table(&Table { plot: Some(plot), ..Table::default() });
        assert!(page.contains(r#"<span class="k-r" style="inline-size: 40%"></span><span>&lt;10m</span>"#), "{page}");
    }

    #[test]
    fn a_square_opens_into_its_own_details_as_text() {
        let details = vec![Detail { name: "open asks".into(), texts: vec!["<b>which?</b>".into()] }];
        let square = Square { verdict: "hung".into(), colour: Colour::Bad, details };
        let page = table(&Table {
            columns: vec!["1.2.27".into(), "1.3.0".into()],
            rows: vec![("question".into(), vec![None, Some(square)])],
            ..Table::default()
        });
        assert!(page.contains(r#"<button class="k-H" popovertarget="d0-1">hung</button>"#), "{page}");
        assert!(page.contains(r#"<h2 id="t0-1">question, 1.3.0</h2>"#), "{page}");
        assert!(page.contains("&lt;b&gt;which?&lt;/b&gt;") && !page.contains("<b>"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
}
