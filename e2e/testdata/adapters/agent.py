"""The command agent of the adapters' tests: does what the message's first word says.

    python3 agent.py UPSTREAM
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

out = sys.stdout.buffer
answers = {}
changed = threading.Condition()
steers = []


def raw(data):
    out.write(data)
    out.flush()


def say(frame):
    raw(json.dumps(frame).encode() + b"\n")


def text(content):
    say({"type": "chunk", "content": content})


def read():
    for line in sys.stdin:
        line = json.loads(line)
        if line["type"] == "stop":
            os._exit(0)
        with changed:
            if line["type"] == "answer":
                answers[line["ref"]] = line
            elif line["type"] == "input" and line["kind"] == "steer":
                steers.append(line["message"]["content"])
            changed.notify_all()
    os._exit(0)


def ask(ref, frame):
    say(dict(frame, ref=ref))
    with changed:
        changed.wait_for(lambda: ref in answers)
    return answers[ref]


def call(name):
    text("answer:" + json.dumps(ask("call", {"type": "tool_call", "name": name, "args": {}})))


def split(sample):
    for cut in range(1, len(sample)):
        raw(sample[:cut])
        time.sleep(0.06)  # longer than text waits for its newline
        raw(sample[cut:])
    raw(b"\n")
    for cut in range(1, len(sample)):
        raw(b'{"type":"chunk","content":"' + sample[:cut])
        time.sleep(0.06)
        raw(sample[cut:] + b'"}\n')


start = json.loads(sys.stdin.readline())
threading.Thread(target=read, daemon=True).start()
content = start["message"]["content"]
verb, _, rest = content.partition(" ")

if verb == "tool":
    call("clock")
elif verb == "approve":
    decision = ask("approval", {"type": "tool_approval_request", "tool_name": "rm", "args": {}})["answer"]["decision"]
    if decision.startswith("allow"):
        call("rm")
    else:
        text("denied")
elif verb == "steer":
    text("ready ")
    with changed:
        changed.wait_for(lambda: steers)
    text("steer:" + steers[0])
elif verb == "hold":
    child = subprocess.Popen(["sleep", "600"])
    text("pid:%d pid:%d " % (os.getpid(), child.pid))
    with urllib.request.urlopen(sys.argv[1] + "/hold?key=" + rest) as response:
        for line in response:
            text(line.decode())
elif verb == "split":
    split(rest.encode())
elif verb == "invalid":
    raw(b"bad \xff\xfe\xf0\x9f.\n")
    raw(b'{"type":"chunk","content":"bad \xc3 and \\ud83d."}\n')
    raw(b'{"type":"note","k\xffey":"\xed\xa0\x80"}\n')
    raw(b'{"type":"checkpoint","state":{"a":"\xff"}}\n')
elif verb == "oversized":
    raw(b'{"type":"chunk","content":"' + b"x" * 200000 + b'"}\n')
    time.sleep(600)
elif verb == "invalid-frame":
    say({"type": ""})
    time.sleep(600)
elif verb == "reserved":
    say({"type": "turn_finished", "outcome": "completed"})
    time.sleep(600)
elif verb == "exit":
    text("some text")
    print("went wrong", file=sys.stderr)
    sys.exit(3)
elif verb == "killed":
    text("some text")
    os.kill(os.getpid(), signal.SIGKILL)
else:
    text("heard:" + content)
