//! Agents are killed and started again, under applications that do not notice.

mod backing;
mod disks;
mod failover;
mod leaving;
mod loss;
mod overload;
mod restart;
