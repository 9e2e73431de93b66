//! Logs become scenarios that do what the log did.
//!
//! Shown: every recording of a real release imports, and its scenario does the same on sim and in lockstep; a trace of
//! each shipped scenario, written as a log and imported again, gives the same verdict, except for those that no log can
//! carry, which are named; a capture of 20,000 events becomes five turns; no planted secret is in any output.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang::commands::import::{EndArgs, Import, import, tried};
use rehang_judge::Row;
use rehang_logs::{LogForm, Options, Verdict, export};
use rehang_os::sim::SimKernel;
use rehang_runner::pool::{Pool, Workers};
use rehang_runner::select::Selection;
use rehang_runner::unit::{self, Unit, Wanted};
use rehang_scenario::turns::Turn;
use rehang_scenario::{OutcomeKind, Scenario, Stage};
use rehang_trace::ndjson;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    rehang::dispatch();
    let args = Arguments::from_args();
    let exe = std::env::current_exe().expect("a test knows its own binary");
    let fakes = PathBuf::from(env!("CARGO_BIN_EXE_rehang-test-fakes"));
    let pool = Arc::new(Pool::new(Workers { exe, fakes, jobs: 1 }));
    let mut trials = vec![
        Trial::test("a_trace_comes_back_from_its_log", round_trip),
        Trial::test("twenty_thousand_events_become_five_turns", many_events),
        Trial::test("no_planted_secret_is_in_any_output", secrets),
        Trial::test("each_format_is_detected_and_hangs", formats),
        Trial::test("an_sdk_log_with_an_open_ask_hangs", sdk_asks),
        Trial::test("logs_as_people_have_them_end_as_people_say", people_have),
        Trial::test("utf16_and_compressed_logs", encodings),
        Trial::test("an_ask_without_its_call_hangs", asks_without_call),
    ];
    for folder in ["claude-1.0.128", "claude-2.0.77", "claude-2.1.329", "opencode-1.2.15", "opencode-1.18.33"] {
        let pool = pool.clone();
        trials.push(Trial::test(format!("recordings_of_{folder}"), move || recordings(&pool, folder)));
    }
    libtest_mimic::run(&args, trials).exit_code()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fake-agents/tests/golden")
}

/// What a recording shows, as people read it: the README of the recordings, and what was sent in them.
fn shown(name: &str) -> &'static str {
    match name {
        name if name.ends_with("-noanswer") => "hung on permission",
        // 1.2 leaves the prompt's request open after an abort: it was given up after 20 s
        "opencode-1.2.15/08_question_abort" | "opencode-1.2.15/09_question_unanswered_then_abort" => "hung on post",
        name if name.ends_with("words_and_question") => "hung on question",
        name if name.contains("abort") => "stopped",
        name if name.ends_with("-interrupt") || name == "claude-2.0.77/interrupt-bash" => "stopped",
        // its host is gone, and the turn with it
        "claude-2.1.329/io-ask-ppt-bypass-eof" => "stopped",
        "claude-2.1.329/drop" => "failed",
        _ => "completed",
    }
}

fn outcome(row: &Row) -> String {
    match &row.blocked_on {
        Some(on) if row.outcome == OutcomeKind::Hung => format!("hung on {on}"),
        _ => row.outcome.to_string(),
    }
}

