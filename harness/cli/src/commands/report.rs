//! `rehang report`: the last report that a command wrote.
//!
//! Invariant: the path on stdout is that of a file that exists; without one it is an error that says how to make one.

use super::{Code, CommandError};
use crate::last;
use clap::Args;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Print where the last report is, or open it.
///
/// It is the last one that `rehang run`, `reproduce`, `score` or `upstream` wrote with `--report DIR`, from whatever folder.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  rehang run question/ --report hang-report   writes hang-report/index.html, and says so
  rehang report --open                        opens it in a browser
  xdg-open \"$(rehang report)\"               the same by hand")]
pub struct Report {
    /// Open it with `$BROWSER`, or with xdg-open.
    #[arg(long)]
    pub open: bool,
}

impl Report {
    /// Prints the path, and opens it.
    ///
    /// # Errors
    /// There is no report, or it has gone; nothing that opens it.
    pub fn run(&self, out: &mut dyn Write) -> Result<Code, CommandError> {
        let none = "no report has been made yet; `rehang run FILTER --report DIR` makes one";
        let file = last::report().ok_or_else(|| CommandError::Usage(none.to_owned()))?;
        if !file.is_file() {
            let gone =
                format!("the last report was {}, and it is gone; `--report DIR` makes a new one", file.display());
            return Err(CommandError::Usage(gone));
        }
        writeln!(out, "{}", file.display())?;
        if self.open {
            open(&file)?;
        }
        Ok(Code::Expected)
    }
}

/// Starts a browser, and does not wait for it.
fn open(file: &Path) -> Result<(), CommandError> {
    let browser = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".into());
    let started =
        Command::new(&browser).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let name = browser.to_string_lossy();
    if started.is_ok() {
        complain!("opened with {name}; if nothing appears, set BROWSER or open the file yourself");
    }
    started.map(drop).map_err(|error| {
        CommandError::Usage(format!("{name} does not start ({error}): set BROWSER, or open the file yourself"))
    })
}
