//! The scoreboard as text: which strategies end which mechanism, how long users wait, and what each stack costs.
//!
//! Invariant: no line is wider than asked, except in a table whose numbers alone are wider. Stacks that can be deployed
//! as they are come before those that need the agent's source, in each group the cheapest first.

use super::{CONTROL, CostRow, Mechanism, Score, ScoreRow, Scoreboard, Tally, Times, Waits};
use crate::layout::{NAME_MIN, aligned, flow, shortened};
use rehang_scenario::text::duration;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The widest legend, in columns.
const LEGEND_WIDTH: usize = 100;
/// The meaning of the grid's marks and the tables' columns.
const LEGEND: [&str; 16] = [
    "r resolved",
    "s stopped truthfully",
    "? undecided",
    "m missed",
    "W told wrongly",
    "H harmed",
    "· untouched",
    "blank: no such cell, none, or no time",
    "median, p90, longest: the user's wait for an end",
    "cost in minutes: the waits",
    "6 h for a missed hang",
    "24 h for a run that is harmed or told wrongly",
    "where a stack has no seat: as `none`",
    "kill: to the first kill, gone: until the last process was gone",
    "outside: can be deployed as it is",
    "inside: needs the agent's source",
];

impl Scoreboard {
    /// The strategies in one table as wide as it needs to be: see [`Scoreboard::table_within`].
    pub fn table(&self) -> String {
        self.table_within(usize::MAX)
    }

    /// The strategies in tables of at most `width` columns (if that is 60 or more): first how long the user waited,
    /// then the cost and the counts. Those outside the agent are separate from those that need its source, in each
    /// group the cheapest first.
    pub fn table_within(&self, width: usize) -> String {
        let mut out = String::new();
        for (inside, title) in [(false, "outside"), (true, "inside")] {
            let rows: Vec<(CostRow, ScoreRow)> =
                self.totals().into_iter().filter(|(cost, _)| cost.inside == inside).collect();
            if !rows.is_empty() {
                let gap = if out.is_empty() { "" } else { "\n" };
                let _ = write!(out, "{gap}{}", group(title, &rows, width));
            }
        }
        out
    }

    /// What each stack costs by layer, in minutes, the cheapest first; in blocks of at most `width` columns.
    pub fn cost_table(&self, width: usize) -> String {
        let rows = self.costs();
        let layers: BTreeSet<&String> = rows.iter().flat_map(|row| row.layers.keys()).collect();
        let mut columns: Vec<(String, Vec<u64>)> =
            vec![("sum".to_owned(), rows.iter().map(|row| row.cost_ms).collect())];
        for layer in layers {
            let of = |row: &CostRow| row.layers.get(layer).copied().unwrap_or(0);
            columns.push((layer.clone(), rows.iter().map(of).collect()));
        }
        let longest = rows.iter().map(|row| row.strategy.chars().count()).max().unwrap_or(0);
        let first = longest.min(width / 3).max(NAME_MIN);
        let cells: Vec<Vec<String>> = columns
            .iter()
            .map(|(name, costs)| [name.clone()].into_iter().chain(costs.iter().map(|ms| minutes(*ms))).collect())
            .collect();
        let mut out = String::new();
        let mut from = 0;
        while from < cells.len() {
            let mut used = first;
            let mut to = from;
            while to < cells.len() {
                let more = 1 + cells[to].iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
                if to > from && used + more > width {
                    break;
                }
                used += more;
                to += 1;
            }
            for line in 0..=rows.len() {
                let name = if line == 0 { "cost in minutes" } else { rows[line - 1].strategy.as_str() };
                let mut text = format!("{:first$}", shortened(name, first));
                for column in &cells[from..to] {
                    let wide = column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
                    let _ = write!(text, " {:>wide$}", column[line]);
                }
                let _ = writeln!(out, "{}", text.trim_end());
            }
            from = to;
        }
        out
    }

    /// Strategies down, mechanisms across, in each place the worst score there ([`Score::mark`]); in blocks
    /// of at most `width` columns. A name has a third of them, or is cut.
    pub fn grid(&self, width: usize) -> String {
        let mechanisms: BTreeSet<&Mechanism> =
            self.lines.keys().map(|(_, m)| m).filter(|m| !m.name.is_empty()).collect();
        let mechanisms: Vec<&Mechanism> = mechanisms.into_iter().collect();
        let mut totals = self.totals();
        totals.sort_by_key(|(cost, _)| cost.inside);
        let longest = totals.iter().map(|(row, _)| row.strategy.chars().count()).max().unwrap_or(0);
        let first = longest.min(width / 3).max(NAME_MIN);
        let column = mechanisms.iter().map(|m| m.head().chars().count()).max().unwrap_or(0) + 1;
        let across = (width.saturating_sub(first) / column).max(1);
        let mut out = String::new();
        for block in mechanisms.chunks(across) {
            let head: String = block.iter().map(|m| format!("{:>column$}", m.head())).collect();
            let _ = writeln!(out, "{:first$}{head}", "");
            for (row, _) in &totals {
                let mark = |m: &Mechanism| {
                    let tally = self.lines.get(&(row.strategy.clone(), m.clone()));
                    tally.and_then(Tally::worst).map_or(' ', Score::mark)
                };
                let marks: String = block.iter().map(|m| format!("{:>column$}", mark(m))).collect();
                let _ = writeln!(out, "{}", format!("{:first$}{marks}", shortened(&row.strategy, first)).trim_end());
            }
        }
        out
    }