fn recordings(pool: &Pool, folder: &str) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(golden().join(folder))?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    // what whole scenarios recorded is told by the scenario, in drift's tests
    files.retain(|path| path.is_file());
    files.sort();
    assert!(files.len() >= 8, "there are recordings");
    for path in files {
        let name = format!("{folder}/{}", path.file_stem().unwrap_or_default().to_string_lossy());
        let (imported, tried) = import(&path, &Options::default()).map_err(|e| e.to_string())?;
        let expected = shown(&name);
        let sim = tried.main.as_ref().map(outcome).or(tried.fault.clone()).unwrap_or_default();
        if sim != expected || !tried.holds(imported.guess.end) {
            wrong.push(format!("{name}: {sim}, and the recording shows {expected}\n{}", imported.toml()));
            continue;
        }
        // the server's own silence on a request that it is done with; all else merely stops, or ends
        let hung = imported.guess.verdict == Verdict::Hung;
        if hung != (expected == "hung on post") {
            wrong.push(format!("{name}: {:?}, since {:?}", imported.guess.verdict, imported.guess.because));
        }
        let draft = &imported.draft;
        let unit = unit_of(&draft.scenario, draft.control.as_ref());
        let answer: unit::Answer = pool.submit(&unit).map_err(|e| e.to_string())?;
        for cell in &answer.cells {
            let row = cell.row.as_ref().ok_or_else(|| cell.fault.clone().unwrap_or_default())?;
            let proved = row.outcome != OutcomeKind::Hung || row.proof.is_some();
            if cell.differs.is_some() || outcome(row) != expected || !proved {
                wrong.push(format!("{name} in lockstep: {} {:?}", outcome(row), cell.differs));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn unit_of(scenario: &Scenario, control: Option<&Scenario>) -> Unit {
    let wanted = Wanted::new("imported", "none", scenario.expect[0].clone());
    let stages = [Stage::Sim, Stage::Lockstep];
    Unit { control: control.cloned(), ..Unit::of("imported", scenario, &stages, vec![wanted]) }
}

/// What no log can carry: how the cells' names begin, and why.
const NOT_CARRIED: &[(&str, &str)] = &[
    (
        "acp/",
        "no reader knows the Agent Client Protocol: its log becomes a program that prints the same, and then nothing",
    ),
    (
        "app-server/",
        "no reader knows Codex' own protocol: its log becomes a program that prints the same, and then nothing",
    ),
    (
        "sdk/",
        "no reader knows the answers of a client of the Claude Agent SDK: its log becomes a program that prints the same",
    ),
    ("altimate/nested-agent", "an agent inside another's command writes no log of its own here"),
    ("child/background-holds-streams", "the program exits; who holds its streams is in no log"),
    ("child/holds-one-stream", "the program exits; who holds its streams is in no log"),
    ("child/exited-unread", "the program exits; that nobody reads it is in no log"),
    ("claude/stdin-held-open", "the result is there; that the process lives on is in no such log"),
    ("claude/terminal-keys", "a screen shows text, not why a session ended"),
    ("claude/terminal-question", "a screen shows a menu, not which tool drew it"),
    ("clive/no-open-stdin", "the wrapper failed, not its agent"),
    ("companion/post-cut-hides-the-cause", "the client failed, not its server"),
    ("companion/server-crash", "a crash leaves a log that merely stops"),
    ("companion/unreachable-and-worker-dead", "the worker is no part of the log"),
    ("events/ask-lost-on-reconnect", "the ask never came over the stream that was logged"),
    ("events/half-open", "a stream that goes mute looks like a silent model"),
    ("events/post-cut-at-300s", "the client failed, not its server"),
    ("events/server-mute", "a stuck server looks like a silent model"),
    (
        "gemini/model-silent",
        "its log is that of a screen, which becomes a program that prints the same, and then nothing",
    ),
    (
        "gemini/not-allowed",
        "its log is that of a screen, which becomes a program that prints the same, and then nothing",
    ),
    ("lifecycle/ctrl-c-ignored", "a screen shows text, not which key ended a program"),
    ("lifecycle/leaked-child-holds-lock", "the log is of the first run, which ends well; what it leaves is in no log"),
    ("lifecycle/parent-gone", "who ended the wrapper is in no log"),
    ("little-loops/burst", "the wrapper reads one line a wake-up; what it read is in no log"),
    ("model/limit-over", "a line that says that a limit is reached is taken for the end"),
    ("model/same-call-again", "it never ends, so that its log is cut"),
    ("permission/claude-tty", "a screen shows text, not why a session ended"),
    ("question/terminal", "a screen shows a menu, not which tool drew it"),
    ("startup/hook-callback-mute", "what a host was asked is no message of such a log"),
    ("startup/mcp-http-call-never-returns", "a call of a tool server's tool becomes a tool whose result is lost"),
    ("startup/mcp-http-stream-cut", "a call of a tool server's tool becomes a tool whose result is lost"),
    ("upstream/alive-after-result", "the result is there; that the process lives on is in no such log"),
    ("upstream/stop-key-while-silent", "a screen shows text, not which key ended a program"),
    ("upstream/stream-without-finish", "it never ends, so that its log is cut"),
];

/// The hangs that depend on processes: a log shows that the run hangs, but not on which of them.
const OF_PROCESSES: [&str; 12] =
    ["bash", "child", "exit", "file", "nothing", "peer", "pipe", "spin", "stdin", "stopped", "timer", "tty"];

fn round_trip() -> Result<(), Failed> {
    let select = Selection { strategy: vec!["none".to_owned()], ..Selection::default() };
    let selected = select.select(&[Stage::Sim]).map_err(|e| e.to_string())?;
    let (mut same, mut silent, mut of_processes, mut wrong) = (0, 0, 0, Vec::new());
    let mut needed: BTreeMap<&str, usize> = BTreeMap::new();
    for mut unit in selected.units {
        unit.keep_traces = true;
        unit.cells.retain(|wanted| wanted.strategy == "none");
        for cell in unit::run(&unit, &mut |_| Ok(Box::new(SimKernel::new(rehang_fakes::program)))).cells {
            let row = cell.row.as_ref().ok_or_else(|| format!("{}: {:?}", cell.id, cell.fault))?;
            let (_, trace) =
                ndjson::read(cell.trace.as_deref().unwrap_or_default().as_bytes()).map_err(|e| e.to_string())?;
            let mut log = Vec::new();
            export(&trace, LogForm::of(&trace), &mut log)?;
            let again = match rehang_logs::import(log.as_slice(), &Options::default(), &mut |_| {}) {
                Ok(imported) => tried(&imported).main.as_ref().map_or_else(|| "not tried".to_owned(), outcome),
                Err(error) => error.to_string(),
            };
            let on = row.blocked_on.map_or("", |on| on.word());
            if log.is_empty() {
                silent += 1;
                continue;
            }
            if row.outcome == OutcomeKind::Hung
                && OF_PROCESSES.contains(&on)
                && again.starts_with("hung")
                && again != outcome(row)
            {
                of_processes += 1;
                continue;
            }
            let known = NOT_CARRIED.iter().find(|(name, _)| cell.id.starts_with(name));
            match (again == outcome(row), known) {
                (true, _) => same += 1,
                (false, Some((name, _))) => *needed.entry(name).or_default() += 1,
                (false, None) => wrong.push(format!("{}: {} became {again}", cell.id, outcome(row))),
            }
        }
    }
    let idle: Vec<&str> = NOT_CARRIED.iter().map(|(name, _)| *name).filter(|name| !needed.contains_key(name)).collect();
    let lost: usize = needed.values().sum();
    println!(
        "{same} cells came back the same; {of_processes} hang on another part of a process, {silent} wrote nothing, {lost} are named"
    );
    if wrong.is_empty() && idle.is_empty() {
        return Ok(());
    }
    Err(format!("{} of {}:\n{}\nnot needed: {idle:?}", wrong.len(), same + wrong.len() + lost, wrong.join("\n")).into())
}

/// A log whose scenario, once run, ends as given, and whose control arm does not.
fn comes_back(log: &str, on: &str) -> Result<(), Failed> {
    let imported = rehang_logs::import(log.as_bytes(), &Options::default(), &mut |_| {}).map_err(|e| e.to_string())?;
    let tried = tried(&imported);
    let row = tried.main.as_ref().ok_or("not tried")?;
    assert_eq!(outcome(row), on, "{}", imported.toml());
    assert!(tried.holds(imported.guess.end), "{:?}\n{}", tried.control, imported.toml());
    Ok(())
}

/// An SDK's log has only messages. What is asked of its callback is not in it; a call without a result is.
fn sdk_asks() -> Result<(), Failed> {
    let question = r#"{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":""},{"label":"B","description":""}],"multiSelect":false}]}"#;
    let write = r#"{"file_path":"a.txt","content":"x"}"#;
    for (tool, input, on) in [("AskUserQuestion", question, "hung on question"), ("Write", write, "hung on permission")]
    {
        for release in ["2.0.77", "2.1.329"] {
            let log = format!(
                r#"{{"type":"system","subtype":"init","session_id":"s1","tools":["{tool}"],"permissionMode":"default","claude_code_version":"{release}"}}
{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"{tool}","input":{input}}}]}}}}
"#
            );
            comes_back(&log, on)?;
        }
    }
    Ok(())
}

