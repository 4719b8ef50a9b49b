//! Agents are killed and started again, under applications that do not notice.

mod failover;
mod loss;
mod restart;
