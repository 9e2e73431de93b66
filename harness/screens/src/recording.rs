//! What is kept of a release at a moment, and how it is read.
//!
//! Invariant: a file has one release on one size, a moment a line; a line that is not right is an error with its number.

use crate::label::{Label, Seen};
use crate::moment::Moment;
use crate::says::{Detector, Says};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The number of the operating system command in which a hook tells its terminal its name, in a recording; no program has it.
pub const OSC_OF_HOOKS: u32 = 6_999;

/// A release at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recording {
    /// The moment.
    pub moment: Moment,
    /// What the agent is doing, by the scenario.
    pub label: Label,
    /// When, in milliseconds from the start.
    pub at_ms: u64,
    /// What the scripted model and the process table saw until then.
    pub seen: Seen,
    /// The lines of the screen, without blanks at their ends and empty lines at the end.
    pub screen: Vec<String>,
    /// For how long the text on the screen has been the same, in milliseconds.
    pub still_ms: u64,
    /// For how long its text and colours have been the same, in milliseconds.
    pub still_styled_ms: u64,
    /// The window's title; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// How often the title changed within the last five seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub titles: u32,
    /// The latest operating system command of each number but those of titles, colours and links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub osc: Vec<Osc>,
    /// How often the bell rang until then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bells: u32,
    /// The alternate screen is shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub alternate: bool,
    /// The agent's processes.
    pub processes: Vec<Proc>,
    /// What `rehang why` says of the agent.
    pub why: WhySays,
    /// What detectors said at the second look, some seconds later in the same run, that they did not say at the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub again: BTreeMap<Detector, Says>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_false(yes: &bool) -> bool {
    !yes
}

/// An operating system command (OSC).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Osc {
    /// Its number.
    pub number: u32,
    /// What comes after it.
    pub text: String,
    /// How many of this number there were.
    pub count: u32,
}

/// A process of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Proc {
    /// The name of its program.
    pub program: String,
    /// How many threads it has.
    pub threads: usize,
    /// The system call in which its first thread waits, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The call's time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<u64>,
}

/// What `rehang why` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WhySays {
    /// Who is to act next: `working`, `waits-for-person`, `waits-for-peer`, `cannot-go-on`, `unknown`.
    pub state: String,
    /// The first word: `hung`, `waiting`, `working`, `ended`, `unknown`.
    pub verdict: String,
    /// How sure that is, in words.
    pub sure: String,
    /// The name of the finding.
    pub signature: String,
    /// The sentence, with numbers of processes masked.
    pub sentence: String,
    /// After how many milliseconds more it counts as hung, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung_in_ms: Option<u64>,
}

/// A line of a screen without the time of day.
pub fn mask_line(line: &str) -> String {
    masked(line, &[(r"\b([01]\d|2[0-3]):[0-5]\d\b", "00:00")])
}

/// A sentence of `rehang why` without what changes from run to run: numbers of processes, ports, and which of rehang's own
/// programs held the terminal.
pub fn mask_sentence(sentence: &str) -> String {
    let rules = [
        (r"\(\d+\)", "(PID)"),
        (r"/proc/\d+", "/proc/PID"),
        (r"(127\.0\.0\.1|\[::1\]):\d+", "$1:PORT"),
        (r"\brehang-[a-z]+\d*\b", "rehang"),
    ];
    masked(sentence, &rules)
}

fn masked(text: &str, rules: &[(&str, &str)]) -> String {
    let replaced = |text: String, (pattern, with): &(&str, &str)| {
        Regex::new(pattern).expect("a pattern of ours").replace_all(&text, *with).into_owned()
    };
    rules.iter().fold(text.to_owned(), replaced)
}

/// The recordings of a release on one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recordings {
    /// The agent's name, as `rehang agents` has it.
    pub agent: String,
    /// The release.
    pub version: semver::Version,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The terminal answered that it understands the Program Status Protocol (OSC 7501).
    pub program_status: bool,
    /// Its moments.
    pub moments: Vec<Recording>,
}

/// Why recordings cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The folder or a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        error: std::io::Error,
    },
    /// A file's name is none of a recording.
    #[error("{}: name it AGENT@VERSION-COLUMNSxROWS.ndjson", .0.display())]
    Name(PathBuf),
    /// A line is not right.
    #[error("{}:{line}: {error}; record it again: rehang-lab record --screen", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
}