/// A log that begins after the call: only the ask is in it.
fn asks_without_call() -> Result<(), Failed> {
    let question = r#"{"type":"question.asked","properties":{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}}"#;
    let permission = r#"{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"edit","patterns":["a.txt"]}}"#;
    let created = r#"{"type":"session.created","properties":{"info":{"id":"ses_1","version":"1.2.15"}}}"#;
    let busy = r#"{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}"#;
    for (asked, on) in [(question, "hung on question"), (permission, "hung on permission")] {
        let log = format!("{created}\n{busy}\n{asked}\n");
        comes_back(&log, on)?;
    }
    Ok(())
}

fn many_events() -> Result<(), Failed> {
    let log = capture(20_000);
    let imported = rehang_logs::import(log.as_bytes(), &Options::default(), &mut |_| {}).map_err(|e| e.to_string())?;
    let count = turns(&imported.draft.scenario.turns);
    let tried = tried(&imported);
    let row = tried.main.as_ref().ok_or("not tried")?;
    assert_eq!((imported.guess.mechanism, outcome(row).as_str()), ("Q2", "hung on question"), "{}", imported.toml());
    assert!(tried.holds(imported.guess.end), "{:?}", tried.control);
    assert!(count <= 5, "{count} turns:\n{}", imported.toml());
    assert!(imported.story.took.pieces >= 20_000, "{:?}", imported.story.took);
    Ok(())
}

fn turns(turns: &[Turn]) -> usize {
    let of = |turn: &Turn| match turn {
        Turn::Task(task) => 1 + self::turns(&task.turns),
        Turn::Together(calls) => 1 + self::turns(calls),
        _ => 1,
    };
    turns.iter().map(of).sum()
}

