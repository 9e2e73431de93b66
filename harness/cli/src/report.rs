//! What a run came to, for people and for programs.
//!
//! Invariant: JSON is NDJSON, one object a cell and then one `summary`, as [`rows`] says; colours only where stdout is a terminal
//! (anstream sees to that and to NO_COLOR).

use crate::place::Where;
use crate::shell::{quoted, reading};
use crate::terminal::{self, fold, hanging};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_judge::layout::flow;
use rehang_judge::score::{CONTROL, Score, ScoreRow, Scoreboard};
use rehang_judge::timeline::cut;
use rehang_runner::rows::{self, Setting, Summary};
use rehang_runner::run::Outcome;
use rehang_runner::select::Selected;
use rehang_runner::unit::{Alike, CellAnswer};
use rehang_scenario::text::{counted, counted_as, duration};
use rehang_scenario::{OutcomeKind, Proof};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A summary, and each failure with its timeline.
    Human,
    /// NDJSON: one object a cell, then one `summary`.
    Json,
    /// JUnit XML.
    Junit,
}

/// A run to report on.
pub struct Report<'a> {
    /// What was selected.
    pub selected: &'a Selected,
    /// What came out.
    pub outcome: &'a Outcome,
    /// Where it ran.
    pub stage: Where,
    /// What a program is told beside the cells.
    pub setting: Setting<'a>,
    /// The columns of what people read.
    pub width: usize,
}

const BOLD: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// How many failures are shown with a timeline; the others say why they failed and how to see their timeline.
const DRAWN_FAILURES: usize = 1;
/// How many failures of one scenario have a line.
const LINED_FAILURES: usize = 5;
/// How many hangs of one scenario have a line.
const FEW_HANGS: usize = 2;
/// Lines of the one timeline of a scenario's report, from its begin and from its end.
const STORY: (usize, usize) = (3, 6);
/// Lines of why it failed, unless it is an internal error, whose remedy is in its last words.
const WHY_LINES: usize = 4;
/// Lines of the strategies by their score: more of them are cut to a line each.
const SCORE_LINES: usize = 10;
/// Lines of a failure's timeline from its begin: enough for how most runs come to their hang.
const TIMELINE_HEAD: usize = 40;
/// And from its end.
const TIMELINE_TAIL: usize = 12;
/// What is before the lines of a failure.
const INDENT: &str = "     ";

