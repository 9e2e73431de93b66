//! The rules of a file as lists: which rule covers which cell, and what each cell must get.
//!
//! Invariant: a change of the lists is made only if every cell still gets the content that is wanted for it
//! ([`Rules::holds`]).

use crate::content::content;
use rehang_scenario::cells::Catalogue;
use rehang_scenario::{Arm, CellId, Expect, Family, Terminal};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A list of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The file's.
    File,
    /// Those of one variant, by its number. They come before the file's.
    Variant(usize),
}

/// A rule, and which of the file's it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// Its number in its list as the file has it; `None` for a new rule.
    pub(crate) origin: Option<usize>,
    pub(crate) expect: Expect,
}

/// All lists of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    pub(crate) file: Vec<Rule>,
    pub(crate) own: Vec<Vec<Rule>>,
}

/// Where a rule is.
pub(crate) type At = (Scope, usize);

/// A cell as rules see it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) id: CellId,
    pub(crate) variant: usize,
    /// Its stack is in the matrix only if a rule names it, so a rule must name it.
    pub(crate) named: bool,
    /// It ran because a user named its stack on the command line: the stack is in no matrix, and no rule of the file
    /// names it.
    pub(crate) extra: bool,
}

/// All cells of a file, with what each must get.
pub(crate) struct Board<'a> {
    pub(crate) catalogue: &'a dyn Catalogue,
    pub(crate) places: Vec<Place>,
    /// The content that each cell must get; `None` if no rule covers it.
    pub(crate) wanted: Vec<Option<Expect>>,
    matches: RefCell<BTreeMap<(String, String), bool>>,
}

impl Rules {
    pub(crate) fn of(family: &Family) -> Rules {
        let list = |rules: &[Expect]| -> Vec<Rule> {
            rules.iter().enumerate().map(|(i, rule)| Rule { origin: Some(i), expect: rule.clone() }).collect()
        };
        let own = family.variants.iter().map(|variant| list(&variant.scenario.expect[..variant.own_rules])).collect();
        let file = family.variants.first().map(|variant| list(&variant.scenario.expect[variant.own_rules..]));
        Rules { file: file.unwrap_or_default(), own }
    }

    pub(crate) fn list(&self, scope: Scope) -> &Vec<Rule> {
        match scope {
            Scope::File => &self.file,
            Scope::Variant(variant) => &self.own[variant],
        }
    }

    pub(crate) fn list_mut(&mut self, scope: Scope) -> &mut Vec<Rule> {
        match scope {
            Scope::File => &mut self.file,
            Scope::Variant(variant) => &mut self.own[variant],
        }
    }

    pub(crate) fn get(&self, at: At) -> &Rule {
        &self.list(at.0)[at.1]
    }

    /// Where a rule of the file is now; `None` if it is gone.
    pub(crate) fn find(&self, scope: Scope, origin: usize) -> Option<At> {
        self.list(scope).iter().position(|rule| rule.origin == Some(origin)).map(|at| (scope, at))
    }

    pub(crate) fn scopes(&self) -> impl Iterator<Item = Scope> + use<> {
        (0..self.own.len()).map(Scope::Variant).chain([Scope::File])
    }

    /// For each cell the rule that covers it.
    pub(crate) fn assigned(&self, board: &Board<'_>) -> Vec<Option<At>> {
        board.places.iter().map(|place| self.of_place(board, place)).collect()
    }

    pub(crate) fn of_place(&self, board: &Board<'_>, place: &Place) -> Option<At> {
        [Scope::Variant(place.variant), Scope::File].into_iter().find_map(|scope| {
            let at = self.list(scope).iter().position(|rule| board.speaks(&rule.expect, place))?;
            Some((scope, at))
        })
    }

    /// Whether each cell gets what is wanted for it, and each stack that must be named is named.
    pub(crate) fn holds(&self, board: &Board<'_>) -> bool {
        let contents: BTreeMap<At, Expect> = self
            .scopes()
            .flat_map(|scope| self.list(scope).iter().enumerate().map(move |(i, rule)| ((scope, i), rule)))
            .map(|(at, rule)| (at, content(&rule.expect)))
            .collect();
        board.places.iter().zip(&board.wanted).all(|(place, wanted)| {
            let gets = self.of_place(board, place).and_then(|at| contents.get(&at));
            gets == wanted.as_ref() && (!place.named || wanted.is_none() || self.names(place))
        })
    }

    fn names(&self, place: &Place) -> bool {
        let scopes = [Scope::Variant(place.variant), Scope::File];
        let mut rules = scopes.into_iter().flat_map(|scope| self.list(scope));
        rules.any(|rule| rule.expect.strategies.contains(&place.id.strategy))
    }
}

