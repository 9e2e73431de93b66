//! Puts one proposal into the rules: in place, into a rule that says the same, or as new rules.
//!
//! Invariant: [`apply`] either leaves rules under which each cell of the board gets its content and the proposal's
//! cells theirs, or changes nothing.

use crate::content::content;
use crate::plan::Proposal;
use crate::rules::{At, Board, Rules, Scope, end, products};
use rehang_scenario::{Arm, CellId, Expect, Expected, Orders};
use std::collections::BTreeSet;

/// Puts a proposal into the rules, and into what the board wants. `commented`: the rules of the file that have a
/// comment; the comment is kept.
pub(crate) fn apply(
    rules: &mut Rules,
    board: &mut Board<'_>,
    proposal: &Proposal,
    commented: &BTreeSet<(Scope, usize)>,
) -> bool {
    let before = board.wanted.clone();
    for &cell in &proposal.cells {
        board.wanted[cell] = Some(proposal.content.clone());
        board.places[cell].named |= board.places[cell].extra;
    }
    let from = proposal.from.and_then(|(scope, origin)| rules.find(scope, origin));
    let found = in_place(rules, board, proposal, from, commented)
        .or_else(|| into_another(rules, board, proposal, from))
        .or_else(|| anew(rules, board, proposal, from, false))
        .or_else(|| anew(rules, board, proposal, from, true));
    match found {
        Some(new) => *rules = new,
        None => board.wanted = before,
    }
    board.wanted[proposal.cells[0]].as_ref() == Some(&proposal.content) && rules.holds(board)
}

/// The rule itself, if all of its cells change.
fn in_place(
    rules: &Rules,
    board: &Board<'_>,
    proposal: &Proposal,
    from: Option<At>,
    commented: &BTreeSet<(Scope, usize)>,
) -> Option<Rules> {
    let from = from?;
    let of_rule = rules.assigned(board).into_iter().enumerate().filter(|(_, at)| *at == Some(from));
    let all = of_rule.map(|(cell, _)| cell).all(|cell| proposal.cells.contains(&cell));
    if !all {
        return None;
    }
    let is_commented = rules.get(from).origin.is_some_and(|origin| commented.contains(&(from.0, origin)));
    if !is_commented && let Some(merged) = into_another(rules, board, proposal, Some(from)) {
        return Some(merged);
    }
    let mut new = rules.clone();
    let old = &mut new.list_mut(from.0)[from.1].expect;
    let Expect { mut strategies, terminals, seeds, .. } = old.clone();
    if strategies.is_empty() && old.outcome == Expected::AsNone && proposal.content.outcome != Expected::AsNone {
        // the old rule covered all cells that no other rule covers, later ones too; what was seen is written only for
        // the cells that were seen
        strategies = board.names(&stacks(board, proposal));
    }
    *old = Expect { strategies, terminals, seeds, ..proposal.content.clone() };
    new.holds(board).then_some(new)
}

/// Uses a rule that says the same already, and adds the stacks to it where it must name them.
fn into_another(rules: &Rules, board: &Board<'_>, proposal: &Proposal, from: Option<At>) -> Option<Rules> {
    let same = |rule: &Expect| content(rule) == proposal.content;
    let others = rules.scopes().flat_map(|scope| (0..rules.list(scope).len()).map(move |i| (scope, i)));
    let others: Vec<At> = others.filter(|at| Some(*at) != from && same(&rules.get(*at).expect)).collect();
    if others.is_empty() {
        return None;
    }
    let narrowed = narrowed(rules, board, proposal, from);
    if narrowed.holds(board) {
        return Some(narrowed);
    }
    for (scope, at) in others {
        let mut new = rules.clone();
        let rule = &mut new.list_mut(scope)[at].expect;
        if rule.strategies.is_empty() {
            continue;
        }
        let stacks = stacks(board, proposal);
        let more: Vec<String> =
            stacks.into_iter().filter(|stack| !rule.strategies.iter().any(|name| board.means(name, stack))).collect();
        rule.strategies.extend(board.names(&more));
        let new = narrowed_of(&new, board, proposal, from, rules);
        if new.holds(board) {
            return Some(new);
        }
    }
    None
}

/// Whether a proposal covers all cells that no other rule covers.
fn is_rest(board: &Board<'_>, proposal: &Proposal) -> bool {
    let of_none = || proposal.cells.iter().any(|&cell| board.places[cell].id.strategy == "none");
    let of_others = || proposal.cells.iter().any(|&cell| board.places[cell].id.strategy != "none");
    proposal.content.arm == Arm::Main
        && (proposal.content.outcome == Expected::AsNone
            || proposal.content.outcome == Expected::Completed && of_none() && of_others())
}

fn stacks(board: &Board<'_>, proposal: &Proposal) -> Vec<String> {
    let mut stacks: Vec<String> = Vec::new();
    for &cell in &proposal.cells {
        let stack = &board.places[cell].id.strategy;
        if !stacks.contains(stack) {
            stacks.push(stack.clone());
        }
    }
    stacks
}

