//! The search for the two adjacent releases between which a verdict changes.
//!
//! Invariant: pure. It asks for one release at a time and is told what was seen; it never guesses about a release that
//! cannot run or whose verdict is not sure, and says so if one of them is between the two that it names.

use std::cmp::Reverse;

/// What is known of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Its verdict is that of the good end.
    Good,
    /// Its verdict is that of the bad end.
    Bad,
    /// It cannot run, its verdict is not sure, or its verdict is a third one.
    Unusable,
}

/// The search over `n` releases, the first of which is one end and the last the other.
#[derive(Debug, Clone)]
pub struct Search {
    seen: Vec<Option<Seen>>,
    first: Seen,
    low: usize,
    high: usize,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Look at this one.
    Look(usize),
    /// Found: the last release that is like the first end, and the next one that is like the other. Those between them
    /// could not be used.
    Found {
        /// The last release that is like the first end.
        before: usize,
        /// The first release that is like the other end.
        after: usize,
        /// Those between, which could not be used.
        between: Vec<usize>,
    },
}

impl Search {
    /// A search over `n` releases in their order, at least two. `first` is what the first release is; the last release
    /// is the opposite.
    pub fn new(n: usize, first: Seen) -> Search {
        let mut seen = vec![None; n.max(2)];
        let high = seen.len() - 1;
        seen[0] = Some(first);
        seen[high] = Some(other(first));
        Search { seen, first, low: 0, high }
    }

    /// What is known of each release.
    pub fn seen(&self) -> &[Option<Seen>] {
        &self.seen
    }

    /// What comes next: the unknown release that is nearest to the middle.
    pub fn next(&self) -> Next {
        let middle = self.low + (self.high - self.low) / 2;
        let unknown = (self.low + 1..self.high).filter(|&at| self.seen[at].is_none());
        match unknown.min_by_key(|at| (at.abs_diff(middle), Reverse(*at))) {
            Some(at) => Next::Look(at),
            None => Next::Found { before: self.low, after: self.high, between: (self.low + 1..self.high).collect() },
        }
    }

    /// Takes in what was seen of a release that [`Search::next`] asked for.
    pub fn tell(&mut self, at: usize, seen: Seen) {
        if at <= self.low || at >= self.high {
            return;
        }
        self.seen[at] = Some(seen);
        match seen {
            Seen::Unusable => {}
            seen if seen == self.first => self.low = at,
            _ => self.high = at,
        }
    }
}

fn other(seen: Seen) -> Seen {
    if seen == Seen::Good { Seen::Bad } else { Seen::Good }
}

/// The verdict on one release, from its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sure<V> {
    /// More runs are needed.
    More,
    /// Sure enough.
    Of(V),
    /// Runs differ: the verdicts, most frequent first, each with its count.
    Flaky(Vec<(V, usize)>),
}

/// When a verdict is sure: `needed` runs agree. If one differs, as many runs are added; then even a majority of three
/// quarters counts as flaky, since the next run would be a guess.
pub fn sure<V: Clone + Eq>(runs: &[V], needed: usize) -> Sure<V> {
    let needed = needed.max(1);
    let mut counts: Vec<(V, usize)> = Vec::new();
    for run in runs {
        match counts.iter_mut().find(|(verdict, _)| verdict == run) {
            Some((_, count)) => *count += 1,
            None => counts.push((run.clone(), 1)),
        }
    }
    counts.sort_by_key(|(_, count)| Reverse(*count));
    match counts.as_slice() {
        [(verdict, count)] if *count >= needed => Sure::Of(verdict.clone()),
        [] | [_] => Sure::More,
        _ if runs.len() < 2 * needed => Sure::More,
        _ => Sure::Flaky(counts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search over known verdicts, and returns what was found and how many looks it took.
    fn run(world: &[Seen]) -> (Next, usize) {
        let mut search = Search::new(world.len(), world[0]);
        let mut looks = 0;
        loop {
            match search.next() {
                Next::Look(at) => {
                    looks += 1;
                    search.tell(at, world[at]);
                }
                found @ Next::Found { .. } => return (found, looks),
            }
        }
    }

    fn found(before: usize, after: usize, between: &[usize]) -> Next {
        Next::Found { before, after, between: between.to_vec() }
    }

    #[test]
    fn every_boundary_is_found_in_either_order_with_few_looks() {
        for n in 2..40 {
            for boundary in 1..n {
                for first in [Seen::Good, Seen::Bad] {
                    let world: Vec<Seen> = (0..n).map(|at| if at < boundary { first } else { other(first) }).collect();
                    let (next, looks) = run(&world);
                    assert_eq!(next, found(boundary - 1, boundary, &[]));
                    assert!(looks <= (n as f64).log2().ceil() as usize, "{n} {boundary}: {looks}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_used_is_skipped_and_named_where_it_matters() {
        use Seen::{Bad as B, Good as G, Unusable as U};
        assert_eq!(run(&[B, B, U, U, G, G]).0, found(1, 4, &[2, 3]));
        assert_eq!(run(&[B, U, B, B, G, U, G]).0, found(3, 4, &[]));
        assert_eq!(run(&[B, U, U, U, U, U, G]).0, found(0, 6, &[1, 2, 3, 4, 5]));
    }

    #[test]
    fn with_several_boundaries_the_two_that_are_named_differ_and_are_adjacent() {
        use Seen::{Bad as B, Good as G};
        let world = [B, G, G, B, B, G, B, G];
        let Next::Found { before, after, between } = run(&world).0 else { panic!("it ends") };
        assert_eq!((world[before], world[after], between.len()), (B, G, 0));
        assert_eq!(after, before + 1);
    }

    #[test]
    fn a_verdict_is_sure_when_all_runs_agree() {
        assert_eq!(sure(&["hung", "hung"], 3), Sure::More);
        assert_eq!(sure(&["hung", "hung", "hung"], 3), Sure::Of("hung"));
        assert_eq!(sure(&["hung", "hung", "ok"], 3), Sure::More);
        assert_eq!(sure(&["hung", "ok", "hung", "hung", "hung", "hung"], 3), Sure::Flaky(vec![("hung", 5), ("ok", 1)]));
    }
}
