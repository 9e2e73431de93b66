//! The files that a command writes.
//!
//! Invariant: every error names its path; the check before a long run leaves only folders and empty files.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    Unwritable {
        /// The file, or the folder.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Something exists there already, and existing files are not overwritten.
    #[error("{} exists; name a new file", .0.display())]
    Exists(PathBuf),
}

/// Makes a folder with all above it, and checks that a file can be made there.
///
/// # Errors
/// It cannot.
pub fn folder(path: &Path) -> Result<(), OutputError> {
    let made = std::fs::create_dir_all(path).and_then(|()| tempfile::tempfile_in(path));
    made.map(drop).map_err(|error| unwritable(path, error))
}

/// A temporary folder; it is removed when this is dropped.
///
/// # Errors
/// It cannot be made.
pub fn scratch() -> io::Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| {
        let why = format!("{error}; set TMPDIR to a folder that can be written");
        io::Error::new(error.kind(), why)
    })
}

/// Writes a file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    std::fs::write(path, bytes).map_err(|error| unwritable(path, error))
}

/// Refuses a path where something exists already: existing files are not overwritten.
///
/// # Errors
/// Something is there.
pub fn must_be_new(path: Option<&Path>) -> Result<(), OutputError> {
    match path.filter(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(OutputError::Exists(path.to_owned())),
        None => Ok(()),
    }
}

/// Writes a file that does not exist yet.
///
/// # Errors
/// Something is there, or it cannot be written.
pub fn write_new(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    must_be_new(Some(path))?;
    let mut new = File::options().write(true).create_new(true).open(path).map_err(|error| unwritable(path, error))?;
    new.write_all(bytes.as_ref()).map_err(|error| {
        // a second try would find half a file there
        let _ = std::fs::remove_file(path);
        unwritable(path, error)
    })
}

/// Opens a file to append to it; makes an empty one if there is none.
///
/// # Errors
/// It cannot be opened.
pub fn append(path: &Path) -> Result<File, OutputError> {
    File::options().create(true).append(true).open(path).map_err(|error| unwritable(path, error))
}

/// The error of a path that cannot be written.
pub fn unwritable(path: &Path, error: io::Error) -> OutputError {
    OutputError::Unwritable { path: path.to_owned(), error }
}
