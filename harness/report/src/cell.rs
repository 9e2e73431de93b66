//! A cell as swim lanes: who did what when, with asks as bars.
//!
//! Invariant: every row of the trace's timeline is in one lane, or counted among those that are left out; a bar begins and
//! ends at rows.

use crate::cast::cast;
use crate::screen::{Frame, frames};
use crate::story::{self, Beside};
use rehang_judge::{
    CellFacts, Row,
    timeline::{cut, rows},
    verdict,
};
use rehang_scenario::text::counted_as;
use rehang_scenario::{VTime, problem::hidden};
use rehang_trace::{Fact, Trace, What, role::Role};
use serde::Serialize;

/// The most rows of one cell, half of them from its begin and half from its end; those between are counted.
const ROWS_MAX: usize = 600;
/// The most columns of one row's text.
const TEXT_COLUMNS: usize = 300;
/// The most columns of what an ask asks.
const ASK_COLUMNS: usize = 160;
/// The most characters of what was said with a row.
const SAID_MAX: usize = 600;

/// A cell, as a page shows it.
#[derive(Debug, Clone, Serialize)]
pub struct CellPage {
    /// The cell's name.
    pub id: String,
    /// Its row: outcome, cause, proof, broken invariants.
    #[serde(flatten)]
    pub row: Row,
    /// The control arm.
    pub control: bool,
    /// Its mechanism.
    pub mechanism: String,
    /// What happens in its scenario, in a line.
    pub title: String,
    /// What came of it, in a sentence or two.
    pub story: String,
    /// What is not as expected.
    pub mismatches: Vec<String>,
    /// The lanes, from left to right.
    pub lanes: Vec<Lane>,
    /// What happened, in order.
    pub rows: Vec<RowPage>,
    /// Asks: from which row to which, both included.
    pub asks: Vec<Bar>,
    /// When there was material progress last.
    pub progress_ms: u64,
    /// The row of the last material progress: from there on it is decided how the cell ends.
    pub decisive: usize,
    /// The terminal's screens; none without a terminal.
    pub frames: Vec<Frame>,
    /// The terminal as a recording, asciicast v3; `None` without a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cast: Option<String>,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// Who.
    pub name: String,
    /// `model`, `agent`, `tool`, `wire`, `strategy`, `person` or `outside`: it has a colour.
    pub kind: &'static str,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowPage {
    /// When, in virtual milliseconds.
    pub t: u64,
    /// The lane's place; `None` for a row across all lanes.
    pub lane: Option<usize>,
    /// What.
    pub text: String,
    /// What was said or written with it, as it was: see [`plain`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Only a wire's: a request, a response, an event of a stream, or a repetition of nothing else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wire: bool,
}

/// An ask as a bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// What is asked, in a few words.
    pub label: String,
    /// The row in which it is opened.
    pub from: usize,
    /// The row in which it ends; `None` while it is open.
    pub to: Option<usize>,
}

/// What a cell is.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// Its name.
    pub id: &'a str,
    /// What happens in its scenario, in a line.
    pub title: &'a str,
    /// Its mechanism.
    pub mechanism: &'a str,
    /// The control arm.
    pub control: bool,
    /// The row of the same cell without a strategy, if it ran too.
    pub without: Option<&'a Row>,
}

impl CellPage {
    /// A page of a cell that ran.
    pub fn new(about: &About<'_>, row: Row, mismatches: Vec<String>, trace: &Trace) -> CellPage {
        let terminal = row.terminal;
        let facts = CellFacts::new(&row.scenario, &row.strategy, terminal);
        let progress_ms = verdict(trace, &facts).last_progress.since(VTime::ZERO).as_ms();
        // the page's last row says how it ends
        let is_end = |place: usize| matches!(trace.events[place].what, What::Ended(_));
        let mut shown = rows(trace);
        shown.retain(|row| !row.event.is_some_and(is_end));
        let lanes = lanes(trace, &row.strategy);
        let frames = if terminal.stdin_is_tty() { frames(trace) } else { Vec::new() };
        let beside = Beside { agent: story::agent(trace), question: story::question(trace), without: about.without };
        let story = plain(&story::sentence(&row, &beside), SAID_MAX);
        let mut page = CellPage {
            id: about.id.to_owned(),
            cast: (!frames.is_empty()).then(|| cast(trace, about.id)),
            row,
            control: about.control,
            mechanism: about.mechanism.to_owned(),
            title: plain(about.title, SAID_MAX),
            story,
            mismatches: mismatches.iter().map(|line| plain(line, SAID_MAX)).collect(),
            rows: Vec::new(),
            asks: Vec::new(),
            progress_ms,
            decisive: 0,
            frames,
            lanes,
        };
        // what begins it and what ends it; between them as much as must be is left out, and counted
        let left_out = shown.len().saturating_sub(ROWS_MAX);
        let (from, to) = (ROWS_MAX / 2, ROWS_MAX / 2 + left_out);
        let mut wires: Vec<bool> = Vec::new();
        for (place, row) in shown.iter().enumerate() {
            let event = row.event.map(|place| &trace.events[place]);
            let lane = event.and_then(|event| {
                let name = lane_of(&event.who, &event.what);
                page.lanes.iter().position(|lane| lane.name == name)
            });
            let wire = match lane {
                Some(lane) => page.lanes[lane].kind == "wire",
                None => row.repeats > 0 && wires.iter().rev().take(row.repeats).all(|wire| *wire),
            };
            wires.push(wire);
            let is_left_out = left_out > 0 && (from..to).contains(&place);
            if is_left_out && place == from {
                let text = counted_as(left_out, "row left out", "rows left out");
                let text = format!("… {text}: `rehang show` has them all");
                page.rows.push(RowPage { t: row.t.0, lane: None, text, said: None, wire: false });
            }
            let at = page.rows.len() - usize::from(is_left_out);
            if let Some(What::Fact(fact)) = event.map(|event| &event.what) {
                page.ask(fact, at);
                if fact.is_material() && row.t.0 <= progress_ms {
                    page.decisive = at;
                }
            }
            if is_left_out {
                continue;
            }
            let (text, said) = event.and_then(|event| words(&event.what)).unwrap_or((row.what.clone(), ""));
            let said = (!said.is_empty()).then(|| plain(said.trim_end_matches('\n'), SAID_MAX));
            page.rows.push(RowPage { t: row.t.0, lane, text: cut(&text, TEXT_COLUMNS), said, wire });
        }
        page
    }

