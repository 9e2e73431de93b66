//! What may be accepted of a file, change by change, and what may not.
//!
//! Invariant: nothing is proposed for a cell that shows an internal error, a spurious `rejected`, or a hang of `none`
//! without a proof; a cell that did not run keeps its rule's content.

use crate::apply::apply;
use crate::content::{amended, content, fresh, joined};
use crate::rules::{Board, Place, Rules, Scope};
use crate::seen::{Ended, Seen};
use crate::{Change, Error, Written, text};
use rehang_scenario::cells::{Catalogue, cells};
use rehang_scenario::{Arm, CellId, Expect, Expected, Family, Invariant, check, load};
use std::collections::{BTreeMap, BTreeSet};

/// A cell that ran, on one stage.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its name.
    pub id: CellId,
    /// What came of it.
    pub result: Result,
}

/// What came of a cell.
#[derive(Debug, Clone)]
pub enum Result {
    /// It is as the file says.
    Expected,
    /// It is not, or the file says nothing.
    Seen(Box<Seen>),
    /// An internal error, in a line.
    Fault(String),
    /// Its traces differ between two stages: where.
    Differs(String),
}

/// A change that may be accepted: the cells of one rule that show the same.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The cells, by their places on the board.
    pub(crate) cells: Vec<usize>,
    /// The rule that covers them: its list and its number there.
    pub(crate) from: Option<(Scope, usize)>,
    /// What their rule is to say.
    pub(crate) content: Expect,
    /// Their names.
    pub ids: Vec<CellId>,
    /// The line of the rule that covers them, from 1; `None` if no rule does.
    pub line: Option<usize>,
}

/// A cell that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The cell.
    pub id: CellId,
    /// Why.
    pub why: String,
}

/// What may be accepted of a file.
pub struct Plan<'a> {
    family: &'a Family,
    catalogue: &'a dyn Catalogue,
    rules: Rules,
    places: Vec<Place>,
    wanted: Vec<Option<Expect>>,
    seen: BTreeMap<usize, Seen>,
    proposals: Vec<Proposal>,
    refused: Vec<Refused>,
}

