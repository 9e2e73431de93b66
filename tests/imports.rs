//! A rule about imports: modules that import one another are in one folder, and there are few of them.
//!
//! Invariants held here, in each crate: no circle of files spans two folders, and none has more than [`LARGEST`] files. A
//! file imports another if it names something of its module, in a `use` or in a path; its tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The most files that may import one another: a persona's state machine has four, each with its part of the methods.
const LARGEST: usize = 5;
/// Files that only tests are made of.
const OF_TESTS: [&str; 5] = ["tests", "testing", "laws", "bench", "round_trip"];

/// A module's path in its crate.
type Module = Vec<String>;

#[test]
fn circles_of_imports_are_small_and_in_one_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = std::fs::read_dir(root.join("harness")).expect("the crates").flatten().map(|entry| entry.path());
    let (mut files, mut wrong) = (0, Vec::new());
    for folder in crates.chain([root.join("fake-agents"), root.join("xtask")]) {
        let modules = modules(&folder.join("src"));
        files += modules.len();
        for circle in circles(&imports(&modules)) {
            let folders: BTreeSet<_> = circle.iter().map(|module| modules[module].parent()).collect();
            if folders.len() > 1 || circle.len() > LARGEST {
                let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
                wrong.push(format!("{}: {}", folder.display(), names.join(", ")));
            }
        }
    }
    assert!(files > 400, "only {files} files were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files below a folder by their modules, those of tests left out.
fn modules(src: &Path) -> BTreeMap<Module, PathBuf> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![src.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let of_tests = OF_TESTS.contains(&stem.as_str()) || stem.ends_with("_tests");
            if path.is_dir() && !of_tests {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !of_tests {
                let inside = folder.strip_prefix(src).unwrap_or(&folder);
                let mut module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if !["mod", "lib", "main"].contains(&stem.as_str()) {
                    module.push(stem);
                }
                found.insert(module, path);
            }
        }
    }
    found
}

/// The modules that each module imports.
fn imports(modules: &BTreeMap<Module, PathBuf>) -> BTreeMap<Module, BTreeSet<Module>> {
    let of = |(module, path): (&Module, &PathBuf)| {
        let text = std::fs::read_to_string(path).expect("a source file can be read");
        let named = named(&code(&text)).into_iter().filter_map(|path| resolved(module, &path, modules));
        (module.clone(), named.filter(|other| other != module).collect())
    };
    modules.iter().map(of).collect()
}

/// The code without comments and tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every path in the code that begins in this crate, the groups of a `use` taken apart.
fn named(code: &str) -> Vec<String> {
    let mut all = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                expand("", &code[at..], &mut all);
            }
        }
    }
    all
}

/// The paths of a tree such as `a::{b, c::{d, e}}`, and the tree's length in bytes.
fn expand(before: &str, tree: &str, all: &mut Vec<String>) -> usize {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let len = tree.find(|c| !word(c)).unwrap_or(tree.len());
    let path = format!("{before}{}", &tree[..len]);
    if !path.ends_with("::") || !tree[len..].starts_with('{') {
        all.push(path);
        return len;
    }
    let mut at = len + 1;
    while let Some(c) = tree[at..].chars().next() {
        match c {
            '}' => return at + 1,
            c if word(c) => at += expand(&path, &tree[at..], all),
            c => at += c.len_utf8(),
        }
    }
    at
}

/// The module of this crate that a path refers to.
fn resolved(from: &Module, path: &str, modules: &BTreeMap<Module, PathBuf>) -> Option<Module> {
    let mut parts = path.split("::").filter(|part| !part.is_empty()).peekable();
    let mut whole = from.clone();
    match parts.peek() {
        Some(&"crate") => whole.clear(),
        Some(&"super" | &"self") => {}
        _ => return None,
    }
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(whole.pop()),
            part => whole.push(part.to_owned()),
        }
    }
    (0..=whole.len()).rev().map(|len| whole[..len].to_vec()).find(|module| modules.contains_key(module))
}

/// The sets of more than one module that all lead to one another.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            for other in &imports[&module] {
                if seen.insert(other.clone()) {
                    next.push(other.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = imports.keys().map(|module| (module, reached(module))).collect();
    let with = |module: &Module| -> BTreeSet<Module> {
        reached[module].iter().filter(|other| reached[*other].contains(module)).cloned().collect()
    };
    imports.keys().map(with).filter(|circle| circle.len() > 1).collect()
}

mod tests {
    use super::*;

    #[test]
    fn groups_are_taken_apart() {
        let paths = named("use crate::a::{self, b::{C, d}, E};\nlet x = super::f::G { h: self.i };");
        assert_eq!(paths, ["crate::a::self", "crate::a::b::C", "crate::a::b::d", "crate::a::E", "super::f::G"]);
    }

    #[test]
    fn a_circle_is_found_through_others() {
        let module = |name: &str| vec![name.to_owned()];
        let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "e")];
        let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in edges {
            imports.entry(module(from)).or_default().insert(module(to));
        }
        assert_eq!(circles(&imports), BTreeSet::from([["a", "b", "c"].map(module).into()]));
    }
}
