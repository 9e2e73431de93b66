//! Logs in, scenarios out, and back: importers, exporters, masking.
//!
//! [`import`] reads a log of any of the formats of [`Format`], puts together what happened ([`story`]), guesses how it ended
//! and why ([`guess`]), and drafts a scenario that does the same ([`draft`]). [`export()`] writes a trace as such a log.
//!
//! Pure, except for the reader that comes in as an argument. Invariants: memory is bounded whatever the log; no output
//! holds a secret that [`mask`] knows; no bytes whatever make it panic.

pub mod choices;
pub mod claims;
pub mod commands;
pub mod detect;
pub mod draft;
pub mod export;
pub mod format;
pub mod fuzz;
pub mod guess;
pub mod holes;
pub mod limits;
pub mod lines;
pub mod mask;
pub mod note;
pub mod open;
pub mod read;
pub mod report;
pub mod spin;
pub mod stated;
pub mod story;
pub mod utf16;
pub mod verdict;

pub use draft::Draft;
pub use export::{LogForm, export};
pub use format::Format;
pub use guess::{End, Guess, Sure};
pub use mask::Mask;
pub use report::Took;
pub use story::Story;
pub use verdict::{Said, Verdict};

use claims::Claim;
use detect::Nearly;
use lines::{Elements, Lines};
use note::Note;
use rehang_scenario::to_toml;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// What a user says of a log beside the log.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; `None` to detect it.
    pub format: Option<Format>,
    /// The most turns of the drafted scenario; [`limits::TURNS`] by default.
    pub turns: Option<usize>,
    /// What the user says of its end.
    pub said: Said,
    /// The typescript of a timing file of `script`.
    pub typescript: Vec<u8>,
}

/// A log, imported.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The format that it was read as.
    pub format: Format,
    /// What happened, unmasked: not to be written anywhere.
    pub story: Story,
    /// How it ended, and why.
    pub guess: Guess,
    /// The scenario.
    pub draft: Draft,
    /// What was masked.
    pub mask: Mask,
}

/// Why a log could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing is in it.
    #[error(
        "nothing is in it; an agent that prints nothing may still read its stdin: `rehang new FILE --agent codex` writes such a scenario"
    )]
    Empty,
    /// It is not text.
    #[error("no log: it is not text; --format names one of {}", names())]
    NoText,
    /// It is compressed.
    #[error("no log: it is compressed; `{0} LOG | rehang import -` reads it")]
    Packed(&'static str),
    /// It is a scenario already.
    #[error(
        "no log: it is a scenario already; `rehang run --scenarios FILE` plays it, `rehang reproduce FILE` makes it small"
    )]
    Scenario,
    /// It is text, but not a log.
    #[error(
        "nobody's log: {}no line of it has a time, an agent's event or an exit code, and it does not end as only a prompt does; `--format plain` takes it for a program's output all the same",
        near.map(|near| format!("{near}; ")).unwrap_or_default()
    )]
    Nobodys {
        /// What it is like.
        near: Option<Nearly>,
    },
    /// An internal error.
    #[error("no scenario could be drafted")]
    Undrafted,
    /// Nothing of it could be used.
    #[error("read as {format}, and nothing of it could be used: {why}; --format names one of {}", names())]
    Nothing {
        /// The format.
        format: &'static str,
        /// The most frequent reason why pieces could not be used.
        why: String,
    },
}

fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Imports a log. `progress` is told how many bytes were read.
///
/// # Errors
/// A source that cannot be read, or one with nothing in it that can be used.
pub fn import(
    mut from: impl BufRead,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, ImportError> {
    let mut head = Vec::new();
    from.by_ref().take(detect::PROBE_BYTES as u64).read_to_end(&mut head)?;
    if let Some(big) = utf16::mark(&head) {
        let rest = Cursor::new(head.split_off(2)).chain(from);
        return without_holes(BufReader::new(utf16::Utf16::new(rest, big)), options, progress);
    }
    without_holes(Cursor::new(head).chain(from), options, progress)
}

/// Imports a log that is text, except for holes in it.
fn without_holes(
    from: impl BufRead,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, ImportError> {
    let skipped = holes::Skipped::default();
    let from = BufReader::new(holes::Holes::new(from, skipped.clone()));
    text(from, &skipped, options, progress)
}

/// Imports a log that is text.
fn text(
    mut from: impl BufRead,
    skipped: &holes::Skipped,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, ImportError> {
    let mut head = Vec::new();
    from.by_ref().take(detect::PROBE_BYTES as u64).read_to_end(&mut head)?;
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty);
    }
    if let Some(unpacks) = detect::packed(&head) {
        return Err(ImportError::Packed(unpacks));
    }
    let banner = if options.format.is_none() { detect::banner(&head) } else { 0 };
    let head = head.split_off(banner);
    let format = options.format.or_else(|| detect::detect(&head)).ok_or(ImportError::NoText)?;
    if options.format.is_none() && format == Format::Plain && detect::is_scenario(&head) {
        return Err(ImportError::Scenario);
    }
    let skip = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let document = format == Format::OpencodeExport
        || detect::is_list(&head[skip..]) && !matches!(format, Format::Plain | Format::Asciicast | Format::Script);
    let spread = !document
        && !matches!(format, Format::Plain | Format::Asciicast | Format::Script)
        && detect::spread(&head[skip..]);
    let near = detect::nearly(&head[skip..]);
    let mut head = Cursor::new(head);
    head.set_position(skip as u64);
    let whole = head.chain(from);
    let mut story = Story::default();
    let mut reader = read::Reader::of(format);
    if let read::Reader::Script(timing) = &mut reader {
        timing.typescript.clone_from(&options.typescript);
    }
    if document || spread {
        let mut elements = if spread { Elements::values(whole) } else { Elements::new(whole) };
        while let Some(piece) = elements.next_piece()? {
            reader.piece(&piece, &mut story);
            progress(story.took.bytes);
        }
    } else {
        let mut lines = Lines::new(whole);
        while let Some(piece) = lines.next_piece()? {
            reader.piece(&piece, &mut story);
            progress(story.took.bytes);
        }
    }
    reader.end(&mut story);
    (story.took.nul_bytes, story.took.holes) = skipped.get();
    if story.took.total() == 0 {
        let why = story.took.unusable.iter().max_by_key(|(_, t)| t.count);
        let why = why.map_or_else(
            || "no event of that format is in it".to_owned(),
            |(why, t)| format!("{why} (line {})", t.first_line),
        );
        return Err(ImportError::Nothing { format: format.about(), why });
    }
    if options.format.is_none() && format == Format::Plain && is_nobodys(&story, near) {
        return Err(ImportError::Nobodys { near });
    }
    let interrupted = stated::stated(&story).is_some_and(|stated| stated.claim == Claim::Interrupted);
    if interrupted && !guess::was_silent(&story) && !story.agent.kind.is_program() && story.ending.result.is_none() {
        story.note(None, Note::Stop { session: String::new() });
    }
    let guess = guess::guess(&story, options.said);
    let mut mask = Mask::default();
    story.output.hide(&mut mask);
    let draft = draft::draft(&story, &guess, &mut mask, options.turns.unwrap_or(limits::TURNS))
        .ok_or(ImportError::Undrafted)?;
    Ok(Imported { format, story, guess, draft, mask })
}

/// Whether a text is not a log: too few of its lines have a time, and nothing else in it belongs to a log.
fn is_nobodys(story: &Story, near: Option<Nearly>) -> bool {
    let lines = |kind: &str| story.took.taken.get(kind).copied().unwrap_or(0);
    let (stamped, bare) = (lines("line"), lines("line without a timestamp"));
    // a stack trace has no times
    let timed = stamped > 0 && stamped * 5 >= bare;
    let events = !story.agent.kind.is_program() && near.is_none();
    !timed && !events && !stated::is_somebodys(story)
}

impl Imported {
    /// The scenario as a file.
    pub fn toml(&self) -> String {
        to_toml(&self.draft.scenario, self.draft.control.as_ref())
    }
}
