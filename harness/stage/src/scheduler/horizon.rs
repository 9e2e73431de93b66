//! The horizon: the virtual time at which a cell that has neither settled nor been proved to hang is given up.
//!
//! Invariant: it is later than every instant that the scenario or a strategy's bound names, so that a run that is only
//! slow ends first.

use crate::judged::counts;
use rehang_scenario::{Scenario, Span};
use serde_json::Value;

/// The horizon of a scenario with short spans: two days.
pub const SHORTEST: Span = Span::hours(48);

/// The longest horizon, twenty years: a file whose spans and runs add up to more is given up then.
const LONGEST: Span = Span::hours(20 * 366 * 24);

/// The horizon of a scenario under a stack: two days after the sum of its spans and the stack's bound, over all runs.
pub fn of(scenario: &Scenario, stack: &str) -> Span {
    let written = serde_json::to_value(scenario).map_or(0, |value| sum_ms(&value));
    let bound = rehang_strategy::stack(stack).ok().and_then(|stack| stack.bound(&counts(scenario, Span::ZERO)));
    let run_ms = written.saturating_add(bound.unwrap_or(Span::ZERO).as_ms());
    let all = SHORTEST + Span::ms(run_ms.saturating_mul(u64::from(scenario.runs.max(1))));
    all.min(LONGEST)
}

/// The sum of all spans in a value; a span that is repeated counts as often as it is.
fn sum_ms(value: &Value) -> u64 {
    let sum = |values: &mut dyn Iterator<Item = &Value>| values.map(sum_ms).fold(0, u64::saturating_add);
    match value {
        Value::String(text) => Span::parse(text).map_or(0, Span::as_ms),
        Value::Array(values) => sum(&mut values.iter()),
        Value::Object(fields) => {
            let times = fields.get("times").and_then(Value::as_u64).unwrap_or(1).max(1);
            sum(&mut fields.values()).saturating_mul(times)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_spans_count_and_repeated_ones_as_often_as_they_are() {
        let value =
            json!({ "a": [{ "sleep": "49h" }, { "every": { "every": "1s", "times": 3600 } }], "b": "4 h", "c": 7 });
        assert_eq!(sum_ms(&value), Span::hours(50).as_ms());
    }
}
