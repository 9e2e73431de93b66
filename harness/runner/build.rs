//! Puts the scenarios into the binary, so that one installed file is enough.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    // Relative to the package's folder, in which a build script runs: a compiled-in path would be wrong once a clone is
    // moved. There is a link to the repository's folder, in whose place a published package has the files.
    let folder = Path::new("scenarios").canonicalize()?;
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut text =
        String::from("/// The scenario files that were there when this was built: path below `scenarios`, text.\n");
    text.push_str("pub const FILES: &[(&str, &str)] = &[\n");
    for path in &files {
        let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    text.push_str("];\n");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    std::fs::write(out.join("corpus.rs"), text)
}

/// All scenario files below a folder; the folder `agents` holds something else.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "agents" {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
