//! The site and the book in a Chromium: plain pages, in every look and on paper.
//!
//! Invariant: a page requests only files of its own folder; no page is wider than its window, and no text is cut.

use super::Visit;
use crate::book;
use crate::tools::{self, Profile};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xshell::Shell;

/// The pages of the site that are looked at.
const SITE: [&str; 4] = ["index.html", "grid.html", "releases.html", "mechanisms/Q1.html"];
/// The pages of the book that are looked at, and what of them is ours.
const BOOK: [&str; 7] = [
    "index.html",
    "virtual-time.html",
    "scenarios.html",
    "mechanisms.html",
    "UPSTREAM.html",
    "help.html",
    "verdicts.html",
];

/// Makes the site of a few folders, and the book if mdBook is there; prints what is not made.
///
/// # Errors
/// A command that cannot be started.
pub fn make(sh: &Shell, folder: &Path) -> xshell::Result<()> {
    println!("pictures: making the site");
    let mut site = Command::new(tools::built(sh, tools::LAB, Profile::Dev)?);
    site.args(["site", "question/", "permission/", "stdin/", "benign/", "upstream/", "--out"]).arg(folder.join("site"));
    let code = tools::code(site.current_dir(tools::root()).stdout(Stdio::null()).status());
    if code != 0 {
        println!("pictures: `rehang-lab site` says {code}; its pages are looked at all the same");
    }
    match book::find() {
        Some(mdbook) => {
            println!("pictures: making the book");
            book::make(sh, &mdbook).map(|_| ())
        }
        None => {
            println!("pictures: the book is NOT LOOKED AT: mdbook is missing (cargo xtask book installs it)");
            Ok(())
        }
    }
}

impl Visit {
    /// Looks at the site and the book.
    pub(super) fn pages(&mut self, reports: &Path) -> io::Result<()> {
        self.folder("site", &reports.join("site"), &SITE, "body")?;
        let book = tools::target().join("book");
        match book.join("index.html").is_file() {
            true => self.folder("book", &book, &BOOK, "main"),
            false => Ok(()),
        }
    }

    /// Looks at some pages of a folder; only what is below `within` is checked.
    fn folder(&mut self, name: &str, folder: &Path, pages: &[&str], within: &str) -> io::Result<()> {
        self.own = vec![folder.to_owned()];
        for page in pages {
            let url = format!("file://{}", folder.join(page).display());
            let stem = Path::new(page).file_stem().map_or(*page, |stem| stem.to_str().unwrap_or(page));
            for (width, height) in super::WIDTHS {
                for theme in super::THEMES {
                    self.browser.look(width, height, theme)?;
                    self.browser.open(&url)?;
                    self.within(within)?;
                    self.measure(&format!("{name}-{stem}-{width}-{theme}"))?;
                }
            }
            self.paper(&format!("{name}-{stem}"), &url, within)?;
        }
        self.own = Vec::new();
        self.browser.look(1_280, 900, "light")
    }

    fn within(&mut self, selector: &str) -> io::Result<()> {
        self.browser.eval(&format!("window.rehangWithin = {selector:?}")).map(|_| ())
    }

    /// Looks at a page as it is on paper: A4, landscape, and makes a PDF of it.
    pub(super) fn paper(&mut self, name: &str, url: &str, within: &str) -> io::Result<()> {
        self.browser.print()?;
        self.browser.open(url)?;
        self.within(within)?;
        self.measure(&format!("{name}-paper"))?;
        let pdf = self.browser.pdf()?;
        self.save(&format!("{name}.pdf"), pdf)
    }

    /// Whether an address is one of the page's own files.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let path = |url: &str| {
            url.strip_prefix("file://").map(|path| PathBuf::from(path.split(['?', '#']).next().unwrap_or(path)))
        };
        path(url).is_some_and(|path| self.own.iter().any(|folder| path.starts_with(folder)))
    }
}
