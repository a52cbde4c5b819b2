#!/usr/bin/env bash
# Runs the container with the settings of volume/config/custom.env.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages
. scripts/lib/container

action=run masks=
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        cat <<'TEXT'
Usage: scripts/04-run-container.sh [--stop | --restart | --print] [--keep-masks] [-- FLAG…]

Starts the container and waits until the server answers. One that runs already with the same image, flags and settings
is left alone; otherwise it is replaced. The sandboxes in volume/sandbox stay.

  --stop         stop it: running calls get ten seconds to end
  --restart      stop and start it
  --print        show the command line and do nothing
  --keep-masks   leave parts of the container's /proc covered, as engines do unless told otherwise; the kernel then gives
                 runs no /proc of their own, and they have none; without writable cgroups either, the server wants a
                 SANDBOX_REQUIRE without limits
  -- FLAG…       further flags of `podman run` or `docker run`

The container has no capabilities, no new privileges, a read-only root, its own system call profile
(container/seccomp.json). It is not privileged. CONTAINER_MCP_APPARMOR names an AppArmor profile that lets it mount.
CONTAINER_ENGINE, CONTAINER_MCP_IMAGE, CONTAINER_MCP_NAME and CONTAINER_MCP_VOLUMES choose others.
TEXT
        exit 0 ;;
    --stop) action=stop ;;
    --restart) action=restart ;;
    --print) action=print ;;
    --keep-masks) masks=kept ;;
    --) shift; break ;;
    *) die "unknown option $1: see scripts/04-run-container.sh --help" ;;
    esac
    shift
done

# The sandbox mounts a /proc for each run. The kernel allows that only where the /proc outside is not covered anywhere.
# What is uncovered is for root, whom the server is not, or readable for every user of a machine.
unmask_flag() {
    [ -z "$masks" ] || return 0
    if [ "$kind" = podman ]; then echo unmask=ALL; else echo systempaths=unconfined; fi
}

# The engines' own AppArmor profile forbids every mount, also those that a sandbox makes in its own namespace.
apparmor_flag() {
    [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] || return 0
    if rootless_engine && [ "$kind" = podman ]; then return 0; fi    # it applies no profile
    echo "apparmor=${CONTAINER_MCP_APPARMOR:-unconfined}"
}

# Inside the server listens everywhere. Where the engine publishes the port on the loopback address only, nobody else reaches it.
auth_flag() {
    case $1 in 127.* | localhost | ::1 | "[::1]") ;; *) return 0 ;; esac
    [ "$(setting_in_force MCP_AUTH)" != auto ] || echo MCP_AUTH=none
}

collect_flags() {
    local each option address port
    address=$(setting_in_force MCP_HOST)
    port=$(setting_in_force MCP_PORT)
    [ -n "$port" ] || die "the settings in $volumes/config/custom.env are not right: scripts/03-setup-environment.sh checks them"
    flags=(--name "$name" --detach --read-only --tmpfs '/tmp:rw,nosuid,nodev,size=256m' --cap-drop ALL
        --security-opt no-new-privileges --security-opt "seccomp=$PWD/container/seccomp.json"
        --pids-limit 4096 --memory "${CONTAINER_MCP_MEMORY:-2g}" --restart unless-stopped --stop-timeout 20
        --publish "$address:$port:$port" "${limits[@]}" "${user_mapping[@]}")
    option=$(auth_flag "$address")
    [ -z "$option" ] || flags+=(--env "$option")
    # Podman's health checks are timers of systemd.
    if [ "$kind" = podman ] && [ ! -d /run/systemd/system ]; then flags+=(--no-healthcheck); fi
    for option in "$(unmask_flag)" "$(apparmor_flag)"; do
        [ -z "$option" ] || flags+=(--security-opt "$option")
    done
    flags+=(--volume "$PWD/$volumes/config:/app/config:ro$(selinux_label)")
    flags+=(--volume "$PWD/$volumes/data:/app/data:ro$(selinux_label)")
    for each in logs sandbox; do
        flags+=(--volume "$PWD/$volumes/$each:/app/$each:rw$(selinux_label)")
    done
}

give_volumes_to_server() {
    if [ ${#user_mapping[@]} != 0 ]; then return; fi
    if [ "$(id -u)" = 0 ] && ! rootless_engine; then
        chown "$server_uid:$server_uid" "$volumes"/{data,logs,sandbox}
        chgrp "$server_uid" "$volumes/config"
        return
    fi
    local mounts=() each
    for each in $volume_names; do mounts+=(--volume "$PWD/$volumes/$each:/v/$each"); done
    "$engine" run --rm --user 0 --network none --no-healthcheck "${limits[@]}" "${mounts[@]}" --entrypoint sh "$image" \
        -c "chown $server_uid:$server_uid /v/data /v/logs /v/sandbox && chgrp -R $server_uid /v/config"
}

# Tells one way of running from another: image, flags and settings.
fingerprint() {
    { "$engine" image inspect --format '{{.Id}}' "$image"; printf '%s\n' "${flags[@]}" "$@"
      cat container/seccomp.json "$volumes/config/custom.env" 2>/dev/null; } | sha256sum | cut -c 1-32
}

running_fingerprint() {
    "$engine" container inspect --format '{{if .State.Running}}{{index .Config.Labels "container-mcp.run"}}{{end}}' "$name" 2>/dev/null || true
}

stop() {
    "$engine" container inspect "$name" >/dev/null 2>&1 || return 0
    say "stopping $name"
    "$engine" stop "$name" >/dev/null 2>&1 || true
    "$engine" rm --force "$name" >/dev/null
}

wait_until_healthy() {
    local left=120
    until "$engine" exec "$name" container-mcp health >/dev/null 2>&1; do
        left=$((left - 1))
        if [ "$left" = 0 ] || [ "$("$engine" container inspect --format '{{.State.Running}}' "$name")" != true ]; then
            "$engine" logs "$name" >&2 || true
            die "the server in the container does not answer; its log is above"
        fi
        sleep 0.5
    done
}

find_engine
if [ "$action" = stop ]; then
    stop
    exit 0
fi
need_image
need_volumes
map_user
collect_flags
flags+=("$@")
mark=$(fingerprint "$@")
flags+=(--label "container-mcp.run=$mark")
if [ "$action" = print ]; then
    printf '%q ' "$engine" run "${flags[@]}" "$image"
    echo
    exit 0
fi
if [ "$action" = run ] && [ "$(running_fingerprint)" = "$mark" ]; then
    say "$name runs already"
else
    stop
    give_volumes_to_server
    say "starting $name"
    "$engine" run "${flags[@]}" "$image" >/dev/null
fi
wait_until_healthy
say "serving on http://$(setting_in_force MCP_HOST):$(setting_in_force MCP_PORT) (/mcp, /sse)"
