//! Does a batch: what its file lets go together in one call, each member's bytes to whom they belong.

use std::io::{IoSlice, IoSliceMut};

use iofwd_mount::Errno;
use iofwd_scheduler::layout::Piece as Stretch;
use iofwd_scheduler::request::{Operation, Request};
use iofwd_scheduler::scheduler::Outcome;

use super::call::{Done, Piece};
use super::workers::Task;
use super::{Core, Ended};

/// Do everything in a batch, tell the scheduler, answer.
pub(super) fn run(core: &Core, task: Task) {
    core.devices.serve(task.members.iter().map(|(request, _)| request));
    let mut results = Vec::with_capacity(task.members.len());
    let mut operations = 0;
    for run in task.members.chunk_by(|(left, left_piece), (right, right_piece)| {
        left_piece.file.joins(left, right) && go_together(left_piece, right_piece)
    }) {
        results.extend(do_run(run));
        operations += 1;
    }
    let members = task.members.iter().zip(&results);
    let ended: Vec<Ended<'_>> = members
        .map(|((request, piece), result)| Ended::new(request.id, &piece.file, outcome(result)))
        .collect();
    core.complete(&ended, operations);
    drop(ended);
    for ((_, piece), result) in task.members.into_iter().zip(results) {
        piece.answer.send(result);
    }
}

fn go_together(left: &Piece, right: &Piece) -> bool {
    !left.append && !right.append && left.identity == right.identity
}

/// What goes together, in one call.
fn do_run(run: &[(Request, Piece)]) -> Vec<Result<Done, Errno>> {
    let Some((first, piece)) = run.first() else { return Vec::new() };
    match first.operation {
        Operation::Read => read(run),
        Operation::Write => {
            if let Some(identity) = &piece.identity {
                identity.assume();
            }
            write(run)
        }
    }
}

fn read(run: &[(Request, Piece)]) -> Vec<Result<Done, Errno>> {
    let mut buffers: Vec<Vec<u8>> =
        run.iter().map(|(request, _)| vec![0; request.length() as usize]).collect();
    let mut slices: Vec<IoSliceMut<'_>> =
        buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
    let (_, piece) = &run[0];
    let result = piece.file.read(&stretches(run), &mut slices);
    share(run, result)
        .into_iter()
        .zip(buffers)
        .map(|(share, mut buffer)| {
            buffer.truncate(share?);
            Ok(Done::Read(buffer))
        })
        .collect()
}

fn write(run: &[(Request, Piece)]) -> Vec<Result<Done, Errno>> {
    let slices: Vec<IoSlice<'_>> =
        run.iter().map(|(_, piece)| IoSlice::new(piece.payload.bytes())).collect();
    let (_, piece) = &run[0];
    let result = match &piece.once {
        Some(once) if piece.append => piece.file.append_once(once, piece.payload.bytes()),
        _ => piece.file.write(&stretches(run), &slices, piece.append),
    };
    share(run, result).into_iter().map(|share| share.map(Done::Written)).collect()
}

/// Where the members of a run are.
fn stretches(run: &[(Request, Piece)]) -> Vec<Stretch> {
    let stretch = |request: &Request| Stretch {
        server: Some(request.server),
        extent: request.extent,
        local: request.local,
    };
    run.iter().map(|(request, _)| stretch(request)).collect()
}

/// How much of a run's bytes each member gets: the first ones first.
fn share(run: &[(Request, Piece)], result: Result<usize, Errno>) -> Vec<Result<usize, Errno>> {
    let mut left = result;
    run.iter()
        .map(|(request, _)| {
            let share = left?.min(request.length() as usize);
            left = left.map(|left| left - share);
            Ok(share)
        })
        .collect()
}

fn outcome(result: &Result<Done, Errno>) -> Outcome {
    Outcome { bytes: result.as_ref().map_or(0, Done::length), failed: result.is_err() }
}
