# truth: waiting
# verdict: WAITING UNKNOWN
# then: types no\n
# needs: terraform
# about: a person at a terminal is asked for `yes` (terraform apply)
. "${0%/*}/lib/tree.sh"
export HOME=$D
export CHECKPOINT_DISABLE=1
echo 'resource "terraform_data" "a" {}' >main.tf
terraform init -no-color >init 2>&1
cat >t.py <<'J'
import os, sys
sys.path.insert(0, os.environ['LIB'] + '/..')
from lib import tree
pid, fd = tree.terminal(['terraform', 'apply', '-no-color'])
tree.announce(pid, lambda: any(tree.in_call(t, 'read') and open(f'/proc/{t}/syscall').read().split()[1] == '0x0' for t in tree.threads(pid)))
sys.exit(tree.keep(pid, fd))
J
exec python3 t.py
