#!/usr/bin/env bash
# Prepares this folder and this machine for running Container-MCP in a container.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages
. scripts/lib/container

for argument in "$@"; do
    case $argument in
    --help | -h)
        cat <<'TEXT'
Usage: scripts/01-init.sh [--no-install]

Makes volume/config, volume/data, volume/logs and volume/sandbox, installs Podman where neither Podman nor Docker is there
(and runc, where the machine's cgroups want it), loads the AppArmor profiles where the kernel has AppArmor, and says what this
machine lacks. May be run again at any time.

  --no-install   install and load nothing, only make the folders and look

CONTAINER_ENGINE=podman|docker chooses the engine; CONTAINER_MCP_VOLUMES names another folder than volume.
TEXT
        exit 0 ;;
    --no-install) no_install=yes ;;
    *) die "unknown option $argument: see scripts/01-init.sh --help" ;;
    esac
done

make_folders() {
    local each
    for each in $volume_names; do
        mkdir -p "$volumes/$each"
    done
    chmod 0750 "$volumes"/*
}

install_engine() {
    [ -z "${no_install:-}" ] || return 0
    # shellcheck disable=SC2086 # one word a package
    works podman || works docker || require_packages $podman_packages
    engine=podman kind=podman
    if works podman && wants_runc; then require_packages runc; fi
}

load_profiles() {
    [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] || return 0
    local profiles=(container/apparmor/*)
    [ -e "${profiles[0]}" ] && [ -z "${no_install:-}" ] || return 0
    command -v apparmor_parser >/dev/null || { say "apparmor_parser is missing: the AppArmor profiles are not loaded"; return 0; }
    can_be_root || { say "only root can load the AppArmor profiles: apparmor_parser --replace container/apparmor/*"; return 0; }
    as_root apparmor_parser --replace --skip-cache "${profiles[@]}" && say "AppArmor profiles are loaded"
}

# value_of FILE: nothing where the kernel has no such setting.
value_of() { cat "/proc/sys/$1" 2>/dev/null || true; }

look_at_machine() {
    [ "$(value_of kernel/unprivileged_userns_clone)" != 0 ] || say "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1"
    [ "$(value_of user/max_user_namespaces)" != 0 ] || say "user namespaces are switched off: sysctl user.max_user_namespaces=10000"
    if [ "$(value_of kernel/apparmor_restrict_unprivileged_userns)" = 1 ] && ! apparmor_profile_loaded container-mcp; then
        say "AppArmor keeps user namespaces from programs without a profile: load container/apparmor/ as root"
    fi
    if rootless_engine && [ "$kind" = podman ] && ! grep -q "^$(id -un):" /etc/subuid; then
        say "no subordinate ids for $(id -un), which a rootless Podman needs: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
    fi
}

look_at_storage() {
    [ "$kind" = podman ] && [ "$("$engine" info --format '{{.Store.GraphDriverName}}')" = vfs ] || return 0
    say "Podman copies every image whole (storage driver vfs), which is slow: a storage.conf with 'driver = \"overlay\"' below [storage]" \
        "in ~/.config/containers changes that, after 'podman system reset'"
}

make_folders
install_engine
load_profiles
find_engine
look_at_machine
look_at_storage
say "ready: $kind $("$engine" --version | sed -E 's/[^0-9]*([0-9.]+).*/\1/') with $(runtime_name), folders in $volumes/"
