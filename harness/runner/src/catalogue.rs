//! What the scenario format must know of strategies, answered by the strategies' catalogue.
//!
//! Invariant: the matrix of an agent comes from the strategy crate; only stacks that a user names are added. What was
//! answered once is remembered: a corpus asks the same of the same few names and agents in each of its files.

use foldhash::fast::FixedState;
use rehang_scenario::Agent;
use rehang_scenario::cells::{Catalogue, DoesNotFit, Named, Unknown};
use rehang_scenario::text::did_you_mean;
use rehang_strategy::spec::{SpecError, Why};
use rehang_strategy::{self as strategy, Wire};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The strategies of this build.
#[derive(Debug, Clone, Default)]
pub struct Strategies {
    /// Stacks that a user names beside the matrix: `idle@f54b32f(timeout=10m)`, `a+b`.
    named: Vec<String>,
    /// What patterns name.
    resolved: RefCell<BTreeMap<String, Result<Named, Unknown>>>,
    /// By pattern, which stacks are meant by it.
    meant: RefCell<HashMap<String, HashMap<String, bool, FixedState>, FixedState>>,
    /// The matrix of agents with these wires.
    matrices: RefCell<BTreeMap<Vec<Wire>, Vec<String>>>,
}

impl Strategies {
    /// Those of the build, and these stacks beside its matrix.
    pub fn with(named: Vec<String>) -> Strategies {
        Strategies { named, ..Strategies::default() }
    }
}

/// What is wrong with a name, and the text under the caret.
fn unknown(why: Why) -> Unknown {
    let meant = |near: Option<&str>, known: &[&str]| match near {
        Some(near) => did_you_mean(near),
        None if known.is_empty() => "it has none".to_owned(),
        None => format!("there is `{}`", known.join("`, `")),
    };
    let (message, label) = match why {
        Why::Unknown { name, near } => {
            let label = near.map_or("`rehang list --strategies` lists them".to_owned(), did_you_mean);
            (format!("no strategy is called `{name}`"), label)
        }
        Why::UnknownVersion { name, near, versions } => (format!("there is no `{name}`"), meant(near, &versions)),
        Why::UnknownParam { entry, name, near, known } => {
            (format!("`{entry}` has no parameter `{name}`"), meant(near, &known))
        }
        Why::BadValue { name, value, reason } => (format!("`{name}={value}` does not fit"), reason),
        why => (why.to_string(), "in this name".to_owned()),
    };
    Unknown { message, label: Some(label) }
}

/// What a pattern names.
///
/// # Errors
/// A pattern that names nothing; with what may have been meant.
pub fn checked(pattern: &str) -> Result<Named, SpecError> {
    match strategy::stack(pattern) {
        Ok(_) => Ok(Named::Stack),
        Err(_) if strategy::spec::check_pattern(pattern).is_ok() => Ok(Named::Family),
        Err(error) => Err(error),
    }
}

impl Catalogue for Strategies {
    fn resolve(&self, pattern: &str) -> Result<Named, Unknown> {
        if let Some(known) = self.resolved.borrow().get(pattern) {
            return known.clone();
        }
        let resolved = checked(pattern).map_err(|error| unknown(error.why));
        self.resolved.borrow_mut().insert(pattern.to_owned(), resolved.clone());
        resolved
    }

    fn stacks(&self, agent: &Agent) -> Vec<String> {
        // whether a strategy has a seat depends on them alone
        let wires = agent.wires();
        if let Some(known) = self.matrices.borrow().get(&wires) {
            return known.clone();
        }
        let mut stacks = strategy::matrix(&agent.wires());
        for name in self.named.iter().filter(|name| strategy::stack(name).is_ok() && self.fits(name, agent).is_ok()) {
            // `auto-answer@r1` means the placements that are there already
            if !stacks.iter().any(|stack| strategy::spec::covers(name, stack)) {
                stacks.push(name.clone());
            }
        }
        self.matrices.borrow_mut().insert(wires, stacks.clone());
        stacks
    }

    fn fits(&self, stack: &str, agent: &Agent) -> Result<(), DoesNotFit> {
        let stack = strategy::stack(stack).map_err(DoesNotFit::new)?;
        stack.seat_in(&agent.wires()).map(drop).map_err(DoesNotFit::new)
    }

    fn matches(&self, pattern: &str, stack: &str) -> bool {
        let mut meant = self.meant.borrow_mut();
        if let Some(known) = meant.get(pattern).and_then(|stacks| stacks.get(stack)) {
            return *known;
        }
        let covers = strategy::spec::covers(pattern, stack);
        meant.entry(pattern.to_owned()).or_default().insert(stack.to_owned(), covers);
        covers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::{Style, check, load};

    /// The problems of a file whose second rule is for this name, each by its message and label.
    fn problems(name: &str) -> String {
        let text = format!(
            "title = \"T\"\nmechanism = \"F1\"\nagent = {{ opencode = {{ mode = \"serve\" }} }}\nterminals = [\"null\"]\nturns = [{{ say = \"Hi\" }}]\n\n\
             [[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\n\n\
             [[expect]]\nstrategies = [\"{name}\"]\noutcome = \"completed\"\n\n\
             [[expect]]\noutcome = \"as none\"\n"
        );
        let problems = check(&load("x.toml", text.as_bytes()), &Strategies::default());
        let text = problems.render(Style::Plain);
        let said = text.lines().filter(|line| line.starts_with("error: ") || line.contains('^'));
        said.map(|line| line.trim_start_matches([' ', '|'])).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_wrong_name_is_the_one_error_of_its_rule() {
        assert_eq!(problems("watcher@pr3"), "");
        let said = [
            ("wacher", "error: no strategy is called `wacher`", "did you mean `watcher`?"),
            ("watcher@pr4", "error: there is no `watcher@pr4`", "did you mean `watcher@pr2`?"),
            ("watcher@pr3(idel=5m)", "error: `watcher@pr3` has no parameter `idel`", "did you mean `idle`?"),
        ];
        for (name, error, label) in said {
            assert_eq!(problems(name), format!("{error}\n{} {label}", "^".repeat(name.len() + 2)));
        }
        for name in ["watcher@pr3(foo=5m)", "watcher@pr3(idle=5)", "watcher@"] {
            let said = problems(name);
            let lines: Vec<&str> = said.lines().collect();
            let labelled = lines.len() == 2 && lines[1].trim_start_matches('^').len() > 1;
            assert!(labelled && !said.contains("no cell"), "{name}: {said}");
        }
    }
}
