//! `rehang run --orders`, `rehang explore --orders` and `rehang show --orders`: every order of what happens at the same
//! virtual time.
//!
//! Invariants: cells are printed in the order of their names, however many threads there are; each order that is printed is
//! one that `rehang show` and `rehang show --replay` take.

use super::select::Select;
use super::{Code, CommandError};
use crate::shell::{quoted, reading};
use crate::terminal;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehang_runner::orders::{CellOrders, Group, cells_of, groups, run};
use rehang_runner::unit::CellAnswer;
use rehang_scenario::text::{counted, duration, took};
use rehang_scenario::{Expect, Stage};
use rehang_search::orders::{Found, Inevitable, Limits, ORDERS};
use rehang_stage::LATE;
use rehang_stage::threads::cores;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a line says how far it is, if no terminal shows it all the time.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// How many cells that were only sampled are listed; a whole corpus has hundreds.
const SAMPLED_LISTED: usize = 20;

/// Whether and how far the orders of cells are explored.
#[derive(Debug, Clone, Copy, Args)]
pub struct Orders {
    /// On sim, in every order of what happens at the same virtual time: does the verdict depend on it?
    ///
    /// Compared are the verdict, harm, truth and invariants; times are given as a range. Exit code 1: a verdict depends on
    /// the order and the file does not say so, or it says so and no order has that verdict.
    #[arg(long)]
    pub orders: bool,
    /// With `--orders`: the most runs of a cell. A cell with more orders is sampled.
    #[arg(long, value_name = "N", default_value_t = ORDERS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub orders_max: u32,
}

impl Orders {
    /// The limits of a search.
    pub fn limits(self) -> Limits {
        Limits { orders: self.orders_max, ..Limits::default() }
    }
}

/// Explores the orders of the selected cells, and prints which verdicts depend on them.
///
/// # Errors
/// A filter that nothing matches, a file that cannot be read.
pub fn report(
    select: &Select,
    orders: Orders,
    jobs: Option<usize>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<Code, CommandError> {
    if select.seeds.iter().any(super::select::Seeds::has_choices) {
        let what = "--orders tries all choices itself: give a seed without them, such as `--seed 1`";
        return Err(CommandError::Usage(what.to_owned()));
    }
    let selected = select.select(&[Stage::Sim])?;
    for problems in &selected.problems {
        complain!("{}", terminal::dense(problems, rehang_scenario::Style::Plain).trim_end());
    }
    let (cells, took) = explored(&groups(&selected.units), orders.limits(), jobs);
    let mut sums = Sums::default();
    for cell in &cells {
        sums.add(cell);
        match as_json {
            true => writeln!(out, "{}", row(cell))?,
            false if !cell.depends() && cell.missing.is_empty() && sums.sampled > SAMPLED_LISTED => {}
            false => print(out, select, cell)?,
        }
    }
    if let Some(more) = sums.sampled.checked_sub(SAMPLED_LISTED).filter(|more| *more > 0 && !as_json) {
        writeln!(out, "and {more} more that were only sampled (`--format json` has them)")?;
    }
    sums.print(out, as_json, took)?;
    let bad_file = if selected.bad_files.is_empty() { Code::Expected } else { Code::Usage };
    Ok(sums.code().max(bad_file))
}

/// An order that does not fit its cell is a mistake of the one who wrote it, and no internal error.
///
/// # Errors
/// The first order that does not fit.
pub fn all_fit(cells: &[CellAnswer]) -> Result<(), CommandError> {
    match cells.iter().find_map(|cell| Some((&cell.id, cell.misfit.as_ref()?))) {
        Some((id, why)) => Err(CommandError::Usage(format!("{id}: {why}"))),
        None => Ok(()),
    }
}

/// Explores groups, and says on stderr how far it is. How long it took, too.
pub fn explored(groups: &[Group], limits: Limits, jobs: Option<usize>) -> (Vec<CellOrders>, Duration) {
    let all = cells_of(groups) as u64;
    let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:16}] {pos}/{len} cells {wide_msg}") {
        bar.set_style(style);
    }
    let (began, line_at) = (Instant::now(), Mutex::new(LINE_EVERY));
    let cells = run(groups, limits, jobs.unwrap_or_else(cores), &|id| {
        bar.inc(1);
        bar.set_message(id.to_owned());
        let mut line_at = line_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if bar.is_hidden() && began.elapsed() >= *line_at {
            complain!("{:>8}  {} of {}", took(began.elapsed()), bar.position(), counted_cells(all));
            *line_at = began.elapsed() + LINE_EVERY;
        }
    });
    bar.finish_and_clear();
    (cells, began.elapsed())
}

