//! Where the last report is, so that nobody has to remember a folder.
//!
//! Invariant: only a note in rehang's cache, one path in one line; if there is no cache, or it cannot be written, a report
//! is made all the same and merely not found again.

use std::path::{Path, PathBuf};

/// The note's name in the cache.
const NAME: &str = "last-report";

/// Remembers a report.
pub fn keep(file: &Path) {
    let (Some(note), Ok(file)) = (note(), std::path::absolute(file)) else { return };
    let Some(text) = file.to_str() else { return };
    let _ = replace(&note, &format!("{text}\n"));
}

/// Writes a note in the cache, as a whole: it never mixes two runs.
///
/// # Errors
/// Those of writing.
pub fn replace(note: &Path, text: &str) -> std::io::Result<()> {
    let folder = note.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    std::fs::write(new.path(), text)?;
    new.persist(note).map(drop).map_err(|error| error.error)
}

/// The last report, whether or not it is still there.
pub fn report() -> Option<PathBuf> {
    let text = std::fs::read_to_string(note()?).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n'))).filter(|path| path.is_absolute())
}

/// The note; `None` without a home.
pub fn note() -> Option<PathBuf> {
    Some(rehang_processes::cache::folder()).filter(|dir| dir.is_absolute()).map(|dir| dir.join(NAME))
}
