//! Fakes of another build beside the command are not taken: it has its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn fakes_of_another_build_are_not_taken() {
    // in the target folder, where the binary can be linked to
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = folder.path().join("rehang");
    std::fs::hard_link(env!("CARGO_BIN_EXE_rehang"), &own).unwrap();
    let fakes = folder.path().join("rehang-fakes");
    // neither plays anything: a run that takes it cannot succeed
    let code = |build: &str| {
        std::fs::write(&fakes, format!("#!/bin/sh\necho {build}\n")).unwrap();
        std::fs::set_permissions(&fakes, std::fs::Permissions::from_mode(0o755)).unwrap();
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/stdin");
        let args = ["run", "--stage", "lockstep", "--strategy", "none", "--scenarios"];
        let mut command = Command::new(&own);
        command.args(args).arg(scenarios).env_remove("REHANG_FAKES").output().unwrap().status.code()
    };
    assert_eq!(code("0123456789abcdef"), Some(0));
    assert_eq!(code(rehang_fakes::registry::BUILD), Some(70));
}
