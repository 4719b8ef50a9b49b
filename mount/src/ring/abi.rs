//! The kernel's structures for requests over `io_uring` (`linux/fuse.h`, since 6.14).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Room for the header of a request or of an answer.
pub(super) const HEADER_ROOM: usize = 128;
/// Room for the fixed arguments of a request.
pub(super) const ARGUMENTS_ROOM: usize = 128;
/// Where the fixed arguments begin.
pub(super) const ARGUMENTS_AT: usize = HEADER_ROOM;
/// Where the terms of the exchange stand.
pub(super) const TERMS_AT: usize = HEADER_ROOM + ARGUMENTS_ROOM;
/// All of it.
pub(super) const HEADERS: usize = TERMS_AT + size_of::<Terms>();

/// How long the payload is, and under which number the kernel waits for the answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
pub(super) struct Terms {
    pub(super) flags: u64,
    pub(super) commit: u64,
    pub(super) payload: u32,
    pub(super) padding: u32,
    pub(super) reserved: u64,
}

/// What a submission tells the FUSE device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    /// Here is room for a request.
    Register,
    /// Here is the answer to that request; the room is free for the next.
    CommitAndFetch(u64),
}

/// A submission of 128 bytes, as the kernel lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug, IntoBytes, Immutable)]
pub(super) struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    file: i32,
    command: u32,
    padding: u32,
    /// Points to two pieces of memory, when they are registered.
    places: u64,
    places_count: u32,
    command_flags: u32,
    user_data: u64,
    rest: [u64; 1],
    request_flags: u64,
    request_commit: u64,
    request_queue: u64,
    unused: [u64; 7],
}

const _: () = assert!(size_of::<Submission>() == 128);

/// `IORING_OP_URING_CMD`.
const URING_CMD: u8 = 46;

impl Submission {
    /// `places`: header and payload; looked at when they are registered, and never again.
    pub(super) fn new(
        file: i32,
        queue: u16,
        command: Command,
        places: &[libc::iovec; 2],
        user_data: u64,
    ) -> Submission {
        let (number, commit) = match command {
            Command::Register => (1, 0),
            Command::CommitAndFetch(commit) => (2, commit),
        };
        Submission {
            opcode: URING_CMD,
            flags: 0,
            priority: 0,
            file,
            command: number,
            padding: 0,
            places: places.as_ptr() as u64,
            places_count: 2,
            command_flags: 0,
            user_data,
            rest: [0],
            request_flags: 0,
            request_commit: commit,
            request_queue: u64::from(queue),
            unused: [0; 7],
        }
    }
}
