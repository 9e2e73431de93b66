//! `rehang-lab drift`: compares the fakes with fresh recordings of the releases that they play.
//!
//! Invariant: a cell that could not be recorded or compared is named with its reason and never counted as equal.

use crate::recording::{DEADLINE_MAX, Recorded, Why, as_run, distinct, live, recorded, terminal};
use clap::Args;
use rehang::bars::{self, Install};
use rehang::commands::{Code, CommandError};
use rehang::report::Format;
use rehang_agents::{Installed, Recipe, Version};
use rehang_drift::session::Setup;
use rehang_drift::streams::{self, Ends, Line};
use rehang_drift::{Compared, flags, opencode, routes};
use rehang_fakes::opencode::engine;
use rehang_live::{Exit, Outcome};
use rehang_model_server::Script;
use rehang_runner::binaries::own_binary;
use rehang_scenario::text::counted;
use rehang_scenario::turns::{Response, Turn};
use rehang_scenario::{Agent, Fault, Terminal, agents::CLAUDE};
use rehang_upstream::agents;
use rehang_upstream::plan::{self, Cell, Named};
use rehang_wire::model::ModelEvent;
use rehang_wire::model::script::Chunk;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The releases that the fakes play.
const RELEASES: [&str; 14] = [
    "opencode@1.0.185",
    "opencode@1.2.15",
    "opencode@1.3.2",
    "opencode@1.18.33",
    "claude@1.0.128",
    "claude@2.0.77",
    "claude@2.1.329",
    "codex@0.45.0",
    "codex@0.58.0",
    "codex@0.116.0",
    "codex@0.169.0",
    "gemini@0.11.3",
    "gemini@0.29.0",
    "gemini@0.61.0",
];

/// The scenarios whose every event is compared if none is named: each way in which an agent is driven, each ask, each
/// answer. In the others chance decides more than an order of events, or nothing new comes up.
const SCENARIOS: [&str; 14] = [
    "upstream/text",
    "upstream/question",
    "upstream/bash-permission",
    "upstream/subagent-permission",
    "claude/ask-host",
    "permission/claude-host",
    "permission/opencode-people",
    "question/server-nobody",
    "codex/held-pipe",
    "codex/never-ends",
    "codex/question",
    "codex/stdin",
    "gemini/not-allowed",
    "gemini/goes-on",
];

/// Show where real releases and their fakes differ on the same scenarios.
///
/// They are compared event by event.
///
/// Each release is recorded in its sandbox; its fake gets the same requests at the same points and the same words of
/// the model. Ids, instants and folders are named; what else is not compared is in the lists of `rehang-drift`, each
/// entry with its reason.
///
/// Exit codes: 0 the same · 1 there are differences · 2 usage, no network, no sandbox · 70 internal error.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang-lab drift                                  every release that a fake plays
  rehang-lab drift opencode@1.18.33 --record fresh  one release; its recordings are kept
  rehang-lab drift claude@2.0.77 claude/ask-host    one scenario
  rehang-lab drift --routes opencode@1.2.27         which routes answer what, and with which keys
  rehang-lab drift --flags claude@2.1.329           which options of its --help the fake accepts")]
pub struct Drift {
    /// Releases and scenarios; by default those that fakes play, and a choice of scenarios.
    #[arg(value_name = "AGENT@VERSION|SCENARIO")]
    pub words: Vec<String>,
    /// Compare opencode's routes instead: which `GET`s answer with which keys, and what the others answer to an empty body.
    #[arg(long)]
    pub routes: bool,
    /// Compare the options instead that each release's own `--help` lists: its fake accepts them, or refuses one.
    #[arg(long, conflicts_with = "routes")]
    pub flags: bool,
    /// Keep the recordings in DIR/AGENT-VERSION/SCENARIO-TERMINAL.jsonl, those of routes in DIR/VERSION.json.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// What is printed on stdout.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Scenario files and folders.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
}

