//! What every stack of two strategies costs, beside one that is compared with all of them.
//!
//! Invariant: all are compared over the same cells. Where only one of two has a seat, it plays alone; where neither has,
//! their user has what `none` gives. Two that have a seat each and none together are no stack.

use super::cost::{CostRow, NONE, layer};
use super::table::minutes;
use rehang_scenario::Terminal;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How many rows of the cheapest are shown.
const SHOWN: usize = 10;

/// The costs of cells, by stack.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    /// A scenario with its arm, a terminal and a seed: what each stack costs there, in milliseconds.
    cells: BTreeMap<(String, Terminal, u64), BTreeMap<String, u64>>,
    inside: BTreeSet<String>,
}

impl Pairs {
    /// Whether there is no cell yet.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds what a stack cost in a cell: a scenario with its arm, a terminal, a seed.
    pub fn add(&mut self, cell: (&str, Terminal, u64), strategy: &str, inside: bool, cost_ms: u64) {
        let (scenario, terminal, seed) = cell;
        let costs = self.cells.entry((scenario.to_owned(), terminal, seed)).or_default();
        costs.insert(strategy.to_owned(), cost_ms);
        if inside {
            self.inside.insert(strategy.to_owned());
        }
    }

    /// What all that were added cost, alone and in twos, the cheapest first; `singles` are those that were combined.
    pub fn rows(&self, singles: &[String]) -> Vec<CostRow> {
        let played: BTreeSet<&String> = self.cells.values().flat_map(BTreeMap::keys).collect();
        let alone =
            played.iter().filter(|name| !name.contains('+') || singles.contains(name)).copied().collect::<Vec<_>>();
        // one that has no seat anywhere adds nothing
        let singles: Vec<&String> = singles.iter().filter(|name| played.contains(name)).collect();
        let pairs =
            singles.iter().enumerate().flat_map(|(at, a)| singles[at + 1..].iter().map(move |b| (*a, Some(*b))));
        let all = alone.into_iter().map(|name| (name, None)).chain(pairs);
        let mut rows: Vec<CostRow> = all.filter_map(|(a, b)| self.row(a, b)).collect();
        rows.sort_by(|a, b| a.cost_ms.cmp(&b.cost_ms).then_with(|| a.strategy.cmp(&b.strategy)));
        rows
    }

    fn row(&self, a: &str, b: Option<&String>) -> Option<CostRow> {
        let strategy = b.map_or_else(|| a.to_owned(), |b| format!("{a}+{b}"));
        let mut layers: BTreeMap<String, u64> = BTreeMap::new();
        for ((scenario, ..), costs) in &self.cells {
            let of = |name: &str| costs.get(name).copied();
            let cost = match (of(&strategy), of(a), b.and_then(|b| of(b))) {
                (Some(both), ..) => both,
                (None, Some(_), Some(_)) => return None,
                (None, one, other) => one.or(other).or_else(|| of(NONE)).unwrap_or(0),
            };
            *layers.entry(layer(scenario).to_owned()).or_default() += cost;
        }
        let inside = [Some(&strategy[..]), Some(a), b.map(String::as_str)];
        let inside = inside.into_iter().flatten().any(|name| self.inside.contains(name));
        Some(CostRow { strategy, inside, cost_ms: layers.values().sum(), layers })
    }

    /// The cheapest in sum, and the cheapest of each layer, beside `ours`; times in minutes.
    pub fn table(&self, rows: &[CostRow], ours: &str) -> String {
        let mut out = String::new();
        let Some(place) = rows.iter().position(|row| row.strategy == ours) else { return out };
        let guard = &rows[place];
        let twos = rows.iter().filter(|row| row.strategy.contains('+')).count();
        let _ = writeln!(out, "{} stacks, {twos} of them of two; {place} cost less than {ours} in sum", rows.len());
        let _ = writeln!(out, "\ncost in minutes, the cheapest in sum");
        let shown = rows.iter().take(SHOWN).chain((place >= SHOWN).then_some(guard));
        for row in shown {
            let mark = if row.inside { "  inside" } else { "" };
            let _ = writeln!(out, "{:>8}  {}{mark}", minutes(row.cost_ms), row.strategy);
        }
        let _ = writeln!(out, "\ncost in minutes of {ours}, and the cheapest other stack of each layer");
        for (layer, cost) in &guard.layers {
            let others = rows.iter().filter(|row| row.strategy != ours);
            let best =
                others.map(|row| (row.layers.get(layer).copied().unwrap_or(0), row)).min_by_key(|(cost, _)| *cost);
            let Some((least, best)) = best else { continue };
            let beaten = if least < *cost { "  cheaper" } else { "" };
            let _ =
                writeln!(out, "{:14} {:>8} {:>8}  {}{beaten}", layer, minutes(*cost), minutes(least), best.strategy);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Cells of one scenario each: what each stack costs there, in minutes.
    fn pairs(cells: &[(&str, &[(&str, u64)])]) -> Pairs {
        let mut pairs = Pairs::default();
        for (scenario, costs) in cells {
            for (strategy, minutes) in *costs {
                pairs.add((scenario, Terminal::Null, 1), strategy, *strategy == "c", minutes * 60_000);
            }
        }
        pairs
    }

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn who_has_no_seat_together_plays_alone_or_not_at_all() {
        let pairs = pairs(&[
            ("x/1", &[("none", 360), ("guard", 1), ("a", 60), ("b", 50), ("a+b", 40)]),
            ("x/2", &[("none", 360), ("guard", 1), ("b", 20)]),
            ("y/1", &[("none", 0), ("guard", 3)]),
            ("y/2", &[("none", 360), ("guard", 9), ("a", 5), ("c", 4)]),
        ]);
        let rows = pairs.rows(&names());
        let said: Vec<String> = rows.iter().map(|row| format!("{} {:?}", row.strategy, row.layers)).collect();
        expect![[r#"
            guard {"x": 120000, "y": 720000}
            a+b {"x": 3600000, "y": 300000}
            b+c {"x": 4200000, "y": 240000}
            a {"x": 25200000, "y": 300000}
            b {"x": 4200000, "y": 21600000}
            c {"x": 43200000, "y": 240000}
            none {"x": 43200000, "y": 21600000}
        "#]]
        .assert_eq(&(said.join("\n") + "\n"));
        expect![[r#"
            7 stacks, 2 of them of two; 0 cost less than guard in sum

            cost in minutes, the cheapest in sum
                  14  guard
                  65  a+b
                  74  b+c  inside
                 425  a
                 430  b
                 724  c  inside
                1080  none

            cost in minutes of guard, and the cheapest other stack of each layer
            x                     2       60  a+b
            y                    12        4  b+c  cheaper
        "#]]
        .assert_eq(&pairs.table(&rows, "guard"));
    }

    #[test]
    fn nothing_is_said_of_a_stack_that_did_not_play() {
        let pairs = pairs(&[("x/1", &[("none", 1)])]);
        assert_eq!(pairs.table(&pairs.rows(&names()), "guard"), "");
        assert!(Pairs::default().is_empty() && Pairs::default().rows(&names()).iter().all(|row| row.cost_ms == 0));
    }
}
