# truth: healthy
# then: ends
# needs: terraform node
# about: terraform apply waits for a local provisioner, which takes its time (terraform, local-exec, terraform_data)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
export CHECKPOINT_DISABLE=1
printf 'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n    command = "touch %s/begun; sleep %s"\n  }\n}\n' "$D" $((S+2)) >main.tf
terraform init -no-color >init 2>&1
tool "terraform apply -auto-approve -no-color" &
A=$!
await test -e begun
ready $A
wait $A
