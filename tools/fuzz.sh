#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME, one after the other.
set -euo pipefail

go=${GO:-go}
time=${FUZZTIME:-5s}
found=0
for package in $("$go" list ./...); do
	directory=$("$go" list -f '{{.Dir}}' "$package")
	targets=$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$directory"/*_test.go 2>/dev/null | awk '{print $2}' || true)
	for target in $targets; do
		found=1
		echo "== $package $target"
		"$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
	done
done
if [ "$found" -eq 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
