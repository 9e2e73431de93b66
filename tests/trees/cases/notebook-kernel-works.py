# truth: healthy
# then: ends
# if: python3 -c 'import ipykernel, jupyter_client'
# about: a client waits for a cell that takes its time in a kernel (Jupyter messaging; the sockets are ZeroMQ's, whose own threads poll)
import os
from lib import tree
os.environ.update(HOME=tree.D, JUPYTER_RUNTIME_DIR=tree.D, PYDEVD_DISABLE_FILE_VALIDATION='1')
tree.show('''
import os
from jupyter_client.manager import start_new_kernel
m, c = start_new_kernel(kernel_name="python3", extra_arguments=["--HistoryManager.enabled=False"])
c.execute_interactive("import os, time; open('cell', 'w').close(); time.sleep(%s)" % os.environ["SECS"])
c.stop_channels(); m.shutdown_kernel(now=True)
''', lambda pid: os.path.exists(f'{tree.D}/cell') and tree.in_call(pid, 'poll', 'epoll', 'select'))