impl Drift {
    /// Records, compares, prints.
    ///
    /// # Errors
    /// Arguments that do not fit, a registry that cannot be asked, a machine that gives no sandbox.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let all = agents::all(None)?;
        let (mut specs, mut filters) = agents::specs(&all, &self.words, None)?;
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        if specs.is_empty() {
            let releases: &[&str] = if self.routes { &ROUTED } else { &RELEASES };
            specs = agents::specs(&all, &words(releases), None)?.0;
        }
        if filters.is_empty() {
            filters = words(&SCENARIOS);
        }
        let scenarios = match () {
            () if self.routes => vec![route_scenario()?],
            () if self.flags => flag_scenarios()?,
            () => plan::scenarios(&filters, &self.scenarios)?,
        };
        // before a registry is asked
        own_binary()?;
        let store = agents::store()?;
        let cells = plan::cells(&agents::recipes(&store, &specs)?, &scenarios, &[]);
        let bar = bars::of(cells.len());
        let mut totals = Totals::default();
        for cell in chosen(&cells) {
            bar.set_message(cell.key.command());
            let came = match &cell.recipe {
                Err(why) => Err(Why::Cannot(why.to_string())),
                Ok(recipe) => match store.install(recipe, &Install::on(&bar)) {
                    Err(error) => return Err(CommandError::Usage(error.to_string())),
                    Ok(installed) if self.routes => self.routes_of(cell, recipe, &installed),
                    Ok(installed) if self.flags => flags_of(cell, recipe, &installed),
                    Ok(installed) => self.cell(cell, recipe, &installed),
                },
            };
            totals.note(cell, came, self.format, out)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        totals.print(self.format, out)
    }

    /// The routes of a release in its sandbox, and those of its fake.
    fn routes_of(&self, cell: &Cell, recipe: &Recipe, installed: &Installed) -> Result<Compared, Why> {
        let scenario = as_run(cell);
        let version = &cell.key.version;
        let live = live(cell, &scenario, recipe, installed, ROUTES_MAX)?;
        // a scenario of one turn is given a minute, which a busy machine needs for two hundred calls
        let live = rehang_live::Cell { deadline: ROUTES_MAX, ..live };
        let report = rehang_live::run_asking(&live).map_err(|error| Why::Fault(error.to_string()))?;
        let Some(answers) = report.routes else {
            return Err(Why::Fault(format!("its routes were not asked: {}", report.problems.join("; "))));
        };
        if let Some(folder) = &self.record {
            let recorded = "`rehang-lab drift --routes --record`: the release in rehang's sandbox, loopback alone, a fresh home, \
                            one session with one answered prompt; shapes only";
            let recording =
                routes::Recording { release: version.clone(), recorded: recorded.to_owned(), answers: answers.clone() };
            let written = std::fs::create_dir_all(folder).and_then(|()| {
                let text = serde_json::to_string_pretty(&recording)?;
                std::fs::write(folder.join(format!("{version}.json")), text + "\n")
            });
            written.map_err(|e| Why::Fault(format!("the recording: {e}")))?;
        }
        let fake = routes::of_fake(version, &answers.calls);
        let fake = fake.ok_or_else(|| Why::Cannot(format!("no fake plays {version}")))?;
        Ok(routes::compare(&answers, &fake))
    }

    fn cell(&self, cell: &Cell, recipe: &Recipe, installed: &Installed) -> Result<Compared, Why> {
        let mut recorded = recorded(cell, recipe, installed, DEADLINE_MAX, None)?;
        with_heads(&mut recorded.played.turns);
        if let Some(folder) = &self.record {
            recorded.write(folder, cell)?;
        }
        match recorded.played.is_server {
            true => server(&recorded, recipe),
            false => streams(&recorded, cell.terminal),
        }
    }
}

