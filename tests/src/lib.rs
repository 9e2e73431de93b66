//! What checks the whole.
