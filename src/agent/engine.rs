//! The engine: asks the scheduler, acts, reports back.
//!
//! A read or write that the scheduler lets pass at once is done on the thread that brought it, with
//! no hand-over and no copy. One that has to wait leaves its thread; when its turn comes a worker
//! does it, together with its neighbours.

mod asked;
mod call;
mod clock;
mod cost;
mod devices;
mod drain;
mod growth;
mod levels;
mod look;
mod patience;
mod recent;
mod recorded;
mod report;
mod settings;
mod slow;
mod target;
mod timer;
mod transfer;
mod tuning;
mod workers;

use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::WriteAt;
use iofwd_mount::{DataReply, Errno, Reply};
use iofwd_scheduler::layout::{Piece as Stretch, Pieces};
use iofwd_scheduler::policy::{Batch, Decision};
use iofwd_scheduler::request::{Extent, Operation, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Cancelled, Outcome};
use iofwd_scheduler::time::{Span, Time};

use crate::backend::posix::Identity;
use crate::budget::Budget;
use crate::report::Report;

use asked::Asked;
use call::{Answer, Payload, Piece, Whole, WholeAnswer};
use clock::Clock;
use cost::Costs;
use devices::Devices;
use levels::Levels;
use recorded::Recorded;
use slow::Slow;
use workers::{Task, Workers};

pub(crate) use super::once::Ticket;
pub(crate) use asked::Asker;
pub use settings::{EngineSettings, LayoutSettings};
pub(crate) use target::Target;
pub use tuning::Tuning;

/// The engine of one agent.
#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
}

/// What the engine's threads share.
struct Core {
    clock: Clock,
    /// How many servers the scheduler knows of.
    servers: AtomicU32,
    state: Mutex<State>,
    /// The timer has a new time to wait for.
    timer: Condvar,
    /// Nothing is queued or in flight.
    idle: Condvar,
    workers: Workers,
    /// Requests that are being done by the threads that brought them.
    here: AtomicUsize,
    /// What the servers are as slow as.
    devices: Devices,
    /// For the bytes of writes that wait.
    budget: Arc<Budget>,
    /// A request that takes longer is told of in the log.
    slow: Span,
}

