//! `rehang path`: a folder to put in front of `PATH`, whose agents play a scenario on the wall clock.
//!
//! Invariant: the same scenario gives the same folder, so calling it again adds nothing; its users have nothing to
//! remove or restore.

use super::{Code, CommandError};
use crate::shell::{quoted, reading};
use clap::Args;
use rehang_fakes::registry;
use rehang_fakes::stand_in::StandIn;
use rehang_runner::binaries::fakes;
use rehang_runner::corpus::Corpus;
use rehang_runner::unit::variant_name;
use rehang_scenario::file::Variant;
use rehang_scenario::text::{suggest_part, unknown};
use rehang_scenario::{Form, Scenario};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

/// The most scenarios that are named where one is to be chosen.
const NAMES_MAX: usize = 5;

/// Print a folder for PATH whose `claude`, `opencode`, … play a scenario.
///
/// They play it on the wall clock, with real processes, pipes and terminals. For a test suite of one's own: a hanging
/// agent as a fixture. The folder is in rehang's cache, is the same for the same scenario, and may be removed at any
/// time.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  PATH=\"$(rehang path question/row-diff):$PATH\" my-wrapper
  rehang path bash/ignores-term --control                  the same, but it does not hang
  rehang path bash/ignores-term --dir ./fake-bin")]
pub struct Path {
    /// The scenario: its name (`question/row-diff`, `question/releases[1.3.2]`), or a file.
    pub scenario: String,
    /// The folder; by default one in rehang's cache.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The control arm: the same with the one change under which it does not hang.
    #[arg(long)]
    pub control: bool,
    /// How many times as fast as the wall clock the fakes' own clock runs: 60 makes a minute of a scenario a second.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub speed: u32,
    /// Scenario files and folders; by default the folder `scenarios` here or above.
    #[arg(long, value_name = "PATH")]
    pub scenarios: Vec<PathBuf>,
}

impl Path {
    /// Lays the folder out and prints it.
    ///
    /// # Errors
    /// A name that no scenario has, a scenario that a fake cannot play alone, a folder that cannot be written.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let (name, scenario) = self.scenario()?;
        let mut stand_in = StandIn::of(&scenario).map_err(|why| CommandError::Usage(format!("{name}: {why}")))?;
        stand_in.speed = self.speed;
        if !scenario.people.is_empty() {
            if self.control {
                let why = "its control arm is that somebody acts, and in this folder nobody plays people";
                return Err(CommandError::Usage(format!("{name}: {why}")));
            }
            complain!("note: {name} has people who act; in this folder nobody plays them");
        }
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => cached(&name, &stand_in)?,
        };
        let place = |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
        stand_in.lay_out(&folder, &fakes()?.canonicalize()?).map_err(place)?;
        writeln!(out, "{}", folder.canonicalize().map_err(place)?.display())?;
        complain!("{}", what_hangs(&scenario, self.control));
        Ok(Code::Expected)
    }

    fn scenario(&self) -> Result<(String, Scenario), CommandError> {
        let select = super::select::Select { scenarios: self.scenarios.clone(), ..Default::default() };
        let file = PathBuf::from(&self.scenario);
        let is_file = file.extension().is_some_and(|e| e == "toml") && file.is_file();
        let paths = if is_file { vec![file] } else { select.paths()? };
        let corpus = Corpus::read(&paths);
        if is_file && let Some((_, problems)) = corpus.broken.first() {
            complain!("{}", problems.render(rehang_scenario::Style::Plain));
            return Err(CommandError::Usage(format!("{} is not right", self.scenario)));
        }
        let all = corpus.families.iter().flat_map(|family| family.variants.iter().map(move |v| (family, v)));
        let all: Vec<(String, &Variant)> = all.map(|(family, v)| (variant_name(&family.name, &v.name), v)).collect();
        let whole = |name: &String| is_file || *name == self.scenario || name.split('[').next() == Some(&self.scenario);
        let mut found: Vec<&(String, &Variant)> = all.iter().filter(|(name, _)| whole(name)).collect();
        if found.is_empty() {
            found = all.iter().filter(|(name, _)| name.contains(&self.scenario)).collect();
        }
        let (name, variant) = match found.as_slice() {
            [one] => one,
            [] => {
                let names = all.iter().map(|(name, _)| name.as_str());
                let near = suggest_part(&self.scenario, names);
                let all = format!("`rehang list{} --files` names all", reading(&self.scenarios));
                return Err(CommandError::Usage(unknown("scenario", &self.scenario, near, &all)));
            }
            several => {
                let names: Vec<&str> = several.iter().take(NAMES_MAX).map(|(name, _)| name.as_str()).collect();
                let more = match several.len() - names.len() {
                    0 => String::new(),
                    more => format!(" and {more} more (`rehang list` has all)"),
                };
                let text = format!("name one scenario; `{}` has {}{more}", self.scenario, names.join(", "));
                return Err(CommandError::Usage(text));
            }
        };
        let scenario = match (self.control, &variant.control) {
            (false, _) => variant.scenario.clone(),
            (true, Some(control)) => control.clone(),
            (true, None) => return Err(CommandError::Usage(format!("{name} has no control arm"))),
        };
        Ok((name.clone(), scenario))
    }
}

/// Which of the folder's programs plays the scenario, and how it is called.
fn what_hangs(scenario: &Scenario, control: bool) -> String {
    let kind = scenario.agent.kind();
    let does = if control { "plays it, and does not hang" } else { "plays it" };
    let title = scenario.title.trim_end_matches('.');
    match scenario.agent.mode() {
        None => format!("note: every agent of this folder {does} ({title}): call `claude -p go` or `opencode run go`"),
        Some(mode) => {
            let argv = registry::argv(&scenario.agent, &scenario.args, "go");
            let name = kind.word;
            let words: Vec<String> = argv.iter().skip(1).map(|word| quoted(word)).collect();
            let how = match mode.form {
                Form::Run | Form::Serve => "",
                Form::Stdin => ", with messages on its stdin",
                Form::Interactive => ", on a terminal",
            };
            let server = if mode.form == Form::Serve { ", and send a prompt to the URL that it prints" } else { "" };
            format!("note: `{name}` {does} ({title}): call `{name} {}`{how}{server}", words.join(" "))
        }
    }
}

/// The folder in rehang's cache for this content.
fn cached(name: &str, stand_in: &StandIn) -> Result<PathBuf, CommandError> {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(stand_in).map_err(std::io::Error::other)?.hash(&mut hasher);
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = format!("{}-{:08x}", name.trim_matches('-'), hasher.finish() & 0xffff_ffff);
    let all = rehang_processes::cache::folder().join("path");
    let folder = all.join(folder);
    // a program on somebody's PATH
    folder.ancestors().take(3).try_for_each(rehang_processes::cache::refuse_foreign)?;
    Ok(folder)
}
