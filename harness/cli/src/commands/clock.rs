//! Whether real releases run on the wall clock or in virtual time, as `rehang upstream` and `rehang bisect` take it.

use super::CommandError;
use clap::{Args, ValueEnum};
use rehang_live::Virtual;
use rehang_scenario::Span;
use std::time::Duration;

/// The clock of a run.
#[derive(Debug, Clone, Args)]
pub struct ClockArgs {
    /// In virtual time waits end at once, and a hang is proved, or what it lives by is told. It needs Linux on x86-64, and the
    /// right to trace processes.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    pub clock: Clock,
    /// How much virtual time a cell has from its start.
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = super::span)]
    pub until: Span,
    /// How much real time a cell in virtual time may take; after that it is undecided.
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = super::span)]
    pub within: Span,
    /// In virtual time, let threads that do nothing but wake up now and then sleep this long. What they are there for comes so
    /// much later; limits of event loops do not.
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub skip_tickers: Option<Span>,
    /// In virtual time: where random numbers come from, so that random back-offs are the same in each run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// The machine's.
    Wall,
    /// One that jumps to the next deadline when all processes of a cell sleep.
    Virtual,
}

impl ClockArgs {
    /// The settings of virtual time, if it is that. `unfit` names an argument that was given and means nothing there.
    ///
    /// # Errors
    /// There is one.
    pub fn settings(&self, unfit: Option<&str>) -> Result<Option<Virtual>, CommandError> {
        if self.clock == Clock::Wall {
            return Ok(None);
        }
        if let Some(unfit) = unfit {
            return Err(CommandError::Usage(format!("`{unfit}` has no meaning with `--clock virtual`")));
        }
        let span = |span: Span| Duration::from_millis(span.as_ms());
        let (until, within, skip_tickers) = (span(self.until), span(self.within), self.skip_tickers.map(span));
        Ok(Some(Virtual { until, within, skip_tickers, seed: self.seed, looks: None }))
    }
}
