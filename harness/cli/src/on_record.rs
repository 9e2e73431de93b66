//! What is on record of real releases: the `compat.json` that is shipped with rehang.
//!
//! Invariant: no page of the book is read for it.

use rehang_agents::Version;
use rehang_compat::{Compat, Row};
use std::sync::LazyLock;

/// The file.
const SHIPPED: &str = include_str!("../docs/compat.json");

/// What it holds; nothing if it is not whole, which a test excludes.
static COMPAT: LazyLock<Compat> = LazyLock::new(|| Compat::read(SHIPPED).unwrap_or_default());

/// All of it.
pub fn compat() -> &'static Compat {
    &COMPAT
}

/// The rows of releases that hung, or had no end, by agent, release, scenario and terminal.
pub fn hangs() -> impl Iterator<Item = &'static Row> {
    COMPAT.hangs()
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
    fn the_shipped_file_is_read_whole() {
        let compat = Compat::read(SHIPPED).unwrap_or_else(|error| panic!("{error}"));
        assert!(compat.rows.len() > 900 && compat.claims.len() > 60, "{} rows", compat.rows.len());
        assert_eq!(compat.write().ok().as_deref(), Some(SHIPPED), "it is written in one way: `rehang-lab compat`");
        let version = Version::parse("2.0.77").unwrap_or_else(|error| panic!("{error}"));
        assert!(hangs_of("claude", &version).contains(&"alive-after-result"));
    }
}
