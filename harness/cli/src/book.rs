//! The pages of the book that commands print: `rehang explain`, the report and the site show the same text.
//!
//! Invariant: a page is here once, as it is in `docs`.

/// What each mechanism is, how it looks, what ends it.
pub const MECHANISMS: &str = include_str!("../docs/mechanisms.md");
/// What a result says: outcomes, proofs, invariants, marks, exit codes.
pub const VERDICTS: &str = include_str!("../docs/verdicts.md");
/// What guard finds, and its limits.
pub const GUARD: &str = include_str!("../docs/guard.md");
/// What each signature means; made from the catalogue.
pub const SIGNATURES: &str = include_str!("../docs/signatures.md");
/// What `rehang why` says, apart from signatures.
pub const WHY: &str = include_str!("../docs/why.md");
/// The words of the domain.
pub const GLOSSARY: &str = include_str!("../docs/glossary.md");
