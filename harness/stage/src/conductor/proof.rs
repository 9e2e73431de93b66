//! The proof of a lasso: the whole state repeats exactly and nothing material happened in between.
//!
//! Invariant: flat memory (Brent's algorithm: one state is kept, and replaced ever more rarely). Sound because
//! transitions are deterministic and do not depend on absolute time. A state has two halves: the conductor's own,
//! which costs nothing to write, and the world's, for which every process is asked. Where the first differs from what
//! is kept, the second is not asked for.

use rehang_scenario::{Span, VTime};

/// Instants without a material event before states are compared: most runs never come that far.
const FREE_INSTANTS: u32 = 3;

/// Looks for a repeating state.
#[derive(Debug, Default)]
pub struct Proof {
    material: u64,
    instants: u32,
    kept: Option<(Vec<u8>, Vec<u8>, VTime)>,
    power: u32,
    length: u32,
}

impl Proof {
    /// Whether states are compared at this quiescent instant, behind so many material events.
    pub fn is_due(&mut self, material: u64) -> bool {
        if material != self.material {
            *self = Proof { material, ..Proof::default() };
        }
        self.instants = self.instants.saturating_add(1);
        self.instants > FREE_INSTANTS
    }

    /// The cycle's length, if the state is the one that was kept.
    ///
    /// # Errors
    /// Those of `world`.
    pub fn repeats<E>(
        &mut self,
        own: Vec<u8>,
        world: impl FnOnce() -> Result<Vec<u8>, E>,
        now: VTime,
    ) -> Result<Option<Span>, E> {
        let Some((kept_own, kept_world, at)) = &self.kept else {
            self.power = 1;
            self.kept = Some((own, world()?, now));
            return Ok(None);
        };
        let (same, replaces) = (*kept_own == own, self.length + 1 >= self.power);
        let world = if same || replaces { world()? } else { Vec::new() };
        if same && *kept_world == world {
            return Ok(Some(now.since(*at)));
        }
        self.length += 1;
        if replaces {
            // not twice as long, so that what is kept is not the same phase of every short cycle
            self.power = self.power.saturating_mul(2).saturating_add(1);
            self.length = 0;
            self.kept = Some((own, world, now));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle_of(states: impl Iterator<Item = u8>) -> Option<u64> {
        let mut proof = Proof::default();
        for (at, state) in states.enumerate() {
            let now = VTime(at as u64 * 1_000);
            // the halves differ at other instants: neither alone repeats where the state does not
            let (own, world) = (vec![state / 8], vec![state % 8]);
            if !proof.is_due(0) {
                continue;
            }
            if let Ok(Some(cycle)) = proof.repeats(own, || Ok::<_, ()>(world), now) {
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
            assert!(!proof.is_due(at), "{at}");
        }
    }

    #[test]
    fn the_world_is_asked_only_where_it_decides() {
        let mut proof = Proof::default();
        let mut asked = 0;
        for at in 0..1_000_u64 {
            let world = || {
                asked += 1;
                Ok::<_, ()>(vec![1])
            };
            assert_eq!(proof.repeats(at.to_le_bytes().to_vec(), world, VTime(at)), Ok(None));
        }
        // kept at first, and then behind 1, 3, 7, … others
        assert_eq!(asked, 9);
    }
}