/// The options of a release, as its help lists them in its sandbox, and which of them its fake accepts.
fn flags_of(cell: &Cell, recipe: &Recipe, installed: &Installed) -> Result<Compared, Why> {
    let recorded = recorded(cell, recipe, installed, DEADLINE_MAX, None)?;
    let printed = recorded.lines.iter().filter(|line| line["dir"] == "OUT" || line["dir"] == "ERR");
    let help: Vec<&str> = printed.filter_map(|line| line["msg"].as_str()).collect();
    let listed = flags::listed(&help.join("\n"));
    if listed.is_empty() {
        return Err(Why::Fault("its help lists no option".to_owned()));
    }
    let (agent, stands_in) = played_by(&recorded.scenario.agent)?;
    let persona = rehang_fakes::registry::persona(&agent);
    let release = agent.release().filter(|_| *agent.kind() == CLAUDE);
    let named: Vec<String> = release.into_iter().flat_map(|release| ["--as".to_owned(), release.to_owned()]).collect();
    let argv = rehang_fakes::registry::argv(&agent, &named, "go");
    let accepts = |words: &[String]| {
        let line: Vec<String> = argv.iter().skip(1).chain(words).cloned().collect();
        // one that brings a prompt of its own excludes another (Gemini CLI's `-i`)
        let alone: Vec<String> = named.iter().chain(words).cloned().collect();
        persona.called(&line).is_some() || persona.called(&alone).is_some()
    };
    Ok(Compared { stands_in, ..flags::compare(&listed, accepts) })
}

/// A run of each agent that prints its help.
fn flag_scenarios() -> Result<Vec<Named>, CommandError> {
    let agents = [
        r#"{ claude = { as = "2.0.77", mode = "json" } }"#,
        r#"{ opencode = { as = "1.2.15", mode = "run" } }"#,
        r#"{ codex = { as = "0.169.0", mode = "json" } }"#,
        r#"{ gemini = { as = "0.61.0", mode = "stream-json" } }"#,
    ];
    let scenario = |agent: &str| {
        let text = format!(
            r#"
            title     = "Prints its help"
            mechanism = "F1"
            agent     = {agent}
            args      = ["--help"]
            terminals = ["null"]
            stages    = {{ only = ["live"], because = "it prints its help and asks no model" }}
            turns     = [{{ say = "never" }}]
            expect    = [{{ outcome = "completed" }}]
            "#
        );
        named("flags", &text)
    };
    agents.iter().map(|agent| scenario(agent)).collect()
}

/// The longest that the routes of a release take: 1.18.33 has some two hundred.
const ROUTES_MAX: Duration = Duration::from_secs(240);
/// The releases whose routes are recorded in the repository.
const ROUTED: [&str; 5] =
    ["opencode@1.0.185", "opencode@1.2.15", "opencode@1.2.27", "opencode@1.3.2", "opencode@1.18.33"];

/// One prompt, answered: the state in which routes are asked.
fn route_scenario() -> Result<Named, CommandError> {
    let text = format!(
        r#"
        title     = "One prompt, answered by a server"
        mechanism = "F1"
        agent     = {{ opencode = {{ as = "1.2.15", mode = "serve" }} }}
        terminals = ["null"]
        turns     = [{{ say = "{says}" }}, {{ say = "{says}" }}, {{ say = "{says}" }}]
        expect    = [{{ outcome = "completed" }}]
        "#,
        says = routes::SAYS
    );
    named("routes", &text)
}

/// The scenario of a text of ours.
fn named(name: &str, text: &str) -> Result<Named, CommandError> {
    let family = rehang_scenario::load(name, text.as_bytes()).into_result();
    let family = family.map_err(|problems| CommandError::Fault(format!("{problems}")))?;
    let variant = family.variants.into_iter().next();
    let variant = variant.ok_or_else(|| CommandError::Fault(format!("{name}: no scenario")))?;
    Ok(Named { name: name.to_owned(), scenario: Arc::new(variant.scenario) })
}

/// The cells worth comparing, each once.
fn chosen(cells: &[Cell]) -> Vec<&Cell> {
    distinct(cells.iter().filter(|cell| fits(cell)))
}

/// Whether a cell is worth comparing: its scenario is about this agent, and its streams are pipes, whose bytes are the
/// agent's alone. One terminal a scenario is enough.
fn fits(cell: &Cell) -> bool {
    let kind = cell.scenario.agent.kind();
    let first = terminal(&cell.scenario);
    !kind.releases.is_empty() && cell.key.agent == kind.word && first == Some(cell.terminal)
}

