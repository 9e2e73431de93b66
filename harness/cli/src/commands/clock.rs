//! Whether real releases run on the wall clock or in virtual time, as `rehang upstream` and `rehang bisect` take it.

use super::CommandError;
use clap::{Args, ValueEnum};
use rehang_live::Virtual;
use rehang_scenario::Span;
use std::time::Duration;

/// The clock of a run.
#[derive(Debug, Clone, Args)]
pub struct ClockArgs {
    /// In virtual time waits end at once, and a hang is proved, or its timers are listed. This needs Linux on x86-64 and the
    /// right to trace processes.
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// In virtual time: how much of it a cell has from its start [default: 24h; of `bisect`, the deadline on the wall clock, or
    /// more if an end of the search ends by itself within two hours].
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub until: Option<Span>,
    /// In virtual time: how much real time a cell may take; after that it is undecided [default: 5m].
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub within: Option<Span>,
    /// In virtual time, let threads that do nothing but wake up now and then sleep this long. What they are there for comes so
    /// much later; limits of event loops do not.
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub skip_tickers: Option<Span>,
    /// In virtual time: where random numbers come from, so that random back-offs are the same in each run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The default real time of a cell in virtual time.
const WITHIN: Duration = Duration::from_secs(5 * 60);

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// The machine's.
    Wall,
    /// One that jumps to the next deadline when all processes of a cell sleep.
    Virtual,
}

impl ClockArgs {
    /// The settings of virtual time, or `None` on the wall clock. `wall_only` is an argument that was given and is for the
    /// wall clock alone; `until` is the default horizon.
    ///
    /// # Errors
    /// An argument that the clock does not have.
    pub fn settings(&self, wall_only: Option<&str>, until: Duration) -> Result<Option<Virtual>, CommandError> {
        if self.clock == Clock::Wall {
            let given = [
                (self.until.is_some(), "--until"),
                (self.within.is_some(), "--within"),
                (self.skip_tickers.is_some(), "--skip-tickers"),
                (self.seed.is_some(), "--seed"),
            ];
            return match given.into_iter().find_map(|(is_given, name)| is_given.then_some(name)) {
                Some(name) => Err(CommandError::Usage(format!("`{name}` has no meaning with `--clock wall`"))),
                None => Ok(None),
            };
        }
        if let Some(name) = wall_only {
            return Err(CommandError::Usage(format!("`{name}` needs the wall clock: add `--clock wall`")));
        }
        let span = |span: Span| Duration::from_millis(span.as_ms());
        Ok(Some(Virtual {
            until: self.until.map_or(until, span),
            within: self.within.map_or(WITHIN, span),
            skip_tickers: self.skip_tickers.map(span),
            seed: self.seed,
            looks: None,
        }))
    }
}
