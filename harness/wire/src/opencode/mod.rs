//! opencode's HTTP API: its routes, the bodies that clients send, and what its answers and events say.
//!
//! Both sides read it here: the fakes serve these routes, and clients, strategies and readers of logs ask for them.
//! Which release answers what is recorded in the fakes' goldens; PawWork's routes are read from its sources.
//!
//! Invariants: a [`Route`] that is written and parsed again is the same one (`every_route_survives`); reading never
//! fails on an unknown key, and never panics: what is missing reads as empty.

mod body;
mod calls;
mod event;
mod info;
mod route;
mod shape;

pub use body::{
    Answers, MakeSession, Permission, PermissionReply, Permit, Prompt, Prompted, Question, ReplyRoute, Status,
    answers_of, asked,
};
pub use calls::{Call, Called, Calls, RouteAnswers, called_routes, calls};
pub use event::{closed, kind};
pub use info::{ApiPart, Info, Numbers};
pub use route::{Ask, EVENTS, Find, Route};
pub use shape::{Shape, Shapes, target_of};
