//! Names the build of the fakes: a digest of the sources that they are made of.
//!
//! Invariant: two binaries with the same name play and announce the same. In a published package the other packages' sources
//! are not there, and its version, which is theirs too, names them. `cargo build --package rehang` builds no
//! binary of this package, so the fakes binary beside a new `rehang` may be of an older build.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// This package and the packages that it is made of.
const SOURCES: [&str; 6] = [
    "src",
    "../harness/scenario/src",
    "../harness/wire/src",
    "../harness/trace/src",
    "../harness/os/src",
    "../harness/strategy/src",
];

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    let published = !Path::new("../harness").is_dir();
    for folder in SOURCES.into_iter().filter(|folder| !published || !folder.starts_with("..")) {
        println!("cargo::rerun-if-changed={folder}");
        digest(Path::new(folder), &mut hasher)?;
    }
    println!("cargo::rustc-env=REHANG_FAKES_BUILD={:016x}", hasher.finish());
    Ok(())
}

fn digest(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            digest(&path, hasher)?;
        } else {
            path.hash(hasher);
            fs::read(&path)?.hash(hasher);
        }
    }
    Ok(())
}
