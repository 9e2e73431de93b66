use super::*;
use serde_json::{from_value, json};

#[test]
fn who_is_not_there_neither_hears_nor_speaks() {
    let start = |value| from_value::<Start>(value).unwrap();
    let ears = |start: Start| (start.hears(), start.speaks());
    assert_eq!(ears(start(json!({ "name": "x" }))), (true, true));
    assert_eq!(ears(start(json!({ "name": "x", "missing": true }))), (false, false));
    assert_eq!(ears(start(json!({ "name": "x", "stdin": "null" }))), (false, true));
    assert_eq!(ears(start(json!({ "name": "x", "stdout": "null" }))), (true, false));
}

#[test]
fn a_permission_is_asked_by_a_tool_that_writes_unless_another_is_named() {
    assert_eq!(from_value::<Permit>(json!({ "permission": "edit" })).unwrap().tool, "write");
    assert_eq!(from_value::<Permit>(json!({ "permission": "edit", "tool": "edit" })).unwrap().tool, "edit");
}

fn turns(value: serde_json::Value) -> Vec<Turn> {
    from_value(value).unwrap()
}

/// Each response by its parts and its end: `say bash | tool-calls`.
fn cut(value: serde_json::Value) -> Vec<String> {
    let word = |turn: &Turn| match serde_json::to_value(turn).unwrap() {
        serde_json::Value::Object(map) => map.keys().next().unwrap().clone(),
        word => word.to_string(),
    };
    let one = |response: &Response| {
        let parts: Vec<String> = response.parts.iter().map(word).collect();
        format!("{} | {}", parts.join(" "), serde_json::to_value(response.finish).unwrap().as_str().unwrap())
    };
    responses(&turns(value)).iter().map(one).collect()
}

#[test]
fn a_response_ends_after_its_tool_calls_or_where_the_file_says() {
    let say = || json!({ "say": "a" });
    let ask = || json!({ "ask": [{ "question": "Q" }] });
    let permit = || json!({ "permit": { "permission": "edit" } });
    let bash = || json!({ "bash": { "command": "x", "does": [] } });
    let task = || json!({ "task": { "description": "x", "turns": [{ "say": "inner" }] } });
    let end = |why: &str| json!({ "finish": why });
    assert!(cut(json!([])).is_empty());
    assert_eq!(cut(json!([say(), { "think": "1s" }])), ["say think | stop"]);
    for (name, call) in [("ask", ask()), ("permit", permit()), ("bash", bash()), ("task", task())] {
        let ends = format!("say {name} | tool-calls");
        assert_eq!(cut(json!([say(), call])), [ends.as_str()]);
        assert_eq!(cut(json!([say(), call, say()])), [ends.as_str(), "say | stop"]);
        assert_eq!(cut(json!([say(), call, call])), [ends.clone(), format!("{name} | tool-calls")]);
    }
    assert_eq!(cut(json!([{ "together": [ask(), bash()] }, say()])), ["ask bash | tool-calls", "say | stop"]);
    // the file's own end takes the calls before it along, and no other end follows
    assert_eq!(cut(json!([say(), bash(), end("unknown"), say()])), ["say bash | unknown", "say | stop"]);
    assert_eq!(cut(json!([say(), end("none")])), ["say | none"]);
    assert_eq!(cut(json!([end("stop"), end("tool-calls")])), [" | stop", " | tool-calls"]);
}

#[test]
fn a_path_names_a_response_of_the_session_or_of_a_subagent() {
    let inner = json!({ "task": { "description": "y", "turns": [{ "say": "deepest" }] } });
    let task = json!({ "task": { "description": "x", "turns": [inner, { "say": "inner" }] } });
    let all =
        turns(json!([{ "say": "a" }, { "finish": "stop" }, { "together": [{ "ask": [{ "question": "Q" }] }, task] }]));
    let said = |path: &str| response_at(&all, path).map(|response| (response.parts.len(), response.finish));
    let beyond = Some((0, Finish::Stop));
    assert_eq!(
        [said("1"), said("2"), said("3"), said("99")],
        [Some((1, Finish::Stop)), Some((2, Finish::ToolCalls)), beyond, beyond]
    );
    assert_eq!(response_at(&all, "2.1/2").map(|response| response.parts), Some(turns(json!([{ "say": "inner" }]))));
    assert_eq!(
        response_at(&all, "2.1/1.0/1").map(|response| response.parts),
        Some(turns(json!([{ "say": "deepest" }])))
    );
    assert_eq!(said("2.1/3"), beyond);
    for nowhere in ["", "0", "x", "2.1", "2/1", "2.0/1", "2.2/1", "1.0/1", "3.0/1", "0.0/1", "2.1/0", "2.x/1", "x.1/1"]
    {
        assert_eq!(said(nowhere), None, "{nowhere:?}");
    }
}

#[test]
fn a_step_may_name_only_what_was_started_before_it_and_has_a_pipe_for_it() {
    let said = |value: serde_json::Value| {
        let steps: Vec<Step> = from_value(value).unwrap();
        unmet(&steps)
            .into_iter()
            .map(|one| format!("{} {} {} {:?}", one.at, one.key, one.name, one.lacks))
            .collect::<Vec<_>>()
    };
    let start = |more: serde_json::Value| {
        let mut all = json!({ "name": "x" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "start": all })
    };
    let uses = |start: serde_json::Value| {
        said(json!([
            start,
            "hold",
            { "send": { "to": "x", "line": "l" } },
            { "hang-up": "x" },
            { "receive": { "from": "x" } },
            { "await": { "of": "x" } },
            { "end": "x" }
        ]))
    };
    assert!(uses(start(json!({}))).is_empty());
    assert_eq!(uses(start(json!({ "stdin": "null" }))), ["2 send.to x Pipe", "3 hang-up x Pipe"]);
    assert_eq!(uses(start(json!({ "stdout": "inherit" }))), ["4 receive.from x Pipe"]);
    let missing = uses(start(json!({ "missing": true })));
    assert_eq!(missing, ["2 send.to x Pipe", "3 hang-up x Pipe", "4 receive.from x Pipe"]);
    let all =
        ["2 send.to x Start", "3 hang-up x Start", "4 receive.from x Start", "5 await.of x Start", "6 end x Start"];
    assert_eq!(uses(json!("hold")), all);
    assert_eq!(
        said(json!([start(json!({})), start(json!({})), { "end": "y" }])),
        ["1 start.name x Name", "2 end y Start"]
    );
    // one of that name has no pipe to the first: the first counts
    assert_eq!(said(json!([{ "end": "x" }, start(json!({}))])), ["0 end x Start"]);
}

#[test]
fn the_middle_of_a_double_fork_starts_the_same_process_once() {
    let child =
        json!({ "name": "d", "does": ["hold"], "piped": true, "setsid": true, "double-fork": true, "stderr": false });
    let child: Background = from_value(child).unwrap();
    let Step::Background(middle) = child.of_the_middle() else { panic!("a background process") };
    assert_eq!(middle, Background { piped: false, double_fork: false, ..child });
    assert_eq!(steps_json(&[Step::Hold]), "[\"hold\"]");
}