    /// Opens or closes a bar at a row.
    fn ask(&mut self, fact: &Fact, at: usize) {
        match fact {
            Fact::Asked { id, questions, permission, .. } => {
                let what = questions.first().map_or(permission.as_str(), |q| q.question.as_str());
                self.asks.push(Bar { label: format!("{id}: {}", cut(what, ASK_COLUMNS)), from: at, to: None });
            }
            Fact::AskEnded { id, .. } => {
                let prefix = format!("{id}: ");
                let open = self.asks.iter_mut().find(|bar| bar.to.is_none() && bar.label.starts_with(&prefix));
                if let Some(bar) = open {
                    bar.to = Some(at);
                }
            }
            _ => {}
        }
    }
}

/// What happens, and what is said with it if the event says something: a timeline with one line per event quotes it, a
/// page shows it as it is.
fn words(what: &What) -> Option<(String, &str)> {
    Some(match what {
        What::Out { fd, text } => (["screen", "stdout", "stderr"].get(usize::from(*fd))?.to_string(), text),
        What::In { text } => ("writes".to_owned(), text),
        What::Says(text) => ("says".to_owned(), text),
        What::Fact(Fact::ModelSaid { text, .. }) if !text.is_empty() => ("model says".to_owned(), text),
        What::Fact(Fact::ToolEnded { call, error, text }) => {
            (format!("{call} {}", if *error { "fails" } else { "ends" }), text)
        }
        What::Fact(Fact::Asked { id, questions, .. }) => (format!("asks {id}"), questions.first()?.question.as_str()),
        What::Fact(Fact::Result { ok, text }) => (if *ok { "result" } else { "result (error)" }.to_owned(), text),
        _ => return None,
    })
}

/// A text of at most `most` characters as it is, lines and tabs kept; other control characters become their pictures,
/// and what reorders or hides text becomes U+FFFD.
pub fn plain(text: &str, most: usize) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        c if hidden(c) => '\u{fffd}',
        c => c,
    };
    let text = text.replace("\r\n", "\n");
    let mut out: String = text.chars().take(most).map(shown).collect();
    if out.len() < text.len() && text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// The lane of an event: what comes from or goes to the model has a lane of its own, and so has the wire.
fn lane_of(who: &str, what: &What) -> String {
    match what {
        What::Fact(Fact::ModelAsked { .. } | Fact::ModelSaid { .. } | Fact::ModelDone { .. }) => "model".to_owned(),
        What::Request { .. } | What::Response { .. } | What::RequestFailed { .. } | What::Sse(_) | What::SseEnd => {
            "wire".to_owned()
        }
        What::Out { fd: 0, .. } | What::OutEnd { fd: 0 } => "terminal".to_owned(),
        What::Fact(Fact::Acted { strategy, .. } | Fact::Policy { strategy, .. }) => strategy.clone(),
        _ => who.to_owned(),
    }
}

/// The lanes in the order model, agent, its processes, terminal, wire, strategies, people, the rest.
fn lanes(trace: &Trace, stack: &str) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    for event in &trace.events {
        let name = lane_of(&event.who, &event.what);
        let ends = matches!(event.what, What::Ended(_));
        if !name.is_empty() && !ends && !lanes.iter().any(|lane| lane.name == name) {
            let kind = kind(&name, stack);
            lanes.push(Lane { name, kind });
        }
    }
    let order = ["model", "agent", "tool", "terminal", "wire", "strategy", "person", "outside"];
    lanes.sort_by_key(|lane| order.iter().position(|kind| *kind == lane.kind));
    lanes
}

