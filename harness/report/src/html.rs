//! The report: one HTML file that needs no network.
//!
//! The page's frame is written here, its data is in it as compressed JSON, and `page/report.js` draws it. Cells come in
//! chunks that are unpacked when they are opened, so that a report of 5,000 cells opens as fast as one of 50.
//!
//! Invariants: data cannot leave its script element (base64 has no `<`); the script puts it into the page as text; the
//! page's policy lets no other script run and fetches nothing.

use crate::cell::{CellPage, plain};
use crate::explain::Explained;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use rehang_judge::score::ScoreRow;
use rehang_scenario::{BlockedOn, Invariant, text};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

const SCRIPT: &str = include_str!("page/report.js");
const STYLE: &str = include_str!("page/report.css");
/// What the report and the site have in common: colours, type, tables.
pub(crate) const BASE: &str = include_str!("page/base.css");
/// Characters of a title or a command.
const TITLE_MAX: usize = 2_000;
/// The level of compression, at most 10: a whole matrix is packed in seconds, and a higher level gains little.
const COMPRESSION: u8 = 7;
/// Cells of one chunk.
const CHUNK: usize = 40;

/// What a report holds.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What ran, for the title: `42 scenarios in lockstep`.
    pub title: String,
    /// The command that makes this report again.
    pub command: String,
    /// How many cells ran.
    pub ran: usize,
    /// How many of them are not as expected.
    pub unexpected: usize,
    /// What could not run although it was selected; the page shows it first.
    pub unseen: Vec<Unseen>,
    /// The arguments that make a command read these cells' files, after a blank: ` --scenarios my-hang.toml`.
    pub reading: String,
    /// The scoreboard, its strategies in the order in which they are shown.
    pub score: Vec<ScoreRow>,
    /// What the catalogue says of mechanisms; those of other cells are left out.
    pub mechanisms: Vec<Explained>,
    /// The cells.
    pub cells: Vec<CellPage>,
}

/// Something that could not run although it was selected.
#[derive(Debug, Clone, Default)]
pub struct Unseen {
    /// A file, or a cell.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What the list of cells shows; the rest of a cell is in its chunk.
#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    stage: &'a str,
    strategy: &'a str,
    mechanism: &'a str,
    terminal: &'a str,
    control: bool,
    outcome: &'a str,
    why: Option<&'a str>,
    broken: &'a [Invariant],
    wrong: Option<&'a str>,
    virtual_ms: u64,
}

/// Writes a report.
pub fn html(page: &Page) -> String {
    let entries: Vec<Entry<'_>> = page.cells.iter().map(entry).collect();
    document(page, &entries).into_string()
}

fn entry(cell: &CellPage) -> Entry<'_> {
    let row = &cell.row;
    Entry {
        id: &cell.id,
        stage: row.stage.name(),
        strategy: &row.strategy,
        mechanism: &cell.mechanism,
        terminal: row.terminal.name(),
        control: cell.control,
        outcome: row.outcome.word(),
        why: row.cause.as_deref().or(row.blocked_on.map(BlockedOn::word)),
        broken: &row.broken,
        wrong: cell.mismatches.first().map(String::as_str),
        virtual_ms: row.virtual_ms,
    }
}

