//! Scenario files from the outside: what is read, what is refused, and in which words.

mod arms;
mod cells;
mod errors;
mod fuzz;
mod limits;