impl<'a> Plan<'a> {
    /// Makes a plan. `rejects` says whether a strategy is known to reject without a cause; of such a strategy a
    /// spurious `rejected` is not refused.
    pub fn new(
        family: &'a Family,
        ran: &[Ran],
        catalogue: &'a dyn Catalogue,
        rejects: &dyn Fn(&str) -> bool,
    ) -> Plan<'a> {
        let rules = Rules::of(family);
        let places = places(family, ran, catalogue);
        let mut board = Board::new(catalogue, places);
        let assigned = rules.assigned(&board);
        board.wanted = assigned.iter().map(|at| at.map(|at| content(&rules.get(at).expect))).collect();
        let number: BTreeMap<&CellId, usize> = board.places.iter().enumerate().map(|(i, p)| (&p.id, i)).collect();
        let mut plan = Plan {
            family,
            catalogue,
            rules: rules.clone(),
            places: board.places.clone(),
            wanted: board.wanted.clone(),
            seen: BTreeMap::new(),
            proposals: Vec::new(),
            refused: Vec::new(),
        };
        let mut by_cell: BTreeMap<usize, Vec<&Result>> = BTreeMap::new();
        for ran in ran {
            if let Some(&cell) = number.get(&ran.id) {
                by_cell.entry(cell).or_default().push(&ran.result);
            }
        }
        let mut targets: BTreeMap<usize, Expect> = BTreeMap::new();
        for (&cell, results) in &by_cell {
            let id = &board.places[cell].id;
            let old = assigned[cell].map(|at| &rules.get(at).expect);
            match one(results).and_then(|seen| acceptable(id, seen, old, rejects).map(|()| seen)) {
                Ok(None) => {}
                Ok(Some(seen)) => {
                    let explicit = board
                        .places
                        .iter()
                        .zip(&assigned)
                        .any(|(place, at)| at.is_some() && *at == assigned[cell] && place.id.strategy == "none");
                    let new = match old {
                        Some(old) => amended(old, &id.strategy, seen, explicit),
                        None => fresh(&id.strategy, id.arm, seen),
                    };
                    let new = content(&new);
                    match seen.misses(&new).first() {
                        Some(miss) => plan.refuse(id, format!("no rule can say it: {}", miss.line)),
                        None => {
                            plan.seen.insert(cell, seen.clone());
                            targets.insert(cell, new);
                        }
                    }
                }
                Err(why) => plan.refuse(id, why.to_string()),
            }
        }
        plan.seeds(&assigned, &by_cell, &mut targets);
        plan.group(&assigned, targets);
        plan
    }

    /// The changes, in the order in which they are made.
    pub fn proposals(&self) -> &[Proposal] {
        &self.proposals
    }

    /// The cells that are not accepted, and why.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    fn refuse(&mut self, id: &CellId, why: impl Into<String>) {
        self.refused.push(Refused { id: id.clone(), why: why.into() });
    }

    /// Refuses cells of one rule that differ only in their seed, if they would get different contents.
    fn seeds(
        &mut self,
        assigned: &[Option<crate::rules::At>],
        ran: &BTreeMap<usize, Vec<&Result>>,
        targets: &mut BTreeMap<usize, Expect>,
    ) {
        let mut sets: BTreeMap<(CellId, Option<crate::rules::At>), Vec<usize>> = BTreeMap::new();
        for &cell in ran.keys() {
            let id = CellId { order: 0.into(), ..self.places[cell].id.clone() };
            sets.entry((id, assigned[cell])).or_default().push(cell);
        }
        for cells in sets.into_values().filter(|cells| cells.len() > 1) {
            let of = |cell: &usize| targets.get(cell).cloned();
            let mut first = of(&cells[0]);
            let alike = cells[1..].iter().all(|cell| match (&mut first, of(cell)) {
                (Some(a), Some(b)) => joined(a, &b, false, false),
                (a, b) => a.is_none() && b.is_none(),
            });
            if !alike {
                for cell in cells {
                    if targets.remove(&cell).is_some() {
                        let id = self.places[cell].id.clone();
                        self.refuse(&id, "its seeds differ: say by hand which seed gives what (`seeds = [1]`)");
                    }
                }
            }
        }
    }

    /// Cells of one rule that get the same content become one proposal. The largest proposal of a rule comes last: what
    /// is left of the rule by then can be changed in place.
    fn group(&mut self, assigned: &[Option<crate::rules::At>], targets: BTreeMap<usize, Expect>) {
        let mut groups: Vec<Proposal> = Vec::new();
        for (cell, new) in targets {
            let from = assigned[cell].and_then(|at| Some((at.0, self.rules.get(at).origin?)));
            let id = self.places[cell].id.clone();
            let shared = assigned[cell].is_some_and(|at| self.rules.get(at).expect.within.is_some());
            let name = |id: &CellId| id.strategy.split('(').next().unwrap_or_default().to_owned();
            let same = groups.iter_mut().find_map(|group| {
                let placements = from.is_none() && group.ids.iter().all(|other| name(other) == name(&id));
                (group.from == from && joined(&mut group.content, &new, placements, shared)).then_some(group)
            });
            match same {
                Some(group) => {
                    group.cells.push(cell);
                    group.ids.push(id);
                }
                None => {
                    let line = from.map(|from| self.line(from));
                    groups.push(Proposal { cells: vec![cell], from, content: new, ids: vec![id], line });
                }
            }
        }
        one_for_all(&mut groups, |cell| &self.places[cell].id);
        groups.sort_by_key(|group| match group.from {
            Some(from) => (0, Some(from), false, group.cells.len()),
            None => (1, None, group.content.outcome == Expected::AsNone && group.content.arm == Arm::Main, 0),
        });
        self.proposals = groups;
    }

    fn line(&self, (scope, origin): (Scope, usize)) -> usize {
        let (variant, number) = match scope {
            Scope::Variant(variant) => (&self.family.variants[variant], origin),
            Scope::File => (&self.family.variants[0], self.family.variants[0].own_rules + origin),
        };
        self.family.source.line(variant.span_of(&format!("expect.{number}")).start)
    }

    /// The file's text with some of the proposals taken, by their numbers.
    ///
    /// # Errors
    /// The file's layout cannot be kept, or the file would have an error then.
    pub fn write(&self, taken: &[usize]) -> std::result::Result<Written, Error> {
        let before = &self.family.source.text;
        let commented = text::commented(before, &self.rules)?;
        let mut rules = self.rules.clone();
        let mut board = Board::new(self.catalogue, self.places.clone());
        board.wanted = self.wanted.clone();
        let (mut refused, mut accepted) = (Vec::new(), Vec::new());
        for &number in taken {
            let proposal = &self.proposals[number];
            if apply(&mut rules, &mut board, proposal, &commented) {
                accepted.extend(proposal.cells.iter().copied());
            } else {
                let why = "no rule could be placed for it without changing what others say: write it by hand";
                refused.extend(proposal.ids.iter().map(|id| Refused { id: id.clone(), why: why.to_owned() }));
            }
        }
        let text = text::write(before, &self.rules, &rules)?;
        if text != *before {
            self.verify(&text, &board, &accepted)?;
        }
        let changes = changes(&self.rules, &rules);
        let accepted = accepted.into_iter().map(|cell| self.places[cell].id.clone()).collect();
        Ok(Written { text, changes, accepted, refused })
    }

    /// Reads the new text and compares it with what each cell must get, and with what was seen.
    fn verify(&self, text: &str, board: &Board<'_>, accepted: &[usize]) -> std::result::Result<(), Error> {
        let name = &self.family.source.name;
        let loaded = load(name, text.as_bytes());
        let mut problems = check(&loaded, self.catalogue);
        problems.list.retain(|problem| !problem.without_rule);
        let Some(family) = loaded.family.filter(|_| problems.is_empty()) else {
            return Err(Error::WouldBeWrong(Box::new(problems)));
        };
        let all = cells(&family, self.catalogue);
        let rules: BTreeMap<&CellId, Option<Expect>> =
            all.cells.iter().map(|cell| (&cell.id, cell.rule.map(|_| content(cell.expect)))).collect();
        for (cell, place) in board.places.iter().enumerate() {
            let gets = rules.get(&place.id).cloned().flatten();
            let fits = gets.as_ref().is_none_or(|rule| match self.seen.get(&cell) {
                Some(seen) if accepted.contains(&cell) => seen.misses(rule).is_empty(),
                _ => true,
            });
            // a stack that the command line names also runs in files that do not name it
            let is_no_cell = place.extra && !accepted.contains(&cell);
            if gets != board.wanted[cell] && !is_no_cell || !fits {
                return Err(Error::Internal(place.id.to_string()));
            }
        }
        Ok(())
    }
}

