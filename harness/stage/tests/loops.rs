//! Which loops are proved to go on for ever.
//!
//! Invariant: a loop in which anything counts, or in which the name of a process could decide, is no proof.

use rehang_os::sim::SimKernel;
use rehang_scenario::{Scenario, Terminal};
use rehang_stage::{Job, run};
use rehang_trace::{Ended, RunEnd, What};
use serde_json::{Value, json};

/// How a program that plays these steps ends without a strategy.
fn end(steps: &Value) -> String {
    let all = json!({ "title": "t", "mechanism": "M7", "agent": { "program": steps } });
    let scenario: Scenario = serde_json::from_value(all).expect("a scenario");
    let job = Job::new(&scenario, "none", Terminal::Null, 1);
    let record = run(&mut SimKernel::new(rehang_fakes::program), &job).expect("the cell runs");
    let end = record.trace.events.iter().find_map(|event| match &event.what {
        What::Settled { outcome: RunEnd::Completed, .. } => Some("completed".to_owned()),
        What::Ended(Ended::Lasso { cycle_ms, .. }) => Some(format!("lasso of {cycle_ms} ms")),
        What::Ended(ended) => Some(format!("{ended:?}").split(['(', ' ']).next().unwrap_or_default().to_owned()),
        _ => None,
    });
    end.unwrap_or_default()
}

#[test]
fn a_round_that_leaves_nothing_behind_comes_again_for_ever() {
    let one = json!([{ "run": [{ "sleep": "9s" }, { "print": "1 test failed" }] }, { "sleep": "1s" }, "again"]);
    assert_eq!(end(&one), "lasso of 10000 ms");
    let call = |name: &str| json!({ "run": [{ "print": name }, { "sleep": "1s" }] });
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"].map(call);
    let eight: Vec<Value> = names.into_iter().chain([json!({ "sleep": "1s" }), json!("again")]).collect();
    assert_eq!(end(&json!(eight)), "lasso of 9000 ms", "eight calls, one after the other");
}

#[test]
fn two_new_processes_at_one_tie_are_no_proof() {
    // in each round both are due at once, and have other names than in the last one: a name decides who is first
    let left = json!({ "background": { "does": [{ "sleep": "2s" }], "stdout": false, "stderr": false } });
    let round = |sleep: &str| json!([{ "run": [left, { "sleep": sleep }] }, { "sleep": "1m" }, "again"]);
    assert_eq!(end(&round("2s")), "Horizon");
    assert_eq!(end(&round("3s")), "lasso of 63000 ms", "one after the other");
}

#[test]
fn a_count_ends_what_looks_like_a_loop() {
    for times in [150, 400, 700] {
        let lines = json!([{ "every": { "every": "1s", "print": "still 1 test failed", "times": times } }, { "result": { "text": "done" } }]);
        assert_eq!(end(&lines), "completed", "{times}");
    }
}
