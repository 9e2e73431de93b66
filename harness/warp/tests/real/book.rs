//! The examples of docs/warp.md do what the page says.

use crate::support::{command, has, run};
use libtest_mimic::Trial;
use rehang_warp::Verdict;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/warp.md");

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("book::examples", || {
        let folder = tempfile::tempdir().expect("a folder");
        write_files(folder.path());
        let mut played = 0;
        for (words, expected) in examples() {
            if !has(words[0]) {
                eprintln!("{}: left out, because it is not installed", words[0]);
                continue;
            }
            let mut example = command(&words);
            example.current_dir(folder.path());
            let ran = run(example);
            let Verdict::Exited { code } = ran.ending.verdict else { panic!("{:?}\n{}", ran.ending, ran.output) };
            // whole seconds: a suite may take some milliseconds to end
            let text = format!("rehang: exit code {code} after {} s of virtual time", ran.ending.elapsed.as_secs());
            assert!(expected.starts_with(&text), "{text}, but the page has {expected}\n{}", ran.output);
            played += 1;
        }
        assert!(played >= 2, "only {played}");
        Ok(())
    })]
}

/// Writes the page's files: each is a block that begins with a comment of its name.
fn write_files(folder: &Path) {
    let blocks = PAGE.split("\n```").skip(1).step_by(2);
    for block in blocks {
        let (_, text) = block.split_once('\n').expect("a block");
        let name = text.lines().next().and_then(|line| line.split_ascii_whitespace().nth(1)).expect("a name");
        std::fs::write(folder.join(name), text).expect("a file");
    }
}

/// The commands of the page, and the line after each.
fn examples() -> Vec<(Vec<&'static str>, &'static str)> {
    let lines: Vec<&str> = PAGE.lines().map(str::trim_start).collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let words = pair[0].strip_prefix("$ rehang warp -- ")?.split_ascii_whitespace().collect();
        Some((words, pair[1]))
    });
    pairs.collect()
}
