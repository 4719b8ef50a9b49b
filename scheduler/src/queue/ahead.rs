//! Memory asked for ahead of time: the one place where this crate talks to the processor.
//!
//! A processor goes on behind a load that it waits for, but only for a few hundred instructions, and a
//! load from memory takes longer. A hint is done with at once: what is asked for comes meanwhile. With a
//! million queued it makes up a third of what a policy costs; loading in advance instead does not.

/// Asks for the line of memory in which a value begins. Nothing that is decided depends on it.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn ask<T>(value: &T) {
    // SAFETY: a hint reads nothing, and the address is that of a value that is there. The instruction is
    // part of every x86-64.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
