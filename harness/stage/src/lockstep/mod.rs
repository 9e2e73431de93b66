//! Real processes in virtual time.
