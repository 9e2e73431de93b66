//! The cells of a family: scenario × strategy × terminal × seed, in the main arm and the control arm.
//!
//! Invariant: the order is the same on every machine: variants and arms as the file has them, stacks as the catalogue
//! has them, followed by those that the file adds, terminals and seeds as the file has them.

use crate::file::{Family, Variant};
use crate::limits;
use crate::text::{suggest, unknown};
use crate::{Agent, Arm, Expect, Order, OrderError, Scenario, Terminal};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What this crate must know of strategies.
pub trait Catalogue {
    /// Reads an entry of a list of strategies.
    ///
    /// # Errors
    /// Says what is unknown in it, and what may have been meant.
    fn resolve(&self, pattern: &str) -> Result<Named, Unknown>;

    /// The stacks of the matrix for such an agent: `none` first, then in the catalogue's order.
    fn stacks(&self, agent: &Agent) -> Vec<String>;

    /// Whether a stack can run on such an agent: it speaks its wire and has a seat there. For a name without a version:
    /// whether any version of it can.
    ///
    /// # Errors
    /// Says why not, in words that the summary counts by.
    fn fits(&self, stack: &str, agent: &Agent) -> Result<(), DoesNotFit>;

    /// Whether a stack is meant by a pattern. A name without a version means every version of it.
    fn matches(&self, pattern: &str, stack: &str) -> bool;
}

/// What a pattern names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// One stack, whole. A file that names one which is not in the matrix adds it to its own cells.
    Stack,
    /// Every version of a strategy.
    Family,
}

/// A pattern that names nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What is wrong, in a lower-case fragment.
    pub message: String,
    /// What may have been meant, or what there is instead; shown under the caret.
    pub label: Option<String>,
}

/// Why a stack cannot run on an agent, in a lower-case fragment: the catalogue's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DoesNotFit(String);

impl DoesNotFit {
    /// With these words, or those of the catalogue's own error.
    pub fn new(why: impl ToString) -> DoesNotFit {
        DoesNotFit(why.to_string())
    }
}

/// A cell's name: `question/row-diff[blank]::auto-answer@r1::null::1`, and `::control` in the control arm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId {
    /// The family.
    pub scenario: String,
    /// The variant; empty for the file itself.
    pub variant: String,
    /// The stack.
    pub strategy: String,
    /// The terminal.
    pub terminal: Terminal,
    /// The seed, and choices at ties if it has some: `1/14=2`.
    pub order: Order,
    /// The arm.
    pub arm: Arm,
}

/// The unit that runs.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// Its name.
    pub id: CellId,
    /// The scenario to run: the arm's.
    pub scenario: &'a Scenario,
    /// What must come out.
    pub expect: &'a Expect,
    /// The rule in the variant's scenario that says so; `None` if a control arm must simply complete.
    pub rule: Option<usize>,
    /// What must come out under some order that no seed gives, each under its own.
    pub in_some_order: Vec<&'a Expect>,
}

/// A cell that is left out, with the file's reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped<'a> {
    /// The cell.
    pub id: CellId,
    /// Why.
    pub because: &'a str,
}

/// All cells of a family.
#[derive(Debug, Clone, Default)]
pub struct Cells<'a> {
    /// Those that run.
    pub cells: Vec<Cell<'a>>,
    /// Those that the file leaves out.
    pub skipped: Vec<Skipped<'a>>,
    /// Those that no rule matches: a problem of the file.
    pub uncovered: Vec<CellId>,
}

/// What a control cell must do if no rule covers it.
pub fn control_expect() -> &'static Expect {
    static COMPLETES: Expect = Expect::completes(Arm::Control);
    &COMPLETES
}

/// The cells of a family. At most [`limits::CELLS`]; the check reports an error if there are more.
pub fn cells<'a>(family: &'a Family, catalogue: &dyn Catalogue) -> Cells<'a> {
    let mut all = Cells::default();
    for variant in &family.variants {
        for matrix in Matrix::of(variant, catalogue) {
            matrix.each(|place, found| {
                if all.cells.len() + all.skipped.len() + all.uncovered.len() >= limits::CELLS {
                    return;
                }
                let id = matrix.id(&family.name, place);
                match found {
                    Found::Skip(i) => all.skipped.push(Skipped { id, because: &matrix.scenario.skip[i].because }),
                    Found::Rule(None) if matrix.arm == Arm::Main => all.uncovered.push(id),
                    Found::Rule(rule) => {
                        let rules = &variant.scenario.expect;
                        let expect = rule.map_or(control_expect(), |rule| &rules[rule]);
                        let in_some_order = matrix.in_some_order(place).map(|rule| &rules[rule]).collect();
                        all.cells.push(Cell { id, scenario: matrix.scenario, expect, rule, in_some_order });
                    }
                }
            });
        }
    }
    all
}

