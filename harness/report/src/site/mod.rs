//! The site: pages of plain HTML about which strategy ends which hang, and which release hangs where.
//!
//! Invariants: no script, no request except for the one style sheet; every number is from the scoreboard or from a row of
//! a real release, every text about a mechanism from the book; what comes from a release is shown as text.

mod agents;
mod boards;
mod claims;
mod hangs;
mod mechanism;
mod releases;

use crate::cell::plain;
use crate::explain::Explained;
use crate::html::BASE;
use maud::{DOCTYPE, Markup, html};
use rehang_compat::Compat;
use rehang_judge::score::ScoreRow;
use rehang_scenario::OutcomeKind;
use std::collections::BTreeMap;

/// The style sheet of the site alone.
const STYLE: &str = include_str!("../page/site.css");
/// Characters of one text.
const TEXT_MAX: usize = 2_000;

/// What a site is made of.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// The command that makes it again.
    pub command: String,
    /// What ran for it, in a few words.
    pub ran: String,
    /// The scoreboard, its strategies in the order in which they are shown.
    pub score: Vec<ScoreRow>,
    /// The strategies, by name, with what each does.
    pub strategies: Vec<(String, String)>,
    /// The catalogue.
    pub mechanisms: Vec<Mechanism>,
    /// The agents whose releases were run.
    pub agents: Vec<Agent>,
    /// The rows, the claims and the limits.
    pub compat: Compat,
    /// The titles of the scenarios that releases were tried on, by name.
    pub titles: BTreeMap<String, String>,
}

/// A mechanism with what belongs to it.
#[derive(Debug, Clone)]
pub struct Mechanism {
    /// What the book says.
    pub text: Explained,
    /// The layer, in a word.
    pub layer: String,
    /// A healthy run that only looks like a hang.
    pub benign: bool,
    /// Its scenarios: name, title.
    pub scenarios: Vec<(String, String)>,
}

/// An agent with its releases.
#[derive(Debug, Clone, Default)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its releases, the oldest first.
    pub versions: Vec<String>,
    /// What was tried on them.
    pub lines: Vec<Line>,
}

/// A scenario on a terminal.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The scenario.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
    /// Its mechanism, if the scenario is known.
    pub mechanism: Option<String>,
    /// What came of it, for each release; `None` if it was not tried.
    pub cells: Vec<Option<Seen>>,
    /// The command that shows it again, with `VERSION` in the place of the release.
    pub command: String,
}

/// What a release did.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// How it ended; `None` if it could not run.
    pub outcome: Option<OutcomeKind>,
    /// What a hang is blocked on, why it failed, why it could not run.
    pub detail: String,
    /// How long it took, in words; empty if it did not run.
    pub took: String,
    /// Its runs differ.
    pub flaky: bool,
}

