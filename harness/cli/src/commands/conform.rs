//! `rehang conform`: what a user's own agent of the Agent Client Protocol does when its client fails.
//!
//! Invariant: what is printed is in the order of the faults' list, whatever order they ran in.

use super::{Code, CommandError};
use crate::bars;
use crate::report::Format;
use crate::terminal;
use clap::Args;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use rehang_agents::{Agent, Recipe};
use rehang_conform::client::{Event, What};
use rehang_conform::obligation::Side;
use rehang_conform::{
    Answer, CONTROL, Conform as Tested, ConformError, Fault, Judged, Run, Setup, Verdict, control, faults,
};
use rehang_runner::binaries::own_binary;
use rehang_scenario::Span;
use rehang_scenario::text::{counted, cut, duration, hidden, in_one_line, one_of, suggest_part, unknown};
use rehang_stage::threads::cores;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// Test an agent of your own that speaks ACP: a client fails, and the agent must not hang.
///
/// CMD must be an agent of the Agent Client Protocol (version 1) on stdin and stdout. A scripted client talks to it: first
/// without a fault, then once with each fault that fits what the agent did. Both run in virtual time, so a silence is not
/// timed out: it is proved to have no end, or a day passes.
///
/// The client grants each permission (allow once), unless a fault says otherwise. Without --model the agent has your own
/// home, environment and files, so that it may act for real.
///
/// The agent has loopback alone. If it needs a model, --model serves a scripted one, or start one of your own from the same
/// script, before the agent.
///
/// Exit codes: 0 nothing found · 1 a reply or a line is wrong, the agent ended, or a run is undecided · 2 wrong arguments,
/// or the agent cannot be started · 3 the agent hangs: it never gives what it owes · 70 an internal error, or the machine
/// refuses something.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang conform -- ./my-agent --acp
  rehang conform cancel/ close/ --prompt 'run ls' --timelines -- ./my-agent --acp
  rehang conform --model opencode -- opencode acp
  rehang conform --list -- ./my-agent --acp")]
pub struct Conform {
    /// Words of faults' names. None: all.
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// The text of each prompt: one for which the agent calls a tool that needs a permission tries the most faults.
    #[arg(long, value_name = "TEXT", default_value = "List the files in this folder.")]
    pub prompt: String,
    /// Log in by this method of the agent's `authMethods` before each session.
    #[arg(long, value_name = "METHOD")]
    pub authenticate: Option<String>,
    /// Set this mode of the agent's `modes` for the session: one in which it asks for permissions tries the most faults.
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// How much virtual time a run has, at least 1h: the client itself waits for minutes.
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = crate::commands::span)]
    pub until: Span,
    /// How much real time a run may take; after that it is undecided.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = crate::commands::span)]
    pub within: Span,
    /// Let threads that do nothing but wake up now and then sleep this long.
    #[arg(long, value_name = "SPAN", value_parser = crate::commands::span)]
    pub skip_tickers: Option<Span>,
    /// Give the agent a scripted model as the releases of AGENT ask it (`rehang agents` names them), and a home of its own.
    /// The newest release, unless its version is named: `claude@2.1.329`.
    #[arg(long, value_name = "AGENT", conflicts_with = "network")]
    pub model: Option<String>,
    /// Leave the agent this machine's network.
    #[arg(long)]
    pub network: bool,
    /// How many runs at once; by default one for each processor.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// What is printed on stdout: `human`, what was found; `json`, an object a fault and then one `summary`, one a line;
    /// `junit`, XML with a test case a fault.
    #[arg(long, value_enum, default_value_t = Format::Human, hide_possible_values = true)]
    pub format: Format,
    /// Show each fault, not only what was found.
    #[arg(long)]
    pub all: bool,
    /// Show the messages of each run that found something, with their virtual time; in JSON those of every run.
    #[arg(long)]
    pub timelines: bool,
    /// Name the faults that fit, and those that do not, without playing them.
    #[arg(long)]
    pub list: bool,
    /// The agent's command.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// A version that is after every release.
const NEWEST: &str = "9999.0.0";
/// The shortest virtual time of a run: longer than any wait of the client's.
const UNTIL_MIN: Span = Span::hours(1);
/// The most messages of a timeline, and the columns of one.
const MESSAGES: usize = 60;
const COLUMNS: usize = 160;

type Out = (usize, Result<(Run, Judged), ConformError>);