fn counted_cells(cells: u64) -> String {
    counted(usize::try_from(cells).unwrap_or(usize::MAX), "cell")
}

/// A cell that depends on the order, or should, or has too many of them; nothing of any other.
fn print(out: &mut dyn Write, select: &Select, cell: &CellOrders) -> std::io::Result<()> {
    if !cell.depends() && cell.explored.is_whole && cell.missing.is_empty() {
        return Ok(());
    }
    let known = match cell.depends() {
        true if cell.is_as_expected() => ", as the file expects",
        true if !cell.is_expected => ", and the file does not say so",
        _ => "",
    };
    writeln!(out, "{}  {}{known}", cell.id, said(cell))?;
    for rule in &cell.missing {
        let some = rehang_scenario::Orders::SOME;
        writeln!(
            out,
            "    {}: no order has it; narrow the rule with `orders = [\"{some}\"]`, or take it out",
            text(rule)
        )?;
    }
    if !cell.depends() {
        return Ok(());
    }
    for found in &cell.explored.found {
        writeln!(out, "    {:<12} {}{}", found.order.to_string(), class(found), picks(found))?;
    }
    if let Some(found) = cell.explored.found.get(1) {
        let id = cell.under(&found.order);
        writeln!(out, "    rehang show{} --stage sim {}", reading(&select.scenarios), quoted(&id))?;
    }
    Ok(())
}

/// What the orders of a cell say, in one line.
pub fn said(cell: &CellOrders) -> String {
    let explored = &cell.explored;
    let runs = counted(explored.orders as usize, "order");
    let seen = match explored.about {
        None => format!("{runs}, {}", counted(explored.states, "state")),
        Some(about) => format!("sampled: {} of about {}", explored.orders, rounded(about)),
    };
    let (first, last) = (explored.ends.0.0, explored.ends.1.0);
    let ends = match first == last {
        true => format!("ends at {}", duration(first)),
        false => format!("ends from {} to {}", duration(first), duration(last)),
    };
    match (cell.depends(), explored.is_whole) {
        (true, _) => format!("depends on the order ({seen}; {ends})"),
        (false, true) => format!("independent of order: {seen}; {ends}"),
        (false, false) => format!("{seen}; {ends}"),
    }
}

/// An estimate for a person: `350`, `10^14`.
fn rounded(about: f64) -> String {
    match about {
        about if about < 10_000.0 => format!("{about:.0}"),
        about if about.is_finite() => format!("10^{:.0}", about.log10()),
        _ => "10^308 or more".to_owned(),
    }
}

/// What some orders have in common, in a few words.
fn class(found: &Found) -> String {
    let score = found.class.score.map_or(String::new(), |score| format!(", {}", score.word()));
    format!("{}{score}{}", found.class.outcome, breaks(&found.class.broken))
}

/// What a rule expects, in the words of [`class`].
fn text(rule: &Expect) -> String {
    let within = rule.within.map_or(String::new(), |within| format!(" within {within}"));
    let broken: Vec<&str> = rule.breaks.iter().map(|broken| broken.name()).collect();
    format!("{}{within}{}", rule.outcome, breaks(&broken))
}

/// The broken invariants of a verdict, if there are any.
fn breaks(broken: &[&str]) -> String {
    if broken.is_empty() { String::new() } else { format!(", breaks {}", broken.join(", ")) }
}