struct State {
    scheduler: Recorded,
    /// What is to be done for each request that is queued.
    queued: HashMap<RequestId, Piece>,
    next: u64,
    /// When to ask the scheduler again if nothing else happens.
    deadline: Time,
    stopping: bool,
    /// How many wait until nothing is queued or in flight.
    draining: usize,
    costs: Costs,
    levels: Levels,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Engine {
    /// Read from an open file, and answer.
    pub(crate) fn read(
        &self,
        asker: Asker,
        open: Arc<dyn Target>,
        offset: u64,
        size: u32,
        reply: DataReply,
    ) {
        let extent = Extent::new(offset, u64::from(size));
        let known = open.layout();
        let mut stretches = known.layout.split(extent);
        let Some(first) = stretches.next() else { return reply.data(&[]) };
        let asked = Asked { asker, open: &open, operation: Operation::Read };
        if stretches.next().is_some() {
            let whole = Whole::new(WholeAnswer::Read(reply), known.layout.split(extent).count());
            let stretches = known.layout.split(extent);
            return self.submit_parts(&asked, None, stretches, &whole, &|_| Payload::None);
        }
        self.read_one(&asked, &first, reply);
    }

    fn read_one(&self, asked: &Asked<'_>, stretch: &Stretch, reply: DataReply) {
        let mut reply = Some(reply);
        let id = self.core.admit(asked, stretch, &mut || Piece {
            file: Arc::clone(asked.open),
            key: asked.asker.key,
            identity: None,
            payload: Payload::None,
            append: false,
            once: None,
            answer: Answer::Read(reply.take().expect("asked for once")),
        });
        let (Some(id), Some(reply)) = (id, reply) else { return };
        self.wait_for_device(asked, stretch);
        reply.fill(stretch.extent.length as usize, |buffer| {
            let into = &mut [IoSliceMut::new(buffer)];
            let result = asked.open.read(&[*stretch], into);
            self.core.complete_here(&Ended::new(id, asked.open, outcome(&result)));
            result
        });
    }

    /// Write to an open file, and answer. Under `identity` if there is one.
    pub(crate) fn write(
        &self,
        asker: Asker,
        identity: Option<Identity>,
        open: Arc<dyn Target>,
        at: &WriteAt,
        data: &[u8],
        reply: Reply<u32>,
    ) {
        let extent = Extent::new(at.offset, data.len() as u64);
        let asked = Asked { asker, open: &open, operation: Operation::Write };
        let known = open.layout();
        let mut stretches = known.layout.split(extent);
        let Some(first) = stretches.next() else { return reply.send(Ok(0)) };
        let several = stretches.next().is_some();
        if several && !at.append {
            let payload = Payload::copy(data, self.core.budget.wait_for(data.len()));
            let late = at.late.then(|| Arc::clone(&open));
            let answer = WholeAnswer::Write(reply, late);
            let whole = Whole::new(answer, known.layout.split(extent).count());
            let part = |stretch: &Stretch| {
                payload.part(stretch.extent.offset - at.offset, stretch.extent.length)
            };
            let stretches = known.layout.split(extent);
            return self.submit_parts(&asked, identity.as_ref(), stretches, &whole, &part);
        }
        // Where an append will land nobody knows before it has: it goes out as one.
        let stretch = Stretch { extent, ..first };
        self.write_one(&asked, identity, at, &stretch, data, reply);
    }

    fn write_one(
        &self,
        asked: &Asked<'_>,
        identity: Option<Identity>,
        at: &WriteAt,
        stretch: &Stretch,
        data: &[u8],
        reply: Reply<u32>,
    ) {
        let late = at.late.then(|| Arc::clone(asked.open));
        let mut answer = Some(Answer::Write(reply, late));
        // Copied beforehand where it will probably have to wait, rather than under the lock.
        let budget = &self.core.budget;
        let mut copied =
            self.core.is_contended().then(|| Payload::copy(data, budget.wait_for(data.len())));
        let id = self.core.admit(asked, stretch, &mut || Piece {
            file: Arc::clone(asked.open),
            key: asked.asker.key,
            identity: identity.clone(),
            payload: copied.take().unwrap_or_else(|| Payload::copy(data, budget.take(data.len()))),
            append: at.append,
            once: asked.asker.once.clone(),
            answer: answer.take().expect("asked for once"),
        });
        let (Some(id), Some(answer)) = (id, answer) else { return };
        self.wait_for_device(asked, stretch);
        if let Some(identity) = &identity {
            identity.assume();
        }
        let from = &[IoSlice::new(data)];
        let result = match &asked.asker.once {
            Some(once) if at.append => asked.open.append_once(once, data),
            _ => asked.open.write(&[*stretch], from, at.append),
        };
        self.core.complete_here(&Ended::new(id, asked.open, outcome(&result)));
        answer.send(result.map(call::Done::Written));
    }

    /// What is done on this thread takes as long as its device does.
    fn wait_for_device(&self, asked: &Asked<'_>, stretch: &Stretch) {
        let server = stretch.server.unwrap_or(ServerId(0));
        let local = Extent::new(stretch.local, stretch.extent.length);
        self.core.devices.serve_one(server, asked.open.file(), local, asked.operation);
    }

    /// One request for each stretch; the call is answered when the last is done.
    fn submit_parts(
        &self,
        asked: &Asked<'_>,
        identity: Option<&Identity>,
        stretches: Pieces<'_>,
        whole: &Arc<Whole>,
        payload: &dyn Fn(&Stretch) -> Payload,
    ) {
        let parts = stretches.enumerate().map(|(index, stretch)| {
            let piece = Piece {
                file: Arc::clone(asked.open),
                key: asked.asker.key,
                identity: identity.cloned(),
                payload: payload(&stretch),
                append: false,
                once: None,
                answer: Answer::Part(Arc::clone(whole), index, stretch.extent.length),
            };
            (stretch, piece)
        });
        self.core.submit_all(asked, parts.collect());
    }

    /// A signal reached the caller: if its request still waits for its turn, it waits no longer.
    pub(crate) fn interrupt(&self, key: RequestKey) {
        if let Some(piece) = self.core.withdraw(key) {
            piece.answer.send(Err(Errno::EINTR));
        }
    }

    /// What the scheduler has done so far.
    pub fn report(&self) -> Report {
        let state = self.core.lock();
        report::report(state.scheduler.scheduler(), &state.costs)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.core.lock().stopping = true;
        self.core.timer.notify_all();
        self.core.workers.stop();
    }
}

impl Core {
    /// Submit a request. Answers its id if it is to be done here and now; otherwise `make` was
    /// called, and a worker does it when its turn comes.
    fn admit(
        &self,
        asked: &Asked<'_>,
        stretch: &Stretch,
        make: &mut dyn FnMut() -> Piece,
    ) -> Option<RequestId> {
        let mut state = self.lock();
        let now = self.clock.now();
        state.levels.calls.note(1, stretch.extent.length);
        let id = state.next_id();
        let request = asked.request(id, stretch, now);
        if !self.has_hands() {
            state.scheduler.submit(now, request);
        } else if state.scheduler.admit(now, request) {
            self.here.fetch_add(1, Ordering::Relaxed);
            // Nothing is queued, so there is nothing to wait for.
            state.deadline = Time::NEVER;
            state.costs.add(|| self.clock.now().since(now));
            return Some(id);
        }
        self.take_turn(state, now, id, make)
    }

