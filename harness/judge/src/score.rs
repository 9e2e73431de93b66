//! The scoreboard: what each strategy makes of each mechanism.
//!
//! Invariants: it is the same in whatever order the cells come in, and its memory does not grow with their
//! number. Every cell counts once, by what it is without the strategy:
//!
//! | without it | with it | score |
//! |---|---|---|
//! | is undecided | whatever it does | `undecided` |
//! | whatever it does | is undecided | `undecided` |
//! | completes | anything but the same transcript | `harmed` |
//! | fails or is stopped | hangs | `harmed` |
//! | whatever it does | a truth is broken, and none of the above | `wrongly` |
//! | completes | completes, same transcript | `untouched` |
//! | hangs | hangs | `missed` |
//! | hangs | completes | `resolved` |
//! | hangs | stopped or failed | `stopped` (truthfully) |
//! | fails or is stopped | the same | `untouched` |
//! | fails or is stopped | otherwise | as where it hangs |
//!
//! The first line that fits counts. A truth is broken by `rejected-without-cause`, `untrue-report`,
//! `double-or-invented-reply`, `unfinished` and `attributed-to-user`; a breach that the cell has without the strategy too, at the same instant
//! and in the same words, is the agent's own. Late ends and leftovers are told in their own columns of the rows, not
//! here. Control arms count as a mechanism of their own, `control`: they are healthy.

use crate::cell::CellFacts;
use crate::layout::{NAME_MIN, aligned, flow, shortened};
use crate::verdict::{Outcome, Verdict};
use rehang_scenario::text::duration;
use rehang_scenario::{Span, model::Invariant};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The mechanism under which control arms are counted.
pub const CONTROL: &str = "control";

/// A table's word for none.
const NOTHING: &str = "–";
/// The widest legend, in columns.
const LEGEND_WIDTH: usize = 100;
/// What the marks of the grid mean.
const MARKS_LEGEND: [&str; 7] =
    ["r resolved", "s stopped truthfully", "? undecided", "m missed", "W told wrongly", "H harmed", "· untouched"];
/// What the columns of times mean; they count the cells that the strategy changed.
const TIMES_LEGEND: [&str; 4] = [
    "virtual time from the last material progress, median…longest",
    "verdict: to the end",
    "kill: to the first kill",
    "gone: until the last process was gone",
];

/// What a strategy makes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// A healthy run stays as it is.
    Untouched,
    /// A hang completes.
    Resolved,
    /// A hang is ended, and the truth is told of it.
    Stopped,
    /// Without the strategy or with it, neither an end nor a proof of a hang came.
    Undecided,
    /// A hang goes on.
    Missed,
    /// The truth is not told of the run, whether it hangs, ends or would have ended by itself.
    Wrongly,
    /// A healthy run is another, or none.
    Harmed,
}

impl Score {
    /// All of them, from best to worst.
    pub const ALL: [Score; 7] = [
        Score::Untouched,
        Score::Resolved,
        Score::Stopped,
        Score::Undecided,
        Score::Missed,
        Score::Wrongly,
        Score::Harmed,
    ];

    /// Its word; in capitals what a strategy has to answer for.
    pub fn word(self) -> &'static str {
        match self {
            Score::Untouched => "untouched",
            Score::Resolved => "resolved",
            Score::Stopped => "stopped",
            Score::Undecided => "undecided",
            Score::Missed => "MISSED",
            Score::Wrongly => "WRONGLY",
            Score::Harmed => "HARMED",
        }
    }

    /// One character for a grid.
    pub fn mark(self) -> char {
        match self {
            Score::Untouched => '·',
            Score::Resolved => 'r',
            Score::Stopped => 's',
            Score::Undecided => '?',
            Score::Missed => 'm',
            Score::Wrongly => 'W',
            Score::Harmed => 'H',
        }
    }
}

/// The invariants that hold truths: who breaks one of them tells a lie.
pub const TRUTHS: [Invariant; 5] = [
    Invariant::RejectedWithoutCause,
    Invariant::UntrueReport,
    Invariant::DoubleOrInventedReply,
    Invariant::Unfinished,
    Invariant::AttributedToUser,
];

