//! The types that all crates share, and the words in which they speak to people.
//!
//! Pure: no clock, no process, no descriptor, and no file format. A program that embeds the diagnosis or the strategies
//! builds this crate, and not the scenario format.

pub mod attribution;
mod blocked_on;
pub mod canon;
mod finish;
pub mod fnv;
mod outcome;
pub mod policy;
pub mod prompt;
mod question;
mod terminal;
pub mod text;
pub mod time;
pub mod tracer;
mod ways;

pub use blocked_on::BlockedOn;
pub use canon::{Canon, Canonical};
pub use finish::Finish;
pub use outcome::OutcomeKind;
pub use policy::Policy;
pub use question::{Choice, Question};
pub use terminal::Terminal;
pub use time::{Span, VTime};
pub use ways::{Form, Wire};

/// Gives an enum of plain variants its list `ALL`. It does not compile if a variant is left out.
#[macro_export]
macro_rules! listed {
    ($name:ident: $($variant:ident),+ $(,)?) => {
        impl $name {
            /// All of them, in their order.
            pub const ALL: &'static [$name] = {
                const fn each(one: $name) -> $name {
                    match one {
                        $($name::$variant => $name::$variant,)+
                    }
                }
                &[$(each($name::$variant)),+]
            };
        }
    };
}
