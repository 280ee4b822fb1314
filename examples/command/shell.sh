#!/bin/sh
# An agent in a few lines of shell: plain lines are text, JSON objects are frames.
#
#   turnlog serve --agent command -- sh examples/command/shell.sh
#
# The first line on stdin is the "start" line; this agent only needs the thread.
read -r start

printf '{"type":"task_update","event":"looking around"}\n'
echo "You are in thread $TURNLOG_THREAD_ID, and this is turn $TURNLOG_TURN_ID."
for word in Text without a newline is streamed as well:; do
  printf '%s ' "$word"
  sleep 0.1
done
echo
date
