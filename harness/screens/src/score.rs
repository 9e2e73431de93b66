//! What detectors say of the recorded moments, counted.
//!
//! Invariant: the tables of `docs/screens.md` are these (`tests/recordings.rs`).

use crate::label::Label;
use crate::moment::Moment;
use crate::recording::{OSC_OF_HOOKS, Recording, Recordings};
use crate::says::{Detector, Says};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How often a detector said what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score(BTreeMap<(Label, Says), usize>);

impl Score {
    /// Of these moments of these agents.
    pub fn of<'r>(detector: Detector, moments: impl Iterator<Item = (&'r str, &'r Recording)>) -> Score {
        let mut score = Score::default();
        for (agent, recording) in moments {
            *score.0.entry((recording.label, detector.says(agent, recording))).or_default() += 1;
        }
        score
    }

    /// How often it said this where that was so.
    pub fn count(&self, label: Label, says: Says) -> usize {
        self.0.get(&(label, says)).copied().unwrap_or(0)
    }

    fn sum(&self, counts: impl Fn(Label, Says) -> bool) -> usize {
        self.0.iter().filter(|((label, says), _)| counts(*label, *says)).map(|(_, count)| count).sum()
    }

    /// How often it was right.
    pub fn right(&self) -> usize {
        self.sum(is_right)
    }

    /// How often it said *idle* where the turn was not over.
    pub fn false_idle(&self) -> usize {
        self.sum(|label, says| says == Says::Idle && label != Label::Waiting)
    }

    /// How often it said *working* where nothing moves by itself.
    pub fn false_working(&self) -> usize {
        self.sum(|label, says| says == Says::Working && label != Label::Working)
    }

    /// How many moments there were.
    pub fn all(&self) -> usize {
        self.sum(|_, _| true)
    }
}

fn is_right(label: Label, says: Says) -> bool {
    says == match label {
        Label::Working => Says::Working,
        Label::Asking => Says::Asking,
        Label::Waiting => Says::Idle,
        Label::Stuck => Says::Stuck,
    }
}

fn moments(all: &[Recordings]) -> impl Iterator<Item = (&str, &Recording)> {
    all.iter().flat_map(|of| of.moments.iter().map(|recording| (of.agent.as_str(), recording)))
}

/// The tables of the page, with their headings. Detectors are scored on terminals that do not answer for OSC 7501, as nearly
/// all are.
pub fn page_tables(all: &[Recordings]) -> String {
    let mut page = String::from("## What is recorded\n\n");
    recorded(&mut page, all);
    let (status, plain): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|of| of.program_status);
    scored(&mut page, &plain);
    said(&mut page, &plain, &status);
    page
}

/// Each detector's counts, and what it says, by what is true.
fn scored(page: &mut String, all: &[Recordings]) {
    page.push_str(
        "\n## How often each is right\n\n| detector | moments | right | false idle | false working | \
         otherwise at the second look |",
    );
    for label in Label::ALL {
        let _ = write!(page, " {} |", label.words());
    }
    let _ = writeln!(page, "\n|---|---|---|---|---|---|{}", "---|".repeat(Label::ALL.len()));
    for detector in Detector::ALL {
        // most second looks were taken before there were hooks in this table
        let again = match detector {
            Detector::Hooks => "–".to_owned(),
            _ => moments(all).filter(|(_, recording)| recording.again.contains_key(&detector)).count().to_string(),
        };
        let score = Score::of(detector, moments(all));
        let (n, right, name) = (score.all(), score.right(), detector.name());
        let (idle, working) = (score.false_idle(), score.false_working());
        let _ = write!(page, "| {name} | {n} | {right} | {idle} | {working} | {again} |");
        for label in Label::ALL {
            let said =
                Says::ALL.into_iter().map(|says| (says, score.count(label, says))).filter(|(_, count)| *count > 0);
            let said: Vec<String> = said
                .map(|(says, count)| {
                    let text = format!("{count} {}", says.words());
                    if is_right(label, says) { format!("**{text}**") } else { text }
                })
                .collect();
            let _ = write!(page, " {} |", said.join(", "));
        }
        page.push('\n');
    }
    by_release(page, all);
    let is_wrong = |detector: Detector, agent: &str, recording: &Recording| {
        let says = detector.says(agent, recording);
        (!is_right(recording.label, says)).then(|| says.words().to_owned())
    };
    by_moment(page, "Where each is wrong", all, is_wrong);
    let differs = |detector: Detector, agent: &str, recording: &Recording| {
        let (first, second) = (detector.says(agent, recording), recording.again.get(&detector)?);
        Some(format!("{}, then {}", first.words(), second.words()))
    };
    by_moment(page, "What each says otherwise at the second look", all, differs);
}

