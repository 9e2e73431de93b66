//! The page of wrappers: what each client that wraps an agent makes of the scenarios that fit it.
//!
//! Invariant: each wrapper is measured twice in one go, and a row in which the two runs differ says both.

use super::list::{Client, Row};
use super::room::Room;
use super::{Installed, failure};
use crate::tools;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The page. What comes after the mark is written by this module.
const PAGE: &str = "docs/public-wrappers.md";
const MARK: &str = "<!-- Written by `cargo xtask clients --rows`. -->\n";

/// What came of a cell: the verdict, what it was without the wrapper, and what it was with it.
#[derive(Clone, PartialEq, Eq)]
struct Cell {
    score: String,
    without: String,
    with: String,
    seconds: u64,
}

type Cells = BTreeMap<String, Cell>;

/// Measures a wrapper twice, and returns its section of the page.
pub fn section(
    rehang: &Path,
    client: &Client,
    row: &Row,
    installed: &Installed,
    alone: &[String],
) -> io::Result<String> {
    let runs = [measure(rehang, row, installed, alone)?, measure(rehang, row, installed, alone)?];
    let names = runs.iter().flat_map(|run| run.keys()).collect::<std::collections::BTreeSet<_>>();
    let (mut lines, mut counts, mut differ) = (Vec::new(), BTreeMap::new(), 0);
    for name in names {
        let [Some(one), Some(two)] = [runs[0].get(name), runs[1].get(name)] else { continue };
        let hangs = one.without.starts_with("hung");
        *counts.entry((hangs, one.score.as_str())).or_insert(0) += 1;
        if one.score != two.score {
            differ += 1;
            let both = format!("{} / {}", one.score, two.score);
            lines.push(format!("| {name} | {} | {} / {} | – | {both} |", one.without, one.with, two.with));
        } else if one.score != "untouched" {
            let after = duration(one.seconds);
            lines.push(format!("| {name} | {} | {} | {after} | {} |", one.without, one.with, one.score));
        }
    }
    let count = |hangs: bool, score: &str| counts.get(&(hangs, score)).copied().unwrap_or(0);
    let ended = count(true, "resolved") + count(true, "stopped") + count(true, "wrongly");
    let hangs = ended + count(true, "missed") + count(true, "undecided");
    let others = runs[0].values().filter(|cell| !cell.without.starts_with("hung")).count();
    let script = format!("tests/clients/{}", client.script);
    let program = installed.program.file_name().unwrap_or_default().to_string_lossy();
    let call = if client.script.ends_with(".sh") {
        format!("sh {script} ralph {}", row.argument)
    } else {
        format!("{program} {script} {}", row.argument)
    };
    let table = if lines.is_empty() {
        String::new()
    } else {
        let head = "| scenario | without it | with it | after | verdict |\n|---|---|---|---|---|\n";
        format!("\n{head}{}\n", lines.join("\n"))
    };
    Ok(format!(
        "## {} {}, {}\n\nFrom {}. {}\n\n    rehang wrapper --terminal {} -- {call}\n\n\
         It ends {ended} of {hangs} hangs ({} told wrongly); of {others} runs that do not hang it harms {}, and tells {} as \
         something else. Rows in which two runs differ: {differ}.\n{table}",
        client.package,
        client.version,
        row.argument,
        client.registry.name(),
        row.about,
        row.terminal,
        count(true, "wrongly"),
        count(false, "harmed"),
        count(false, "wrongly"),
    ))
}

fn measure(rehang: &Path, row: &Row, installed: &Installed, alone: &[String]) -> io::Result<Cells> {
    let room = Room::new()?;
    let mut command = room.command(alone, rehang, installed, None);
    command.arg(rehang).args(["wrapper", "--terminal", row.terminal, "--format", "json", "--scenarios"]);
    let out =
        command.arg(tools::root().join("scenarios")).arg("--").args(installed.call()).arg(row.argument).output()?;
    let cells: Cells = String::from_utf8_lossy(&out.stdout).lines().filter_map(cell).collect();
    if cells.is_empty() { Err(io::Error::other(failure(&out))) } else { Ok(cells) }
}

fn cell(line: &str) -> Option<(String, Cell)> {
    let row: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let with = match (text("outcome"), text("cause")) {
        (outcome, _) if outcome == "undecided" => text("open"),
        (outcome, cause) if cause.is_empty() => outcome,
        (outcome, cause) => format!("{outcome}: {cause}"),
    };
    let broken: Vec<&str> = row["broken"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let left = if broken.contains(&"left-behind") { ", leaves a process" } else { "" };
    let seconds = row["virtual_ms"].as_u64()? / 1_000;
    let cell = Cell { score: row["score"].as_str()?.to_owned(), without: text("baseline"), with: with + left, seconds };
    Some((text("scenario"), cell))
}

/// Seconds of virtual time, in two units at most.
fn duration(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Writes the sections into the page, after the mark; a part of the clients replaces their own sections alone.
pub fn write(sections: &[String], all: bool) -> io::Result<()> {
    let path = tools::root().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let (head, old) = page.split_once(MARK).unwrap_or((&page, ""));
    let mut kept: Vec<String> = if all { Vec::new() } else { split(old) };
    for section in sections {
        match kept.iter_mut().find(|old| old.lines().next() == section.lines().next()) {
            Some(old) => old.clone_from(section),
            None => kept.push(section.clone()),
        }
    }
    let kept: Vec<&str> = kept.iter().map(|section| section.trim_end()).collect();
    fs::write(&path, format!("{head}{MARK}\n{}\n", kept.join("\n\n")))?;
    println!("wrote    {PAGE}");
    Ok(())
}

/// Compares sections with those of the page, but for times; returns how many rows differ that the page does not know to
/// differ between runs.
pub fn compare(sections: &[String]) -> io::Result<usize> {
    let page = fs::read_to_string(tools::root().join(PAGE))?;
    let old = split(page.split_once(MARK).map_or("", |(_, rows)| rows));
    let mut differ = 0;
    for section in sections {
        let title = section.lines().next().unwrap_or_default();
        let Some(old) = old.iter().find(|old| old.lines().next() == Some(title)) else {
            println!("new      {title}");
            differ += 1;
            continue;
        };
        let (now, before) = (verdicts(section), verdicts(old));
        for name in now.keys().chain(before.keys()).collect::<std::collections::BTreeSet<_>>() {
            let (now, before) = (now.get(name), before.get(name));
            let varies = [now, before].into_iter().flatten().any(|verdict| verdict.contains(" / "));
            if now != before && !varies {
                differ += 1;
                println!("differs  {title}, {name}: the page says {before:?}, now {now:?}");
            }
        }
        println!("equal    {title}: {} rows but for what is named above", now.len());
    }
    Ok(differ)
}

/// The scenario and the verdict of each row.
fn verdicts(section: &str) -> BTreeMap<String, String> {
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| scenario"));
    let ends = |line: &str| {
        let columns: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        Some(((*columns.first()?).to_owned(), (*columns.last()?).to_owned()))
    };
    rows.filter_map(ends).collect()
}

fn split(text: &str) -> Vec<String> {
    let parts = text.split("\n## ").map(|part| part.trim_start_matches("## ").trim()).filter(|part| !part.is_empty());
    parts.map(|part| format!("## {}\n", part.trim_start_matches("\n").trim_start_matches("## "))).collect()
}
