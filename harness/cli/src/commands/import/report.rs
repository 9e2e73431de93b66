//! What is said of an import, to people and to programs.
//!
//! Invariant: every text in it is masked.

use super::Tried;
use rehang_judge::Row;
use rehang_logs::{Format, Imported, Verdict, limits};
use rehang_scenario::text::{counted_as, duration};
use serde_json::json;
use std::io::Write;

/// What is said of a log that cannot be read.
pub(super) fn unreadable(why: &str) -> serde_json::Value {
    let none: Option<&str> = None;
    json!({
        "format": none, "verdict": Verdict::Unreadable, "silent_ms": none, "mechanism": none, "sure": none,
        "open": [], "because": [rehang_logs::Mask::default().text(why)],
    })
}

/// What is said of an import; every text in it is masked.
pub(super) struct Report {
    object: serde_json::Value,
}

impl Report {
    pub(super) fn new(imported: &mut Imported, tried: &Tried, drafted: bool) -> Report {
        let (story, guess) = (&imported.story, &imported.guess);
        let mask = &mut imported.mask;
        let mut unusable = Vec::new();
        for (why, trouble) in &story.took.unusable {
            let excerpt = mask.shown(&trouble.excerpt, 60);
            unusable.push(
                json!({"why": why, "count": trouble.count, "first_line": trouble.first_line, "excerpt": excerpt}),
            );
        }
        // of a run that is over only what it left behind is open
        let open: Vec<String> = match guess.verdict {
            verdict if verdict.drafts_a_hang() => rehang_logs::open::all(story, mask),
            Verdict::Completed => rehang_logs::open::left(story, mask),
            _ => Vec::new(),
        };
        let mut shown = |texts: &[String]| -> Vec<String> {
            texts.iter().map(|text| mask.shown(&text.replace('\n', " "), limits::SHOWN_CHARS)).collect()
        };
        let (because, why) = (shown(&guess.because), shown(&guess.why));
        let row = |row: &Option<Row>| {
            row.as_ref().map(|row| json!({"outcome": row.outcome, "blocked_on": row.blocked_on, "proof": row.proof, "virtual_ms": row.virtual_ms}))
        };
        let drafts_a_hang = guess.verdict.drafts_a_hang();
        let others = guess.others.iter().filter(|_| drafts_a_hang);
        let others: Vec<_> = others.map(|(id, why)| json!({"mechanism": id, "why": why})).collect();
        let named = guess.named();
        let reasons =
            named.map(|id| why.iter().map(|why| format!("{id}: {why}")).collect::<Vec<_>>()).unwrap_or_default();
        let mut object = json!({
            "format": imported.format.name(),
            "verdict": guess.verdict,
            "silent_ms": guess.silent_ms,
            "mechanism": named,
            "sure": named.map(|_| guess.sure),
            "open": open,
            "because": because.iter().chain(&reasons).collect::<Vec<_>>(),
            "shows": because,
            "why": why,
            "others": others,
            "plays": guess.mechanism,
            "does": guess.end,
            "pieces": story.took.pieces,
            "bytes": story.took.bytes,
            "taken": story.took.taken,
            "passed_over": story.took.passed_over,
            "unusable": unusable,
            "nul_bytes": story.took.nul_bytes,
            "agent": story.agent.kind.name(),
            "release": story.agent.release,
            "sessions": story.sessions.len(),
            "runs": story.agent.runs,
            "timed": story.clock.timed,
            "length_ms": story.clock.timed.then(|| story.clock.length_ms()),
            "longest_silence_ms": story.clock.longest_ms().map(|(ms, _)| ms),
            "progress_ended_ms": story.clock.timed.then(|| story.clock.moved_ms()),
            "progress_ended_with": story.clock.material_is,
            "left_out_steps": imported.draft.left_out,
            "tried": {"main": row(&tried.main), "control": row(&tried.control), "fault": tried.fault},
            "drafted": drafted,
            "does_the_same": tried.holds(guess.end),
        });
        masked(&mut object, mask);
        object["masked"] = json!(mask.found);
        Report { object }
    }

