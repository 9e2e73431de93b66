//! The order of what happens at the same virtual time: a seed, and choices at single ties.
//!
//! A tie is a moment at which two or more participants can run. The seed puts its candidates in an order, and the first
//! of them runs. A choice lets another one run at one tie: `1/14=2` is seed 1, but at the 14th tie the second candidate
//! runs. Ties are counted from 1 over the whole cell.
//!
//! Invariant: the choices of an order are sorted by their ties, no tie has two, and each of them picks another candidate
//! than the seed would. So two orders are equal if their texts are.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most choices of an order. What is found has one to three; more are a mistake.
pub const CHOICES_MAX: usize = 1_000;

/// One choice: which candidate runs at one tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TieChoice {
    /// The ordinal of the tie in its cell, from 1.
    pub tie: u32,
    /// The ordinal of the candidate in the seed's order, from 2.
    pub pick: u16,
}

/// A seed with choices at single ties. Written `1`, `1/14=2`, `1/14=2,20=3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Order {
    /// The seed, which orders the candidates of every tie.
    pub seed: u64,
    choices: Vec<TieChoice>,
}

/// Why a text is no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The seed is not a number.
    #[error("`{0}` is no seed")]
    Seed(String),
    /// A choice is not `TIE=PICK`.
    #[error("`{0}` is no choice: give TIE=PICK, such as 14=2, which lets the second candidate run at the 14th tie")]
    Choice(String),
    /// A tie that cannot be.
    #[error("`{0}`: ties are counted from 1")]
    Tie(String),
    /// A choice of what the seed chooses.
    #[error("`{0}`: the first candidate is the one that runs without a choice; leave it out, or give 2 or more")]
    First(String),
    /// The ties do not rise.
    #[error("`{0}`: its tie is not after the one before it; write them in their order, each once")]
    Unsorted(String),
    /// Too many choices.
    #[error("at most {CHOICES_MAX} choices")]
    TooMany,
}

impl From<u64> for Order {
    fn from(seed: u64) -> Order {
        Order { seed, choices: Vec::new() }
    }
}

impl Order {
    /// The choices, sorted by their ties.
    pub fn choices(&self) -> &[TieChoice] {
        &self.choices
    }

    /// Whether there is only a seed.
    pub fn is_plain(&self) -> bool {
        self.choices.is_empty()
    }

    /// This order with one more choice, at a tie after all of its own.
    ///
    /// # Errors
    /// A tie that is not after them, or the first candidate.
    pub fn then(&self, choice: TieChoice) -> Result<Order, OrderError> {
        let mut order = self.clone();
        order.add(choice)?;
        Ok(order)
    }

    fn add(&mut self, choice: TieChoice) -> Result<(), OrderError> {
        let text = || choice.to_string();
        match () {
            () if choice.tie == 0 => Err(OrderError::Tie(text())),
            () if choice.pick < 2 => Err(OrderError::First(text())),
            () if self.choices.last().is_some_and(|last| last.tie >= choice.tie) => Err(OrderError::Unsorted(text())),
            () if self.choices.len() >= CHOICES_MAX => Err(OrderError::TooMany),
            () => {
                self.choices.push(choice);
                Ok(())
            }
        }
    }
}

impl fmt::Display for TieChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.tie, self.pick)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        for (at, choice) in self.choices.iter().enumerate() {
            write!(f, "{}{choice}", if at == 0 { '/' } else { ',' })?;
        }
        Ok(())
    }
}

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Order, OrderError> {
        let (seed, choices) = match text.split_once('/') {
            Some((seed, choices)) => (seed, Some(choices)),
            None => (text, None),
        };
        let mut order = Order::from(seed.parse::<u64>().map_err(|_| OrderError::Seed(seed.to_owned()))?);
        for word in choices.into_iter().flat_map(|choices| choices.split(',')) {
            let wrong = || OrderError::Choice(word.to_owned());
            let (tie, pick) = word.split_once('=').ok_or_else(wrong)?;
            let choice = TieChoice { tie: tie.parse().map_err(|_| wrong())?, pick: pick.parse().map_err(|_| wrong())? };
            order.add(choice)?;
        }
        Ok(order)
    }
}

impl TryFrom<String> for Order {
    type Error = OrderError;

    fn try_from(text: String) -> Result<Order, OrderError> {
        text.parse()
    }
}

impl From<Order> for String {
    fn from(order: Order) -> String {
        order.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for text in ["1", "0", "7/1=2", "1/14=2,20=3", "18446744073709551615/4294967295=65535"] {
            let order: Order = text.parse().expect(text);
            assert_eq!(order.to_string(), text);
            assert_eq!(order.is_plain(), !text.contains('/'), "{text}");
            let json = serde_json::to_string(&order).unwrap();
            assert_eq!(
                (json.as_str(), serde_json::from_str(&json).ok()),
                (format!("\"{text}\"").as_str(), Some(order))
            );
        }
        let one = Order::from(3).then(TieChoice { tie: 4, pick: 2 }).unwrap();
        assert_eq!(one.then(TieChoice { tie: 9, pick: 3 }).unwrap().to_string(), "3/4=2,9=3");
    }

    #[test]
    fn what_is_no_order_says_what_it_should_be() {
        let said = |text: &str| text.parse::<Order>().expect_err(text);
        assert_eq!(said("x"), OrderError::Seed("x".into()));
        assert_eq!(said("/1=2"), OrderError::Seed(String::new()));
        for (text, word) in [("1/", ""), ("1/4", "4"), ("1/4=", "4="), ("1/4=x", "4=x"), ("1/4=2,", "")] {
            assert_eq!(said(text), OrderError::Choice(word.into()), "{text}");
        }
        assert_eq!(said("1/0=2"), OrderError::Tie("0=2".into()));
        assert_eq!([said("1/4=1"), said("1/4=0")], ["4=1", "4=0"].map(|word| OrderError::First(word.into())));
        assert_eq!([said("1/4=2,4=3"), said("1/4=2,3=2")], ["4=3", "3=2"].map(|w| OrderError::Unsorted(w.into())));
        let many: Vec<String> = (1..=CHOICES_MAX + 1).map(|tie| format!("{tie}=2")).collect();
        assert_eq!(said(&format!("1/{}", many.join(","))), OrderError::TooMany);
        assert!(said("1/4").to_string().contains("such as 14=2"));
    }
}
