# truth: healthy
# then: ends
# needs: root ip nsenter
# about: a client waits for a server in another network namespace, as one in a container is, which sleeps before its answer; a pair of virtual devices connects them (veth(4), network_namespaces(7))
import os, subprocess
from lib import tree, more
n = f'tree{os.getpid()}'
run = lambda words: subprocess.run(words.split(), check=True)
tree.write('cleanup', f'ip netns del {n} 2>/dev/null; ip link del v{os.getpid()} 2>/dev/null; true')
third = f'198.18.{os.getpid() % 250}'
run(f'ip netns add {n}'); run(f'ip link add v{os.getpid()} type veth peer name eth0 netns {n}')
run(f'ip addr add {third}.1/24 dev v{os.getpid()}'); run(f'ip link set v{os.getpid()} up')
run(f'ip -n {n} addr add {third}.2/24 dev eth0'); run(f'ip -n {n} link set eth0 up'); run(f'ip -n {n} link set lo up')
more.foreign('''
import os, socket, subprocess, sys, time
os.setns(os.open("/run/netns/%s", 0), 0x40000000)
l = socket.socket(); l.bind(("%s.2", 80)); l.listen(1); open("%s/listens", "w")
c, _ = l.accept(); c.recv(9); time.sleep(float(os.environ["SECS"])); c.send(b"x")
''' .replace('os.setns(os.open("/run/netns/%s", 0), 0x40000000)', '__import__("ctypes").CDLL(None).setns(os.open("/run/netns/%s", 0), 0x40000000)') % (n, third, tree.D))
tree.until(more.there, 'listens')
tree.show('import socket; s = socket.create_connection(("%s.2", 80)); s.send(b"ask"); s.recv(9)' % third, tree.in_call, 'recv')
