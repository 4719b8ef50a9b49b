#!/bin/sh
# Installs a package on a copy of this system, uses what it brought, removes it, and looks whether
# anything is left. Called by `cargo ci package-trial` in namespaces of its own:
#   try.sh LAYER PACKAGE
set -eu
layer=$1 package=$2

mount --make-rprivate /
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root" || exit 77
root=$layer/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for place in tmp run; do mount -t tmpfs tmpfs "$root/$place"; done
cp "$package" "$root/tmp/iofwd.deb"

chroot "$root" sh -eux <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive
dpkg -i /tmp/iofwd.deb
dpkg -L iofwd | sort > /tmp/installed

# It runs, and is documented.
iofwd --version
for page in iofwd iofwd-mount iofwd-agent iofwd-status iofwd-top mount.fuse.iofwd; do
    ls /usr/share/man/man[18]/$page.[18].gz
done
bash -n /usr/share/bash-completion/completions/iofwd
for unit in /usr/lib/systemd/system/iofwd-*.service; do
    if command -v systemd-analyze; then systemd-analyze verify --man=no "$unit"; fi
done

# mount(8) finds the helper.
mkdir -p /tmp/data /tmp/mounted
echo here > /tmp/data/file
mount -t fuse.iofwd /tmp/data /tmp/mounted -o allow_other
grep here /tmp/mounted/file
iofwd status --once /tmp/mounted | grep '^well'
iofwd unmount /tmp/mounted

# The agent serves with the settings of the example, but for the place of its socket.
mkdir -p /srv/scratch /run/iofwd
sed 's|^listen = .*|listen = ["unix:/run/iofwd/agent.sock"]|' \
    /usr/share/doc/iofwd/examples/agent.toml > /etc/iofwd/agent.toml
iofwd agent --config /etc/iofwd/agent.toml --check
iofwd agent --config /etc/iofwd/agent.toml --log-file /tmp/agent.log &
agent=$!
for attempt in $(seq 200); do test -S /run/iofwd/agent.sock && break; sleep 0.05; done
# As a job's prolog and epilog do it.
export SLURM_JOB_ID=4711 IOFWD_SOURCE=unix:/run/iofwd/agent.sock IOFWD_JOB_MOUNTS=/run/iofwd/jobs
iofwd key new /etc/iofwd/agent.key
sh /usr/share/doc/iofwd/examples/slurm/prolog.sh
eval "$(sh /usr/share/doc/iofwd/examples/slurm/task_prolog.sh)"
cp /usr/share/doc/iofwd/guide.md "$IOFWD_SCRATCH/copy"
cmp /usr/share/doc/iofwd/guide.md /srv/scratch/copy
iofwd status --once | tee /tmp/status
grep '^well' /tmp/status
grep 4711 /tmp/status
sh /usr/share/doc/iofwd/examples/slurm/epilog.sh
test ! -e /run/iofwd/jobs/4711
kill $agent
wait $agent
tail -3 /tmp/agent.log

# Removed, it leaves nothing but what was made by hand.
dpkg -r iofwd
while read -r path; do
    test -d "$path" && continue
    if test -e "$path" || test -L "$path"; then echo "$path is left"; exit 1; fi
done < /tmp/installed
INSIDE
