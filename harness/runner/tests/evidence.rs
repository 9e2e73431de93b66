//! The evidence of the corpus: what the diagnosis says of every proved hang and of healthy runs, and that both kernels show
//! the same.
//!
//! Invariants: in no healthy run the wait-for graph is closed; what the diagnosis does not name is listed here, by what
//! the judge calls it and what the diagnosis says instead, with the reason; an exception that is new, or that no longer
//! occurs, fails.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_evidence::{Diagnosis, Limits, Sure, Verdict};
use rehang_judge::verdict::Outcome;
use rehang_os::Kernel;
use rehang_os::lockstep::LockstepKernel;
use rehang_os::sim::SimKernel;
use rehang_runner::select::Selection;
use rehang_runner::unit::{Unit, Wanted};
use rehang_scenario::{Arm, Scenario, Span, Stage};
use rehang_stage::{Job, Look, Looks, Played, Setting, judged};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

/// How often healthy runs are looked at, in virtual time.
const EVERY: Span = Span::secs(10);

/// What the judge calls a hang, and the signatures that name the same.
const NAMES: [(&str, &[&str]); 17] = [
    ("question", &["question-open"]),
    ("permission", &["permission-open"]),
    // a terminal is a standard input too
    ("stdin", &["stdin-open", "editor-on-stderr", "tty-read", "mutual-wait"]),
    ("tty", &["tty-read", "pager", "editor", "tty-unread"]),
    ("pipe", &["stray-holds-pipe", "stray-writes-pipe", "stdout-undrained", "stderr-undrained", "mutual-pipe"]),
    ("bash", &["tool-lost", "never-ends", "unreaped", "stray-holds-pipe"]),
    ("tool", &["tool-lost"]),
    ("message", &["host-silent"]),
    ("child", &["never-ends", "stray-holds-pipe", "unreaped", "fifo-open", "file-lock"]),
    ("nothing", &["never-ends"]),
    ("model", &["model-silent"]),
    ("stopped", &["stopped", "sigttin", "sigttou"]),
    // a plain program that has printed its result has no record that says so
    ("exit", &["alive-after-result", "never-ends"]),
    // the server is idle: it is the client that waits, for an answer or an event
    ("post", &["peer-silent", "tool-lost", "server-mute"]),
    ("event", &["peer-silent", "event-missed"]),
    ("peer", &["peer-silent"]),
    ("file", &["fifo-open", "file-lock", "sqlite-lock"]),
];

/// What the diagnosis does not name: what the judge calls the hang, the signature, why.
const MISSED: [(&str, &str, &str); 20] = [
    ("bash", "no-connection", "the result of a command is lost inside the agent, and its transcript has no open call"),
    ("child", "sleep", "a command that prints for ever is at work"),
    ("timer", "sleep", "a program that prints for ever is at work"),
    ("timer", "polling", "a program that prints for ever is at work"),
    (
        "client",
        "serves",
        "a plain program that listens is a server; an agent that listens for a log-in is known by its name",
    ),
    ("spin", "computing", "what computes is at work, until somebody knows better"),
    ("exit", "between-turns", "its host may send another message, as far as can be seen"),
    ("exit", "mutual-wait", "it and its host wait for each other, which is more than that it does not exit"),
    ("exit", "terminal-person", "opencode's records do not say that a session at a terminal is over"),
    ("model", "no-connection", "the pause between two tries: opencode says so on its server alone"),
    (
        "model",
        "peer-keepalive",
        "called waiting on purpose: whether its lines hold content cannot be seen from outside",
    ),
    ("model", "peer-wait", "the agent has just asked again, as it does for ever"),
    ("model", "working", "the model answers at once here, and an agent that asks again at once computes"),
    ("permission", "no-connection", "Gemini CLI keeps no record that says what it asks, and asks nobody"),
    ("pipe", "never-ends", "the wrapper itself is looked at, and it does not read: who is to blame is outside"),
    ("question", "no-connection", "its lists of asks fail, so that nobody reads what it asks"),
    (
        "tool",
        "peer-keepalive",
        "called waiting on purpose: a tool server that works says that it lives in the same way",
    ),
    (
        "stdin",
        "helper",
        "both its streams are in its host's hands: a tool server, or a command below one, looks the same",
    ),
    ("worker", "never-ends", "the companion's worker is no process of the cell"),
    ("worker", "serves", "the companion's worker is no process of the cell"),
];

