//! What makers and users say about hangs: the list, and a page for each claim.
//!
//! Invariant: a page has the source of its claim, both releases with their outcomes, and the command that runs them again.

use super::{Site, hangs, text, words};
use maud::{Markup, html};
use rehang_compat::Holds;
use rehang_compat::claim::{Claim, ClaimRun};

/// The file of a claim's page, without its folder. `number` is its place in the list, from 1.
pub fn file(claim: &Claim, number: usize) -> String {
    let scenario = claim.scenario.split('[').next().unwrap_or_default();
    super::file(&format!("{}-{scenario}-{number}", claim.agent))
}

/// The list of all claims.
pub fn index(site: &Site) -> Markup {
    html! {
        p { "What release notes and reports say about hangs, tried on the releases before and after." }
        @for holds in Holds::ALL {
            @let of: Vec<(&Claim, usize)> = site.compat.claims.iter().zip(1..).filter(|(claim, _)| claim.verdict == holds).collect();
            section {
                h2 { (holds.words()) ": " (of.len()) }
                ul { @for (claim, number) in of { li {
                    a href=(format!("claims/{}", file(claim, number))) { (text(&claim.agent)) ": " (words(&claim.claim)) }
                    " " span.dim { (text(&claim.says.to_string())) }
                } } }
            }
        }
    }
}

/// The page of one claim.
pub fn page(site: &Site, claim: &Claim) -> Markup {
    let has_agent = site.agents.iter().any(|agent| agent.name == claim.agent);
    let scenario = claim.scenario.split('[').next().unwrap_or_default();
    html! {
        p { (words(&claim.claim)) ". " (text(&claim.says.to_string())) "; source: " (text(&claim.source.to_string())) "." }
        p { b { (claim.verdict.words()) } ": " (words(&claim.remarks)) }
        table.cards role="table" {
            caption { "What the releases did in " code { (text(&claim.scenario)) } ", " (text(&claim.terminal)) }
            thead role="rowgroup" { tr role="row" { @for head in ["release", "outcome", "after", "how that is known"] {
                th role="columnheader" scope="col" { (head) }
            } } }
            tbody role="rowgroup" { (run(claim, &claim.before)) (run(claim, &claim.after)) }
        }
        @if let Some(found) = &claim.boundary {
            p { "The outcome changes between " (text(&found.older)) " and " (text(&found.newer)) ", neighbours in the registry." }
        }
        p { "Again: " code { (text(&claim.command)) } }
        @if let Some(found) = &claim.boundary { p { "The boundary: " code { (text(&found.command)) } } }
        p {
            @if has_agent { a href=(format!("../agents/{}", super::file(&claim.agent))) { (text(&claim.agent)) } " " }
            @if hangs::all(site).contains(scenario) { a href=(format!("../hangs/{}", hangs::file(scenario))) { (text(scenario)) } }
        }
    }
}

fn run(claim: &Claim, run: &ClaimRun) -> Markup {
    let class = if run.outcome.is_hang() == Some(true) { "k-H" } else { "" };
    html! { tr role="row" {
        th role="rowheader" scope="row" { (text(&claim.agent)) " " (text(&run.version)) }
        td class=(class) role="cell" { (run.outcome.words()) }
        td role="cell" data-of="after" { (run.took()) }
        td role="cell" { (text(&run.proof)) }
    } }
}
