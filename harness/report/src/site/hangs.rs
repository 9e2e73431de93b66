//! A hang's page: which agents have it, since and until which release, and what is claimed of it.
//!
//! Invariant: *since* and *until* name the neighbours that were tried, so that nobody takes them for the first and the last
//! release of the registry.

use super::{Agent, Line, Seen, Site, agents, claims, text};
use maud::{Markup, html};
use rehang_scenario::OutcomeKind;
use rehang_scenario::text::counted;
use std::collections::BTreeSet;

/// The scenarios in which a release hung, without their variants.
pub fn all(site: &Site) -> BTreeSet<&str> {
    let lines = site.agents.iter().flat_map(|agent| &agent.lines);
    lines.filter(|line| line.cells.iter().flatten().any(is_hang)).map(|line| plain(&line.scenario)).collect()
}

/// The file of a scenario's page, without its folder.
pub fn file(scenario: &str) -> String {
    super::file(plain(scenario))
}

fn plain(scenario: &str) -> &str {
    scenario.split('[').next().unwrap_or(scenario)
}

/// The list of all hangs.
pub fn index(site: &Site) -> Markup {
    html! {
        p { "Each scenario in which a real release hung: a fault, and nobody there to help." }
        ul { @for scenario in all(site) { li {
            a href=(format!("hangs/{}", file(scenario))) { (text(scenario)) } " "
            @if let Some(title) = site.titles.get(scenario) { (text(title)) ". " }
            span.dim { (text(&names(site, scenario))) }
        } } }
    }
}

/// The agents of which a release hangs in a scenario, in words.
fn names(site: &Site, scenario: &str) -> String {
    let hangs = |agent: &&Agent| of(agent, scenario).any(|line| line.cells.iter().flatten().any(is_hang));
    site.agents.iter().filter(hangs).map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn of<'a>(agent: &'a Agent, scenario: &'a str) -> impl Iterator<Item = &'a Line> {
    agent.lines.iter().filter(move |line| plain(&line.scenario) == scenario)
}

/// The page of one scenario.
pub fn page(site: &Site, scenario: &str) -> Markup {
    let mechanism = site.agents.iter().flat_map(|agent| of(agent, scenario)).find_map(|line| line.mechanism.as_deref());
    html! {
        @if let Some(title) = site.titles.get(scenario) { p { (text(title)) "." } }
        @if let Some(known) = mechanism.and_then(|id| site.mechanism(id)) {
            p { "Mechanism: " a href=(format!("../mechanisms/{}.html", known.text.id)) { (text(&known.text.id)) " " (text(&known.text.name)) } }
        }
        section {
            h2 { "Which agent hangs, since when, until when" }
            p { "The oldest release is on the left. " (agents::legend()) }
            @for agent in &site.agents {
                @let tried: Vec<&Line> = of(agent, scenario).filter(|line| line.cells.iter().flatten().any(|seen| seen.outcome.is_some())).collect();
                @for line in tried {
                    h3 { a href=(format!("../agents/{}", super::file(&agent.name))) { (text(&agent.name)) } " " span.dim { (text(variant(&line.scenario))) (text(&line.terminal)) } }
                    (agents::band(agent, line))
                    p { (when(agent, line)) }
                    p { "Again: " code { (text(&line.command)) } }
                }
            }
        }
        section {
            h2 { "What is claimed" }
            @let claims: Vec<_> = site.compat.claims.iter().zip(1..).filter(|(claim, _)| plain(&claim.scenario) == scenario).collect();
            @if claims.is_empty() { p { "No claim was tried with it." } }
            ul { @for (claim, number) in claims { li {
                a href=(format!("../claims/{}", claims::file(claim, number))) { (text(&claim.agent)) ": " (super::words(&claim.claim)) } ": " (claim.verdict.words())
                @if let Some(found) = &claim.boundary { ", between " (text(&found.older)) " and " (text(&found.newer)) }
            } } }
        }
    }
}

/// `[claude] ` of `mcp-init-never[claude]`.
fn variant(scenario: &str) -> &str {
    scenario.find('[').map_or("", |at| &scenario[at..])
}

/// Whether it is a hang.
pub fn is_hang(seen: &Seen) -> bool {
    seen.outcome.is_some_and(OutcomeKind::is_hang)
}

/// Since and until when a scenario hangs an agent, in a sentence.
pub fn when(agent: &Agent, line: &Line) -> String {
    // what is undecided or could not run says nothing of a change
    let is_known = |seen: &Seen| seen.outcome.is_some_and(|outcome| outcome != OutcomeKind::Undecided);
    let tried = agent.versions.iter().zip(&line.cells).filter_map(|(version, cell)| Some((version, cell.as_ref()?)));
    let tried: Vec<(&str, bool)> =
        tried.filter(|(_, seen)| is_known(seen)).map(|(version, seen)| (version.as_str(), is_hang(seen))).collect();
    let (Some((oldest, _)), Some((newest, _))) = (tried.first(), tried.last()) else {
        return "Not decided.".to_owned();
    };
    let mut parts = Vec::new();
    let mut at = 0usize;
    for stretch in tried.chunk_by(|a, b| a.1 == b.1) {
        let (before, after) =
            (at.checked_sub(1).map(|at| tried[at].0), tried.get(at + stretch.len()).map(|next| next.0));
        at += stretch.len();
        if !stretch[0].1 {
            continue;
        }
        let (first, last) = (stretch[0].0, stretch[stretch.len() - 1].0);
        let since = match before {
            Some(before) => format!("since {first} (not in {before})"),
            None => format!("in {first}, the oldest that was tried"),
        };
        let until = match after {
            Some(after) => format!("until {last} (not in {after})"),
            None => format!("still in {last}, the newest that was tried"),
        };
        parts.push(if first == last && before.is_none() && after.is_none() {
            format!("in {first}, the only one that was tried")
        } else {
            format!("{since}, {until}")
        });
    }
    match parts.len() {
        0 if oldest == newest => format!("Does not hang in {oldest}, the only one that was tried."),
        0 => format!("Hangs in none of {}, {oldest} to {newest}.", counted(tried.len(), "release")),
        _ => format!("Hangs {}.", parts.join("; and ")),
    }
}
