//! The FUSE protocol as the kernel defines it: bytes to values and back, nothing else.

pub(crate) mod answer;
pub(crate) mod opcode;
pub(crate) mod question;

pub(crate) use opcode::Opcode;
