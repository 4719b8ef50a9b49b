#!/bin/sh
# Slurm epilog (Epilog= in slurm.conf, as root on each compute node): unmounts what the prolog
# mounted. Unmounting waits for everything under way and makes it durable; if something could not be
# written it fails, and with it the epilog, so that Slurm drains the node and somebody looks.
set -eu
PLACE=${IOFWD_JOB_MOUNTS:-/run/iofwd/jobs}/$SLURM_JOB_ID

[ -d "$PLACE" ] || exit 0
iofwd unmount --timeout 300 "$PLACE"
rmdir "$PLACE"
