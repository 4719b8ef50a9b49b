//! What the engine is asked to do, on whose behalf, and the requests that come of it.

use std::sync::Arc;

use iofwd_mount::caller::RequestKey;
use iofwd_scheduler::layout::Piece as Stretch;
use iofwd_scheduler::request::{JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::time::Time;

use super::{Target, Ticket};

/// On whose behalf a read or write is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// Names the call, should it be interrupted.
    pub(crate) key: RequestKey,
    /// The job it belongs to.
    pub(crate) job: JobId,
    /// It must not be done twice.
    pub(crate) once: Option<Ticket>,
}

/// Who asks for what, of which file.
pub(super) struct Asked<'a> {
    pub(super) asker: Asker,
    pub(super) open: &'a Arc<dyn Target>,
    pub(super) operation: Operation,
}

impl Asked<'_> {
    /// Bytes that nobody is known to hold yet go to the first server's queue, and it is time to ask
    /// again who does.
    fn unmapped(&self) -> ServerId {
        self.open.doubt();
        ServerId(0)
    }

    pub(super) fn request(&self, id: RequestId, stretch: &Stretch, arrived: Time) -> Request {
        Request {
            id,
            file: self.open.file(),
            job: self.asker.job,
            server: stretch.server.unwrap_or_else(|| self.unmapped()),
            operation: self.operation,
            extent: stretch.extent,
            local: stretch.local,
            arrived,
        }
    }
}
