//! A trace for people to read: time, who, what, in aligned columns.
//!
//! Invariant: no line is wider than asked, whatever the trace holds; control characters are shown, never sent; what
//! repeats (polls, heartbeats) is folded and counted, never lost without a trace.

use rehang_scenario::{Policy, VTime, problem::hidden, text::counted};
use rehang_trace::{Ended, Event, Fact, Horizon, Trace, What};
use serde_json::Value;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// The narrowest timeline: time, a name and a few words.
pub const WIDTH_MIN: usize = 40;
/// The longest run of events that is recognised as a repetition: a poll of a list, a status and a count, with their answers.
const PERIOD_MAX: usize = 12;
/// The same for lines that are folded already: a heartbeat, a poll and a slower poll, until all three begin anew.
const PERIOD_FOLDED_MAX: usize = 64;
/// A gap of this many milliseconds or more is marked.
const GAP_MS: u64 = 1_000;
const WHO_WIDTH_MAX: usize = 20;

/// Renders a trace in lines of at most `width` columns (at least [`WIDTH_MIN`]).
pub fn timeline(trace: &Trace, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let rows = rows(trace);
    let widest = trace.events.iter().map(|event| columns(&event.who)).max().unwrap_or(0);
    let who_width = widest.clamp(3, WHO_WIDTH_MAX.min(width / 4));
    let time_width = trace.events.iter().map(|event| clock(event.t).len()).max().unwrap_or(0).max(8);
    let what_width = width.saturating_sub(time_width + who_width + 4);
    let mut out = String::new();
    let mut last: Option<VTime> = None;
    for row in rows {
        let t = row.t;
        if let Some(last) = last.filter(|last| t.0.saturating_sub(last.0) >= GAP_MS) {
            let _ = writeln!(out, "{:>time_width$}  {:who_width$}  ⋮ {}", "", "", clock(VTime(t.0 - last.0)));
        }
        let time = if last == Some(t) { String::new() } else { clock(t) };
        let (who, what) = (pad(&cut(&row.who, who_width), who_width), cut(&row.what, what_width));
        out.push_str(format!("{time:>time_width$}  {who}  {what}").trim_end());
        out.push('\n');
        last = Some(t);
    }
    out
}

/// The timeline without what goes over wires: requests, their answers and events of streams. The last line says how
/// many there are.
pub fn story(trace: &Trace, width: usize) -> String {
    let wire = |event: &&Event| {
        let what = &event.what;
        matches!(
            what,
            What::Request { .. } | What::Response { .. } | What::RequestFailed { .. } | What::Sse(_) | What::SseEnd
        )
    };
    let events: Vec<Event> = trace.events.iter().filter(|event| !wire(event)).cloned().collect();
    let folded = trace.events.len() - events.len();
    let mut out = timeline(&Trace { events }, width);
    if folded > 0 {
        out.push_str(&format!("({} of the wire not shown)\n", counted(folded, "line")));
    }
    out
}

/// A row of a timeline: an event, or the summary of a run of events that repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// When it happened; for a repetition, its end.
    pub t: VTime,
    /// Who did it; empty for a repetition.
    pub who: String,
    /// What happened, in words. Control characters are not masked: see [`cut`].
    pub what: String,
    /// The event's place in the trace; `None` for a repetition.
    pub event: Option<usize>,
    /// How many of the rows before it a repetition repeats; 0 for an event.
    pub repeats: usize,
}

/// The rows of a trace, repetitions folded.
///
/// Folds twice: a slow poll among quick ones interrupts their repetition, and the combination of the three repeats
/// again.
pub fn rows(trace: &Trace) -> Vec<Row> {
    let lines = trace.events.iter().enumerate().map(|(place, event)| line(place, event)).collect();
    let folded = fold(fold(lines, PERIOD_MAX), PERIOD_FOLDED_MAX);
    folded.into_iter().map(|Line { t, who, what, event, repeats, .. }| Row { t, who, what, event, repeats }).collect()
}

