#!/usr/bin/env node
// Starts the binary that the package of this platform holds, and ends as it ends.
//
// Invariant: stdin, stdout and stderr are the caller's own; the exit code is the binary's, and if a signal ends the
// binary, the same signal ends this process. Where node can replace itself by the binary, it does, and nothing of it is
// left in between.
"use strict";

const { spawn } = require("node:child_process");
const { accessSync, constants: modes, readFileSync } = require("node:fs");
const { constants } = require("node:os");
const { binary } = require("../lib/binary.js");

// what a caller sends to end or to inform a command
const PASSED_ON = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR2"];
// what the keyboard sends to every process in the foreground
const OF_THE_KEYBOARD = ["SIGINT", "SIGQUIT"];
// nothing in this binary was started: as a shell says that a command was not found, or cannot be executed
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

function found() {
  try {
    return binary();
  } catch (error) {
    console.error(`error: ${error.message}`);
    process.exit(NOT_FOUND);
  }
}

// Whether the keyboard's signals reach the binary without this process: both are in the terminal's foreground.
function inForeground() {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1");
    // after the name, which may contain anything: state, parent, process group, session, terminal, its foreground
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return false;
  }
}

function cannotStart(path, error) {
  console.error(`error: ${path} cannot be started: ${error.message}`);
  process.exit(NOT_EXECUTABLE);
}

function run(path, args) {
  const child = spawn(path, args, { stdio: "inherit" });
  for (const signal of PASSED_ON) {
    process.on(signal, () => {
      if (!(OF_THE_KEYBOARD.includes(signal) && inForeground())) child.kill(signal);
    });
  }
  child.on("error", (error) => cannotStart(path, error));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const passedOn of PASSED_ON) process.removeAllListeners(passedOn);
    process.kill(process.pid, signal);
    // a signal that does not end this process, such as one that it was started to ignore
    process.exitCode = 128 + constants.signals[signal];
  });
}

const path = found();
const args = process.argv.slice(2);
try {
  accessSync(path, modes.X_OK);
} catch (error) {
  cannotStart(path, error);
}
// it does not come back, and ends this process if it fails
if (typeof process.execve === "function") process.execve(path, [path, ...args], process.env);
run(path, args);
