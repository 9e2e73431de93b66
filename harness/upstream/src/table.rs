//! `UPSTREAM.md`: agents × versions × scenarios, made of a results file.
//!
//! Invariant: the table contains only what rows say. A cell that was not run is empty; one that could not run points to
//! its reason, and one in which the model server found something wrong points to what that was; each has the command
//! that shows it again.

use super::results::Rows;
use super::row::{Key, Row};
use rehang_agents::Version;
use rehang_compat::Evidence;
use rehang_scenario::OutcomeKind;
use rehang_scenario::problem::in_one_line;
use rehang_scenario::text::{counted, duration};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const HEAD: &str = "\
# Which release hangs where

Real releases from npm and PyPI, each in a sandbox without a network, against a scripted model. Do not edit by hand: the table is
made of a results file, or of `compat.json`, which hold the whole rows: what the agent told its model, the open asks, where its
threads waited, the day.

How to read a cell: the outcome, what a hang is blocked on, the time from the first model request to the end or the verdict, and
the exit code if the agent ended by itself with another code than 0. Times are virtual.

- **hung** *p* is proved: each thread waits for something that only another one can do, and no timer is left.
- **hung** hot-loop: the agent asked its model again and again, 40 times beyond the scripted responses.
- **no end**: the agent was still alive when its virtual time was over. The results file lists the timers that kept it alive.
- *undecided*: the agent did not end, and the results file says why there is no proof.
- *flaky*: runs differed.
- An empty cell has not been run yet.
- A number in brackets is that of a note below the agent's table: why the cell could not run, or what the model server found wrong
  in it, such as a call of a tool that the agent did not offer.

To show a cell again, put its version into its row's command.
";

/// What is added if some cells ran on the wall clock.
const WALL: &str = "
Cells with *w* ran on the wall clock: add `--clock wall` to their command. Their times are real. **hung** *w* was seen, not proved:
nothing moved for the agent's whole window, or the agent was alive at the deadline (*d*); a timer further away than that cannot be
seen. *waiting*: at the deadline the agent waited for its next try of a request that had failed.
";

/// The table of these rows.
pub fn markdown(rows: &Rows) -> String {
    let mut out = String::from(HEAD);
    let days: BTreeSet<&str> = rows.values().map(|row| row.day.as_str()).collect();
    if let (Some(first), Some(last)) = (days.first(), days.last()) {
        let when = if first == last {
            format!("on {}", escape(first))
        } else {
            format!("from {} to {}", escape(first), escape(last))
        };
        let _ = writeln!(out, "\nRun {when}, {}.", counted(rows.len(), "cell"));
    }
    if rows.values().any(is_of_wall_clock) {
        out.push_str(WALL);
    }
    let mut agents: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows.values() {
        agents.entry(&row.agent).or_default().push(row);
    }
    for (agent, rows) in agents {
        one(&mut out, agent, &rows);
    }
    out
}

fn one(out: &mut String, agent: &str, rows: &[&Row]) {
    let mut versions: Vec<&str> = rows.iter().map(|row| row.version.as_str()).collect();
    versions.sort_by_key(|version| Version::parse(version).ok());
    versions.dedup();
    let by: BTreeMap<Key, &Row> = rows.iter().map(|row| (row.key(), *row)).collect();
    let lines: BTreeSet<(&str, &str)> = rows.iter().map(|row| (row.scenario.as_str(), row.terminal.as_str())).collect();
    let mut notes: Notes<'_> = Vec::new();
    let _ = writeln!(out, "\n## {}\n", escape(agent));
    let _ = writeln!(
        out,
        "| scenario | terminal | {} | command |",
        versions.iter().map(|version| escape(version)).collect::<Vec<_>>().join(" | ")
    );
    let _ = writeln!(out, "|---|---|{}---|", "---|".repeat(versions.len()));
    for (scenario, terminal) in lines {
        let _ = write!(out, "| {} | {} |", escape(scenario), escape(terminal));
        for version in &versions {
            let key = Key {
                agent: agent.to_owned(),
                version: (*version).to_owned(),
                scenario: scenario.to_owned(),
                terminal: terminal.to_owned(),
            };
            let cell = by.get(&key).map(|row| cell(row, &mut notes)).unwrap_or_default();
            let _ = write!(out, " {cell} |");
        }
        let key = Key {
            agent: agent.to_owned(),
            version: "VERSION".to_owned(),
            scenario: scenario.to_owned(),
            terminal: terminal.to_owned(),
        };
        let _ = writeln!(out, " `{}` |", escape(&key.command()));
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for (n, note) in notes.iter().enumerate() {
        let _ = writeln!(out, "{}. {}", n + 1, escape(note));
    }
}

/// What the cells of a table point to, in the order of the cells.
type Notes<'r> = Vec<&'r str>;

/// A note's number.
fn number<'r>(note: &'r str, notes: &mut Notes<'r>) -> usize {
    let known = notes.iter().position(|known| *known == note);
    1 + known.unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    })
}

