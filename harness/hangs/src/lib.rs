//! The catalogue of hangs.
//!
//! A [`Mechanism`] is a way in which an agent hangs, or a healthy run that looks like it. A [`Signature`] is what a look at
//! real processes finds. All that is known of a signature is one constant in `src/signature`: its word, what it means, which
//! mechanisms it shows, what the judge calls the same hang, how long guard lets it last, and the scenario that hangs the same
//! way. `rehang why`, guard, `rehang explain` and the pages of the book take these facts from here.
//!
//! Pure: no clock, no process, no file.

pub mod draft;
pub mod limit;
mod mechanism;
mod page;
mod signature;

pub use limit::{Limit, LimitClass, Limits};
pub use mechanism::Mechanism;
pub use page::page;
pub use signature::{EndedBy, Facts, Owed, Signature};

/// No mechanism or signature has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the catalogue of hangs has no such word")]
pub struct UnknownWord;
