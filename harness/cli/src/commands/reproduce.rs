//! `rehang reproduce`: from a log, a process or a file to the smallest scenario that does the same.
//!
//! Invariant: what is printed was run. The small scenario was found on the simulated kernel and then played on real
//! processes; if the two differ, the output says so and the exit code is 70.

use super::import::EndArgs;
use super::select::Select;
use super::{Code, CommandError};
use crate::bars::run;
use crate::place::Where;
use anstyle::{AnsiColor, Style};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use rehang_judge::Outcome;
use rehang_judge::score::Score;
use rehang_logs::Verdict;
use rehang_runner::binaries::workers;
use rehang_runner::corpus::{self, default_folder};
use rehang_runner::outputs;
use rehang_runner::pool::Pool;
use rehang_scenario::text::counted;
use rehang_scenario::{Invariant, Scenario, Span, load};
use rehang_search::file::{Did, Written, dids, write as write_file};
use rehang_search::{Case, Limits, Property, Shrunk, shrink};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

const BOLD: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Makes a hang happen again, small: from a log, a process, or a scenario file.
///
/// Imports the log (or explains the process), plays the scenario under `none`, makes it small for as long as it hangs
/// on the same thing, plays it under every strategy, and then on real processes. Exit code 1: it does not hang.
///
/// To make it small, it takes away turns, faults, people, options and texts, and makes times round.
#[derive(Debug, Clone, Args)]
#[command(after_help = "PROPERTY is one of
  hangs, hangs:WHAT              it hangs, or hangs on that: hangs:question
  completed, failed, stopped:CAUSE
  breaks:INVARIANT               it breaks what `none` does not break there: breaks:harm
  rescued                        it hangs under `none` and ends under the strategy
  differs                        with --shrink: sim and lockstep give different traces

Examples:
  rehang reproduce hung.jsonl                  a log of Claude Code, opencode, Codex, … (see `rehang import --help`)
  rehang reproduce agent.jsonl --hung          you saw it hang; the log merely stops
  rehang reproduce 4711                        a process on this machine that hangs now
  rehang reproduce my-hang.toml                a scenario file
  rehang reproduce hung.jsonl --keep           and put it into scenarios/reported/
  rehang reproduce hung.jsonl --report page    and draw it under every strategy: page/index.html
  rehang reproduce --shrink big.toml           small for as long as it shows what it shows first
  rehang reproduce --shrink big.toml --strategy idle@f54b32f --shows breaks:harm --out small.toml")]
pub struct Reproduce {
    /// A log, the number of a process, or a scenario file.
    pub what: String,
    /// Puts the scenario into the folder `scenarios/reported`, here or above.
    #[arg(long)]
    pub keep: bool,
    /// Write the scenario into this file.
    #[arg(long, value_name = "FILE", conflicts_with = "keep")]
    pub out: Option<PathBuf>,
    /// Write a report with pictures of the small scenario under every strategy into this folder: `index.html`.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// What you know of a log's end.
    #[command(flatten)]
    pub end: EndArgs,
    /// Only make a scenario file small and print it, for as long as it shows what it shows first; then play it on real
    /// processes.
    #[arg(long, conflicts_with_all = ["keep", "report", "json", "hung", "completed", "alive_after"])]
    pub shrink: bool,
    /// What it must go on to show instead: `breaks:harm`, `stopped:idle`, …
    #[arg(long, value_name = "PROPERTY")]
    pub shows: Option<Shows>,
    /// The strategy under which it shows that.
    #[arg(long, value_name = "STACK", default_value = "none", value_parser = stack)]
    pub strategy: String,
    /// One JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What a scenario must go on to show.
#[derive(Debug, Clone)]
pub enum Shows {
    /// A property of one play.
    Property(Property),
    /// Sim and lockstep give different traces.
    Differs,
}

impl FromStr for Shows {
    type Err = <Property as FromStr>::Err;

