//! README and book: short enough, every link in them has its target, every scenario in them is one.

mod claims;
mod compat;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most words of the README, which is to be read in two minutes.
const README_WORDS: usize = 780;

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

/// The shipped data.
fn compat() -> rehang_compat::Compat {
    let text = std::fs::read_to_string(root().join("compat.json")).expect("there is a compat.json");
    rehang_compat::Compat::read(&text).expect("it has the format")
}

/// Holds a page to end with `due`, which begins with the heading `from`; writes it there if `UPDATE_EXPECT` is set.
fn ends_with(page: &str, from: &str, due: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("there is the page");
    let (head, shown) = text.split_at(text.find(from).expect("the page has the heading"));
    if shown != due && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{head}{due}")).expect("the page can be written");
    }
    assert!(shown == due, "{page} differs from compat.json: run this with UPDATE_EXPECT=1");
}

/// The targets of a page's links, without those of the web.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).filter(|link| !link.starts_with("http"))
}

#[test]
fn the_readme_is_short() {
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

/// What a link to a heading has after its `#`: the heading in small letters, without marks, with `-` for blanks.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_to_a_heading_has_it() {
    let (mut wrong, mut pages_read) = (Vec::new(), 0);
    for (path, text) in pages() {
        pages_read += 1;
        let folder = path.parent().expect("a page is in a folder");
        for (file, at) in links(&text).filter_map(|link| link.split_once('#')) {
            let target = if file.is_empty() { path.clone() } else { folder.join(file) };
            let page = std::fs::read_to_string(&target).unwrap_or_default();
            let mut headings = page.lines().filter(|line| line.starts_with('#'));
            if !headings.any(|line| anchor(line.trim_start_matches('#').trim()) == at) {
                wrong.push(format!("{}: {file}#{at}", path.display()));
            }
        }
    }
    assert!(pages_read > 20, "{pages_read}");
    assert_eq!(wrong, [""; 0]);
    assert_eq!(anchor("Testing a wrapper?"), "testing-a-wrapper");
}

/// The blocks of code of a language in a page.
fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let fence = format!("```{language}\n");
    let starts: Vec<usize> = text.match_indices(&fence).map(|(at, _)| at + fence.len()).collect();
    starts.into_iter().filter_map(|at| text[at..].split("\n```").next())
}

#[test]
fn every_scenario_of_the_book_is_one() {
    let (mut wrong, mut read) = (Vec::new(), 0);
    for (path, text) in pages() {
        for block in blocks(&text, "toml").filter(|block| block.contains("\nmechanism")) {
            read += 1;
            let loaded = rehang_scenario::file::load(&path.display().to_string(), block.as_bytes());
            if loaded.family.is_none() {
                wrong.push(loaded.problems.to_string());
            }
        }
    }
    assert!(read >= 2, "only {read} scenarios were found");
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_picture_has_a_text_and_fetches_nothing() {
    let mut pictures = 0;
    for (path, text) in pages() {
        for rest in text.split("![").skip(1) {
            let Some((alt, link)) = rest.split_once("](") else { continue };
            let file = path.parent().expect("a folder").join(link.split(')').next().unwrap_or_default());
            let svg = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(alt.split_whitespace().count() > 5, "{}: {alt:?} says too little", path.display());
            assert!(svg.contains("<title") && svg.contains("prefers-color-scheme: dark"), "{}", file.display());
            assert!(
                !svg.contains("href") && svg.matches("http").count() == 1,
                "{}: only its namespace",
                file.display()
            );
            pictures += 1;
        }
    }
    assert!(pictures >= 1, "the book has a picture");
}
