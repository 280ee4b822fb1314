#!/usr/bin/env bash
# Three nodes on one Redis, all on loopback, until Ctrl-C. For trying things
# out: connect to one node, end it, go on at another.
#
#   BASE_PORT=8081   first of the three ports
#   REDIS_PORT=0     0 picks a free one
#   further arguments go to every `turnlog serve`
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE_PORT:-8081}
redis_port=${REDIS_PORT:-0}
if [ "$redis_port" -eq 0 ]; then
	for redis_port in $(seq 16379 16478); do
		(exec 3<>"/dev/tcp/127.0.0.1/$redis_port") 2>/dev/null || break
	done
fi

directory=$(mktemp -d)
pids=()
stop() {
	trap - EXIT INT TERM
	# Nodes first, so that they can still tell Redis how their turns ended.
	for pid in "${pids[@]:1}"; do kill -TERM "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]:1}"; do wait "$pid" 2>/dev/null || true; done
	kill -TERM "${pids[0]}" 2>/dev/null || true
	wait "${pids[0]}" 2>/dev/null || true
	rm -rf "$directory"
}
trap stop EXIT
trap 'exit 0' INT TERM

# setsid keeps the terminal's Ctrl-C from everyone but this script.
setsid redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$directory" --save "" --appendonly yes \
	--maxmemory-policy noeviction --daemonize no >"$directory/redis.log" &
pids+=($!)
echo "redis://127.0.0.1:$redis_port (log: $directory/redis.log)"

for i in 0 1 2; do
	port=$((base + i))
	setsid bin/turnlog serve --listen "127.0.0.1:$port" --redis "redis://127.0.0.1:$redis_port" --drain.timeout 10s "$@" \
		2> >(sed -u "s/^/node$((i + 1)) /" >&2) &
	pids+=($!)
	echo "node$((i + 1)): ws://127.0.0.1:$port/ws   try: bin/turnlog chat --help"
done
echo "Ctrl-C stops everything"
wait
