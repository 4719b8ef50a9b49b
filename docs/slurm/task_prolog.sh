#!/bin/sh
# Slurm task prolog (TaskProlog= in slurm.conf, as the user): tells the job where its mount is.
echo "export IOFWD_SCRATCH=${IOFWD_JOB_MOUNTS:-/run/iofwd/jobs}/$SLURM_JOB_ID"
