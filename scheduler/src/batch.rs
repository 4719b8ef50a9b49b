//! What goes out as one: requests of one file, operation and server that touch each other there.

use crate::request::{Extent, FileId, Operation, Request, ServerId};

/// One or more requests to be issued together; never empty, ascending, each touching the next in
/// the server's object.
///
/// A batch of one, the most frequent, needs no memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch(Members);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Members {
    One(Request),
    Many(Vec<Request>),
}

impl Batch {
    /// A batch of a single request.
    pub const fn one(request: Request) -> Batch {
        Batch(Members::One(request))
    }

    /// A batch of these requests, which must keep the promise of the type.
    ///
    /// # Panics
    /// If they do not: a policy that breaks it would read or write other bytes than were asked for.
    pub fn new(requests: Vec<Request>) -> Batch {
        assert!(!requests.is_empty(), "a batch has at least one member");
        for pair in requests.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let together = a.file == b.file && a.operation == b.operation && a.server == b.server;
            assert!(together, "members of a batch share file, operation and server: {a:?}, {b:?}");
            let touching = a.local_extent().touches(b.local_extent());
            assert!(touching, "members of a batch touch at the server: {a:?}, {b:?}");
        }
        match requests.len() {
            1 => Batch::one(requests[0]),
            _ => Batch(Members::Many(requests)),
        }
    }

    /// A batch of what `take` gives for each slot of a run, which is not empty.
    pub(crate) fn gathered(run: &[u32], mut take: impl FnMut(u32) -> Request) -> Batch {
        match run {
            &[only] => Batch::one(take(only)),
            _ => Batch::new(run.iter().map(|&slot| take(slot)).collect()),
        }
    }

    /// The members, in ascending order.
    pub fn requests(&self) -> &[Request] {
        match &self.0 {
            Members::One(request) => std::slice::from_ref(request),
            Members::Many(requests) => requests,
        }
    }

    /// The first member.
    pub fn first(&self) -> &Request {
        match &self.0 {
            Members::One(request) => request,
            Members::Many(requests) => &requests[0],
        }
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.requests().len()
    }

    /// Bytes of all members.
    pub fn bytes(&self) -> u64 {
        self.requests().iter().map(Request::length).sum()
    }

    /// The file.
    pub fn file(&self) -> FileId {
        self.first().file
    }

    /// Read or write.
    pub fn operation(&self) -> Operation {
        self.first().operation
    }

    /// The server.
    pub fn server(&self) -> ServerId {
        self.first().server
    }

    /// All its bytes, as offsets in the server's object.
    pub fn local_extent(&self) -> Extent {
        Extent::new(self.first().local, self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{JobId, RequestId};
    use crate::time::Time;

    fn request(id: u64, local: u64, server: u32) -> Request {
        Request {
            id: RequestId(id),
            file: FileId(1),
            job: JobId(0),
            server: ServerId(server),
            operation: Operation::Read,
            extent: Extent::new(local * 4, 10),
            local,
            arrived: Time::ZERO,
        }
    }

    #[test]
    fn spans_its_members() {
        let batch = Batch::new(vec![request(1, 20, 0), request(2, 30, 0), request(3, 40, 0)]);
        assert_eq!((batch.members(), batch.bytes()), (3, 30));
        assert_eq!(batch.local_extent(), Extent::new(20, 30));
        assert_eq!(Batch::new(vec![request(1, 5, 0)]), Batch::one(request(1, 5, 0)));
    }

    #[test]
    #[should_panic(expected = "touch at the server")]
    fn refuses_a_gap() {
        Batch::new(vec![request(1, 20, 0), request(2, 31, 0)]);
    }

    #[test]
    #[should_panic(expected = "share file, operation and server")]
    fn refuses_two_servers() {
        Batch::new(vec![request(1, 20, 0), request(2, 30, 1)]);
    }
}
