//! `rehang why PID`: why a process tree on this machine does not move, in one sentence, with the evidence.
//!
//! Invariant: looking changes nothing: no signal, no tracing; a server of a known agent gets GET requests only.

mod draft;

use super::{Code, CommandError};
use crate::shell::quoted;
use crate::terminal;
use anstyle::{AnsiColor, Style};
use clap::Args;
use rehang_evidence::diagnosis::graph::{Edge, Graph, Over, To};
use rehang_evidence::{AgentNames, Evidence, Limits, Look, Options, Pid, Report, SnapshotError, Verdict};
use rehang_processes::machine;
use rehang_runner::outputs;
use rehang_scenario::Span;
use rehang_scenario::text::{counted_as, duration};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Say why a process on this machine does not move, without touching it.
///
/// Looks at the process and all below it twice, a window apart: every thread's system call, what each descriptor is and
/// who holds its other end, terminals, locks, sockets, processor time. A process that is merely slow, or works, is called
/// so. Exit code 3 for a hang, 0 for none, 1 where what could be read does not tell, 2 for no such process.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang why                          every agent on this machine, in a line each
  rehang why 4711                     in one sentence, with the evidence
  rehang why opencode                 every process of that name
  rehang why 4711 -v                  the evidence for all processes below it
  rehang why 4711 --watch             again and again; says when the answer changes
  rehang why 4711 --scenario my.toml  drafts a scenario that hangs the same way
  rehang why 4711 --json              one object, for a program")]
pub struct Why {
    /// Processes, by their numbers or by name; each is explained with all below it. Without any: the agents on this
    /// machine that are known by name, a line each.
    #[arg(value_name = "PID|NAME", value_parser = target, allow_negative_numbers = true)]
    pub targets: Vec<Target>,
    /// Processes by their name, program or script: for a name that is a number.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A program that counts as an agent, though rehang does not know it: its name, its script or its `-m` module. May be
    /// given more than once.
    #[arg(long, value_name = "NAME")]
    pub agent: Vec<String>,
    /// Show the evidence for every process of the tree, not only for those on the way to the answer.
    #[arg(long, short = 'v')]
    pub tree: bool,
    /// NDJSON, one object a process.
    #[arg(long)]
    pub json: bool,
    /// Look again and again, until it ends; prints when the answer changes.
    #[arg(long)]
    pub watch: bool,
    /// Draft a scenario that hangs the same way, and write it to this file, which must not exist.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// How long to look.
    #[arg(long, default_value = "1s", value_parser = crate::commands::span)]
    pub window: Span,
    /// How long a connection must bring no byte to count as silent.
    #[arg(long, default_value = "60s", value_parser = crate::commands::span)]
    pub silent: Span,
    /// Do not ask agents' servers, and do not read agents' own records.
    #[arg(long)]
    pub no_ask: bool,
    /// The two snapshots themselves, as JSON.
    #[arg(long, hide = true)]
    pub snapshots: bool,
}

/// A process on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By its number.
    Pid(Pid),
    /// By its name, program or script.
    Name(String),
}

fn target(word: &str) -> Result<Target, String> {
    match word.parse::<Pid>() {
        Ok(pid) if pid > 0 => Ok(Target::Pid(pid)),
        Ok(pid) => Err(format!("{pid} is no process id")),
        Err(_) if word.contains(|c: char| c.is_ascii_alphabetic()) => Ok(Target::Name(word.to_owned())),
        Err(_) => Err("neither a process id nor a name; `ps -e` names all".to_owned()),
    }
}

/// The most waits that are told; JSON has all.
const MAX_EDGES: usize = 12;

/// The draft of a scenario that hangs as this process does, as TOML.
///
/// # Errors
/// No such process; it does not hang; the fakes cannot play what it hangs on.
pub fn drafted(pid: Pid) -> Result<String, CommandError> {
    let limits = Limits { silent_ms: Span::secs(60).as_ms() };
    let look =
        rehang_evidence::look(&[pid], &Options { ask: true, ..Options::default() }, &limits, Duration::from_secs(1))
            .map_err(usage)?;
    draft::draft(&look).map_err(CommandError::Usage)
}

