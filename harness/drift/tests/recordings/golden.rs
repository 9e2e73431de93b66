//! The recordings of fake-agents/tests/golden, and those of them that are exchanges over a release's standard streams.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A line of an exchange.
pub struct Line {
    /// When it came, in milliseconds.
    pub ms: u64,
    /// `IN`, `OUT`, or what else the recording's test names.
    pub dir: String,
    /// What was said: JSON, or a text that is none.
    pub message: Value,
}

/// All recordings.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fake-agents/tests/golden")
}

/// What is in a folder, in the order of names.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    all.sort();
    all
}

/// The recordings of one release: `codex-0.169.0`. Folders in it hold those of other tests.
pub fn files(release: &str) -> Vec<PathBuf> {
    entries(&root().join(release)).into_iter().filter(|path| path.is_file()).collect()
}

/// A recording's name.
pub fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// An exchange.
pub fn read(file: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(file).expect("a recording");
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let ms = (line["t"].as_f64().expect("an instant") * 1_000.0) as u64;
        Line { ms, dir: line["dir"].as_str().expect("a direction").to_owned(), message: line["msg"].clone() }
    };
    text.lines().map(line).collect()
}
