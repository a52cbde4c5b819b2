# A command of a template: the account, the folder and the command. In a sandbox of class strict there is one account.
name=$1 folder=$2 command=$3 home=
if [ "$(id -u)" = 0 ]; then
  while IFS=: read -r account x uid gid about home rest; do [ "$account" = "$name" ] && break; home=; done < /etc/passwd
  [ -n "$home" ] || { echo "command failed: unauthenticated: invalid username: '$name'" >&2; exit 126; }
  [ -d "$home" ] && [ -O "$home" ] && [ "$name" != root ] && chown "$uid:$gid" "$home"
  export HOME=$home USER=$name LOGNAME=$name
fi
cd "$folder" || exit 125
if [ "$(id -u)" = 0 ] && [ "$name" != root ]; then
  exec setpriv --reuid "$uid" --regid "$gid" --init-groups /bin/bash -l -c "$command"
fi
exec /bin/bash -l -c "$command"
