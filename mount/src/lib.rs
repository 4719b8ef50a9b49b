//! Speaks to the kernel.
