# truth: healthy
# then: ends
# about: a script reads at the end of a log again and again, without a pause, until a job outside of its tree adds a line after a time (read(2): 0 at the end of a file)
from lib import tree
tree.show('''
import os, time
open("log", "w")
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); open("log", "a").write("ready" + chr(10)); os._exit(0)
os.wait(); f = open("log"); open("begun", "w")
while not f.readline(): pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
