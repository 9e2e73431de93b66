# truth: hung
# cause: standard input|stdin
# needs: node
# about: a forgotten breakpoint() in a test that an agent runs with a pipe as stdin, which it keeps open (Python, pdb)
. "${0%/*}/lib/tree.sh"
export DO='{"tools":[{"cmd":["python3","-c","breakpoint()"],"stdio":["pipe","pipe","pipe"]}]}'
show python3 read bash -c 'exec -a claude node "$LIB/agent.js" -p go'