    pub(super) fn json(&self) -> serde_json::Value {
        self.object.clone()
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let o = &self.object;
        let text = |key: &str| o[key].as_str().unwrap_or_default();
        let list = |key: &str| o[key].as_array().cloned().unwrap_or_default();
        let counts = |key: &str| -> String {
            let all = o[key].as_object().into_iter().flatten();
            all.map(|(k, n)| rehang_logs::report::counted(k, n.as_u64().unwrap_or(0))).collect::<Vec<_>>().join(", ")
        };
        let many = |key: &str, one: &str, many: &str| counted_as(o[key].as_u64().unwrap_or(0), one, many);
        let format = Format::named(text("format")).map_or("", Format::about);
        writeln!(
            out,
            "read as {format}: {}, {}",
            many("pieces", "line or element", "lines or elements"),
            many("bytes", "byte", "bytes")
        )?;
        writeln!(out, "  taken        {}", counts("taken"))?;
        if !counts("passed_over").is_empty() {
            writeln!(out, "  passed over  {}", counts("passed_over"))?;
        }
        for trouble in list("unusable") {
            let (why, line) = (trouble["why"].as_str().unwrap_or_default(), &trouble["first_line"]);
            writeln!(
                out,
                "  unusable     {} {why}, the first on line {line}: {}",
                trouble["count"], trouble["excerpt"]
            )?;
        }
        self.print_verdict(out)?;
        if o["left_out_steps"] != 0 {
            writeln!(
                out,
                "  left out     {} (--turns N keeps more)",
                many("left_out_steps", "earlier step", "earlier steps")
            )?;
        }
        let masked = counts("masked");
        if !masked.is_empty() {
            writeln!(out, "  masked       {masked}")?;
        }
        if o["drafted"] != true {
            writeln!(out, "no scenario: the log gives no reason for a hang; --guess drafts one from the guess")?;
            return out.flush();
        }
        let row = |row: &serde_json::Value| {
            let mut text = row["outcome"].as_str().unwrap_or("could not be tried").to_owned();
            for (key, word) in [("blocked_on", ", on "), ("proof", ", by ")] {
                if let Some(value) = row[key].as_str() {
                    text.push_str(word);
                    text.push_str(value);
                }
            }
            text
        };
        writeln!(out, "tried on sim: {}", row(&o["tried"]["main"]))?;
        if o["tried"]["control"].is_object() {
            writeln!(out, "control arm:  {}", row(&o["tried"]["control"]))?;
        }
        if let Some(fault) = o["tried"]["fault"].as_str() {
            writeln!(out, "{fault}")?;
        }
        if o["does_the_same"] != true {
            let does = text("does");
            writeln!(out, "NOT the same: it should have {does}; --format, --turns, --hung or --completed may help")?;
        }
        out.flush()
    }

    /// The verdict, and the mechanism if the log gives a reason for one.
    fn print_verdict(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let o = &self.object;
        let text = |key: &str| o[key].as_str().unwrap_or_default();
        let list = |key: &str| o[key].as_array().cloned().unwrap_or_default();
        let each = |key: &str| list(key).into_iter().filter_map(|t| t.as_str().map(str::to_owned)).collect::<Vec<_>>();
        let verdict = text("verdict");
        writeln!(out, "{verdict}")?;
        for why in each("shows") {
            writeln!(out, "  since        {why}")?;
        }
        for open in each("open") {
            writeln!(out, "  open         {open}")?;
        }
        if o["runs"].as_u64().unwrap_or(0) > 1 {
            writeln!(out, "  sessions     {} in this file; this is the last", o["runs"])?;
        }
        if o["timed"] == true {
            let ms = |key: &str| duration(o[key].as_u64().unwrap_or(0));
            let (moved, length, with) = (ms("progress_ended_ms"), ms("length_ms"), text("progress_ended_with"));
            writeln!(out, "  progress     ended after {moved} of {length}, with {with}")?;
        }
        if !matches!(verdict, "ended-open" | "hung") {
            return Ok(());
        }
        let it = if verdict == "hung" { "it is" } else { "if it hung, it is" };
        let name = |id: &str| id.parse().map_or("", |m: rehang_scenario::Mechanism| m.name());
        match o["mechanism"].as_str() {
            Some(id) => {
                let sure = match text("sure") {
                    "yes" => "the log says so",
                    "likely" => "likely",
                    _ => "perhaps",
                };
                writeln!(out, "{it} {id} {} ({sure})", name(id))?;
            }
            None => {
                let plays = text("plays");
                let it = if o["drafted"] == true { format!("{it} played as") } else { "the guess would be".to_owned() };
                writeln!(out, "nothing in it names a mechanism; {it} {plays} {}", name(plays))?;
            }
        }
        for why in each("why") {
            writeln!(out, "  since        {why}")?;
        }
        for other in list("others") {
            let text = |key: &str| other[key].as_str().unwrap_or_default().to_owned();
            writeln!(out, "  or           {}: {}", text("mechanism"), text("why"))?;
        }
        Ok(())
    }
}

/// Masks every text of a JSON value, and every key of its objects; counts whose keys become the same are added up.
fn masked(value: &mut serde_json::Value, mask: &mut rehang_logs::Mask) {
    match value {
        serde_json::Value::String(text) => *text = mask.text(text),
        serde_json::Value::Array(list) => list.iter_mut().for_each(|value| masked(value, mask)),
        serde_json::Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                masked(&mut value, mask);
                let key = mask.text(&key);
                let same = map.get(&key).and_then(serde_json::Value::as_u64).zip(value.as_u64());
                map.insert(key, same.map_or(value, |(one, other)| json!(one.saturating_add(other))));
            }
        }
        _ => {}
    }
}
