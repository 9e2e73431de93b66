//! The cache's lock file: which bytes each release had when it was first installed.
//!
//! Invariant: an entry is never changed by an installation; a release whose bytes differ from the recorded ones is
//! refused.

use crate::install::StoreError;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a release consists of: package (`name@version`) and its hash as the registry gives it.
pub type Packages = BTreeMap<String, String>;

/// The lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Each release (`npm:opencode-linux-x64@1.2.27`) and what it consists of.
    pub releases: BTreeMap<String, Packages>,
}

/// An exclusive hold on something of the cache, by any process of this machine, until it is dropped.
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "held for its lock")] File);

impl Hold {
    /// Waits for the hold; `wait` is called if somebody else has it.
    ///
    /// # Errors
    /// A file that cannot be made or locked.
    pub fn take(path: &Path, wait: impl FnOnce()) -> Result<Hold, StoreError> {
        let io = |error: std::io::Error| StoreError::Io { path: path.to_owned(), error };
        let file = File::options().create(true).append(true).open(path).map_err(io)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            wait();
            flock(&file, FlockOperation::LockExclusive).map_err(|e| io(e.into()))?;
        }
        Ok(Hold(file))
    }
}

impl Lock {
    /// Reads the lock file of a cache; an empty one if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or is no lock file.
    pub fn read(dir: &Path) -> Result<Lock, StoreError> {
        let path = path(dir);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| StoreError::BadLock { path, why: e.to_string() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
            Err(error) => Err(StoreError::Io { path, error }),
        }
    }

    /// Compares a release with what is recorded of it, and records it if nothing is.
    ///
    /// # Errors
    /// A package with another hash than before; a lock file that cannot be read or written.
    pub fn record(dir: &Path, release: &str, packages: &Packages) -> Result<(), StoreError> {
        let _hold = Hold::take(&dir.join("rehang.lock.hold"), || {})?;
        let mut lock = Lock::read(dir)?;
        match lock.releases.get(release) {
            Some(recorded) => differs(dir, release, recorded, packages),
            None => {
                lock.releases.insert(release.to_owned(), packages.clone());
                lock.write(dir)
            }
        }
    }

    fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let path = path(dir);
        let aside = dir.join("rehang.lock.new");
        let io = |error: std::io::Error| StoreError::Io { path: path.clone(), error };
        let text = serde_json::to_string_pretty(self).map_err(|e| io(e.into()))?;
        let mut file = File::create(&aside).map_err(io)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
        std::fs::rename(&aside, &path).map_err(io)
    }
}

/// The path of a cache's lock file.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("rehang.lock")
}

/// A package whose version floats (a dependency with a range) may come in another version; the same package in the
/// same version must have the same bytes.
fn differs(dir: &Path, release: &str, recorded: &Packages, now: &Packages) -> Result<(), StoreError> {
    let changed = now.iter().find(|(name, hash)| recorded.get(*name).is_some_and(|r| r != *hash));
    match changed {
        Some((package, hash)) => Err(StoreError::Changed {
            release: release.to_owned(),
            package: package.clone(),
            recorded: recorded.get(package).cloned().unwrap_or_default(),
            now: hash.clone(),
            lock: path(dir),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(hash: &str) -> Packages {
        [("a@1.0.0".to_owned(), hash.to_owned())].into()
    }

    #[test]
    fn a_release_whose_bytes_changed_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        Lock::record(dir.path(), "npm:a@1.0.0", &packages("sha512-x")).expect("recorded");
        Lock::record(dir.path(), "npm:a@1.0.0", &packages("sha512-x")).expect("the same again");
        let error = Lock::record(dir.path(), "npm:a@1.0.0", &packages("sha512-y")).unwrap_err();
        assert!(matches!(&error, StoreError::Changed { recorded, .. } if recorded == "sha512-x"), "{error}");
        assert_eq!(Lock::read(dir.path()).expect("whole").releases["npm:a@1.0.0"], packages("sha512-x"));
    }

    #[test]
    fn a_lock_file_that_is_none_is_said_to_be() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(path(dir.path()), "half a li").expect("written");
        assert!(matches!(Lock::read(dir.path()), Err(StoreError::BadLock { .. })));
    }
}
