//! `rehang run --accept` and `--review`: what was seen becomes what a file expects.
//!
//! Invariants: only files of selected cells are written, each in one step, and none that has changed since it was read.
//! What is refused, rejected or skipped stays as it is.

use super::run::{CLEAN_WITHIN, Run};
use super::select::Select;
use super::{Code, CommandError};
use crate::bars;
use crate::terminal;
use clap::Args;
use rehang_accept::{Change, Plan, Proposal, Ran, Refused, Result as CellResult, Written, diff::diff};
use rehang_judge::timeline::cut;
use rehang_processes::tree;
use rehang_runner::binaries::workers;
use rehang_runner::catalogue::Strategies;
use rehang_runner::corpus::{BUILT_IN, Corpus};
use rehang_runner::outputs::unwritable;
use rehang_runner::pool::Pool;
use rehang_runner::run::Outcome;
use rehang_runner::unit::CellAnswer;
use rehang_scenario::file::Family;
use rehang_scenario::problem::Style;
use rehang_scenario::text::counted;
use rehang_scenario::{CellId, Expect, VTime};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// The examples of `rehang run`.
pub const EXAMPLES: &str = "Examples:
  rehang run question/                           one folder of scenarios
  rehang run question/row-diff --accept          write the rules of one file for what was seen
  rehang run --last-failed                       the cells that failed in the last run
  rehang run --orders question/row-diff          does a verdict depend on the order of what happens at once?
  rehang run --strategy guard --review           ask for each rule that changes, with what led to it";

/// The most lines of a timeline that a review shows: the last ones, which show what decided.
const DECISIVE: usize = 14;
/// The most cells of one change that a review names.
const NAMED: usize = 4;
/// Strategies that are in the catalogue because they reject without a cause: of them a spurious `rejected` is not
/// refused.
const REJECTS: &[&str] = &["blind-timeout"];

/// Whether what is seen becomes what is expected.
#[derive(Debug, Clone, Copy, Args)]
pub struct Accept {
    /// Write the rules for what was seen into the selected scenario files. Not on CI.
    ///
    /// An internal error, a `rejected` without a cause, a hang of `none` without a proof and a cell whose stages or seeds
    /// differ are refused: they are named, their rules stay, and the exit code is not 0.
    #[arg(long, conflicts_with_all = ["format", "traces", "report", "summary"])]
    pub accept: bool,
    /// As `--accept`, but asks at the terminal for each rule that changes: accept, reject or skip.
    #[arg(long, conflicts_with_all = ["format", "traces", "report", "summary"])]
    pub review: bool,
}

impl Accept {
    /// Whether `--accept` or `--review` was given.
    pub fn is_wanted(self) -> bool {
        self.accept || self.review
    }
}

/// Runs the selected cells, and writes the rules for what was seen.
///
/// # Errors
/// On CI, or a review without a terminal; a filter that nothing matches; a file that cannot be written.
pub fn run(run: &Run) -> Result<Code, CommandError> {
    may_accept(run.accept, std::env::var("CI").ok().as_deref(), io::stdin().is_terminal(), io::stdout().is_terminal())?;
    let select = Select { uncovered: true, own_seeds: true, ..run.select.clone() };
    let paths = select.paths()?;
    if paths.iter().any(|path| path.starts_with(BUILT_IN) && !path.exists()) {
        let what = "the scenarios inside this program cannot be written: name files with `--scenarios PATH`";
        return Err(CommandError::Usage(what.to_owned()));
    }
    let corpus = Corpus::read_uncovered(&paths);
    let mut selected = select.select(run.stage.stages())?;
    for unit in &mut selected.units {
        unit.begin = VTime(run.begin);
    }
    for problem in &selected.problems {
        complain!("{}", problem.render(Style::Plain));
    }
    rehang_stage::worker::adopt_orphans();
    let pool = Pool::new(workers(run.jobs)?);
    let outcome = bars::run(&pool, &selected.units, true)?;
    drop(pool);
    tree::await_ends(CLEAN_WITHIN, &|_| {});
    let mut code = code(&outcome);
    if !selected.problems.is_empty() {
        code = code.max(Code::Usage);
    }
    if !tree::below().is_empty() {
        complain!("error: a process that this run started is still alive");
        code = code.max(Code::LeftBehind);
    }
    Ok(accept(&corpus.families, &outcome, run.accept.review)?.max(code))
}

