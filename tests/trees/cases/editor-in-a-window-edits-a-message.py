# truth: waiting
# then: run echo >$D/saved
# needs: git node
# about: git commit waits for the editor ($GIT_EDITOR, as of `code --wait`), which waits until a person closes the tab in a running editor; that editor's process is asked by a socket with a path.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
tree.write('ide.js', "const fs=require('fs');require('net').createServer(c=>{c.on('error',()=>{});fs.watch('.',(e,f)=>{if(f==='saved')c.end('closed')})}).listen('ide.sock',()=>fs.writeFileSync('up',''))")
tree.write('code.js', "const c=require('net').connect('ide.sock');c.write('open --wait '+process.argv[2]);c.on('data',()=>{});c.on('end',()=>{require('fs').writeFileSync(process.argv[2],'x');process.exit(0)})")
ide = subprocess.Popen(['node', 'ide.js'], start_new_session=True)
tree.until(os.path.exists, 'up')
subprocess.run(['git', 'init', '-q'])
p = subprocess.Popen(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty'], env=dict(os.environ, GIT_EDITOR='node code.js'))
tree.until(lambda: tree.below(p.pid, 'node') and tree.in_call(tree.below(p.pid, 'node'), 'epoll'))
tree.ready(p.pid); p.wait(); ide.terminate(); ide.wait()
