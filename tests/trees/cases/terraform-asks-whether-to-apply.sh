# truth: hung
# cause: stdin|pipe|input
# culprit: terraform
# needs: terraform node
# about: an agent's tool runs terraform apply without -auto-approve, with a pipe as stdin that the agent keeps open: it waits for `yes` (terraform apply, "Enter a value")
. "${0%/*}/lib/tree.sh"
export HOME=$D
export CHECKPOINT_DISABLE=1
echo 'resource "terraform_data" "a" {}' >main.tf
terraform init -no-color >init 2>&1
tool "terraform apply -no-color | tee out" pipe &
A=$!
await grep -q 'Enter a value' out
ready $A
wait $A
