# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run kill $(cat pid)
# about: a person's development server reloads itself: its parent waits for the child that serves, which looks at the sources once a second (Flask, --debug: the reloader of Werkzeug)
import os
from lib import tree, more
tree.write('app.py', '''
import os
from flask import Flask
app = Flask(__name__)
''')
tree.write('run.py', '''
import os, sys
sys.path.insert(0, ".")
from app import app
if os.environ.get("WERKZEUG_RUN_MAIN"): open("child", "w").write(str(os.getpid()))
else: open("pid", "w").write(str(os.getpid()))
app.run(port=0, use_reloader=True)
''')
tree.show(['python3', 'run.py'], lambda pid: more.there('child') and tree.in_call(pid, 'wait', 'poll', 'select'), stderr=open(f'{tree.D}/err', 'w'))
