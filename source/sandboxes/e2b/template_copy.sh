# Files of an archive whose names match the source go to the target, as COPY of a Dockerfile puts them.
set -e
archive=$1 source=$2 target=$3 owner=$4 mode=$5
made=$(mktemp -d) && trap 'rm -rf "$made" "$archive"' EXIT
tar -xf "$archive" -C "$made" --no-same-owner
cd "$made"
shopt -s nullglob dotglob
IFS=
files=($source)
IFS=' '
[ ${#files[@]} -gt 0 ] || { echo "no file of the archive is called $source" >&2; exit 1; }
put() {
  if [ "$(id -u)" = 0 ]; then chown -R -h "$owner:" "$1"; fi
  if [ -n "$mode" ]; then chmod -R "$mode" "$1"; fi
}
if [ ${#files[@]} -eq 1 ] && [ ! -d "${files[0]}" -o -L "${files[0]}" ] && [ "${target%/}" = "$target" ] && [ ! -d "$target" ] && [ "$source" = "${files[0]}" ]; then
  mkdir -p "$(dirname "$target")"; put "${files[0]}"; cp -a "${files[0]}" "$target"
else
  mkdir -p "$target"
  for each in "${files[@]}"; do
    put "$each"
    if [ -d "$each" ] && [ ! -L "$each" ] && [ "$source" = "$each" ]; then cp -a "$each/." "$target"; else cp -a "$each" "$target"; fi
  done
fi
if [ "$(id -u)" = 0 ]; then
  top=$target; while [ "$(dirname "$top")" != / ] && [ -O "$(dirname "$top")" ] && [ "$(dirname "$top")" != "${HOME:-/}" ]; do top=$(dirname "$top"); done
  case $top in /home/*) chown -h "$owner:" "$top" "$target" ;; esac
fi