impl Conform {
    /// Plays the faults and prints what they show.
    ///
    /// # Errors
    /// The agent cannot be started, or does not hold even a healthy conversation; a filter that matches nothing.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        if self.list && self.format == Format::Junit {
            return Err(CommandError::Usage("--list has no test cases: leave out --format junit".to_owned()));
        }
        if self.until < UNTIL_MIN {
            let why = "the client itself waits for minutes; a day is the default";
            return Err(CommandError::Usage(format!("--until {}: give at least 1h, since {why}", self.until)));
        }
        let real = |span: Span| Duration::from_millis(span.as_ms());
        let tested = Tested {
            command: self.command.clone(),
            client: own_binary()?,
            prompt: self.prompt.clone(),
            until: real(self.until),
            within: real(self.within),
            skip_tickers: self.skip_tickers.map(real),
            network: self.network,
            model: self.model.as_deref().map(recipe).transpose()?,
        };
        let setup = Setup { login: self.authenticate.clone(), mode: self.mode.clone() };
        let healthy = control(&setup);
        let run = tested.play(&healthy)?;
        let judged = Judged::of(&healthy, &run);
        let (mut all, unfit) = faults(&run.seen(), &setup);
        let is_healthy = judged.verdict == Verdict::Fine;
        if is_healthy {
            self.select(&mut all, &unfit)?;
        }
        if self.list && is_healthy {
            self.print_list(&all, &unfit, out)?;
            return Ok(Code::Expected);
        }
        if self.format == Format::Human {
            writeln!(out, "without a fault: {}", times(&judged))?;
        }
        // what it does without a fault too is said once
        let is_odd = !judged.ledger.odd_lines.is_empty();
        let judged = judged.with_odd_lines();
        let mut found = vec![(&healthy, run, judged)];
        let mut code = Code::Expected;
        if is_healthy {
            for (at, result) in self.play(&tested, &all) {
                match result {
                    Ok((run, judged)) => {
                        found.push((&all[at], run, if is_odd { judged } else { judged.with_odd_lines() }));
                    }
                    Err(error) => {
                        complain!("{}: {error}", all[at].name);
                        code = Code::Fault;
                    }
                }
            }
        }
        for (_, _, judged) in &found {
            code = code.max(match judged.verdict {
                Verdict::Owes => Code::Hang,
                Verdict::Wrong | Verdict::Died | Verdict::Undecided => Code::Unexpected,
                _ => Code::Expected,
            });
        }
        match self.format {
            Format::Human => {
                self.print(&found, out)?;
                if is_healthy {
                    not_tried(&unfit, out)?;
                } else {
                    writeln!(
                        out,
                        "no fault was tried: the healthy conversation has to work first{}",
                        remedy(&found[0].2)
                    )?;
                }
                writeln!(out, "{}", sentence(&found))?;
            }
            Format::Json => {
                for (fault, run, judged) in &found {
                    let mut row = row(fault, run, judged);
                    if self.timelines {
                        row["events"] = serde_json::to_value(&run.events).map_err(std::io::Error::other)?;
                    }
                    writeln!(out, "{}", printable(&row))?;
                }
                let unfit = by_name(&unfit);
                let summary = json!({ "faults": found.len() - 1, "not_tried": unfit, "sentence": sentence(&found) });
                writeln!(out, "{}", printable(&json!({ "summary": summary })))?;
            }
            Format::Junit => {
                let mut suite = TestSuite::new("rehang conform");
                for (fault, run, judged) in &found {
                    let mut status = TestCaseStatus::success();
                    if judged.verdict.is_finding() || judged.verdict == Verdict::Undecided {
                        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                        status.set_message(format!("{}: {}", judged.verdict.word(), judged.text));
                        status.set_description(timeline(run).join("\n"));
                    }
                    suite.add_test_case(TestCase::new(fault.name.as_str(), status));
                }
                let mut report = Junit::new("rehang conform");
                report.add_test_suite(suite);
                report.serialize(out).map_err(std::io::Error::other)?;
            }
        }
        Ok(code)
    }

    /// The faults that fit, and those that do not.
    fn print_list(&self, all: &[Fault], unfit: &[(String, String)], out: &mut dyn Write) -> std::io::Result<()> {
        if self.format == Format::Json {
            for fault in all {
                writeln!(out, "{}", printable(&json!({ "fault": fault.name, "about": fault.about })))?;
            }
            let summary = json!({ "faults": all.len(), "not_tried": by_name(unfit) });
            return writeln!(out, "{}", printable(&json!({ "summary": summary })));
        }
        for fault in all {
            writeln!(out, "{:<28} {}", fault.name, fault.about)?;
        }
        not_tried(unfit, out)
    }

    /// Leaves only the faults that a filter names.
    fn select(&self, all: &mut Vec<Fault>, unfit: &[(String, String)]) -> Result<(), CommandError> {
        let is_in = |name: &str| self.filter.iter().any(|word| name.contains(word.as_str()));
        if self.filter.is_empty() {
            return Ok(());
        }
        if !all.iter().any(|fault| is_in(&fault.name)) && !is_in(CONTROL) {
            let first = &self.filter[0];
            // `permission/*` is all that begins so
            let is_part = |name: &str| {
                let stem = name.strip_suffix('*');
                stem.is_some_and(|stem| self.filter.iter().any(|word| word.starts_with(stem)))
            };
            if let Some((name, why)) = unfit.iter().find(|(name, _)| is_in(name) || is_part(name)) {
                return Err(CommandError::Usage(format!("{name} does not fit this agent: {why}")));
            }
            let near = suggest_part(first, all.iter().map(|fault| fault.name.as_str()));
            let list = "`rehang conform --list -- CMD` names all";
            return Err(CommandError::Usage(unknown("fault", first, near, list)));
        }
        all.retain(|fault| is_in(&fault.name));
        Ok(())
    }

    fn play(&self, tested: &Tested, all: &[Fault]) -> Vec<Out> {
        let order: Vec<(usize, &str)> = all.iter().map(|fault| fault.name.as_str()).enumerate().collect();
        bars::side_by_side(self.jobs.unwrap_or_else(cores), "faults", &order, |at| {
            let run = tested.play(&all[at])?;
            let judged = Judged::of(&all[at], &run);
            Ok((run, judged))
        })
    }

    /// What was found, or each fault.
    fn print(&self, found: &[(&Fault, Run, Judged)], out: &mut dyn Write) -> std::io::Result<()> {
        let width = terminal::width(terminal::REPORT);
        for (fault, run, judged) in found {
            let is_told = judged.verdict.is_finding() || judged.verdict == Verdict::Undecided;
            let is_fact = matches!(judged.verdict, Verdict::Waits | Verdict::GivesUp | Verdict::NotReached);
            if !(is_told || is_fact || self.all) {
                continue;
            }
            let head = format!("{:<11} {:<24} ", judged.verdict.word(), fault.name);
            write!(out, "{}", terminal::hanging(&head, &judged.text, width))?;
            if is_told {
                writeln!(out, "            the client {}", fault.about)?;
                for place in &judged.places {
                    writeln!(out, "            where: {place}")?;
                }
            }
            for line in timeline(run).iter().filter(|_| self.timelines && (is_told || self.all)) {
                writeln!(out, "            {line}")?;
            }
        }
        Ok(())
    }
}

