# truth: hung
# cause: standard input|stdin
# culprit: xargs
# needs: node
# about: an agent runs xargs with a pipe as stdin that it never closes (xargs(1))
. "${0%/*}/lib/tree.sh"
export DO='{"tools":[{"cmd":["sh","-c","xargs grep -l x; true"],"stdio":["pipe","pipe","pipe"]}]}'
show xargs read bash -c 'exec -a claude node "$LIB/agent.js" -p go'
