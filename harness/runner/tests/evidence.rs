//! The evidence of the corpus: what the diagnosis says of every proved hang and of healthy runs, and that both kernels show
//! the same.
//!
//! Invariants: in no healthy run the wait-for graph is closed; what the diagnosis does not name is listed here, by what
//! the judge calls it and what the diagnosis says instead, with the reason; an exception that is new, or that no longer
//! occurs, fails.

use libtest_mimic::{Arguments, Failed, Trial};
use rehang_evidence::{Diagnosis, Limits, Sure, Verdict};
use rehang_hangs::{Mechanism, Signature};
use rehang_judge::verdict::Outcome;
use rehang_os::Kernel;
use rehang_os::lockstep::LockstepKernel;
use rehang_os::sim::SimKernel;
use rehang_runner::select::Selection;
use rehang_runner::unit::{Unit, Wanted};
use rehang_scenario::{Arm, BlockedOn, Scenario, Span, Stage};
use rehang_stage::{Job, Look, Looks, Played, Setting, judged};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

/// How often healthy runs are looked at, in virtual time.
const EVERY: Span = Span::secs(10);

/// What the diagnosis does not name: what the judge calls the hang, the signature, why.
const MISSED: [(BlockedOn, Signature, &str); 22] = [
    (
        BlockedOn::Bash,
        Signature::NoConnection,
        "the result of a command is lost inside the agent, and its transcript has no open call",
    ),
    (BlockedOn::Child, Signature::Sleep, "a command that prints for ever is at work"),
    (BlockedOn::Timer, Signature::Sleep, "a program that prints for ever is at work"),
    (BlockedOn::Timer, Signature::Polling, "a program that prints for ever is at work"),
    (
        BlockedOn::Client,
        Signature::Serves,
        "a plain program that listens is a server; an agent that listens for a log-in is known by its name",
    ),
    (BlockedOn::Spin, Signature::Computing, "what computes is at work, until somebody knows better"),
    (BlockedOn::Exit, Signature::BetweenTurns, "its host may send another message, as far as can be seen"),
    (
        BlockedOn::Exit,
        Signature::MutualWait,
        "it and its host wait for each other, which is more than that it does not exit",
    ),
    (BlockedOn::Message, Signature::MutualWait, "it and its host wait for each other: whose turn it is cannot be seen"),
    (BlockedOn::Exit, Signature::TerminalPerson, "opencode's records do not say that a session at a terminal is over"),
    (BlockedOn::Model, Signature::NoConnection, "the pause between two tries: opencode says so on its server alone"),
    (
        BlockedOn::Model,
        Signature::PeerKeepalive,
        "called waiting on purpose: whether its lines hold content cannot be seen from outside",
    ),
    (BlockedOn::Model, Signature::PeerWait, "the agent has just asked again, as it does for ever"),
    (
        BlockedOn::Model,
        Signature::Working,
        "the model answers at once here, and an agent that asks again at once computes",
    ),
    (
        BlockedOn::Permission,
        Signature::NoConnection,
        "Gemini CLI keeps no record that says what it asks, and asks nobody",
    ),
    (
        BlockedOn::Tool,
        Signature::PermissionOpen,
        "a call of the client's own tool is a request to it, as one for a permission is",
    ),
    (
        BlockedOn::Pipe,
        Signature::NeverEnds,
        "the wrapper itself is looked at, and it does not read: who is to blame is outside",
    ),
    (BlockedOn::Question, Signature::NoConnection, "its lists of asks fail, so that nobody reads what it asks"),
    (
        BlockedOn::Tool,
        Signature::PeerKeepalive,
        "called waiting on purpose: a tool server that works says that it lives in the same way",
    ),
    (
        BlockedOn::Stdin,
        Signature::Helper,
        "both its streams are in its host's hands: a tool server, or a command below one, looks the same",
    ),
    (BlockedOn::Worker, Signature::NeverEnds, "the companion's worker is no process of the cell"),
    (BlockedOn::Worker, Signature::Serves, "the companion's worker is no process of the cell"),
];