/// A capture of an opencode server: many commands, in the end a subagent that asks.
fn capture(events: usize) -> String {
    use serde_json::json;
    let mut log = String::new();
    let mut at = 0;
    let mut put = |kind: &str, properties: serde_json::Value| {
        at += 250;
        let event = json!({"t": f64::from(at) / 1e3, "event": {"type": kind, "properties": properties}});
        log.push_str(&format!("{event}\n"));
    };
    put("session.created", json!({"info": {"id": "ses_a", "version": "1.2.27"}}));
    put("message.updated", json!({"info": {"id": "msg_u", "sessionID": "ses_a", "role": "user"}}));
    put("session.status", json!({"sessionID": "ses_a", "status": {"type": "busy"}}));
    for n in 0..events / 6 {
        let message = format!("msg_{n}");
        let part = |state: serde_json::Value| json!({"part": {"id": format!("prt_{n}"), "sessionID": "ses_a", "messageID": message, "type": "tool", "callID": format!("call_{n}"), "tool": "bash", "state": state}});
        put("message.updated", json!({"info": {"id": message, "sessionID": "ses_a", "role": "assistant"}}));
        put(
            "message.part.updated",
            json!({"part": {"id": format!("t_{n}"), "sessionID": "ses_a", "messageID": message, "type": "text", "text": format!("Step {n}.")}}),
        );
        put("message.part.updated", part(json!({"status": "running", "input": {"command": format!("make step{n}")}})));
        put(
            "message.part.updated",
            part(json!({"status": "completed", "input": {"command": format!("make step{n}")}, "output": "ok"})),
        );
        put(
            "message.part.updated",
            json!({"part": {"id": format!("f_{n}"), "sessionID": "ses_a", "messageID": message, "type": "step-finish", "reason": "tool-calls"}}),
        );
        put("server.heartbeat", json!({}));
    }
    let task = |state: serde_json::Value| json!({"part": {"id": "prt_t", "sessionID": "ses_a", "messageID": "msg_t", "type": "tool", "callID": "call_t", "tool": "task", "state": state}});
    put("message.part.updated", task(json!({"status": "running", "input": {"description": "look"}})));
    put("session.created", json!({"info": {"id": "ses_b", "parentID": "ses_a", "version": "1.2.27"}}));
    put(
        "message.part.updated",
        task(json!({"status": "running", "input": {"description": "look"}, "metadata": {"sessionId": "ses_b"}})),
    );
    put("session.status", json!({"sessionID": "ses_b", "status": {"type": "busy"}}));
    put(
        "message.part.updated",
        json!({"part": {"id": "prt_b", "sessionID": "ses_b", "messageID": "msg_b", "type": "text", "text": "I look."}}),
    );
    let questions = json!([{"question": "Which database?", "header": "DB", "options": [{"label": "sqlite", "description": ""}, {"label": "postgres", "description": ""}]}]);
    put(
        "question.asked",
        json!({"id": "que_1", "sessionID": "ses_b", "questions": questions, "tool": {"messageID": "msg_b", "callID": "call_q"}}),
    );
    put(
        "message.part.updated",
        json!({"part": {"id": "prt_q", "sessionID": "ses_b", "messageID": "msg_b", "type": "tool", "callID": "call_q", "tool": "question", "state": {"status": "running", "input": {"questions": questions}}}}),
    );
    for _ in 0..20 {
        put("server.heartbeat", json!({}));
    }
    log
}

/// Secrets, by kind; made up, in the shape of real ones. They are put together here, so that no scanner takes this file
/// for a leak.
fn planted() -> Vec<(&'static str, String)> {
    let letters = |n: usize, from: usize| -> String {
        let all = b"aB3dE5gH7jK9mN1pQ2sT4vW6yZ8cF0hJ";
        (0..n).map(|i| char::from(all[(from + i * 7) % all.len()])).collect()
    };
    let hex = |n: usize, from: usize| -> String {
        (0..n).map(|i| char::from(b"0123456789abcdef"[(from * 3 + i * 5) % 16])).collect()
    };
    let upper = |n: usize, from: usize| letters(n, from).to_uppercase();
    let mut all = Vec::new();
    for i in 0..3 {
        all.push(("anthropic key", format!("sk{}-api03-{}", "-ant", letters(40, i))));
        all.push(("openai key", format!("sk{}{}", "-proj-", letters(40, i + 5))));
        all.push(("github token", format!("gh{}_{}", ["p", "o", "s"][i], letters(36, i))));
        all.push(("aws key", format!("{}{}", ["AKIA", "ASIA", "AROA"][i], upper(16, i))));
        all.push(("slack token", format!("xox{}-{}-{}", ["b", "p", "a"][i], "123456789012", letters(24, i))));
        all.push(("json web token", format!("eyJ{}.eyJ{}.{}", letters(20, i), letters(30, i + 1), letters(27, i + 2))));
        all.push(("bearer", letters(32, i + 11)));
        all.push(("url password", format!("hunter{}{}", i, letters(8, i))));
        all.push(("mail", format!("jane.doe{i}@corp-{i}.example.com")));
        all.push(("home", format!("janedoe{i}")));
        all.push(("ip", format!("10.20.{}.{}", 30 + i, 40 + i)));
        all.push(("assigned", format!("correct-horse-{i}-battery")));
        all.push(("gitlab token", format!("glpat-{}", letters(20, i))));
        all.push(("npm token", format!("npm_{}", letters(36, i))));
        all.push(("google key", format!("AIza{}", letters(35, i))));
        all.push(("stripe key", format!("sk_{}_{}", "live", letters(24, i))));
    }
    all.push(("private key", format!("MIIEow{}", letters(50, 3))));
    for (i, form) in FORMS.iter().enumerate() {
        all.push((*form, letters(12 + i % 4, i + 13)));
    }
    all.push(("hugging face", format!("hf_{}", letters(34, 4))));
    all.push(("mac", "3c:22:fb:1a:9e:07".to_owned()));
    all.push(("sendgrid", format!("SG.{}.{}", letters(22, 1), hex(43, 2))));
    all
}

