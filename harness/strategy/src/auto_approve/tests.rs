use crate::testing::{Bench, deed};
use crate::{Act, ProcessSeen, ProtocolAct, ProtocolSeen, Seen};

fn denial(id: &str, content: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"content\":\"{content}\",\"is_error\":true,\"tool_use_id\":\"{id}\"}}]}}}}\n"
    )
}

const APPROVAL: &str = "write {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":\"\",\"is_error\":false}]}}";

const QUESTION: &str = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"AskUserQuestion\",\"input\":{}}]}}\n";

fn writes(acts: &[Act]) -> Vec<String> {
    acts.iter().filter_map(deed).collect()
}

#[test]
fn detects_and_approves() {
    let mut bench = Bench::started("auto-approve@v1");
    let acts = bench.out(&denial("toolu_1", "needs permission"));
    assert_eq!(writes(&acts), [APPROVAL]);
    let said = "PERMISSION REQUEST detected: needs permission (tool_use_id=toolu_1), sent approval via stdin";
    assert!(acts.contains(&Act::Say(said.to_owned())));
}

#[test]
fn a_failing_bash_is_approved_too() {
    for spec in ["auto-approve@v1", "auto-approve@v2"] {
        assert_eq!(writes(&Bench::started(spec).out(&denial("toolu_1", "Exit code 1"))), [APPROVAL], "{spec}");
    }
}

#[test]
fn other_user_messages_are_left_alone() {
    for text in [
        "{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":true}]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":true,\"tool_use_id\":7}]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":true,\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"is_error\":true,\"tool_use_id\":\"a\"}]}}\n",
        "\n",
    ] {
        assert_eq!(Bench::started("auto-approve@v1").out(text), [], "{text}");
    }
}

#[test]
fn each_message_has_one_and_one_message_has_one() {
    let mut bench = Bench::started("auto-approve@v1");
    let three: String = (1..=3).map(|i| denial(&format!("toolu_{i}"), "no")).collect();
    assert_eq!(writes(&bench.out(&three)).len(), 3);
    let block =
        |id| format!("{{\"type\":\"tool_result\",\"content\":\"\",\"is_error\":true,\"tool_use_id\":\"{id}\"}}");
    let both =
        format!("{{\"type\":\"user\",\"message\":{{\"content\":[{},{}]}}}}\n", block("toolu_1"), block("toolu_2"));
    assert_eq!(writes(&bench.out(&both)), [APPROVAL], "the second denied block is not seen");
}

#[test]
fn a_line_may_come_in_pieces() {
    let mut bench = Bench::started("auto-approve@v1");
    let line = denial("toolu_1", "no");
    let (head, tail) = line.split_at(40);
    assert_eq!(bench.out(head), []);
    assert_eq!(writes(&bench.out(tail)), [APPROVAL]);
}

#[test]
fn v2_leaves_the_question_tool_alone_and_says_nothing() {
    let denied = denial("toolu_1", "Answer questions?");
    assert_eq!(writes(&Bench::started("auto-approve@v1").out(&format!("{QUESTION}{denied}"))), [APPROVAL]);
    let mut v2 = Bench::started("auto-approve@v2");
    assert_eq!(v2.out(&format!("{QUESTION}{denied}")), []);
    let other = v2.out(&denial("toolu_2", "no"));
    assert!(writes(&other).len() == 1 && !other.iter().any(|act| matches!(act, Act::Say(_))));
    let mut streamed = Bench::started("auto-approve@v2");
    streamed.out("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"AskUserQuestion\"}}}\n");
    assert_eq!(streamed.out(&denied), []);
}

#[test]
fn v2_writes_nothing_to_a_dead_process() {
    let mut bench = Bench::started("auto-approve@v2");
    bench.see(Seen::Process(ProcessSeen::Exited(0)));
    assert_eq!(bench.out(&denial("toolu_1", "no")), []);
}

fn answer(ids: &[&str]) -> Seen {
    let blocks: Vec<String> = ids
        .iter()
        .map(|id| format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"yes\"}}"))
        .collect();
    let line = format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{}]}}}}\n", blocks.join(","));
    Seen::Protocol(ProtocolSeen::Typed(line.into_bytes()))
}

/// Clive's duplicate_tool_result_test.go.
#[test]
fn v2_sends_one_answer_a_call_and_none_that_is_stale() {
    let mut bench = Bench::started("auto-approve@v2");
    bench.out(QUESTION);
    bench.out(&QUESTION.replace("toolu_1", "toolu_2"));
    let stale = |id| Act::Say(format!("tool_use_id {id} not found in conversation (stale or invalid)"));
    assert_eq!(bench.see(answer(&["toolu_9"])), [stale("toolu_9")]);
    assert_eq!(writes(&bench.see(answer(&["toolu_1"]))).len(), 1);
    for _ in 0..3 {
        assert_eq!(bench.see(answer(&["toolu_1"])), [stale("toolu_1")]);
    }
    assert_eq!(bench.see(answer(&["toolu_2", "toolu_1"])), [stale("toolu_1")], "a line with one of both is kept back");
    assert_eq!(writes(&bench.see(answer(&["toolu_2"]))).len(), 1);
}

/// IntegrationWithAskUserQuestion and PreservesToolUseTracking: a denial takes no call off the list.
#[test]
fn v2_still_sends_the_answer_to_a_denied_question() {
    let mut bench = Bench::started("auto-approve@v2");
    bench.out(QUESTION);
    bench.out(&denial("toolu_1", "Answer questions?"));
    assert_eq!(writes(&bench.see(answer(&["toolu_1"]))).len(), 1);
    let prompt =
        Seen::Protocol(ProtocolSeen::Typed(b"{\"type\":\"user\",\"message\":{\"content\":\"go on\"}}\n".to_vec()));
    assert_eq!(writes(&bench.see(prompt)).len(), 1);
}

#[test]
fn so_many_calls_are_kept_and_no_more() {
    let call = |n: usize| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"toolu_{n}\",\"name\":\"Bash\"}}]}}}}\n"
        )
    };
    let answer = |n: usize| denial(&format!("toolu_{n}"), "");
    let mut bench = Bench::started("auto-approve@v2");
    (1..=super::CALLS_MAX + 1).for_each(|n| drop(bench.out(&call(n))));
    let mut typed = |n: usize| bench.see(Seen::Protocol(ProtocolSeen::Typed(answer(n).into_bytes())));
    assert_eq!(typed(super::CALLS_MAX), [Act::Protocol(ProtocolAct::Write(answer(super::CALLS_MAX).into_bytes()))]);
    let stale = format!("tool_use_id toolu_{} not found in conversation (stale or invalid)", super::CALLS_MAX + 1);
    assert_eq!(typed(super::CALLS_MAX + 1), [Act::Say(stale)]);
}
