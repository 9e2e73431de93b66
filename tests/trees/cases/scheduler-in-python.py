# truth: healthy
# then: ends
# about: a scheduler sleeps until its next job is due (sched)
from lib import tree
tree.show('import os, sched\ns = sched.scheduler(); s.enter(float(os.environ["SECS"]), 1, lambda: None); s.run()', tree.in_call, 'nanosleep')