    fn from_str(text: &str) -> Result<Shows, Self::Err> {
        if text == "differs" { Ok(Shows::Differs) } else { text.parse().map(Shows::Property) }
    }
}

/// A stack, as it is written, if there is such a stack.
///
/// # Errors
/// Why it cannot.
pub fn stack(text: &str) -> Result<String, String> {
    rehang_strategy::stack(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Where a scenario came from.
struct Origin {
    scenario: Scenario,
    title: String,
    about: String,
    /// What the log shows of its end, if it was one.
    verdict: Option<Verdict>,
}

impl Reproduce {
    /// Reproduces and prints.
    ///
    /// # Errors
    /// A log, a process or a file that cannot be used; a file that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        outputs::must_be_new(self.out.as_deref())?;
        if self.shrink {
            return self.shrink(out);
        }
        let origin = self.origin()?;
        if origin.verdict == Some(Verdict::EndedOpen) {
            complain!("the log ended open: whether it hung it cannot tell; this is the hang that it would be");
        }
        let case = seated(origin.scenario, &self.strategy)?;
        let shown = case.play()?;
        let property = match &self.shows {
            Some(Shows::Property(property)) => property.clone(),
            Some(Shows::Differs) => {
                return Err(CommandError::Usage("`--shows differs` goes with `--shrink`".to_owned()));
            }
            None => match &shown.verdict().outcome {
                Outcome::Hung { blocked_on, .. } => Property::Hangs(Some(*blocked_on)),
                other => {
                    writeln!(out, "it does not hang: {}", other.describe())?;
                    writeln!(
                        out,
                        "`--shows` names something else that it is to show; `rehang import` says what it took"
                    )?;
                    return Ok(Code::Unexpected);
                }
            },
        };
        if !property.holds(&shown) {
            let is = shown.verdict().outcome.describe();
            return Err(CommandError::Usage(format!("it does not show `{property}` under {}: {is}", self.strategy)));
        }
        let small = smaller(&case, &property, true);
        let about = Some(origin.about.as_str()).filter(|about| !about.is_empty());
        let written = write_file(&small.case, &origin.title, about)?;
        let whole = dids(&case, Span::ZERO)?;
        let others: Vec<Did> = whole.into_iter().filter(|did| !written.stacks.iter().any(|s| same(s, did))).collect();
        let path = self.place(&origin.title)?;
        let (file, _guard) = store(path.as_deref(), &written.text)?;
        let differs = on_real_processes(&file, self.report.as_deref())?;
        let path = path.as_deref();
        let told = Told {
            property: &property,
            small: &small,
            written: &written,
            others: &others,
            path,
            differs: &differs,
            verdict: origin.verdict,
        };
        if self.json { told.print_json(out) } else { told.print(out) }?;
        Ok(if differs.is_empty() { Code::Expected } else { Code::Fault })
    }

    /// Makes a scenario file small, and prints it.
    ///
    /// # Errors
    /// A file that cannot be read or written; a property that it does not show.
    fn shrink(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let name = &self.what;
        let (scenario, about) = first_in(Path::new(&self.what))?;
        let case = seated(scenario, &self.strategy)?;
        let small = if matches!(self.shows, Some(Shows::Differs)) {
            let pool = Pool::new(workers(Some(1))?);
            let mut differs = |case: &Case| differs(&pool, case).is_some();
            if !differs(&case) {
                return Err(CommandError::Usage(format!("{name}: sim and lockstep give the same trace")));
            }
            shrink(&case, Limits { plays: 500, ..Limits::default() }, &mut differs)
        } else {
            let shown = case.play()?;
            let property = match &self.shows {
                Some(Shows::Property(property)) => property.clone(),
                _ => Property::of(&shown),
            };
            if !property.holds(&shown) {
                let is = shown.verdict().outcome.describe();
                return Err(CommandError::Usage(format!("{name} does not show `{property}`: {is}")));
            }
            complain!("it shows {property} under {}", self.strategy);
            smaller(&case, &property, false)
        };
        let title = small.case.scenario.title.clone();
        let about = Some(about.as_str()).filter(|about| !about.is_empty());
        let written = write_file(&small.case, &title, about)?;
        let (file, _guard) = store(self.out.as_deref(), &written.text)?;
        if self.out.is_none() {
            out.write_all(written.text.as_bytes())?;
        }
        let minimal = if small.minimal { "nothing more can be taken away" } else { "the limit of tries was met" };
        complain!("{}; {minimal}", counted(small.plays, "play"));
        let differs = on_real_processes(&file, None)?;
        for line in &differs {
            complain!("not the same on real processes: {line}");
        }
        let found = matches!(self.shows, Some(Shows::Differs));
        Ok(if differs.is_empty() || found { Code::Expected } else { Code::Fault })
    }

    fn origin(&self) -> Result<Origin, CommandError> {
        if let Ok(pid) = self.what.parse::<rehang_evidence::Pid>() {
            let text = super::why::drafted(pid)?;
            let (scenario, about) = first(text.as_bytes(), "the drafted scenario")?;
            return Ok(Origin { title: scenario.title.clone(), scenario, about, verdict: None });
        }
        let path = Path::new(&self.what);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let (scenario, about) = first_in(path)?;
            return Ok(Origin { title: scenario.title.clone(), scenario, about, verdict: None });
        }
        let options = rehang_logs::Options { said: self.end.said(), ..rehang_logs::Options::default() };
        let (imported, _) = super::import::import(path, &options)?;
        if imported.guess.is_guess() {
            let why = "the log gives no reason why it would have hung: there is nothing to reproduce; \
                       `rehang import --guess LOG` drafts a scenario all the same";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let verdict = Some(imported.guess.verdict);
        let scenario = imported.draft.scenario;
        let about = scenario.about.clone().unwrap_or_default();
        Ok(Origin { title: scenario.title.clone(), about, scenario, verdict })
    }

    /// Where the scenario is written; `None`: it is only printed.
    fn place(&self, title: &str) -> Result<Option<PathBuf>, CommandError> {
        if !self.keep {
            return Ok(self.out.clone());
        }
        let folder = default_folder();
        let folder = if folder.is_dir() { folder } else { PathBuf::from("scenarios") }.join("reported");
        std::fs::create_dir_all(&folder)?;
        let words: String =
            title.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name = words.split('-').filter(|word| !word.is_empty()).take(8).collect::<Vec<_>>().join("-");
        let name = if name.is_empty() { "reported".to_owned() } else { name };
        let nth = |n: u32| folder.join(if n == 1 { format!("{name}.toml") } else { format!("{name}-{n}.toml") });
        Ok((1..1_000).map(nth).find(|path| !path.exists()))
    }
}

/// What a reproduction tells.
struct Told<'a> {
    property: &'a Property,
    small: &'a Shrunk,
    written: &'a Written,
    /// What strategies do in the whole scenario, if that differs from what they do in the small one.
    others: &'a [Did],
    path: Option<&'a Path>,
    differs: &'a [String],
    /// What the log shows of its end, if it was one.
    verdict: Option<Verdict>,
}

impl Told<'_> {
    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Told { property, small, written, others, path, differs, verdict: _ } = *self;
        let none = written.stacks.first().map(|none| none.outcome.describe()).unwrap_or_default();
        writeln!(out, "{BOLD}under none: {none}{BOLD:#}, on sim and on real processes")?;
        for line in differs {
            writeln!(out, "{BAD}not the same on real processes:{BAD:#} {line}")?;
        }
        let minimal = if small.minimal { "nothing more can be taken away" } else { "the limit of tries was met" };
        writeln!(out, "smallest scenario that shows {property} under {}: {minimal}\n", small.case.stack)?;
        let end = written.text.find("\n[[expect]]").unwrap_or(written.text.len());
        writeln!(out, "{}", written.text[..end].trim_end())?;
        let (ends, worse, leaves) = sorted(&written.stacks);
        let line = |did: &&Did| {
            let (score, outcome) = (did.score.word(), did.outcome.describe());
            match did.broken.is_empty() {
                true => format!("{} ({score}: {outcome}, after {})", did.stack, did.took),
                false => format!("{} ({score}: {outcome}; breaks {})", did.stack, Invariant::names(&did.broken)),
            }
        };
        let mut list = |title: String, dids: &[&Did]| -> std::io::Result<()> {
            if !dids.is_empty() {
                writeln!(out, "\n{title}")?;
                for did in dids {
                    writeln!(out, "    {}", line(did))?;
                }
            }
            Ok(())
        };
        list(format!("{GOOD}what ends it{GOOD:#}"), &ends)?;
        list(format!("{BAD}what makes it worse{BAD:#}"), &worse)?;
        list("what leaves it as it is".to_owned(), &leaves)?;
        // a strategy may look at something that was taken away
        list("what does something else where nothing was taken away".to_owned(), &others.iter().collect::<Vec<_>>())?;
        match path {
            Some(path) => writeln!(out, "\nin CI: rehang run {}", path.display()),
            None => writeln!(out, "\n--keep puts it into scenarios/reported; then in CI: rehang run reported/"),
        }
    }

    fn print_json(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Told { property, small, written, others, path, differs, verdict } = *self;
        let stack = |did: &Did| json!({ "strategy": did.stack, "outcome": did.outcome.word(), "score": did.score.word(), "broken": Invariant::names(&did.broken), "virtual_ms": did.took.as_ms() });
        let object = json!({
            "shows": property.to_string(),
            "verdict": verdict,
            "strategy": small.case.stack,
            "minimal": small.minimal,
            "plays": small.plays,
            "strategies": written.stacks.iter().map(stack).collect::<Vec<_>>(),
            "otherwise_in_whole": others.iter().map(stack).collect::<Vec<_>>(),
            "differs": differs,
            "file": path,
            "scenario": written.text,
        });
        writeln!(out, "{object}")
    }
}