/// The forms in which a secret without a shape of its own occurs; `{}` is the secret.
const FORMS: [&str; 24] = [
    r#"curl -d "{\"password\":\"{}\"}" http://x"#,
    "DB_PASSWORD='ab,{}' ./run",
    "SMTP_PASS={}",
    "Server=x;Pwd={};",
    "pwd = {}",
    "password:      {}",
    "password:\n  {}",
    "<password>{}</password>",
    "curl -H 'Authorization: ApiKey {}' http://x",
    "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature={}",
    r#"{"cookie": "session={}"}"#,
    "curl -b 'session={}' http://x",
    "mysql -uroot -p{} db",
    "sshpass -p {} ssh host",
    "docker login -u me -p {}",
    "run --db-password {}",
    "run --secret-key {}",
    "git clone https://u:p@{}@host/x",
    "psql postgres://u:pa/{}@host/db",
    "aws configure set aws_secret_access_key {}",
    "kubectl create secret generic s --from-literal=k={}",
    "machine h login u password {}",
    "OPENAI_API_KEY=\u{1b}[01;31m\u{1b}[Ksk-\u{1b}[m\u{1b}[Kproj-{}",
    "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----",
];

/// The form in which a secret occurs in a log.
fn in_words(kind: &str, secret: &str) -> String {
    match kind {
        "bearer" => format!("curl -H 'Authorization: Bearer {secret}' https://api.example.com/v1"),
        "url password" => format!("git clone https://deploy:{secret}@git.example.com/app.git"),
        "home" => format!("cat /home/{secret}/notes.txt /Users/{secret}/x"),
        "assigned" => format!("export DB_PASSWORD={secret} && ./run"),
        "private key" => format!("-----BEGIN RSA PRIVATE KEY-----\n{secret}\n-----END RSA PRIVATE KEY-----"),
        form if form.contains("{}") => form.replace("{}", secret),
        _ => format!("use {secret} now"),
    }
}

fn secrets() -> Result<(), Failed> {
    use serde_json::json;
    let planted = planted();
    let kinds: std::collections::BTreeSet<&str> = planted.iter().map(|(kind, _)| *kind).collect();
    assert!(planted.len() >= 50 && kinds.len() >= 12, "{} secrets of {} kinds", planted.len(), kinds.len());
    let folder = tempfile::tempdir()?;
    let mut leaks = Vec::new();
    let mut masked = 0;
    for (i, chunk) in planted.chunks(4).enumerate() {
        // in a message, a command, its output, a question, an option, a permission, a broken line, a file's name
        let words: Vec<String> = chunk.iter().map(|(kind, secret)| in_words(kind, secret)).collect();
        let all = words.join(" ; ");
        let lines = [
            json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.0.77", "cwd": "/home/agent"}).to_string(),
            json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": all}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": all}}]}}).to_string(),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": all, "is_error": true}]}}).to_string(),
            format!("{{broken {all}").replace('\n', " "),
            json!({"type": "assistant", "message": {"id": "m2", "content": [{"type": "tool_use", "id": "t2", "name": "AskUserQuestion", "input": {"questions": [{"question": all, "header": words[0], "options": [{"label": all, "description": all}, {"label": "no", "description": ""}]}]}}]}}).to_string(),
            json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "t2", "input": {"questions": [{"question": all, "header": words[0], "options": [{"label": all, "description": all}, {"label": "no", "description": ""}]}]}}}).to_string(),
        ];
        let plain: String = words.iter().map(|w| format!("12.5\t{}\n", w.replace('\n', "\n12.5\t"))).collect();
        let hung_in_bash = lines[..2].join("\n");
        for (n, log) in [lines.join("\n"), hung_in_bash, plain].into_iter().enumerate() {
            let path = folder.path().join(format!("log-{i}-{n}"));
            std::fs::write(&path, log)?;
            let out = |json: bool| folder.path().join(format!("out-{i}-{n}-{json}.toml"));
            let mut outputs = Vec::new();
            for json in [true, false] {
                let run = Import {
                    file: path.clone(),
                    out: Some(out(json)),
                    format: None,
                    turns: 40,
                    guess: true,
                    end: EndArgs::default(),
                    typescript: None,
                    json,
                };
                let mut printed = Vec::new();
                run.run(&mut printed).map_err(|e| e.to_string())?;
                outputs.push(String::from_utf8_lossy(&printed).into_owned());
            }
            let report: serde_json::Value = serde_json::from_str(&outputs[0])?;
            masked += report["masked"].as_object().map_or(0, |found| found.len());
            outputs.push(std::fs::read_to_string(out(true))?);
            for (kind, secret) in chunk {
                for (which, text) in ["json", "report", "toml"].iter().zip(&outputs) {
                    if text.contains(secret.as_str()) {
                        let at = text.find(secret.as_str()).unwrap_or(0);
                        leaks.push(format!(
                            "{kind} {secret} in the {which}: …{}",
                            &text[at.saturating_sub(60)..(at + 40).min(text.len())]
                        ));
                    }
                }
            }
        }
    }
    assert!(masked > 50, "the lists name what was masked: {masked}");
    if leaks.is_empty() { Ok(()) } else { Err(format!("{} leaks:\n{}", leaks.len(), leaks.join("\n")).into()) }
}

