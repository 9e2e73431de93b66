#!/bin/bash
. "$LIB/tree.sh"
(named curl python3 -c "import os, socket; s = socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); s.sendall(b'POST /approve HTTP/1.1\r\n\r\n'); s.recv(100)")
exit $?