impl<'a> Board<'a> {
    pub(crate) fn new(catalogue: &'a dyn Catalogue, places: Vec<Place>) -> Board<'a> {
        let wanted = vec![None; places.len()];
        Board { catalogue, places, wanted, matches: RefCell::default() }
    }

    /// Whether a rule covers a cell.
    pub(crate) fn speaks(&self, rule: &Expect, place: &Place) -> bool {
        let id = &place.id;
        rule.arm == id.arm
            && (rule.terminals.is_empty() || rule.terminals.contains(&id.terminal))
            && rule.speaks_of(&id.order)
            && (rule.strategies.is_empty() || rule.strategies.iter().any(|name| self.means(name, &id.strategy)))
    }

    /// Whether a name in a rule means a stack: it is the stack's own, or the catalogue says that it matches.
    pub(crate) fn means(&self, name: &str, stack: &str) -> bool {
        if name == stack {
            return true;
        }
        let key = (name.to_owned(), stack.to_owned());
        *self.matches.borrow_mut().entry(key).or_insert_with(|| self.catalogue.matches(name, stack))
    }

    /// Names for stacks: one for all placements of a strategy where all of them are meant.
    pub(crate) fn names(&self, stacks: &[String]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for stack in stacks {
            if names.iter().any(|name| self.means(name, stack)) {
                continue;
            }
            let whole = stack.split('(').next().unwrap_or_default().to_owned();
            let all: std::collections::BTreeSet<&String> =
                self.places.iter().map(|place| &place.id.strategy).filter(|other| self.means(&whole, other)).collect();
            let in_matrix = |name: &String| {
                !self.places.iter().any(|place| place.id.strategy == *name && (place.named || place.extra))
            };
            let is_meant = !stack.contains('+')
                && all.len() > 1
                && all.iter().all(|other| stacks.contains(other) && in_matrix(other));
            names.push(if is_meant && self.catalogue.resolve(&whole).is_ok() { whole } else { stack.clone() });
        }
        names
    }
}

/// Stacks, terminals and seeds: all cells of each with each.
pub(crate) type Product = (Vec<String>, Vec<Terminal>, Vec<u64>);

/// The terminals of a stack, seed by seed.
type BySeed = Vec<(u64, Vec<Terminal>)>;

/// Cells as products.
pub(crate) fn products<'b>(cells: impl Iterator<Item = &'b CellId>) -> Vec<Product> {
    let mut stacks: Vec<(String, BySeed)> = Vec::new();
    for id in cells {
        let at = stacks.iter().position(|(stack, _)| *stack == id.strategy).unwrap_or(stacks.len());
        if at == stacks.len() {
            stacks.push((id.strategy.clone(), Vec::new()));
        }
        let seeds = &mut stacks[at].1;
        match seeds.iter_mut().find(|(seed, _)| *seed == id.order.seed) {
            Some((_, terminals)) if terminals.contains(&id.terminal) => {}
            Some((_, terminals)) => terminals.push(id.terminal),
            None => seeds.push((id.order.seed, vec![id.terminal])),
        }
    }
    let mut all: Vec<Product> = Vec::new();
    for (stack, seeds) in stacks {
        let mut by_terminals: Vec<(Vec<Terminal>, Vec<u64>)> = Vec::new();
        for (seed, mut terminals) in seeds {
            terminals.sort();
            match by_terminals.iter_mut().find(|(of, _)| *of == terminals) {
                Some((_, seeds)) => seeds.push(seed),
                None => by_terminals.push((terminals, vec![seed])),
            }
        }
        for (terminals, mut seeds) in by_terminals {
            seeds.sort_unstable();
            match all.iter_mut().find(|(_, t, s)| *t == terminals && *s == seeds) {
                Some((stacks, ..)) => stacks.push(stack.clone()),
                None => all.push((vec![stack.clone()], terminals, seeds)),
            }
        }
    }
    all
}

/// Where a new rule of an arm goes that has no rule to go before: above a last rule for all the rest.
pub(crate) fn end(list: &[Rule], rest: bool) -> usize {
    let is_rest = |rule: &Rule| {
        let Expect { arm, strategies, terminals, seeds, .. } = &rule.expect;
        *arm == Arm::Main && strategies.is_empty() && terminals.is_empty() && seeds.is_empty()
    };
    match list.last() {
        Some(last) if !rest && is_rest(last) => list.len() - 1,
        _ => list.len(),
    }
}
