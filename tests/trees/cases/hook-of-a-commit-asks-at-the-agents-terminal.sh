# truth: hung
# cause: terminal|/dev/tty|tty
# culprit: sh|hook|prepare-commit|bash
# needs: git node
# about: below an agent's screen a hook of git reads an answer from /dev/tty, as commitizen's does (githooks(5), prepare-commit-msg; exec </dev/tty)
. "${0%/*}/lib/tree.sh"
export HOME=$D
git init -q w; printf '#!/bin/bash\nexec </dev/tty\nread -p "Type of change: " type\n' >w/.git/hooks/prepare-commit-msg; chmod +x w/.git/hooks/prepare-commit-msg
git config --global user.name a; git config --global user.email a@b
export DO='{"raw":true,"tools":[["git","-C","w","commit","--allow-empty","-m","x"]]}'
exec python3 "$LIB/tree.py" pty --below prepare-commit --call read -- bash -c 'exec -a claude node "$LIB/agent.js"'
