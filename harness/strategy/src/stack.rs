//! Strategies that work together: made from a spec, fitted to an agent, divided into the two seats.
//!
//! Invariant: the order of a stack is the order in which it is written, in both seats.

use crate::catalogue::{self, SeatError, fits};
use crate::entry::{Entry, Seat, Wire};
use crate::spec::{Spec, SpecError, Why, parse_stack};
use crate::{Facts, Strategy};
use rehang_words::Span;

/// Makes the stack that `spec` names.
///
/// # Errors
/// An ill-formed spec, an unknown name, a missing version, a parameter that does not fit, `none` with others.
pub fn stack(spec: &str) -> Result<Stack, SpecError> {
    let specs = parse_stack(spec)?;
    if let [only] = specs.as_slice()
        && only.version.is_none()
        && let Some(named) = catalogue::named().iter().find(|named| named.name == only.name)
    {
        // a parameter of the stack is one of each member that has any
        let mut members = parse_stack(named.members)?;
        let has_some = |member: &&mut Spec| member.resolve().is_ok_and(|(entry, _)| !entry.params.is_empty());
        members.iter_mut().filter(has_some).for_each(|member| member.params.clone_from(&only.params));
        let members = make(&members).map_err(|error| error.of_stack(named.name, only))?;
        return Ok(Stack { name: only.to_string(), named: true, members });
    }
    let members = make(&specs)?;
    let name = specs.iter().map(Spec::to_string).collect::<Vec<_>>().join("+");
    Ok(Stack { name, named: false, members })
}

/// Makes one strategy: what a persona does with each spec of its plan.
///
/// # Errors
/// Those of [`stack`]; a stack of several is an error too.
pub fn member(spec: &str) -> Result<Member, SpecError> {
    let spec = Spec::parse(spec)?;
    let (entry, params) = spec.resolve()?;
    Ok(Member { strategy: (entry.build)(&params), spec, entry })
}

/// The strategies of one stack.
pub struct Stack {
    /// Its shown form: the canonical spec, or the name of a named stack.
    pub name: String,
    /// Whether it has a name of its own, so that members without a seat are left out.
    pub named: bool,
    /// Its members, in the order of the spec.
    pub members: Vec<Member>,
}

/// One strategy of a stack.
pub struct Member {
    /// The spec as it is written.
    pub spec: Spec,
    /// The strategy's entry in the catalogue.
    pub entry: &'static Entry,
    /// The machine, in its state before anything is seen.
    pub strategy: Box<dyn Strategy>,
}

impl Stack {
    /// The stack as it plays with an agent that can be reached in these ways: members of a named stack that have no seat there are left out. One that
    /// has a part inside of the agent is named for that part, which is not left out.
    ///
    /// # Errors
    /// Why it cannot play: a member, or every member of a named stack, has no seat there.
    pub fn seat_in(mut self, wires: &[Wire]) -> Result<Stack, SeatError> {
        if self.named {
            if let Some(inside) = self.members.iter().find(|member| member.entry.seat == Seat::Inside) {
                fits(inside.entry, wires)?;
            }
            self.members.retain(|member| fits(member.entry, wires).is_ok());
            return if self.members.is_empty() { Err(SeatError::Nobody) } else { Ok(self) };
        }
        for member in &self.members {
            fits(member.entry, wires)?;
        }
        Ok(self)
    }

    /// The specs of those that sit inside the agent (for its plan), and those that sit outside (for the stage).
    pub fn split(self) -> (Vec<String>, Vec<Member>) {
        let mut inside = Vec::new();
        let mut outside = Vec::new();
        for member in self.members {
            match member.entry.seat {
                Seat::Nowhere => {}
                Seat::Inside => inside.push(member.spec.to_string()),
                Seat::Outside => outside.push(member),
            }
        }
        (inside, outside)
    }

    /// The latest end of one run, from its start, that its members' constants allow; `None` if none of them bounds a
    /// run. A member that goes on over all runs bounds none of them.
    pub fn bound(&self, facts: &Facts) -> Option<Span> {
        self.bounds(facts, false)
    }

    /// The latest end of this many runs, one after the other, from the first one's start; `None` if nothing bounds
    /// them.
    pub fn bound_of_runs(&self, facts: &Facts, runs: u32) -> Option<Span> {
        let each = self.bound(facts).map(|bound| Span(bound.as_ms().saturating_mul(runs.into())));
        each.into_iter().chain(self.bounds(facts, true)).min()
    }

    fn bounds(&self, facts: &Facts, outlives_run: bool) -> Option<Span> {
        let members = self.members.iter().filter(|member| member.strategy.outlives_run() == outlives_run);
        members.filter_map(|member| member.strategy.bound(facts)).min()
    }
}

fn make(specs: &[Spec]) -> Result<Vec<Member>, SpecError> {
    let mut members: Vec<Member> = Vec::with_capacity(specs.len());
    for spec in specs {
        let stacked = |reason| Why::Stacked { name: spec.full_name(), reason }.at(spec);
        if specs.len() > 1 && catalogue::named().iter().any(|named| named.name == spec.name) {
            return Err(stacked("is a stack of its own and stands alone"));
        }
        let (entry, params) = spec.resolve()?;
        if specs.len() > 1 && entry.seat == Seat::Nowhere {
            return Err(stacked("does nothing and stands alone"));
        }
        if members.iter().any(|member| member.entry.name == entry.name) {
            return Err(stacked("stands twice in the stack"));
        }
        members.push(Member { strategy: (entry.build)(&params), spec: spec.clone(), entry });
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_that_of_a_run_and_a_cap_that_of_the_loop() {
        let bounds = |spec: &str, runs| {
            let stack = crate::stack(spec).expect("it is in the catalogue");
            (stack.bound(&Facts::default()), stack.bound_of_runs(&Facts::default(), runs))
        };
        let idle = Some(Span::secs(3_601));
        assert_eq!(bounds("idle@f54b32f", 1), (idle, idle));
        assert_eq!(bounds("idle@f54b32f", 9), (idle, Some(Span::secs(9 * 3_601))));
        assert_eq!(bounds("wall", 9), (None, Some(Span::hours(4))));
        assert_eq!(bounds("idle@f54b32f+wall(cap=2h)", 9), (idle, Some(Span::hours(2))));
        assert_eq!(bounds("none", 9), (None, None));
    }
}
