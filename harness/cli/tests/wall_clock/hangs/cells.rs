//! Which scenarios are played, and what the diagnosis says at the end of each on the simulated kernel.
//!
//! Invariant: chosen by a rule: of each file the first cell without a strategy that hangs and that can be played here.

use rehang_evidence::{Diagnosis, Verdict};
use rehang_hangs::{Mechanism, Signature};
use rehang_judge::Outcome;
use rehang_os::sim::SimKernel;
use rehang_runner::select::Selection;
use rehang_runner::unit::Unit;
use rehang_scenario::{
    Arm, Fault, Place, Proof, Scenario, Span, Stage, Step, Terminal, Transport, VTime, WrapperFault,
};
use rehang_stage::{Job, Looks, Played, Setting, judged};
use rehang_trace::{Fact, Trace, What};
use std::collections::{BTreeMap, BTreeSet};

/// How long after a proof the stage looks.
const AFTER_PROOF_MS: u64 = 121_000;

/// What a diagnosis says, as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Says {
    pub verdict: Verdict,
    pub signature: Signature,
    pub mechanism: Option<Mechanism>,
    /// Whether it is about the process that was asked about.
    pub is_root: bool,
    pub closed_in: bool,
}

impl Says {
    pub fn of(diagnosis: &Diagnosis) -> Says {
        let Diagnosis { verdict, signature, mechanism, is_root, closed_in, .. } = diagnosis;
        let (verdict, signature, mechanism) = (*verdict, *signature, *mechanism);
        Says { verdict, signature, mechanism, is_root: *is_root, closed_in: *closed_in }
    }
}

/// How far processes have come: how many have begun, how many have ended by themselves, what agents have stated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub began: usize,
    pub ended: usize,
    pub facts: usize,
}

impl Progress {
    /// Counts a fact, if its number does not depend on how a stream was cut into pieces, or on a server's own notes.
    pub fn states(&mut self, fact: &Fact) {
        self.facts += usize::from(!matches!(fact, Fact::ModelSaid { .. } | Fact::Acted { .. }));
    }

    pub fn has_come_to(&self, other: &Progress) -> bool {
        self.began >= other.began && self.ended >= other.ended && self.facts >= other.facts
    }
}

/// A hang.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The scenario's whole name.
    pub name: String,
    /// The scenario.
    pub scenario: Scenario,
    /// How the agent's streams are connected.
    pub terminal: Terminal,
    /// What the diagnosis says at the end.
    pub says: Says,
    /// How far its processes have come by then.
    pub progress: Progress,
    /// How the hang is proved.
    pub proof: Proof,
    /// When the last thing happened, in virtual time: at a deadlock, or the agent's last progress before a cycle.
    pub last: VTime,
}

impl Cell {
    /// The folder of its file.
    pub fn layer(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// The cells, and the files that hang and of which none can be played: their names and the reason.
#[derive(Debug, Default)]
pub struct Chosen {
    pub cells: Vec<Cell>,
    pub left_out: BTreeMap<String, &'static str>,
}

/// Chooses.
///
/// # Errors
/// The corpus cannot be read, or a cell cannot be played on the simulated kernel.
pub fn chosen() -> Result<Chosen, String> {
    let selected = Selection::default().select(&[Stage::Sim]).map_err(|e| e.to_string())?;
    let mut kernel = SimKernel::new(rehang_fakes::program);
    let (mut chosen, mut done) = (Chosen::default(), BTreeSet::new());
    for unit in selected.units.iter().filter(|unit| unit.stages.contains(&Stage::Sim)) {
        let file = unit.name.split('[').next().unwrap_or_default();
        let bare = |wanted: &&rehang_runner::unit::Wanted| wanted.strategy == "none" && wanted.arm == Arm::Main;
        if done.contains(file) || unit.cells.iter().find(bare).is_none() {
            continue;
        }
        let played = play(&mut kernel, unit)?;
        if !played.verdict.outcome.is_hung() {
            continue;
        }
        match cannot(unit, &played) {
            Some(why) => drop(chosen.left_out.entry(file.to_owned()).or_insert(why)),
            None => {
                chosen.left_out.remove(file);
                done.insert(file);
                chosen.cells.push(cell(unit, &played)?);
            }
        }
    }
    Ok(chosen)
}

fn play(kernel: &mut SimKernel, unit: &Unit) -> Result<Played, String> {
    let job = Job { looks: Looks::AtHang, ..Job::new(&unit.main, "none", unit.terminal, unit.order.seed) };
    let setting = Setting { name: &unit.name, stage: Stage::Sim, arm: Arm::Main, healthy: Span::ZERO };
    judged(kernel, &job, &setting, None).map_err(|why| format!("{}: {why}", unit.name))
}

fn cell(unit: &Unit, played: &Played) -> Result<Cell, String> {
    let look = played.looks.last().ok_or_else(|| format!("{}: nobody looked", unit.name))?;
    let Outcome::Hung { proof, .. } = played.verdict.outcome else { return Err(format!("{}: it ends", unit.name)) };
    let last = match proof {
        Proof::Deadlock => VTime(look.at.0.saturating_sub(AFTER_PROOF_MS)),
        Proof::Lasso => played.verdict.last_progress,
    };
    Ok(Cell {
        name: unit.name.clone(),
        scenario: unit.main.clone(),
        terminal: unit.terminal,
        says: Says::of(&look.diagnosis),
        progress: progress(&played.trace, last),
        proof,
        last,
    })
}

/// How far the processes have come at this instant.
fn progress(trace: &Trace, last: VTime) -> Progress {
    let mut progress = Progress::default();
    for event in trace.events.iter().filter(|event| event.t <= last) {
        match &event.what {
            What::Spawn { .. } => progress.began += 1,
            What::Exit(_) => progress.ended += 1,
            What::Fact(fact) => progress.states(fact),
            _ => {}
        }
    }
    progress
}

fn goes_in_rounds(unit: &Unit) -> bool {
    unit.main.agent.steps().is_some_and(|steps| steps.contains(&Step::Again))
}

/// Whether a tool server runs beside the agent.
fn has_server(unit: &Unit) -> bool {
    unit.main.tool_server.as_ref().is_some_and(|server| server.over == Transport::Http)
}

/// Why a hang cannot be played here.
fn cannot(unit: &Unit, played: &Played) -> Option<&'static str> {
    let fault = unit.main.faults.iter().find_map(|fault| match (fault, fault.place()) {
        (Fault::Wrapper(WrapperFault::IgnoresStdout | WrapperFault::IgnoresStderr), _) => None,
        (_, Place::Wrapper) => Some("the wrapper vanishes"),
        (_, Place::Process) => Some("a process is struck from outside"),
        (_, Place::Companion) => Some("it has a companion, which is no process"),
        (_, Place::Model | Place::Wire | Place::Agent) => None,
    });
    let acts = || played.trace.events.iter().any(|event| matches!(event.what, What::Acts(_)));
    match () {
        () if fault.is_some() => fault,
        () if unit.main.runs > 1 => Some("its caller runs the agent again and again"),
        () if unit.main.agent.has_editor() => {
            Some("its editor is an actor of the stages, and nobody hears here what it is told")
        }
        () if has_server(unit) => Some("its tool server is a process of the stage's own"),
        () if goes_in_rounds(unit) => Some("it goes in rounds, and a look here comes in any part of one"),
        () if acts() => Some("somebody acts in it before it hangs"),
        () if unit.terminal == Terminal::StdoutSlow => Some("its reader is slow"),
        () => None,
    }
}
