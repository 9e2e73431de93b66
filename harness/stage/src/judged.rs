//! A cell that is run and judged: the one place that gathers what the judge has to know of it.
//!
//! Invariant: the facts are a function of scenario, stack and setting; none of them comes from the run.

use crate::scheduler::NEAR;
use crate::{Job, Look, Record, RunError, run};
use rehang_judge::{CellFacts, Inconsistent, Verdict, judge};
use rehang_os::kernel::Kernel;
use rehang_scenario::{Agent, Arm, EditorAnswer, EditorStep, Scenario, Span, Stage, Via, turns::Turn};
use rehang_strategy::Facts;
use rehang_trace::Trace;
use std::collections::BTreeMap;

/// What a cell is part of.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The family and the variant, as cells call them.
    pub name: &'a str,
    /// The stage on which it runs.
    pub stage: Stage,
    /// The arm: the scenario itself, or its control.
    pub arm: Arm,
    /// How long a healthy run takes: bounds are counted from it. Zero if none is known.
    pub healthy: Span,
}

/// A cell that was run and judged.
#[derive(Debug, Clone)]
pub struct Played {
    /// The trace of the run.
    pub trace: Trace,
    /// The judge's verdict on it.
    pub verdict: Verdict,
    /// The facts that the judge was given.
    pub facts: CellFacts,
    /// The evidence that was taken.
    pub looks: Vec<Look>,
    /// How many polls were not carried out ([`Polls::Changed`](crate::Polls::Changed)).
    pub saved: u64,
}

/// Why there is no verdict on a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgedError {
    /// The cell could not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The cell's trace contradicts itself.
    #[error(transparent)]
    Trace(#[from] Inconsistent),
}

/// Runs a cell and judges it beside `none`, the verdict of the baseline.
///
/// # Errors
/// A stack that cannot be made, an internal error, or a trace that contradicts itself.
pub fn judged(
    kernel: &mut dyn Kernel,
    job: &Job<'_>,
    setting: &Setting<'_>,
    none: Option<&Verdict>,
) -> Result<Played, JudgedError> {
    of_record(run(kernel, job)?, job, setting, none)
}

/// Judges a run that is over beside `none`, the verdict of the baseline.
///
/// # Errors
/// A trace that contradicts itself.
pub fn of_record(
    record: Record,
    job: &Job<'_>,
    setting: &Setting<'_>,
    none: Option<&Verdict>,
) -> Result<Played, JudgedError> {
    let facts = facts(job, setting);
    let verdict = judge(&record.trace, &facts, none)?;
    Ok(Played { trace: record.trace, verdict, facts, looks: record.looks, saved: record.saved })
}

/// The facts that the judge needs about a cell.
pub fn facts(job: &Job<'_>, setting: &Setting<'_>) -> CellFacts {
    let scenario = job.scenario;
    let mut facts = CellFacts::new(setting.name, job.stack, job.terminal);
    facts.mechanism.clone_from(&scenario.mechanism);
    facts.stage = setting.stage;
    facts.order = job.order();
    facts.control = setting.arm == Arm::Control;
    facts.server = scenario.agent.serves();
    facts.answerer = scenario.people.iter().any(|person| match person.via {
        Via::Tty => job.terminal.stdin_is_tty(),
        Via::Http | Via::Stdin => true,
        Via::Companion => false,
    }) || scenario.editor.iter().any(grants);
    facts.survives.clone_from(&scenario.survives);
    if let Ok(stack) = rehang_strategy::stack(job.stack) {
        // as it is written: a named stack that omits its inside members with this agent still needs the source with
        // another
        facts.inside = stack.members.iter().any(|member| member.entry.seat == rehang_strategy::Seat::Inside);
        let counts = counts(scenario, setting.healthy);
        // each choice of an order may have what is due come late
        let late = Span::ms(NEAR.as_ms() * job.choices.len() as u64);
        facts.bound = stack.bound(&counts).map(|bound| bound + late);
        facts.bound_of_runs = stack.bound_of_runs(&counts, scenario.runs).map(|bound| bound + late);
        for member in &stack.members {
            facts.effective.insert(member.spec.to_string(), constants(&member.spec, &scenario.agent));
        }
    }
    facts
}

/// Whether a person allows something by this step of an editor.
fn grants(step: &EditorStep) -> bool {
    use EditorAnswer::{Allow, Always, Twice};
    matches!(step, EditorStep::Answer(Allow | Always | Twice) | EditorStep::AnswerSecond(Allow | Always | Twice))
}

/// What the bounds of strategies depend on in a scenario.
pub(crate) fn counts(scenario: &Scenario, healthy: Span) -> Facts {
    let mut facts = Facts { healthy, ..Facts::default() };
    count(&scenario.turns, &mut facts);
    facts
}

fn count(turns: &[Turn], facts: &mut Facts) {
    facts.responses += u32::try_from(rehang_scenario::turns::responses(turns).len()).unwrap_or(u32::MAX);
    for turn in turns {
        let one = std::slice::from_ref(turn);
        let calls = if let Turn::Together(calls) = turn { calls } else { one };
        for call in calls {
            match call {
                Turn::Ask(_) | Turn::Permit(_) => facts.asks += 1,
                Turn::Bash(bash) => {
                    facts.bashes += 1;
                    facts.asks += u32::from(bash.asks.is_some());
                }
                Turn::Task(task) => count(&task.turns, facts),
                Turn::Say(_) | Turn::Think(_) | Turn::Together(_) | Turn::Compact(_) | Turn::Finish(_) => {}
            }
        }
    }
}

/// The constants that a strategy really runs with, by the names that reports use: `idle_ms`, `misses`.
fn constants(spec: &rehang_strategy::Spec, agent: &Agent) -> BTreeMap<String, u64> {
    let Ok((_, params)) = spec.resolve() else { return BTreeMap::new() };
    let spans = params.spans.iter().map(|(name, span)| (format!("{name}_ms"), span.as_ms()));
    let counts = params.counts.iter().map(|(name, count)| ((*name).to_owned(), u64::from(*count)));
    let mut all: BTreeMap<String, u64> = spans.chain(counts).collect();
    // PawWork gives a model that reasons more time to begin (461b025e2), whatever the parameter says.
    if agent.is_reasoning()
        && let Some(connect_ms) = all.get_mut("connect_ms").filter(|ms| **ms > 0)
    {
        *connect_ms = rehang_strategy::pawwork::clock::CONNECT_REASONING.as_ms();
    }
    all
}
