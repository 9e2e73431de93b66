# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: inotify|watch|file|folder
# certain: no
# needs: inotifywait node
# about: a script looks for a file, and begins to watch for it after it was made: the event is over (inotify(7))
. "${0%/*}/lib/tree.sh"
mkdir in && touch in/done
export DO='{"tools":[["bash","-c","inotifywait -q -e create in; true"]]}'
show inotifywait 'poll select read' bash -c 'exec -a claude node "$LIB/agent.js" -p go'
