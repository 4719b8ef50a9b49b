//! iofwd: a FUSE-mounted I/O forwarding file system. The map of the house is in `ARCHITECTURE.md`.