/// Refuses to accept on CI, and to review without a terminal.
fn may_accept(accept: Accept, ci: Option<&str>, stdin: bool, stdout: bool) -> Result<(), CommandError> {
    let flag = if accept.review { "--review" } else { "--accept" };
    if ci.is_some_and(|ci| !matches!(ci, "" | "0" | "false")) {
        let what = format!(
            "{flag} is not for CI (the variable CI is set): there what was never looked at would be expected from now \
             on; run it on your machine, and commit the files"
        );
        return Err(CommandError::Usage(what));
    }
    if accept.review && !(stdin && stdout) {
        let what = "--review asks at a terminal, and stdin or stdout is none: use --accept, and look at `git diff`";
        return Err(CommandError::Usage(what.to_owned()));
    }
    Ok(())
}

/// The exit code for what no change of a rule can put right.
fn code(outcome: &Outcome) -> Code {
    let codes = outcome.cells.iter().map(|cell| match cell {
        _ if cell.fault.is_some() => Code::Fault,
        _ if cell.differs.is_some() => Code::Nondeterministic,
        _ => Code::Expected,
    });
    codes.max().unwrap_or(Code::Expected)
}

/// What a user says to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Skip,
    Quit,
}

/// Plans each file, asks if asked to, and writes.
fn accept(families: &[Family], outcome: &Outcome, review: bool) -> Result<Code, CommandError> {
    let catalogue = Strategies::default();
    let mut out = anstream::stdout().lock();
    let mut by_family: BTreeMap<String, Vec<(CellId, &CellAnswer)>> = BTreeMap::new();
    for answer in &outcome.cells {
        let id: CellId = answer.id.parse().map_err(|error| CommandError::Fault(format!("{}: {error}", answer.id)))?;
        by_family.entry(id.scenario.clone()).or_default().push((id, answer));
    }
    let (mut accepted, mut files, mut left) = (0, 0, Vec::new());
    let mut quit = false;
    for family in families {
        let Some(cells) = by_family.get(&family.name) else { continue };
        let ran: Vec<Ran> =
            cells.iter().map(|(id, answer)| Ran { id: id.clone(), result: result_of(answer) }).collect();
        let plan = Plan::new(family, &ran, &catalogue, &rejects);
        left.extend(plan.refused().iter().cloned());
        let mut taken = Vec::new();
        for (number, proposal) in plan.proposals().iter().enumerate() {
            let answer = match (review, quit) {
                (false, _) => Answer::Accept,
                (true, true) => Answer::Skip,
                (true, false) => {
                    let shown = Shown { family, plan: &plan, taken: &taken, number, proposal, cells };
                    shown.ask(&mut out)?
                }
            };
            let why = match answer {
                Answer::Accept => {
                    taken.push(number);
                    continue;
                }
                Answer::Reject => "rejected in the review",
                Answer::Skip => "skipped in the review",
                Answer::Quit => {
                    quit = true;
                    "skipped in the review"
                }
            };
            left.extend(proposal.ids.iter().map(|id| Refused { id: id.clone(), why: why.to_owned() }));
        }
        if taken.is_empty() {
            continue;
        }
        let name = &family.source.name;
        match plan.write(&taken) {
            Ok(written) => {
                save(Path::new(name), &family.source.text, &written.text)?;
                show_written(name, &written, &mut out)?;
                accepted += written.accepted.len();
                files += 1;
                left.extend(written.refused);
            }
            Err(error @ rehang_accept::Error::Internal(_)) => {
                return Err(CommandError::Fault(format!("{name}: {error}")));
            }
            Err(error) => {
                complain!("error: {name}: {error}");
                let why = "its file cannot be written".to_owned();
                let ids = taken.iter().flat_map(|&number| &plan.proposals()[number].ids);
                left.extend(ids.map(|id| Refused { id: id.clone(), why: why.clone() }));
            }
        }
    }
    for refused in &left {
        writeln!(out, "not accepted: {}: {}", refused.id, refused.why)?;
    }
    if outcome.cells.is_empty() {
        writeln!(out, "no cell ran; nothing was accepted")?;
        out.flush()?;
        return Ok(Code::Expected);
    }
    let all = match left.len() {
        0 => "as expected".to_owned(),
        n => format!("NOT as expected: {}", counted(n, "cell")),
    };
    writeln!(out, "accepted {} in {}; {all}", counted(accepted, "cell"), counted(files, "file"))?;
    out.flush()?;
    Ok(if left.is_empty() { Code::Expected } else { Code::Unexpected })
}

