//! The scripted model server: a scenario's turns, spoken in the model APIs' dialects.
//!
//! A real release asks this server instead of its vendor's. [`Script`] is what the model says, and how a main request
//! is told from one on the side; [`serve`] plays it to every client; an [`Event`] reports each thing that happens; a
//! [`Ledger`] keeps the sum: what is in flight, what the agent told its model, what was wrong, whether it came at all.
//!
//! Invariants: which turn a request gets follows from what the request holds, never from when it came, so a retry gets
//! the turn again and a subagent its own; nothing here waits unless the scenario's fault or `think` says so; a request
//! on the side spends no turn.

mod body;
mod calls;
mod check;
mod event;
mod io;
mod ledger;
mod router;
mod schema;
mod script;
mod server;
mod side;

pub use calls::{NO_HEAD, NoShape, TOOL_SERVER};
pub use check::{BEYOND_SCRIPT, NOT_OFFERED, Problem};
pub use event::{Ended, Event, Happened, Kind, Request, Side, State, Told};
pub use ledger::{Ledger, NeverAsked};
pub use script::{Limits, Script, Sent, Then};
pub use server::serve;
pub use side::TEXT;