/// Hangs without a strategy whose diagnosis names another mechanism than their scenario: the scenario's, the diagnosis's,
/// why.
const OTHERS: [(&str, &str, &str); 72] = [
    ("B1", "B2", "a terminal is its stdin"),
    ("B1", "X2", "its streams are those of the program that runs it: a tool server below npx looks the same"),
    ("B10", "B5", "that it ignores TERM shows when it is sent one"),
    ("B11", "B6", "whose choice the background was cannot be seen"),
    ("B13", "M8", "the result is lost inside the agent, and nothing is under way"),
    ("B3", "B2", PLAIN),
    ("B4", "B2", PLAIN),
    ("B5", "", "a command that prints for ever is at work"),
    ("B7", "B6", "nothing was written between the two looks"),
    ("B8", "B5", "the limit that killed the shell alone is of the past"),
    ("B8", "B6", "the limit that killed the shell alone is of the past"),
    ("B9", "B6", "how it left its group cannot be seen"),
    ("C2", "C1", PLAIN),
    ("C2", "C6", PLAIN),
    ("C5", "B5", "of a program that was never there nothing is left to see"),
    ("C6", "B5", "the wrapper itself is looked at, and it does not read"),
    ("C7", "C6", "it and its host wait for each other: that its result did not arrive, its reader alone knows"),
    ("E1", "M8", "its lists of asks fail, so that nobody reads what it asks"),
    ("E1", "P1", ASKS),
    ("E1", "Q1", ASKS),
    ("E3", "E1", "which event is missing, and why, cannot be seen"),
    ("E4", "B13", "why the state did not flip is inside the agent"),
    ("E4", "E1", "which event is missing, and why, cannot be seen"),
    ("E5", "E2", WIRE),
    ("E5", "M1", "the companion's worker is no process of the cell"),
    ("E6", "E2", WIRE),
    ("E8", "T1", "it is mute because it is stopped, which is named"),
    ("H1", "B5", PLAIN),
    ("H1", "B6", "the agent is over: its pipe is what is held"),
    ("H1", "H7", "its host may send another message, as far as can be seen"),
    ("H2", "B5", "that its parent is gone is no reason to wait"),
    ("H4", "", "what prints for ever is at work"),
    ("H5", "X2", "both its streams are in its host's hands: a tool server, or a command below one, looks the same"),
    ("H6", "", "computes, as work does: time tells"),
    ("H7", "T3", "it waits for a key at its terminal, and what its screen shows cannot be seen"),
    ("M1", "", "it has just asked again, as it does for ever"),
    ("M1", "M2", "heartbeats come over the connection"),
    ("M10", "B2", PLAIN),
    ("M3", "", "it has just asked again, as it does for ever"),
    ("M3", "M1", "whether everything was said cannot be seen"),
    ("M4", "B5", PLAIN),
    ("M5", "M8", "the pause between two tries: opencode says so on its server alone"),
    ("M6", "", "a compaction is a request like any other"),
    ("M7", "", "each call is work: that none of them is new, who reads them knows"),
    ("M8", "B5", PLAIN),
    ("P1", "B5", PLAIN),
    ("P2", "M8", "the agent asks nobody, and nothing is under way"),
    ("P2", "P1", "whose session asks cannot be seen from outside"),
    ("P2", "P3", "whose session asks cannot be seen from outside"),
    ("P4", "X2", "both its streams are in its host's hands: a tool server, or a command below one, looks the same"),
    ("Q2", "Q1", "whose session asks cannot be seen from outside"),
    ("Q3", "P1", ASKS),
    ("Q3", "P3", ASKS),
    ("Q3", "Q1", ASKS),
    ("Q4", "Q1", "what the question is for is in its words"),
    ("S2", "", "both its streams are in its host's hands: a tool server, or a command below one, looks the same"),
    ("S2", "S1", "that both have it for their stdin takes knowing who was meant"),
    ("S3", "S1", PLAIN),
    ("T2", "B2", PLAIN),
    ("T3", "B2", PLAIN),
    ("T4", "B2", PLAIN),
    ("T5", "B2", PLAIN),
    ("T7", "", "what prints for ever is at work"),
    ("X1", "B5", PLAIN),
    ("X2", "B5", PLAIN),
    ("X3", "X2", "what was asked back is in the pipe's past"),
    ("X4", "", PLAIN),
    ("X5", "", "what prints for ever is at work"),
    ("X5", "B5", PLAIN),
    ("X6", "E2", "what it asks for over its connection cannot be seen"),
    ("X7", "C6", PLAIN),
    ("X8", "B12", "a FIFO takes the place of a file system that does not answer"),
];

