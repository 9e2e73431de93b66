//! Pictures: the HTML report, terminal recordings, summaries for CI jobs.
//!
//! [`Page`] is what a report holds; [`html()`] writes it as one file that needs no network; [`table()`] writes a
//! simpler one, of verdicts that open into details, for runs without traces. [`cast()`] is a cell's terminal as
//! asciicast v3, [`markdown()`] a summary for a CI job.
//!
//! Invariant: pure. What a trace holds is untrusted: it reaches a page as data and is put there as text, never as
//! markup; nothing of it is run.

mod cast;
mod cell;
mod explain;
mod html;
mod markdown;
mod screen;
mod site;
mod story;
mod table;
#[cfg(test)]
mod testing;

pub use cast::cast;
pub use cell::{About, CellPage, Lane, RowPage};
pub use explain::{Explained, explained};
pub use html::{Page, Unseen, html};
pub use markdown::{Unexpected, markdown};
pub use screen::{Frame, frames};
pub use site::{Agent, Line, Mechanism, Seen, Site};
pub use table::{Bar, Colour, Detail, Plot, Square, Table, table};
