//! An agent's page: how long its releases wait, and which of them hang on what, as a band from the oldest to the newest.
//!
//! Invariant: a limit is shown with the command that measures it again; a release that was not tried has an empty square.

use super::{Agent, Line, Seen, Site, claims, hangs, text};
use maud::{Markup, html};
use rehang_compat::{Found, Limit, LimitKind, Row};
use rehang_scenario::OutcomeKind;

/// The page of one agent.
pub fn page(site: &Site, agent: &Agent) -> Markup {
    let releases = measured(site, &agent.name);
    html! {
        section {
            h2 { "How long it waits" }
            @if releases.is_empty() { p { "Its limits were not measured." } }
            @for version in releases.iter().rev() {
                h3 { (text(&agent.name)) " " (text(version)) }
                (limits(site, &agent.name, version))
            }
        }
        section {
            h2 { "What it hangs on, by release" }
            p { "The oldest release is on the left. " (legend()) }
            @let hanging: Vec<&Line> = agent.lines.iter().filter(|line| line.cells.iter().flatten().any(hangs::is_hang)).collect();
            @if hanging.is_empty() { p { "No release of it that was tried hangs." } }
            @for line in hanging {
                h3 { a href=(format!("../hangs/{}", hangs::file(&line.scenario))) { (text(&line.scenario)) } " " span.dim { (text(&line.terminal)) } }
                (band(agent, line))
                p { (hangs::when(agent, line)) }
            }
        }
        section {
            h2 { "What is claimed of it" }
            @let claims: Vec<_> = site.compat.claims.iter().zip(1..).filter(|(claim, _)| claim.agent == agent.name).collect();
            @if claims.is_empty() { p { "No claim about it was tried." } }
            ul { @for (claim, number) in claims { li {
                a href=(format!("../claims/{}", claims::file(claim, number))) { (super::words(&claim.claim)) } ": " (claim.verdict.words())
            } } }
        }
        p { "All rows: " a href=(format!("../releases.html#{}", text(&agent.name))) { "which release hangs where" } }
    }
}

/// The page of all limits: the newest measured release of each agent.
pub fn all_limits(site: &Site) -> Markup {
    let newest: Vec<(&str, &str)> =
        site.agents.iter().filter_map(|agent| Some((&*agent.name, *measured(site, &agent.name).last()?))).collect();
    html! {
        p { "How long the newest measured release of each agent waits, in virtual time. " b { "None in 24h" } ": it was still alive after that "
            "long. " b { "Proved deadlock" } ": every thread waits for another one, and no timer is left. A dash: not tried; the agent's page says why." }
        @if newest.is_empty() { p { "No limits were measured." } } @else {
            table.cards role="table" {
                caption { "Times until the release goes on, or ends" }
                thead role="rowgroup" { tr role="row" {
                    th role="columnheader" scope="col" { "agent" }
                    @for kind in LimitKind::ALL { th role="columnheader" scope="col" { (kind.title()) } }
                } }
                tbody role="rowgroup" { @for (agent, version) in newest { tr role="row" {
                    th role="rowheader" scope="row" { a href=(format!("agents/{}", super::file(agent))) { (text(agent)) } " " span.dim { (text(version)) } }
                    @for limit in site.compat.limits(agent, version) {
                        td class=(class(&limit.found)) role="cell" data-of=(limit.kind.title()) { (short(&limit.found)) }
                    }
                } } }
            }
            dl { @for kind in LimitKind::ALL { dt { (kind.title()) } dd { "it waits for " (super::words(kind.waits_for())) } } }
        }
    }
}

fn measured<'s>(site: &'s Site, agent: &str) -> Vec<&'s str> {
    site.compat.measured().into_iter().filter(|(name, _)| *name == agent).map(|(_, version)| version).collect()
}

fn limits(site: &Site, agent: &str, version: &str) -> Markup {
    html! { table.cards role="table" {
        caption { "In virtual time, from the request or the start on" }
        thead role="rowgroup" { tr role="row" { @for head in ["it waits for", "how long", "how that is known", "again"] {
            th role="columnheader" scope="col" { (head) }
        } } }
        tbody role="rowgroup" { @for Limit { kind, found, row } in site.compat.limits(agent, version) { tr role="row" {
            th role="rowheader" scope="row" { (kind.title()) " " span.dim { (super::words(kind.waits_for())) } }
            td class=(class(&found)) role="cell" { (text(&found.to_string())) }
            td role="cell" { @if let Some(row) = row.filter(|row| row.outcome.is_some()) { (known(row)) } }
            td role="cell" { @if let Some(row) = row.filter(|row| row.outcome.is_some()) { code { (text(&row.command)) } } }
        } } }
    } }
}

fn known(row: &Row) -> String {
    let runs = match (row.runs, row.spread_ms) {
        (0 | 1, _) => "one run".to_owned(),
        (runs, Some(0)) => format!("{runs} equal runs"),
        (runs, Some(ms)) => format!("{runs} runs, {ms} ms apart"),
        (runs, None) => format!("{runs} runs that asked not equally often"),
    };
    format!("{}, {runs}, {}", row.evidence, row.day)
}

fn class(found: &Found) -> &'static str {
    match found {
        Found::After(_) => "",
        Found::NoneIn(_) | Found::Deadlock | Found::Loops => "k-H",
        Found::Undecided(_) => "k-q",
        Found::NotTried(_) => "k-u",
    }
}

fn short(found: &Found) -> String {
    match found {
        Found::NotTried(_) => "–".to_owned(),
        Found::Undecided(_) => "undecided".to_owned(),
        other => other.to_string(),
    }
}

/// A square for each release.
pub fn band(agent: &Agent, line: &Line) -> Markup {
    html! { ol.band { @for (version, cell) in agent.versions.iter().zip(&line.cells) {
        @let (letter, class, word) = square(cell.as_ref());
        li class=(class) { abbr title=(word) { (letter) } " " (text(version)) }
    } } }
}

fn square(cell: Option<&Seen>) -> (&'static str, &'static str, &'static str) {
    let Some(seen) = cell else { return ("", "none", "not tried") };
    match seen.outcome {
        _ if seen.flaky => ("~", "k-m", "runs differ"),
        None => ("–", "k-u", "could not run"),
        Some(outcome) if outcome.is_hang() => ("H", "k-H", "hangs"),
        Some(OutcomeKind::Completed) => ("·", "k-r", "completes"),
        Some(OutcomeKind::Undecided) => ("?", "k-q", "undecided"),
        Some(_) => ("f", "k-m", "fails, or is stopped"),
    }
}

/// What the letters of a band mean.
pub fn legend() -> Markup {
    html! { @for (letter, class, word) in [("H", "k-H", "hangs"), ("·", "k-r", "completes"), ("f", "k-m", "fails"), ("?", "k-q", "undecided"), ("–", "k-u", "could not run")] {
        span.legend { b class=(class) { (letter) } " " (word) " " }
    } }
}
