// A stand-in for an agent: does what the JSON in $DO says, and nothing else.
//
// raw: puts its terminal into raw mode and reads keys.  model: port of a server that it sends one request.
// tools: commands that it runs, with their output read.  servers: {cmd, send, answers}: stdio servers that it asks.
// tick: interval of a timer in ms.  end: ends with the first tool's exit code when all tools have ended.
const { spawn } = require('child_process');
const net = require('net');
const work = JSON.parse(process.env.DO || '{}');
delete process.env.DO;
const kept = [];

function run(command, stdio) {
  const child = spawn(command[0], command.slice(1), { stdio });
  child.on('error', () => {});
  if (child.stdin) child.stdin.on('error', () => {});
  for (const out of [child.stdout, child.stderr]) if (out) out.on('data', () => {});
  kept.push(child);
  return child;
}

if (work.raw) {
  if (process.stdin.isTTY) process.stdin.setRawMode(true);
  process.stdin.on('data', key => { if (String(key).includes('q')) process.exit(0); });
  process.stdout.write('\x1b[?25l> \r\n');
}
if (work.tick) setInterval(() => {}, work.tick);
if (work.model) {
  const body = JSON.stringify({ stream: true });
  const socket = net.connect(work.model, '127.0.0.1', () =>
    socket.write(`POST /v1/messages HTTP/1.1\r\nHost: model\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
  socket.on('data', () => {});
  socket.on('error', () => {});
  if (work.end) socket.on('close', () => process.exit(0));
  kept.push(socket);
}
for (const server of work.servers || []) {
  const child = run(server.cmd, ['pipe', 'pipe', server.stderr || 'pipe']);
  for (const line of server.send || []) child.stdin.write(JSON.stringify(line) + '\n');
}
let open = (work.tools || []).length;
let first;
for (const tool of work.tools || []) {
  const command = Array.isArray(tool) ? tool : tool.cmd;
  run(command, tool.stdio || ['ignore', 'pipe', 'pipe']).on('close', code => {
    first = first === undefined ? code : first;
    open -= 1;
    if (open === 0 && work.end) process.exit(first === null ? 1 : first);
  });
}
