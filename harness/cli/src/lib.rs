//! Makes AI coding agents hang again, the same way every time, and judges what anyone does about it.