/// The first scenario of a file.
///
/// # Errors
/// A file that cannot be read, or is not right.
pub fn first_of(file: &Path) -> Result<Scenario, CommandError> {
    Ok(first_in(file)?.0)
}

/// The first variant of a file, and what it says about itself.
fn first_in(file: &Path) -> Result<(Scenario, String), CommandError> {
    let name = file.display().to_string();
    let bytes = corpus::read(file).map_err(|e| CommandError::Usage(format!("{name}: {e}")))?;
    first(&bytes, &name)
}

/// A scenario under a stack that can run in it.
fn seated(scenario: Scenario, stack: &str) -> Result<Case, CommandError> {
    let seat = rehang_strategy::stack(stack).map_err(|e| e.to_string());
    let seat = seat.and_then(|stack| stack.seat_in(&scenario.agent.wires()).map_err(|e| e.to_string()));
    seat.map_err(|why| {
        CommandError::Usage(format!("--strategy '{stack}': {why}; `rehang list --strategies` lists them"))
    })?;
    Ok(Case::of(scenario, stack))
}

/// The first variant of a file's bytes, and what it says about itself.
fn first(bytes: &[u8], name: &str) -> Result<(Scenario, String), CommandError> {
    let loaded = load(name, bytes).into_result();
    // the command itself says that it is an error
    let plain = |text: String| text.strip_prefix("error: ").map_or(text.clone(), str::to_owned);
    let family = loaded.map_err(|p| CommandError::Usage(plain(p.render(rehang_scenario::Style::Plain))))?;
    let variant = family.variants.into_iter().next();
    let scenario = variant.ok_or_else(|| CommandError::Usage(format!("{name}: no scenario in it")))?.scenario;
    let about = scenario.about.clone().unwrap_or_default();
    Ok((scenario, about))
}