fn formats() -> Result<(), Failed> {
    use rehang_logs::read::cast::{SAMPLE as CAST, SAMPLE_2 as CAST_2};
    use rehang_logs::read::claude::TRANSCRIPT;
    use rehang_logs::read::codex::SAMPLE as CODEX;
    use rehang_logs::read::opencode::{EXPORT, RUN};
    use rehang_logs::read::plain::SAMPLE as PLAIN;
    for (text, format, shows) in [
        (TRANSCRIPT, "claude-transcript", "hung on question"),
        (EXPORT, "opencode-export", "hung on question"),
        (RUN, "opencode-run", "completed"),
        (CODEX, "codex", "hung on bash"),
        (CAST, "asciicast", "hung on stdin"),
        // it has no exit: that it is over would be a guess
        (CAST_2, "asciicast", "hung on nothing"),
        (PLAIN, "plain", "hung on stdin"),
        ("Reading additional input from stdin...\n", "codex", "hung on stdin"),
    ] {
        let imported = rehang_logs::import(text.as_bytes(), &Options::default(), &mut |_| {})
            .map_err(|e| format!("{format}: {e}"))?;
        assert_eq!(imported.format.name(), format, "{text}");
        let tried = tried(&imported);
        let row = tried.main.as_ref().ok_or_else(|| format!("{format}: {:?}\n{}", tried.fault, imported.toml()))?;
        assert_eq!(outcome(row), shows, "{format}\n{}", imported.toml());
        assert!(tried.holds(imported.guess.end), "{format}: {:?}\n{}", tried.control, imported.toml());
    }
    Ok(())
}

