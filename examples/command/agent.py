#!/usr/bin/env python3
"""An agent that uses the whole protocol of docs/agents.md: history, frames, a tool
of the client, an approval, steering, a checkpoint, and winding down when it is
stopped. Standard library only.

    turnlog serve --agent command -- python3 examples/command/agent.py
"""

import json
import queue
import sys
import threading
import time


def say(frame):
    print(json.dumps(frame), flush=True)


def read_lines(lines):
    for line in sys.stdin:
        lines.put(json.loads(line))
    lines.put({"type": "stop", "outcome": "end of input"})


def content_of(message):
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return " ".join(block.get("text", "") for block in content if isinstance(block, dict))


def stopped(line):
    print(f"stopped: {line['outcome']}", file=sys.stderr)  # nothing that is said now would be heard


def main():
    start = json.loads(sys.stdin.readline())
    lines = queue.Queue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()

    steered = []

    def ask(request, ref):
        """Asks the user's clients; the answer's line, or None when the turn was stopped meanwhile."""
        say({**request, "ref": ref})
        while True:
            line = lines.get()
            if line["type"] == "stop":
                return stopped(line)
            if line["type"] == "answer" and line["ref"] == ref:
                return line
            if line["type"] == "input" and line["kind"] == "steer":
                steered.append(content_of(line["message"]))
            # other types belong to later versions of Turnlog

    words = ("You said: " + content_of(start["message"])).split()
    if "earlier" in words:
        words = ["Earlier:"] + [f"{m['role']}={content_of(m)}" for m in start["history"]]
    if "where" in words and any(tool["name"] == "get_location" for tool in start.get("tools", [])):
        line = ask({"type": "tool_call", "name": "get_location", "args": {}}, 1)
        if line is None:
            return
        answer = line.get("answer", {})
        place = answer.get("result") if answer.get("ok") else f"a place unknown ({answer.get('error') or line.get('error')})"
        words = ["You", "are", "in", str(place)]
    # After a restart the checkpoint says how far the last attempt had come.
    done = start.get("checkpoint", {}).get("words", 0)

    if "shout" in words:
        line = ask({"type": "tool_approval_request", "tool_name": "shout", "args": {}}, 2)
        if line is None:
            return
        if line.get("answer", {}).get("decision", "").startswith("allow"):
            words = [word.upper() for word in words]

    while done < len(words):
        while not lines.empty():
            line = lines.get()
            if line["type"] == "stop":
                return stopped(line)
            if line["type"] == "input" and line["kind"] == "steer":
                steered.append(content_of(line["message"]))
        for text in steered:
            words += ["And", "now:"] + text.split()
        steered.clear()
        say({"type": "chunk", "content": words[done] + " "})
        done += 1
        say({"type": "checkpoint", "state": {"words": done}})
        time.sleep(0.05)
    # The assistant message at the end is made by the runtime from the chunks.


if __name__ == "__main__":
    main()
