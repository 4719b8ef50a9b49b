//! What may happen to a small tree: few names and few open files, so that operations meet.

use proptest::prelude::*;
use proptest::sample::select;

use super::lock::{LockStep, locks};

/// A path in the tree, by its place in [`PATHS`].
pub(crate) type Name = usize;
/// An open file, by its place among [`SLOTS`].
pub(crate) type Slot = usize;

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    File(FileStep),
    Data(DataStep),
    Name(NameStep),
    Attribute(AttributeStep),
    Lock(LockStep),
}

/// On an open file as such.
#[derive(Clone, Debug)]
pub(crate) enum FileStep {
    Open { slot: Slot, name: Name, flags: i32, mode: u32 },
    Temporary { slot: Slot, name: Name },
    Close { slot: Slot },
    Sync { slot: Slot, data_only: bool },
    Seek { slot: Slot, offset: i64, whence: i32 },
}

/// On what is in a file.
#[derive(Clone, Debug)]
pub(crate) enum DataStep {
    Read { slot: Slot, length: usize },
    ReadAt { slot: Slot, offset: i64, length: usize },
    Write { slot: Slot, length: usize, fill: u8 },
    WriteAt { slot: Slot, offset: i64, length: usize, fill: u8 },
    TruncateOpen { slot: Slot, length: i64 },
    Truncate { name: Name, length: i64 },
    Allocate { slot: Slot, mode: i32, offset: i64, length: i64 },
    Copy { from: Slot, from_offset: i64, to: Slot, to_offset: i64, length: usize },
}

