//! The scenario file: its format, its words, its errors.
//!
//! Pure: no clock, no process, no descriptor. The types that other crates share with it (virtual time, terminals, reports)
//! are those of `rehang-words`.
//!
//! Invariant: a [`Scenario`] is whole. Defaults are filled in, `[[vary]]` and `[control]` are applied; no other crate
//! looks at its TOML.

pub mod agents;
pub mod cells;
pub mod check;
pub mod editor;
pub mod expect;
pub mod fault;
pub mod file;
pub mod fuzz;
pub mod limits;
pub mod model;
pub mod order;
pub mod person;
pub mod plan;
pub mod playable;
pub mod problem;
pub mod random;
pub mod sample;
pub mod schema;
pub mod tools;
pub mod turns;
pub mod write;

pub use agents::{AgentKind, Form, Mode, Wire};
pub use cells::{Catalogue, Cell, CellId, Cells, Named, Skipped, Unknown, cells};
pub use check::check;
pub use editor::*;
pub use expect::*;
pub use fault::*;
pub use file::{Family, Loaded, Variant, load};
pub use model::*;
pub use order::{Order, OrderError, TieChoice};
pub use person::*;
pub use problem::{Problem, Problems, Source, Style};
pub use rehang_hangs::Mechanism;
pub use rehang_words::{Canon, Canonical, OutcomeKind, Policy, Span, VTime};
pub use rehang_words::{attribution, canon, fnv, policy, prompt, text, time};
pub use schema::schema;
pub use tools::*;
pub use turns::Step;
pub use write::to_toml;
