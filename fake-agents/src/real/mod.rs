//! The real operating system under a persona: Linux, in lockstep or alone.
