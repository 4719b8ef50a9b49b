//! Who asks: the identity that the kernel sends along with every request.

/// The process on whose behalf the kernel asks, and the name of this one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// File system user id of the calling thread.
    pub uid: u32,
    /// File system group id of the calling thread.
    pub gid: u32,
    /// Thread id of the caller as seen from the mount's namespace; 0 when the kernel itself asks.
    pub pid: u32,
    /// Names this request until it is answered: an interruption refers to it.
    pub request: RequestKey,
    /// As whom the store knows the caller, if it was told beforehand; `None` is a process of this
    /// node, of which more can be learned by its number.
    pub introduced: Option<Introduction>,
}

/// Names a caller that was introduced to the store: a process of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Introduction(pub u64);

/// The kernel's number for one request of one mount; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(pub u64);
