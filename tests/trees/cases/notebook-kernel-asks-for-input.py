# truth: hung
# verdict: HUNG WAITING
# cause: answer|python3|socket|each other|kernel|request
# moves: the kernel and its client look for each other's heartbeat
# certain: no
# if: python3 -c 'import ipykernel, jupyter_client'
# about: a cell asks for input; the client takes the request for it and never answers, and waits for the cell's reply (Jupyter messaging, input_request)
import os
from lib import tree
os.environ.update(HOME=tree.D, JUPYTER_RUNTIME_DIR=tree.D, PYDEVD_DISABLE_FILE_VALIDATION='1')
tree.show('''
import os
from jupyter_client.manager import start_new_kernel
m, c = start_new_kernel(kernel_name="python3", extra_arguments=["--HistoryManager.enabled=False"])
id = c.execute("input('name? ')", allow_stdin=True)
c.get_stdin_msg(); open("asked", "w").close()
while c.get_shell_msg(timeout=None)["parent_header"].get("msg_id") != id: pass
''', lambda pid: os.path.exists(f'{tree.D}/asked') and tree.in_call(pid, 'poll', 'epoll', 'select'))
