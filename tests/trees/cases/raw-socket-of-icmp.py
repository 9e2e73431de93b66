# truth: healthy
# then: ends
# needs: root
# about: raw(7): a raw socket receives every packet of its protocol; a foreign process sends an echo request to loopback later.
import socket, sys
from lib import tree, more
more.foreign("import socket,sys,time; time.sleep(float(sys.argv[1])); s=socket.socket(2,3,1); s.sendto(b'\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00',('127.0.0.1',0))", tree.SECS)
tree.show("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); s.recv(99)", tree.in_call, 'recv')