/// What a strategy makes of a cell, beside the verdict of `none`.
pub fn classify(verdict: &Verdict, baseline: &Verdict) -> Score {
    let mut broken = verdict.breaches.iter().filter(|breach| TRUTHS.contains(&breach.invariant));
    let lies = broken.any(|breach| !baseline.breaches.contains(breach));
    let same = baseline.transcript.differs(&verdict.transcript).is_none();
    match (&baseline.outcome, &verdict.outcome) {
        (Outcome::Undecided { .. }, _) | (_, Outcome::Undecided { .. }) => Score::Undecided,
        (Outcome::Completed, with) if *with != Outcome::Completed || !same => Score::Harmed,
        (Outcome::Failed { .. } | Outcome::Stopped { .. }, Outcome::Hung { .. }) => Score::Harmed,
        _ if lies => Score::Wrongly,
        (Outcome::Completed, _) | (Outcome::Failed { .. }, Outcome::Failed { .. }) => Score::Untouched,
        (Outcome::Stopped { cause: a }, Outcome::Stopped { cause: b }) if a == b => Score::Untouched,
        (_, Outcome::Hung { .. }) => Score::Missed,
        (_, Outcome::Completed) => Score::Resolved,
        _ => Score::Stopped,
    }
}

/// Cells added up by strategy and mechanism.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Lines", into = "Lines")]
pub struct Scoreboard {
    lines: BTreeMap<(String, Mechanism), Tally>,
}

/// One line of the scoreboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// The stack.
    pub strategy: String,
    /// The mechanism; `control` for control arms; empty for all of them.
    pub mechanism: String,
    /// How many cells.
    pub cells: u64,
    /// How many have each score.
    pub untouched: u64,
    /// See [`Score::Resolved`].
    pub resolved: u64,
    /// See [`Score::Stopped`].
    pub stopped: u64,
    /// See [`Score::Undecided`].
    pub undecided: u64,
    /// See [`Score::Missed`].
    pub missed: u64,
    /// See [`Score::Wrongly`].
    pub wrongly: u64,
    /// See [`Score::Harmed`].
    pub harmed: u64,
    /// From the last material progress to the verdict, where a hang was ended.
    pub to_verdict: Option<Times>,
    /// To the first kill.
    pub to_kill: Option<Times>,
    /// Until the last descendant was gone.
    pub to_gone: Option<Times>,
}

/// Median and maximum of some spans, in milliseconds of virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Of an even number, the lower of the two in the middle.
    pub median_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// A scoreboard on its way from a worker: strategy, mechanism, tally.
type Lines = Vec<(String, String, Tally)>;

impl From<Scoreboard> for Lines {
    fn from(board: Scoreboard) -> Lines {
        board.lines.into_iter().map(|((strategy, mechanism), tally)| (strategy, mechanism.name, tally)).collect()
    }
}

impl From<Lines> for Scoreboard {
    fn from(lines: Lines) -> Scoreboard {
        let line =
            |(strategy, mechanism, tally): (String, String, Tally)| ((strategy, Mechanism::of(&mechanism)), tally);
        Scoreboard { lines: lines.into_iter().map(line).collect() }
    }
}

impl Scoreboard {
    /// An empty one.
    pub fn new() -> Scoreboard {
        Scoreboard::default()
    }

    /// Adds a cell. The cell under `none` is given its own verdict as baseline.
    pub fn add(&mut self, facts: &CellFacts, verdict: &Verdict, baseline: &Verdict) {
        self.count(facts, verdict, classify(verdict, baseline));
    }

    /// Adds a cell whose score is known otherwise than by [`classify`].
    pub fn count(&mut self, facts: &CellFacts, verdict: &Verdict, score: Score) {
        let mechanism = Mechanism::of(if facts.control { CONTROL } else { &facts.mechanism });
        for mechanism in [Mechanism::of(""), mechanism] {
            self.lines.entry((facts.strategy.clone(), mechanism)).or_default().add(score, verdict);
        }
    }

    /// Adds all that another one holds: workers count by themselves.
    pub fn merge(&mut self, other: &Scoreboard) {
        for (key, tally) in &other.lines {
            self.lines.entry(key.clone()).or_default().merge(tally);
        }
    }

    /// The lines of the strategies that are kept.
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Scoreboard {
        let lines = self.lines.iter().filter(|((strategy, _), _)| keep(strategy));
        Scoreboard { lines: lines.map(|(key, tally)| (key.clone(), tally.clone())).collect() }
    }

    /// A row for each strategy and mechanism, the totals (empty mechanism) first.
    pub fn rows(&self) -> Vec<ScoreRow> {
        self.lines.iter().map(|((strategy, mechanism), tally)| tally.row(strategy, &mechanism.name)).collect()
    }

