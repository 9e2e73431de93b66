# truth: healthy
# then: ends 1
# needs: terraform node
# about: terraform apply waits for the state's lock, which a process outside of its tree has, for at most its limit (terraform, -lock-timeout: it asks again each second or later)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
export CHECKPOINT_DISABLE=1
echo 'resource "terraform_data" "a" {}' >main.tf
terraform init -no-color >init 2>&1; terraform apply -auto-approve -no-color >first 2>&1
foreign "import fcntl, time; f = open('$D/terraform.tfstate', 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); open('$D/.terraform.tfstate.lock.info','w').write('{\"ID\":\"11111111-1111-1111-1111-111111111111\",\"Operation\":\"OperationTypeApply\",\"Info\":\"\",\"Who\":\"a@b\",\"Version\":\"1.11.4\",\"Created\":\"2026-01-01T00:00:00Z\",\"Path\":\"terraform.tfstate\"}'); open('$D/locked', 'w').close(); time.sleep(1e5 if $S > 100 else 30)"
await test -e locked
tool "terraform apply -auto-approve -no-color -lock-timeout=$((S+2))s" &
A=$!
await below $A terraform
await sh -c "ls -l /proc/$CHILD/fd | grep -q tfstate || test \$(ls /proc/$CHILD/task | wc -l) -gt 5"
ready $A
wait $A