fn rejects(stack: &str) -> bool {
    stack.split('+').any(|member| REJECTS.contains(&member.split('(').next().unwrap_or_default()))
}

fn result_of(answer: &CellAnswer) -> CellResult {
    match (&answer.fault, &answer.differs, &answer.seen) {
        (Some(fault), ..) => CellResult::Fault(fault.clone()),
        (None, Some(differs), _) => CellResult::Differs(differs.clone()),
        (None, None, Some(seen)) => CellResult::Seen(Box::new(seen.clone())),
        (None, None, None) => CellResult::Expected,
    }
}

/// A change, as a review shows it.
struct Shown<'a> {
    family: &'a Family,
    plan: &'a Plan<'a>,
    taken: &'a [usize],
    number: usize,
    proposal: &'a Proposal,
    cells: &'a [(CellId, &'a CellAnswer)],
}

impl Shown<'_> {
    /// Shows it, and asks until there is an answer.
    fn ask(&self, out: &mut dyn Write) -> Result<Answer, CommandError> {
        let width = terminal::width(terminal::REPORT);
        let (all, ids) = (self.plan.proposals().len(), &self.proposal.ids);
        let line = self.proposal.line.map_or(String::new(), |line| format!(":{line}"));
        let head = format!("{} of {all}", self.number + 1);
        writeln!(out, "\n{}{line} ({head}), {}:", self.family.source.name, counted(ids.len(), "cell"))?;
        for id in ids.iter().take(NAMED) {
            writeln!(out, "  {id}")?;
        }
        if ids.len() > NAMED {
            writeln!(out, "  … and {} more", ids.len() - NAMED)?;
        }
        let answer = self.cells.iter().find(|(id, _)| *id == ids[0]).map(|(_, answer)| *answer);
        for line in answer.iter().flat_map(|answer| &answer.mismatches) {
            writeln!(out, "  {}", cut(line, width.saturating_sub(2)))?;
        }
        writeln!(out)?;
        let lines: Vec<&str> =
            answer.and_then(|answer| answer.timeline.as_deref()).unwrap_or_default().lines().collect();
        let from = lines.len().saturating_sub(DECISIVE);
        if from > 0 {
            writeln!(out, "  … {} before", counted(from, "line"))?;
        }
        for line in &lines[from..] {
            writeln!(out, "  {}", cut(line, width.saturating_sub(2)))?;
        }
        writeln!(out)?;
        match self.change() {
            Ok(lines) => lines.iter().try_for_each(|line| writeln!(out, "{}", cut(line, width)))?,
            Err(error) => writeln!(out, "{error}")?,
        }
        loop {
            write!(out, "\n[a]ccept, [r]eject, [s]kip, [q]uit and keep what was accepted? ")?;
            out.flush()?;
            let mut said = String::new();
            if io::stdin().read_line(&mut said)? == 0 {
                return Ok(Answer::Quit);
            }
            match said.trim().to_ascii_lowercase().as_str() {
                "a" | "accept" => return Ok(Answer::Accept),
                "r" | "reject" => return Ok(Answer::Reject),
                "s" | "skip" => return Ok(Answer::Skip),
                "q" | "quit" => return Ok(Answer::Quit),
                _ => {}
            }
        }
    }

    /// What it would change in the file, beside what was accepted before it.
    fn change(&self) -> Result<Vec<String>, rehang_accept::Error> {
        let before = self.plan.write(self.taken)?.text;
        let with: Vec<usize> = self.taken.iter().copied().chain([self.number]).collect();
        Ok(diff(&before, &self.plan.write(&with)?.text))
    }
}

