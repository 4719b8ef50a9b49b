//! Where agents wait for the objects of a data server: as long as its device takes, if it is to be as slow
//! as one; and who meets whom here is counted.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use iofwd_scheduler::request::{Extent, Operation};
use iofwd_scheduler::time::{Span, Time};

use crate::crowd::Crowd;
use crate::device::{Device, Spec, Work};
use crate::report::Report;
use crate::wire::stripe::{ObjectCall, ObjectId};

/// What stands before the objects.
#[derive(Debug)]
pub struct Desk {
    device: Option<Device>,
    crowd: Mutex<Crowd>,
}

impl Desk {
    /// With a device that reads and writes wait for, if there is to be one, and windows of this length
    /// in which those who meet are counted.
    pub fn new(device: Option<&Spec>, window: Span) -> Desk {
        Desk { device: device.map(Device::new), crowd: Mutex::new(Crowd::new(window)) }
    }

    /// Do what an agent asks for, when its turn has come.
    pub(super) fn serve<T>(
        &self,
        agent: u64,
        call: &ObjectCall,
        payload: &[u8],
        serve: impl FnOnce() -> T,
    ) -> T {
        let Some((object, extent, operation)) = transfer(call, payload) else { return serve() };
        // Sessions are numbered in 24 bits.
        let sender = agent as u32;
        self.crowd().arrive(wall(), sender);
        if let Some(device) = &self.device {
            device.serve(&Work { sender, object, extents: &[extent], operation });
        }
        let served = serve();
        self.crowd().leave(wall(), sender);
        served
    }

    pub(super) fn report(&self, report: &mut Report) {
        self.crowd().counts(wall()).report(report);
        let Some(device) = &self.device else { return };
        let measured = device.measured();
        report.add("device_commands", measured.commands);
        report.add("device_bytes", measured.bytes);
        report.add("device_busy_ns", measured.busy.as_nanos());
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which bytes of which object move, if any do.
fn transfer(call: &ObjectCall, payload: &[u8]) -> Option<(u64, Extent, Operation)> {
    let (ObjectId(key), offset, length, operation) = match call {
        ObjectCall::Read { object, offset, length } => {
            (object, *offset, u64::from(*length), Operation::Read)
        }
        ObjectCall::Write { object, offset, .. } => {
            (object, *offset, payload.len() as u64, Operation::Write)
        }
        ObjectCall::Identify
        | ObjectCall::Cut { .. }
        | ObjectCall::Allocate { .. }
        | ObjectCall::Seek { .. }
        | ObjectCall::Sync { .. }
        | ObjectCall::SyncAll
        | ObjectCall::Remove { .. }
        | ObjectCall::List { .. }
        | ObjectCall::Statfs
        | ObjectCall::Evict { .. } => return None,
    };
    let (first, _) = key.split_first_chunk()?;
    Some((u64::from_be_bytes(*first), Extent::new(offset, length), operation))
}

/// The clock that agents share.
fn wall() -> Time {
    Time::from_nanos(UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: ObjectId = ObjectId([5; 16]);

    fn report(desk: &Desk) -> Report {
        let mut report = Report::default();
        desk.report(&mut report);
        report
    }

    #[test]
    fn those_who_move_bytes_meet_and_the_others_do_not() {
        let desk = Desk::new(None, Span::from_millis(1));
        let read = ObjectCall::Read { object: OBJECT, offset: 0, length: 10 };
        let cut = ObjectCall::Cut { object: OBJECT, epoch: 1, size: 0 };
        desk.serve(1, &read, &[], || {
            desk.serve(2, &cut, &[], || assert_eq!(report(&desk).get("requests_met"), Some("0")));
            desk.serve(1, &read, &[], || ());
            desk.serve(2, &read, &[], || ());
        });
        let report = report(&desk);
        assert_eq!(report.get("requests_met"), Some("1"));
        assert_eq!(report.get("requests_arrived"), Some("3"));
        assert_eq!(report.get("agents_at_once_most"), Some("2"));
        assert_eq!(report.get("device_commands"), None);
    }

    #[test]
    fn bytes_pass_the_device() {
        let desk = Desk::new(Some(&"null".parse().expect("a device")), Span::from_millis(1));
        let write = ObjectCall::Write { object: OBJECT, epoch: 1, offset: 7 };
        desk.serve(1, &write, &[0; 30], || ());
        let report = report(&desk);
        assert_eq!(report.get("device_commands"), Some("1"));
        assert_eq!(report.get("device_bytes"), Some("30"));
    }
}