/// Hangs without a strategy whose diagnosis names another mechanism than their scenario: the scenario's, the diagnosis's,
/// why.
const OTHERS: [(Mechanism, Option<Mechanism>, &str); 78] = [
    (Mechanism::B1, Some(Mechanism::B2), "a terminal is its stdin"),
    (
        Mechanism::B1,
        Some(Mechanism::X2),
        "its streams are those of the program that runs it: a tool server below npx looks the same",
    ),
    (Mechanism::B10, Some(Mechanism::B5), "that it ignores TERM shows when it is sent one"),
    (Mechanism::B11, Some(Mechanism::B6), "whose choice the background was cannot be seen"),
    (Mechanism::B13, Some(Mechanism::M8), "the result is lost inside the agent, and nothing is under way"),
    (Mechanism::B3, Some(Mechanism::B2), PLAIN),
    (Mechanism::B4, Some(Mechanism::B2), PLAIN),
    (Mechanism::B5, None, "a command that prints for ever is at work"),
    (Mechanism::B7, Some(Mechanism::B6), "nothing was written between the two looks"),
    (Mechanism::B8, Some(Mechanism::B5), "the limit that killed the shell alone is of the past"),
    (Mechanism::B8, Some(Mechanism::B6), "the limit that killed the shell alone is of the past"),
    (Mechanism::B9, Some(Mechanism::B6), "how it left its group cannot be seen"),
    (Mechanism::C2, Some(Mechanism::C1), PLAIN),
    (Mechanism::C2, Some(Mechanism::C6), PLAIN),
    (Mechanism::C5, Some(Mechanism::B5), "of a program that was never there nothing is left to see"),
    (Mechanism::C6, Some(Mechanism::B5), "the wrapper itself is looked at, and it does not read"),
    (
        Mechanism::C7,
        Some(Mechanism::C6),
        "it and its host wait for each other: that its result did not arrive, its reader alone knows",
    ),
    (Mechanism::E1, Some(Mechanism::M8), "its lists of asks fail, so that nobody reads what it asks"),
    (Mechanism::E1, Some(Mechanism::P1), ASKS),
    (Mechanism::E1, Some(Mechanism::Q1), ASKS),
    (Mechanism::E3, Some(Mechanism::E1), "which event is missing, and why, cannot be seen"),
    (Mechanism::E4, Some(Mechanism::B13), "why the state did not flip is inside the agent"),
    (Mechanism::E4, Some(Mechanism::E1), "which event is missing, and why, cannot be seen"),
    (Mechanism::E5, Some(Mechanism::E2), WIRE),
    (Mechanism::E5, Some(Mechanism::M1), "the companion's worker is no process of the cell"),
    (Mechanism::E5, Some(Mechanism::C6), MUTUAL),
    (Mechanism::E6, Some(Mechanism::E2), WIRE),
    (Mechanism::E8, Some(Mechanism::T1), "it is mute because it is stopped, which is named"),
    (Mechanism::H1, Some(Mechanism::B5), PLAIN),
    (Mechanism::H1, Some(Mechanism::B6), "the agent is over: its pipe is what is held"),
    (Mechanism::H1, Some(Mechanism::H7), "its host may send another message, as far as can be seen"),
    (Mechanism::H2, Some(Mechanism::B5), "that its parent is gone is no reason to wait"),
    (Mechanism::H4, None, "what prints for ever is at work"),
    (
        Mechanism::H5,
        Some(Mechanism::X2),
        "both its streams are in its host's hands: a tool server, or a command below one, looks the same",
    ),
    (Mechanism::H6, None, "computes, as work does: time tells"),
    (Mechanism::H7, Some(Mechanism::B5), "a command that the turn has left running is what is seen of it"),
    (Mechanism::H7, Some(Mechanism::C6), MUTUAL),
    (
        Mechanism::H7,
        Some(Mechanism::T3),
        "it waits for a key at its terminal, and what its screen shows cannot be seen",
    ),
    (Mechanism::H7, Some(Mechanism::X2), MUTUAL),
    (Mechanism::M1, Some(Mechanism::M2), "heartbeats come over the connection"),
    (Mechanism::M10, Some(Mechanism::B2), PLAIN),
    (Mechanism::M3, None, "it has just asked again, as it does for ever"),
    (Mechanism::M3, Some(Mechanism::M1), "whether everything was said cannot be seen"),
    (Mechanism::M4, Some(Mechanism::B5), PLAIN),
    (Mechanism::M5, Some(Mechanism::M8), "the pause between two tries: opencode says so on its server alone"),
    (Mechanism::M6, None, "a compaction is a request like any other"),
    (Mechanism::M7, None, "each call is work: that none of them is new, who reads them knows"),
    (Mechanism::M8, Some(Mechanism::B5), PLAIN),
    (Mechanism::P1, Some(Mechanism::B5), PLAIN),
    (Mechanism::P2, Some(Mechanism::M8), "the agent asks nobody, and nothing is under way"),
    (Mechanism::P2, Some(Mechanism::P1), "whose session asks cannot be seen from outside"),
    (Mechanism::P2, Some(Mechanism::P3), "whose session asks cannot be seen from outside"),
    (
        Mechanism::P4,
        Some(Mechanism::X2),
        "both its streams are in its host's hands: a tool server, or a command below one, looks the same",
    ),
    (Mechanism::P4, Some(Mechanism::C6), MUTUAL),
    (Mechanism::Q2, Some(Mechanism::Q1), "whose session asks cannot be seen from outside"),
    (Mechanism::Q3, Some(Mechanism::P1), ASKS),
    (Mechanism::Q3, Some(Mechanism::P3), ASKS),
    (Mechanism::Q3, Some(Mechanism::Q1), ASKS),
    (Mechanism::Q4, Some(Mechanism::Q1), "what the question is for is in its words"),
    (
        Mechanism::S2,
        None,
        "both its streams are in its host's hands: a tool server, or a command below one, looks the same",
    ),
    (Mechanism::S2, Some(Mechanism::S1), "that both have it for their stdin takes knowing who was meant"),
    (Mechanism::S3, Some(Mechanism::S1), PLAIN),
    (Mechanism::T2, Some(Mechanism::B2), PLAIN),
    (Mechanism::T3, Some(Mechanism::B2), PLAIN),
    (Mechanism::T4, Some(Mechanism::B2), PLAIN),
    (Mechanism::T5, Some(Mechanism::B2), PLAIN),
    (Mechanism::T7, None, "what prints for ever is at work"),
    (Mechanism::X1, Some(Mechanism::B5), PLAIN),
    (Mechanism::X2, Some(Mechanism::B5), PLAIN),
    (Mechanism::X2, Some(Mechanism::P3), "a call of the client's own tool looks like a request for a permission"),
    (Mechanism::X3, Some(Mechanism::Q1), "what a tool server asks by way of the agent is a question to the user"),
    (Mechanism::X3, Some(Mechanism::X2), "what was asked back is in the pipe's past"),
    (Mechanism::X4, None, PLAIN),
    (Mechanism::X5, None, "what prints for ever is at work"),
    (Mechanism::X5, Some(Mechanism::B5), PLAIN),
    (Mechanism::X6, Some(Mechanism::E2), "what it asks for over its connection cannot be seen"),
    (Mechanism::X7, Some(Mechanism::C6), PLAIN),
    (Mechanism::X8, Some(Mechanism::B12), "a FIFO takes the place of a file system that does not answer"),
];

