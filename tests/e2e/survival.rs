//! Agents are killed and started again, under applications that do not notice.

mod restart;
