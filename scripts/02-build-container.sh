#!/usr/bin/env bash
# Builds the container's image.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages
. scripts/lib/container

base=ubuntu:24.04
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        cat <<'TEXT'
Usage: scripts/02-build-container.sh [--base IMAGE | --base-from-packages [SUITE]] [--deb FILE] [--extra PACKAGES] [-- FLAG…]

Builds the image localhost/container-mcp. What did not change is taken from the engine's cache.

  --base IMAGE                   base image: Ubuntu 24.04 (the default), Debian 12 or 13
  --base-from-packages [SUITE]   make the base image of this machine's Debian mirror with mmdebstrap (bookworm unless
                                 named), where no image registry can be reached
  --deb FILE                     put this Debian package in instead of compiling inside; it must fit the base image
  --extra PACKAGES               Debian packages that runs shall find, for example "python3-numpy python3-pandas"
  -- FLAG…                       further flags of `podman build` or `docker build`

CONTAINER_ENGINE=podman|docker chooses the engine; CONTAINER_MCP_IMAGE names another image.
TEXT
        exit 0 ;;
    --base) base=${2:?--base needs an image}; shift ;;
    --base-from-packages)
        suite=bookworm
        case ${2:-} in '' | --*) ;; *) suite=$2; shift ;; esac ;;
    --deb) deb=${2:?--deb needs a file}; shift ;;
    --extra) extra=${2:?--extra needs names of packages}; shift ;;
    --) shift; break ;;
    *) die "unknown option $1: see scripts/02-build-container.sh --help" ;;
    esac
    shift
done

# The sources of this machine are used so that its mirror, and nothing else, is asked.
make_base() {
    base=localhost/container-mcp-base:$suite
    "$engine" image inspect "$base" >/dev/null 2>&1 && return
    require_packages mmdebstrap
    say "making $base"
    local archive
    archive=$(mktemp --suffix .tar)
    if package_sources "$suite" | mmdebstrap --quiet --variant=minbase "$suite" "$archive" - &&
        "$engine" import "$archive" "$base" >/dev/null; then
        rm -f "$archive"
    else
        rm -f "$archive"
        die "the base image could not be made of packages"
    fi
}

# Instead of the project a folder with the package, and instead of the stage that compiles one that hands it on: not every
# engine's builder can be told to take a stage from elsewhere.
use_package() {
    [ -f "$deb" ] || die "there is no file $deb"
    context=$(mktemp -d)
    trap 'rm -rf "$context"' EXIT
    cp "$deb" "$context/container-mcp.deb"
    file=$context/Containerfile
    awk '/^FROM .* AS build$/ { print "FROM scratch AS build\nCOPY container-mcp.deb /out/"; skip = 1; next }
        /^FROM / { skip = 0 }
        !skip' container/Containerfile >"$file"
}

find_engine
context=. file=container/Containerfile
[ -z "${deb:-}" ] || use_package
network=()
if [ -n "${suite:-}" ]; then
    make_base
    network=(--network host)    # the machine's mirror may be reached in no other way than the machine reaches it
fi
format=()
[ "$kind" = docker ] || format=(--format docker)    # the other format has no health check
say "building $image on $base"
"$engine" build "${format[@]}" -f "$file" -t "$image" --build-arg "BASE_IMAGE=$base" \
    --build-arg "EXTRA_PACKAGES=${extra:-}" --build-arg "BUILD_JOBS=$(nproc)" "${limits[@]}" "${network[@]}" "$@" "$context"
say "built $image"
