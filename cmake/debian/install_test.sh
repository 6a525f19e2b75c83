#!/usr/bin/env bash
# install_test.sh FOLDER: dpkg installs the package tessera, removes and purges it; what it made is there as long as it
# should be, and nothing is there afterwards. Happens in a picture of this machine whose changes lie in memory.
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 0
}

fail() {
  echo "install: $*" >&2
  exit 1
}

if [[ ${1:-} != --apart ]]; then
  [[ $(id -u) -eq 0 ]] || skip "only root can install packages"
  unshare --mount true 2>/dev/null || skip "this machine lets nobody mount"
  exec unshare --mount "$0" --apart "$1"
fi

readonly packages=$2
here=$(mktemp -d)
trap 'umount -R "$here" || true; rmdir "$here"' EXIT
# Other packages may say the same of what only they leave.
readonly of_dpkg='^/(var/(lib/dpkg|log|cache)/|etc/[a-z.]*(-|\.lock)$|tmp/)'

make_picture() {
  mount -t tmpfs tmpfs "$here"
  mkdir "$here"/{changes,work,machine}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$here/changes,workdir=$here/work" "$here/machine" 2>/dev/null ||
    skip "this machine has no overlays"
  mount --bind /dev "$here/machine/dev"
  mount -t proc proc "$here/machine/proc" 2>/dev/null || mount --bind /proc "$here/machine/proc"
  mount -t tmpfs tmpfs "$here/machine/tmp"
  cp "$packages"/tessera_*.deb "$here/machine/tmp/tessera.deb"
}

there() { chroot "$here/machine" "$@"; }

# dpkg's own triggers (the manual's index and the like) are other packages' affairs.
run_dpkg() { there dpkg --no-triggers "$@" >"$here/dpkg.log" 2>&1 || fail "dpkg $*: $(cat "$here/dpkg.log")"; }

expect() {  # WHAT IT IS, WHAT IT MUST BE, OF WHAT
  [[ $1 == "$2" ]] || fail "$3 is '$1' instead of '$2'"
}

check_installed() {
  local file
  expect "$(there tessera --version)" "$(there dpkg-query -W -f '${Version}' tessera)" "the version"
  expect "$(there stat -c '%U:%G %a' /etc/tessera)" "root:tessera 750" /etc/tessera
  expect "$(there stat -c '%U:%G %a' /var/lib/tessera)" "tessera:tessera 750" /var/lib/tessera
  expect "$(there getent passwd tessera | cut -d: -f6,7)" "/var/lib/tessera:/usr/sbin/nologin" "the user"
  for file in lib/systemd/system/tessera@.service share/man/man1/tessera.1.gz \
    share/bash-completion/completions/tessera share/zsh/vendor-completions/_tessera \
    share/fish/vendor_completions.d/tessera.fish share/tessera/{get_data.sh,tessera.sbatch,grafana.json} \
    share/tessera/drop-ins/{gpu,home,limits}.conf share/doc/tessera/{copyright,docs/deploy.md}; do
    [[ -e "$here/machine/usr/$file" ]] || fail "/usr/$file is missing"
  done
  [[ -z $(find "$here/machine/etc/systemd" -name 'tessera@*') ]] || fail "a unit is enabled by itself"
  # The service's user can write where it is to write.
  there setpriv --reuid=tessera --regid=tessera --clear-groups env HOME=/var/lib/tessera \
    tessera sim --model=quadratic --nodes=3 --topology=ring --protocol=dpsgd:rounds=2 --quiet \
    --out=/var/lib/tessera/run >/dev/null || fail "the user tessera cannot make a run"
  there /usr/share/tessera/get_data.sh list >/dev/null || fail "get_data.sh does not start"
}

make_picture
before=$(there getent passwd | sha256sum)
run_dpkg -i /tmp/tessera.deb
check_installed
ln -s /usr/lib/systemd/system/tessera@.service "$here/machine/etc/systemd/system/multi-user.target.wants/tessera@alice.service"
run_dpkg -r tessera
[[ ! -e "$here/machine/usr/bin/tessera" ]] || fail "the program is there after its removal"
[[ -e "$here/machine/var/lib/tessera/run/summary.json" ]] || fail "a removal took records with it"
run_dpkg -P tessera
expect "$(there getent passwd | sha256sum)" "$before" "the list of users after a purge"
left=$(cd "$here/changes" && find . -mindepth 1 ! -type c | sed 's/^\.//' | while read -r path; do
  [[ $path =~ $of_dpkg || -e $path || -L $path ]] || echo "$path"
done)
[[ -z $left ]] || fail "a purge leaves $left"
echo "installed, removed and purged"
