//! What the companion prints of its job, what it reads out of a message and what it says of an error, one row a case.

use super::*;
use crate::companion::errors::{classify, fetch_error, status_error};
use crate::companion::job::{Job, Status};
use crate::companion::message::Last;
use expect_test::expect;
use rehang_words::Span;

#[test]
fn a_job_is_printed_as_its_store_has_it() {
    let queued = Job::queued(VTime(1_000));
    let mut running = queued.clone();
    running.take(VTime(2_000), "ses_1");
    let ended = |status, healed| {
        let mut job = running.clone();
        job.end(VTime(3_000), status, "text", healed);
        job
    };
    let mut written = ended(Status::Completed, true);
    written.write();
    let mut again = written.clone();
    again.end(VTime(4_000), Status::Failed, "late", false);
    let jobs = [queued, running.clone(), ended(Status::Failed, false), ended(Status::Completed, false), written, again];
    let row = |job: &Job| format!("{}\n{}\n", job.status_json(), job.result_json(VTime(62_999)));
    expect![[r#"
        {"workspaceRoot":".","running":[{"id":"task-1","status":"queued","phase":"queued","opencodeSessionId":null,"createdAt":1000,"updatedAt":1000}],"latestFinished":null,"recent":[]}
        {"status":"running","elapsed":61,"task_id":"task-1","log_file":"task-1.log"}
        {"workspaceRoot":".","running":[{"id":"task-1","status":"running","phase":"investigating","opencodeSessionId":"ses_1","createdAt":1000,"updatedAt":2000}],"latestFinished":null,"recent":[]}
        {"status":"running","elapsed":61,"task_id":"task-1","log_file":"task-1.log"}
        {"workspaceRoot":".","running":[],"latestFinished":{"id":"task-1","status":"failed","phase":"failed","opencodeSessionId":"ses_1","createdAt":1000,"updatedAt":3000,"errorMessage":"text"},"recent":[]}
        {"status":"failed","rendered":null}
        {"workspaceRoot":".","running":[],"latestFinished":{"id":"task-1","status":"completed","phase":"completed","opencodeSessionId":"ses_1","createdAt":1000,"updatedAt":3000,"summary":"text","healed":false},"recent":[]}
        {"status":"completed","rendered":null}
        {"workspaceRoot":".","running":[],"latestFinished":{"id":"task-1","status":"completed","phase":"completed","opencodeSessionId":"ses_1","createdAt":1000,"updatedAt":3000,"summary":"text","healed":true},"recent":[]}
        {"status":"completed","rendered":"text","healed":true}
        {"workspaceRoot":".","running":[],"latestFinished":{"id":"task-1","status":"failed","phase":"failed","opencodeSessionId":"ses_1","createdAt":1000,"updatedAt":4000,"errorMessage":"late"},"recent":[]}
        {"status":"failed","rendered":null}
    "#]].assert_eq(&jobs.iter().map(row).collect::<String>());
    // a status shows 500 characters
    running.end(VTime(3_000), Status::Completed, &"ä".repeat(501), false);
    assert_eq!(running.json()["summary"].as_str().map(|text| text.chars().count()), Some(500));
}

#[test]
fn of_a_message_only_what_is_there_is_read() {
    let infos = [
        json!({}),
        json!({"role": "assistant", "time": {"created": 5_000}}),
        json!({"role": "assistant", "time": {"created": 5_000, "completed": 4_999}, "finish": "stop"}),
        json!({"role": "assistant", "time": {"created": 4_000, "completed": 5_000}, "finish": "stop"}),
        json!({"role": "assistant", "time": {"created": 5_000, "completed": 5_001}}),
        json!({"role": "user", "time": {"created": 5_000, "completed": 5_001}, "finish": "stop"}),
        json!({"role": "assistant", "tokens": {"input": 1}}),
        json!({"role": "assistant", "error": {"name": "Aborted"}}),
        json!({"role": "assistant", "error": {"name": "Aborted", "data": {"message": "no"}}}),
    ];
    let row = |info: &Json| {
        let message = json!({"info": info, "parts": []});
        let last = Last::reply(&message);
        let ends = [false, true].map(|lenient| last.is_terminal(VTime(5_000), lenient));
        format!(
            "{info}: created {:?}, touched {:?}, finish {:?}, error {:?}, ends strictly {}, leniently {}, empty {}\n",
            last.created(),
            last.touched(),
            last.finish(),
            last.error(),
            ends[0],
            ends[1],
            last.is_empty()
        )
    };
    expect![[r#"
        {}: created None, touched None, finish None, error None, ends strictly false, leniently false, empty false
        {"role":"assistant","time":{"created":5000}}: created Some(VTime(5000)), touched Some(VTime(5000)), finish None, error None, ends strictly false, leniently false, empty true
        {"role":"assistant","time":{"created":5000,"completed":4999},"finish":"stop"}: created Some(VTime(5000)), touched Some(VTime(5000)), finish Some("stop"), error None, ends strictly false, leniently false, empty true
        {"role":"assistant","time":{"created":4000,"completed":5000},"finish":"stop"}: created Some(VTime(4000)), touched Some(VTime(5000)), finish Some("stop"), error None, ends strictly true, leniently true, empty true
        {"role":"assistant","time":{"created":5000,"completed":5001}}: created Some(VTime(5000)), touched Some(VTime(5001)), finish None, error None, ends strictly false, leniently true, empty true
        {"role":"user","time":{"created":5000,"completed":5001},"finish":"stop"}: created Some(VTime(5000)), touched Some(VTime(5001)), finish Some("stop"), error None, ends strictly false, leniently false, empty false
        {"role":"assistant","tokens":{"input":1}}: created None, touched None, finish None, error None, ends strictly false, leniently false, empty false
        {"role":"assistant","error":{"name":"Aborted"}}: created None, touched None, finish None, error Some("Aborted"), ends strictly false, leniently false, empty true
        {"role":"assistant","error":{"name":"Aborted","data":{"message":"no"}}}: created None, touched None, finish None, error Some("no"), ends strictly false, leniently false, empty true
    "#]].assert_eq(&infos.iter().map(row).collect::<String>());
}

#[test]
fn the_last_tool_decides_whether_a_bash_runs() {
    let tool = |name: &str, status: &str| json!({"type": "tool", "tool": name, "state": {"status": status}});
    let (bash, read, over) = (tool("bash", "running"), tool("read", "running"), tool("bash", "completed"));
    let text = json!({"type": "text", "text": "hi"});
    let not_a_tool = json!({"type": "text", "tool": "bash", "state": {"status": "running"}});
    let runs = |parts: &[&Json]| Last::reply(&json!({"parts": parts})).bash_runs();
    assert!(runs(&[&bash]) && runs(&[&read, &bash]) && runs(&[&over, &bash, &text]));
    assert!(!runs(&[]) && !runs(&[&read]) && !runs(&[&over]) && !runs(&[&bash, &over]) && !runs(&[&bash, &read]));
    assert!(!runs(&[&not_a_tool]));
    let message = json!({"info": {"role": "assistant"}, "parts": [text]});
    assert!(!Last::reply(&message).is_empty(), "a part has begun");
}

/// A poll sees each of these changes, and no other.
#[test]
fn a_signature_changes_with_each_of_its_fields() {
    let base = || {
        json!({"info": {"id": "msg_1", "time": {"created": 1, "completed": 2}},
               "parts": [{"type": "tool", "state": {"status": "running", "output": "ab", "metadata": {"output": ""}}}]})
    };
    let signature = |message: &Json| Last::reply(message).signature();
    let canon = |message: &Json| {
        let mut canon = rehang_words::Canon::new(VTime(9));
        signature(message).canon(&mut canon);
        canon.into_bytes()
    };
    let changed = |place: &str, value: Json| {
        let mut message = base();
        *message.pointer_mut(place).expect("a place") = value;
        (signature(&message) != signature(&base()), canon(&message) != canon(&base()))
    };
    for (place, value) in [
        ("/info/id", json!("msg_2")),
        ("/info/time/created", json!(0)),
        ("/info/time/created", Json::Null),
        ("/info/time/completed", json!(3)),
        ("/parts/0/state/status", json!("completed")),
        ("/parts/0/state/output", json!("abc")),
        ("/parts", json!([])),
    ] {
        assert_eq!(changed(place, value), (true, true), "{place}");
    }
    assert_eq!(changed("/parts/0/state/output", json!("cd")), (false, false), "only the length counts");
    assert_eq!(changed("/parts/0/state/metadata/output", json!("x")), (false, false), "defect i");
}

#[test]
fn each_error_has_its_hint() {
    let errors = [
        ("refused", 0),
        ("reset", 0),
        ("closed", 0),
        ("other", 0),
        ("closed", 289_999),
        ("closed", 290_000),
        ("reset", 320_000),
        ("reset", 320_001),
    ];
    let mut rows: String =
        errors.iter().map(|(why, ms)| format!("{ms}: {}\n", classify(fetch_error(why), Span::ms(*ms)))).collect();
    for status in [399, 400, 401, 402, 403, 404, 499, 500, 599, 600] {
        rows += &format!("{}\n", classify(status_error(status, &json!("no")), Span::ms(300_000)));
    }
    rows += &format!("{}\n", classify("Aborted".to_owned(), Span::ZERO));
    expect![[r#"
        0: fetch failed: ECONNREFUSED (hint: the server is not running)
        0: fetch failed: ECONNRESET
        0: fetch failed: other side closed
        0: fetch failed: other
        289999: fetch failed: other side closed
        290000: fetch failed: other side closed (hint: the connection ended after about 5 minutes, while the session may go on)
        320000: fetch failed: ECONNRESET (hint: the connection ended after about 5 minutes, while the session may go on)
        320001: fetch failed: ECONNRESET
        OpenCode prompt failed 399: no
        OpenCode prompt failed 400: no
        OpenCode prompt failed 401: no (hint: check OPENCODE_SERVER_PASSWORD)
        OpenCode prompt failed 402: no
        OpenCode prompt failed 403: no (hint: check OPENCODE_SERVER_PASSWORD)
        OpenCode prompt failed 404: no
        OpenCode prompt failed 499: no
        OpenCode prompt failed 500: no (hint: the server failed: see its log)
        OpenCode prompt failed 599: no (hint: the server failed: see its log)
        OpenCode prompt failed 600: no
        Aborted (hint: the prompt was aborted on this side)
    "#]].assert_eq(&rows);
}