/// A problem without the number of its request, which differs from release to release.
fn problem(text: &str) -> &str {
    let numbered = text.strip_prefix("request ").and_then(|rest| rest.split_once(": "));
    numbered.filter(|(number, _)| number.parse::<u32>().is_ok()).map_or(text, |(_, problem)| problem)
}

fn cell<'r>(row: &'r Row, notes: &mut Notes<'r>) -> String {
    let Some(outcome) = row.outcome else {
        return format!("– ({})", number(&row.detail, notes));
    };
    let mut text = match outcome {
        OutcomeKind::Hung => format!("**hung** {}", escape(&row.detail)),
        OutcomeKind::NoEnd => format!("**no end** {}", escape(&row.detail)),
        other => other.word().to_owned(),
    };
    let _ = write!(text, " {}", duration(row.ms));
    match row.evidence {
        Evidence::Deadline => text.push_str(" *d*"),
        Evidence::Proved => text.push_str(" *p*"),
        _ => {}
    }
    if is_of_wall_clock(row) {
        text.push_str(" *w*");
    }
    if let Some(code) = row.exit.filter(|code| *code != 0) {
        let _ = write!(text, ", exit {code}");
    }
    if !row.flaky.is_empty() {
        let _ = write!(text, " *flaky: {}*", escape(&row.flaky.join(", ")));
    }
    let problems: BTreeSet<&str> = row.problems.iter().map(|text| problem(text)).collect();
    for problem in problems {
        let _ = write!(text, " ({})", number(problem, notes));
    }
    text
}

fn is_of_wall_clock(row: &Row) -> bool {
    row.outcome.is_some() && row.virtual_time.is_none()
}

/// A text, escaped so that Markdown sees no heading, column or tag in it.
fn escape(text: &str) -> String {
    in_one_line(&text.replace(['\n', '\r'], " ")).replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::Span;

    fn row(version: &str, outcome: Option<OutcomeKind>, detail: &str) -> Row {
        let key = Key {
            agent: "opencode".to_owned(),
            version: version.to_owned(),
            scenario: "question".to_owned(),
            terminal: "null".to_owned(),
        };
        Row {
            outcome,
            detail: detail.to_owned(),
            ms: 10_049,
            day: "2026-11-21".to_owned(),
            ..Row::unrun(&key, "h", String::new())
        }
    }

    #[test]
    fn versions_are_columns_in_the_order_of_semver_and_reasons_are_notes() {
        let odd = row("1.10.1", Some(OutcomeKind::Failed), "");
        let rows: Rows = [
            row("1.10.0", Some(OutcomeKind::Completed), ""),
            row("1.2.27", Some(OutcomeKind::Hung), "question"),
            row("1.1.0", None, "it has no | server"),
            Row { evidence: Evidence::Deadline, ..row("1.2.28", Some(OutcomeKind::Hung), "question") },
            Row { problems: vec!["request 2: no `question`".into(), "request 3: no `question`".into()], ..odd },
        ]
        .map(|row| (row.key(), row))
        .into();
        let text = markdown(&rows);
        let table = text.split("## opencode\n").nth(1).unwrap();
        expect_test::expect![[r#"

            | scenario | terminal | 1.1.0 | 1.2.27 | 1.2.28 | 1.10.0 | 1.10.1 | command |
            |---|---|---|---|---|---|---|---|
            | question | null | – (1) | **hung** question 10s *w* | **hung** question 10s *d* *w* | completed 10s *w* | failed 10s *w* (2) | `rehang upstream opencode@VERSION question --terminal null` |

            1. it has no \| server
            2. no `question`
        "#]]
        .assert_eq(table);
        assert!(text.contains("Run on 2026-11-21, 5 cells."));
    }

    #[test]
    fn the_wall_clock_has_a_legend_if_it_was_used() {
        let virtual_time = rehang_compat::VirtualTime {
            seconds: 86_400.0,
            real_seconds: 1.0,
            jumps: 7,
            repeatable: true,
            ..rehang_compat::VirtualTime::default()
        };
        let of = |version, outcome, evidence| Row {
            evidence,
            virtual_time: Some(virtual_time.clone()),
            ..row(version, Some(outcome), "question")
        };
        let rows = [
            of("1.0.0", OutcomeKind::Hung, Evidence::Proved),
            of("1.1.0", OutcomeKind::NoEnd, Evidence::Horizon(Span::hours(24))),
        ];
        let text = markdown(&rows.map(|row| (row.key(), row)).into());
        assert!(text.contains("| **hung** question 10s *p* | **no end** question 10s |"), "{text}");
        assert!(!text.contains("on the wall clock"));
        let wall: Rows = [row("1.0.0", Some(OutcomeKind::Hung), "")].map(|row| (row.key(), row)).into();
        assert!(markdown(&wall).contains("Cells with *w* ran on the wall clock"));
    }
}