/// Why what was seen of a cell is not accepted.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// An internal error, in a line.
    #[error("internal error: {0}")]
    Internal(String),
    /// Its traces differ between two stages: where.
    #[error("its stages differ: {0}")]
    TracesDiffer(String),
    /// What was seen differs between two stages.
    #[error("its stages differ")]
    StagesDiffer,
    /// It breaks [`Invariant::RejectedWithoutCause`], which nobody expects yet.
    #[error("an ask is rejected without a cause: if that is right, say `breaks = [\"{}\"]` by hand", Invariant::RejectedWithoutCause.name())]
    Spurious,
    /// What nobody acts on is not decided: why.
    #[error("under `none` nothing is proved: {0}")]
    Undecided(String),
    /// A control arm that does not complete.
    #[error("the control arm does not complete where nobody acts: its change is not the right one")]
    Control,
}

/// What was seen, the same on all stages; `None` if the cell is as expected.
fn one<'r>(results: &[&'r Result]) -> std::result::Result<Option<&'r Seen>, Refusal> {
    let mut seen: Option<&Seen> = None;
    for result in results {
        match result {
            Result::Fault(fault) => return Err(Refusal::Internal(fault.clone())),
            Result::Differs(at) => return Err(Refusal::TracesDiffer(at.clone())),
            Result::Expected => {}
            Result::Seen(this) => {
                if seen.is_some_and(|other| other != &**this) {
                    return Err(Refusal::StagesDiffer);
                }
                seen = Some(this);
            }
        }
    }
    Ok(seen)
}

