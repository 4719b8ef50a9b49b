//! The program's entry: parse, run, print the error chain, exit code.

fn main() {}
