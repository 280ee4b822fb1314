#!/usr/bin/env bash
# Installs missing programs with apt-get: deps.sh PROGRAM:PACKAGE...
# Says clearly what to install where apt-get or the right to use it is missing.
set -euo pipefail

missing=()
for pair in "$@"; do
	command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "please install: ${missing[*]} (Debian's package names)" >&2
	exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	sudo=(sudo)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Packages that start a service are not wanted as one: tests start their own.
{
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
} >/dev/null || {
	echo "could not install ${missing[*]}; please install them by hand" >&2
	exit 1
}