/// Makes a case small. The commands of a log keep their words.
fn smaller(case: &Case, property: &Property, keeps_commands: bool) -> Shrunk {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    crate::terminal::tick(&bar, Duration::from_millis(200));
    let small = shrink(case, Limits { keeps_commands, ..Limits::default() }, &mut |case| {
        bar.inc(1);
        bar.set_message(format!("making it small: {} tries", bar.position()));
        property.shown_by(case)
    });
    bar.finish_and_clear();
    small
}

/// Writes the file where it goes, or to a temporary place that lives as long as the guard.
fn store(path: Option<&Path>, text: &str) -> Result<(PathBuf, Option<tempfile::TempDir>), CommandError> {
    if let Some(path) = path {
        outputs::write_new(path, text)?;
        return Ok((path.to_owned(), None));
    }
    let folder = outputs::scratch()?;
    let file = folder.path().join("reproduced.toml");
    std::fs::write(&file, text)?;
    Ok((file, Some(folder)))
}

/// Plays all cells of a file on sim and on real processes; returns what is not as the file says.
fn on_real_processes(file: &Path, report: Option<&Path>) -> Result<Vec<String>, CommandError> {
    let select = Select { scenarios: vec![file.to_owned()], ..Select::default() };
    let mut selected = select.select(Where::Both.stages())?;
    selected.units.iter_mut().for_each(|unit| unit.keep_traces = report.is_some());
    rehang_stage::worker::adopt_orphans();
    let outcome = run(&Pool::new(workers(None)?), &selected.units, true)?;
    if let Some(folder) = report {
        let title = selected.units.first().map(|unit| unit.main.title.clone()).unwrap_or_default();
        crate::pictures::report(folder, &title, &crate::shell::command_line("rehang"), &outcome, &selected.bad_files)?;
    }
    let bad = outcome.cells.iter().filter(|cell| !cell.why().is_empty());
    let lines = bad.map(|cell| format!("{}: {}", cell.id, cell.why().join("; ")));
    Ok(selected.problems.iter().map(ToString::to_string).chain(lines).collect())
}

