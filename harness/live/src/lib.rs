//! The live stage: real releases in a namespace of their own, on the wall clock.
