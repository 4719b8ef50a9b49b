//! One of every message that only data servers get.

use iofwd::wire::stripe::{FileCall, ObjectCall, ObjectId, Standing, Stripes, Wish};
use iofwd_mount::store::{HandleId, NodeId};

const OBJECT: ObjectId = ObjectId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const NODE: NodeId = NodeId(7);
const HANDLE: HandleId = HandleId(9);

/// Of any data server.
pub(crate) fn objects() -> Vec<(&'static str, ObjectCall)> {
    let (object, epoch, offset, length) = (OBJECT, 3, 1 << 40, 70_000);
    vec![
        ("identify", ObjectCall::Identify),
        ("object_read", ObjectCall::Read { object, offset, length: 70_000 }),
        ("object_write", ObjectCall::Write { object, epoch, offset }),
        ("object_cut", ObjectCall::Cut { object, epoch, size: 300 }),
        ("object_allocate", ObjectCall::Allocate { object, epoch, mode: 3, offset, length }),
        ("object_seek", ObjectCall::Seek { object, offset, hole: true }),
        ("object_sync", ObjectCall::Sync { object, data_only: true }),
        ("sync_all", ObjectCall::SyncAll),
        ("object_remove", ObjectCall::Remove { object }),
        ("object_list", ObjectCall::List { after: Some(object) }),
        ("objects_statfs", ObjectCall::Statfs),
        ("evict", ObjectCall::Evict { agent: [7; 16] }),
    ]
}

/// Of the one that has the names.
pub(crate) fn files() -> Vec<(&'static str, FileCall)> {
    let (node, handle, epoch) = (NODE, HANDLE, 3);
    let wish = Some(Wish { unit: 1 << 16, count: 4, of: 5 });
    vec![
        ("enrol", FileCall::Enrol),
        ("stripes", FileCall::Stripes { node, wish }),
        ("wrote", FileCall::Wrote { handle, end: 1 << 33, epoch, append: true }),
        ("append", FileCall::Append { handle }),
        ("truncate", FileCall::Truncate { node, handle: Some(handle), size: 5 }),
        ("trimmed", FileCall::Trimmed { node, epoch }),
        ("orphans", FileCall::Orphans),
        ("freed", FileCall::Freed { object: OBJECT }),
    ]
}

/// How a file stands.
pub(crate) fn standing() -> Standing {
    Standing { accepted: true, size: 1 << 33, epoch: 4, cut: Some(300) }
}

/// How a file is striped.
pub(crate) fn stripes() -> Stripes {
    Stripes { object: OBJECT, unit: 1 << 16, servers: vec![2, 3, 0, 1], epoch: 4, cut: None }
}