    /// A request was queued, maybe behind others. Answers its id if it is to be done here and now.
    fn take_turn(
        &self,
        mut state: MutexGuard<'_, State>,
        now: Time,
        id: RequestId,
        make: &mut dyn FnMut() -> Piece,
    ) -> Option<RequestId> {
        let mut tasks = Vec::new();
        let mut make = Some(make);
        let mut mine = None;
        let deadline = loop {
            match state.scheduler.poll(now) {
                Decision::Issue(batch) if is_only(&batch, id) && self.has_hands() => {
                    self.here.fetch_add(1, Ordering::Relaxed);
                    mine = Some(id);
                    make = None;
                }
                Decision::Issue(batch) => {
                    if let Some(make) =
                        make.take_if(|_| batch.requests().iter().any(|r| r.id == id))
                    {
                        state.queued.insert(id, make());
                    }
                    tasks.push(state.take(batch));
                }
                Decision::WaitUntil(time) => break time,
                Decision::Empty => break Time::NEVER,
            }
        };
        if let Some(make) = make {
            state.queued.insert(id, make());
        }
        self.arm(&mut state, deadline);
        state.costs.add(|| self.clock.now().since(now));
        drop(state);
        self.workers.push(tasks);
        mine
    }

    /// Submit the parts of one call, all of them to be done by workers.
    fn submit_all(&self, asked: &Asked<'_>, parts: Vec<(Stretch, Piece)>) {
        let mut state = self.lock();
        let now = self.clock.now();
        let bytes = parts.iter().map(|(stretch, _)| stretch.extent.length).sum();
        state.levels.calls.note(1, bytes);
        for (stretch, piece) in parts {
            let id = state.next_id();
            state.scheduler.submit(now, asked.request(id, &stretch, now));
            state.queued.insert(id, piece);
        }
        let tasks = self.poll(&mut state, now);
        drop(state);
        self.workers.push(tasks);
    }

    /// Whether whoever brings a request may do it, too. Not if many do: a server that cannot keep up must
    /// not hold those who bring requests for others.
    fn has_hands(&self) -> bool {
        self.here.load(Ordering::Relaxed) < HERE_MOST
    }

    /// A request came back that was done by the thread that brought it.
    fn complete_here(&self, ended: &Ended<'_>) {
        self.here.fetch_sub(1, Ordering::Relaxed);
        self.complete(std::slice::from_ref(ended), 1);
    }

