//! The cache of installed releases.
//!
//! Invariant: a release in the cache is whole: it was unpacked aside and moved into its place in one step.

use crate::recipe::{Agent, Recipe};
use semver::Version;
use std::path::{Path, PathBuf};

/// The cache.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// An installed release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The folder that it lies in; it may be shown to the sandbox read-only.
    pub root: PathBuf,
    /// What starts it, before any argument: absolute where it is a file of the release.
    pub program: Vec<String>,
}

/// Who wants to know how far an installation is.
pub trait Progress {
    /// What is done now, and how many bytes lie there, where that is known.
    fn at(&self, what: &str, bytes: u64);
}

/// Nobody wants to know.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Progress for Quiet {
    fn at(&self, _: &str, _: u64) {}
}

/// Why a release could not be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder or a file of the cache.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: std::io::Error,
    },
}

impl Store {
    /// The cache in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        std::fs::create_dir_all(dir).map_err(|error| StoreError::Io { path: dir.to_owned(), error })?;
        Ok(Store { dir: dir.to_owned() })
    }

    /// Where the cache lies if nobody says: `REHANG_CACHE`, else `$XDG_CACHE_HOME/rehang`, else `~/.cache/rehang`.
    pub fn default_dir() -> PathBuf {
        let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
        of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
    }

    /// The versions that the registry has, in the order of semver, pre-releases included.
    ///
    /// # Errors
    /// A registry that cannot be asked.
    pub fn versions(&self, _agent: &Agent) -> Result<Vec<Version>, StoreError> {
        Ok(Vec::new())
    }

    /// Installs a release, or finds it installed.
    ///
    /// # Errors
    /// Why it could not be had.
    pub fn install(&self, recipe: &Recipe, _progress: &dyn Progress) -> Result<Installed, StoreError> {
        Ok(Installed { root: self.dir.join(&recipe.agent).join(recipe.version.to_string()), program: Vec::new() })
    }
}
