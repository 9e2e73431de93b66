# truth: hung
# cause: lock
# needs: cargo rustc gcc
# about: a script has the lock of a target folder and waits for cargo, which waits for the lock
import os
import subprocess
from lib import tree
os.makedirs(f'{tree.D}/one/src')
os.makedirs(f'{tree.D}/target/debug')
tree.write('one/Cargo.toml', '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n')
tree.write('one/src/main.rs', 'fn main() {}\n')
code = '''
import fcntl, subprocess
f = open("target/debug/.cargo-lock", "w"); fcntl.flock(f, fcntl.LOCK_EX)
subprocess.run(["cargo", "build", "-q", "--offline", "--manifest-path", "one/Cargo.toml", "--target-dir", "target"])
'''
tree.show(code, lambda pid: (c := tree.below(pid, 'cargo')) and tree.any_in_call(c, 'flock'))