const PLAIN: &str =
    "a plain program plays the agent: that it is one, and what its child or a key is to it, cannot be seen";
const WIRE: &str = "what is missing on the wire between a server and its client cannot be seen";
const ASKS: &str = "an ask is open; that nobody is shown it is the client's";

/// The least percentage of hangs that the diagnosis names: what it is now, whole; [`MISSED`] has why not.
const NAMED_PERCENT: usize = 93;

/// The percentage of hangs of which the wait-for graph alone shows that no process can wake the agent: in the others,
/// somebody outside could, or a timer is left.
const CLOSED_PERCENT: usize = 49;

/// What may be certain in a healthy run, and why.
const CERTAIN: [(&str, &str); 2] = [
    ("stray-holds-pipe", "certain is what it waits for; the agent's own limit on a command ends the wait"),
    ("tty-read", "certain is what it waits for; whether somebody comes to the terminal cannot be seen"),
];

/// One cell in this many is played on both kernels.
const SAMPLE: usize = 25;

fn main() -> ExitCode {
    if rehang_fakes::registry::dispatch() {
        return ExitCode::SUCCESS;
    }
    let args = Arguments::from_args();
    let trials = vec![
        Trial::test("every_proved_hang_is_named", hangs),
        Trial::test("a_healthy_run_is_never_certainly_hung", healthy),
        Trial::test("both_kernels_show_the_same", same),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// A cell of the corpus.
struct Cell<'a> {
    unit: &'a Unit,
    wanted: &'a Wanted,
    scenario: &'a Scenario,
}

impl Cell<'_> {
    fn play(&self, kernel: &mut dyn Kernel, stage: Stage, looks: Looks) -> Result<Played, Failed> {
        let Unit { name, terminal, order, .. } = self.unit;
        let job = Job { looks, ..Job::new(self.scenario, &self.wanted.strategy, *terminal, order.seed) };
        let setting = Setting { name, stage, arm: self.wanted.arm, healthy: Span::ZERO };
        judged(kernel, &job, &setting, None).map_err(|why| format!("{}: {why}", self.wanted.id).into())
    }
}

fn corpus() -> Result<Vec<Unit>, Failed> {
    let selected = Selection::default().select(&[Stage::Sim]).map_err(|e| e.to_string())?;
    Ok(selected.units)
}

fn cells(units: &[Unit]) -> impl Iterator<Item = Cell<'_>> {
    let on_sim = units.iter().filter(|unit| unit.stages.contains(&Stage::Sim));
    on_sim.flat_map(|unit| {
        unit.cells.iter().filter_map(move |wanted| {
            let scenario = match wanted.arm {
                Arm::Main => &unit.main,
                Arm::Control => unit.control.as_ref()?,
            };
            Some(Cell { unit, wanted, scenario })
        })
    })
}