/// Refuses what no file may expect merely because it was seen once.
fn acceptable(
    id: &CellId,
    seen: Option<&Seen>,
    old: Option<&Expect>,
    rejects: &dyn Fn(&str) -> bool,
) -> std::result::Result<(), Refusal> {
    let Some(seen) = seen else { return Ok(()) };
    let spurious = Invariant::RejectedWithoutCause;
    let was_expected = old.is_some_and(|old| old.breaks.contains(&spurious));
    if seen.end.broken.contains(&spurious) && !was_expected && !rejects(&id.strategy) {
        return Err(Refusal::Spurious);
    }
    if id.strategy != "none" {
        return Ok(());
    }
    if let Ended::Undecided(why) = &seen.end.outcome {
        return Err(Refusal::Undecided(why.clone()));
    }
    if id.arm == Arm::Control && seen.end.outcome != Ended::Completed {
        return Err(Refusal::Control);
    }
    Ok(())
}

/// All cells of a file, and those that ran beside them.
fn places(family: &Family, ran: &[Ran], catalogue: &dyn Catalogue) -> Vec<Place> {
    let all = cells(family, catalogue);
    let skipped: BTreeSet<&CellId> = all.skipped.iter().map(|skipped| &skipped.id).collect();
    let known = all.cells.iter().map(|cell| &cell.id).chain(&all.uncovered);
    let mut ids: Vec<CellId> = known.cloned().collect();
    let have: BTreeSet<CellId> = ids.iter().cloned().collect();
    let more = ran.iter().map(|ran| &ran.id).filter(|id| !have.contains(id) && !skipped.contains(id));
    let more: BTreeSet<&CellId> = more.filter(|id| id.scenario == family.name).collect();
    ids.extend(more.into_iter().cloned());
    // cells without a rule come in the order of the matrix too
    let stacks: Vec<Vec<String>> =
        family.variants.iter().map(|variant| catalogue.stacks(&variant.scenario.agent)).collect();
    let mut places: Vec<Place> = Vec::new();
    for id in ids {
        let Some(variant) = family.variants.iter().position(|variant| variant.name == id.variant) else { continue };
        let in_matrix = stacks[variant].contains(&id.strategy);
        let extra = !in_matrix && !have.contains(&id);
        places.push(Place { id, variant, named: !in_matrix && !extra, extra });
    }
    places.sort_by_key(|place| {
        let stack = stacks[place.variant].iter().position(|stack| *stack == place.id.strategy).unwrap_or(usize::MAX);
        (place.id.arm, place.variant, stack)
    });
    places
}

/// Where `none` completes and all others do as it does, one rule says so of all of them.
fn one_for_all<'p>(groups: &mut Vec<Proposal>, id: impl Fn(usize) -> &'p CellId) {
    let is_new = |group: &Proposal| group.from.is_none() && group.content.arm == Arm::Main;
    if groups.iter().filter(|group| is_new(group)).count() != 2 {
        return;
    }
    let rest = groups.iter().position(|group| is_new(group) && group.content.outcome == Expected::AsNone);
    let none = groups.iter().position(|group| {
        let of_none = group.cells.iter().all(|&cell| id(cell).strategy == "none");
        is_new(group) && of_none && group.content.outcome == Expected::Completed
    });
    let (Some(rest), Some(none)) = (rest, none) else { return };
    let of_rest = groups[rest].clone();
    groups[none].cells.extend(of_rest.cells);
    groups[none].ids.extend(of_rest.ids);
    groups.remove(rest);
}

/// What became of the rules, list by list.
fn changes(before: &Rules, after: &Rules) -> Vec<Change> {
    let mut changes = Vec::new();
    for scope in before.scopes() {
        for rule in before.list(scope) {
            let kept = after.list(scope).iter().find(|new| new.origin == rule.origin);
            match kept {
                None => changes.push(Change::Removed(Box::new(rule.expect.clone()))),
                Some(new) if new.expect != rule.expect => {
                    changes.push(Change::Changed(Box::new(rule.expect.clone()), Box::new(new.expect.clone())));
                }
                Some(_) => {}
            }
        }
        let new = after.list(scope).iter().filter(|rule| rule.origin.is_none());
        changes.extend(new.map(|rule| Change::Added(Box::new(rule.expect.clone()))));
    }
    changes
}