/// The lines, with repetitions folded whose period is at most `most` lines.
fn fold(lines: Vec<Line>, most: usize) -> Vec<Line> {
    let mut folded = Vec::new();
    let mut lines = std::collections::VecDeque::from(lines);
    while !lines.is_empty() {
        let (period, times) = repetition(lines.make_contiguous(), most);
        folded.extend(lines.drain(..period));
        if let Some(last) = lines.drain(..period * (times - 1)).next_back() {
            let what = match period {
                1 => format!("… {} times more", times - 1),
                n => format!("… these {n} lines {} times more", times - 1),
            };
            folded.push(Line { t: last.t, who: String::new(), key: what.clone(), what, event: None, repeats: period });
        }
    }
    folded
}

/// An instant or a span, in the form `4h0m1.250s`.
pub fn clock(t: VTime) -> String {
    let (ms, s) = (t.0 % 1_000, t.0 / 1_000);
    let seconds = if ms == 0 { format!("{}s", s % 60) } else { format!("{}.{ms:03}s", s % 60) };
    match (s / 3_600, s / 60 % 60) {
        (0, 0) => seconds,
        (0, m) => format!("{m}m{seconds}"),
        (h, m) => format!("{h}h{m}m{seconds}"),
    }
}

/// A text in at most `width` columns, with its control characters shown, cut with `…`.
pub fn cut(text: &str, width: usize) -> String {
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        let shown: String = match c {
            '\n' => "\\n".into(),
            '\r' => "\\r".into(),
            '\t' => "\\t".into(),
            '\x1b' => "\\e".into(),
            c if c.is_control() => format!("\\x{:02x}", c as u32),
            c if hidden(c) => "\u{fffd}".into(),
            c => c.into(),
        };
        let more = columns(&shown);
        if used + more > width {
            while used + 1 > width {
                let Some(last) = cut.pop() else { return String::new() };
                used -= columns(last.encode_utf8(&mut [0; 4]));
            }
            cut.push('…');
            return cut;
        }
        used += more;
        cut.push_str(&shown);
    }
    cut
}

struct Line {
    t: VTime,
    who: String,
    what: String,
    /// What a repetition is recognised by: the line without request numbers.
    key: String,
    /// The event's place in the trace; `None` for a repetition.
    event: Option<usize>,
    /// How many lines before it a repetition repeats.
    repeats: usize,
}

/// The columns of a text on a terminal: wide characters count two, combining marks none (Unicode Standard Annex 11).
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

fn pad(text: &str, width: usize) -> String {
    let more = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(more))
}

/// The period of at most `most` with which `rows` begin to repeat, and how many times; (1, 1) if they do not. At least
/// three times, so that two equal events are shown.
fn repetition(rows: &[Line], most: usize) -> (usize, usize) {
    let same = |a: &Line, b: &Line| a.key == b.key && a.who == b.who;
    for period in 1..=most.min(rows.len() / 3) {
        let repeats = rows.iter().zip(&rows[period..]).take_while(|(a, b)| same(a, b)).count();
        let times = 1 + repeats / period;
        if times >= 3 {
            return (period, times);
        }
    }
    (1, 1)
}

fn line(place: usize, event: &Event) -> Line {
    let what = describe(&event.what);
    let key = match &event.what {
        What::Request { method, path, .. } => format!("{method} {path}"),
        What::Response { status, body, .. } => format!("{status} {body}"),
        What::RequestFailed { why, .. } => why.clone(),
        _ => what.clone(),
    };
    Line { t: event.t, who: event.who.to_string(), what, key, event: Some(place), repeats: 0 }
}

