//! Why a fake does not play a release.
//!
//! Invariant: the text names the version as it was given.

use rehang_os::os::CannotStart;

/// Why a fake does not play a release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The release is none of those that the persona plays.
    #[error("{fake} does not play {version}; it plays {}", plays.join(", "))]
    Unknown {
        /// The name of the fake.
        fake: &'static str,
        /// The version that was given.
        version: String,
        /// The versions that it plays.
        plays: Vec<&'static str>,
    },
    /// The version does not parse.
    #[error("no opencode release: `{0}`")]
    NoVersion(String),
    /// The version is before the first one that is known.
    #[error("no opencode release from 1.0 on: `{0}`")]
    TooOld(String),
    /// The agent is of another family.
    #[error("fake-opencode plays opencode and its forks alone")]
    Family,
}

impl From<ReleaseError> for CannotStart {
    fn from(error: ReleaseError) -> CannotStart {
        CannotStart::new(error)
    }
}
