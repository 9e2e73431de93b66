# truth: healthy
# then: ends
# about: a script asks again and again, without a pause, whether a file is there, which a job outside of its tree makes after a time (os.path.exists)
from lib import tree
tree.show('''
import os, socket, subprocess, time
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(float(os.environ["SECS"])); exec(do); os._exit(0)
    os.wait()
foreign("os.mkdir(chr(100))"); open("begun", "w")
while not os.path.exists("d"): pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