/// On the tree.
#[derive(Clone, Debug)]
pub(crate) enum NameStep {
    MakeDirectory { name: Name, mode: u32 },
    MakeFifo { name: Name, mode: u32 },
    Unlink { name: Name },
    RemoveDirectory { name: Name },
    Rename { from: Name, to: Name, flags: u32 },
    Link { from: Name, to: Name },
    LinkOpen { slot: Slot, to: Name },
    Symlink { target: &'static str, name: Name },
    ReadLink { name: Name },
    List { name: Name },
}

/// On attributes.
#[derive(Clone, Debug)]
pub(crate) enum AttributeStep {
    ChangeMode { name: Name, mode: u32 },
    ChangeOwner { name: Name, user: u32, group: u32 },
    SetTimes { name: Name, accessed: Option<i64>, modified: Option<i64> },
    Set { name: Name, attribute: &'static str, length: usize, flags: i32 },
    Get { name: Name, attribute: &'static str },
    Remove { name: Name, attribute: &'static str },
}

/// Whether a sequence asks where data and holes are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Holes {
    Asked,
    NotAsked,
}

/// Any operation, those on data more often than the others.
pub(crate) fn operations(holes: Holes) -> BoxedStrategy<Operation> {
    prop_oneof![
        5 => files(holes).prop_map(Operation::File),
        6 => data().prop_map(Operation::Data),
        5 => names().prop_map(Operation::Name),
        3 => attributes().prop_map(Operation::Attribute),
        3 => locks().prop_map(Operation::Lock),
    ]
    .boxed()
}

fn files(holes: Holes) -> impl Strategy<Value = FileStep> {
    let mut seeks = vec![libc::SEEK_SET, libc::SEEK_CUR, libc::SEEK_END];
    if holes == Holes::Asked {
        seeks.extend([libc::SEEK_DATA, libc::SEEK_HOLE]);
    }
    prop_oneof![
        6 => (slot(), name(), flags(), mode())
            .prop_map(|(slot, name, flags, mode)| FileStep::Open { slot, name, flags, mode }),
        1 => (slot(), name()).prop_map(|(slot, name)| FileStep::Temporary { slot, name }),
        2 => slot().prop_map(|slot| FileStep::Close { slot }),
        1 => (slot(), any::<bool>())
            .prop_map(|(slot, data_only)| FileStep::Sync { slot, data_only }),
        2 => (slot(), offset(), select(seeks))
            .prop_map(|(slot, offset, whence)| FileStep::Seek { slot, offset, whence }),
    ]
}

fn data() -> impl Strategy<Value = DataStep> {
    prop_oneof![
        (slot(), length()).prop_map(|(slot, length)| DataStep::Read { slot, length }),
        (slot(), offset(), length()).prop_map(|(slot, offset, length)| DataStep::ReadAt {
            slot,
            offset,
            length
        }),
        (slot(), length(), fill()).prop_map(|(slot, length, fill)| DataStep::Write {
            slot,
            length,
            fill
        }),
        (slot(), offset(), length(), fill()).prop_map(|(slot, offset, length, fill)| {
            DataStep::WriteAt { slot, offset, length, fill }
        }),
        (slot(), offset()).prop_map(|(slot, length)| DataStep::TruncateOpen { slot, length }),
        (name(), offset()).prop_map(|(name, length)| DataStep::Truncate { name, length }),
        (slot(), select(ALLOCATIONS), offset(), offset()).prop_map(
            |(slot, mode, offset, length)| DataStep::Allocate { slot, mode, offset, length }
        ),
        (slot(), offset(), slot(), offset(), length()).prop_map(
            |(from, from_offset, to, to_offset, length)| DataStep::Copy {
                from,
                from_offset,
                to,
                to_offset,
                length
            }
        ),
    ]
}

fn names() -> impl Strategy<Value = NameStep> {
    prop_oneof![
        2 => (name(), mode()).prop_map(|(name, mode)| NameStep::MakeDirectory { name, mode }),
        1 => (name(), mode()).prop_map(|(name, mode)| NameStep::MakeFifo { name, mode }),
        2 => name().prop_map(|name| NameStep::Unlink { name }),
        2 => name().prop_map(|name| NameStep::RemoveDirectory { name }),
        4 => (name(), name(), select(RENAMES))
            .prop_map(|(from, to, flags)| NameStep::Rename { from, to, flags }),
        2 => (name(), name()).prop_map(|(from, to)| NameStep::Link { from, to }),
        1 => (slot(), name()).prop_map(|(slot, to)| NameStep::LinkOpen { slot, to }),
        1 => (select(TARGETS), name())
            .prop_map(|(target, name)| NameStep::Symlink { target, name }),
        1 => name().prop_map(|name| NameStep::ReadLink { name }),
        1 => name().prop_map(|name| NameStep::List { name }),
    ]
}

fn attributes() -> impl Strategy<Value = AttributeStep> {
    let time = || proptest::option::of(select(TIMES));
    let setting = select(&[0, libc::XATTR_CREATE, libc::XATTR_REPLACE][..]);
    prop_oneof![
        (name(), mode()).prop_map(|(name, mode)| AttributeStep::ChangeMode { name, mode }),
        (name(), 0u32..3, 0u32..3).prop_map(|(name, user, group)| AttributeStep::ChangeOwner {
            name,
            user,
            group
        }),
        (name(), time(), time()).prop_map(|(name, accessed, modified)| {
            AttributeStep::SetTimes { name, accessed, modified }
        }),
        (name(), select(ATTRIBUTES), 0usize..300, setting).prop_map(
            |(name, attribute, length, flags)| {
                AttributeStep::Set { name, attribute, length, flags }
            }
        ),
        (name(), select(ATTRIBUTES))
            .prop_map(|(name, attribute)| AttributeStep::Get { name, attribute }),
        (name(), select(ATTRIBUTES))
            .prop_map(|(name, attribute)| AttributeStep::Remove { name, attribute }),
    ]
}

fn slot() -> impl Strategy<Value = Slot> {
    0..SLOTS
}

fn name() -> impl Strategy<Value = Name> {
    0..PATHS.len()
}

fn fill() -> impl Strategy<Value = u8> {
    1..=u8::MAX
}

fn mode() -> impl Strategy<Value = u32> {
    select(MODES)
}

fn offset() -> impl Strategy<Value = i64> {
    select(EDGES)
}

fn length() -> impl Strategy<Value = usize> {
    select(EDGES).prop_map(|edge| usize::try_from(edge).unwrap_or(0).min(70_000))
}

/// How a file is opened: mostly for both, mostly making it.
fn flags() -> impl Strategy<Value = i32> {
    let access = select(&[libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR, libc::O_RDWR][..]);
    let more = [
        0,
        libc::O_CREAT,
        libc::O_CREAT,
        libc::O_CREAT,
        libc::O_CREAT | libc::O_EXCL,
        libc::O_CREAT | libc::O_TRUNC,
        libc::O_CREAT | libc::O_APPEND,
        libc::O_TRUNC,
        libc::O_APPEND,
        libc::O_NOFOLLOW,
        libc::O_DIRECTORY,
        libc::O_CREAT | libc::O_DSYNC,
    ];
    (access, select(more.to_vec())).prop_map(|(access, more)| access | more)
}

/// How many files are open at once.
pub(crate) const SLOTS: usize = 4;

/// All names there are.
pub(crate) const PATHS: &[&str] =
    &["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "f", "f/a", "f/b"];

/// Block edges, page edges, and their neighbours.
const EDGES: &[i64] = &[
    0, 1, 100, 511, 512, 4095, 4096, 4097, 8192, 10_000, 12_287, 16_384, 65_535, 65_536, 70_000,
    131_072, 200_000,
];
const MODES: &[u32] = &[0o644, 0o600, 0o755, 0o777, 0o000, 0o4755, 0o2755, 0o1777];
const TARGETS: &[&str] = &["a", "d/a", "b", "missing", ".", "../a", "d", "f"];
const ATTRIBUTES: &[&str] = &["user.one", "user.two", "trusted.three", "nonsense"];
/// Seconds since 1970, with a fraction when set: before it, and past 32 bits.
const TIMES: &[i64] = &[-1_000_000, -1, 0, 1, 1_600_000_000, 5_000_000_000];
const RENAMES: &[u32] = &[0, 0, 0, libc::RENAME_NOREPLACE, libc::RENAME_EXCHANGE];
const ALLOCATIONS: &[i32] = &[
    0,
    libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_ZERO_RANGE,
    libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
];
