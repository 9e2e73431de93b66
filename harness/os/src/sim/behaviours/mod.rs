//! What the real kernel does and what the simulated one does, side by side: `docs/kernel-behaviours.md`.
//!
//! Each row does something, byte by byte, to a real terminal, pipe, connection or process, without any fake, and the
//! same to the model. Invariant: both give the same result, or the test fails, and the table in the book shows that
//! result. Nothing waits for a fixed time: the test polls for what is to come, and the time limit only gives up.

mod pipes;
mod real;
mod signals;
mod sockets;
mod terminals;

use crate::os::{CannotStart, Next, Os, Program, Wait};
use expect_test::expect_file;
use rehang_scenario::Canon;
use rehang_scenario::plan::Plan;
use std::fmt::Write;

/// One row of the table.
pub(super) struct Row {
    pub name: &'static str,
    pub done: String,
    pub linux: String,
    pub model: String,
}

/// Bytes as the table shows them: escaped, and a run of one byte as a number.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for run in bytes.chunk_by(|a, b| a == b) {
        let one = run[..1].escape_ascii().to_string();
        match run.len() {
            n if n > 8 => drop(write!(text, "{one}×{n}")),
            n => text.push_str(&one.repeat(n)),
        }
    }
    text + "\""
}

/// A cell of the table.
fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|");
    match text.chars().count() {
        n if n > 240 => {
            let (head, tail): (String, String) =
                (text.chars().take(120).collect(), text.chars().skip(n - 60).collect());
            format!("{head} … {tail}")
        }
        _ => text,
    }
}

const HEAD: &str = "\
# What the kernel does, and what the model of it does

The simulated stage has a model of Linux: terminals, pipes, loopback connections, process groups and signals. Each row
below was done to the real kernel, without any fake, and to the model, and both gave the same, byte for byte. The test
`sim::behaviours` does it again wherever it runs and is red where they differ; `UPDATE_EXPECT=1 cargo test -p
rehang-stage behaviours` writes this page.

Typed text is one write to the master. `→` is what a call returned, `echo` what came out of the master after it. `^X` is
Ctrl-X, `a×20` twenty times `a`.

Of a terminal that nobody reads, the model says that it takes 8,192 bytes; Linux takes between that and 20,480, by how
writes are cut and by when its worker runs, so on both stages a program is held to 8,192. Not modelled, and refused where a
scenario would need it: flow control (Ctrl-S, Ctrl-Q), modes other than those that a terminal is made with.
";

#[test]
fn the_model_is_the_kernel() {
    let mut table = HEAD.to_owned();
    let mut count = 0;
    let mut wrong = Vec::new();
    let parts = [
        ("Terminals", terminals::rows()),
        ("Pipes", pipes::rows()),
        ("Connections over loopback", sockets::rows()),
        ("Process groups and signals", signals::rows()),
    ];
    for (title, rows) in parts {
        let _ = write!(
            table,
            "\n## {title}\n\n| behaviour | what is done | on Linux | in the model |\n|---|---|---|---|\n"
        );
        for row in rows {
            count += 1;
            let model = if row.model == row.linux { "the same".to_owned() } else { cell(&row.model) };
            let _ = writeln!(table, "| {} | {} | {} | {model} |", row.name, cell(&row.done), cell(&row.linux));
            if row.linux != row.model {
                wrong.push(format!("{}:\n  {}\n  Linux: {}\n  model: {}", row.name, row.done, row.linux, row.model));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40, "{count} rows");
    expect_file!["../../../../../docs/kernel-behaviours.md"].assert_eq(&table);
}

/// A program that does nothing by itself.
struct Idler;

impl Program for Idler {
    fn resume(&mut self, _: &mut dyn Os) -> Next {
        Next::Wait(Wait::default())
    }

    fn canon(&self, _: &mut Canon) {}
}

/// Every command line on these kernels is an [`Idler`].
fn idler(_: &[String], _: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    Ok(Box::new(Idler))
}
