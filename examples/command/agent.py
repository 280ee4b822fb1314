#!/usr/bin/env python3
"""An agent that uses the whole protocol of docs/agents.md: frames, a request,
steering, a checkpoint, and winding down when it is stopped. Standard library only.

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
    lines.put(None)


def content_of(message):
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return " ".join(block.get("text", "") for block in content if isinstance(block, dict))


def main():
    start = json.loads(sys.stdin.readline())
    lines = queue.Queue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()

    words = ("You said: " + content_of(start["message"])).split()
    # After a restart the checkpoint says how far the last attempt had come.
    done = start.get("checkpoint", {}).get("words", 0)

    if "shout" in words:
        say({"type": "tool_approval_request", "ref": 1, "tool_name": "shout", "args": {}})
        while True:
            line = lines.get()
            if line is None or line["type"] == "stop":
                return
            if line["type"] == "answer" and line["ref"] == 1:
                if line.get("answer", {}).get("decision", "").startswith("allow"):
                    words = [word.upper() for word in words]
                break

    while done < len(words):
        try:
            line = lines.get_nowait()
            if line is None or line["type"] == "stop":
                return  # nothing that is said now would be heard
            if line["type"] == "input" and line["kind"] == "steer":
                words += ["And", "now:"] + content_of(line["message"]).split()
        except queue.Empty:
            pass
        say({"type": "chunk", "content": words[done] + " "})
        done += 1
        say({"type": "checkpoint", "state": {"words": done}})
        time.sleep(0.05)
    # The assistant message at the end is made by the runtime from the chunks.


if __name__ == "__main__":
    main()
