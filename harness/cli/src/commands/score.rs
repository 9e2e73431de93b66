//! `rehang score`: the scoreboard, what guard costs beside every stack of two, and a parameter's values on one's own logs.

use super::select::Select;
use super::tune::Tune;
use crate::error::{Code, CommandError};
use crate::place::Where;
use crate::terminal;
use clap::Args;
use rehang_judge::score::Pairs;
use rehang_runner::binaries::workers;
use rehang_runner::pool::Pool;
use std::io::Write;
use std::path::PathBuf;

/// The stack with which the stacks of two are compared.
const OURS: &str = "guard";

/// Print the scoreboard: which strategy ends which hang, and which does harm.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rehang score                       all mechanisms, all strategies
  rehang score Q1                    one mechanism
  rehang score --strategy guard      one strategy
  rehang score --pairs               is any stack of two strategies cheaper than guard? (some minutes)
  rehang score --logs logs/ --strategy idle@f54b32f --param timeout
                                     on your own logs: eight values around the default
  rehang score --logs logs/ --strategy guard --param quiet=5m,20m,75m
                                     guard's own limits
  rehang score --logs logs/ --strategy idle@f54b32f --param timeout --report tuned/
                                     and as a page: tuned/index.html")]
pub struct Score {
    /// Which cells.
    #[command(flatten)]
    pub select: Select,
    /// NDJSON, one object a strategy and mechanism; of stacks of two, one a stack; of logs, one a value, then a summary.
    #[arg(long)]
    json: bool,
    /// Where the cells run.
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    stage: Where,
    /// Play every stack of two strategies, and compare what each costs with guard.
    ///
    /// Where only one of the two has a seat, it plays alone.
    #[arg(long, conflicts_with = "strategy")]
    pairs: bool,
    /// Try the values of a strategy's parameter on your own logs: time to an end against false kills.
    ///
    /// Logs, or folders of logs: see `rehang import --help` for what can be read. Scenario files too.
    #[arg(long, value_name = "LOG", num_args = 1.., requires = "param")]
    #[arg(conflicts_with_all = ["filter", "terminal", "seeds", "exact", "shard", "scenarios", "stage", "pairs"])]
    logs: Vec<PathBuf>,
    /// The parameter for `--logs`, and its values; without values, eight around the default.
    #[arg(long, value_name = "NAME[=V,V,…]", requires = "logs")]
    param: Option<String>,
    /// Write a page with a plot, and a square for each log and value, into this folder: `index.html`.
    #[arg(long, value_name = "DIR", requires = "logs")]
    report: Option<PathBuf>,
}

impl Score {
    /// Plays the cells and prints the tables.
    ///
    /// # Errors
    /// Nothing can be selected, or rehang itself fails.
    pub fn run(self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if let Some(param) = self.param {
            let [strategy] = &self.select.strategy[..] else {
                return Err(CommandError::Usage("`--logs` tries one strategy: name it with `--strategy`".to_owned()));
            };
            let strategy = strategy.clone();
            return Tune { logs: self.logs, strategy, param, report: self.report, json: self.json }.run(out);
        }
        self.stage.is_of_cells(&self.select.filter)?;
        let pool = Pool::new(workers(None)?);
        if self.pairs { self.pairs(&pool, out) } else { self.board(&pool, out) }
    }

    fn board(&self, pool: &Pool, out: &mut dyn Write) -> Result<Code, CommandError> {
        let selected = self.select.select(self.stage.stages())?;
        for problem in &selected.problems {
            complain!("{problem}");
        }
        let outcome = crate::bars::run(pool, &selected.units, true)?;
        if self.json {
            outcome.score.rows().iter().try_for_each(|row| line(serde_json::to_string(row), out))?;
        } else {
            let width = terminal::width(terminal::REPORT);
            crate::report::scoreboard(&outcome.score, width, out)?;
            write!(out, "\n{}", outcome.score.cost_table(width))?;
        }
        Ok(if selected.problems.is_empty() { Code::Expected } else { Code::Usage })
    }

    fn pairs(&self, pool: &Pool, out: &mut dyn Write) -> Result<Code, CommandError> {
        let singles: Vec<String> =
            rehang_strategy::stacks().into_iter().filter(|name| !["none", OURS].contains(&name.as_str())).collect();
        let mut pairs = Pairs::default();
        let mut problems = 0;
        let alone: Vec<String> = ["none", OURS].map(str::to_owned).into_iter().chain(singles.clone()).collect();
        let with = |at: usize| singles[at + 1..].iter().map(|other| format!("{}+{other}", singles[at])).collect();
        let parts: Vec<Vec<String>> = std::iter::once(alone).chain((0..singles.len()).map(with)).collect();
        for stacks in parts.into_iter().filter(|stacks| !stacks.is_empty()) {
            // what no rule covers, or a file skips, is compared all the same
            let select = Select { strategy: stacks, uncovered: true, skipped: true, ..self.select.clone() };
            let selected = match select.select(self.stage.stages()) {
                Ok(selected) => selected,
                // two that are never seated together
                Err(CommandError::Usage(_)) if problems > 0 || !pairs.is_empty() => continue,
                Err(error) => return Err(error),
            };
            problems = selected.problems.len();
            for cell in crate::bars::run(pool, &selected.units, true)?.cells {
                if let (Some(row), Some(share)) = (&cell.row, &cell.share) {
                    pairs.add((&row.scenario, row.terminal, row.seed), &row.strategy, share.inside, share.with_ms);
                }
            }
        }
        let rows = pairs.rows(&singles);
        match self.json {
            true => rows.iter().try_for_each(|row| line(serde_json::to_string(row), out))?,
            false => write!(out, "{}", pairs.table(&rows, OURS))?,
        }
        Ok(if problems == 0 { Code::Expected } else { Code::Usage })
    }
}

fn line(row: serde_json::Result<String>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", row.map_err(std::io::Error::other)?)
}