/// Logs as tools write them, each with its format, its mechanism and what a person who reads it says of its end.
fn people_have() -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for (about, log, format, mechanism, shows) in all_that_people_have() {
        let imported = rehang_logs::import(log.as_bytes(), &Options::default(), &mut |_| {})
            .map_err(|e| format!("{about}: {e}"))?;
        let tried = tried(&imported);
        let row = tried.main.as_ref().map(outcome).or(tried.fault.clone()).unwrap_or_default();
        let is = (imported.format.name(), imported.guess.mechanism, row.as_str());
        if is != (format, mechanism, shows) || !tried.holds(imported.guess.end) {
            wrong.push(format!("{about}: {is:?}, not {:?}\n{}", (format, mechanism, shows), imported.toml()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

type Read = (&'static str, String, &'static str, &'static str, &'static str);

fn all_that_people_have() -> Vec<Read> {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"permissionMode":"default","claude_code_version":"2.1.40"}"#;
    let said = |text: &str, stop: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stop_reason":{stop}}},"session_id":"s"}}"#
        )
    };
    let result = |rest: &str| format!(r#"{{"type":"result","session_id":"s","num_turns":1,"duration_ms":1,{rest}}}"#);
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"session_id":"s"}"#;
    let hook = |kind: &str, of: &str| {
        format!(
            r#"{{"type":"system","subtype":"{kind}","hook_id":"h","hook_name":"{of}","hook_event":"{of}","session_id":"s"}}"#
        )
    };
    let edit = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"a"}}]},"session_id":"s"}"#;
    // a session's transcript: it has no result
    let line = |kind: &str, rest: &str| {
        format!(r#"{{"type":"{kind}","uuid":"u","sessionId":"s","version":"2.0.77","isSidechain":false,{rest}}}"#)
    };
    let typed = |text: &str| line("user", &format!(r#""message":{{"role":"user","content":"{text}"}}"#));
    let words = |text: &str, stop: &str, rest: &str| {
        line(
            "assistant",
            &format!(
                r#"{rest}"message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}],"stop_reason":{stop}}}"#
            ),
        )
    };
    let calls = |name: &str, input: &str| {
        line(
            "assistant",
            &format!(
                r#""message":{{"id":"c","content":[{{"type":"tool_use","id":"t1","name":"{name}","input":{input}}}]}}"#
            ),
        )
    };
    let lines = |all: &[String]| all.join("\n");
    let transcript = "claude-transcript";
    // codex
    let turn = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}"#;
    let runs = |command: &str| {
        format!(
            "{turn}\n{}",
            serde_json::json!({"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": command, "status": "in_progress"}})
        )
    };
    let rollout = r#"{"timestamp":"2026-11-20T12:00:00Z","type":"session_meta","payload":{"id":"x","cli_version":"0.104.0"}}
{"timestamp":"2026-11-20T12:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}
{"timestamp":"2026-11-20T12:00:03Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"npm run dev\"]}","call_id":"c"}}"#;
    let rolled = format!(
        "{rollout}\n{}\n{}",
        r#"{"timestamp":"2026-11-20T12:00:04Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"}}"#,
        r#"{"timestamp":"2026-11-20T12:00:05Z","type":"event_msg","payload":{"type":"task_complete"}}"#
    );
    // opencode: two sessions of one server, of which the one is over later than the other was heard of last
    let event = |kind: &str, rest: &str| format!(r#"data: {{"type":"{kind}","properties":{{{rest}}}}}"#);
    let created = |id: &str| event("session.created", &format!(r#""info":{{"id":"{id}","version":"1.2.15"}}"#));
    let status =
        |id: &str, is: &str| event("session.status", &format!(r#""sessionID":"{id}","status":{{"type":"{is}"}}"#));
    let bash = |id: &str| {
        event(
            "message.part.updated",
            &format!(
                r#""part":{{"id":"p","sessionID":"{id}","messageID":"m","type":"tool","callID":"c","tool":"bash","state":{{"status":"running","input":{{"command":"npm run dev"}}}}}}"#
            ),
        )
    };
    let two = [created("ses_1"), status("ses_1", "busy"), bash("ses_1"), created("ses_2"), status("ses_2", "busy")];
    let two = [two.to_vec(), vec![status("ses_2", "idle")]].concat().join("\r\n\r\n");
    let export = r#"{
  "info": {"id": "ses_1", "version": "1.2.15"},
  "messages": [{"info": {"id": "m", "sessionID": "ses_1", "role": "assistant"}, "parts": [{"id": "p", "sessionID": "ses_1", "messageID": "m", "type": "tool", "callID": "c", "tool": "bash", "state": {"status": "running", "input": {"command": "tail -f x"}}}]}]
}"#;
    let spins: String = (0..3_000)
        .map(|n: u32| {
            let frame = char::from_u32(0x2801 + n % 7).unwrap_or(' ');
            format!("[{}.{},\"o\",\"\\r{frame} Installing ({}s)\"]\n", 1 + n / 10, n % 10, n / 10)
        })
        .collect();
    vec![
        ("a result alone", result(r#""subtype":"success","is_error":false,"result":"x""#), "claude", "F2", "completed"),
        (
            "an error of its own",
            lines(&[init.into(), said("x", "null"), result(r#""subtype":"error_during_execution","is_error":true"#)]),
            "claude",
            "M4",
            "failed",
        ),
        ("no result behind the end", lines(&[init.into(), said("x", "\"end_turn\"")]), "claude", "M1", "hung on model"),
        ("refused so far", lines(&[init.into(), retry.into(), retry.into()]), "claude", "M5", "hung on model"),
        ("a hook of its start", hook("hook_started", "SessionStart"), "claude", "X5", "hung on model"),
        (
            "a hook before a tool",
            lines(&[
                hook("hook_started", "SessionStart"),
                hook("hook_response", "SessionStart"),
                init.into(),
                edit.into(),
                hook("hook_started", "PreToolUse"),
            ]),
            "claude",
            "X5",
            "hung on bash",
        ),
        (
            "words cut short by the log's end",
            lines(&[
                init.into(),
                r#"{"type":"stream_event","event":{"type":"content_block_delta"},"session_id":"s"}"#.into(),
            ]),
            "claude",
            "M1",
            "hung on model",
        ),
        ("a turn that is over", lines(&[typed("go"), words("done", "null", "")]), transcript, "F2", "completed"),
        (
            "a command of the terminal's own behind it",
            lines(&[
                typed("go"),
                words("done", "\"end_turn\"", ""),
                typed("<command-name>/exit</command-name>"),
                typed("<local-command-stdout>Bye!</local-command-stdout>"),
            ]),
            transcript,
            "F2",
            "completed",
        ),
        (
            "a slash command that begins a turn",
            lines(&[typed("go"), words("done", "null", ""), typed("<command-name>/review</command-name>")]),
            transcript,
            "M1",
            "hung on model",
        ),
        (
            "an error of the server's",
            lines(&[typed("go"), words("API Error: 529 x", "null", r#""isApiErrorMessage":true,"#)]),
            transcript,
            "M4",
            "failed",
        ),
        (
            "an interrupt",
            lines(&[typed("go"), calls("Bash", r#"{"command":"npm test"}"#), typed("[Request interrupted by user]")]),
            transcript,
            "F4",
            "stopped",
        ),
        (
            "a plan",
            lines(&[typed("go"), calls("ExitPlanMode", r#"{"plan":"1. do"}"#)]),
            transcript,
            "Q4",
            "hung on permission",
        ),
        ("a shell around a command", runs("bash -lc 'npm run dev'"), "codex", "B5", "hung on bash"),
        ("a password without a terminal", runs("/bin/zsh -lc 'sudo ls'"), "codex", "B2", "hung on bash"),
        ("a rollout", rollout.into(), "codex", "B5", "hung on bash"),
        ("a rollout that is over", rolled, "codex", "F2", "completed"),
        ("two sessions", two, "opencode-events", "B5", "hung on pipe"),
        (
            "a line in front of an export",
            format!("Exporting session: ses_1\n{export}"),
            "opencode-export",
            "B5",
            "hung on pipe",
        ),
        (
            "a spinner",
            format!("{{\"version\":2,\"width\":80,\"height\":24}}\n[0.1,\"o\",\"$ x\\r\\n\"]\n{spins}"),
            "asciicast",
            "B5",
            "hung on timer",
        ),
        (
            "a clock beside a lock",
            (0..20).map(|n| format!("{}\tWaiting for lock… {}s\n", n * 30, n * 30)).collect(),
            "plain",
            "R2",
            "hung on file",
        ),
        (
            "events behind a logger's words",
            format!("agent-1  | {init}\nagent-1  | {edit}\n"),
            "plain",
            "P3",
            "hung on permission",
        ),
        (
            "events on many lines",
            [init, edit].map(|line| line.replace(',', ",\n ").replacen('{', "{\n ", 1)).join("\n"),
            "claude",
            "P3",
            "hung on permission",
        ),
        (
            "a log of CI",
            "2026-11-20T12:00:00.0000000Z making\n2026-11-20T12:00:09.5Z Continue? (y/n)\n".into(),
            "plain",
            "B1",
            "hung on stdin",
        ),
        (
            "a question with choices",
            "making\nWhich shell? [bash/zsh/fish]".into(),
            "plain",
            "B1",
            "hung on stdin",
        ),
        (
            "a turn that was interrupted in a command",
            format!(
                "{rollout}\n{}",
                r#"{"timestamp":"2026-11-20T12:40:00Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#
            ),
            "codex",
            "B5",
            "hung on bash",
        ),
        (
            "a result, and silence until a runner's limit",
            format!(
                "2026-11-20T12:00:00Z {init}\n2026-11-20T12:01:00Z {}\n2026-11-20T14:00:00Z ##[error]The action 'ask' has timed out after 120 minutes.\n",
                result(r#""subtype":"success","is_error":false,"result":"x""#)
            ),
            "plain",
            "H1",
            "hung on nothing",
        ),
        (
            "a request to the model at the end of opencode's own log",
            "INFO  2026-11-20T12:00:00 +3ms service=llm providerID=x modelID=y sessionID=ses_1 agent=build stream\n".into(),
            "plain",
            "M1",
            "hung on peer",
        ),
        (
            "a job's clean-up",
            "2026-11-20T12:00:00Z ##[group]Run make\n2026-11-20T12:09:00Z made\n2026-11-20T12:09:01Z Post job cleanup.\n".into(),
            "plain",
            "F8",
            "completed",
        ),
    ]
}

fn encodings() -> Result<(), Failed> {
    let text = "0.5\tPassword:\r\n";
    for big in [false, true] {
        let log: Vec<u8> = format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() })
            .collect();
        let imported =
            rehang_logs::import(log.as_slice(), &Options::default(), &mut |_| {}).map_err(|e| e.to_string())?;
        assert_eq!((imported.format.name(), imported.guess.mechanism), ("plain", "B2"), "{}", imported.toml());
    }
    let packed = rehang_logs::import(&b"\x1f\x8b\x08\0\0\0"[..], &Options::default(), &mut |_| {});
    let Err(error) = packed else { return Err("a compressed log is read".into()) };
    assert!(error.to_string().contains("gzip -dc LOG | rehang import -"), "{error}");
    Ok(())
}
