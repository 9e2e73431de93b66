//! Lets workers play the orders of a torture.
//!
//! Invariant: an order that a worker does not come back from is an internal error, never silence.

use crate::pool::{Pool, PoolError};
use rehang_search::torture::{Answer, Order};
use std::time::Duration;

/// How long one order takes at most, in real time: far longer than any order whose cells come to their ends.
const CEILING: Duration = Duration::from_secs(120);

/// Lets a worker play an order. A worker that breaks off or never answers is an internal error, attributed to what it
/// played.
pub fn ask(pool: &Pool, order: &Order) -> Answer {
    pool.submit_within(order, CEILING).unwrap_or_else(|error| Answer::broke_off(order, &error.to_string()))
}

/// As [`ask`]; `None` if there is no answer within `limit`, which says nothing about the order.
pub fn ask_within(pool: &Pool, order: &Order, limit: Duration) -> Option<Answer> {
    match pool.submit_within(order, limit) {
        Ok(answer) => Some(answer),
        Err(PoolError::Late(_)) => None,
        Err(error) => Some(Answer::broke_off(order, &error.to_string())),
    }
}