/// The model server adds a head to a question that has none, since the tools require it: the fake's model says the
/// same.
fn with_heads(turns: &mut [Turn]) {
    for turn in turns {
        match turn {
            Turn::Ask(questions) => {
                let without = questions.iter_mut().filter(|question| question.header.is_empty());
                without.for_each(|question| rehang_model_server::NO_HEAD.clone_into(&mut question.header));
            }
            Turn::Task(task) => with_heads(&mut task.turns),
            Turn::Together(calls) => with_heads(calls),
            _ => {}
        }
    }
}

/// What went over standard streams.
fn streams(recorded: &Recorded, terminal: Terminal) -> Result<Compared, Why> {
    let Recorded { scenario, played, report, lines } = recorded;
    let (agent, stands_in) = played_by(&scenario.agent)?;
    let line = |line: &Value| Line { sent: line["dir"] == "IN", message: line["msg"].clone() };
    let lines: Vec<Line> = lines.iter().filter(|line| line["dir"] == "IN" || line["dir"] == "OUT").map(line).collect();
    let ends = match (&report.outcome, report.exit) {
        (_, Some(Exit::Code(code))) => Ends::Exit(u8::try_from(code).unwrap_or(u8::MAX)),
        (Outcome::Hung { blocked_on }, _) => Ends::Hangs(blocked_on.clone()),
        (other, _) => Ends::Hangs(other.kind().word().to_owned()),
    };
    let terminal = if played.is_driven { Terminal::Pipe } else { terminal };
    let setup = Setup {
        args: played.args.clone(),
        env: scenario.env.clone().into_iter().collect(),
        faults: scenario.faults.clone(),
        ..Setup::of(agent, played.turns.clone(), terminal)
    };
    Ok(Compared { stands_in, ..streams::compare(setup, &lines, None, &ends) })
}

/// The agent as a fake plays it, and the nearest release, where no fake plays its own.
fn played_by(agent: &Agent) -> Result<(Agent, Option<String>), Why> {
    let plays = |agent: &Agent| rehang_fakes::registry::persona(agent).plays(agent);
    let Err(unknown) = plays(agent) else { return Ok((agent.clone(), None)) };
    let cannot = || Why::Cannot(unknown.to_string());
    let wanted = agent.release().and_then(|release| Version::parse(release).ok()).ok_or_else(cannot)?;
    let known = agent.kind().releases.iter().filter_map(|release| Version::parse(release).ok());
    let away =
        |v: &Version| (v.major.abs_diff(wanted.major), v.minor.abs_diff(wanted.minor), v.patch.abs_diff(wanted.patch));
    let nearest = known.min_by_key(away).ok_or_else(cannot)?.to_string();
    let mut agent = agent.clone();
    agent.set_release(&nearest);
    plays(&agent).map_err(|_| cannot())?;
    Ok((agent, Some(nearest)))
}

/// What went between a server and its client.
fn server(recorded: &Recorded, recipe: &Recipe) -> Result<Compared, Why> {
    let Recorded { scenario, played, lines, .. } = recorded;
    if !scenario.agent.kind().has_server {
        return Err(Why::Cannot("no fake serves it".to_owned()));
    }
    let (agent, stands_in) = played_by(&scenario.agent)?;
    let release = agent.release().unwrap_or_default();
    if scenario.faults.iter().any(|fault| matches!(fault, Fault::Model(_))) {
        return Err(Why::Cannot("a fault of the model's is not compared event by event on a server".to_owned()));
    }
    let script = Script::new(recipe, &played.turns, &[]);
    let mut number = 0;
    let mut model = |path: &str, response: &Response, answer: &str| {
        number += 1;
        let (chunks, _) = script.chunks(response, path, number, answer);
        let event = |chunk| if let Chunk::Event(event) = chunk { Some(event) } else { None };
        std::iter::once(ModelEvent::Start).chain(chunks.into_iter().filter_map(event)).collect()
    };
    let setup = engine::Setup { turns: played.turns.clone(), question_registered: true, ..engine::Setup::default() };
    let pair = opencode::Pair::new(release, setup);
    let mut pair = pair.ok_or_else(|| Why::Cannot(format!("no fake plays opencode {release}")))?;
    // The provider that the agent's file configures.
    pair = pair.with_model("fake", &recipe.model);
    Ok(Compared { stands_in, ..pair.play("exchange", lines, &mut model) })
}

