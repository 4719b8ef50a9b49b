//! Applications that must not notice that agents die: what they do, what they write down outside, and
//! what is checked afterwards.

pub(crate) mod append;
mod churn;
mod dice;
mod fault;
mod lock;
pub(crate) mod phases;
mod run;
mod scene;
mod shuffle;
pub(crate) mod worker;
