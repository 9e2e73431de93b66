//! One cell as one object of the command's JSON output.
//!
//! Invariant: the names and their order are a contract with those who read the output; a value that does not apply is
//! `null`, never left out. Only `order` is there in no cell but one whose order was chosen.

use crate::cell::CellFacts;
use crate::verdict::{Outcome, Verdict};
use rehang_scenario::{BlockedOn, Invariant, Order, OutcomeKind, Policy, Proof, Stage, Terminal};
use serde::{Deserialize, Serialize};

/// One cell of the output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the scenario.
    pub scenario: String,
    /// The spec of the stack.
    pub strategy: String,
    /// Its terminal.
    pub terminal: Terminal,
    /// Where it ran.
    pub stage: Stage,
    /// The seed of the run.
    pub seed: u64,
    /// The seed with its choices at ties, if it has some: `1/14=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The cause of a stop, the reason of a failure, or what ran out if it is undecided.
    pub cause: Option<String>,
    /// What a hang is blocked on.
    pub blocked_on: Option<BlockedOn>,
    /// The proof of a hang.
    pub proof: Option<Proof>,
    /// What the strategies reported, merged: of two claims about the same thing the later one is kept.
    pub policy: Option<Policy>,
    /// How many asks were rejected.
    pub rejected: u32,
    /// The cell's length in virtual time, in milliseconds.
    pub virtual_ms: u64,
    /// How long the user waited, in milliseconds of virtual time: from the agent's last material progress to the end,
    /// and each earlier time without progress that a strategy ended; `None` if the cell did not end.
    pub waited_ms: Option<u64>,
    /// How long it took in real time, in microseconds.
    pub wall_us: u64,
    /// The hash of its trace's text; empty in rows that nobody reads.
    pub trace_sha256: String,
    /// The broken invariants.
    pub broken: Vec<Invariant>,
    /// Whether all is as the file says.
    pub expected: bool,
}

impl Row {
    /// The seed with its choices at ties.
    pub fn order(&self) -> Order {
        self.order.clone().unwrap_or_else(|| self.seed.into())
    }

    /// The row of a cell.
    pub fn new(facts: &CellFacts, verdict: &Verdict, trace_sha256: String, wall_us: u64, expected: bool) -> Row {
        let (cause, blocked_on, proof) = match &verdict.outcome {
            Outcome::Completed => (None, None, None),
            Outcome::Stopped { cause } => (Some(cause.clone()), None, None),
            Outcome::Failed { reason } | Outcome::Undecided { why: reason } => (Some(reason.clone()), None, None),
            Outcome::Hung { blocked_on, proof } => (None, Some(*blocked_on), Some(*proof)),
        };
        Row {
            scenario: facts.scenario.clone(),
            strategy: facts.strategy.clone(),
            terminal: facts.terminal,
            stage: facts.stage,
            seed: facts.order.seed,
            order: (!facts.order.is_plain()).then(|| facts.order.clone()),
            outcome: verdict.outcome.kind(),
            cause,
            blocked_on,
            proof,
            policy: merged(verdict),
            rejected: verdict.rejected,
            virtual_ms: verdict.virtual_ms(),
            waited_ms: verdict.waited.map(|waited| waited.as_ms()),
            wall_us,
            trace_sha256,
            broken: verdict.broken(),
            expected,
        }
    }
}

fn merged(verdict: &Verdict) -> Option<Policy> {
    verdict.policies.iter().map(|(.., policy)| policy.clone()).reduce(|mut all, later| {
        all.detected = later.detected.or(all.detected);
        all.answered = later.answered.or(all.answered);
        all.rule = later.rule.or(all.rule);
        all.cause = later.cause.or(all.cause);
        all.text = later.text.or(all.text);
        all.constants.extend(later.constants);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::verdict;
    use expect_test::expect;
    use rehang_trace::{Ended, What};

    fn json(cell: Cell) -> String {
        let facts = facts("idle@off");
        let row = Row::new(&facts, &verdict(&cell.trace(), &facts), "00ff".into(), 12, true);
        serde_json::to_string(&row).unwrap()
    }

    #[test]
    fn the_fields_stand_in_their_order() {
        let policy = |cause: &str| Policy { cause: Some(cause.into()), ..Policy::default() };
        let cell = Cell::new().started().at(9).report("idle@off", policy("old")).report("idle@off", policy("idle"));
        expect![[r#"{"scenario":"a/b","strategy":"idle@off","terminal":"null","stage":"sim","seed":1,"outcome":"stopped","cause":"idle","blocked_on":null,"proof":null,"policy":{"cause":"idle"},"rejected":0,"virtual_ms":9,"waited_ms":9,"wall_us":12,"trace_sha256":"00ff","broken":[],"expected":true}"#]]
            .assert_eq(&json(cell.settle("idle@off", "stopped", "idle", "")));
        let hung = Cell::new().started().ask("que_1", "ses_1").deadlock(&[("agent", "question")]);
        expect![[r#"{"scenario":"a/b","strategy":"idle@off","terminal":"null","stage":"sim","seed":1,"outcome":"hung","cause":null,"blocked_on":"question","proof":"deadlock","policy":null,"rejected":0,"virtual_ms":0,"waited_ms":null,"wall_us":12,"trace_sha256":"00ff","broken":[],"expected":true}"#]]
            .assert_eq(&json(hung));
        let given_up = Cell::new()
            .started()
            .at(9)
            .add("", What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Time, waits: Vec::new() }));
        expect![[r#"{"scenario":"a/b","strategy":"idle@off","terminal":"null","stage":"sim","seed":1,"outcome":"undecided","cause":"virtual time ran out","blocked_on":null,"proof":null,"policy":null,"rejected":0,"virtual_ms":9,"waited_ms":null,"wall_us":12,"trace_sha256":"00ff","broken":[],"expected":true}"#]]
            .assert_eq(&json(given_up));
    }
}