impl Site {
    /// The files of the site: path and content.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![
            ("style.css".to_owned(), format!("{BASE}{STYLE}")),
            ("index.html".to_owned(), self.page(Place::Home, "Which strategy ends which hang", &boards::home(self))),
            ("grid.html".to_owned(), self.page(Place::Grid, "Strategies and mechanisms", &boards::grid(self))),
            (
                "releases.html".to_owned(),
                self.page(Place::Releases, "Which release hangs where", &releases::page(self)),
            ),
        ];
        files.push((
            "limits.html".to_owned(),
            self.page(Place::Limits, "How long agents wait", &agents::all_limits(self)),
        ));
        files.push(("hangs.html".to_owned(), self.page(Place::Hangs, "Hangs", &hangs::index(self))));
        files.push(("claims.html".to_owned(), self.page(Place::Claims, "Claims", &claims::index(self))));
        for agent in &self.agents {
            files.push((
                format!("agents/{}", file(&agent.name)),
                self.page(Place::Below, &agent.name, &agents::page(self, agent)),
            ));
        }
        for scenario in hangs::all(self) {
            let page = self.page(Place::Below, scenario, &hangs::page(self, scenario));
            files.push((format!("hangs/{}", hangs::file(scenario)), page));
        }
        for (claim, number) in self.compat.claims.iter().zip(1..) {
            let title = format!("Claim {number}: {} {}", claim.agent, claim.says);
            files.push((
                format!("claims/{}", claims::file(claim, number)),
                self.page(Place::Below, &title, &claims::page(self, claim)),
            ));
        }
        for each in &self.mechanisms {
            let title = format!("{} {}", each.text.id, each.text.name);
            let page = self.page(Place::Below, &title, &mechanism::page(self, each));
            files.push((format!("mechanisms/{}.html", each.text.id), page));
        }
        files
    }

    fn page(&self, place: Place, title: &str, content: &Markup) -> String {
        let up = if place == Place::Below { "../" } else { "" };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (text(title)) " · rehang" }
                    link rel="stylesheet" href=(format!("{up}style.css"));
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        p.what { strong { "rehang" } }
                        nav aria-label="Pages" { @for (to, file, name) in PLACES {
                            a href=(format!("{up}{file}")) aria-current=[(to == place).then_some("page")] { (name) }
                        } }
                    }
                    main id="main" tabindex="-1" {
                        h1 { (text(title)) }
                        (content)
                    }
                    footer { p { (text(&self.ran)) ". Made by " code { (text(&self.command)) } } }
                }
            }
        };
        page.into_string()
    }

    /// The mechanism with this id.
    fn mechanism(&self, id: &str) -> Option<&Mechanism> {
        self.mechanisms.iter().find(|each| each.text.id == id)
    }
}

/// A kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Home,
    Grid,
    Releases,
    Limits,
    Hangs,
    Claims,
    /// A page of one thing, in a folder.
    Below,
}

/// What every page links to.
const PLACES: [(Place, &str, &str); 6] = [
    (Place::Home, "index.html", "Which strategy ends which hang"),
    (Place::Grid, "grid.html", "Strategies × mechanisms"),
    (Place::Releases, "releases.html", "Which release hangs where"),
    (Place::Limits, "limits.html", "How long agents wait"),
    (Place::Hangs, "hangs.html", "Hangs"),
    (Place::Claims, "claims.html", "Claims"),
];

/// The file of a page, by a name that may come from anywhere: it has no part that leads into another folder.
fn file(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '-' };
    format!("{}.html", name.chars().map(plain).collect::<String>())
}

/// A text as it is shown.
fn text(text: &str) -> String {
    plain(text, TEXT_MAX)
}

/// A text of the book: what is between backticks is code.
fn words(line: &str) -> Markup {
    let line = line.replace("**", "");
    html! { @for (at, part) in line.split('`').enumerate() {
        @if at % 2 == 1 { code { (text(part)) } } @else { (text(part)) }
    } }
}

/// A score: its count in the board, letter, class and word.
type Mark = (fn(&ScoreRow) -> u64, &'static str, &'static str, &'static str);

/// The scores from bad to good.
const MARKS: [Mark; 7] = [
    (|row| row.harmed, "H", "k-H", "harmed"),
    (|row| row.wrongly, "W", "k-W", "told wrongly"),
    (|row| row.missed, "m", "k-m", "missed"),
    (|row| row.undecided, "?", "k-q", "undecided"),
    (|row| row.stopped, "s", "k-s", "stopped truthfully"),
    (|row| row.resolved, "r", "k-r", "resolved"),
    (|row| row.untouched, "·", "k-u", "untouched"),
];

/// What the letters mean.
fn legend() -> Markup {
    html! { p.legend {
        "A cell has the letter of the worst of its runs, and how many those are: "
        @for (_, letter, class, word) in MARKS.iter().rev() { span { b class=(class) { (letter) } " " (word) } }
    } }
}

/// A cell of a board: the worst score.
fn worst(row: &ScoreRow) -> Markup {
    let mark = MARKS.iter().find(|(count, ..)| count(row) > 0).unwrap_or(&MARKS[6]);
    let (count, letter, class, word) = mark;
    html! { td class=(class) { abbr title=(word) { (letter) } " " (count(row)) } }
}

#[cfg(test)]
mod tests;