/// One arm of one variant: its stacks, and which rules and skips cover which stack.
pub(crate) struct Matrix<'a> {
    pub(crate) variant: &'a Variant,
    pub(crate) arm: Arm,
    pub(crate) scenario: &'a Scenario,
    pub(crate) stacks: Vec<String>,
    /// For each rule of this arm: its number, and for each stack whether the rule covers it.
    pub(crate) rules: Vec<(usize, Vec<bool>)>,
    pub(crate) skips: Vec<Vec<bool>>,
    /// The seeds, and behind them the orders that rules name.
    orders: Vec<Order>,
}

/// A cell's place in a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) stack: usize,
    pub(crate) terminal: Terminal,
    /// Its place among the matrix's orders.
    order: usize,
}

/// What a file says of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Skip(usize),
    Rule(Option<usize>),
}

impl<'a> Matrix<'a> {
    /// The arms of a variant.
    pub(crate) fn of(variant: &'a Variant, catalogue: &dyn Catalogue) -> Vec<Matrix<'a>> {
        let main = Matrix::new(variant, Arm::Main, &variant.scenario, catalogue);
        let control = variant.control.as_ref().map(|scenario| Matrix::new(variant, Arm::Control, scenario, catalogue));
        std::iter::once(main).chain(control).collect()
    }

    fn new(variant: &'a Variant, arm: Arm, scenario: &'a Scenario, catalogue: &dyn Catalogue) -> Matrix<'a> {
        let mut stacks = catalogue.stacks(&scenario.agent);
        let mut known: BTreeSet<String> = BTreeSet::new();
        for pattern in variant.scenario.expect.iter().flat_map(|rule| &rule.strategies) {
            // A name without its parameters means every stack of that name in the matrix, and adds none.
            let adds = !known.contains(pattern)
                && !stacks.iter().any(|stack| catalogue.matches(pattern, stack))
                && catalogue.resolve(pattern) == Ok(Named::Stack)
                && catalogue.fits(pattern, &scenario.agent).is_ok();
            if adds {
                known.insert(pattern.clone());
                stacks.push(pattern.clone());
            }
        }
        let speaks = |patterns: &[String]| -> Vec<bool> {
            let any = |stack: &String| patterns.is_empty() || patterns.iter().any(|p| catalogue.matches(p, stack));
            stacks.iter().map(any).collect()
        };
        let rules = variant.scenario.expect.iter().enumerate();
        let mut orders: Vec<Order> = scenario.seeds.iter().copied().map(Order::from).collect();
        for order in variant.scenario.expect.iter().filter(|rule| rule.arm == arm).flat_map(|rule| rule.orders.named())
        {
            if !orders.contains(order) {
                orders.push(order.clone());
            }
        }
        let rules = rules.filter(|(_, rule)| rule.arm == arm).map(|(i, rule)| (i, speaks(&rule.strategies))).collect();
        let skips = scenario.skip.iter().map(|skip| speaks(&skip.strategies)).collect();
        Matrix { variant, arm, scenario, stacks, rules, skips, orders }
    }

    /// How many cells it has at most.
    pub(crate) fn len(&self) -> usize {
        self.stacks.len().saturating_mul(self.scenario.terminals.len()).saturating_mul(self.orders.len())
    }

    pub(crate) fn id(&self, family: &str, place: Place) -> CellId {
        CellId {
            scenario: family.to_owned(),
            variant: self.variant.name.clone(),
            strategy: self.stacks[place.stack].clone(),
            terminal: place.terminal,
            order: self.orders[place.order].clone(),
            arm: self.arm,
        }
    }

    /// Goes through the cells in their order.
    pub(crate) fn each(&self, mut take: impl FnMut(Place, Found)) {
        for stack in 0..self.stacks.len() {
            for &terminal in &self.scenario.terminals {
                for order in 0..self.orders.len() {
                    let place = Place { stack, terminal, order };
                    let found = self.find(place);
                    // an order with choices is one of the cells for which a rule names it
                    if self.orders[order].is_plain() || matches!(found, Found::Rule(Some(_))) {
                        take(place, found);
                    }
                }
            }
        }
    }

    fn find(&self, place: Place) -> Found {
        let skip = self.scenario.skip.iter().zip(&self.skips).position(|(skip, speaks)| {
            speaks[place.stack] && (skip.terminals.is_empty() || skip.terminals.contains(&place.terminal))
        });
        if let Some(skip) = skip {
            return Found::Skip(skip);
        }
        let order = &self.orders[place.order];
        Found::Rule(self.rules_of(place).find(|(_, rule)| rule.speaks_of(order)).map(|(i, _)| i))
    }

