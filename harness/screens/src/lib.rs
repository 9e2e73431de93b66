//! Screens of real releases at moments whose truth is known, and what programs that read screens say of them.
//!
//! The model is scripted, so what an agent does at a moment is known without its screen: [`Moment`] is a scenario and an
//! instant, [`Seen`] what the scripted model and the process table saw until then, and [`label`] what follows from both. A
//! [`Recording`] has the screen beside it. [`Detector`]s are the published rules of programs that show an agent's status.
//!
//! Invariant: no label is made from a screen (`tests/recordings.rs` makes each again, without it).

mod detectors;
mod label;
mod moment;
mod recording;
mod says;
mod score;

pub use label::{Label, Response, Seen, label};
pub use moment::Moment;
pub use recording::{OSC_OF_HOOKS, Osc, Proc, ReadError, Recording, Recordings, WhySays, mask_line, mask_sentence};
pub use says::{Detector, Says};
pub use score::{Score, page_tables};