fn show_written(name: &str, written: &Written, out: &mut dyn Write) -> io::Result<()> {
    let count = |is: fn(&Change) -> bool| written.changes.iter().filter(|change| is(change)).count();
    let added = count(|change| matches!(change, Change::Added(_)));
    let changed = count(|change| matches!(change, Change::Changed(..)));
    let removed = count(|change| matches!(change, Change::Removed(_)));
    writeln!(out, "{name}: {} added, {changed} changed, {removed} removed", counted(added, "rule"))?;
    for change in &written.changes {
        match change {
            Change::Added(rule) => writeln!(out, "  + {}", in_words(rule))?,
            Change::Changed(old, new) => writeln!(out, "  ~ {} (was {})", in_words(new), in_words(old))?,
            Change::Removed(rule) => writeln!(out, "  - {}", in_words(rule))?,
        }
    }
    Ok(())
}

/// A rule in a line, as its file has it.
fn in_words(rule: &Expect) -> String {
    let keys = rehang_scenario::write::rule_keys(rule);
    let words = keys.iter().map(|(name, value)| format!("{name} = {}", rehang_scenario::write::line_text(value)));
    cut(&words.collect::<Vec<_>>().join(", "), 160)
}

/// Writes a file in one step, if it is still as it was read. A scenario is read with plain line ends, whichever it has.
fn save(path: &Path, before: &str, after: &str) -> Result<(), CommandError> {
    if before == after {
        return Ok(());
    }
    let failed = |error: io::Error| CommandError::from(unwritable(path, error));
    // a link stays a link: the file that it points to is written
    let real = path.canonicalize().map_err(failed)?;
    let disk = std::fs::read_to_string(&real).map_err(failed)?;
    if disk.replace("\r\n", "\n") != before {
        let what = format!("{} has changed since it was read: it is left as it is; run this again", path.display());
        return Err(CommandError::Usage(what));
    }
    let windows = disk != before;
    if windows && disk.matches("\r\n").count() != before.matches('\n').count() {
        let what = format!("{} has line ends of two kinds: give it one kind, and run this again", path.display());
        return Err(CommandError::Usage(what));
    }
    let after = if windows { after.replace('\n', "\r\n") } else { after.to_owned() };
    let folder = real.parent().unwrap_or(Path::new("."));
    let permissions = std::fs::metadata(&real).map_err(failed)?.permissions();
    let mut temp = tempfile::Builder::new().prefix(".accept-").tempfile_in(folder).map_err(failed)?;
    temp.write_all(after.as_bytes()).map_err(failed)?;
    temp.as_file().set_permissions(permissions).map_err(failed)?;
    temp.persist(&real).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_accepted_on_ci_nor_reviewed_without_a_terminal() {
        let on = |review: bool, ci, stdin| {
            may_accept(Accept { accept: !review, review }, ci, stdin, true).map_err(|error| error.to_string())
        };
        for ci in [None, Some(""), Some("0"), Some("false")] {
            assert_eq!(on(false, ci, false), Ok(()));
        }
        for ci in ["true", "1", "yes"] {
            assert!(on(false, Some(ci), true).unwrap_err().contains("--accept is not for CI"));
        }
        assert_eq!(on(true, None, true), Ok(()));
        assert!(on(true, None, false).unwrap_err().contains("use --accept"));
    }

    #[test]
    fn a_file_that_changed_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, "title = 1\n").unwrap();
        assert!(save(&path, "title = 2\n", "title = 3\n").unwrap_err().to_string().contains("has changed"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "title = 1\n");
        save(&path, "title = 1\n", "title = 3\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "title = 3\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let saved = |disk: &str| {
            std::fs::write(&path, disk).unwrap();
            let saved = save(&path, "a = 1\nb = 2\n", "a = 1\nb = 3\n");
            saved.map(|()| std::fs::read_to_string(&path).unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(saved("a = 1\r\nb = 2\r\n").unwrap(), "a = 1\r\nb = 3\r\n");
        assert!(saved("a = 1\r\nb = 2\n").unwrap_err().contains("line ends of two kinds"));
    }
}