fn kind(name: &str, stack: &str) -> &'static str {
    match name {
        "model" => "model",
        "agent" => "agent",
        "wire" => "wire",
        "terminal" => "terminal",
        _ if Role::of(name).is_some_and(|role| !role.is_agent()) => "tool",
        _ if name.starts_with("person") => "person",
        _ if stack.split('+').any(|member| member == name || member.starts_with(&format!("{name}("))) => "strategy",
        "wrapper" | "client" => "outside",
        _ => "strategy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;
    use rehang_trace::Event;
    use std::fmt::Write;

    #[test]
    fn lanes_rows_and_bars_of_a_cell() {
        let page = testing::page("hangs");
        let mut shown = String::new();
        for lane in &page.lanes {
            let _ = writeln!(shown, "{} is a {}", lane.name, lane.kind);
        }
        for (place, row) in page.rows.iter().enumerate() {
            let lane = row.lane.map_or("", |lane| page.lanes[lane].name.as_str());
            let _ = writeln!(shown, "{place} {:>4} {lane}: {} {:?}", row.t, row.text, row.said);
        }
        let _ = writeln!(shown, "decisive from {}; {}", page.decisive, page.story);
        for bar in &page.asks {
            let _ = writeln!(shown, "{} from {} to {:?}", bar.label, bar.from, bar.to);
        }
        expect![[r#"
            model is a model
            agent is a agent
            agent.1 is a tool
            terminal is a terminal
            person1 is a person
            0    0 agent: is started: fake None
            1    0 model: model says Some("I look \"around\".\nThen I ask.")
            2   10 agent.1: stdout Some("{\"type\":\"x\"}")
            3   10 terminal: screen Some("␛[1mAllow?␛[0m ")
            4   20 agent: asks per_1: may I bash? None
            5   20 agent: asks per_2: may I bash? None
            6 5020 person1: writes Some("y␍")
            7 5020 agent: per_1 replied (answer by user) None
            decisive from 7; the agent waits for a permission that it asked for, and nobody ends that: proved by deadlock. What is wrong: an ask was never ended, or ended twice.
            per_1: bash from 4 to Some(7)
            per_2: bash from 5 to None
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn what_repeats_only_a_wire_is_a_wire_s() {
        let ask = |id: u32| What::Request {
            id,
            method: "GET".into(),
            path: "/x".into(),
            body: serde_json::Value::Null.into(),
        };
        let mut trace = testing::trace();
        let end = trace.events.pop().expect("an end");
        trace.events.extend((0..9).map(|n| Event {
            t: VTime(6_000 + u64::from(n)),
            who: "agent".into(),
            what: ask(n),
        }));
        trace.events.push(end);
        let page = CellPage::new(&About::default(), testing::row(), Vec::new(), &trace);
        let [.., first, more] = page.rows.as_slice() else { panic!("two rows") };
        assert!(first.wire && more.wire && more.lane.is_none(), "{first:?} {more:?}");
        assert!(page.rows.iter().take(8).all(|row| !row.wire));
    }

    #[test]
    fn a_long_cell_keeps_its_begin_and_its_end_and_where_its_asks_are() {
        let said = |n: u64| format!("line {n} {}", "x".repeat((n % 7) as usize));
        let line = |n: u64| Event { t: VTime(n), who: "agent".into(), what: What::Says(said(n * n)) };
        let mut trace = testing::trace();
        let end = trace.events.pop().expect("an end");
        trace.events.extend((10_000..12_000).map(line));
        trace.events.push(Event { t: VTime(12_000), ..trace.events[4].clone() });
        trace.events.push(Event { t: VTime(13_000), ..end });
        let about = About { id: "made/up::none::tty::1", ..About::default() };
        let page = CellPage::new(&about, testing::row(), Vec::new(), &trace);
        assert_eq!(page.rows.len(), ROWS_MAX + 1);
        assert_eq!(page.rows[0].t, 0);
        let gap = &page.rows[ROWS_MAX / 2];
        assert!(gap.lane.is_none() && gap.text.contains("rows left out"), "{gap:?}");
        assert!(page.rows.last().unwrap().text.starts_with("asks per_1"), "{:?}", page.rows.last());
        assert_eq!(page.asks.last().unwrap().from, ROWS_MAX, "the last row");
    }

    #[test]
    fn a_text_is_shown_as_it_is_and_steers_nothing() {
        assert_eq!(plain("a \"b\"\r\n\tc", 99), "a \"b\"\n\tc");
        assert_eq!(plain("\u{1b}[2J\0\u{7f}\u{9b}", 99), "\u{241b}[2J\u{2400}\u{2421}\u{fffd}");
        assert_eq!(plain("\u{202e}live\u{2066}\u{200b}", 99), "\u{fffd}live\u{fffd}\u{fffd}");
        assert_eq!(plain("many words", 4), "many…");
        assert_eq!(plain("four", 4), "four");
    }
}
