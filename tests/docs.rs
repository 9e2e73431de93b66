//! README and book: short enough, and every link in them has its target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most words of the README, which is to be read in two minutes.
const README_WORDS: usize = 900;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the repository").to_owned()
}

/// The README and all pages, by path from the root.
fn pages() -> Vec<(PathBuf, String)> {
    let docs = std::fs::read_dir(root().join("docs")).expect("there is a folder `docs`");
    let mut paths: Vec<PathBuf> = docs.map(|entry| entry.expect("it can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.extend([root().join("README.md"), root().join("CONTRIBUTING.md")]);
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).expect("a page is text"));
    paths.into_iter().map(read).collect()
}

/// The targets of a page's links, without those of the web.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).filter(|link| !link.starts_with("http"))
}

#[test]
fn the_readme_has_at_most_900_words() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let words = readme.split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words");
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    for (path, text) in pages() {
        let folder = path.parent().expect("a page is in a folder");
        let is_dead = |link: &&str| !folder.join(link.split('#').next().unwrap_or_default()).exists();
        dead.extend(links(&text).filter(is_dead).map(|link| format!("{}: {link}", path.display())));
    }
    assert_eq!(dead, [""; 0]);
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("there is a summary");
    let listed: BTreeSet<&str> = links(&summary).collect();
    let names = pages().into_iter().filter(|(path, _)| path.parent() == Some(&root().join("docs")));
    let names = names.map(|(path, _)| path.file_name().expect("a page has a name").to_string_lossy().into_owned());
    let left_out: Vec<String> = names.filter(|name| name != "SUMMARY.md" && !listed.contains(name.as_str())).collect();
    assert_eq!(left_out, [""; 0]);
}
