//! The files that a command writes.
//!
//! Invariant: every error names its path; what is tried before a long run leaves nothing but folders and empty files.

use crate::commands::CommandError;
use std::fs::File;
use std::io;
use std::path::Path;

/// Makes a folder with all above it, and tries whether a file can be made there.
///
/// # Errors
/// It cannot.
pub fn folder(path: &Path) -> Result<(), CommandError> {
    let made = std::fs::create_dir_all(path).and_then(|()| tempfile::tempfile_in(path));
    made.map(drop).map_err(|error| unwritable(path, &error))
}

/// Writes a file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), CommandError> {
    std::fs::write(path, bytes).map_err(|error| unwritable(path, &error))
}

/// Opens a file to append to it; makes an empty one where there is none.
///
/// # Errors
/// It cannot be opened.
pub fn append(path: &Path) -> Result<File, CommandError> {
    File::options().create(true).append(true).open(path).map_err(|error| unwritable(path, &error))
}

/// The error of a path that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Usage(format!("{} cannot be written: {error}", path.display()))
}
