//! Who may rest on whom, and how large each crate may become.
//!
//! Invariants held here: a program that embeds the diagnosis, the strategies or the supervisor builds only the crates named
//! in [`EMBEDDED`], and no parser of scenario files; no crate has more lines than its budget in [`LINES`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates that other programs embed, and the crates of this workspace on which each of them rests.
const EMBEDDED: [(&str, &[&str]); 6] = [
    ("hangs", &["words"]),
    ("evidence", &["hangs", "wire", "words"]),
    ("strategy", &["evidence", "hangs", "wire", "words"]),
    ("supervise", &["evidence", "hangs", "processes", "strategy", "wire", "words"]),
    ("processes", &["words"]),
    ("c-api", &["evidence", "hangs", "strategy", "wire", "words"]),
];
/// What none of those crates may build: the file format, its schema, its error messages, a program's arguments.
const NOT_EMBEDDED: [&str; 5] = ["toml", "toml_edit", "schemars", "annotate-snippets", "clap"];
/// The most lines of Rust, without tests, that a build of `rehang-supervise` compiles of this workspace.
const BEHIND_SUPERVISE: usize = 30_594;
/// Names of files and folders in `src` that only tests are made of; and the files of `rehang-wire` that are built for a
/// scripted model alone.
const LEFT_OUT: [&str; 6] = ["tests", "tests.rs", "testing.rs", "laws", "laws.rs", "wire/src/model/script.rs"];
/// The most lines of Rust in the `src` folder of each crate, its tests there included. One rises only with what is
/// new, by as much as that takes.
const LINES: [(&str, usize); 34] = [
    ("accept", 2_464),
    ("actors", 2_883),
    ("agents", 1_988),
    ("c-api", 1_115),
    ("cli", 9_347),
    ("compat", 1_041),
    ("conform", 2_498),
    ("drift", 1_751),
    ("evidence", 21_674),
    ("hangs", 1_601),
    ("issue", 1_115),
    ("judge", 8_256),
    ("lab", 2_806),
    ("live", 5_354),
    ("logs", 13_255),
    ("model-server", 1_958),
    ("oracle", 400),
    ("os", 12_042),
    ("processes", 377),
    ("random-traces", 220),
    ("report", 2_701),
    ("runner", 2_999),
    ("scenario", 9_144),
    ("screens", 1_393),
    ("search", 4_931),
    ("stage", 4_806),
    ("strategy", 14_168),
    ("supervise", 2_328),
    ("trace", 1_427),
    ("upstream", 1_941),
    ("warp", 5_667),
    ("wire", 6_047),
    ("words", 1_942),
    ("wrapper", 2_372),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The crates in `harness`, by their folders.
fn crates() -> BTreeSet<String> {
    let folders = std::fs::read_dir(root().join("harness")).expect("the crates").flatten();
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The dependencies of a crate that every build of it has: neither optional ones nor those of its tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(root().join("harness").join(name).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("[dependencies]\n").nth(1).expect("dependencies");
    let section = section.split("\n[").next().unwrap_or_default();
    let lines = section.lines().filter(|line| !line.contains("optional = true") && !line.starts_with('#'));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// All that a crate rests on: crates of this workspace by their folders, others by their names.
fn rests_on(name: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut own, mut others, mut next) = (BTreeSet::new(), BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = next.pop() {
        for dependency in dependencies(&name) {
            match dependency.strip_prefix("rehang-") {
                Some(folder) if own.insert(folder.to_owned()) => next.push(folder.to_owned()),
                Some(_) => {}
                None => drop(others.insert(dependency)),
            }
        }
    }
    (own, others)
}

/// The lines of all Rust files in the `src` folder of a crate, its tests included or not.
fn lines(name: &str, with_tests: bool) -> usize {
    let (mut count, mut folders) = (0, vec![root().join("harness").join(name).join("src")]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if !with_tests && LEFT_OUT.iter().any(|left_out| path.ends_with(left_out)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a file");
                let whole = text.lines().count();
                let until_tests =
                    text.split("#[cfg(test)]\nmod tests {").next().map_or(whole, |text| text.lines().count());
                count += if with_tests { whole } else { until_tests };
            }
        }
    }
    count
}

#[test]
fn what_others_embed_rests_on_few_crates() {
    for (name, wanted) in EMBEDDED {
        let (own, others) = rests_on(name);
        assert_eq!(own, wanted.iter().map(|&name| name.to_owned()).collect(), "what rehang-{name} rests on");
        let forbidden: Vec<&str> = NOT_EMBEDDED.into_iter().filter(|name| others.contains(*name)).collect();
        assert!(forbidden.is_empty(), "rehang-{name} builds {forbidden:?}");
    }
    let behind: usize =
        rests_on("supervise").0.iter().map(|name| lines(name, false)).sum::<usize>() + lines("supervise", false);
    assert!(behind <= BEHIND_SUPERVISE, "{behind} lines are behind rehang-supervise");
}

#[test]
fn no_crate_outgrows_its_budget() {
    let budgets = BTreeMap::from(LINES);
    let named: BTreeSet<String> = budgets.keys().map(|&name| name.to_owned()).collect();
    assert_eq!(named, crates(), "each crate in harness has a budget of lines");
    let over: Vec<String> = budgets
        .into_iter()
        .map(|(name, most)| (name, lines(name, true), most))
        .filter(|(_, count, most)| count > most)
        .map(|(name, count, most)| format!("harness/{name} has {count} lines; its budget is {most}"))
        .collect();
    assert!(over.is_empty(), "take out what the change made superfluous:\n{}", over.join("\n"));
}