    /// The rules for orders that no seed gives, of a cell under a seed.
    pub(crate) fn in_some_order(&self, place: Place) -> impl Iterator<Item = usize> {
        let order = &self.orders[place.order];
        let of_some = self.rules_of(place).filter(|(_, rule)| order.is_plain() && rule.speaks_of_some(order));
        of_some.map(|(i, _)| i)
    }

    /// The rules that speak of a stack on a terminal, under whatever orders.
    fn rules_of(&self, place: Place) -> impl Iterator<Item = (usize, &'a Expect)> {
        let of_stack = self.rules.iter().filter(move |(_, speaks)| speaks[place.stack]);
        let rules = of_stack.map(|(i, _)| (*i, &self.variant.scenario.expect[*i]));
        rules.filter(move |(_, rule)| rule.terminals.is_empty() || rule.terminals.contains(&place.terminal))
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scenario)?;
        if !self.variant.is_empty() {
            write!(f, "[{}]", self.variant)?;
        }
        write!(f, "::{}::{}::{}", self.strategy, self.terminal.name(), self.order)?;
        match self.arm {
            Arm::Main => Ok(()),
            Arm::Control => f.write_str("::control"),
        }
    }
}

/// Why a text names no cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellIdError {
    /// Not four or five parts.
    #[error("a cell is `scenario[variant]::strategy::terminal::seed`, with `::control` behind it for the control arm")]
    Parts,
    /// No such terminal.
    #[error("{}", unknown("terminal", .0, suggest(.0, terminals()), &format!("there are {}", terminals().join(", "))))]
    Terminal(String),
    /// The seed is not a number, or its choices are none.
    #[error(transparent)]
    Order(#[from] OrderError),
}

fn terminals() -> [&'static str; Terminal::ALL.len()] {
    Terminal::ALL.map(Terminal::name)
}

impl FromStr for CellId {
    type Err = CellIdError;

