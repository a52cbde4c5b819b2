#!/usr/bin/env bash
# Tests the running container as a client outside sees it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages
. scripts/lib/container

case ${1:-} in
--help | -h)
    cat <<'TEXT'
Usage: scripts/05-run-tests.sh

Connects to the running container over Streamable HTTP and HTTP+SSE, calls its tools, tries to get out of its sandbox,
looks at the isolation of the container itself, stops it while a call runs, and starts it again. Ends with
"N passed, N failed". The project's own tests are scripts/test.
TEXT
    exit 0 ;;
'') ;;
*) die "unknown option $1: see scripts/05-run-tests.sh --help" ;;
esac

command -v python3 >/dev/null || require_packages python3
find_engine
need_image
map_user
[ "$("$engine" container inspect --format '{{.State.Running}}' "$name" 2>/dev/null)" = true ] ||
    die "The container $name does not run: run scripts/04-run-container.sh first."
exec python3 test/container/from_outside --engine "$engine" --name "$name" --port "$(setting_in_force MCP_PORT)"
