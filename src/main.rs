//! The program's entry: parse, run, print the error chain, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    iofwd::cli::run(std::env::args_os())
}
