//! What is kept of a supervised run: its output as it came, and why it was ended.
//!
//! Invariant: nothing is kept of a run that ended by itself, unless a folder was named.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The most that is kept of each stream, in bytes. After that the output still reaches the caller.
const KEPT_BYTES: u64 = 64 * 1_024 * 1_024;

/// The folder of one run.
pub struct Evidence {
    folder: PathBuf,
    /// Whether the folder stays: the user has named it, or something was kept in it.
    stays: bool,
    logs: [(File, u64); 2],
}

impl Evidence {
    /// A folder for this run: the one that is named, else a new one in rehang's cache.
    ///
    /// # Errors
    /// A folder or file that cannot be made.
    pub fn open(named: Option<&Path>) -> io::Result<Evidence> {
        let folder = match named {
            Some(folder) => folder.to_owned(),
            None => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                let name = format!("{}-{}", now.as_secs(), std::process::id());
                rehang_processes::cache::folder().join("supervised").join(name)
            }
        };
        std::fs::create_dir_all(&folder).map_err(|e| {
            io::Error::new(e.kind(), format!("{}: {e}; name another folder with --evidence", folder.display()))
        })?;
        let log = |name: &str| Ok::<_, io::Error>((File::create(folder.join(name))?, 0));
        let logs = [log("stdout")?, log("stderr")?];
        Ok(Evidence { folder, stays: named.is_some(), logs })
    }

    /// Keeps output. If the disk does not take it, it is lost, and the run goes on.
    pub fn output(&mut self, at: usize, bytes: &[u8]) {
        let (log, kept) = &mut self.logs[at];
        if *kept < KEPT_BYTES && log.write_all(bytes).is_ok() {
            *kept += bytes.len() as u64;
        }
    }

    /// Keeps why the run was ended; the folder stays.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&mut self, why: &serde_json::Value) -> io::Result<&Path> {
        self.stays = true;
        std::fs::write(self.folder.join("why.json"), format!("{why:#}\n"))?;
        Ok(&self.folder)
    }

    /// Removes the folder after a run that ended by itself, unless it must stay.
    pub fn drop_it(self) {
        if !self.stays {
            for name in ["stdout", "stderr"] {
                let _ = std::fs::remove_file(self.folder.join(name));
            }
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}