impl Recordings {
    /// All recordings of a folder, by agent, release (the newest first) and size.
    ///
    /// # Errors
    /// A file that cannot be read, or is not right.
    pub fn all(folder: &Path) -> Result<Vec<Recordings>, ReadError> {
        let io = |error| ReadError::Io { path: folder.to_owned(), error };
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            all.push(Recordings::read(&entry.map_err(io)?.path())?);
        }
        all.sort_by(|a, b| {
            (&a.agent, &b.version, a.size, a.program_status).cmp(&(&b.agent, &a.version, b.size, b.program_status))
        });
        Ok(all)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is not right.
    pub fn read(path: &Path) -> Result<Recordings, ReadError> {
        let name = || ReadError::Name(path.to_owned());
        let known = path.file_name().and_then(|name| parts(name.to_str()?)).ok_or_else(name)?;
        let text = std::fs::read_to_string(path).map_err(|error| ReadError::Io { path: path.to_owned(), error })?;
        let line = |(n, line): (usize, &str)| {
            let wrong = |error| ReadError::Line { path: path.to_owned(), line: n + 1, error };
            serde_json::from_str(line).map_err(wrong)
        };
        let moments = text.lines().enumerate().map(line).collect::<Result<_, _>>()?;
        Ok(Recordings { moments, ..known })
    }

    /// Their file in a folder.
    pub fn path(&self, folder: &Path) -> PathBuf {
        let (columns, rows) = self.size;
        let status = if self.program_status { STATUS } else { "" };
        folder.join(format!("{}@{}-{columns}x{rows}{status}.ndjson", self.agent, self.version))
    }

    /// Writes them into a folder, by moment; returns the file.
    ///
    /// # Errors
    /// The folder or the file.
    pub fn write(&mut self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = self.path(folder);
        self.moments.sort_by_key(|recording| recording.moment);
        let lines = self.moments.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        std::fs::write(&path, lines.join("\n") + "\n")?;
        Ok(path)
    }
}

/// The end of the name of a file whose terminal answered that it understands the Program Status Protocol.
const STATUS: &str = "+status";

/// What a file's name says, without moments.
fn parts(name: &str) -> Option<Recordings> {
    let (release, size) = name.strip_suffix(".ndjson")?.rsplit_once('-')?;
    let (agent, version) = release.split_once('@')?;
    let plain = size.strip_suffix(STATUS).unwrap_or(size);
    let (columns, rows) = plain.split_once('x')?;
    Some(Recordings {
        agent: agent.to_owned(),
        version: version.parse().ok()?,
        size: (columns.parse().ok()?, rows.parse().ok()?),
        program_status: plain != size,
        moments: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_has_the_release_and_the_size() {
        for name in ["claude@2.1.329-80x24.ndjson", "claude@2.1.329-200x50+status.ndjson"] {
            assert_eq!(parts(name).unwrap().path(Path::new("")), Path::new(name));
        }
        assert_eq!(parts("claude-80x24.ndjson"), None);
    }

    #[test]
    fn what_changes_from_run_to_run_is_masked() {
        let said =
            "fake-tool (77) opens /proc/211/fd/5; keys come from rehang-lab (9), 127.0.0.1:35393 is silent for 9.4s";
        let masked =
            "fake-tool (PID) opens /proc/PID/fd/5; keys come from rehang (PID), 127.0.0.1:PORT is silent for 9.4s";
        assert_eq!(mask_sentence(said), masked);
        assert_eq!(
            (mask_sentence(masked).as_str(), mask_line("Worked for 3s • 01:08")),
            (masked, "Worked for 3s • 00:00".to_owned())
        );
    }

    #[test]
    fn a_line_that_is_not_right_is_named() {
        let folder = std::env::temp_dir().join(format!("rehang-screens-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("claude@1.0.0-80x24.ndjson");
        std::fs::write(&path, "{}\n").unwrap();
        let error = Recordings::read(&path).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.contains("claude@1.0.0-80x24.ndjson:1: missing field `moment`"), "{error}");
    }
}