fn describe(what: &What) -> String {
    let json = |value: &Value| if value.is_null() { String::new() } else { format!(" {value}") };
    match what {
        What::Spawn { argv, .. } => format!("is started: {}", argv.join(" ")),
        What::Exit(code) => format!("exits with {code}"),
        What::Killed(sig) => format!("is ended by {sig}"),
        What::Stopped(sig) => format!("is stopped by {sig}"),
        What::Continued => "goes on".into(),
        What::Adopted => "loses its parent".into(),
        What::Signal { sig, to } => format!("sends {sig} to {to}"),
        What::Out { fd, text } => format!("{} {text:?}", stream(*fd)),
        What::OutEnd { fd } => format!("{} ends", stream(*fd)),
        What::In { text } => format!("writes {text:?}"),
        What::InEnd => "closes stdin".into(),
        What::Request { id, method, path, body } => format!("#{id} {method} {path}{}", json(body)),
        What::Response { id, status, body } => format!("#{id} → {status}{}", json(body)),
        What::RequestFailed { id, why } => format!("#{id} → {why}"),
        What::Sse(value) => {
            let kind = value.kind();
            format!("event {kind}{}", json(value.get("properties").unwrap_or(&Value::Null)))
        }
        What::SseEnd => "event stream ends".into(),
        What::Fact(fact) => self::fact(fact),
        What::Looked { at, saw } => format!("looks at {at}: {saw}"),
        What::Report(policy) => format!("reports {}", report(policy)),
        What::Says(text) => format!("says {text:?}"),
        What::Acts(what) => format!("acts: {what}"),
        What::Fault(what) => format!("fault: {what}"),
        What::Settled { outcome, cause, text } => {
            let cause = if cause.is_empty() { String::new() } else { format!(" by {cause}") };
            let text = if text.is_empty() { String::new() } else { format!(" {text:?}") };
            format!("holds it to be {outcome}{cause}{text}")
        }
        What::RunOver { outcome, cause, .. } => {
            let cause = if cause.is_empty() { String::new() } else { format!(" by {cause}") };
            format!("holds this run to be {outcome}{cause}; another begins")
        }
        What::Ended(ended) => self::ended(ended),
        What::Left { what } => format!("is left: {what}"),
    }
}

fn stream(fd: u8) -> &'static str {
    match fd {
        0 => "screen",
        1 => "stdout",
        2 => "stderr",
        _ => "stream",
    }
}

fn fact(fact: &Fact) -> String {
    let of = |session: &str| if session.is_empty() { String::new() } else { format!(" [{session}]") };
    match fact {
        Fact::Session { id, parent } if parent.is_empty() => format!("session {id}"),
        Fact::Session { id, parent } => format!("session {id} below {parent}"),
        Fact::Busy { session, busy } => format!("{}{}", if *busy { "busy" } else { "idle" }, of(session)),
        Fact::ModelAsked { session, response } => format!("asks the model ({response}){}", of(session)),
        Fact::ModelSaid { session, text } if text.is_empty() => format!("model calls a tool{}", of(session)),
        Fact::ModelSaid { text, .. } => format!("model says {text:?}"),
        Fact::ModelDone { session, finish } => format!("model ends: {finish}{}", of(session)),
        Fact::ToolBegan { call, tool, .. } => format!("{tool} {call} begins"),
        Fact::ToolEnded { call, error, text } => format!("{call} {}: {text:?}", if *error { "fails" } else { "ends" }),
        Fact::Asked { id, questions, permission, .. } => match questions.first() {
            Some(first) => format!("asks {id}: {:?}", first.question),
            None => format!("asks {id}: may I {permission}?"),
        },
        Fact::AskEnded { id, end, cause, by, answers } => {
            let (end, cause) = (format!("{end:?}").to_lowercase(), format!("{cause:?}").to_lowercase());
            let answers = if answers.is_empty() { String::new() } else { format!(" {answers:?}") };
            format!("{id} {end} ({cause} by {by}){answers}")
        }
        Fact::Preempted { call, by, answers, live, .. } => {
            format!("{by} pre-empts {call} with {answers:?}{}", if *live { ", somebody is there" } else { "" })
        }
        Fact::Result { ok, text } => format!("result{}: {text:?}", if *ok { "" } else { " (error)" }),
        Fact::Policy { strategy, policy } => format!("{strategy} reports {}", report(policy)),
        Fact::Acted { strategy, act } => format!("{strategy} acts: {act}"),
    }
}

fn report(policy: &Policy) -> String {
    let mut said: Vec<String> = Vec::new();
    let texts =
        [("detected", &policy.detected), ("rule", &policy.rule), ("cause", &policy.cause), ("text", &policy.text)];
    said.extend(texts.iter().filter_map(|(name, text)| Some(format!("{name} {:?}", text.as_ref()?))));
    said.extend(policy.answered.iter().map(|answers| format!("answered {answers:?}")));
    said.extend(policy.constants.iter().map(|(name, value)| format!("{name}={value}")));
    said.join(", ")
}

fn ended(ended: &Ended) -> String {
    let waits = |waits: &[(String, String)]| {
        waits.iter().map(|(who, on)| format!("{who} on {on}")).collect::<Vec<_>>().join(", ")
    };
    match ended {
        Ended::Settled => "— end: settled".into(),
        Ended::Deadlock(all) => format!("— end: deadlock: {}", waits(all)),
        Ended::Lasso { waits: all, cycle_ms } => format!("— end: lasso of {}: {}", clock(VTime(*cycle_ms)), waits(all)),
        Ended::Horizon { reason, waits } => format!("— end: undecided: {}", given_up(*reason, waits)),
    }
}

