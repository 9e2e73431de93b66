//! Making an order small: choices are left out as long as what it shows stays.
//!
//! Invariant: leaving out any single choice of the result loses what it shows, unless a limit of tries came first.

use rehang_scenario::{Order, TieChoice};

/// The most runs that making one order small may take.
const TRIES: u32 = 400;

/// The smallest order that still `shows` it, from one that does. First half of the choices is left out at once, then ever
/// smaller parts.
pub fn smallest(order: Order, mut shows: impl FnMut(&Order) -> bool) -> Order {
    let (mut order, mut tries) = (order, 0);
    let mut part = order.choices().len().div_ceil(2);
    while part > 0 && tries < TRIES {
        let (mut at, mut has_shrunk) = (0, false);
        while at < order.choices().len() && tries < TRIES {
            tries += 1;
            let less = without(&order, at, part);
            if shows(&less) {
                (order, has_shrunk) = (less, true);
            } else {
                at += part;
            }
        }
        // single choices are tried until none of them can go
        part = if part == 1 { usize::from(has_shrunk) } else { part / 2 };
    }
    order
}

/// An order without some of its choices: `count` from this place on.
fn without(order: &Order, at: usize, count: usize) -> Order {
    let left = |place: &usize| !(at..at + count).contains(place);
    let choices: Vec<TieChoice> =
        order.choices().iter().enumerate().filter(|(place, _)| left(place)).map(|(_, choice)| *choice).collect();
    choices.iter().fold(Order::from(order.seed), |order, choice| order.then(*choice).unwrap_or(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_left_out() {
        let long: Order = "1/1=2,2=2,3=2,5=3,8=2,13=2,21=2".parse().unwrap();
        let has = |order: &Order, tie| order.choices().iter().any(|choice| choice.tie == tie);
        let mut runs = 0;
        let small = smallest(long.clone(), |order| {
            runs += 1;
            has(order, 3) && has(order, 13)
        });
        assert_eq!(small.to_string(), "1/3=2,13=2");
        assert!(runs < 30, "{runs}");
        assert_eq!(smallest(long.clone(), |_| false), long);
        assert_eq!(smallest(long, |_| true), Order::from(1));
    }
}
