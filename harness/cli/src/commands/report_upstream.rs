//! `rehang report-upstream`: a hang of a real release as the text of an issue for its makers.
//!
//! Invariants: nothing is run and nothing is asked of a registry; what is said of a release is on record in the shipped
//! `compat.json`.

use super::explain::advice;
use super::{Code, CommandError};
use crate::on_record;
use clap::Args;
use rehang_agents::{Agent, Version};
use rehang_compat::Row;
use rehang_issue::Cell;
use rehang_scenario::Terminal;
use rehang_scenario::text::counted;
use rehang_upstream::agents;
use rehang_upstream::plan::{self, Named};
use std::io::Write;

/// Write an issue about a hang on record, with a script that shows it without rehang.
///
/// The script has at most 30 lines and needs bash, python3, and npm or pip: it brings its own scripted model. Without a cell,
/// the hangs of the newest releases are listed, with the reason for each that has no text.
///
/// Exit codes: 0 written · 1 the cell cannot be told by such a script · 2 no such cell on record.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang report-upstream                                        which hangs of the newest releases have a text
  rehang report-upstream opencode@1.18.33 stdin-open > issue.md
  rehang report-upstream cn@1.5.47 stream-stalled --script | bash")]
pub struct ReportUpstream {
    /// The release, as `rehang upstream` names it; without a version, the newest on record.
    #[arg(value_name = "AGENT@RELEASE", requires = "scenario")]
    pub release: Option<String>,
    /// The scenario, with its variant in brackets if it has one.
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// The terminal, if the release hung on several.
    #[arg(long, value_name = "NAME", value_parser = super::terminal)]
    pub terminal: Option<Terminal>,
    /// The script alone.
    #[arg(long)]
    pub script: bool,
}

impl ReportUpstream {
    /// Writes.
    ///
    /// # Errors
    /// A cell that is not on record.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let (all, scenarios) = (agents::all(None)?, plan::scenarios(&[], &[])?);
        let (Some(release), Some(scenario)) = (&self.release, &self.scenario) else {
            return list(&all, &scenarios, out);
        };
        let (name, version) = release.split_once('@').map_or((release.as_str(), None), |(name, v)| (name, Some(v)));
        let agent = agents::named(&all, name)?;
        let newest = newest(name).map(|version| version.to_string()).unwrap_or_default();
        let version = version.filter(|version| *version != "latest").unwrap_or(&newest);
        let rows = on_record::compat().rows.iter().filter(|row| row.agent == agent.name() && row.version == version);
        let rows: Vec<&Row> = rows.filter(|row| row.scenario == *scenario).collect();
        let wanted = |row: &&&Row| self.terminal.is_none_or(|terminal| terminal.name() == row.terminal);
        let found = rows.iter().filter(wanted).find(|row| row.is_hang()).or_else(|| rows.iter().find(wanted));
        let Some(row) = found.copied() else {
            return Err(CommandError::Usage(format!(
                "{name}@{version} {scenario} is not on record; `rehang report-upstream` lists what is"
            )));
        };
        let prevent = prevent(&scenarios, row);
        let Some(cell) = cell(row, agent, &scenarios, prevent.as_deref()) else {
            return Err(CommandError::Usage(format!("no scenario is called {scenario} any more")));
        };
        let text = if self.script { cell.script() } else { cell.text() };
        match text {
            Ok(text) => write!(out, "{text}")?,
            Err(why) => {
                writeln!(out, "{name}@{version} {scenario} {} has no text: {why}", row.terminal)?;
                return Ok(Code::Unexpected);
            }
        }
        Ok(Code::Expected)
    }
}

/// The newest release of an agent on record.
fn newest(agent: &str) -> Option<Version> {
    let releases = on_record::compat().releases.iter().filter(|release| release.agent == agent);
    releases.filter_map(|release| Version::parse(&release.version).ok()).max()
}

