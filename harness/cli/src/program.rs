//! What each program of rehang does around its commands: it shows the help in groups and as wide as the terminal, refuses
//! arguments in a few lines, and ends with an exit code. The programs are `rehang` and `rehang-lab`.
//!
//! Invariant: every way out of a program is an exit code of [`Code`], or one that its command has chosen.

use crate::error::{Code, CommandError};
use crate::terminal;
use clap::Parser;
use rehang_scenario::text::{did_you_mean, suggest};
use std::process::ExitCode;

/// The arguments of a program, and what it does with them.
pub trait Program: Parser {
    /// The commands by what they are for, as the help shows them.
    const GROUPS: &[(&str, &[&str])];

    /// Runs the command that the arguments name.
    ///
    /// # Errors
    /// What the command could not do.
    fn run(self) -> Result<ExitCode, CommandError>;
}

/// Reads the arguments, runs the command that they name, and returns its exit code.
pub fn main<P: Program>() -> ExitCode {
    let mut face = fitted(grouped(P::command(), P::GROUPS), terminal::width(terminal::REPORT).min(terminal::REPORT));
    let read = face.try_get_matches_from_mut(std::env::args_os());
    let args = read.and_then(|mut read| P::from_arg_matches_mut(&mut read).map_err(|error| error.format(&mut face)));
    let args = match args {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return refused(&error, &face),
        Err(error) => error.exit(),
    };
    match args.run() {
        Ok(code) => code,
        Err(error) => {
            complain!("error: {error}");
            error.code().into()
        }
    }
}

/// Says what is wrong with the arguments, in a few lines; of one that is missing, with an example.
fn refused(error: &clap::Error, face: &clap::Command) -> ExitCode {
    let text = error.render().ansi().to_string();
    // a tip of clap's that fits no command here: what begins with `-` is no value of any of them
    let says = |line: &&str| {
        !line.trim().is_empty() && !["For more information", " as a value, use "].iter().any(|no| line.contains(no))
    };
    for line in text.lines().filter(says) {
        complain!("{line}");
    }
    let word = |at| std::env::args_os().nth(at).unwrap_or_default().to_string_lossy().into_owned();
    let name = if word(1) == "help" { word(2) } else { word(1) };
    let has_tip = text.contains("similar");
    match error.kind() {
        clap::error::ErrorKind::InvalidSubcommand if !has_tip => {
            let all = face.get_subcommands().map(clap::Command::get_name).chain(["--version"]);
            if let Some(near) = suggest(&name, all) {
                complain!("{}", did_you_mean(near));
            }
        }
        clap::error::ErrorKind::UnknownArgument if name == "-v" => complain!("{}", did_you_mean("--version")),
        _ => {}
    }
    let examples = face.find_subcommand(&name).and_then(|command| command.get_after_help()).map(ToString::to_string);
    let example = examples.as_deref().unwrap_or_default().lines().find(|line| line.starts_with("  rehang"));
    let program = face.get_name();
    match (error.kind(), example) {
        (clap::error::ErrorKind::MissingRequiredArgument, Some(example)) => {
            complain!("for example: {}", example.trim().split("   ").next().unwrap_or_default());
        }
        _ if face.find_subcommand(&name).is_some() => {
            complain!("`{program} {name} --help` has all options, with examples")
        }
        _ => complain!("`{program} --help` has all commands"),
    }
    Code::Usage.into()
}

/// The command with its commands shown in groups.
fn grouped(mut command: clap::Command, groups: &[(&str, &[&str])]) -> clap::Command {
    command.build();
    let about = |name: &str| command.find_subcommand(name).and_then(|c| c.get_about()).map(ToString::to_string);
    let line = |name: &&str| format!("  {name:<12} {}\n", about(name).unwrap_or_default());
    let group = |(title, names): &(&str, &[&str])| format!("{title}:\n{}", names.iter().map(line).collect::<String>());
    let groups = groups.iter().map(group).collect::<Vec<_>>().join("\n");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The command with the examples of its help fit for `width` columns: if one is wider, the explanation of each goes
/// below it. A command itself is not broken.
pub fn fitted(command: clap::Command, width: usize) -> clap::Command {
    let command = command.term_width(width).mut_subcommands(|command| fitted(command, width));
    let Some(help) = command.get_after_help().map(ToString::to_string) else { return command };
    if help.lines().all(|line| line.chars().count() <= width) {
        return command;
    }
    let mut lines = String::new();
    for line in help.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        match text.split_once("  ").filter(|_| !indent.is_empty()) {
            Some((example, said)) => {
                lines.push_str(&format!("{indent}{example}\n"));
                lines.push_str(&terminal::hanging("      ", said.trim_start(), width));
            }
            None if text.starts_with("rehang") || text.is_empty() => lines.push_str(&format!("{line}\n")),
            None => lines.push_str(&terminal::hanging(indent, text, width)),
        }
    }
    command.after_help(lines.trim_end().to_owned())
}
