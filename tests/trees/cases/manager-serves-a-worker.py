# truth: healthy
# then: ends
# about: a manager's process serves shared objects, a worker that has a connection to it works, and the parent joins the worker (multiprocessing, Manager)
import os
from lib import tree
tree.write('managed.py', '''
import multiprocessing, os, time
def work(d): d["at"] = 1; open("works", "w").close(); time.sleep(float(os.environ["SECS"])); d["at"] = 2
if __name__ == "__main__":
    with multiprocessing.Manager() as m: d = m.dict(); p = multiprocessing.Process(target=work, args=(d,)); p.start(); p.join(); os._exit(d["at"] - 2)
''')
tree.show(['python3', 'managed.py'], lambda pid: os.path.exists(f'{tree.D}/works'))
