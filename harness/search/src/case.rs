//! A scenario under one stack, on one terminal, with one seed: what is played, judged, and made smaller.
//!
//! Invariant: a case is playable. Its scenario survives being written and loaded, so every file that a search writes
//! passes `rehang check`.

use rehang_judge::Verdict;
use rehang_os::sim::SimKernel;
use rehang_scenario::{Arm, Expect, Scenario, Span, Stage, load, to_toml};
use rehang_stage::{Job, JudgedError, Played, Proofs, Setting, judged};

/// The most steps of a cell of a search: most cells have a hundred; longer ones belong into a whole matrix.
const STEPS_MAX: u64 = 20_000;

/// The baseline's name.
pub const NONE: &str = "none";

/// A scenario under one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The scenario, with one terminal and one seed.
    pub scenario: Scenario,
    /// The stack's spec.
    pub stack: String,
}

/// A case that was played: the baseline, and the stack beside it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Under `none`.
    pub none: Played,
    /// Under the stack; `None` if that is `none`.
    pub under: Option<Played>,
}

/// Why a case has no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// Its scenario has no terminal, or no seed.
    #[error("a case needs a terminal and a seed")]
    NoCell,
    /// A stack without a seat in this agent, or an internal error.
    #[error(transparent)]
    Judged(#[from] JudgedError),
}

impl Case {
    /// A case of a scenario: its first terminal and seed alone, and nothing that only concerns a matrix.
    pub fn of(mut scenario: Scenario, stack: &str) -> Case {
        scenario.terminals.truncate(1);
        scenario.seeds.truncate(1);
        scenario.skip.clear();
        scenario.expect = vec![any_end()];
        Case { scenario, stack: stack.to_owned() }
    }

    /// Whether its agent can play it, and it can be written and loads again as the same.
    pub fn is_playable(&self) -> bool {
        if !rehang_scenario::playable::is_playable(&self.scenario) {
            return false;
        }
        let text = to_toml(&self.scenario, None);
        let loaded = load("case.toml", text.as_bytes()).into_result();
        loaded.is_ok_and(|family| family.variants.len() == 1 && family.variants[0].scenario == self.scenario)
    }

    /// How large its file is, in bytes.
    pub fn size(&self) -> usize {
        to_toml(&self.scenario, None).len()
    }

    /// Plays it on the simulated kernel.
    ///
    /// # Errors
    /// A stack without a seat in this agent, or an internal error.
    pub fn play(&self) -> Result<Shown, CaseError> {
        let none = self.play_as(NONE, Span::ZERO, None)?;
        let under = match self.stack.as_str() {
            NONE => None,
            stack => Some(self.play_as(stack, Span::ZERO, Some(&none.verdict))?),
        };
        Ok(Shown { none, under })
    }

    /// Plays it under another stack, judged beside `none`.
    ///
    /// # Errors
    /// As [`Case::play`].
    pub fn play_as(&self, stack: &str, healthy: Span, none: Option<&Verdict>) -> Result<Played, CaseError> {
        self.play_within(stack, healthy, none, STEPS_MAX)
    }

    /// As [`Case::play_as`], for at most this many steps.
    ///
    /// # Errors
    /// As [`Case::play`].
    pub fn play_within(
        &self,
        stack: &str,
        healthy: Span,
        none: Option<&Verdict>,
        steps_max: u64,
    ) -> Result<Played, CaseError> {
        let (Some(&terminal), Some(&seed)) = (self.scenario.terminals.first(), self.scenario.seeds.first()) else {
            return Err(CaseError::NoCell);
        };
        let job = Job { steps_max, proofs: Proofs::Replayed, ..Job::new(&self.scenario, stack, terminal, seed) };
        let setting = Setting { name: "case", stage: Stage::Sim, arm: Arm::Main, healthy };
        Ok(judged(&mut SimKernel::new(rehang_fakes::program), &job, &setting, none)?)
    }
}

impl Shown {
    /// The verdict of interest: the stack's, or the baseline's if there is no stack.
    pub fn verdict(&self) -> &Verdict {
        &self.played().verdict
    }

    /// The run of interest.
    pub fn played(&self) -> &Played {
        self.under.as_ref().unwrap_or(&self.none)
    }
}

/// A rule that every cell matches, so that a file is whole; its expectation is not used.
pub fn any_end() -> Expect {
    Expect::completes(Arm::Main)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_judge::Outcome;

    #[test]
    fn what_says_more_than_memory_holds_is_given_up() {
        let print = "x".repeat(100_000);
        let text = format!(
            "title = \"a long text, again and again\"\nmechanism = \"F8\"\nterminals = [\"null\"]\n\
             agent = {{ program = [{{ every = {{ every = \"1s\", times = 10000, print = \"{print}\" }} }}] }}\n"
        );
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        let case = Case::of(family.variants[0].scenario.clone(), NONE);
        let played = case.play_as(NONE, Span::ZERO, None).unwrap();
        assert!(matches!(&played.verdict.outcome, Outcome::Undecided { why } if why.contains("128 MiB")));
        let said: usize = played.trace.events.iter().map(|event| event.what.text_bytes()).sum();
        assert!((128 << 20..129 << 20).contains(&said), "{said}");
    }
}
