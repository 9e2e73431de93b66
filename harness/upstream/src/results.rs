//! A results file: NDJSON, a row a cell, appended as each cell ends.
//!
//! Invariant: a run that is killed at any instant leaves a file that the next run goes on with; at most the row that
//! was being written is lost.

use super::row::Row;
use rehang_compat::Compat;
pub use rehang_compat::Rows;
use rehang_scenario::problem::in_one_line;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How every row begins.
const BEGIN: &str = "{\"agent\":\"";

/// The most bytes of a results file that are read.
const FILE_BYTES: u64 = 256 << 20;

/// A results file that is written to.
#[derive(Debug)]
pub struct Results {
    file: File,
    /// What it held when it was opened.
    pub rows: Rows,
}

/// Reads a results file; a last line that was cut off is skipped.
///
/// # Errors
/// A file that cannot be read, or a whole line that is not a row.
pub fn read(path: &Path) -> io::Result<Rows> {
    Ok(of_file(path, &mut File::open(path)?)?.0)
}

/// Reads the rows to compare with: those of a `compat.json`, if the file's name ends in `.json`, else of a results file.
///
/// # Errors
/// As [`read`]; a `.json` file that is not in the format of `compat.json`.
pub fn baseline(path: &Path) -> io::Result<Rows> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return read(path);
    }
    let bad = |error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()));
    Ok(Compat::read(&std::fs::read_to_string(path)?).map_err(bad)?.by_cell())
}

fn bad(path: &Path, line: usize, why: &str) -> io::Error {
    let text = format!("{}:{line}: no row of a results file: {why}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The rows of a file, and up to which byte it is whole.
fn of_file(path: &Path, file: &mut File) -> io::Result<(Rows, u64)> {
    if !file.metadata()?.is_file() {
        return Err(bad(path, 1, "not a regular file"));
    }
    if file.metadata()?.len() > FILE_BYTES {
        return Err(bad(path, 1, &format!("more than {} MiB", FILE_BYTES >> 20)));
    }
    rows(path, BufReader::new(file))
}

/// The rows of a text, and up to which byte it is whole.
fn rows(path: &Path, mut reader: impl BufRead) -> io::Result<(Rows, u64)> {
    let mut rows = Rows::new();
    let (mut line, mut number, mut whole) = (String::new(), 0, 0u64);
    loop {
        line.clear();
        number += 1;
        let read = reader.read_line(&mut line)?;
        if read == 0 {
            return Ok((rows, whole));
        }
        let row = serde_json::from_str::<Value>(&line).and_then(|value| serde_json::from_value::<Row>(plain(value)));
        match row {
            Ok(row) => drop(rows.insert(row.key(), row)),
            Err(_) if line.trim().is_empty() => {}
            // what was being written when its run was killed
            Err(_) if !line.ends_with('\n') && (line.starts_with(BEGIN) || BEGIN.starts_with(&line)) => {
                return Ok((rows, whole));
            }
            Err(error) => return Err(bad(path, number, &error.to_string())),
        }
        whole += read as u64;
    }
}

/// A row's texts as a terminal may show them: the file may come from anywhere.
fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.split('\n').map(in_one_line).collect::<Vec<_>>().join("\n")),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(table) => table.into_iter().map(|(key, value)| (key, plain(value))).collect(),
        other => other,
    }
}

impl Results {
    /// Opens a results file to continue it; makes it if it does not exist.
    ///
    /// # Errors
    /// As [`read`]; a file that cannot be made.
    pub fn open(path: &Path) -> io::Result<Results> {
        let mut file = File::options().create(true).read(true).write(true).truncate(false).open(path)?;
        let (rows, whole) = of_file(path, &mut file)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        // a last row without a line end is still whole
        let mut last = [b'\n'];
        if whole > 0 {
            file.read_exact_at(&mut last, whole - 1)?;
        }
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
        Ok(Results { file, rows })
    }

    /// Appends a row, in one write.
    ///
    /// # Errors
    /// Those of writing.
    pub fn push(&mut self, row: &Row) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Key;
    use super::*;

    fn row(version: &str) -> Row {
        let key = Key {
            agent: "a".to_owned(),
            version: version.to_owned(),
            scenario: "text".to_owned(),
            terminal: "null".to_owned(),
        };
        Row::unrun(&key, "h", "why".to_owned())
    }

    #[test]
    fn a_file_that_was_cut_off_is_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.ndjson");
        let mut results = Results::open(&path).unwrap();
        results.push(&row("1.0.0")).unwrap();
        results.push(&row("1.0.1")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut again = Results::open(&path).unwrap();
            let ends = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at);
            // a row counts once its last byte is written, even without the line's end
            let kept = ends.filter(|at| *at <= cut).count();
            assert_eq!(again.rows.len(), kept);
            again.push(&row("2.0.0")).unwrap();
            assert_eq!(read(&path).unwrap().len(), kept + 1);
        }
    }

    #[test]
    fn a_file_of_somebody_elses_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.txt");
        for text in ["my notes, and no line's end", "two lines\nand half", "{\"other\":1"] {
            std::fs::write(&path, text).unwrap();
            assert!(Results::open(&path).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_nobody_sees_is_written_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.ndjson");
        let evil = Row { detail: "\u{1b}]0;title\u{7}\u{202e}x".to_owned(), ..row("1.0.0") };
        Results::open(&path).unwrap().push(&evil).unwrap();
        let rows = read(&path).unwrap();
        assert_eq!(rows.values().next().unwrap().detail, "\\u{1b}]0;title\\u{7}\\u{202e}x");
    }

    #[test]
    fn a_line_that_is_no_row_is_an_error_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.ndjson");
        std::fs::write(&path, "{}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("r.ndjson:1: no row"), "{error}");
    }

    #[test]
    fn of_several_rows_of_a_cell_the_last_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.ndjson");
        let mut results = Results::open(&path).unwrap();
        results.push(&row("1.0.0")).unwrap();
        results.push(&Row { detail: "later".to_owned(), ..row("1.0.0") }).unwrap();
        assert_eq!(read(&path).unwrap().values().map(|r| r.detail.as_str()).collect::<Vec<_>>(), ["later"]);
    }
}
