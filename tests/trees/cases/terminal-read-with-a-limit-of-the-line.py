# truth: healthy
# then: ends
# about: a program reads its terminal without a key for 25 s at a time, a limit of the terminal's own line, until its time is over (termios(3), MIN == 0, TIME > 0)
from lib import tree
tree.run_terminal(['python3', '-c', '''
import os, termios, time
a = termios.tcgetattr(0); a[3] &= ~(termios.ICANON | termios.ECHO); s = float(os.environ["SECS"])
a[6][termios.VMIN] = 0; a[6][termios.VTIME] = min(250, int(s * 10)); termios.tcsetattr(0, termios.TCSANOW, a)
end = time.time() + s
while time.time() < end and not os.read(0, 1): pass
'''], calls=['read'])