const MUTUAL: &str = "it and its editor wait for each other: whose turn it is cannot be seen";
const PLAIN: &str =
    "a plain program plays the agent: that it is one, and what its child or a key is to it, cannot be seen";
const WIRE: &str = "what is missing on the wire between a server and its client cannot be seen";
const ASKS: &str = "an ask is open; that nobody is shown it is the client's";

/// The least percentage of hangs that the diagnosis names: what it is now, whole; [`MISSED`] has why not.
const NAMED_PERCENT: usize = 92;

/// The percentage of hangs of which the wait-for graph alone shows that no process can wake the agent: in the others,
/// somebody outside could, or a timer is left.
const CLOSED_PERCENT: usize = 49;

/// What may be certain in a healthy run, and why.
const CERTAIN: [(Signature, &str); 2] = [
    (Signature::StrayHoldsPipe, "certain is what it waits for; the agent's own limit on a command ends the wait"),
    (Signature::TtyRead, "certain is what it waits for; whether somebody comes to the terminal cannot be seen"),
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
    let mut missed: BTreeMap<(BlockedOn, Signature), (usize, String)> = BTreeMap::new();
    let mut others: BTreeMap<(Mechanism, Option<Mechanism>), (usize, String)> = BTreeMap::new();
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
            let of_file = cell.scenario.mechanism.parse().map_err(|error| format!("{}: {error}", cell.wanted.id))?;
            let key = (of_file, diagnosis.mechanism);
            if Some(key.0) != key.1 {
                others.entry(key).or_insert((0, cell.wanted.id.clone())).0 += 1;
            }
        }
        // one that has a healthy cause as well is named with the time after which it counts as hung
        if diagnosis.may_be_hung() && diagnosis.signature.is_judged(*blocked_on) {
            named += 1;
            continue;
        }
        let key = (*blocked_on, diagnosis.signature);
        let text = format!("{}: {}", cell.wanted.id, diagnosis.sentence);
        missed.entry(key).or_insert((0, text)).0 += 1;
    }
    let mut text =
        format!("{all} hangs, {closed} closed in, {named} named; not named, by the judge's word and the signature:\n");
    for ((on, signature), (count, first)) in &missed {
        let _ = writeln!(text, "{count:4} {:12} {signature:20} {first}", on.word());
    }
    println!("{text}");
    for ((is, named), (count, first)) in &others {
        println!("{count:4} {is:4} called {:4} {first}", named.map_or("", Mechanism::id));
    }
    let key = |(is, named, _): &(Mechanism, Option<Mechanism>, &str)| (*is, *named);
    let mut wrong: Vec<String> = Vec::new();
    for (new, (_, first)) in others.iter().filter(|(found, _)| !OTHERS.iter().any(|one| key(one) == **found)) {
        wrong.push(format!("{new:?}: the diagnosis of {first} names another mechanism than its scenario"));
    }
    let occurs = |(on, signature, _): &&(BlockedOn, Signature, &str)| missed.contains_key(&(*on, *signature));
    let gone = OTHERS.iter().filter(|one| !others.contains_key(&key(one))).map(|old| format!("{old:?}"));
    let gone = gone.chain(MISSED.iter().filter(|one| !occurs(one)).map(|old| format!("{old:?}")));
    wrong.extend(gone.map(|old| format!("{old} is an exception no more")));
    let is_known = |key: &(BlockedOn, Signature)| MISSED.iter().any(|(on, signature, _)| (*on, *signature) == *key);
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
            *likely.entry((*sure, *signature)).or_insert(0) += 1;
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
