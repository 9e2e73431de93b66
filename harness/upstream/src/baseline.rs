//! An earlier result beside this one.
//!
//! Invariant: a cell is compared with the same cell; if the baseline does not have that release, with the newest older
//! release that it has. So the rows of the last release are a baseline for the next one.

use super::results::Rows;
use super::row::Row;
use rehang_agents::Version;
use rehang_scenario::OutcomeKind;
use serde::Serialize;

/// A cell that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The agent.
    pub agent: String,
    /// The scenario.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
    /// The release then.
    pub from_version: String,
    /// The release now.
    pub to_version: String,
    /// The verdict then.
    pub from: String,
    /// The verdict now.
    pub to: String,
    /// Whether it got worse: what completed fails or hangs, what failed hangs, what ran cannot run.
    pub regression: bool,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.regression { "REGRESSION" } else { "changed" };
        let Change { agent, scenario, terminal, from_version, to_version, from, to, .. } = self;
        write!(f, "{word} {agent} {scenario} {terminal}: {from_version} {from} -> {to_version} {to}")
    }
}

/// What changed, in the order of the cells.
pub fn compare<'r>(now: impl IntoIterator<Item = &'r Row>, before: &Rows) -> Vec<Change> {
    now.into_iter().filter_map(|row| change(row, earlier(row, before)?)).collect()
}

fn change(now: &Row, then: &Row) -> Option<Change> {
    let (from, to) = (then.verdict(), now.verdict());
    // what nobody knows is no change: in virtual time a slow machine may leave a cell undecided
    let is_known = |row: &Row| row.outcome != Some(OutcomeKind::Undecided);
    (from != to && is_known(now) && is_known(then)).then(|| Change {
        agent: now.agent.clone(),
        scenario: now.scenario.clone(),
        terminal: now.terminal.clone(),
        from_version: then.version.clone(),
        to_version: now.version.clone(),
        regression: badness(now) > badness(then),
        from: from.to_string(),
        to: to.to_string(),
    })
}

fn badness(row: &Row) -> u8 {
    match row.outcome {
        Some(OutcomeKind::Completed) => 0,
        Some(outcome) if outcome.is_hang() => 2,
        Some(_) => 1,
        None => 3,
    }
}

fn earlier<'b>(row: &Row, before: &'b Rows) -> Option<&'b Row> {
    if let Some(same) = before.get(&row.key()) {
        return Some(same);
    }
    let version = Version::parse(&row.version).ok()?;
    let alike = |old: &&Row| old.agent == row.agent && old.scenario == row.scenario && old.terminal == row.terminal;
    let older = before.values().filter(alike).filter_map(|old| Some((Version::parse(&old.version).ok()?, old)));
    older.filter(|(old, _)| *old < version).max_by(|a, b| a.0.cmp(&b.0)).map(|(_, old)| old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Key;

    fn row(version: &str, outcome: Option<OutcomeKind>, detail: &str) -> Row {
        let key = Key {
            agent: "opencode".to_owned(),
            version: version.to_owned(),
            scenario: "question".to_owned(),
            terminal: "null".to_owned(),
        };
        Row { outcome, detail: detail.to_owned(), ..Row::unrun(&key, "h", String::new()) }
    }

    fn against(now: &Row, before: &[Row]) -> Vec<String> {
        let before: Rows = before.iter().map(|row| (row.key(), row.clone())).collect();
        compare([now], &before).iter().map(Change::to_string).collect()
    }

    #[test]
    fn a_regression_names_cell_and_releases() {
        let before = [row("1.2.9", Some(OutcomeKind::Completed), ""), row("1.10.0", Some(OutcomeKind::Failed), "no")];
        assert_eq!(
            against(&row("1.11.0", Some(OutcomeKind::Hung), "question"), &before),
            ["REGRESSION opencode question null: 1.10.0 failed -> 1.11.0 hung (question)"]
        );
        assert_eq!(
            against(&row("1.3.0", Some(OutcomeKind::Hung), "question"), &before),
            ["REGRESSION opencode question null: 1.2.9 completed -> 1.3.0 hung (question)"]
        );
        assert_eq!(
            against(&row("1.11.0", None, "it does not start"), &before),
            ["REGRESSION opencode question null: 1.10.0 failed -> 1.11.0 cannot run"]
        );
    }

    #[test]
    fn what_is_undecided_is_no_change() {
        let of = |outcome| row("1.3.0", Some(outcome), "");
        assert!(against(&of(OutcomeKind::Undecided), &[of(OutcomeKind::Completed)]).is_empty());
        assert!(against(&of(OutcomeKind::Completed), &[of(OutcomeKind::Undecided)]).is_empty());
    }

    #[test]
    fn a_mended_cell_is_a_change_and_the_same_is_none() {
        let before = [row("1.2.9", Some(OutcomeKind::Hung), "question")];
        assert_eq!(
            against(&row("1.3.0", Some(OutcomeKind::Completed), ""), &before),
            ["changed opencode question null: 1.2.9 hung (question) -> 1.3.0 completed"]
        );
        assert!(against(&row("1.3.0", Some(OutcomeKind::Hung), "question"), &before).is_empty());
        assert!(
            against(&row("1.2.0", Some(OutcomeKind::Hung), "question"), &before).is_empty(),
            "nothing older is known"
        );
        assert_eq!(
            against(&row("1.3.0", Some(OutcomeKind::Hung), "permission"), &before),
            ["changed opencode question null: 1.2.9 hung (question) -> 1.3.0 hung (permission)"]
        );
    }
}
