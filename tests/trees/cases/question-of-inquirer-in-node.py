# truth: hung
# cause: stdin|standard input|input|line
# culprit: node|setup
# needs: node
# about: node's readline asks on stdout and reads the answer from stdin; the agent keeps the write end and waits for the tool's end.
import subprocess
from lib import tree
tree.write('setup.js', "const r=require('readline').createInterface({input:process.stdin,output:process.stdout});r.question('Overwrite? (y/N) ',a=>{r.close()})")
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['node', tree.D + '/setup.js'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
tree.until(lambda: tree.below(p.pid, 'node') and tree.in_call(tree.below(p.pid, 'node'), 'epoll'))
import time; time.sleep(.5)
tree.ready(p.pid); p.wait()
