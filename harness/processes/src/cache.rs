//! Where rehang keeps what it needs again: downloaded agents, the evidence of ended runs, the last run.

use std::path::{Path, PathBuf};

/// The folder, which may not exist yet: `REHANG_CACHE`, else `$XDG_CACHE_HOME/rehang`, else `~/.cache/rehang`.
pub fn folder() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
}

/// Refuses a folder of the cache that belongs to another user, or that everybody may write to: what is in it could be
/// changed, or be a trap. A folder that is not there yet is fine.
///
/// # Errors
/// It is such a folder, or cannot be looked at.
pub fn refuse_foreign(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let meta = match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    let why = match meta.uid() == rustix::process::geteuid().as_raw() {
        false => "belongs to another user",
        true if meta.mode() & 0o002 != 0 => "can be written by everybody",
        true => return Ok(()),
    };
    let text = format!("{} {why}; set REHANG_CACHE to a folder of your own", folder.display());
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, text))
}

#[cfg(test)]
mod tests {
    use super::refuse_foreign;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_cache_of_somebody_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || refuse_foreign(folder.path()).is_err();
        let set = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        assert!(!refused() && refuse_foreign(&folder.path().join("new")).is_ok());
        set(0o777);
        assert!(refused());
        set(0o755);
        assert!(!refused());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
            assert!(refused());
        }
    }
}