/// What ran out, and which parties wait for what.
pub(crate) fn given_up(reason: Horizon, waits: &[(String, String)]) -> String {
    let who: Vec<String> = waits.iter().map(|(role, on)| format!("{role}: {on}")).collect();
    match who.as_slice() {
        [] => reason.why().to_owned(),
        who => format!("{} ({})", reason.why(), who.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::expect;
    use proptest::prelude::*;
    use rehang_trace::{AskEnd, Cause};
    use serde_json::json;

    /// With an edge, since the common indentation of all lines matters here.
    fn shown(cell: Cell) -> String {
        timeline(&cell.trace(), 80).lines().map(|line| format!("|{line}\n")).collect()
    }

    #[test]
    fn a_story_has_no_wire_and_counts_it() {
        let asked = |cell: Cell, n: u32| {
            let cell = cell.request("watcher@pr5", n, "GET", "/session");
            cell.respond("watcher@pr5", n, 200, json!([]))
        };
        let cell = asked(Cell::new().started().step("Which?", "stop"), 1).acts("person1", "answer");
        let told = story(&asked(cell, 2).trace(), 80);
        assert!(told.contains("model says \"Which?\"") && told.contains("acts: answer"), "{told}");
        assert!(!told.contains("/session") && told.ends_with("(4 lines of the wire not shown)\n"), "{told}");
        let none = story(&Cell::new().started().trace(), 80);
        assert!(!none.contains("wire"), "{none}");
    }

    #[test]
    fn a_cell_in_eighty_columns() {
        let mut cell = Cell::new().started().step("Found PII columns in DimCustomer and DimEmployee.", "tool-calls");
        cell = cell.at(312).tool("call_1", "question").ask("que_1", "ses_1");
        for n in 1..=4 {
            cell = cell.at(u64::from(n) * 5_000).request("watcher@pr5", n, "GET", "/session/ses_1/message?limit=1");
            cell = cell.respond("watcher@pr5", n, 200, json!([{"info": {"id": "msg_1", "role": "assistant"}}]));
        }
        cell = cell.at(900_250).acts("person1", "answer Profile only");
        cell = cell.end("que_1", AskEnd::Replied, Cause::Answer, "user", &["Profile\tonly\u{1b}[2J"]);
        expect![[r#"
            |       0s  agent        is started: fake
            |           agent        session ses_1
            |           agent        busy [ses_1]
            |           agent        asks the model (1) [ses_1]
            |           agent        model says "Found PII columns in DimCustomer and DimEmp…
            |           agent        model ends: tool-calls [ses_1]
            |   0.312s  agent        question call_1 begins
            |           agent        asks que_1: "Which?"
            |                        ⋮ 4.688s
            |       5s  watcher@pr5  #1 GET /session/ses_1/message?limit=1
            |           watcher@pr5  #1 → 200 [{"info":{"id":"msg_1","role":"assistant"}}]
            |                        ⋮ 15s
            |      20s               … these 2 lines 3 times more
            |                        ⋮ 14m40.250s
            |15m0.250s  person1      acts: answer Profile only
            |           agent        que_1 replied (answer by user) [["Profile\tonly\u{1b}[2…
            |                        ⋮ 3h44m59.750s
            |   4h0m0s               — end: deadlock: agent on question, client on event
        "#]]
        .assert_eq(&shown(cell.at(14_400_000).deadlock(&[("agent", "question"), ("client", "event")])));
    }

    #[test]
    fn times_are_read_at_a_glance() {
        let clocks = [0, 7, 1_250, 60_000, 900_000, 14_400_001].map(|ms| clock(VTime(ms)));
        assert_eq!(clocks, ["0s", "0.007s", "1.250s", "1m0s", "15m0s", "4h0m0.001s"]);
    }

    #[test]
    fn two_are_shown_and_three_are_folded() {
        let says = |n: u64| (0..n).fold(Cell::new(), |cell, t| cell.at(t).says("monitor", "still running"));
        assert_eq!(timeline(&says(2).trace(), 80).lines().count(), 2);
        expect![[r#"
            |      0s  monitor  says "still running"
            |  0.008s           … 8 times more
        "#]]
        .assert_eq(&shown(says(9)));
    }

    #[test]
    fn polls_of_three_rhythms_are_folded_together() {
        // every 10 s one, every 30 s another, every 5 min a third: 4 h of it are 2,000 events
        let polls = (1..=1_440).fold(Cell::new().started(), |cell, n: u64| {
            let cell = cell.at(n * 10_000).says("heartbeat", "still there");
            let cell = if n.is_multiple_of(3) { cell.says("guard", "looks").says("guard", "busy") } else { cell };
            if n.is_multiple_of(30) { cell.says("pending-ask", "one ask is open") } else { cell }
        });
        expect![[r#"
            |      0s  agent        is started: fake
            |          agent        session ses_1
            |          agent        busy [ses_1]
            |                       ⋮ 10s
            |     10s  heartbeat    says "still there"
            |                       ⋮ 20s
            |     30s               … 2 times more
            |          guard        says "looks"
            |          guard        says "busy"
            |                       ⋮ 10s
            |     40s  heartbeat    says "still there"
            |                       ⋮ 10s
            |     50s  heartbeat    says "still there"
            |                       ⋮ 10s
            |    1m0s  heartbeat    says "still there"
            |                       ⋮ 4m0s
            |    5m0s               … these 5 lines 8 times more
            |          guard        says "looks"
            |          guard        says "busy"
            |          pending-ask  says "one ask is open"
            |                       ⋮ 3h55m0s
            |  4h0m0s               … these 11 lines 47 times more
        "#]]
        .assert_eq(&shown(polls));
    }

    /// What a person reads of a trace: no kind of event is left out or shown as another kind.
    #[test]
    fn each_kind_of_event_has_its_words() {
        let line = |what: What| rows(&Cell::new().add("agent", what).trace())[0].what.clone();
        let fact = |fact: Fact| line(What::Fact(fact));
        let session = || "ses_1".to_owned();
        let answers = || vec![vec!["A".to_owned()]];
        let preempted = |live| {
            let (questions, text) = (vec![], String::new());
            Fact::Preempted {
                call: "call_1".into(),
                by: "auto-answer@r1".into(),
                questions,
                answers: answers(),
                text,
                live,
            }
        };
        let ended = |error| Fact::ToolEnded { call: "call_1".into(), error, text: "no".into() };
        let settled = |cause: &str, text: &str| What::Settled {
            outcome: rehang_trace::RunEnd::Stopped,
            cause: cause.into(),
            text: text.into(),
        };
        let over = |cause: &str| What::RunOver {
            outcome: rehang_trace::RunEnd::Failed,
            cause: cause.into(),
            text: "lost".into(),
        };
        let policy = Policy {
            detected: Some("no-tty".into()),
            answered: Some(answers()),
            constants: [("idle_ms".to_owned(), 5)].into(),
            ..Policy::default()
        };
        let permission = Fact::Asked {
            id: "per_1".into(),
            kind: rehang_trace::AskKind::Permission,
            session: session(),
            questions: vec![],
            permission: "bash".into(),
        };
        let waits = || vec![("agent".to_owned(), "stdin".to_owned())];
        let out = |fd| line(What::Out { fd, text: "x".into() });
        let lines = [
            line(What::Spawn { parent: String::new(), argv: vec!["fake".into(), "-p".into()] }),
            line(What::Exit(3)),
            line(What::Killed("TERM".into())),
            line(What::Stopped("TTIN".into())),
            line(What::Continued),
            line(What::Adopted),
            line(What::Signal { sig: "INT".into(), to: "agent.1*".into() }),
            [0, 1, 2, 3].map(out).join(", "),
            line(What::OutEnd { fd: 1 }),
            line(What::In { text: "y\r".into() }),
            line(What::InEnd),
            line(What::Request { id: 7, method: "POST".into(), path: "/a".into(), body: json!({"a": 1}).into() }),
            line(What::Request { id: 7, method: "GET".into(), path: "/a".into(), body: Value::Null.into() }),
            line(What::Response { id: 7, status: 404, body: json!("x").into() }),
            line(What::RequestFailed { id: 7, why: "reset".into() }),
            line(What::Sse(json!({"type": "session.idle", "properties": {"id": "ses_1"}}).into())),
            line(What::Sse(json!({"type": "server.connected"}).into())),
            line(What::SseEnd),
            line(What::Looked { at: "children".into(), saw: json!(2) }),
            line(What::Report(policy.into())),
            line(What::Acts("stop".into())),
            line(What::Fault("drop event 2".into())),
            line(settled("idle", "lost")),
            line(settled("", "")),
            line(over("idle")),
            line(over("")),
            line(What::Ended(Ended::Settled)),
            line(What::Ended(Ended::Lasso { waits: waits(), cycle_ms: 5_000 })),
            line(What::Ended(Ended::Horizon { reason: Horizon::Steps, waits: waits() })),
            line(What::Ended(Ended::Horizon { reason: Horizon::Steps, waits: vec![] })),
            line(What::Left { what: "listener".into() }),
            fact(Fact::Session { id: "ses_2".into(), parent: session() }),
            fact(Fact::Busy { session: String::new(), busy: false }),
            fact(Fact::ModelSaid { session: session(), text: String::new() }),
            fact(ended(true)),
            fact(ended(false)),
            fact(permission),
            fact(preempted(true)),
            fact(preempted(false)),
            fact(Fact::Result { ok: true, text: "Hi".into() }),
            fact(Fact::Result { ok: false, text: "no".into() }),
            fact(Fact::Policy {
                strategy: "guard".into(),
                policy: Policy { cause: Some("idle".into()), ..Policy::default() }.into(),
            }),
            fact(Fact::Acted { strategy: "guard".into(), act: "withhold".into() }),
        ];
        expect![[r#"
            is started: fake -p
            exits with 3
            is ended by TERM
            is stopped by TTIN
            goes on
            loses its parent
            sends INT to agent.1*
            screen "x", stdout "x", stderr "x", stream "x"
            stdout ends
            writes "y\r"
            closes stdin
            #7 POST /a {"a":1}
            #7 GET /a
            #7 → 404 "x"
            #7 → reset
            event session.idle {"id":"ses_1"}
            event server.connected
            event stream ends
            looks at children: 2
            reports detected "no-tty", answered [["A"]], idle_ms=5
            acts: stop
            fault: drop event 2
            holds it to be stopped by idle "lost"
            holds it to be stopped
            holds this run to be failed by idle; another begins
            holds this run to be failed; another begins
            — end: settled
            — end: lasso of 5s: agent on stdin
            — end: undecided: it takes steps without end and no time passes (agent: stdin)
            — end: undecided: it takes steps without end and no time passes
            is left: listener
            session ses_2 below ses_1
            idle
            model calls a tool [ses_1]
            call_1 fails: "no"
            call_1 ends: "no"
            asks per_1: may I bash?
            auto-answer@r1 pre-empts call_1 with [["A"]], somebody is there
            auto-answer@r1 pre-empts call_1 with [["A"]]
            result: "Hi"
            result (error): "no"
            guard reports cause "idle"
            guard acts: withhold
        "#]]
        .assert_eq(&(lines.join("\n") + "\n"));
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(cut("a\r\n\t\x1b[2J\x07\u{202e}b", 80), "a\\r\\n\\t\\e[2J\\x07\u{fffd}b");
        // East Asian characters and emoji take two columns, combining marks none
        assert_eq!(["a", "日本", "e\u{301}", "👍", "\u{ff01}", "한"].map(columns), [1, 4, 1, 2, 2, 2]);
        assert_eq!([6, 5, 4, 1, 0].map(|width| cut("日本語", width)), ["日本語", "日本…", "日…", "…", ""]);
        assert_eq!([3, 2].map(|width| cut("abc", width)), ["abc", "a…"]);
    }

    #[test]
    fn a_gap_of_a_second_is_marked() {
        let gap = |ms| timeline(&Cell::new().says("a", "x").at(ms).says("a", "y").trace(), 80).contains('⋮');
        assert_eq!([999, 1_000].map(gap), [false, true]);
    }
    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(trace in any_trace(), width in 0usize..140) {
            for line in timeline(&trace, width).lines() {
                prop_assert!(columns(line) <= width.max(WIDTH_MIN), "{line:?}");
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }

        #[test]
        fn a_cut_text_fits(text in "\\PC{0,40}", width in 0usize..20) {
            prop_assert!(columns(&cut(&text, width)) <= width);
        }
    }
}
