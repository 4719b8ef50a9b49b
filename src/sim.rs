//! Simulations as users run them: scenarios from files and presets, sweeps, reports and pictures.
//!
//! The simulator itself is in the scheduler's crate and knows neither files nor words. Here is what a
//! user can ask of it: [`spec`] says what is simulated, [`file`] reads it, [`sweep`] runs it in all its
//! variants, [`output`] prints what came out, [`gantt`] draws it, and [`reproduce`] lays it beside what
//! was published.

pub mod chart;
pub mod drawing;
pub mod file;
pub mod gantt;
pub mod output;
pub mod preset;
pub mod reproduce;
pub mod scheduler;
pub mod spec;
pub mod sweep;
