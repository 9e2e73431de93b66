//! The two boards: the strategies with their sums and the mechanisms with what ends them; and the whole grid.
//!
//! Invariant: a strategy is said to end a mechanism only if it ends every cell of it that hangs, truthfully, and harms none.

use super::{MARKS, Mechanism, Site, legend, text, worst};
use maud::{Markup, html};
use rehang_judge::score::ScoreRow;
use rehang_scenario::OutcomeKind;
use rehang_scenario::text::{counted, duration};
use std::collections::BTreeSet;

/// The most strategies that are named in one place; the others are counted.
const NAMED: usize = 4;
/// Columns that a wide window has room for beside the names.
const WIDE: usize = 14;
/// Columns that a phone has room for beside the names.
const NARROW: usize = 5;

/// The first page.
pub fn home(site: &Site) -> Markup {
    let totals = site.score.iter().filter(|row| row.mechanism.is_empty());
    html! {
        p { "Coding agents hang: on a question that nobody can answer, a pipe that nobody reads, an event that never came. "
            "Here each such hang happens again, in virtual time, under every detector that people have shipped, "
            "and healthy runs that look hung are among them." }
        section {
            h2 { "Strategies" }
            p { "Each against the same runs without it. Those that need the agent's source come last; the rest are in the order of what they cost their user." }
            table.cards role="table" {
                caption { "The sums of each strategy, in cells" }
                thead role="rowgroup" { tr role="row" { @for head in ["strategy", "cells", "resolved", "stopped", "missed", "wrongly", "harmed", "untouched", "undecided", "median wait"] {
                    th role="columnheader" scope="col" { (head) }
                } } }
                tbody role="rowgroup" { @for row in totals { tr role="row" {
                    th role="rowheader" scope="row" { (text(&row.strategy)) @if row.inside { " " span.dim { "(inside the agent)" } } }
                    @for (name, count, class) in counts(row) {
                        td class=(if count > 0 { format!("n {class}") } else { "n".to_owned() }) role="cell" data-of=(name) { @if count > 0 { (count) } }
                    }
                    td.n role="cell" data-of="median wait" { @if let Some(waited) = &row.waited { (duration(waited.median_ms)) } }
                } } }
            }
            dl {
                dt { "resolved" } dd { "a run that hangs without the strategy completes with it" }
                dt { "stopped" } dd { "it is ended, and the report of it is true" }
                dt { "missed" } dd { "it goes on hanging" }
                dt { "wrongly" } dd { "somebody is told what is not so, such as that the user refused" }
                dt { "harmed" } dd { "a healthy run is ended or changed" }
            }
        }
        section {
            h2 { "Mechanisms" }
            p { "What ends a hang: the strategies that end every run of it, say the truth about it and harm none." }
            @for layer in layers(site) { (layer_of(site, layer)) }
        }
    }
}

fn counts(row: &ScoreRow) -> [(&'static str, u64, &'static str); 8] {
    [
        ("cells", row.cells, ""),
        ("resolved", row.resolved, "k-r"),
        ("stopped", row.stopped, "k-s"),
        ("missed", row.missed, "k-m"),
        ("wrongly", row.wrongly, "k-W"),
        ("harmed", row.harmed, "k-H"),
        ("untouched", row.untouched, ""),
        ("undecided", row.undecided, "k-q"),
    ]
}

/// The layers, in the catalogue's order.
fn layers(site: &Site) -> Vec<&str> {
    let mut layers: Vec<&str> = site.mechanisms.iter().map(|each| each.layer.as_str()).collect();
    let mut seen = BTreeSet::new();
    layers.retain(|layer| seen.insert(*layer));
    layers
}

fn layer_of(site: &Site, layer: &str) -> Markup {
    let of: Vec<&Mechanism> = site.mechanisms.iter().filter(|each| each.layer == layer).collect();
    let benign = of.iter().any(|each| each.benign);
    html! {
        h3 { (layer) }
        table.cards role="table" {
            caption { (counted(of.len(), "mechanism")) }
            thead role="rowgroup" { tr role="row" {
                th role="columnheader" scope="col" { "mechanism" }
                th role="columnheader" scope="col" { @if benign { "left alone by" } @else { "ended by" } }
                th role="columnheader" scope="col" { "harmed by" }
                th role="columnheader" scope="col" { "releases seen to hang" }
            } }
            tbody role="rowgroup" { @for each in of { tr role="row" {
                th role="rowheader" scope="row" {
                    a href=(format!("mechanisms/{}.html", each.text.id)) { (each.text.id) " " (each.text.name) }
                }
                td role="cell" data-of=(if benign { "left alone by" } else { "ended by" }) { (names(&ends(site, each))) }
                td role="cell" data-of="harmed by" { (names(&harms(site, each))) }
                td role="cell" data-of="releases seen to hang" { (hung(site, &each.text.id)) }
            } } }
        }
    }
}

