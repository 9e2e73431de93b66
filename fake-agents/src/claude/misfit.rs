//! What a host's reply to `can_use_tool` that fits neither answer is told as: the report of the release's validator.
//!
//! Invariant: word for word as recorded for a behavior that is neither `allow` nor `deny`; other misfits have the same
//! form, with the issues that apply.

use super::release::Release;
use super::texts::request_failed;
use serde_json::{Value, json};

/// What 2.1.329 says of any of them.
const NEWEST: &str = "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', \
    updatedInput?: object} or {behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, \
    rules and directories in all.";

/// The text for this reply.
pub(super) fn misfit(release: Release, reply: &Value) -> String {
    let branches = [("allow", "updatedInput"), ("deny", "message")];
    let issues = |of: fn(&str, &str, &Value) -> Vec<Value>| branches.map(|(behavior, key)| of(behavior, key, reply));
    match release {
        Release::V2_1_329 => NEWEST.to_owned(),
        Release::V2_0_77 => {
            let report = json!([{"code": "invalid_union", "errors": issues(of_2_0_77), "path": [],
                "message": "Invalid input"}]);
            request_failed(&format!("ZodError: {}", pretty(&report)))
        }
        Release::V1_0_128 => {
            let errors = issues(of_1_0_128).map(|issues| json!({"issues": issues, "name": "ZodError"}));
            let report = json!([{"code": "invalid_union", "unionErrors": errors, "path": [],
                "message": "Invalid input"}]);
            request_failed(&pretty(&report))
        }
    }
}

fn of_1_0_128(behavior: &str, key: &str, reply: &Value) -> Vec<Value> {
    let mut issues = Vec::new();
    let expected = if key == "message" { "string" } else { "object" };
    if reply["behavior"] != behavior {
        let received = if reply["behavior"].is_null() { json!("undefined") } else { reply["behavior"].clone() };
        issues.push(json!({"received": received, "code": "invalid_literal", "expected": behavior,
            "path": ["behavior"], "message": format!("Invalid literal value, expected \"{behavior}\"")}));
    }
    if reply.get(key).is_none() {
        issues.push(json!({"code": "invalid_type", "expected": expected, "received": "undefined", "path": [key],
            "message": "Required"}));
    }
    issues
}

fn of_2_0_77(behavior: &str, key: &str, reply: &Value) -> Vec<Value> {
    let mut issues = Vec::new();
    let expected = if key == "message" { "string" } else { "record" };
    if reply["behavior"] != behavior {
        issues.push(json!({"code": "invalid_value", "values": [behavior], "path": ["behavior"],
            "message": format!("Invalid input: expected \"{behavior}\"")}));
    }
    if reply.get(key).is_none() {
        issues.push(json!({"expected": expected, "code": "invalid_type", "path": [key],
            "message": format!("Invalid input: expected {expected}, received undefined")}));
    }
    issues
}

fn pretty(report: &Value) -> String {
    serde_json::to_string_pretty(report).unwrap_or_default()
}
