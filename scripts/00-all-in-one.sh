#!/usr/bin/env bash
# From a fresh checkout to a tested container: runs 01 to 05 in order.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TEXT'
Usage: scripts/00-all-in-one.sh [FLAG…]

Runs 01-init.sh, 02-build-container.sh FLAG…, 03-setup-environment.sh, 04-run-container.sh and 05-run-tests.sh, and stops
at the first that fails. Each can be run alone, and again, and has --help. The container runs on afterwards;
`scripts/04-run-container.sh --stop` ends it.
TEXT
    exit 0
fi

scripts/01-init.sh
scripts/02-build-container.sh "$@"
scripts/03-setup-environment.sh
scripts/04-run-container.sh
scripts/05-run-tests.sh