/// Who runs before whom under an order.
fn picks(found: &Found) -> String {
    let one = |picked: &rehang_search::orders::Picked| {
        let ((who, before), at) = (picked.who()?, duration(picked.at.0));
        Some(match who.strip_suffix(LATE) {
            Some(late) => format!("what is due at {at} comes {late} late"),
            None => format!("{who} before {before} at {at}"),
        })
    };
    let all: Vec<String> = found.picks.iter().filter_map(one).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// From when on a hang cannot be avoided, for a person.
pub fn inevitable(inevitable: Inevitable) -> String {
    match inevitable {
        Inevitable::FromTheStart => "every order hangs: nothing that happens at the same time decides it".to_owned(),
        Inevitable::After { tie, at, .. } => {
            format!("inevitable from {} on: after tie {tie} every order hangs", duration(at.0))
        }
    }
}

/// A cell as one object.
fn row(cell: &CellOrders) -> Value {
    let explored = &cell.explored;
    let found = explored.found.iter().map(|found| {
        let picks = found.picks.iter().map(|picked| {
            json!({
                "tie": picked.choice.tie,
                "pick": picked.choice.pick,
                "step": picked.step,
                "at_ms": picked.at.0,
                "candidates": picked.candidates,
            })
        });
        json!({
            "order": found.order,
            "outcome": found.class.outcome,
            "score": found.class.score,
            "broken": found.class.broken,
            "picks": picks.collect::<Vec<_>>(),
        })
    });
    json!({
        "cell": cell.id,
        "orders": explored.orders,
        "states": explored.states,
        "whole": explored.is_whole,
        "about": explored.about.filter(|about| about.is_finite()),
        "depends": cell.depends(),
        "expected": cell.is_as_expected(),
        "missing": cell.missing.iter().map(text).collect::<Vec<_>>(),
        "ends_ms": [explored.ends.0.0, explored.ends.1.0],
        "inevitable_ms": explored.inevitable.map(|inevitable| match inevitable {
            Inevitable::FromTheStart => 0,
            Inevitable::After { at, .. } => at.0,
        }),
        "found": found.collect::<Vec<_>>(),
    })
}

/// All cells added up.
#[derive(Default)]
struct Sums {
    cells: usize,
    independent: usize,
    depend: usize,
    unexpected: usize,
    /// Those of them that depend on the order although the file does not say so.
    unsaid: usize,
    sampled: usize,
    faults: usize,
    orders: u64,
    states: u64,
}

impl Sums {
    fn add(&mut self, cell: &CellOrders) {
        self.cells += 1;
        self.orders += u64::from(cell.explored.orders);
        self.states += cell.explored.states as u64;
        self.faults += usize::from(cell.explored.found.iter().any(|found| found.verdict.is_none()));
        self.unexpected += usize::from(!cell.is_as_expected());
        self.unsaid += usize::from(cell.depends() && !cell.is_expected);
        match (cell.depends(), cell.explored.is_whole) {
            (true, _) => self.depend += 1,
            (false, true) => self.independent += 1,
            (false, false) => self.sampled += 1,
        }
    }

    fn code(&self) -> Code {
        match () {
            () if self.faults > 0 => Code::Fault,
            () if self.unexpected > 0 => Code::Unexpected,
            () => Code::Expected,
        }
    }

    fn print(&self, out: &mut dyn Write, as_json: bool, lasted: Duration) -> std::io::Result<()> {
        let Sums { cells, independent, depend, unexpected, unsaid: _, sampled, faults, orders, states } = self;
        if as_json {
            let summary = json!({ "summary": {
                "cells": cells, "independent": independent, "depend": depend, "unexpected": unexpected,
                "sampled": sampled, "faults": faults, "orders": orders, "states": states,
                "seconds": lasted.as_secs_f64(),
            } });
            return writeln!(out, "{summary}");
        }
        writeln!(
            out,
            "{} in {orders} orders and {states} states, {}: {independent} independent of the order, {sampled} sampled \
             without a difference, {depend} depend on it; {unexpected} not as the file expects",
            counted(*cells, "cell"),
            took(lasted),
        )?;
        if self.unsaid > 0 {
            let some = rehang_scenario::Orders::SOME;
            writeln!(out, "A file says so by a rule with an order from above, or with `orders = [\"{some}\"]`.")?;
        }
        match faults {
            0 => Ok(()),
            faults => writeln!(out, "{} with an internal error under some order", counted(*faults, "cell")),
        }
    }
}
