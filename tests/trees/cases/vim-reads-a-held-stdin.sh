# truth: hung
# cause: standard input|stdin|pipe
# culprit: vim
# moves: the editor looks for work every few seconds
# needs: vim node
# about: an agent runs `vim -es` with a pipe as stdin that it keeps open: vim reads ex commands to its end (vim, -e and -s)
. "${0%/*}/lib/tree.sh"
echo text >file
export DO='{"tools":[{"cmd":["vim","-u","NONE","-es","file"],"stdio":["pipe","pipe","pipe"]}]}'
show vim 'read select poll' bash -c 'exec -a claude node "$LIB/agent.js" -p go'
