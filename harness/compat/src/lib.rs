//! `compat.json`: what real releases of agents did, what is claimed of them, and how long they wait.
//!
//! Invariant: a file is written in one way only, one element of a list per line, so that a changed row is one changed line
//! of a diff. What is read and written again is the same, byte for byte (`tests/compat.rs`).

pub mod claim;
pub mod evidence;
pub mod limit;
pub mod row;

pub use claim::{Claim, Holds};
pub use evidence::Evidence;
pub use limit::{Found, Limit, LimitKind, NotTried};
pub use row::{Key, Row, Tally, Verdict, VirtualTime};

use schemars::JsonSchema;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The version of the format. A program that reads another one stops with an error.
pub const VERSION: u32 = 1;

/// Rows by cell.
pub type Rows = BTreeMap<Key, Row>;

/// A release that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The agent, as `rehang agents` names it.
    pub agent: String,
    /// The release.
    pub version: String,
    /// Its package: `npm:NAME` or `pypi:NAME`.
    pub package: String,
    /// The package's hash: npm's integrity (`sha512-…`), or `sha256:…` of PyPI. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compat {
    /// The version of the format: 1.
    pub version: u32,
    /// The releases, by agent and version.
    pub releases: Vec<Release>,
    /// What each release did in each scenario and on each terminal; in the order of agents, versions, scenarios, terminals.
    pub rows: Vec<Row>,
    /// What makers and users say about hangs, and what came of it.
    pub claims: Vec<Claim>,
    /// Why a limit of an agent has no row.
    pub not_tried: Vec<NotTried>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompatError {
    /// It is not in the format.
    #[error("not in the format of compat.json: {0}")]
    Format(#[from] serde_json::Error),
    /// It has another version of the format.
    #[error("its format has version {0}; this program reads version {VERSION}")]
    Version(u32),
}

impl Compat {
    /// Reads a file.
    ///
    /// # Errors
    /// It has another version of the format, or is not in it.
    pub fn read(text: &str) -> Result<Compat, CompatError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        match serde_json::from_str::<Compat>(text) {
            Ok(compat) if compat.version == VERSION => Ok(compat),
            Ok(compat) => Err(CompatError::Version(compat.version)),
            // another version may have other keys
            Err(error) => match serde_json::from_str::<Head>(text) {
                Ok(Head { version }) if version != VERSION => Err(CompatError::Version(version)),
                _ => Err(error.into()),
            },
        }
    }

    /// The text of the file: JSON, one element of a list per line.
    ///
    /// # Errors
    /// A number that JSON does not have.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let Compat { version, releases, rows, claims, not_tried } = self;
        let mut out = format!("{{\"version\":{version},\n");
        list(&mut out, "releases", releases)?;
        list(&mut out, "rows", rows)?;
        list(&mut out, "claims", claims)?;
        list(&mut out, "not_tried", not_tried)?;
        out.truncate(out.len() - ",\n".len());
        out.push_str("}\n");
        Ok(out)
    }

    /// The rows by cell.
    pub fn by_cell(&self) -> Rows {
        self.rows.iter().map(|row| (row.key(), row.clone())).collect()
    }

    /// Adds rows; one of the same cell is replaced. All lists are put into their order.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Row>) {
        let mut all = self.by_cell();
        all.extend(rows.into_iter().map(|row| (row.key(), row)));
        self.rows = all.into_values().collect();
        let place = |agent: &str, version: &str| (agent.to_owned(), Version::parse(version).ok(), version.to_owned());
        self.rows
            .sort_by_cached_key(|row| (place(&row.agent, &row.version), row.scenario.clone(), row.terminal.clone()));
        self.releases.sort_by_cached_key(|release| place(&release.agent, &release.version));
        self.not_tried.sort_by(|a, b| (&a.agent, a.limit).cmp(&(&b.agent, b.limit)));
    }

    /// The rows of releases that hung, or had no end.
    pub fn hangs(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_hang())
    }

    /// The release that a row is of; `None` if it is not in the list.
    pub fn release(&self, agent: &str, version: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.agent == agent && release.version == version)
    }
}

/// The JSON Schema of the file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Compat).to_value()
}

fn list<T: Serialize>(out: &mut String, name: &str, all: &[T]) -> Result<(), serde_json::Error> {
    let lines = all.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let _ = writeln!(out, "\"{name}\":[\n{}\n],", lines.join(",\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: &str) -> Row {
        let key = Key {
            agent: "opencode".to_owned(),
            version: version.to_owned(),
            scenario: "question".to_owned(),
            terminal: "null".to_owned(),
        };
        Row::unrun(&key, "h", "no tool".to_owned())
    }

    #[test]
    fn a_row_is_a_line_and_what_is_read_is_what_was_written() {
        let mut compat = Compat { version: VERSION, ..Compat::default() };
        compat.add([row("1.10.0"), row("1.9.0")]);
        let text = compat.write().expect("a text");
        assert!(text.starts_with(
            "{\"version\":1,\n\"releases\":[\n\n],\n\"rows\":[\n{\"agent\":\"opencode\",\"version\":\"1.9.0\""
        ));
        assert_eq!(text.lines().filter(|line| line.starts_with("{\"agent\"")).count(), 2);
        assert_eq!(Compat::read(&text).expect("it is read"), compat);
    }

    #[test]
    fn a_row_of_the_same_cell_is_replaced() {
        let mut compat = Compat::default();
        compat.add([row("1.0.0"), row("1.1.0")]);
        compat.add([Row { detail: "later".to_owned(), ..row("1.0.0") }]);
        assert_eq!(compat.rows.iter().map(|row| row.detail.as_str()).collect::<Vec<_>>(), ["later", "no tool"]);
    }

    #[test]
    fn another_version_of_the_format_is_an_error_and_so_is_an_unknown_key() {
        let error = |text: &str| Compat::read(text).expect_err("it is refused").to_string();
        assert_eq!(error("{\"version\":2}"), "its format has version 2; this program reads version 1");
        let odd = r#"{"version":1,"releases":[],"rows":[],"claims":[],"not_tried":[],"more":1}"#;
        assert!(error(odd).contains("unknown field `more`"));
    }
}