fn sim() -> SimKernel {
    SimKernel::new(rehang_fakes::registry::program)
}

/// Whether the wait-for graph shows that no live process can wake what was looked at.
fn is_closed_in(look: &Look) -> bool {
    let graph = rehang_evidence::graph(&look.before, &look.after, &Limits::default());
    look.after.roots.iter().any(|root| graph.is_closed_in(*root))
}

fn hangs() -> Result<(), Failed> {
    let units = corpus()?;
    let (mut all, mut named, mut closed) = (0, 0, 0);
    let mut missed: BTreeMap<(String, String), (usize, String)> = BTreeMap::new();
    let mut others: BTreeMap<(String, String), (usize, String)> = BTreeMap::new();
    for cell in cells(&units) {
        let played = cell.play(&mut sim(), Stage::Sim, Looks::AtHang)?;
        let Outcome::Hung { blocked_on, .. } = &played.verdict.outcome else { continue };
        let Some(look) = played.looks.last() else {
            return Err(format!("{}: hung, and nobody looked", cell.wanted.id).into());
        };
        all += 1;
        closed += usize::from(is_closed_in(look));
        let diagnosis = &look.diagnosis;
        if diagnosis.closed_in && !is_closed_in(look) {
            return Err(format!("{}: called closed in, and the graph is not", cell.wanted.id).into());
        }
        if cell.wanted.strategy == "none" && cell.wanted.arm == Arm::Main {
            let key = (cell.scenario.mechanism.clone(), diagnosis.mechanism.clone().unwrap_or_default());
            if key.0 != key.1 {
                others.entry(key).or_insert((0, cell.wanted.id.clone())).0 += 1;
            }
        }
        let names = NAMES.iter().find(|(word, _)| *word == blocked_on.word()).map_or(&[][..], |(_, names)| names);
        // one that has a healthy cause as well is named with the time after which it counts as hung
        if diagnosis.may_be_hung() && names.contains(&diagnosis.signature.as_str()) {
            named += 1;
            continue;
        }
        let key = (blocked_on.word().to_owned(), diagnosis.signature.clone());
        let text = format!("{}: {}", cell.wanted.id, diagnosis.sentence);
        missed.entry(key).or_insert((0, text)).0 += 1;
    }
    let mut text =
        format!("{all} hangs, {closed} closed in, {named} named; not named, by the judge's word and the signature:\n");
    for ((word, signature), (count, first)) in &missed {
        let _ = writeln!(text, "{count:4} {word:12} {signature:20} {first}");
    }
    println!("{text}");
    for ((is, named), (count, first)) in &others {
        println!("{count:4} {is:4} called {named:4} {first}");
    }
    let key = |(is, named, _): &(&str, &str, &str)| ((*is).to_owned(), (*named).to_owned());
    let mut wrong: Vec<String> = Vec::new();
    for (new, (_, first)) in others.iter().filter(|(found, _)| !OTHERS.iter().any(|one| key(one) == **found)) {
        wrong.push(format!("{new:?}: the diagnosis of {first} names another mechanism than its scenario"));
    }
    let occurs = |(word, signature, _): &&(&str, &str, &str)| {
        missed.contains_key(&((*word).to_owned(), (*signature).to_owned()))
    };
    let gone = OTHERS.iter().filter(|one| !others.contains_key(&key(one)));
    wrong.extend(
        gone.chain(MISSED.iter().filter(|one| !occurs(one))).map(|old| format!("{old:?} is an exception no more")),
    );
    let is_known = |(word, signature): &(String, String)| MISSED.iter().any(|(w, s, _)| w == word && s == signature);
    wrong.extend(missed.keys().filter(|key| !is_known(key)).map(|new| format!("{new:?} is no known exception")));
    if !wrong.is_empty() {
        return Err(format!("{}\n{text}", wrong.join("\n")).into());
    }
    if named * 100 < all * NAMED_PERCENT {
        return Err(format!("fewer than {NAMED_PERCENT} % are named\n{text}").into());
    }
    if closed * 100 < all * CLOSED_PERCENT {
        return Err(format!("in fewer than {CLOSED_PERCENT} % the graph is closed\n{text}").into());
    }
    Ok(())
}

