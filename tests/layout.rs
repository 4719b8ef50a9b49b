//! Layouts as bytes: what each file system writes is read back, in every version there is, and what
//! is no layout costs no more than saying so.

#[path = "layout/beegfs.rs"]
mod beegfs;
#[path = "layout/garbage.rs"]
mod garbage;
#[path = "layout/lustre.rs"]
mod lustre;
#[path = "layout/texts.rs"]
mod texts;
#[path = "layout/writer.rs"]
mod writer;