#[derive(Default)]
struct Totals {
    same: usize,
    events: usize,
    differ: usize,
    unrun: usize,
    faults: usize,
}

impl Totals {
    fn note(
        &mut self,
        cell: &Cell,
        came: Result<Compared, Why>,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let key = &cell.key;
        let name = format!("{}@{} {} {}", key.agent, key.version, key.scenario, key.terminal);
        let mut row = json!({ "kind": "drift", "agent": key.agent, "version": key.version, "scenario": key.scenario,
            "terminal": key.terminal });
        let mut name = name;
        if let Ok(Compared { stands_in: Some(release), .. }) = &came {
            row["fake"] = json!(release);
            name += &format!(" (no fake plays it: compared with that of {release})");
        }
        let said = match came {
            Ok(compared) if compared.differences.is_empty() && compared.events > 0 => {
                self.same += 1;
                self.events += compared.events;
                row["same"] = json!(true);
                row["events"] = json!(compared.events);
                format!("same    {name}: {}", counted(compared.events, "event"))
            }
            Ok(compared) => {
                self.differ += 1;
                self.events += compared.events;
                row["same"] = json!(false);
                row["events"] = json!(compared.events);
                let all: Vec<String> = compared.differences.iter().map(ToString::to_string).collect();
                let all = if all.is_empty() { vec!["nothing was recorded".to_owned()] } else { all };
                row["differences"] = json!(all);
                format!("DIFFERS {name}\n{}", all.join("\n"))
            }
            Err(Why::Cannot(why)) => {
                self.unrun += 1;
                row["not-run"] = json!(why);
                format!("not run {name}: {why}")
            }
            Err(Why::Fault(why)) => {
                self.faults += 1;
                row["fault"] = json!(why);
                format!("FAULT   {name}: {why}")
            }
        };
        match format {
            Format::Json => writeln!(out, "{row}")?,
            _ => writeln!(out, "{said}")?,
        }
        Ok(out.flush()?)
    }

