//! The scenario files: where they are, and what is wrong with them.
//!
//! Invariant: files come in the order of their paths; a file with a problem hides no other file.

use crate::catalogue::Strategies;
use rehang_scenario::file::{Family, load};
use rehang_scenario::problem::{Problem, Problems};
use std::collections::BTreeMap;
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

mod built_in {
    include!(concat!(env!("OUT_DIR"), "/corpus.rs"));
}

/// The beginning of a path that means the scenarios inside this binary, if no file has that name.
pub const BUILT_IN: &str = "built-in";

/// Where scenarios are by default: the folder `scenarios` here or above, else [`BUILT_IN`].
///
/// A folder of that name without a scenario file does not count.
pub fn default_folder() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let holds = |folder: &PathBuf| files(folder).is_ok_and(|files| !files.is_empty());
    let above = here.ancestors().map(|folder| folder.join("scenarios")).filter(|folder| folder.is_dir()).find(holds);
    above.unwrap_or_else(|| PathBuf::from(BUILT_IN))
}

/// The scenario files that a path means: itself, all below it, or those inside this binary.
///
/// # Errors
/// A folder that cannot be read.
pub fn paths(path: &Path) -> io::Result<Vec<PathBuf>> {
    if is_built_in(path) {
        return files(path);
    }
    match std::fs::metadata(path).map_err(|error| named(path, &error))?.is_dir() {
        true => files(path),
        false => Ok(vec![path.to_owned()]),
    }
}

/// An error that names its path.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// All scenario files below a folder, in the order of their paths. A folder `agents` is skipped: it holds descriptions
/// of agents.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if is_built_in(folder) {
        let all = built_in::FILES.iter().map(|(name, _)| Path::new(BUILT_IN).join("scenarios").join(name));
        let below = folder.strip_prefix(BUILT_IN).unwrap_or(folder);
        let inside = Path::new(BUILT_IN).join("scenarios").join(below.strip_prefix("scenarios").unwrap_or(below));
        return Ok(all.filter(|path| path.starts_with(&inside)).collect());
    }
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            // the folder itself is kept: reading it later tells why it cannot be read
            Err(_) => {
                found.push(folder);
                continue;
            }
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            // a link to a folder is not followed: it may lead back
            if kind.is_dir() {
                if path.file_name().is_none_or(|name| name != "agents") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "toml") && (kind.is_file() || path.is_file()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_built_in(path: &Path) -> bool {
    path.starts_with(BUILT_IN) && !path.exists()
}

/// A folder of the shipped scenarios, such as `upstream`: below the default folder, or inside this binary.
pub fn shipped(below: &str) -> PathBuf {
    let folder = default_folder().join(below);
    if folder.is_dir() { folder } else { Path::new(BUILT_IN).join(below) }
}

/// The bytes of a file, up to one more than a scenario may have: then the limit is what is wrong with it.
///
/// # Errors
/// A file that cannot be read, or is not a regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if is_built_in(path) {
        // it contains `scenarios`, since a scenario is named by the path after that
        let inside = Path::new(BUILT_IN).join("scenarios");
        let found = built_in::FILES.iter().find(|(name, _)| inside.join(name) == path);
        return found.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    // if nothing is there, or a link leads nowhere, the kernel's error says so
    let data = std::fs::metadata(path)?;
    if data.is_dir() {
        std::fs::read_dir(path)?;
    }
    if !data.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(rehang_scenario::limits::FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Corpus {
    /// Reads and checks files. One that cannot be read is broken, and so is one whose cells have the names of another
    /// file's cells.
    pub fn read(paths: &[PathBuf]) -> Corpus {
        Corpus::read_but_for(paths, |_| false)
    }

    /// As [`Corpus::read`], but a file may have cells that no rule covers.
    pub fn read_uncovered(paths: &[PathBuf]) -> Corpus {
        Corpus::read_but_for(paths, |problem| problem.without_rule)
    }

    fn read_but_for(paths: &[PathBuf], is_excused: impl Fn(&Problem) -> bool) -> Corpus {
        let mut corpus = Corpus::default();
        let mut names: BTreeMap<String, &Path> = BTreeMap::new();
        let strategies = Strategies::default();
        for path in paths {
            let name = path.display().to_string();
            let bytes = match read(path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    corpus.broken.push((path.clone(), Problems::of_file(&name, error.to_string())));
                    continue;
                }
            };
            let loaded = load(&name, &bytes);
            let mut problems = rehang_scenario::check::check(&loaded, &strategies);
            problems.list.retain(|problem| !is_excused(problem));
            match loaded.family {
                Some(family) if problems.is_empty() => match names.insert(family.name.clone(), path) {
                    None => corpus.families.push(family),
                    // named twice, or by a folder and by itself
                    Some(other) if other.canonicalize().ok() == path.canonicalize().ok() => {}
                    Some(other) => {
                        let why =
                            format!("its cells are called `{}`, as those of {} are", family.name, other.display());
                        corpus.broken.push((path.clone(), Problems::of_file(&name, why)));
                    }
                },
                _ => corpus.broken.push((path.clone(), problems)),
            }
        }
        corpus
    }
}
