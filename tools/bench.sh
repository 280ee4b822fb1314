#!/usr/bin/env bash
# A short run of every workload of `turnlog bench`; results also go to bench-out/.
# docs/benchmarks.md has the longer runs whose figures are kept.
set -euo pipefail

mkdir -p bench-out
run() {
	local name=$1
	shift
	echo "== $name"
	bin/turnlog bench "$@" --out "bench-out/$name.json"
}

run append append --frames 200000 --rounds 3
run live-other live --threads 500 --rate 10 --duration 5s --viewers other
run live-same live --threads 500 --rate 10 --duration 5s --viewers same
run saturate saturate --threads 100 --duration 5s
run resume resume --missed 100,2000