/// The recipe of an agent, or of one release of it.
fn recipe(word: &str) -> Result<Recipe, CommandError> {
    let usage = |why: String| CommandError::Usage(format!("--model {word}: {why}"));
    let (name, version) = word.split_once('@').unwrap_or((word, NEWEST));
    let version = version.parse().map_err(|error| usage(format!("{error}; write it as `{name}@1.2.3`")))?;
    let all = Agent::all(None).map_err(|error| CommandError::Fault(error.to_string()))?;
    let found = all.iter().find(|agent| agent.name() == name);
    let found = found.ok_or_else(|| usage(one_of(name, all.iter().map(Agent::name))))?;
    found.at(&version).map_err(|error| usage(error.to_string()))
}

/// How long each reply of a healthy conversation took.
fn times(judged: &Judged) -> String {
    let debts = judged.ledger.all.iter().filter(|debt| debt.by == Side::Agent);
    let time = |debt: &rehang_conform::obligation::Obligation| match debt.replies.first() {
        Some((ms, Answer::Result(_))) => format!("{} {}", debt.name(), duration(ms.saturating_sub(debt.since))),
        Some((_, answer)) => format!("{} {}", debt.name(), cut(&in_one_line(&answer.describe()), 80)),
        None => format!("{} no reply", debt.name()),
    };
    debts.map(time).collect::<Vec<_>>().join(", ")
}

