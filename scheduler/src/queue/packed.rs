//! A request as it lies in memory: one of a million, so every byte counts.

use crate::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use crate::time::Time;

/// A request in 56 bytes: no length passes 4 GiB, and servers are fewer than 2^31.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) id: RequestId,
    file: FileId,
    job: JobId,
    offset: u64,
    pub(super) local: u64,
    arrived: Time,
    pub(super) length: u32,
    /// The server, and in the lowest bit whether it is a write.
    server: u32,
}

impl Packed {
    /// Stands where no request is.
    pub(super) const NONE: Packed = Packed {
        id: RequestId(0),
        file: FileId(0),
        job: JobId(0),
        offset: 0,
        local: 0,
        arrived: Time::ZERO,
        length: 0,
        server: 0,
    };

    #[inline]
    pub(super) fn new(request: &Request) -> Packed {
        let Request { id, file, job, server, operation, extent, local, arrived } = *request;
        let length = u32::try_from(extent.length).expect("no kernel asks for 4 GiB at once");
        let server = server.0 << 1 | u32::from(operation == Operation::Write);
        Packed { id, file, job, offset: extent.offset, local, arrived, length, server }
    }

    #[inline]
    pub(super) const fn unpack(&self) -> Request {
        Request {
            id: self.id,
            file: self.file,
            job: self.job,
            server: ServerId(self.server >> 1),
            operation: if self.server & 1 == 1 { Operation::Write } else { Operation::Read },
            extent: Extent::new(self.offset, self.length as u64),
            local: self.local,
            arrived: self.arrived,
        }
    }
}
