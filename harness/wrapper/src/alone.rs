//! A cell without its wrapper, with real processes in virtual time: what does not hang there is no hang of the wrapper's,
//! and what does not complete there was not harmed by it.
//!
//! The judge's baseline comes from the simulated kernel, which proves hangs. Real pipes, shells and signals are played
//! beside it, in every cell that would be credited to the wrapper or blamed on it. Cells that the wrapper leaves as they
//! are need no second opinion. Not played: agents that are spoken to and servers, which do nothing without the wrapper, and
//! agents with a terminal that is not their stdin.
//!
//! Invariant: only what is seen overrules the simulated kernel. A run that needs too much real time changes nothing.

use crate::cell::{Ran, Still};
use crate::{Cell, Wrapper, WrapperError};
use rehang_judge::Outcome;
use rehang_os::alone::journal::Line;
use rehang_scenario::text::duration;
use rehang_scenario::{Form, Scenario, Terminal};
use std::time::Duration;

/// How much longer than twice the wrapper's run, or the healthy one, the agent is watched without it.
const BEYOND: Duration = Duration::from_secs(3_600);
/// Reads what the agent says to the end, as a wrapper does; the agent's own code is in its journal.
const READS: &str = "\"$0\" \"$@\" 2>&1 | cat >/dev/null";

/// Whether a cell can be played without its wrapper.
pub fn can_play(met: &Scenario, agents: Terminal) -> bool {
    let is_run = met.agent.mode().is_none_or(|mode| mode.form == Form::Run);
    is_run && agents != Terminal::CttyNull
}

impl Wrapper {
    /// How a cell goes without the wrapper, in words, if that is not what its baseline says.
    pub(crate) fn differs_alone(&self, cell: &Cell, with: &Ran) -> Result<Option<String>, WrapperError> {
        let Some(argv) = &cell.alone else { return Ok(None) };
        let Some((program, rest)) = argv.split_first() else { return Ok(None) };
        let name = program.rsplit('/').next().unwrap_or(program).to_owned();
        let call = std::iter::once(name).chain(rest.iter().cloned());
        // on a terminal its output is the terminal's
        let reads = (cell.agents != Terminal::Tty).then(|| ["sh", "-c", READS].map(str::to_owned));
        let command: Vec<String> = reads.into_iter().flatten().chain(call).collect();
        // a healthy run has at least the time that it takes by itself
        let took = with.took_ms().max(cell.baseline.ended.0);
        let took = Duration::from_millis(took);
        let until = match with.exit {
            Some(_) => took.saturating_mul(2).saturating_add(BEYOND).min(self.deadline),
            None => self.deadline,
        };
        let (ran, lines) = self.run(cell.stand_in()?, &command, cell.agents, until)?;
        Ok(differs(&cell.baseline.outcome, &ran, &lines))
    }
}

fn differs(baseline: &Outcome, ran: &Ran, lines: &[Line]) -> Option<String> {
    let after = duration(ran.took_ms());
    let code = lines.iter().find_map(Line::agents_end);
    let played = match (ran.exit, code) {
        (Some(_), Some(0)) => format!("completed after {after}"),
        (Some(_), Some(code)) => format!("ended with {code} after {after}"),
        (Some(_), None) => format!("was over after {after}"),
        (None, _) => format!("was still there after {after}"),
    };
    let agrees = match (baseline, ran.exit, ran.still) {
        (_, None, Some(Still::OutOfTime | Still::Outside)) => true,
        (Outcome::Hung { .. }, exit, _) => exit.is_none(),
        (Outcome::Completed, exit, _) => exit.is_some() && code == Some(0),
        (Outcome::Failed { .. } | Outcome::Stopped { .. }, exit, _) => exit.is_some(),
        (Outcome::Undecided { .. }, ..) => true,
    };
    (!agrees)
        .then(|| format!("not the wrapper's: without it {played} ({} on the simulated kernel)", baseline.describe()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_os::alone::journal::Said;
    use rehang_scenario::{BlockedOn, Proof};

    fn ran(exit: Option<i32>, still: Option<Still>) -> Ran {
        Ran { ended_ms: 90_000, exit, still, ..Ran::default() }
    }

    #[test]
    fn what_is_seen_overrules_the_baseline_and_what_is_not_seen_does_not() {
        let hung = Outcome::Hung { blocked_on: BlockedOn::Pipe, proof: Proof::Deadlock };
        let ended = |code| [Line { ms: 1, place: "7".to_owned(), said: Said::Ended(code) }];
        let says = |baseline: &Outcome, ran: &Ran, lines: &[Line]| differs(baseline, ran, lines).unwrap_or_default();
        let over = says(&hung, &ran(Some(0), None), &ended(0));
        assert_eq!(
            over,
            "not the wrapper's: without it completed after 1m30s (hung on pipe (deadlock) on the simulated kernel)"
        );
        assert_eq!(says(&hung, &ran(None, Some(Still::Deadlock)), &[]), "");
        assert_eq!(says(&hung, &ran(None, Some(Still::Deadline)), &[]), "");
        assert_eq!(says(&Outcome::Completed, &ran(Some(0), None), &ended(0)), "");
        assert!(says(&Outcome::Completed, &ran(Some(0), None), &ended(3)).contains("ended with 3"));
        assert!(says(&Outcome::Completed, &ran(None, Some(Still::Deadlock)), &[]).contains("was still there"));
        // a child's code is not its agent's
        let child = [Line { ms: 1, place: "7.1".to_owned(), said: Said::Ended(0) }];
        assert!(says(&Outcome::Completed, &ran(Some(0), None), &child).contains("was over"));
        assert_eq!(says(&Outcome::Completed, &ran(None, Some(Still::OutOfTime)), &[]), "");
    }
}