impl Report<'_> {
    /// Prints it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Human => self.human(out),
            Format::Json => self.json(out),
            Format::Junit => self.junit(out),
        }
    }

    fn failures(&self) -> impl Iterator<Item = &CellAnswer> {
        self.outcome.cells.iter().filter(|cell| cell.is_failure())
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        // the files have errors, and these are told elsewhere
        if self.outcome.cells.is_empty() && !self.selected.problems.is_empty() {
            return Ok(());
        }
        let failures: Vec<&CellAnswer> = self.failures().collect();
        if self.selected.scenarios == 1 && self.selected.problems.is_empty() {
            return self.of_one_scenario(&failures, out);
        }
        for (place, cell) in failures.iter().enumerate() {
            failure(cell, place < DRAWN_FAILURES, &self.outcome.scenarios, self.width, out)?;
        }
        writeln!(out, "{BOLD}Which strategy ends which hang, and which does harm{BOLD:#}")?;
        writeln!(out)?;
        let (shown, others) = in_the_matrix(&self.outcome.score);
        scoreboard(&shown, self.width, out)?;
        if others > 0 {
            let text = format!(
                "and {} in single files (`rehang score` shows all)",
                counted_as(others, "stack with parameters of its own", "stacks with parameters of their own")
            );
            write!(out, "{}", fold(&text, self.width))?;
        }
        writeln!(out)?;
        self.counts(out)?;
        self.sum_up(failures.len(), out)
    }

    /// The last two lines.
    fn sum_up(&self, failed: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = self.outcome.cells.len();
        let passed = total - failed;
        let style = if failed == 0 && self.selected.bad_files.is_empty() { GOOD } else { BAD };
        writeln!(
            out,
            "{style}{}{style:#}: {} of {} on {} in {}",
            match self.selected.bad_files.len() {
                _ if failed > 0 => "NOT as expected".to_owned(),
                0 => "as expected".to_owned(),
                n => format!("{} errors; the others as expected", counted_as(n, "file has", "files have")),
            },
            counted(total, "cell"),
            counted(self.selected.scenarios, "scenario"),
            match (self.stage, self.differing()) {
                (Where::Both, 0) => "sim and lockstep, one trace each".to_owned(),
                (Where::Both, n) => format!("sim and lockstep, {} not the same on both", counted(n, "cell")),
                (Where::Sim, _) => "sim".to_owned(),
                (Where::Lockstep, _) => "lockstep".to_owned(),
                (Where::Live, _) => "live".to_owned(),
            },
            duration(self.outcome.wall_ms),
        )?;
        writeln!(out, "{passed} passed, {failed} failed")
    }

    /// A report of at most 40 lines: a line a failure, one timeline without its wire, the strategies by what they make
    /// of it, and how what was seen is accepted.
    fn of_one_scenario(&self, failures: &[&CellAnswer], out: &mut dyn Write) -> io::Result<()> {
        for cell in failures.iter().take(LINED_FAILURES) {
            let why = cell.why().join("; ");
            let room = self.width.saturating_sub(5);
            let whole = format!("{}: {why}", cell.id);
            let line = match whole.chars().count() <= room {
                true => whole,
                // one scenario: its name says the least
                false => cut(whole.split_once("::").map_or(whole.as_str(), |(_, rest)| rest), room),
            };
            writeln!(out, "{BAD}FAIL{BAD:#} {line}")?;
        }
        if failures.len() > LINED_FAILURES {
            writeln!(out, "     and {} more (`--format json` has all)", failures.len() - LINED_FAILURES)?;
        }
        // what is rehang's own fault comes before what is the scenario's
        if let Some(cell) = failures.iter().find(|cell| cell.fault.is_some()).or(failures.first()) {
            self.story(cell, out)?;
        }
        self.hangs(out)?;
        self.by_score(out)?;
        self.counts(out)?;
        self.sum_up(failures.len(), out)?;
        if !failures.is_empty() && failures.iter().all(|cell| cell.fault.is_none() && cell.differs.is_none()) {
            match self.outcome.scenarios.as_slice() {
                [] => writeln!(out, "as it should be? `--accept` writes the rules for what was seen")?,
                paths => {
                    let paths: String =
                        paths.iter().map(|path| format!(" {}", quoted(&path.display().to_string()))).collect();
                    writeln!(out, "as it should be? `rehang run{paths} --accept` writes the rules for what was seen")?;
                }
            }
        }
        Ok(())
    }

    /// One failure: why, and its timeline without the wire.
    fn story(&self, cell: &CellAnswer, out: &mut dyn Write) -> io::Result<()> {
        let room = self.width.saturating_sub(INDENT.len());
        let name = format!("{} on {}", cell.id, cell.stage.name());
        writeln!(out, "\n{INDENT}{BOLD}{}{BOLD:#}", cut(&name, room))?;
        let why: String = cell.why().iter().map(|line| hanging(INDENT, line, self.width)).collect();
        let lines = if cell.fault.is_some() { usize::MAX } else { WHY_LINES };
        for line in why.lines().take(lines) {
            writeln!(out, "{line}")?;
        }
        if let Some(story) = &cell.story {
            for line in bounded(story, STORY) {
                writeln!(out, "{INDENT}{}", cut(&line, room))?;
            }
        }
        let (reads, stage) = (reading(&self.outcome.scenarios), cell.stage.name());
        writeln!(out, "{INDENT}again: rehang show{reads} --stage {stage} {}\n", quoted(&cell.id))
    }

    /// The hangs, if they are few: what each waits for, how that is proved, and how to see it.
    fn hangs(&self, out: &mut dyn Write) -> io::Result<()> {
        let row = |cell: &'_ CellAnswer| cell.row.as_ref().filter(|row| row.proof.is_some()).is_some();
        let hung: Vec<&CellAnswer> = self.outcome.cells.iter().filter(|cell| row(cell)).collect();
        for cell in hung.iter().filter(|_| hung.len() <= FEW_HANGS) {
            let Some(row) = &cell.row else { continue };
            let on = row.blocked_on.map(|on| format!(" on {on}")).unwrap_or_default();
            let proof = row.proof.map(|proof| proof.to_string()).unwrap_or_default();
            let (reads, stage) = (reading(&self.outcome.scenarios), cell.stage.name());
            writeln!(out, "{BOLD}hung{on}{BOLD:#}: {}, proved by {proof}", cell.id)?;
            writeln!(out, "{INDENT}see it: rehang show{reads} --stage {stage} {}", quoted(&cell.id))?;
        }
        Ok(())
    }

    /// The strategies by what they make of the scenario and of its control arm, a line each.
    fn by_score(&self, out: &mut dyn Write) -> io::Result<()> {
        let (board, _) = in_the_matrix(&self.outcome.score);
        let rows = if board.rows().is_empty() { self.outcome.score.rows() } else { board.rows() };
        let mut lines = Vec::new();
        for (of, control) in [("", false), (" in the control arm", true)] {
            for score in Score::ALL.into_iter().filter(|score| !control || *score != Score::Untouched) {
                let is = |row: &&ScoreRow| !row.mechanism.is_empty() && (row.mechanism == CONTROL) == control;
                let those = rows.iter().filter(is).filter(|row| row.count(score) > 0);
                let names: Vec<&str> = those.map(|row| row.strategy.as_str()).collect();
                if !names.is_empty() {
                    let head = format!("{}{of}", score.word().to_lowercase());
                    lines.push((format!("{head:<9} "), names.join(" ")));
                }
            }
        }
        let whole: String = lines.iter().map(|(head, names)| hanging(head, names, self.width)).collect();
        match whole.lines().count() > SCORE_LINES {
            true => lines
                .iter()
                .try_for_each(|(head, names)| writeln!(out, "{}", cut(&format!("{head}{names}"), self.width))),
            false => write!(out, "{whole}"),
        }
    }

    fn counts(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut proofs: BTreeMap<Proof, usize> = BTreeMap::new();
        let mut undecided = 0;
        for row in self.outcome.cells.iter().filter_map(|cell| cell.row.as_ref()) {
            if let Some(proof) = row.proof {
                *proofs.entry(proof).or_default() += 1;
            }
            undecided += usize::from(row.outcome == OutcomeKind::Undecided);
        }
        let proofs: Vec<String> = proofs.iter().map(|(proof, n)| format!("{n} by {proof}")).collect();
        if !proofs.is_empty() {
            writeln!(out, "hangs proved: {}", proofs.join(", "))?;
        }
        if undecided > 0 {
            writeln!(out, "undecided, neither an end nor a proof of a hang: {undecided}")?;
        }
        let (only, cells) = (self.selected.lockstep_only, self.selected.cells);
        if only > 0 {
            let over = if self.selected.has_too_much_lockstep() { " — more than the 5 % that may be" } else { "" };
            writeln!(out, "lockstep alone: {only} of {}{over}", counted(cells, "cell"))?;
        }
        let (shared, sampled) = (self.alike(Alike::Shared), self.alike(Alike::Sampled));
        if shared + sampled > 0 {
            let text = format!(
                "not run in lockstep, since their strategy changes nothing on sim: {}, which share the trace of none; {sampled} \
                 more of that kind were run and compared (`--no-share` runs all)",
                counted(shared, "cell")
            );
            write!(out, "{}", fold(&text, self.width))?;
        }
        if self.selected.scenarios != 1 {
            let behaviours = rehang_fakes::behaviours();
            let recorded = behaviours.iter().filter(|b| b.recorded).count();
            let read = behaviours.len() - recorded;
            writeln!(out, "the fakes' behaviours: {recorded} held to recordings, {read} read from sources")?;
        }
        if !self.selected.left_out.is_empty() {
            let all = self.selected.left_out.values().sum::<usize>();
            let kinds = counted(self.selected.left_out.len(), "reason");
            writeln!(out, "left out of the matrix: {}, for {kinds} (`--format json` has them)", counted(all, "cell"))?;
        }
        Ok(())
    }

    /// How many cells have different traces on the two stages.
    fn differing(&self) -> usize {
        self.outcome.cells.iter().filter(|cell| cell.differs.is_some()).count()
    }

    fn alike(&self, alike: Alike) -> usize {
        self.outcome.cells.iter().filter(|cell| cell.alike == alike).count()
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = Summary::of(self.selected, self.outcome, self.setting);
        rows::write(&self.outcome.cells, summary, out)
    }

    fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut report = Junit::new("rehang");
        let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
        for cell in &self.outcome.cells {
            let scenario = cell.id.split("::").next().unwrap_or(&cell.id);
            let suite = suites.entry(scenario).or_insert_with(|| TestSuite::new(scenario));
            let mut status = TestCaseStatus::success();
            if cell.is_failure() {
                status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(cell.why().join("; "));
                let timeline = cell.timeline.as_deref().unwrap_or_default().lines();
                let lines: Vec<String> = timeline.map(|line| cut(line, terminal::REPORT)).collect();
                status.set_description(lines.join("\n"));
            }
            let stage = cell.row.as_ref().map_or("", |row| row.stage.name());
            let mut case = TestCase::new(format!("{} on {stage}", cell.id), status);
            case.set_classname(scenario);
            if let Some(row) = &cell.row {
                case.set_time(std::time::Duration::from_micros(row.wall_us));
            }
            suite.add_test_case(case);
        }
        report.add_test_suites(suites.into_values());
        if !self.selected.bad_files.is_empty() {
            let mut suite = TestSuite::new("scenario files");
            for bad in &self.selected.bad_files {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_message(bad.errors.join("; "));
                status.set_description(&bad.text);
                suite.add_test_case(TestCase::new(&bad.file, status));
            }
            report.add_test_suite(suite);
        }
        // written at once: after the writer's own errors nobody would notice that the reader has gone
        let text = report.to_string().map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    }
}

