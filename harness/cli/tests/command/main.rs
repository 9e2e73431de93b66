//! The command `rehang` from the outside, a module for what is asked of it. One binary for all of them, since each binary
//! is linked with the whole command; what waits for the wall clock is in `wall_clock`.

mod accept;
mod action;
mod closed;
mod conform;
mod edges;
mod escapes;
mod fakes;
mod import;
mod merge;
mod mistakes;
mod new;
mod orders;
mod path;
mod readme;
mod run;
mod supervise;
mod warp;
mod why;
mod words;
mod wrapper;
