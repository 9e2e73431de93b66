// What cases in JavaScript share: the case's folder, the length of its event, and a wait for conditions.
const fs = require('fs');
const os = require('os');
const path = require('path');
if (!process.env.TREE_DIR) process.env.TREE_DIR = fs.mkdtempSync(path.join(os.tmpdir(), 'tree-'));
process.env.D = process.env.TREE_DIR;
process.env.SECS = process.env.SECS || '900';

exports.D = process.env.D;
exports.SECS = Number(process.env.SECS);
exports.ready = (...pids) => fs.writeSync(1, `ready ${pids.join(' ')}\n`);
exports.comm = pid => { try { return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim(); } catch { return ''; } };
exports.state = pid => {
  try { return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0]; } catch { return ''; }
};
// Calls `then` once a condition holds; ends the case if it does not within a minute.
exports.until = (condition, then, tries = 1200) => {
  let held;
  try { held = condition(); } catch { held = false; }
  if (held) return then();
  if (tries === 0) { console.error(`never: ${condition}`); process.exit(99); }
  setTimeout(() => exports.until(condition, then, tries - 1), 50);
};