/// The lines of those that are in every file's matrix, and how many others there are.
pub fn in_the_matrix(score: &Scoreboard) -> (Scoreboard, usize) {
    let everywhere: BTreeSet<String> = rehang_strategy::stacks().into_iter().collect();
    let all: BTreeSet<String> = score.rows().into_iter().map(|row| row.strategy).collect();
    (score.only(|strategy| everywhere.contains(strategy)), all.difference(&everywhere).count())
}

/// The scoreboard in lines of at most `width` columns: the grid, what its columns mean, the tables, the legend of both.
///
/// # Errors
/// Those of writing.
pub fn scoreboard(score: &Scoreboard, width: usize, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", score.grid(width))?;
    let legend = mechanisms(score, width);
    if !legend.is_empty() {
        writeln!(out, "{DIM}{legend}{DIM:#}")?;
    }
    write!(out, "\n{}\n{}", score.table_within(width), Scoreboard::legend(width))
}

/// What the columns of the grid mean.
fn mechanisms(score: &Scoreboard, width: usize) -> String {
    let shown: BTreeSet<String> = score.rows().into_iter().map(|row| row.mechanism).collect();
    let known = rehang_scenario::Mechanism::ALL.iter().filter(|m| shown.contains(m.id()));
    let names: Vec<String> = known.map(|m| format!("{m} {}", m.name())).collect();
    let healthy = shown.iter().any(|id| id.strip_prefix('F').is_some_and(|n| n.parse::<u32>().is_ok()));
    let notes =
        [(healthy, "F1–F12 are healthy runs that look hung"), (shown.contains(CONTROL), "ctl: the control arms")];
    let notes: Vec<String> = notes.iter().filter(|(holds, _)| *holds).map(|(_, note)| (*note).to_owned()).collect();
    let lines = [flow(&names, "  ", width), flow(&notes, " · ", width)].concat();
    lines.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A failure: why, its timeline's head and tail if it is drawn, and the one command that runs it again. The cell's file
/// is one of `scenarios`, as the command named them.
///
/// # Errors
/// Those of writing.
pub fn failure(
    cell: &CellAnswer,
    drawn: bool,
    scenarios: &[PathBuf],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stage = cell.stage.name();
    let name = hanging(INDENT, &format!("{} on {stage}", cell.id), width);
    writeln!(out, "{BAD}FAIL{BAD:#} {BOLD}{}{BOLD:#}", name.trim())?;
    for line in cell.why() {
        write!(out, "{}", hanging(INDENT, &line, width))?;
    }
    if let Some(timeline) = cell.timeline.as_deref().filter(|_| drawn) {
        writeln!(out)?;
        for line in bounded(timeline, (TIMELINE_HEAD, TIMELINE_TAIL)) {
            writeln!(out, "{INDENT}{}", cut(&line, width.saturating_sub(INDENT.len())))?;
        }
    }
    // not folded: it is there to be copied
    writeln!(out, "{INDENT}again: rehang show{} --stage {stage} {}", reading(scenarios), quoted(&cell.id))?;
    writeln!(out)
}

/// A timeline's first and last lines, and between them how many were left out.
fn bounded(timeline: &str, (head, tail): (usize, usize)) -> Vec<String> {
    let lines: Vec<&str> = timeline.lines().collect();
    let left_out = lines.len().saturating_sub(head + tail);
    if left_out <= 1 {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let (head, tail) = (&lines[..head], &lines[head + left_out..]);
    let between = format!("… {} left out", counted(left_out, "line"));
    head.iter().chain([&between.as_str()]).chain(tail).map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_timeline_keeps_its_head_and_its_tail() {
        let kept = (TIMELINE_HEAD, TIMELINE_TAIL);
        let of = |count: usize| bounded(&(1..=count).map(|n| format!("line {n}\n")).collect::<String>(), kept);
        let most = TIMELINE_HEAD + TIMELINE_TAIL;
        assert_eq!(of(most + 1).len(), most + 1);
        assert_eq!(of(most + 1)[TIMELINE_HEAD], format!("line {}", TIMELINE_HEAD + 1));
        let long = of(1_790);
        assert_eq!(long.len(), most + 1);
        assert_eq!(long[TIMELINE_HEAD], format!("… {} lines left out", 1_790 - most));
        assert_eq!((long[0].as_str(), long[most].as_str()), ("line 1", "line 1790"));
    }
}
