//! What is kept of a supervised run: its output as it came, and why it was ended.
//!
//! Invariants: nothing is kept of a run that ended by itself, unless a folder was named; nobody but its user reads what is
//! kept; what stays is masked; no link that lies in the folder is followed, and no folder of somebody else is used.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most that is kept of each stream, in bytes. After that the output still reaches the caller.
const KEPT_BYTES: u64 = 64 * 1_024 * 1_024;

/// Removes secrets and personal data from a text that is kept.
pub type Mask = fn(&str) -> String;

/// The folder of one run.
pub struct Evidence {
    folder: PathBuf,
    mask: Option<Mask>,
    /// Whether the folder stays: the user has named it, or something was kept in it.
    stays: bool,
    logs: [(File, u64); 2],
}

impl Evidence {
    /// A folder for this run: the one that is named, else a new one in rehang's cache.
    ///
    /// # Errors
    /// A folder or file that cannot be made.
    pub fn open(named: Option<&Path>, mask: Option<Mask>) -> io::Result<Evidence> {
        let folder = match named {
            Some(folder) => folder.to_owned(),
            None => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                let name = format!("{}-{}", now.as_secs(), std::process::id());
                rehang_processes::cache::folder().join("supervised").join(name)
            }
        };
        let named_in = |e: io::Error| {
            io::Error::new(e.kind(), format!("{}: {e}; name another folder with --evidence", folder.display()))
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(named_in)?;
        if named.is_none() {
            // its own folder, that of all supervised runs, and the cache
            folder.ancestors().take(3).try_for_each(rehang_processes::cache::refuse_foreign).map_err(named_in)?;
        }
        let log = |name: &str| create(&folder.join(name)).map(|file| (file, 0)).map_err(named_in);
        let logs = [log("stdout")?, log("stderr")?];
        Ok(Evidence { folder, mask, stays: named.is_some(), logs })
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
    pub fn keep(&mut self, mut why: serde_json::Value) -> io::Result<PathBuf> {
        self.stays = true;
        if let Some(mask) = self.mask {
            mask_strings(&mut why, mask);
        }
        let (path, text) = (self.folder.join("why.json"), format!("{why:#}\n"));
        let written = create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok(self.folder.clone())
    }
}

/// However the run ended: masks the output, or removes the folder if nothing of it must stay. Output that cannot be masked
/// is removed.
impl Drop for Evidence {
    fn drop(&mut self) {
        for ((file, _), name) in self.logs.iter_mut().zip(["stdout", "stderr"]) {
            let is_kept = self.stays && self.mask.is_none_or(|mask| mask_file(file, mask).is_ok());
            if !is_kept {
                let _ = std::fs::remove_file(self.folder.join(name));
            }
        }
        if !self.stays {
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

/// Masks a file of output in place.
fn mask_file(file: &mut File, mask: Mask) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let masked = mask(&String::from_utf8_lossy(&bytes));
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(masked.as_bytes())
}

/// Masks each string in it: a whole text might lose a quotation mark.
fn mask_strings(value: &mut serde_json::Value, mask: Mask) {
    match value {
        serde_json::Value::String(text) => *text = mask(text),
        serde_json::Value::Array(all) => all.iter_mut().for_each(|value| mask_strings(value, mask)),
        serde_json::Value::Object(all) => all.values_mut().for_each(|value| mask_strings(value, mask)),
        _ => {}
    }
}

/// A file that only its user reads, new or emptied. A link, or anything but a file, is refused.
fn create(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).write(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.nlink() > 1 {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is no file of its own", path.display())));
    }
    file.set_permissions(PermissionsExt::from_mode(0o600))?;
    file.set_len(0)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_kept_is_its_users_alone() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("deep/evidence");
        let mut evidence = Evidence::open(Some(&folder), Some(|text| text.replace("hunter2", "***"))).unwrap();
        evidence.output(0, b"said hun");
        evidence.output(0, b"ter2");
        evidence.keep(serde_json::json!({ "args": ["-p", "hunter2"] })).unwrap();
        drop(evidence);
        assert_eq!((mode(&folder), mode(&all.path().join("deep"))), (0o700, 0o700));
        assert_eq!(["stdout", "stderr", "why.json"].map(|name| mode(&folder.join(name))), [0o600; 3]);
        assert_eq!(std::fs::read_to_string(folder.join("stdout")).unwrap(), "said ***");
        assert!(!std::fs::read_to_string(folder.join("why.json")).unwrap().contains("hunter2"));
    }

    #[test]
    fn a_link_that_lies_there_is_not_followed() {
        let all = tempfile::tempdir().unwrap();
        let kept = all.path().join("kept");
        std::fs::write(&kept, "kept").unwrap();
        for name in ["stdout", "stderr", "why.json"] {
            for hard in [false, true] {
                let folder = all.path().join(format!("{name}{hard}"));
                std::fs::create_dir(&folder).unwrap();
                std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
                match hard {
                    true => std::fs::hard_link(&kept, folder.join(name)).unwrap(),
                    false => std::os::unix::fs::symlink(&kept, folder.join(name)).unwrap(),
                }
                let opened = Evidence::open(Some(&folder), None);
                let kept_it = opened.and_then(|mut evidence| evidence.keep(serde_json::json!({})).map(drop));
                assert!(kept_it.is_err(), "{name}");
                assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
            }
        }
    }
}