/// What to do about an agent that does not hold a healthy conversation.
fn remedy(judged: &Judged) -> &'static str {
    let login =
        |answer: &Answer| matches!(answer, Answer::Error { code: rehang_conform::protocol::LOGIN_REQUIRED, .. });
    match judged.ledger.all.iter().flat_map(|debt| &debt.replies).any(|(_, answer)| login(answer)) {
        true => "; it wants a login: set its variables, or name a method of its own with --authenticate",
        false => "; --timelines shows its messages",
    }
}

fn by_name(unfit: &[(String, String)]) -> BTreeMap<&str, &str> {
    unfit.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect()
}

/// JSON whose texts the agent chose, as a terminal may show it: only texts have such characters.
fn printable(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match hidden(c) {
            true => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

fn not_tried(unfit: &[(String, String)], out: &mut dyn Write) -> std::io::Result<()> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, why) in unfit {
        reasons.entry(why).or_default().push(name);
    }
    for (why, names) in reasons {
        writeln!(out, "not tried: {} ({why})", names.join(", "))?;
    }
    Ok(())
}

/// The summary.
fn sentence(found: &[(&Fault, Run, Judged)]) -> String {
    let count = |wanted: &[Verdict]| found.iter().filter(|(_, _, judged)| wanted.contains(&judged.verdict)).count();
    let faults = counted(found.len() - 1, "fault");
    let (hangs, wrong) = (count(&[Verdict::Owes]), count(&[Verdict::Wrong, Verdict::Died]));
    let (waits, open) = (count(&[Verdict::Waits, Verdict::GivesUp]), count(&[Verdict::Undecided]));
    let not_reached = count(&[Verdict::NotReached]);
    format!(
        "{faults}: {hangs} with a hang, {wrong} with a wrong reply or an early end, {waits} waits for the client, {open} undecided, {not_reached} not reached"
    )
}

fn row(fault: &Fault, run: &Run, judged: &Judged) -> Value {
    let owed: Vec<Value> = [(Side::Agent, "agent"), (Side::Client, "client")]
        .into_iter()
        .flat_map(|(side, by)| judged.ledger.open(side).map(move |debt| (by, debt)))
        .map(|(by, debt)| json!({ "by": by, "method": debt.method, "ordinal": debt.ordinal, "since_ms": debt.since }))
        .collect();
    json!({
        "fault": fault.name,
        "about": fault.about,
        "verdict": judged.verdict,
        "text": judged.text,
        "where": judged.places,
        "owed": owed,
        "proved": matches!(run.ending.verdict, rehang_warp::Verdict::Deadlock { .. }),
        "virtual_ms": u64::try_from(run.ending.elapsed.as_millis()).unwrap_or(u64::MAX),
        "real_ms": u64::try_from(run.ending.real.as_millis()).unwrap_or(u64::MAX),
        "lines_that_are_no_message": judged.ledger.odd_lines.len(),
    })
}

/// The messages of a run, a line each.
fn timeline(run: &Run) -> Vec<String> {
    let line = |event: &Event| {
        let what = match &event.what {
            What::Asked(message, _) | What::Sent(message) => format!("client  {}", message.describe()),
            What::Heard(message) => format!("agent   {}", message.describe()),
            What::Wrote(text) => format!("client  {text:?}, which is no message"),
            What::StopsReading => "client  reads no more".to_owned(),
            What::Reads => "client  reads again".to_owned(),
            What::Closed => "client  closes the agent's stdin".to_owned(),
            What::Ended { code, .. } => format!("agent   ends with {code}"),
            What::NotReached(why) => format!("client  gives up: {why}"),
            What::TooMuch(count) => format!("client  gives up after {}", counted(*count, "event")),
            What::Started { .. } | What::Cancelled | What::Unread | What::Over => return None,
        };
        Some(cut(&format!("{:>8}  {}", duration(event.ms), in_one_line(&what)), COLUMNS))
    };
    let lines: Vec<String> = run.events.iter().filter_map(line).collect();
    let left_out = lines.len().saturating_sub(MESSAGES);
    if left_out == 0 {
        return lines;
    }
    let (head, tail) = (&lines[..MESSAGES / 2], &lines[lines.len() - MESSAGES / 2..]);
    [head, &[format!("          … {left_out} messages left out")], tail].concat()
}