    /// What the marks and the columns mean, and what a blank is.
    pub fn legend(width: usize) -> String {
        flow(&LEGEND.map(str::to_owned), " · ", width.min(LEGEND_WIDTH))
    }

    /// A row for each strategy and mechanism, with the totals (empty mechanism) first, the strategies in the order of
    /// [`Scoreboard::table_within`].
    pub fn ranked(&self) -> Vec<ScoreRow> {
        let mut totals = self.totals();
        totals.sort_by_key(|(cost, _)| cost.inside);
        let order: Vec<String> = totals.into_iter().map(|(cost, _)| cost.strategy).collect();
        let mut rows = self.rows();
        rows.sort_by_key(|row| order.iter().position(|name| *name == row.strategy));
        rows
    }

    /// The totals of each strategy, the cheapest first.
    fn totals(&self) -> Vec<(CostRow, ScoreRow)> {
        let mut rows: BTreeMap<String, ScoreRow> = self
            .rows()
            .into_iter()
            .filter(|row| row.mechanism.is_empty())
            .map(|row| (row.strategy.clone(), row))
            .collect();
        self.costs().into_iter().filter_map(|cost| rows.remove(&cost.strategy).map(|row| (cost, row))).collect()
    }
}

/// A table of strategies; if there is no room for the counts, they are in a second one.
fn group(title: &str, rows: &[(CostRow, ScoreRow)], width: usize) -> String {
    // Nearly every board has none of these, and there is little room for them.
    let undecided = rows.iter().any(|(_, row)| row.undecided > 0);
    let heads = |heads: &[&str]| -> Vec<String> { heads.iter().map(|&head| head.to_owned()).collect() };
    let mut names = vec![heads(&[title])];
    let mut waits = vec![heads(&["median", "p90", "longest", "cost"])];
    let mut counts = vec![heads(&["cells", "resolved", "stopped", "missed", "wrongly", "harmed", "untouched"])];
    counts[0].extend(undecided.then(|| "undecided".to_owned()));
    let mut times = vec![heads(&["kill", "gone"])];
    for (cost, row) in rows {
        names.push(vec![row.strategy.clone()]);
        waits.push(waits_text(row.waited).into_iter().chain([minutes(cost.cost_ms)]).collect());
        let numbers = [row.cells, row.resolved, row.stopped, row.missed, row.wrongly, row.harmed, row.untouched];
        let numbers = numbers.into_iter().chain(undecided.then_some(row.undecided));
        counts.push(numbers.map(|n| if n == 0 { String::new() } else { n.to_string() }).collect());
        times.push([row.to_kill, row.to_gone].map(times_text).to_vec());
    }
    let joined = |parts: &[&[Vec<String>]]| -> Vec<Vec<String>> {
        (0..names.len()).map(|line| parts.iter().flat_map(|part| part[line].clone()).collect()).collect()
    };
    let whole = joined(&[&names, &waits, &counts, &times]);
    let widest = |table: &[Vec<String>]| {
        let columns = table.first().map_or(0, Vec::len);
        (0..columns).map(|n| table.iter().map(|row| row[n].chars().count() + 1).max().unwrap_or(0)).sum::<usize>()
    };
    // with one blank between columns instead of two
    if widest(&whole) <= width.saturating_add(1) {
        return aligned(&whole, width);
    }
    let (first, second) = (joined(&[&names, &waits, &times]), joined(&[&names, &counts]));
    format!("{}\n{}", aligned(&first, width), aligned(&second, width))
}

pub(super) fn minutes(ms: u64) -> String {
    ms.div_ceil(60_000).to_string()
}

fn waits_text(waits: Option<Waits>) -> [String; 3] {
    waits.map_or_else(Default::default, |of| [of.median_ms, of.p90_ms, of.max_ms].map(duration))
}

fn times_text(times: Option<Times>) -> String {
    let Some(times) = times else { return String::new() };
    let (median, max) = (duration(times.median_ms), duration(times.max_ms));
    if median == max { median } else { format!("{median}…{max}") }
}

impl Mechanism {
    /// The head of its column: as short as the others'.
    fn head(&self) -> &str {
        if self.name == CONTROL { "ctl" } else { &self.name }
    }
}