fn healthy() -> Result<(), Failed> {
    let units = corpus()?;
    let (mut looks, mut likely) = (0, BTreeMap::new());
    for cell in cells(&units).filter(|cell| cell.wanted.arm == Arm::Control) {
        let played = cell.play(&mut sim(), Stage::Sim, Looks::Every(EVERY))?;
        // some control arms hang too, by another cause
        for look in played.looks.iter().filter(|look| !look.at_hang) {
            looks += 1;
            if is_closed_in(look) {
                let (id, at, found) = (&cell.wanted.id, look.at.0, &look.diagnosis.sentence);
                return Err(format!("{id} at {at} ms: closed in, and goes on; {found}").into());
            }
            let Diagnosis { verdict, sure, signature, sentence, .. } = &look.diagnosis;
            if *verdict != Verdict::Hung {
                continue;
            }
            *likely.entry((*sure, signature.clone())).or_insert(0) += 1;
            if *sure == Sure::Certain && !CERTAIN.iter().any(|(known, _)| known == signature) {
                return Err(format!("{} at {} ms: {sentence}", cell.wanted.id, look.at.0).into());
            }
        }
    }
    println!("{looks} looks at healthy runs, called hung:");
    for ((sure, signature), count) in &likely {
        println!("{count:6} {sure:?} {signature}");
    }
    if looks < 10_000 {
        return Err(format!("{looks} looks are too few to tell").into());
    }
    Ok(())
}

fn same() -> Result<(), Failed> {
    let units = corpus()?;
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut kernel = LockstepKernel::new(&exe).map_err(|e| e.to_string())?;
    let in_lockstep =
        |cell: &Cell<'_>| cell.unit.main.stages.as_ref().is_none_or(|stages| stages.only.contains(&Stage::Lockstep));
    let mut looks = 0;
    for cell in cells(&units).filter(in_lockstep).step_by(SAMPLE) {
        let sim = cell.play(&mut sim(), Stage::Sim, Looks::Every(EVERY))?;
        let lockstep = cell.play(&mut kernel, Stage::Lockstep, Looks::Every(EVERY))?;
        if sim.trace != lockstep.trace {
            return Err(format!("{}: the traces differ", cell.wanted.id).into());
        }
        if sim.looks != lockstep.looks {
            return Err(format!("{}: {}", cell.wanted.id, difference(&sim.looks, &lockstep.looks)).into());
        }
        looks += sim.looks.len();
    }
    println!("{looks} looks are the same on both kernels");
    if looks < 5_000 {
        return Err(format!("{looks} looks are too few to tell").into());
    }
    Ok(())
}

/// The first line in which two looks differ.
fn difference(a: &[Look], b: &[Look]) -> String {
    if a.len() != b.len() {
        return format!("{} looks and {}", a.len(), b.len());
    }
    let text = |look: &Look| serde_json::to_string_pretty(&look.after).unwrap_or_default();
    for (a, b) in a.iter().zip(b) {
        let (at, a, b) = (a.at, text(a), text(b));
        if let Some((at_line, (x, y))) = a.lines().zip(b.lines()).enumerate().find(|(_, (x, y))| x != y) {
            let from = a.lines().take(at_line).collect::<Vec<_>>();
            let from = from.iter().rev().take(6).rev().map(|l| l.trim()).collect::<Vec<_>>().join(" ");
            return format!("at {}: …{from} {} / {}", at.0, x.trim(), y.trim());
        }
    }
    "only before".to_owned()
}