/// The hangs of the newest releases, each with what there is of it.
fn list(all: &[Agent], scenarios: &[Named], out: &mut dyn Write) -> Result<Code, CommandError> {
    let (mut texts, mut refused) = (0, 0);
    for row in on_record::hangs().filter(|row| newest(&row.agent).is_some_and(|v| v.to_string() == row.version)) {
        let agent = agents::named(all, &row.agent)?;
        let prevent = prevent(scenarios, row);
        let name = format!("{}@{} {} --terminal {}", row.agent, row.version, row.scenario, row.terminal);
        match cell(row, agent, scenarios, prevent.as_deref()).map(|cell| cell.script()) {
            Some(Ok(script)) => {
                texts += 1;
                writeln!(out, "{name}: {}", counted(script.lines().count(), "line"))?;
            }
            Some(Err(why)) => {
                refused += 1;
                writeln!(out, "{name}: no text: {why}")?;
            }
            None => {
                refused += 1;
                writeln!(out, "{name}: no text: there is no such scenario any more")?;
            }
        }
    }
    writeln!(out, "{} with a text, {refused} without", counted(texts, "hang"))?;
    Ok(Code::Expected)
}

fn named<'s>(scenarios: &'s [Named], row: &Row) -> Option<&'s Named> {
    scenarios.iter().find(|named| named.name == row.scenario)
}

fn prevent(scenarios: &[Named], row: &Row) -> Option<String> {
    advice(named(scenarios, row)?.scenario.mechanism.as_str(), "Prevent")
}

fn cell<'a>(row: &'a Row, agent: &'a Agent, scenarios: &'a [Named], prevent: Option<&'a str>) -> Option<Cell<'a>> {
    let scenario = &named(scenarios, row)?.scenario;
    Some(Cell { compat: on_record::compat(), row, agent, scenario, prevent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(args: ReportUpstream) -> (Result<Code, String>, String) {
        let mut out = Vec::new();
        let code = args.run(&mut out).map_err(|error| error.to_string());
        (code, String::from_utf8_lossy(&out).into_owned())
    }

    fn asked(release: &str, scenario: &str) -> ReportUpstream {
        let of = |text: &str| Some(text.to_owned());
        ReportUpstream { release: of(release), scenario: of(scenario), terminal: None, script: false }
    }

    #[test]
    fn every_hang_of_a_newest_release_has_a_short_script_or_a_reason() {
        let (code, text) = told(ReportUpstream { release: None, scenario: None, terminal: None, script: false });
        assert_eq!(code, Ok(Code::Expected));
        let lines: Vec<&str> = text.lines().collect();
        let (last, cells) = lines.split_last().expect("lines");
        let with = cells.iter().filter(|line| line.ends_with(" lines")).count();
        let without = cells.iter().filter(|line| line.contains(": no text: ")).count();
        assert_eq!(with + without, cells.len(), "{text}");
        assert_eq!(*last, format!("{with} hangs with a text, {without} without"));
        let hangs = on_record::hangs().filter(|row| newest(&row.agent).is_some_and(|v| v.to_string() == row.version));
        assert_eq!(hangs.count(), cells.len());
        assert!(with >= 30, "{text}");
    }

    #[test]
    fn a_cell_that_did_not_hang_or_is_not_there_has_no_text() {
        let (code, text) = told(asked("codex@0.169.0", "bash-never-ends"));
        assert_eq!(code, Ok(Code::Unexpected));
        assert!(text.ends_with("has no text: it did not hang there: completed\n"), "{text}");
        let (code, _) = told(asked("codex@0.169.0", "no-such"));
        assert!(code.expect_err("it is refused").contains("codex@0.169.0 no-such is not on record"));
    }

    #[test]
    fn a_text_has_what_a_maintainer_needs() {
        let (code, text) = told(asked("cn", "stream-stalled"));
        assert_eq!(code, Ok(Code::Expected), "{text}");
        assert!(text.starts_with("# Continue CLI 1.5.47 does not end: the model's stream stops"), "{text}");
        for part in
            ["That is proved", "npm install", "@continuedev/cli@1.5.47", "timeout -k 5 ", "exit 124", "epoll_pwait"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let script = text.split("```bash\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
        assert!(!script.contains("rehang"), "{script}");
    }
}
