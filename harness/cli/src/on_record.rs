//! Which releases are on record as hung: the results file that is shipped with rehang.
//!
//! Invariant: rows are read as `rehang upstream` writes them; no page of the book is read for them.

use rehang_agents::Version;
use rehang_upstream::results::{Rows, parse};
use rehang_upstream::row::Row;
use std::path::Path;
use std::sync::LazyLock;

/// What real releases did in the scenarios of `upstream`.
const RESULTS: &str = include_str!("../docs/upstream.ndjson");

/// All rows; none if the file is not whole, which a test excludes.
static ROWS: LazyLock<Rows> = LazyLock::new(|| parse(Path::new("UPSTREAM.ndjson"), RESULTS).unwrap_or_default());

/// The rows of releases that hung, or had no end, by agent, release, scenario and terminal.
pub fn hangs() -> impl Iterator<Item = &'static Row> {
    ROWS.values().filter(|row| row.is_hang())
}

/// The scenarios of `upstream` in which a release hung, in their order, each once.
pub fn hangs_of(agent: &str, version: &Version) -> Vec<&'static str> {
    let version = version.to_string();
    let of_it = hangs().filter(|row| row.agent == agent && row.version == version);
    let mut names: Vec<&str> = of_it.map(|row| row.scenario.as_str()).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_results_are_read_whole() {
        let rows = parse(Path::new("UPSTREAM.ndjson"), RESULTS).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rows.len(), RESULTS.lines().count(), "a row a line");
        let version = Version::parse("2.0.77").unwrap_or_else(|error| panic!("{error}"));
        assert!(hangs_of("claude", &version).contains(&"alive-after-result"));
    }
}
