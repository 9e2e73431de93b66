//! Which release hangs where: a table for each agent, releases across.
//!
//! Invariant: a cell says only what its row says; one that was not tried is empty, one that could not run has a dash and
//! its reason below the table.

use super::{Agent, Line, Seen, Site, text};
use maud::{Markup, html};
use rehang_scenario::OutcomeKind;
use rehang_scenario::text::counted;

/// Releases that a wide window has room for beside scenario and mechanism.
const WIDE: usize = 8;

/// The page of all agents.
pub fn page(site: &Site) -> Markup {
    html! {
        p { "Real releases from npm and PyPI, each in a sandbox without a network, against a scripted model. "
            b.k-H { "hung" } " is proved in virtual time: every thread waits for another one, and no timer is left. On the wall clock "
            "nothing moved for a whole window, which is seen and not proved. " b.k-H { "no-end" } ": it was alive when its virtual time was "
            "over. A dash: it could not run, and the number's note says why. "
            "Empty: not tried." }
        @if site.agents.is_empty() { p { "This site was made without rows of releases: " code { "rehang-lab site --compat FILE" } } }
        @for agent in &site.agents {
            section {
                h2 id=(text(&agent.name)) { a href=(format!("agents/{}", super::file(&agent.name))) { (text(&agent.name)) } }
                @let lines: Vec<&Line> = agent.lines.iter().collect();
                (table(site, agent, &lines, ""))
            }
        }
    }
}

/// What releases do in the scenarios of one mechanism.
pub fn of(site: &Site, mechanism: &str) -> Markup {
    let with: Vec<(&Agent, Vec<&Line>)> = site
        .agents
        .iter()
        .map(|agent| (agent, agent.lines.iter().filter(|line| line.mechanism.as_deref() == Some(mechanism)).collect()))
        .filter(|(_, lines): &(_, Vec<&Line>)| {
            lines.iter().flat_map(|line| &line.cells).flatten().any(|seen| seen.outcome.is_some())
        })
        .collect();
    html! {
        @if with.is_empty() { p { "No release was tried on it." } }
        @for (agent, lines) in with { h3 { (text(&agent.name)) } (table(site, agent, &lines, "../")) }
    }
}

fn table(site: &Site, agent: &Agent, lines: &[&Line], up: &str) -> Markup {
    let mut notes: Vec<&str> = Vec::new();
    for seen in lines.iter().flat_map(|line| &line.cells).flatten().filter(|seen| seen.outcome.is_none()) {
        if !notes.contains(&seen.detail.as_str()) {
            notes.push(&seen.detail);
        }
    }
    let from = if up.is_empty() { "" } else { "../" };
    let link = |line: &Line| line.mechanism.clone().filter(|id| site.mechanism(id).is_some());
    html! {
        @if agent.versions.len() > 1 {
            p class=(if agent.versions.len() > WIDE { "cue wide-cue" } else { "cue" }) { "This table scrolls sideways ↔" }
        }
        div.scroll tabindex="0" role="region" aria-label=(format!("releases of {}", text(&agent.name))) { table {
            caption { (text(&agent.name)) ", " (counted(agent.versions.len(), "release")) ", the oldest first" }
            thead { tr {
                th scope="col" { "scenario" }
                th scope="col" { "mechanism" }
                @for version in &agent.versions { th scope="col" { (text(version)) } }
            } }
            tbody { @for line in lines { tr {
                th scope="row" { (text(&line.scenario)) " " span.dim { (text(&line.terminal)) } }
                td { @if let Some(id) = link(line) { a href=(format!("{from}mechanisms/{id}.html")) { (id) } } }
                @for cell in &line.cells { (self::cell(cell.as_ref(), &notes)) }
            } } }
        } }
        @if !notes.is_empty() { ol { @for note in notes { li { (text(note)) } } } }
        @if let Some(line) = lines.first() { p { "Again: " code { (text(&line.command)) } } }
    }
}

fn cell(seen: Option<&Seen>, notes: &[&str]) -> Markup {
    let Some(seen) = seen else { return html! { td {} } };
    let class = match seen.outcome {
        _ if seen.flaky => "k-m",
        Some(outcome) if outcome.is_hang() => "k-H",
        Some(OutcomeKind::Completed) => "k-r",
        Some(_) => "k-m",
        None => "k-u",
    };
    html! { td class=(class) { @match seen.outcome {
        Some(outcome) if outcome.is_hang() => { strong { (outcome.word()) } " " (text(&seen.detail)) " " (seen.took) },
        Some(outcome) => { (outcome.word()) " " (seen.took) },
        None => { "– (" (1 + notes.iter().position(|note| *note == seen.detail).unwrap_or(0)) ")" },
    } @if seen.flaky { " flaky" } } }
}
