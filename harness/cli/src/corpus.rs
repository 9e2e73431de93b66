//! The scenario files: where they are, and what is wrong with them.
//!
//! Invariant: files come in the order of their paths; a file with a problem hides no other file.

use crate::catalogue::Strategies;
use rehang_scenario::file::{Family, load};
use rehang_scenario::problem::Problems;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The scenarios of a run.
#[derive(Debug, Default)]
pub struct Corpus {
    /// Files that are right.
    pub families: Vec<Family>,
    /// Files that are not: their paths and problems.
    pub broken: Vec<(PathBuf, Problems)>,
}

/// Where scenarios lie if nobody says: the folder `scenarios` here or above, else that of the sources.
pub fn default_folder() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let above = here.ancestors().map(|folder| folder.join("scenarios")).find(|folder| folder.is_dir());
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    above.unwrap_or_else(|| sources.canonicalize().unwrap_or(sources))
}

/// All scenario files below a folder, in the order of their paths. A folder `agents` is passed over: it holds
/// descriptions of agents.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            // a link to a folder is not followed: it may lead back
            if entry.file_type()?.is_dir() {
                if path.file_name().is_none_or(|name| name != "agents") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "toml") && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The bytes of a file, up to one more than a scenario may have: then the limit is what is wrong with it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !path.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(rehang_scenario::limits::FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Corpus {
    /// Reads and checks files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(paths: &[PathBuf]) -> io::Result<Corpus> {
        let mut corpus = Corpus::default();
        for path in paths {
            let bytes = read(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
            let loaded = load(&path.display().to_string(), &bytes);
            let problems = rehang_scenario::check::check(&loaded, &Strategies::default());
            match loaded.family {
                Some(family) if problems.is_empty() => corpus.families.push(family),
                _ => corpus.broken.push((path.clone(), problems)),
            }
        }
        Ok(corpus)
    }
}