impl Why {
    /// Looks and says.
    ///
    /// # Errors
    /// No such process; a scenario file that exists; /proc cannot be read.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let names = super::agent_names(&self.agent)?;
        let pids = self.pids(&names)?;
        outputs::must_be_new(self.scenario.as_deref())?;
        if self.watch {
            return self.watch(&pids, &names, out);
        }
        let spinner = spinner(self.window);
        let looks = self.looks(&pids);
        spinner.finish_and_clear();
        let (mut looks, mut code) = self.there(looks)?;
        looks.iter_mut().for_each(|look| look.count_as_agents(&names, &self.limits()));
        if self.is_list() {
            return list(&mut looks, out);
        }
        for (at, look) in looks.iter().enumerate() {
            if at > 0 && !self.json {
                writeln!(out)?;
            }
            self.tell(look, out)?;
            code = code.max(of(look));
        }
        if let (Some(file), Some(look)) = (&self.scenario, looks.first()) {
            self.draft(look, file, out)?;
        }
        Ok(code)
    }

    /// Whether nothing was named: then there is a line for each agent.
    fn is_list(&self) -> bool {
        self.targets.is_empty() && self.name.is_none() && !self.json && !self.tree && !self.snapshots
    }

    /// The processes that are asked about.
    fn pids(&self, agents: &AgentNames) -> Result<Vec<Pid>, CommandError> {
        let called = self.targets.iter().filter_map(|target| match target {
            Target::Name(name) => Some(name),
            Target::Pid(_) => None,
        });
        let mut pids = self.numbers().collect::<Vec<Pid>>();
        if let Some(pid) = pids.iter().find(|pid| rehang_evidence::is_of_kernel(**pid)) {
            return Err(CommandError::Usage(format!("{pid} is a thread of the kernel, not a program")));
        }
        for name in called.chain(&self.name) {
            let found = rehang_evidence::find(name).map_err(usage)?;
            if found.is_empty() {
                let name = quoted(name);
                return Err(CommandError::Usage(format!("no process is called {name}; `ps -e` names them all")));
            }
            pids.extend(found);
        }
        if self.targets.is_empty() && self.name.is_none() {
            if self.scenario.is_some() {
                return Err(CommandError::Usage("`--scenario` drafts one process: name it by its PID".to_owned()));
            }
            pids = rehang_evidence::agents().map_err(usage)?;
            for name in agents.iter() {
                let found = rehang_evidence::find(name).map_err(usage)?;
                pids.extend(found.into_iter().filter(|pid| !pids.contains(pid)).collect::<Vec<Pid>>());
            }
            if pids.is_empty() {
                let text =
                    "no agent that is known by its name runs here; `rehang why PID`, or NAME, explains any process";
                return Err(CommandError::Usage(text.to_owned()));
            }
        }
        Ok(pids)
    }

    fn numbers(&self) -> impl Iterator<Item = Pid> {
        self.targets.iter().filter_map(|target| if let Target::Pid(pid) = target { Some(*pid) } else { None })
    }

    /// Looks at all of them within one window.
    fn looks(&self, pids: &[Pid]) -> Vec<Result<Look, SnapshotError>> {
        let look = |pid: Pid| move || rehang_evidence::look(&[pid], &self.options(), &self.limits(), self.wait());
        let gone = |pid: Pid| Err(SnapshotError::NoProcess(pid));
        std::thread::scope(|scope| {
            let begun = |pid: Pid| std::thread::Builder::new().spawn_scoped(scope, look(pid));
            let all: Vec<_> = pids.iter().map(|pid| (*pid, begun(*pid))).collect();
            let done = all.into_iter().map(|(pid, begun)| match begun {
                Ok(one) => one.join().unwrap_or_else(|_| gone(pid)),
                // the machine gives no more threads: one after the other
                Err(_) => look(pid)(),
            });
            done.collect()
        })
    }

    /// The processes that exist, and a note for each that does not: one that was found by its name has ended meanwhile;
    /// one that the user named by its number is a usage error.
    fn there(&self, looks: Vec<Result<Look, SnapshotError>>) -> Result<(Vec<Look>, Code), CommandError> {
        let (mut there, mut notes, mut code) = (Vec::new(), Vec::new(), Code::Expected);
        for look in looks {
            match look {
                Ok(look) => there.push(look),
                Err(SnapshotError::NoProcess(pid)) => {
                    let (note, worst) = match self.numbers().any(|named| named == pid) {
                        true => (format!("there is no process {pid}; `ps -e` names all"), Code::Usage),
                        false => (format!("process {pid} has ended meanwhile"), Code::Expected),
                    };
                    code = code.max(worst);
                    notes.push(note);
                }
                Err(error) => return Err(usage(error)),
            }
        }
        if there.is_empty() {
            return Err(CommandError::Usage(notes.join("; ")));
        }
        notes.iter().for_each(|note| complain!("note: {note}"));
        Ok((there, code))
    }

    fn watch(&self, pids: &[Pid], names: &AgentNames, out: &mut dyn Write) -> Result<Code, CommandError> {
        let (mut last, mut code, mut failed) = (String::new(), Code::Expected, None);
        rehang_evidence::watch(pids, &self.options(), &self.limits(), self.wait(), |look| {
            look.count_as_agents(names, &self.limits());
            let now = format!("{:?} {} {}", look.diagnosis.verdict, look.diagnosis.signature, look.diagnosis.pid);
            code = of(look);
            if now != last {
                last = now;
                if let Err(error) = self.tell(look, out).and_then(|()| Ok(out.flush()?)) {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
                if terminal::has_no_reader() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })
        .map_err(usage)?;
        failed.map_or(Ok(code), Err)
    }

    fn options(&self) -> Options {
        Options { ask: !self.no_ask, ..Options::default() }
    }

    fn limits(&self) -> Limits {
        Limits { silent_ms: self.silent.as_ms() }
    }

    fn wait(&self) -> Duration {
        Duration::from_millis(self.window.as_ms())
    }

    fn tell(&self, look: &Look, out: &mut dyn Write) -> Result<(), CommandError> {
        let json = |error: serde_json::Error| CommandError::Fault(error.to_string());
        if self.snapshots {
            let both = serde_json::json!({ "before": look.before, "after": look.after });
            writeln!(out, "{both}")?;
            return Ok(());
        }
        if self.json {
            let mut report = Report::of(look, &self.limits());
            if self.tree {
                report.diagnosis.evidence = self.whole(look);
            }
            writeln!(out, "{}", serde_json::to_string(&report).map_err(json)?)?;
            return Ok(());
        }
        let diagnosis = &look.diagnosis;
        let (word, style) = word(diagnosis.verdict);
        writeln!(out, "{style}{word}{style:#}  {}.", diagnosis.sentence)?;
        if !diagnosis.ends.is_empty() {
            writeln!(out, "  ends with  {}", diagnosis.ends)?;
        }
        let sure = diagnosis.sure_in_words();
        if !diagnosis.because.is_empty() {
            writeln!(out, "  {sure}: {}", diagnosis.because)?;
        }
        if let Some(left) = diagnosis.hung_in_ms.map(duration) {
            writeln!(out, "  counts as hung if it lasts for another {left}; `rehang supervise` acts then or later")?;
        }
        if diagnosis.verdict == Verdict::Hung && !diagnosis.out_of_sight.is_empty() {
            writeln!(out, "  out of sight: {}", diagnosis.out_of_sight.join("; "))?;
        }
        if let Some(agent) = &diagnosis.agent_above {
            writeln!(out, "  {agent} may end it by a time limit of its own, and go on")?;
        }
        let mechanism = diagnosis.mechanism.as_ref().map(|id| format!(", mechanism {id}")).unwrap_or_default();
        writeln!(out, "  signature {}{mechanism}; looked for {}", diagnosis.signature, duration(diagnosis.window_ms))?;
        self.tell_graph(look, out)?;
        writeln!(out)?;
        let whole;
        let evidence = if self.tree {
            whole = self.whole(look);
            &whole
        } else {
            &diagnosis.evidence
        };
        for node in evidence {
            writeln!(out, "{}", node.text)?;
            branches(&node.below, "", out)?;
        }
        for lack in &diagnosis.lacks {
            writeln!(out, "not read: {} ({})", lack.what, lack.remedy)?;
        }
        Ok(())
    }

    fn graph(&self, look: &Look) -> Graph {
        rehang_evidence::graph(&look.before, &look.after, &self.limits())
    }

    /// Who waits for whom, from those that were asked about on.
    fn tell_graph(&self, look: &Look, out: &mut dyn Write) -> std::io::Result<()> {
        let graph = self.graph(look);
        let mut edges: Vec<&Edge> = look.after.roots.iter().flat_map(|root| graph.edges_from(*root)).collect();
        // that threads wait for each other is in the evidence; what those around the tree do matters where it closes in
        edges.retain(|edge| {
            let threads = edge.over == Over::Thread && edge.to == To::Process(edge.from);
            !threads && (look.after.tree.contains_key(&edge.from) || graph.is_closed_in(edge.from))
        });
        for edge in edges.iter().take(MAX_EDGES) {
            writeln!(out, "  {}", graph.line(edge))?;
        }
        if edges.len() > MAX_EDGES {
            writeln!(out, "  {} (--json has them)", counted_as(edges.len() - MAX_EDGES, "more wait", "more waits"))?;
        }
        let closed = graph.closed.iter().find(|pids| pids.contains(&look.diagnosis.pid));
        if let Some(pids) = closed.filter(|_| look.diagnosis.verdict == Verdict::Hung) {
            let names: Vec<&str> =
                pids.iter().filter_map(|pid| graph.node(*pid)).map(|node| node.name.as_str()).collect();
            writeln!(out, "  closed in: nobody that is alive can wake {}", names.join(", "))?;
        }
        Ok(())
    }

    fn whole(&self, look: &Look) -> Vec<Evidence> {
        rehang_evidence::whole_tree(&look.before, &look.after, &self.limits())
    }

    fn draft(&self, look: &Look, file: &Path, out: &mut dyn Write) -> Result<(), CommandError> {
        let text = draft::draft(look).map_err(CommandError::Usage)?;
        outputs::write_new(file, &text)?;
        if !self.json {
            writeln!(out, "\nwrote {0}; `rehang run --scenarios {0} --strategy none` shows the hang", file.display())?;
        }
        Ok(())
    }
}

fn of(look: &Look) -> Code {
    match look.diagnosis.verdict {
        Verdict::Hung => Code::Hang,
        Verdict::Unknown => Code::Unexpected,
        Verdict::Waiting | Verdict::Working | Verdict::Ended => Code::Expected,
    }
}

/// A line for each, what hangs first.
fn list(looks: &mut [Look], out: &mut dyn Write) -> Result<Code, CommandError> {
    let root = |look: &Look| look.after.roots.first().copied().unwrap_or(look.diagnosis.pid);
    looks.sort_by_key(|look| (std::cmp::Reverse(of(look)), root(look)));
    for look in looks.iter() {
        let (word, style) = word(look.diagnosis.verdict);
        writeln!(out, "{style}{word:<8}{style:#} {:>7}  {}.", root(look), look.diagnosis.sentence)?;
    }
    let Some(first) = looks.first() else { return Ok(Code::Expected) };
    writeln!(out, "more: rehang why {}", root(first))?;
    Ok(of(first))
}

fn usage(error: SnapshotError) -> CommandError {
    match error {
        SnapshotError::NoProcess(_) => CommandError::Usage(error.to_string()),
        SnapshotError::Proc(_) => CommandError::Fault(match machine::has_proc() {
            Err(missing) => missing.to_string(),
            Ok(()) => error.to_string(),
        }),
    }
}

fn word(verdict: Verdict) -> (&'static str, Style) {
    let bold = |color: AnsiColor| color.on_default().bold();
    match verdict {
        Verdict::Hung => ("HUNG", bold(AnsiColor::Red)),
        Verdict::Waiting => ("WAITING", bold(AnsiColor::Yellow)),
        Verdict::Working => ("WORKING", bold(AnsiColor::Green)),
        Verdict::Ended => ("ENDED", Style::new().bold()),
        Verdict::Unknown => ("UNKNOWN", Style::new().bold()),
    }
}

fn branches(nodes: &[Evidence], indent: &str, out: &mut dyn Write) -> std::io::Result<()> {
    for (at, node) in nodes.iter().enumerate() {
        let last = at + 1 == nodes.len();
        let (knee, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        writeln!(out, "{indent}{knee}{}", node.text)?;
        branches(&node.below, &format!("{indent}{below}"), out)?;
    }
    Ok(())
}

/// On a terminal, says that the look goes on if it takes over a second.
fn spinner(window: Span) -> indicatif::ProgressBar {
    if window.as_ms() <= 1000 {
        return indicatif::ProgressBar::hidden();
    }
    let spinner = indicatif::ProgressBar::new_spinner().with_message(format!("looking for {window}"));
    terminal::tick(&spinner, Duration::from_millis(100));
    spinner
}