    fn from_str(text: &str) -> Result<CellId, CellIdError> {
        let parts: Vec<&str> = text.splitn(6, "::").collect();
        let (arm, parts) = match parts.as_slice() {
            [rest @ .., "control"] if rest.len() == 4 => (Arm::Control, rest),
            all => (Arm::Main, all),
        };
        let [scenario, strategy, terminal, seed] = parts else { return Err(CellIdError::Parts) };
        let (scenario, variant) = match scenario.strip_suffix(']').and_then(|s| s.split_once('[')) {
            Some((scenario, variant)) => (scenario, variant),
            None => (*scenario, ""),
        };
        let named = |t: &&Terminal| t.name() == *terminal;
        Ok(CellId {
            scenario: scenario.to_owned(),
            variant: variant.to_owned(),
            strategy: (*strategy).to_owned(),
            terminal: *Terminal::ALL.iter().find(named).ok_or_else(|| CellIdError::Terminal((*terminal).to_owned()))?,
            order: seed.parse()?,
            arm,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expected;

    #[test]
    fn what_names_no_cell_says_what_there_is() {
        let said = |text: &str| text.parse::<CellId>().expect_err(text).to_string();
        let all = terminals().join(", ");
        assert!(all.starts_with("tty, null, pipe, closed, ") && terminals().len() == Terminal::ALL.len());
        assert_eq!(
            [said("a::b::xyzzy::1"), said("a::b::nul::1")],
            [
                format!("no terminal is called `xyzzy`; there are {all}"),
                format!("no terminal is called `nul`; did you mean `null`? There are {all}")
            ]
        );
        assert_eq!([said("a::b::tty::x"), said("a::b::tty::control")], ["`x` is no seed", "`control` is no seed"]);
        let parts = said("a");
        for text in ["", "a::b::tty", "a::b::control", "a::b::tty::1::x", "a::b::tty::1::control::control"] {
            assert_eq!(said(text), parts, "{text}");
        }
        assert_eq!(DoesNotFit::new("why").to_string(), "why");
    }

    #[test]
    fn a_cell_is_read_as_it_is_written() {
        let id = |variant: &str, arm| CellId {
            scenario: "q/a".to_owned(),
            variant: variant.to_owned(),
            strategy: "none".to_owned(),
            terminal: Terminal::Null,
            order: Order::from(7),
            arm,
        };
        let picked = CellId { order: "7/3=2,9=3".parse().unwrap(), ..id("v", Arm::Control) };
        for (text, id) in [
            ("q/a[v]::none::null::7/3=2,9=3::control", picked),
            ("q/a::none::null::7", id("", Arm::Main)),
            ("q/a[v=1]::none::null::7", id("v=1", Arm::Main)),
            ("q/a::none::null::7::control", id("", Arm::Control)),
            ("q/a[v]::none::null::7::control", id("v", Arm::Control)),
        ] {
            assert_eq!(text.parse::<CellId>().as_ref(), Ok(&id));
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn an_order_that_a_rule_names_is_a_cell_of_its_own() {
        let file = |orders: &str| {
            let rules = format!("[[expect]]\nstrategies = [\"none\"]\norders = {orders}\noutcome = \"failed\"\n");
            format!(
                "title = \"T\"\nmechanism = \"F1\"\nagent = {{ opencode = {{}} }}\nterminals = [\"null\"]\n{rules}[[expect]]\noutcome = \"completed\"\n"
            )
        };
        let family = crate::load("x.toml", file("[\"1/3=2\"]").as_bytes()).family.expect("a family");
        let all = cells(&family, &crate::sample::Sample);
        let of_none = all.cells.iter().filter(|cell| cell.id.strategy == "none");
        let of_none: Vec<_> = of_none.map(|cell| (cell.id.order.to_string(), cell.expect.outcome.clone())).collect();
        let want = [("1", Expected::Completed), ("1/3=2", Expected::Failed)].map(|(order, is)| (order.to_owned(), is));
        assert_eq!(of_none, want);
        let others = all.cells.iter().filter(|cell| cell.id.strategy != "none");
        assert!(others.clone().count() > 0 && others.clone().all(|cell| cell.id.order.is_plain()));
        for (orders, why) in [
            ("[\"1\"]", "it has no choice at a tie: name it in `seeds`"),
            ("[\"7/3=2\"]", "its seed is not among `seeds`"),
            ("[\"1/3\"]", "is no choice"),
        ] {
            let loaded = crate::load("x.toml", file(orders).as_bytes());
            let problems = format!("{:?}", crate::check(&loaded, &crate::sample::Sample));
            assert!(problems.contains(why), "{orders}: {problems}");
        }
    }

    #[test]
    fn a_rule_for_some_order_adds_no_cell_and_takes_none_from_others() {
        let rules = |arm: &str, seeds: &str| {
            format!(
                "title = \"T\"\nmechanism = \"F1\"\nagent = {{ opencode = {{}} }}\nterminals = [\"null\"]\nseeds = [1, 2]\n\
                 [[expect]]\narm = \"{arm}\"\nstrategies = [\"none\"]\nseeds = {seeds}\norders = [\"some\"]\n\
                 outcome = \"failed\"\n[[expect]]\noutcome = \"completed\"\n"
            )
        };
        let family = crate::load("x.toml", rules("main", "[2]").as_bytes()).family.expect("a family");
        for cell in cells(&family, &crate::sample::Sample).cells {
            assert_eq!((&cell.expect.outcome, cell.id.order.is_plain()), (&Expected::Completed, true), "{}", cell.id);
            let is_meant = cell.id.strategy == "none" && cell.id.order.seed == 2;
            let found: Vec<_> = cell.in_some_order.iter().map(|rule| &rule.outcome).collect();
            assert_eq!(found, if is_meant { vec![&Expected::Failed] } else { vec![] }, "{}", cell.id);
        }
        for (text, why) in [
            (rules("control", "[2]"), "there is no control arm"),
            (rules("main", "[7]"), "no cell of this file has the seed 7"),
            (rules("main", "[]").replace("[\"some\"]", "[\"some\", \"1/3=2\"]"), "`some` stands alone"),
        ] {
            let loaded = crate::load("x.toml", text.as_bytes());
            let problems = format!("{:?}", crate::check(&loaded, &crate::sample::Sample));
            assert!(problems.contains(why), "{why}: {problems}");
        }
    }

    #[test]
    fn there_are_as_many_cells_as_there_may_be_and_no_more() {
        let seeds: Vec<String> = (0..100).map(|seed| seed.to_string()).collect();
        let vary: String = (0..128).map(|n| format!("[[vary]]\nname = \"v{n}\"\n")).collect();
        let file = format!(
            "title = \"T\"\nmechanism = \"F1\"\nagent = {{ opencode = {{}} }}\nseeds = [{}]\n{vary}[[expect]]\noutcome = \"completed\"\n",
            seeds.join(",")
        );
        let family = crate::load("x.toml", file.as_bytes()).family.expect("a family");
        assert_eq!(cells(&family, &crate::sample::Sample).cells.len(), limits::CELLS);
        let variant = &family.variants[0];
        let [matrix] = &Matrix::of(variant, &crate::sample::Sample)[..] else { panic!("one arm") };
        let mut count = 0;
        matrix.each(|_, found| {
            assert_eq!(found, Found::Rule(Some(0)));
            count += 1;
        });
        assert_eq!((matrix.len(), count), (matrix.stacks.len() * 4 * 100, matrix.stacks.len() * 4 * 100));
    }
}
