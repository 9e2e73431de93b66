# truth: waiting
# then: types q
# about: a screen program asks its terminal for a key again and again, without a pause, until a person presses one (curses, nodelay: getch does not block)
from lib import tree
tree.write('tui.py', '''
import curses
def main(s):
    s.nodelay(True); s.addstr("q: quit"); s.refresh(); open("begun", "w")
    while s.getch() != ord("q"): pass
curses.wrapper(main)
''')
import os
os.chdir(tree.D)
tree.run_terminal(['python3', 'tui.py'], condition=lambda pid: os.path.exists('begun'))
