//! The proof of a lasso: the whole state repeats exactly and nothing material happened in between.
//!
//! Invariant: flat memory (Brent's algorithm: one state is kept, and replaced ever more rarely). Sound because
//! transitions are deterministic and do not depend on absolute time.

use rehang_scenario::{Span, VTime};

/// Instants without a material event before states are compared: most runs never come that far.
const FREE_INSTANTS: u32 = 3;

/// Looks for a repeating state.
#[derive(Debug, Default)]
pub struct Proof {
    material: u64,
    instants: u32,
    kept: Option<(Vec<u8>, VTime)>,
    power: u32,
    length: u32,
}

impl Proof {
    /// The cycle's length, if the state at this quiescent instant is the one that was kept. The state is made
    /// only where it is needed.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn repeats_if_due<E>(
        &mut self,
        material: u64,
        now: VTime,
        state: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Option<Span>, E> {
        if material != self.material {
            *self = Proof { material, ..Proof::default() };
        }
        self.instants = self.instants.saturating_add(1);
        if self.instants <= FREE_INSTANTS {
            return Ok(None);
        }
        Ok(self.repeats(state()?, material, now))
    }

    /// The cycle's length, if this state is the one that was kept.
    pub fn repeats(&mut self, state: Vec<u8>, material: u64, now: VTime) -> Option<Span> {
        if material != self.material {
            *self = Proof { material, ..Proof::default() };
        }
        match &self.kept {
            Some((kept, at)) if *kept == state => return Some(now.since(*at)),
            Some(_) => {
                self.length += 1;
                if self.length >= self.power {
                    // not twice as long, so that what is kept is not the same phase of every short cycle
                    self.power = self.power.saturating_mul(2).saturating_add(1);
                    self.length = 0;
                    self.kept = Some((state, now));
                }
            }
            None => {
                self.power = 1;
                self.kept = Some((state, now));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle_of(states: impl Iterator<Item = u8>) -> Option<u64> {
        let mut proof = Proof::default();
        for (at, state) in states.enumerate() {
            let now = VTime(at as u64 * 1_000);
            let found = proof.repeats_if_due(0, now, || Ok::<_, ()>(vec![state])).ok().flatten();
            if let Some(cycle) = found {
                return Some(cycle.as_ms());
            }
        }
        None
    }

    #[test]
    fn finds_a_cycle_behind_a_tail() {
        assert_eq!(cycle_of((0..40).chain((0..100).map(|i| 100 + i % 7))), Some(7_000));
    }

    #[test]
    fn finds_none_where_nothing_repeats() {
        assert_eq!(cycle_of(0..200), None);
    }

    #[test]
    fn a_material_event_begins_anew() {
        let mut proof = Proof::default();
        for at in 0..100 {
            let found = proof.repeats_if_due(at, VTime(at), || Ok::<_, ()>(vec![1]));
            assert_eq!(found, Ok(None));
        }
    }
}