    fn print(&self, format: Format, out: &mut dyn Write) -> Result<Code, CommandError> {
        let Totals { same, events, differ, unrun, faults } = self;
        match format {
            Format::Json => {
                let summary = json!({ "kind": "summary", "same": same, "events": events, "differ": differ,
                    "not-run": unrun, "faults": faults });
                writeln!(out, "{summary}")?;
            }
            _ => {
                let what = format!(
                    "{same} the same ({}), {differ} differ, {unrun} not run, {}",
                    counted(*events, "event"),
                    counted(*faults, "fault")
                );
                writeln!(out, "{what}")?;
            }
        }
        Ok(match (differ, faults, same) {
            (_, 1.., _) => Code::Fault,
            (1.., ..) => Code::Unexpected,
            (0, 0, 0) => return Err(CommandError::Usage("nothing was compared".to_owned())),
            _ => Code::Expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_agents::CannotRun;
    use rehang_drift::Difference;
    use rehang_upstream::plan::cells;

    /// The cells of these releases and of a family of variants.
    fn of(releases: &[(&str, &str)], file: &str) -> Vec<Cell> {
        let family = rehang_scenario::load("t.toml", file.as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
        let named = |v: rehang_scenario::Variant| Named { name: v.name.clone(), scenario: Arc::new(v.scenario) };
        let scenarios: Vec<Named> = family.variants.into_iter().map(named).collect();
        let recipe = |(agent, version): &(&str, &str)| {
            let version = Version::parse(version).unwrap_or_else(|e| panic!("{e}"));
            let agent = (*agent).to_owned();
            // none is needed
            let none = CannotRun::Incomplete { agent: agent.clone(), version: version.clone(), key: "command" };
            (agent, version, Err(none))
        };
        cells(&releases.iter().map(recipe).collect(), &scenarios, &[])
    }

    const FAMILY: &str = r#"
title     = "t"
mechanism = "Q1"
agent     = { claude = { as = "2.0.77", mode = "stream-json" } }
terminals = ["tty", "pipe", "null"]
turns     = [{ say = "x" }]
expect    = [{ outcome = "completed" }]
[[vary]]
name = "one"
set  = {}
[[vary]]
name = "two"
set  = { "agent.claude.as" = "2.1.329" }
[[vary]]
name = "other"
set  = { turns = [{ say = "y" }] }
"#;

    #[test]
    fn each_scenario_is_recorded_once_a_release_and_by_its_own_agent() {
        let all = of(&[("opencode", "1.2.15"), ("claude", "2.0.77"), ("claude", "2.1.329")], FAMILY);
        let names: Vec<String> = chosen(&all)
            .iter()
            .map(|cell| format!("{} {} {}", cell.key.version, cell.key.scenario, cell.key.terminal))
            .collect();
        assert_eq!(names, ["2.0.77 one pipe", "2.0.77 other pipe", "2.1.329 one pipe", "2.1.329 other pipe"]);
    }

    #[test]
    fn a_release_that_no_fake_plays_is_compared_with_the_nearest() {
        let all = of(&[("claude", "2.0.22")], FAMILY);
        let by = |agent: &Agent| played_by(agent).map_err(|why| format!("{why:?}")).unwrap_or_else(|e| panic!("{e}"));
        let (agent, stands_in) = by(&as_run(chosen(&all)[0]).agent);
        assert_eq!((agent.release(), stands_in.as_deref()), (Some("2.0.77"), Some("2.0.77")));
        let mut agent = agent;
        for (release, fake) in
            [("2.0.77", None), ("2.1.300", Some("2.1.329")), ("2.0.22", Some("2.0.77")), ("0.2.9", Some("1.0.128"))]
        {
            agent.set_release(release);
            let (played, stands_in) = by(&agent);
            assert_eq!((stands_in.as_deref(), played.release()), (fake, fake.or(Some(release))), "{release}");
        }
    }

    #[test]
    fn what_was_not_compared_never_counts_as_the_same() {
        let all = of(&[("claude", "2.0.77")], FAMILY);
        let same = || Ok(Compared { events: 3, ..Compared::default() });
        let nothing = || Ok(Compared::default());
        let other = || {
            let difference = Difference { at: "message 1".to_owned(), recorded: None, fake: Some(json!("x")) };
            Ok(Compared { events: 3, differences: vec![difference], ..Compared::default() })
        };
        let cannot = || Err(Why::Cannot("it cannot".to_owned()));
        let fault = || Err(Why::Fault("it fell over".to_owned()));
        let code = |came: Vec<Result<Compared, Why>>| {
            let (mut totals, mut out) = (Totals::default(), Vec::new());
            for came in came {
                totals.note(&all[0], came, Format::Human, &mut out).unwrap_or_else(|e| panic!("{e:?}"));
            }
            (totals.print(Format::Human, &mut out).ok(), String::from_utf8_lossy(&out).into_owned())
        };
        assert_eq!(code(vec![same(), cannot()]).0, Some(Code::Expected));
        assert_eq!(code(vec![same(), other()]).0, Some(Code::Unexpected));
        assert_eq!(code(vec![same(), nothing()]).0, Some(Code::Unexpected), "no event was held against anything");
        assert_eq!(code(vec![same(), other(), fault()]).0, Some(Code::Fault));
        assert_eq!(code(vec![cannot()]).0, None, "nothing was compared");
        assert!(
            code(vec![same(), other(), cannot(), fault()])
                .1
                .ends_with("1 the same (6 events), 1 differ, 1 not run, 1 fault\n")
        );
    }
}