    /// The strategies in one table as wide as it must be: see [`Scoreboard::table_within`].
    pub fn table(&self) -> String {
        self.table_within(usize::MAX)
    }

    /// The strategies in one table of at most `width` columns (where that is 60 or more), the best first: least harm
    /// and lies, then fewest missed. Times are the median and, where it is another, the longest, from the last material
    /// progress; where they have no room beside the counts they stand below them, for those strategies that have some.
    pub fn table_within(&self, width: usize) -> String {
        let heads = |heads: &[&str]| -> Vec<String> { heads.iter().map(|&head| head.to_owned()).collect() };
        let totals = self.totals();
        // Nearly every board has none of it, and the room for it is scarce.
        let undecided = totals.iter().any(|row| row.undecided > 0);
        let mut header =
            heads(&["strategy", "cells", "resolved", "stopped", "missed", "wrongly", "harmed", "untouched"]);
        header.extend(undecided.then(|| "undecided".to_owned()));
        let (mut counts, mut times) = (vec![header], vec![heads(&["verdict", "kill", "gone"])]);
        for row in totals {
            let numbers = [row.cells, row.resolved, row.stopped, row.missed, row.wrongly, row.harmed, row.untouched];
            let numbers = numbers.into_iter().chain(undecided.then_some(row.undecided));
            let numbers = numbers.map(|n| if n == 0 { NOTHING.to_owned() } else { n.to_string() });
            counts.push([row.strategy.clone()].into_iter().chain(numbers).collect());
            times.push([row.to_verdict, row.to_kill, row.to_gone].map(times_text).to_vec());
        }
        let beside: Vec<Vec<String>> = counts.iter().zip(&times).map(|(a, b)| [&a[..], b].concat()).collect();
        let columns = |row: &Vec<String>| row.len() - 1;
        let whole = aligned(&beside, usize::MAX).lines().map(|line| line.chars().count()).max().unwrap_or(0);
        // with one blank between columns instead of two
        let narrowest = whole - beside.first().map_or(0, columns);
        let mut out = match narrowest <= width {
            true => aligned(&beside, width),
            false => {
                let timed = counts.iter().zip(times).filter(|(_, times)| times.iter().any(|time| time != NOTHING));
                let timed: Vec<Vec<String>> =
                    timed.map(|(row, times)| row[..1].iter().cloned().chain(times).collect()).collect();
                let below = if timed.len() > 1 { format!("\n{}", aligned(&timed, width)) } else { String::new() };
                aligned(&counts, width) + &below
            }
        };
        out.push_str(&flow(&TIMES_LEGEND.map(str::to_owned), " · ", width.min(LEGEND_WIDTH)));
        out
    }

    /// Strategies down, mechanisms across, in each place the worst score there ([`Score::mark`]); in blocks
    /// of at most `width` columns. A name has a third of them, or is cut.
    pub fn grid(&self, width: usize) -> String {
        let mechanisms: BTreeSet<&Mechanism> =
            self.lines.keys().map(|(_, m)| m).filter(|m| !m.name.is_empty()).collect();
        let mechanisms: Vec<&Mechanism> = mechanisms.into_iter().collect();
        let totals = self.totals();
        let longest = totals.iter().map(|row| row.strategy.chars().count()).max().unwrap_or(0);
        let first = longest.min(width / 3).max(NAME_MIN);
        let column = mechanisms.iter().map(|m| m.head().chars().count()).max().unwrap_or(0) + 1;
        let across = (width.saturating_sub(first) / column).max(1);
        let mut out = String::new();
        for block in mechanisms.chunks(across) {
            let head: String = block.iter().map(|m| format!("{:>column$}", m.head())).collect();
            let _ = writeln!(out, "{:first$}{head}", "");
            for row in &totals {
                let mark = |m: &Mechanism| {
                    let tally = self.lines.get(&(row.strategy.clone(), m.clone()));
                    tally.and_then(Tally::worst).map_or(' ', Score::mark)
                };
                let marks: String = block.iter().map(|m| format!("{:>column$}", mark(m))).collect();
                let _ = writeln!(out, "{}", format!("{:first$}{marks}", shortened(&row.strategy, first)).trim_end());
            }
        }
        out.push_str(&flow(&MARKS_LEGEND.map(str::to_owned), " · ", width));
        out
    }

    fn totals(&self) -> Vec<ScoreRow> {
        let mut totals: Vec<ScoreRow> = self.rows().into_iter().filter(|row| row.mechanism.is_empty()).collect();
        totals.sort_by(|a, b| {
            let key = |row: &ScoreRow| (row.harmed + row.wrongly, row.missed);
            key(a).cmp(&key(b)).then_with(|| a.strategy.cmp(&b.strategy))
        });
        totals
    }
}

