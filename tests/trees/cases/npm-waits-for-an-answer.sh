# truth: hung
# cause: standard input|stdin
# needs: npm node
# moves: npm's log
# about: `npm init` asks its questions on a stdin that an agent keeps open (npm-init)
. "${0%/*}/lib/tree.sh"
export npm_config_cache=$D/cache npm_config_update_notifier=false HOME=$D
export DO='{"tools":[{"cmd":["sh","-c","npm init >said 2>&1; true"],"stdio":["pipe","pipe","pipe"]}]}'
bash -c 'exec -a claude node "$LIB/agent.js" -p go' &
P=$!
await grep -q 'package name' said
ready $P
wait $P
