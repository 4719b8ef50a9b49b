//! What continuous integration runs.
fn main() {}
