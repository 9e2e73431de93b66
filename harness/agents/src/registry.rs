//! The versions that a registry has, and which of them were asked for.
//!
//! Invariant: versions are ordered by semver, never by date: registries' dates are not monotonic. A pre-release is used
//! only if it is named.

use rehang_scenario::text::{or, suggest};
use semver::{Op, Version, VersionReq};
use std::fmt;

/// Words that mean versions.
const WORDS: [&str; 2] = ["latest", "all"];
/// How versions are written.
const HOW: &str = "write `1.2.27`, `latest`, `all`, or a range like `>=1.2, <1.4`";

/// Versions that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The newest that is no pre-release.
    Latest,
    /// This one.
    Exact(Version),
    /// All in a range that are no pre-releases.
    Range(VersionReq),
    /// This one and all newer ones that are no pre-releases.
    Since(Version),
    /// All that are no pre-releases.
    All,
}

/// What was asked for is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotThere {
    /// Not a version, nor a range of them.
    #[error("`{}` is no version{}", .0, or(suggest(.0, WORDS), HOW))]
    Word(String),
    /// The registry has no such version.
    #[error("the registry has no {wanted}; {}", nearby(near))]
    Version {
        /// What was asked for, in words.
        wanted: String,
        /// The nearest that it has, at most two on each side.
        near: Vec<Version>,
    },
}

fn nearby(near: &[Version]) -> String {
    match near {
        [] => "it has none at all".to_owned(),
        near => format!("the nearest are {}", near.iter().map(Version::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl Wanted {
    /// Reads `latest`, `all`, a version, or a range as Cargo and npm write it (`^1.2`, `>=1.2, <1.4`, `1.2.*`).
    ///
    /// # Errors
    /// A word that is none of these.
    pub fn parse(word: &str) -> Result<Wanted, NotThere> {
        let word = word.trim();
        match word {
            "latest" => return Ok(Wanted::Latest),
            "all" | "*" => return Ok(Wanted::All),
            _ => {}
        }
        if let Ok(version) = Version::parse(word.strip_prefix('v').unwrap_or(word)) {
            return Ok(Wanted::Exact(version));
        }
        VersionReq::parse(word).map(Wanted::Range).map_err(|_| NotThere::Word(word.to_owned()))
    }

    /// Those of `all` that are meant, in the order of semver.
    ///
    /// # Errors
    /// None is; with the nearest ones.
    pub fn among(&self, all: &[Version]) -> Result<Vec<Version>, NotThere> {
        let mut all = all.to_vec();
        all.sort();
        all.dedup();
        let stable = || all.iter().filter(|v| v.pre.is_empty());
        let found: Vec<Version> = match self {
            Wanted::Latest => stable().next_back().into_iter().cloned().collect(),
            Wanted::Exact(version) => all.iter().filter(|v| same(v, version)).cloned().collect(),
            Wanted::Range(range) => stable().filter(|v| range.matches(v)).cloned().collect(),
            Wanted::Since(version) => stable().filter(|v| *v >= version).cloned().collect(),
            Wanted::All => stable().cloned().collect(),
        };
        if found.is_empty() {
            return Err(NotThere::Version { wanted: self.to_string(), near: self.nearest(&all) });
        }
        Ok(found)
    }

    fn nearest(&self, all: &[Version]) -> Vec<Version> {
        let at = match self {
            Wanted::Exact(version) | Wanted::Since(version) => version.clone(),
            Wanted::Range(range) => match range.comparators.first() {
                Some(c) => {
                    let past = if c.op == Op::Greater { u64::MAX } else { 0 };
                    Version::new(c.major, c.minor.unwrap_or(past), c.patch.unwrap_or(past))
                }
                None => return Vec::new(),
            },
            Wanted::Latest | Wanted::All => return Vec::new(),
        };
        let wants_pre = !at.pre.is_empty();
        let shown: Vec<&Version> = all.iter().filter(|v| v.pre.is_empty() || wants_pre).collect();
        let split = shown.partition_point(|v| **v < at);
        let from = split.saturating_sub(2);
        shown[from..shown.len().min(split + 2)].iter().map(|v| (*v).clone()).collect()
    }
}

/// Build metadata is no part of a registry's order, and npm drops it.
fn same(a: &Version, b: &Version) -> bool {
    a.cmp_precedence(b).is_eq()
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Latest => f.write_str("version that is no pre-release"),
            Wanted::Exact(version) => write!(f, "version {version}"),
            Wanted::Range(range) => write!(f, "version in `{range}`"),
            Wanted::Since(version) => write!(f, "version from {version} on"),
            Wanted::All => f.write_str("version"),
        }
    }
}

/// The versions of a registry's list that are semver, sorted; others cannot be ordered and are left out.
pub fn sorted<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Version> {
    let mut all: Vec<Version> = words.into_iter().filter_map(|word| Version::parse(word.trim()).ok()).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Version> {
        sorted(["1.10.0", "1.2.27", "1.3.0-beta.1", "1.3.0", "1.2.3", "junk", "0.9.0", "2.0.0-rc.1"])
    }

    fn pick(word: &str) -> Result<String, String> {
        let found = Wanted::parse(word).and_then(|wanted| wanted.among(&all())).map_err(|e| e.to_string())?;
        Ok(found.iter().map(Version::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn versions_are_taken_in_the_order_of_semver() {
        assert_eq!(pick("latest").as_deref(), Ok("1.10.0"));
        assert_eq!(pick("all").as_deref(), Ok("0.9.0 1.2.3 1.2.27 1.3.0 1.10.0"));
        assert_eq!(pick(">=1.2, <1.4").as_deref(), Ok("1.2.3 1.2.27 1.3.0"));
        assert_eq!(pick("1.2.*").as_deref(), Ok("1.2.3 1.2.27"));
        assert_eq!(pick("v1.2.27").as_deref(), Ok("1.2.27"));
    }

    #[test]
    fn a_pre_release_is_taken_where_it_is_named() {
        assert_eq!(pick("1.3.0-beta.1").as_deref(), Ok("1.3.0-beta.1"));
        assert_eq!(pick(">=1.3, <1.4").as_deref(), Ok("1.3.0"));
    }

    #[test]
    fn what_is_not_there_is_said_with_the_nearest() {
        let no = |what: &str, near: &str| Err(format!("the registry has no {what}; the nearest are {near}"));
        assert_eq!(pick("1.2.28"), no("version 1.2.28", "1.2.3, 1.2.27, 1.3.0, 1.10.0"));
        assert_eq!(pick("99.0.0"), no("version 99.0.0", "1.3.0, 1.10.0"));
        assert_eq!(pick("^7"), no("version in `^7`", "1.3.0, 1.10.0"));
        assert_eq!(pick("0.1.0"), no("version 0.1.0", "0.9.0, 1.2.3"));
        assert!(pick("newest").unwrap_err().starts_with("`newest` is no version"));
    }

    #[test]
    fn since_takes_that_one_too() {
        let since = Wanted::Since(Version::new(1, 3, 0)).among(&all());
        assert_eq!(since.as_deref(), Ok(&[Version::new(1, 3, 0), Version::new(1, 10, 0)][..]));
    }
}