/// Adds new rules: before the rule that covered the cells, or at the end, or among each variant's own rules.
fn anew(rules: &Rules, board: &Board<'_>, proposal: &Proposal, from: Option<At>, own: bool) -> Option<Rules> {
    let mut new = rules.clone();
    let of_variant = |variant: usize| -> Vec<usize> {
        proposal.cells.iter().copied().filter(|&cell| board.places[cell].variant == variant).collect()
    };
    let parts: Vec<(Scope, Vec<usize>)> = match (own, from) {
        (false, Some((scope, _))) => vec![(scope, proposal.cells.clone())],
        (false, None) => vec![(Scope::File, proposal.cells.clone())],
        (true, _) => (0..rules.own.len()).map(|v| (Scope::Variant(v), of_variant(v))).collect(),
    };
    for (scope, cells) in parts {
        let ids = cells.iter().map(|&cell| &board.places[cell].id);
        for (stacks, terminals, seeds) in products(ids) {
            // a rule for all the rest has taken them already
            let of_product = |id: &CellId| {
                stacks.contains(&id.strategy) && terminals.contains(&id.terminal) && seeds.contains(&id.order.seed)
            };
            let mut places = cells.iter().map(|&cell| &board.places[cell]).filter(|place| of_product(&place.id));
            if places.all(|place| {
                let at = new.of_place(board, place);
                at.is_some_and(|at| content(&new.get(at).expect) == proposal.content)
            }) {
                continue;
            }
            let rest = is_rest(board, proposal);
            let place = match from {
                Some(from) if from.0 == scope => {
                    let origin = rules.get(from).origin;
                    new.list(scope).iter().position(|rule| rule.origin == origin)?
                }
                _ => end(new.list(scope), rest),
            };
            let names = board.names(&stacks);
            let named = if rest && from.is_none() { vec![Vec::new(), names] } else { vec![names] };
            let forms = named.iter().flat_map(|strategies| {
                [(false, false), (true, false), (false, true), (true, true)].map(|(t, s)| Expect {
                    strategies: strategies.clone(),
                    terminals: if t { terminals.clone() } else { Vec::new() },
                    seeds: if s { seeds.clone() } else { Vec::new() },
                    ..proposal.content.clone()
                })
            });
            let with = |form: Expect| {
                let mut with = new.clone();
                with.list_mut(scope).insert(place, crate::rules::Rule { origin: None, expect: form });
                with
            };
            // the shortest form that takes no other cell
            new = forms.map(with).find(|with| {
                let taken = with.assigned(board).into_iter().enumerate().filter(|(_, at)| *at == Some((scope, place)));
                taken.map(|(cell, _)| cell).all(|cell| proposal.cells.contains(&cell))
            })?;
        }
    }
    let new = narrowed_of(&new, board, proposal, from, rules);
    new.holds(board).then_some(new)
}

/// The rules, without the words of the old rule that only the proposal's cells needed.
fn narrowed(rules: &Rules, board: &Board<'_>, proposal: &Proposal, from: Option<At>) -> Rules {
    narrowed_of(rules, board, proposal, from, rules)
}

/// As [`narrowed`], in rules to which something was added since: `before` are those in which `from` was.
fn narrowed_of(new: &Rules, board: &Board<'_>, proposal: &Proposal, from: Option<At>, before: &Rules) -> Rules {
    let Some(from) = from else { return new.clone() };
    let old = before.get(from);
    let Some(now) = old.origin.and_then(|origin| new.find(from.0, origin)) else { return new.clone() };
    let of_rule = before.assigned(board).into_iter().enumerate().filter(|(_, at)| *at == Some(from));
    let (leave, stay): (Vec<usize>, Vec<usize>) =
        of_rule.map(|(cell, _)| cell).partition(|cell| proposal.cells.contains(cell));
    let mut new = new.clone();
    if stay.is_empty() {
        new.list_mut(now.0).remove(now.1);
        return new;
    }
    let needed = |of: &[usize], is: &dyn Fn(&crate::rules::Place) -> bool| of.iter().any(|&c| is(&board.places[c]));
    let idle = |is: &dyn Fn(&crate::rules::Place) -> bool| needed(&leave, is) && !needed(&stay, is);
    let rule = &mut new.list_mut(now.0)[now.1].expect;
    rule.strategies.retain(|name| !idle(&|place| board.means(name, &place.id.strategy)));
    rule.terminals.retain(|terminal| !idle(&|place| place.id.terminal == *terminal));
    rule.seeds.retain(|seed| !idle(&|place| place.id.order.seed == *seed));
    if let Orders::Named(orders) = &rule.orders {
        let stay = orders.iter().filter(|order| !idle(&|place| place.id.order == **order));
        rule.orders = stay.cloned().collect::<Vec<_>>().into();
    }
    new
}