/// How often each detector is right on each release.
fn by_release(page: &mut String, all: &[Recordings]) {
    page.push_str("\n## How often each is right, by release\n\n| release | terminal | moments |");
    for detector in Detector::ALL {
        let _ = write!(page, " {} |", detector.name());
    }
    let _ = writeln!(page, "\n|---|---|---|{}", "---|".repeat(Detector::ALL.len()));
    for of in all {
        let (columns, rows) = of.size;
        let _ = write!(page, "| {} {} | {columns} × {rows} | {} |", of.agent, of.version, of.moments.len());
        for detector in Detector::ALL {
            let score = Score::of(detector, of.moments.iter().map(|recording| (of.agent.as_str(), recording)));
            let _ = write!(page, " {} |", score.right());
        }
        page.push('\n');
    }
}

/// What the newest release of each agent says of itself at each moment: its title, and its program status if it says one.
fn said(page: &mut String, plain: &[Recordings], status: &[Recordings]) {
    let mut columns: Vec<(String, &Recordings)> = Vec::new();
    for (all, what) in [(plain, ""), (status, ", OSC 7501 answered")] {
        for of in all {
            let name = format!("{} {}{what}", of.agent, of.version);
            if columns.iter().all(|(_, known)| known.agent != of.agent || known.program_status != of.program_status) {
                columns.push((name, of));
            }
        }
    }
    page.push_str("\n## What each says of itself\n\n| moment | truth |");
    for (name, _) in &columns {
        let _ = write!(page, " {name} |");
    }
    let _ = writeln!(page, "\n|---|---|{}", "---|".repeat(columns.len()));
    for moment in Moment::ALL {
        let _ = write!(page, "| {} | {} |", moment.name(), moment.label().words());
        for (_, of) in &columns {
            let cell = match of.moments.iter().find(|recording| recording.moment == moment) {
                Some(recording) => own_words(recording),
                None => "–".to_owned(),
            };
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
}

/// The title, and the program status.
fn own_words(recording: &Recording) -> String {
    let status = recording.osc.iter().filter(|osc| osc.number == 7501 && osc.text.starts_with("state="));
    let title = Some(&recording.title).filter(|title| !title.is_empty()).into_iter().cloned();
    let hook = recording.osc.iter().filter(|osc| osc.number == OSC_OF_HOOKS).map(|osc| format!("hook {}", osc.text));
    let words = title.chain(status.map(|osc| osc.text.clone())).chain(hook);
    let words = words.map(|text| format!("`{}`", text.replace('|', "/")));
    words.collect::<Vec<_>>().join(" ")
}

/// How many moments each release has on each size, and which it has not.
fn recorded(page: &mut String, all: &[Recordings]) {
    page.push_str("| release | terminal | moments | not recorded |\n|---|---|---|---|\n");
    for of in all {
        let missing: Vec<&str> = Moment::ALL
            .into_iter()
            .filter(|moment| of.moments.iter().all(|recording| recording.moment != *moment))
            .map(Moment::name)
            .collect();
        let (columns, rows) = of.size;
        let missing = if missing.is_empty() { "–".to_owned() } else { missing.join(", ") };
        let _ = writeln!(
            page,
            "| {} {} | {columns} × {rows}{} | {} | {missing} |",
            of.agent,
            of.version,
            if of.program_status { ", OSC 7501 answered" } else { "" },
            of.moments.len()
        );
    }
}

/// What is to be told of each detector, by moment: the agents of which it is told, each with how many of its recordings.
fn by_moment(
    page: &mut String,
    heading: &str,
    all: &[Recordings],
    tell: impl Fn(Detector, &str, &Recording) -> Option<String>,
) {
    let _ = write!(page, "\n## {heading}\n\n| moment | truth |");
    for detector in Detector::ALL {
        let _ = write!(page, " {} |", detector.name());
    }
    let _ = writeln!(page, "\n|---|---|{}", "---|".repeat(Detector::ALL.len()));
    for moment in Moment::ALL {
        let _ = write!(page, "| {} | {} |", moment.name(), moment.label().words());
        for detector in Detector::ALL {
            let mut told: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
            for (agent, recording) in moments(all).filter(|(_, recording)| recording.moment == moment) {
                if let Some(text) = tell(detector, agent, recording) {
                    *told.entry(text).or_default().entry(agent).or_default() += 1;
                }
            }
            let of = |(text, agents): (String, BTreeMap<&str, usize>)| {
                let agents: Vec<String> = agents.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
                format!("{text}: {}", agents.join(", "))
            };
            let cell: Vec<String> = told.into_iter().map(of).collect();
            let _ = write!(page, " {} |", if cell.is_empty() { "–".to_owned() } else { cell.join("; ") });
        }
        page.push('\n');
    }
}