    /// Requests came back that took so many operations: tell the scheduler, and do what it lets pass
    /// now.
    fn complete(&self, ended: &[Ended<'_>], operations: u64) {
        let slow = self.come_back(ended, operations);
        slow.iter().for_each(Slow::log);
    }

    /// The requests among them that took long.
    fn come_back(&self, ended: &[Ended<'_>], operations: u64) -> Vec<Slow> {
        let mut state = self.lock();
        let now = self.clock.now();
        let mut slow = Vec::new();
        for one in ended {
            slow.extend(state.complete(now, one, self.slow));
        }
        let bytes = ended.iter().map(|one| one.outcome.bytes).sum();
        state.levels.operations.note(operations, bytes);
        if state.scheduler.queued() == 0 {
            // A system call, whether somebody waits or not.
            if state.draining > 0 && state.scheduler.in_flight() == 0 {
                self.idle.notify_all();
            }
            state.costs.add(|| self.clock.now().since(now));
            return slow;
        }
        let tasks = self.poll(&mut state, now);
        drop(state);
        self.workers.push(tasks);
        slow
    }

    /// Everything that may go out now.
    fn poll(&self, state: &mut State, now: Time) -> Vec<Task> {
        let mut tasks = Vec::new();
        let deadline = loop {
            match state.scheduler.poll(now) {
                Decision::Issue(batch) => tasks.push(state.take(batch)),
                Decision::WaitUntil(time) => break time,
                Decision::Empty => break Time::NEVER,
            }
        };
        self.arm(state, deadline);
        tasks
    }

    fn arm(&self, state: &mut State, deadline: Time) {
        if deadline < state.deadline {
            self.timer.notify_one();
        }
        state.deadline = deadline;
    }

    fn withdraw(&self, key: RequestKey) -> Option<Piece> {
        let mut state = self.lock();
        let alone = |piece: &Piece| piece.key == key && !matches!(piece.answer, Answer::Part(..));
        let id = state.queued.iter().find(|(_, piece)| alone(piece)).map(|(id, _)| *id)?;
        let now = self.clock.now();
        match state.scheduler.cancel(now, id) {
            Cancelled::Queued(_) => state.queued.remove(&id),
            Cancelled::InFlight | Cancelled::Unknown => None,
        }
    }

    /// Whether a request that comes now will probably have to wait.
    fn is_contended(&self) -> bool {
        self.servers.load(Ordering::Relaxed) > 1 || self.workers.are_busy()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        patience::lock(&self.state)
    }
}

impl State {
    fn next_id(&mut self) -> RequestId {
        self.next += 1;
        RequestId(self.next)
    }

    /// Tell the scheduler that a request came back. What is to be told of it, if it took long.
    fn complete(&mut self, now: Time, ended: &Ended<'_>, slow: Span) -> Option<Slow> {
        let held = self.scheduler.scheduler().held(ended.id);
        let done = self.scheduler.complete(now, ended.id, ended.outcome);
        let policy = self.scheduler.scheduler().policy();
        (now.since(done.request.arrived) >= slow).then(|| Slow {
            done,
            ended: now,
            held,
            policy: policy.name(),
            window: policy.window(now),
            file: Arc::clone(ended.file),
        })
    }

    /// A batch with what is to be done for each of its requests.
    fn take(&mut self, batch: Batch) -> Task {
        let members = batch.requests().iter().map(|request| {
            let piece = self.queued.remove(&request.id);
            (*request, piece.expect("a request that is issued was queued with its piece"))
        });
        Task { members: members.collect() }
    }
}

/// A request that came back.
struct Ended<'a> {
    id: RequestId,
    file: &'a Arc<dyn Target>,
    outcome: Outcome,
}

impl<'a> Ended<'a> {
    fn new(id: RequestId, file: &'a Arc<dyn Target>, outcome: Outcome) -> Ended<'a> {
        Ended { id, file, outcome }
    }
}

/// Half of the threads that a mount has at most.
const HERE_MOST: usize = 16;

fn is_only(batch: &Batch, id: RequestId) -> bool {
    matches!(batch.requests(), [only] if only.id == id)
}

fn outcome(result: &Result<usize, Errno>) -> Outcome {
    Outcome { bytes: result.map_or(0, |count| count as u64), failed: result.is_err() }
}
