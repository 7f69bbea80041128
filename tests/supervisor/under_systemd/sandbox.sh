#!/bin/bash
# A real `systemd --user` manager for one command, on a machine without logind or a system manager.
#   sandbox.sh [-t SECONDS] [-k] COMMAND [ARG...]
# Runs COMMAND in a new pid + mount namespace, in which a user manager of systemd serves
# $XDG_RUNTIME_DIR=/run/user/UID (systemctl --user, systemd-run --user) and journald keeps a journal in memory:
#   journalctl -o cat _SYSTEMD_USER_UNIT=NAME.service     journalctl -o cat _PID=$(pgrep -xo systemd)
# Everything in it dies with it (pid namespace); its cgroup is removed; nothing outside is touched.
# Exit status: COMMAND's; 97 no sandbox possible here (no root, no unshare, no systemd); 98 manager did not start; 124 timed out.
# -k keeps the manager's stderr (path on stderr); SANDBOX_LOG_LEVEL=debug for more in the journal. HOME is a scratch folder, so no unit of yours is seen or changed.
# Units: put them into $XDG_CONFIG_HOME/systemd/user (scratch too), then `systemctl --user daemon-reload`.
set -u
limit=120 keep=0
if [ "${1-}" != --inner ] && [ "${1-}" != --inside ]; then
  while getopts t:k o; do case $o in t) limit=$OPTARG ;; k) keep=1 ;; *) exit 2 ;; esac; done
  shift $((OPTIND - 1))
  [ $# -gt 0 ] || { sed -n 2,10p "$0" >&2; exit 2; }
  manager=/lib/systemd/systemd
  [ "$(id -u)" = 0 ] && [ -x $manager ] && command -v unshare >/dev/null || { echo "no sandbox: needs root, unshare, $manager" >&2; exit 97; }
  unshare --mount --pid --fork true 2>/dev/null || { echo "no sandbox: unshare is not permitted here" >&2; exit 97; }
  work=$(mktemp -d "${TMPDIR:-/tmp}/sd-sandbox.XXXXXX") || exit 97
  group=sd-sandbox-$$
  timeout --kill-after=5 "$limit" unshare --mount --pid --fork --kill-child --mount-proc \
    bash "$0" --inner "$work" "$group" "$manager" "$@"
  status=$?
  # the cgroup is visible only in a cgroup2 mount of our own
  unshare --mount bash -c '
    mount --make-rprivate / && umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup || exit 0
    for i in 1 2 3 4 5 6 7 8 9 10; do
      [ -d "/sys/fs/cgroup/$1" ] || exit 0
      echo 1 > "/sys/fs/cgroup/$1/cgroup.kill" 2>/dev/null; sleep 0.05
      find "/sys/fs/cgroup/$1" -depth -type d -exec rmdir {} + 2>/dev/null
    done' _ "$group"
  if [ $keep = 1 ]; then echo "log: $work/manager.log" >&2; else rm -rf "$work"; fi
  exit $status
fi
stage=$1 work=$2 group=$3 manager=$4; shift 4
cgroups() { umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup || exit 97; }
if [ "$stage" = --inner ]; then                   # a cgroup namespace, so that unit paths look as on a real machine
  mount --make-rprivate / || exit 97
  cgroups
  mkdir "/sys/fs/cgroup/$group" && echo $$ > "/sys/fs/cgroup/$group/cgroup.procs" || exit 97
  exec unshare --cgroup bash "$0" --inside "$work" "$group" "$manager" "$@"
fi
mount -t tmpfs -o mode=755 none /run || exit 97
uid=$(id -u); mkdir -p /run/systemd/system /run/user/$uid; chmod 700 /run/user/$uid
cgroups
seat=/sys/fs/cgroup/user.slice/user-$uid.slice/user@$uid.service
mkdir -p "$seat" /sys/fs/cgroup/tests && echo $$ > /sys/fs/cgroup/tests/cgroup.procs || exit 97
export XDG_RUNTIME_DIR=/run/user/$uid DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$uid/bus
export HOME=$work/home XDG_CONFIG_HOME=$work/home/.config XDG_STATE_HOME=$work/home/.local/state XDG_DATA_HOME=$work/home/.local/share
export SANDBOX_LOG=$work/manager.log
mkdir -p "$XDG_CONFIG_HOME/systemd/user" "$XDG_STATE_HOME" "$XDG_DATA_HOME"
unset NOTIFY_SOCKET LISTEN_FDS LISTEN_PID LISTEN_FDNAMES INVOCATION_ID JOURNAL_STREAM
if [ -x /lib/systemd/systemd-journald ]; then     # `journalctl` and StandardOutput=journal work as on a real machine
  mkdir -p /run/systemd/journald.conf.d /run/log/journal
  printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nRateLimitBurst=0\nForwardToSyslog=no\n' > /run/systemd/journald.conf.d/sandbox.conf
  setsid /lib/systemd/systemd-journald < /dev/null > "$work/journald.log" 2>&1 &
  for i in $(seq 100); do [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ] && break; sleep 0.02; done
fi
setsid bash -c 'echo $$ > "$1" && exec "$2" --user --log-target=journal --log-level="$3"' _ \
  "$seat/cgroup.procs" "$manager" "${SANDBOX_LOG_LEVEL:-info}" \
  < /dev/null > "$SANDBOX_LOG" 2>&1 &
pid=$!
for i in $(seq 200); do
  s=$(systemctl --user is-system-running 2>/dev/null)
  case $s in running | degraded) break ;; esac
  kill -0 $pid 2>/dev/null || { cat "$SANDBOX_LOG" >&2; exit 98; }
  sleep 0.05
done
case ${s-} in running | degraded) ;; *) cat "$SANDBOX_LOG" >&2; exit 98 ;; esac
"$@"
exit $?          # pid 1 of the namespace ends: the kernel kills the rest