fn document(page: &Page, entries: &[Entry<'_>]) -> Markup {
    let head = head(&page.title, Some(SCRIPT));
    html! {
        (DOCTYPE)
        html lang="en" data-chunk=(CHUNK) data-reading=(plain(&page.reading, 4_096)) {
            (head)
            body {
                a.skip href="#main" { "Skip to the content" }
                (banner(&page.title, &counted(page)))
                main id="main" tabindex="-1" {
                    noscript {
                        style { "#board, #list { display: none; }" }
                        p.verdict.failed {
                            "This report draws its pictures with a script, and scripts are off here. Let this one file \
                             run its own (it fetches nothing), or see a cell in a terminal: "
                            code { "rehang show CELL" }
                        }
                    }
                    @if !page.unseen.is_empty() { section id="unseen" aria-labelledby="unseen-title" {
                        h2 id="unseen-title" { "What has no picture" }
                        ul.bad { @for one in &page.unseen {
                            li { code { (plain(&one.name, TITLE_MAX)) } ": " (plain(&one.why, TITLE_MAX)) }
                        } }
                    } }
                    section id="board" aria-labelledby="board-title" {
                        h2 id="board-title" { "Which strategy ends which hang, and which does harm" }
                        p {
                            "A square opens its cells; it has the letter of the worst of them, and how many those are:"
                            @for (letter, means) in LETTERS { " " span.letter { b class=(class(letter)) { (letter) } " " (means) } }
                        }
                        div.scroll.tall id="heat" {}
                        div id="sheets" {}
                        div id="meanings" {}
                    }
                    section id="list" aria-labelledby="list-title" {
                        h2 id="list-title" tabindex="-1" { "Cells" }
                        form id="filter" role="search" {
                            label { "Filter " input id="words" type="search" autocomplete="off" spellcheck="false"; }
                            label { input id="bad" type="checkbox"; " only what is not as expected" }
                            span id="count" role="status" {}
                        }
                        div.scroll id="cells" {}
                        nav id="pages" aria-label="Pages" {}
                    }
                    section id="cell" hidden aria-labelledby="cell-title" {}
                }
                (footer(&page.command))
                (data("score", &page.score))
                (data("entries", entries))
                (data("mechanisms", &meant(page, entries)))
                @for (place, chunk) in page.cells.chunks(CHUNK).enumerate() {
                    (data(&format!("chunk-{place}"), chunk))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The letters of the scoreboard, from good to bad.
const LETTERS: [(&str, &str); 7] = [
    ("r", "resolved"),
    ("s", "stopped truthfully"),
    ("?", "undecided"),
    ("m", "missed"),
    ("W", "told wrongly"),
    ("H", "harmed"),
    ("·", "untouched"),
];

/// The class of a letter's colour.
fn class(letter: &str) -> String {
    let class = match letter {
        "·" => "u",
        "?" => "q",
        letter => letter,
    };
    format!("k-{class}")
}

/// The mechanisms that the cells have, by id.
fn meant<'a>(page: &'a Page, entries: &[Entry<'_>]) -> BTreeMap<&'a str, &'a Explained> {
    let shown: BTreeSet<&str> = entries.iter().map(|entry| entry.mechanism).collect();
    let known = page.mechanisms.iter().filter(|known| shown.contains(known.id.as_str()));
    known.map(|known| (known.id.as_str(), known)).collect()
}

/// How many cells ran, and whether they are as expected, with links to those that are not.
fn counted(page: &Page) -> Markup {
    html! {
        (text::counted(page.ran, "cell")) ", "
        @match page.unexpected {
            0 if page.ran == 0 => "nothing to judge",
            0 => span.good { "all as expected" },
            n => a.bad href="#bad" { (n) " NOT as expected" },
        }
    }
}

/// The head of a page: it may run this script and no other, and fetch nothing.
pub(crate) fn head(title: &str, script: Option<&str>) -> Markup {
    let script = script.map_or("'none'".to_owned(), |script| format!("'sha256-{}'", base64(&Sha256::digest(script))));
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; script-src {script}");
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { "rehang: " (plain(title, TITLE_MAX)) }
            style { (PreEscaped(BASE)) (PreEscaped(STYLE)) }
        }
    }
}

/// The top of a page: its title and summary.
pub(crate) fn banner(title: &str, summary: &Markup) -> Markup {
    html! {
        header {
            h1 { a href="#" { "rehang" } }
            p.what { (plain(title, TITLE_MAX)) }
            p.summary { (summary) }
        }
    }
}

/// The end of a page: the command that makes it again.
pub(crate) fn footer(command: &str) -> Markup {
    html! { footer { p { "Made by " code { (plain(command, TITLE_MAX)) } } } }
}

/// Data in a script element that is not run: JSON, deflated (zlib), in base64.
fn data<T: Serialize + ?Sized>(id: &str, value: &T) -> Markup {
    let text = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
    let packed = base64(&miniz_oxide::deflate::compress_to_vec_zlib(&text, COMPRESSION));
    html! { script type="text/plain" id=(id) { (PreEscaped(packed)) } }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let of = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let all = of(0) << 16 | of(1) << 8 | of(2);
        for place in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_rfc() {
        let told = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(told, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn what_is_wrong_is_said_without_a_script_and_can_be_gone_to() {
        let good = html(&Page { ran: 1, ..Page::default() });
        assert!(
            good.contains(r#"1 cell, <span class="good">all as expected</span>"#)
                && !good.contains("NOT as expected</a>"),
            "{good}"
        );
        let unseen = vec![Unseen { name: "bad.toml".into(), why: "line 1: unknown key".into() }];
        let bad = html(&Page { ran: 9, unexpected: 2, unseen, ..Page::default() });
        assert!(bad.contains(r##"9 cells, <a class="bad" href="#bad">2 NOT as expected</a>"##), "{bad}");
        assert!(bad.contains("<li><code>bad.toml</code>: line 1: unknown key</li>"), "{bad}");
    }

    /// A browser finds this out only when the line is run, and CI may have no browser.
    #[test]
    fn the_script_calls_only_what_it_or_the_browser_has() {
        const GIVEN: [&str; 16] = [
            "encodeURIComponent",
            "matchMedia",
            "if",
            "for",
            "while",
            "catch",
            "switch",
            "function",
            "async",
            "await",
            "return",
            "atob",
            "setInterval",
            "clearInterval",
            "setTimeout",
            "super",
        ];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let code = SCRIPT.lines().filter(|line| !line.trim_start().starts_with("/*")).collect::<Vec<_>>().join("\n");
        let mut calls = 0;
        for (at, _) in code.match_indices('(') {
            let before = &code[..at];
            let start = before.rfind(|c| !is_word(c)).map_or(0, |at| at + 1);
            let name = &before[start..];
            let begin = before[..start].chars().next_back().unwrap_or(' ');
            let is_call = name.starts_with(|c: char| c.is_ascii_lowercase()) && !".`'\"".contains(begin);
            if !is_call || GIVEN.contains(&name) {
                continue;
            }
            calls += 1;
            let declared = ["const", "let", "function"].map(|word| format!("{word} {name} "));
            let named = declared.iter().any(|line| code.contains(line))
                || [format!("({name}, "), format!(", {name})")].iter().any(|list| code.contains(list));
            assert!(named, "nothing is called {name}: …{}", &code[start.saturating_sub(40)..at]);
        }
        assert!(calls > 100, "{calls}");
    }

    #[test]
    fn nothing_of_the_data_is_markup() {
        let evil = "</script><img src=x onerror=alert(1)>\u{202e}";
        let page = Page {
            title: evil.into(),
            command: evil.into(),
            unseen: vec![Unseen { name: evil.into(), why: evil.into() }],
            reading: evil.into(),
            ..Page::default()
        };
        let text = html(&page);
        assert!(!text.contains("<img") && !text.contains('\u{202e}'), "{text}");
        assert_eq!(text.matches("</script>").count(), 4, "score, entries, mechanisms, the page's own");
    }
}
