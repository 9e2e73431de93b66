#!/bin/sh
# crates.io's ralph-cli as a wrapper: one iteration of its loop, with the `claude` that PATH names, in a git repository of
# its own, since loops in one repository make way for each other. Its limit is four hours. Its exit code 2, "maximum
# iterations reached", is that of an iteration that was completed.
#
#   sh run_ralph.sh RALPH [PROMPT]
ralph=$1
cd "$(mktemp -d)" && git init -q . && printf 'event_loop:\n  max_runtime_seconds: 14400\n' > ralph.yml || exit 1
"$ralph" run --autonomous --skip-preflight --backend claude --max-iterations 1 --prompt "${2:-go}"
code=$?
test "$code" -eq 2 && exit 0
exit "$code"