/// A mechanism, in the order of the catalogue: letter, then number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mechanism {
    letters: String,
    number: u32,
    name: String,
}

impl Mechanism {
    fn of(name: &str) -> Mechanism {
        let (letters, number) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
        Mechanism { letters: letters.to_owned(), number: number.parse().unwrap_or(0), name: name.to_owned() }
    }

    /// The head of its column: as short as the others'.
    fn head(&self) -> &str {
        if self.name == CONTROL { "ctl" } else { &self.name }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tally {
    scores: BTreeMap<Score, u64>,
    to_verdict: Spans,
    to_kill: Spans,
    to_gone: Spans,
}

impl Tally {
    fn add(&mut self, score: Score, verdict: &Verdict) {
        *self.scores.entry(score).or_default() += 1;
        if !matches!(score, Score::Untouched | Score::Undecided | Score::Missed) {
            let ended = !verdict.outcome.is_hung() && !verdict.outcome.is_undecided();
            self.to_verdict.add(Some(verdict.to_verdict()).filter(|_| ended));
            self.to_kill.add(verdict.to_kill());
            self.to_gone.add(verdict.to_gone().filter(|_| verdict.killed.is_some()));
        }
    }

    fn merge(&mut self, other: &Tally) {
        for (score, n) in &other.scores {
            *self.scores.entry(*score).or_default() += n;
        }
        self.to_verdict.merge(&other.to_verdict);
        self.to_kill.merge(&other.to_kill);
        self.to_gone.merge(&other.to_gone);
    }

    fn worst(&self) -> Option<Score> {
        self.scores.keys().next_back().copied()
    }

    fn row(&self, strategy: &str, mechanism: &str) -> ScoreRow {
        let of = |score| self.scores.get(&score).copied().unwrap_or(0);
        ScoreRow {
            strategy: strategy.to_owned(),
            mechanism: mechanism.to_owned(),
            cells: self.scores.values().sum(),
            untouched: of(Score::Untouched),
            resolved: of(Score::Resolved),
            stopped: of(Score::Stopped),
            undecided: of(Score::Undecided),
            missed: of(Score::Missed),
            wrongly: of(Score::Wrongly),
            harmed: of(Score::Harmed),
            to_verdict: self.to_verdict.times(),
            to_kill: self.to_kill.times(),
            to_gone: self.to_gone.times(),
        }
    }
}

/// Spans with their number: virtual time has few different ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Spans(BTreeMap<u64, u64>);

impl Spans {
    fn add(&mut self, span: Option<Span>) {
        if let Some(span) = span {
            *self.0.entry(span.as_ms()).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Spans) {
        for (ms, n) in &other.0 {
            *self.0.entry(*ms).or_default() += n;
        }
    }

    fn times(&self) -> Option<Times> {
        let middle = self.0.values().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let median = self.0.iter().find(|(_, n)| {
            seen += **n;
            seen >= middle
        });
        let max = self.0.keys().next_back();
        Some(Times { median_ms: *median?.0, max_ms: *max? })
    }
}

fn times_text(times: Option<Times>) -> String {
    let Some(times) = times else { return NOTHING.to_owned() };
    let (median, max) = (duration(times.median_ms), duration(times.max_ms));
    if median == max { median } else { format!("{median}…{max}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::{judge, verdict};
    use expect_test::expect;
    use rehang_scenario::Policy;
    use rehang_scenario::attribution::ANSWERED;
    use rehang_trace::{Ended, What};

    fn hung() -> Cell {
        Cell::new().started().step("", "tool-calls").tool("call_1", "bash").deadlock(&[("agent", "bash")])
    }

    fn hung_with(what: impl Fn(Cell) -> Cell) -> Cell {
        let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").busy("ses_1", true);
        what(cell).deadlock(&[("agent", "bash")])
    }

    fn given_up() -> Cell {
        Cell::new()
            .started()
            .at(9)
            .add("", What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Time, waits: Vec::new() }))
    }

    fn healthy() -> Cell {
        Cell::new().started().step("Hi", "stop").at(60_000).done("Hi")
    }

    fn stopped(ms: u64) -> Cell {
        let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(ms);
        let cell = cell.signal("idle@off", "TERM", "agent*").settle("idle@off", "stopped", "idle", "");
        cell.at(ms + 200).killed("agent", "TERM")
    }

    fn scored(none: Cell, cell: Cell) -> Score {
        let none = verdict(&none.trace(), &facts("none"));
        classify(&judge(&cell.trace(), &facts("idle@off"), Some(&none)).unwrap(), &none)
    }

    #[test]
    fn what_is_untrue_without_the_strategy_too_is_no_lie_of_its_own() {
        let lies = || Cell::new().started().at(5).tool("call_1", "question").tool_end("call_1", ANSWERED);
        let (healthy, hung) = (|| lies().done("Hi"), || lies().deadlock(&[("agent", "bash")]));
        for (cell, score) in [(healthy(), Score::Untouched), (hung(), Score::Missed)] {
            let trace = cell.trace();
            let none = judge(&trace, &facts("none"), None).unwrap();
            assert!(!none.breaches.is_empty());
            assert_eq!(classify(&judge(&trace, &facts("idle@off"), Some(&none)).unwrap(), &none), score);
        }
    }

    #[test]
    fn every_pair_has_its_score() {
        let failed = || Cell::new().started().at(5).exit("agent", 1).settle("wrapper", "failed", "exit 1", "");
        assert_eq!(scored(hung(), hung()), Score::Missed);
        assert_eq!(scored(hung(), healthy()), Score::Resolved);
        assert_eq!(scored(hung(), stopped(5)), Score::Stopped);
        assert_eq!(scored(hung(), failed()), Score::Stopped);
        assert_eq!(scored(healthy(), healthy()), Score::Untouched);
        assert_eq!(scored(healthy(), stopped(5)), Score::Harmed);
        assert_eq!(scored(healthy(), hung()), Score::Harmed);
        assert_eq!(scored(failed(), failed()), Score::Untouched);
        assert_eq!(scored(failed(), hung()), Score::Harmed);
        let early = Cell::new().started().step("part", "tool-calls").settle("idle@off", "completed", "", "part");
        assert_eq!(scored(hung(), early), Score::Wrongly);
        let caused = |word: &str| Policy { cause: Some(word.into()), ..Policy::default() };
        let lied = |cell: Cell, word: &str| cell.report("idle@off", caused(word));
        assert_eq!(scored(stopped(5), lied(stopped(5), "idle")), Score::Untouched);
        let untrue = || {
            let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(5);
            lied(cell, "wall").settle("idle@off", "stopped", "idle", "")
        };
        assert_eq!(
            scored(stopped(5), untrue()),
            Score::Wrongly,
            "a lie counts where it is stopped with and without it"
        );
        let said = |cell: Cell| cell.says("idle@off", "TERMINAL=completed");
        assert_eq!(scored(failed(), failed()), Score::Untouched);
        let failing = || Cell::new().started().busy("ses_1", true).at(5);
        let fails = |cell: Cell| cell.settle("wrapper", "failed", "exit 1", "");
        assert_eq!(scored(fails(failing()), fails(said(failing()))), Score::Wrongly, "and where it fails");
        assert_eq!(scored(hung(), hung_with(said)), Score::Wrongly, "and where it hangs");
        for other in [hung(), healthy(), failed(), given_up()] {
            assert_eq!(scored(given_up(), other.clone()), Score::Undecided);
            assert_eq!(scored(other, given_up()), Score::Undecided);
        }
    }

    #[test]
    fn what_is_undecided_has_a_mark_and_a_column() {
        let mut board = Scoreboard::new();
        let mut facts = facts("none");
        facts.mechanism = "M1".to_owned();
        let none = verdict(&given_up().trace(), &facts);
        board.add(&facts, &none, &none);
        facts.mechanism = "M2".to_owned();
        let none = verdict(&hung().trace(), &facts);
        board.add(&facts, &none, &none);
        expect![[r#"
            strategy  cells  resolved  stopped  missed  wrongly  harmed  untouched  undecided  verdict  kill  gone
            none          2         –        –       1        –       –          –          1        –     –     –
            virtual time from the last material progress, median…longest · verdict: to the end
            kill: to the first kill · gone: until the last process was gone
        "#]]
        .assert_eq(&board.table());
        let grid = board.grid(80);
        assert!(grid.contains("\nnone      ?  m\n") && grid.contains("? undecided"), "{grid}");
    }

    #[test]
    fn the_table_and_the_grid() {
        let mut board = Scoreboard::new();
        let mut add = |strategy: &str, mechanism: &str, none: Cell, cell: Cell| {
            let mut facts = facts(strategy);
            (facts.mechanism, facts.control) = (mechanism.to_owned(), mechanism.is_empty());
            let none = verdict(&none.trace(), &facts);
            board.add(&facts, &verdict(&cell.trace(), &facts), &none);
        };
        for (ms, mechanism) in [(600_001, "B10"), (600_001, "B2"), (14_400_000, "B2")] {
            add("idle@off", mechanism, hung(), stopped(ms));
            add("none", mechanism, hung(), hung());
        }
        add("idle@off", "F1", healthy(), stopped(600_001));
        add("none", "F1", healthy(), healthy());
        add("none", "", healthy(), healthy());
        expect![[r#"
            strategy  cells  resolved  stopped  missed  wrongly  harmed  untouched  verdict    kill    gone
            none          5         –        –       3        –       –          2        –       –       –
            idle@off      4         –        3       –        –       1          –   10m…4h  10m…4h  10m…4h
            virtual time from the last material progress, median…longest · verdict: to the end
            kill: to the first kill · gone: until the last process was gone
        "#]]
        .assert_eq(&board.table());
        expect![[r#"
                      B2 B10  F1
            none       m   m   ·
            idle@off   s   s   H
                     ctl
            none       ·
            idle@off
            r resolved
            s stopped truthfully
            ? undecided
            m missed
            W told wrongly
            H harmed
            · untouched
        "#]]
        .assert_eq(&board.grid(20));
        expect![[r#"{"strategy":"idle@off","mechanism":"","cells":4,"untouched":0,"resolved":0,"stopped":3,"undecided":0,"missed":0,"wrongly":0,"harmed":1,"to_verdict":{"median_ms":600001,"max_ms":14400000},"to_kill":{"median_ms":600001,"max_ms":14400000},"to_gone":{"median_ms":600201,"max_ms":14400200}}"#]].assert_eq(&serde_json::to_string(&board.rows()[0]).unwrap());
    }

    #[test]
    fn a_board_keeps_to_its_width() {
        let mut board = Scoreboard::new();
        for strategy in ["none", "auto-answer@r1(at=ask)+watcher@pr5", "auto-answer@r1(at=ask)+watcher@pr3"] {
            for (mechanism, ms) in [("B10", 600_001), ("B2", 600_001), ("Q1", 14_400_000)] {
                let mut facts = facts(strategy);
                facts.mechanism = mechanism.to_owned();
                let none = verdict(&hung().trace(), &facts);
                let cell = if strategy == "none" { hung() } else { stopped(ms) };
                board.add(&facts, &verdict(&cell.trace(), &facts), &none);
            }
        }
        for width in [70, 80, 100, 160] {
            let shown = board.grid(width) + &board.table_within(width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
            assert!(shown.contains("pr3") && shown.contains("pr5") && shown.contains("10m…4h"), "{shown}");
        }
        expect![[r#"
            strategy                  cells resolved stopped missed wrongly harmed untouched
            auto-answer@…+watcher@pr3     3        –       3      –       –      –         –
            auto-answer@…+watcher@pr5     3        –       3      –       –      –         –
            none                          3        –       –      3       –      –         –

            strategy                            verdict    kill    gone
            auto-answer@r1(at=ask)+watcher@pr3   10m…4h  10m…4h  10m…4h
            auto-answer@r1(at=ask)+watcher@pr5   10m…4h  10m…4h  10m…4h
            virtual time from the last material progress, median…longest
            verdict: to the end · kill: to the first kill
            gone: until the last process was gone
        "#]]
        .assert_eq(&board.table_within(80));
        // uncut beside the counts, with gaps of two blanks, of one, and no more
        let head = |width| board.table_within(width).lines().next().map(|line| line.chars().count());
        assert_eq!([121, 120, 111, 110].map(head), [121, 111, 111, 96].map(Some));
    }

    #[test]
    fn two_halves_make_a_whole() {
        let count = |cells: &[u64]| {
            let mut board = Scoreboard::new();
            for &ms in cells {
                let none = verdict(&hung().trace(), &facts("none"));
                board.add(&facts("idle@off"), &verdict(&stopped(ms).trace(), &facts("idle@off")), &none);
            }
            board
        };
        let mut halves = count(&[5, 9]);
        halves.merge(&count(&[7]));
        assert_eq!(halves.rows(), count(&[9, 7, 5]).rows());
        assert_eq!(halves.rows()[0].to_verdict, Some(Times { median_ms: 7, max_ms: 9 }));
    }
}
