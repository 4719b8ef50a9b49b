#!/bin/sh
# Slurm prolog (Prolog= in slurm.conf, as root on each compute node): one mount for each job, so
# that its last byte is durable when the job ends. Adapt the three lines below.
set -eu
SOURCE=${IOFWD_SOURCE:-ion1:7040/scratch}
KEY=${IOFWD_KEY_FILE:-/etc/iofwd/agent.key}
PLACE=${IOFWD_JOB_MOUNTS:-/run/iofwd/jobs}/$SLURM_JOB_ID

mkdir -p "$PLACE"
# Returns when the mount is usable; otherwise Slurm drains the node, and its log says why.
iofwd mount --force --allow-other --key-file "$KEY" "$SOURCE" "$PLACE"