/// The first difference of a case between sim and lockstep.
fn differs(pool: &Pool, case: &Case) -> Option<String> {
    use rehang_runner::unit::{Unit, Wanted};
    let expect = case.scenario.expect.first()?.clone();
    let cell = Wanted::new("case", &case.stack, expect);
    let unit = Unit::of("case", &case.scenario, Where::Both.stages(), vec![cell]);
    pool.submit::<Unit, rehang_runner::unit::Answer>(&unit).ok()?.cells.into_iter().find_map(|cell| cell.differs)
}

/// Whether the same stack does the same in both; how long it takes, and how a hang is proved, do not count.
fn same(one: &Did, other: &Did) -> bool {
    let outcome = match (&one.outcome, &other.outcome) {
        (Outcome::Hung { blocked_on: one, .. }, Outcome::Hung { blocked_on: other, .. }) => one == other,
        (Outcome::Failed { .. }, Outcome::Failed { .. }) => true,
        (Outcome::Undecided { .. }, Outcome::Undecided { .. }) => true,
        (one, other) => one == other,
    };
    one.stack == other.stack && outcome && one.broken == other.broken
}

/// Which strategies end a hang truthfully, which do harm or lie, and which leave it or have not ended it when it is
/// given up, except `none`. The scoreboard's own scores decide, as in `rehang run`.
fn sorted(stacks: &[Did]) -> (Vec<&Did>, Vec<&Did>, Vec<&Did>) {
    let (worse, rest): (Vec<&Did>, Vec<&Did>) =
        stacks.iter().skip(1).partition(|did| matches!(did.score, Score::Wrongly | Score::Harmed));
    let (ends, leaves) = rest.into_iter().partition(|did| matches!(did.score, Score::Resolved | Score::Stopped));
    (ends, worse, leaves)
}
