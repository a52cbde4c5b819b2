#!/usr/bin/env bash
# Writes volume/config/custom.env, or changes settings in it, and checks it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages
. scripts/lib/container

changes=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        cat <<'TEXT'
Usage: scripts/03-setup-environment.sh [KEY=VALUE…]

Writes volume/config/custom.env with every setting and its default as a comment, unless the file is there. Then puts each
KEY=VALUE in, and lets the server check the whole file. What is in the file already stays as it is.

  scripts/03-setup-environment.sh MCP_PORT=9001 BASH_TIMEOUT_MAX=60

MCP_HOST and MCP_PORT are where the container is reached from outside.
TEXT
        exit 0 ;;
    [A-Z]*=*) changes+=("$1") ;;
    *) die "$1 is not KEY=VALUE: see scripts/03-setup-environment.sh --help" ;;
    esac
    shift
done

write_template() {
    [ -e "$file" ] && return
    say "writing $file"
    "$engine" run --rm --network none --no-healthcheck "${limits[@]}" --entrypoint cat "$image" /usr/share/container-mcp/custom.env >"$file.new"
    mv "$file.new" "$file"
}

# Readable for the server in the container, and, since it may hold tokens, for nobody else.
protect() {
    if [ ${#user_mapping[@]} = 0 ] && [ "$(id -u)" = 0 ]; then chgrp "$server_uid" "$file" "$volumes/config"; fi
    chmod 0640 "$file"
}

# A line that sets the key is replaced, or its comment; otherwise one is added.
put() {
    local key=${1%%=*} line=$1
    LINE=$line awk -v key="$key" '
        !done && $0 ~ "^#? ?" key "=" { print ENVIRON["LINE"]; done = 1; next }
        $0 ~ "^" key "=" { next }
        { print }
        END { if (!done) print ENVIRON["LINE"] }' "$file" >"$file.new"
    cat "$file.new" >"$file"
    rm -f "$file.new"
}

find_engine
need_image
need_volumes
map_user
file=$volumes/config/custom.env
write_template
old=$(cat "$file")
for change in ${changes[@]+"${changes[@]}"}; do
    put "$change"
done
protect
if ! inspect container-mcp config >/dev/null; then
    printf '%s\n' "$old" >"$file"
    die "$file is as it was: the settings are not right"
fi
say "$file is right"
