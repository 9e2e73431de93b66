# truth: hung
# cause: silent|answer|connection|curl
# culprit: curl|answer
# args: --silent 3s
# moves: curl looks at its connection now and then
# needs: curl node
# later: 2 a slow server looks the same for 30 times the limit of silence
# about: an agent's tool downloads with no limit from a server that took the request and says nothing (curl(1), --max-time)
. "${0%/*}/lib/tree.sh"
server silent
export DO='{"tools":[["bash","-c","curl -s http://127.0.0.1:'$PORT'/; true"]]}'
show curl poll bash -c 'exec -a claude node "$LIB/agent.js" -p go' </dev/null
