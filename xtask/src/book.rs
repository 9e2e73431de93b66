//! `cargo xtask book`: the book, made of `docs`, the README, the help of every command and the table of releases.
//!
//! Invariants: the pages are those that the repository has, with their links set to where they are in the book; mdBook is
//! installed below `target` in one version, and nowhere else.

use crate::tools::{self, Profile};
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The version of mdBook.
const VERSION: &str = "0.4.52";
/// The page that is made of the commands' help.
const HELP: &str = "help.md";

/// The chapters that are no pages of `docs`.
const MADE: &str = "- [Every command's help](help.md)
- [Which release hangs where](UPSTREAM.md)
- [The map of the house](CONTRIBUTING.md)
";

/// Makes the book in `target/book`; returns 0.
///
/// # Errors
/// mdBook cannot be installed, or a page is not right.
pub fn book(sh: &Shell) -> xshell::Result<u8> {
    let mdbook = installed(sh)?;
    let made = make(sh, &mdbook)?;
    println!("book: {}", made.join("index.html").display());
    Ok(0)
}

/// Where mdBook is, if it has been installed.
pub fn find() -> Option<PathBuf> {
    Some(tools::target().join("tools/bin/mdbook")).filter(|path| path.is_file())
}

fn installed(sh: &Shell) -> xshell::Result<PathBuf> {
    if let Some(there) = find() {
        return Ok(there);
    }
    let root = tools::target().join("tools");
    println!("book: installing mdbook {VERSION} into {}", root.display());
    // what it is built of is not wanted again
    let build = root.join("build");
    let _env = sh.push_env("CARGO_TARGET_DIR", &build);
    cmd!(sh, "cargo install mdbook --version {VERSION} --locked --no-default-features --features search --debug --root {root}")
        .run()?;
    sh.remove_path(&build)?;
    Ok(root.join("bin/mdbook"))
}

/// Makes the book with this mdBook; returns its folder.
///
/// # Errors
/// A page that cannot be read or written; what mdBook says.
pub fn make(sh: &Shell, mdbook: &Path) -> xshell::Result<PathBuf> {
    let (root, work) = (tools::root(), tools::target().join("book-work"));
    sh.remove_path(&work)?;
    let pages = work.join("docs");
    sh.create_dir(&pages)?;
    sh.copy_file(root.join("book.toml"), &work)?;
    for file in sh.read_dir(root.join("docs"))? {
        if file.extension().is_some_and(|ending| ending == "md") {
            let name = file.file_name().unwrap_or_default();
            sh.write_file(pages.join(name), inside(&sh.read_file(&file)?))?;
        } else {
            sh.copy_file(&file, &pages)?;
        }
    }
    let summary = format!("{}{MADE}", sh.read_file(pages.join("SUMMARY.md"))?);
    sh.write_file(pages.join("SUMMARY.md"), summary)?;
    sh.write_file(pages.join("README.md"), inside(&sh.read_file(root.join("README.md"))?))?;
    sh.write_file(pages.join("UPSTREAM.md"), sh.read_file(root.join("UPSTREAM.md"))?)?;
    sh.write_file(pages.join("CONTRIBUTING.md"), inside(&sh.read_file(root.join("CONTRIBUTING.md"))?))?;
    sh.write_file(pages.join(HELP), help(sh)?)?;
    let made = tools::target().join("book");
    cmd!(sh, "{mdbook} build {work} --dest-dir {made}").quiet().ignore_stderr().run()?;
    Ok(made)
}

/// A page with its links as they are in the book, where all pages are in one folder.
fn inside(page: &str) -> String {
    page.replace("](docs/", "](").replace("](../", "](")
}

/// The help of every command, a section each.
fn help(sh: &Shell) -> xshell::Result<String> {
    let mut page =
        "# Every command's help\n\nMade of `rehang COMMAND --help` and `rehang-lab COMMAND --help`.\n".to_owned();
    for program in [tools::REHANG, tools::LAB] {
        let built = tools::built(sh, program, Profile::Dev)?;
        let of = |command: &[&str]| -> xshell::Result<String> {
            let text = cmd!(sh, "{built} {command...} --help").env("COLUMNS", "90").quiet().read()?;
            Ok(format!("```text\n{}\n```\n", text.trim_end()))
        };
        let all = of(&[])?;
        page.push_str(&format!("\n{all}"));
        for name in commands(&all) {
            page.push_str(&format!("\n## {program} {name}\n\n{}", of(&[name])?));
        }
    }
    Ok(page)
}

/// The commands that a help lists: two blanks, the name, blanks, what it does, below a head such as `Test:`.
fn commands(help: &str) -> Vec<&str> {
    let before = help.split("\nOptions:").next().unwrap_or_default();
    let lines = before.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help" && name.chars().all(|c| c.is_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_names_its_commands() {
        let help = "About.\n\nUsage: rehang <COMMAND>\n\nHung now:\n  why          Say why\n  supervise    Run\n\nShell:\n  \
                    help         Print\n\nOptions:\n  -h, --help  Print help\n\nExamples:\n  rehang run\n";
        assert_eq!(commands(help), ["why", "supervise"]);
    }

    #[test]
    fn links_lead_to_the_pages_of_the_book() {
        assert_eq!(inside("([why](docs/why.md)), [all](../README.md)"), "([why](why.md)), [all](README.md)");
    }
}