/// The strategies that do what is wanted of a mechanism in every cell: end a hang, leave a healthy run alone.
fn ends<'a>(site: &'a Site, of: &Mechanism) -> Vec<&'a str> {
    let good = |row: &&ScoreRow| {
        let clean = row.harmed + row.wrongly + row.missed + row.undecided == 0;
        clean && if of.benign { row.untouched > 0 } else { row.resolved + row.stopped > 0 }
    };
    let rows = site.score.iter().filter(|row| row.mechanism == of.text.id && row.strategy != "none");
    rows.filter(good).map(|row| row.strategy.as_str()).collect()
}

fn harms<'a>(site: &'a Site, of: &Mechanism) -> Vec<&'a str> {
    let rows = site.score.iter().filter(|row| row.mechanism == of.text.id && row.harmed > 0);
    rows.map(|row| row.strategy.as_str()).collect()
}

fn names(all: &[&str]) -> Markup {
    let more = all.len().saturating_sub(NAMED);
    html! {
        (all.iter().take(NAMED).map(|name| text(name)).collect::<Vec<_>>().join(", "))
        @if more > 0 { " and " (more) " more" }
    }
}

/// How many releases hang in a scenario of this mechanism.
fn hung(site: &Site, id: &str) -> Markup {
    let mut found: Vec<String> = Vec::new();
    for agent in &site.agents {
        let lines = agent.lines.iter().filter(|line| line.mechanism.as_deref() == Some(id));
        let hangs = |at: usize, cells: &[Option<super::Seen>]| {
            cells.get(at).and_then(Option::as_ref).is_some_and(|seen| seen.outcome.is_some_and(OutcomeKind::is_hang))
        };
        let lines: Vec<_> = lines.collect();
        let tried = (0..agent.versions.len()).filter(|at| {
            lines
                .iter()
                .any(|line| line.cells.get(*at).and_then(Option::as_ref).is_some_and(|seen| seen.outcome.is_some()))
        });
        let tried = tried.count();
        let hanging = (0..agent.versions.len()).filter(|at| lines.iter().any(|line| hangs(*at, &line.cells))).count();
        if hanging > 0 {
            found.push(format!("{} {hanging} of {tried}", agent.name));
        }
    }
    html! { (text(&found.join(", "))) }
}

/// The whole grid, a table for each layer.
pub fn grid(site: &Site) -> Markup {
    let strategies: Vec<&ScoreRow> = site.score.iter().filter(|row| row.mechanism.is_empty()).collect();
    html! {
        (legend())
        p { "A column's head leads to its mechanism." }
        @for layer in layers(site) {
            @let of: Vec<&Mechanism> = site.mechanisms.iter().filter(|each| each.layer == layer).collect();
            @let shown: Vec<&&Mechanism> = of.iter().filter(|each| site.score.iter().any(|row| row.mechanism == each.text.id)).collect();
            @if !shown.is_empty() { section {
                h2 id=(layer) { (layer) }
                @if shown.len() > NARROW {
                    p class=(if shown.len() > WIDE { "cue wide-cue" } else { "cue" }) { "This table scrolls sideways ↔" }
                }
                div.scroll tabindex="0" role="region" aria-label=(format!("strategies on {layer}")) { table {
                    caption { "Strategies on " (counted(shown.len(), "mechanism")) }
                    thead { tr {
                        th scope="col" { "strategy" }
                        @for each in &shown { th scope="col" {
                            a href=(format!("mechanisms/{}.html", each.text.id)) title=(each.text.name) { (each.text.id) }
                        } }
                    } }
                    tbody { @for total in &strategies {
                        @let cells: Vec<Option<&ScoreRow>> = shown.iter().map(|each| find(site, &total.strategy, &each.text.id)).collect();
                        @if cells.iter().any(Option::is_some) { tr {
                            th scope="row" { (text(&total.strategy)) }
                            @for cell in cells { @match cell { Some(row) => (worst(row)), None => td {} } }
                        } }
                    } }
                } }
            } }
        }
    }
}

fn find<'a>(site: &'a Site, strategy: &str, mechanism: &str) -> Option<&'a ScoreRow> {
    site.score.iter().find(|row| row.strategy == strategy && row.mechanism == mechanism)
}

/// The words of a row's counts: `12 stopped truthfully, 1 missed`.
pub fn told(row: &ScoreRow) -> String {
    let all = MARKS.iter().filter(|(count, ..)| count(row) > 0);
    all.map(|(count, _, _, word)| format!("{} {word}", count(row))).collect::<Vec<_>>().join(", ")
}
