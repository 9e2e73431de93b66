//! What a registry has: the versions of a package.
