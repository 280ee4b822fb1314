#!/usr/bin/env node
// An agent that uses the whole protocol of docs/agents.md: history, frames, a tool
// of the client, an approval, steering, a checkpoint, and winding down when it is
// stopped. Nothing but Node.
//
//   turnlog serve --agent command -- node examples/command/agent.mjs
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

const textOf = ({ content }) =>
  typeof content === "string" ? content : content.map((block) => block.text ?? "").join(" ");

const wordsOf = (text) => text.split(/\s+/).filter(Boolean);

// What comes in later: answers go to whoever asked, the rest is kept for the loop below.
const waiting = new Map(); // ref -> resolve
const steered = [];
const input = createInterface({ input: process.stdin });
let started;
const start = await new Promise((resolve) => {
  input.on("line", (text) => {
    const line = JSON.parse(text);
    if (!started) resolve((started = line));
    else if (line.type === "answer") waiting.get(line.ref)?.(line);
    else if (line.type === "input" && line.kind === "steer") steered.push(textOf(line.message));
    else if (line.type === "stop") {
      console.error(`stopped: ${line.outcome}`);
      process.exit(0); // nothing that is said now would be heard
    } // other types belong to later versions of Turnlog
  });
});

let refs = 0;
function ask(request) {
  const ref = ++refs;
  const answered = new Promise((resolve) => waiting.set(ref, resolve));
  say({ ...request, ref });
  return answered; // { answer } or { error }
}

const asked = textOf(start.message);
let words = ["You", "said:", ...wordsOf(asked)];

if (words.includes("earlier")) {
  words = ["Earlier:", ...start.history.map((message) => `${message.role}=${textOf(message)}`)];
}
if (words.includes("where") && start.tools?.some((tool) => tool.name === "get_location")) {
  const { answer, error } = await ask({ type: "tool_call", name: "get_location", args: {} });
  words = ["You", "are", "in", answer?.ok ? String(answer.result) : `a place unknown (${answer?.error ?? error})`];
}
if (words.includes("shout")) {
  const { answer } = await ask({ type: "tool_approval_request", tool_name: "shout", args: {} });
  if (answer?.decision.startsWith("allow")) words = words.map((word) => word.toUpperCase());
}

// After a restart the checkpoint says how far the last attempt had come.
for (let done = start.checkpoint?.words ?? 0; done < words.length; done++) {
  for (const text of steered.splice(0)) words.push("And", "now:", ...wordsOf(text));
  say({ type: "chunk", content: words[done] + " " });
  say({ type: "checkpoint", state: { words: done + 1 } });
  await sleep(50);
}
input.close(); // the assistant message is made by the runtime from the chunks
