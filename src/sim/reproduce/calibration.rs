//! In words: how the model was calibrated, and what it leaves out.

/// What was used for the calibration, each with what it decided.
pub(super) const USED: [(&str, &str); 6] = [
    (
        "time between requests that arrive at an I/O node: 26.09 µs for reads, 50.92 µs for writes of 32 KB \
         (section 3.4.3)",
        "a message costs its ends 26 µs, and 32 KB at 10 Gbit/s another 26 µs",
    ),
    (
        "time to write 4 GB without forwarding, strided: 203.2 s in requests of 32 KB, 107.6 s in requests of 256 KB \
         (figure 5.2)",
        "88.6 MB/s and 5.83 ms beside the bytes for each piece that is written",
    ),
    (
        "mean size of strided reads leaving the I/O nodes: 57.75 KB with FIFO, 75.09 KB with TO, 119.29 KB with TWINS \
         at 1 ms (table 5.1)",
        "a thread of IOFSL takes 60 µs to wake up and take a list; AGIOS takes 140 µs to look at what arrived, and \
         10 µs to hand over a request",
    ),
    (
        "small strided reads: TWINS at 1 ms is 24.03 % shorter than FIFO, 46.93 % shorter than no forwarding \
         (chapter 5)",
        "an access that reads costs 0.4 ms on average beside its bytes; each doubling of the machines that have work \
         at a server delays each message by 0.26 ms",
    ),
    (
        "in words: TO and SW are not slower than FIFO (sections 3.4.4 and 4.2.2)",
        "processes take up to 40 µs more from one request to the next: an assumption",
    ),
    (
        "no absolute time of a read is printed; 8 ms are the best window for small strided reads (section 5.2)",
        "the scale of times of reads (41 s with FIFO): a guess, so that the requests of one I/O node for one server take \
         about 8 ms",
    ),
];

/// What is modelled, in sentences.
pub(super) const MODEL: [&str; 4] = [
    "Processes ask, wait for the answer, and ask again; those of a node start together. Wires and ports handle one \
     message at a time in each direction.",
    "An I/O node runs the very scheduler code of iofwd, and behind it IOFSL's dispatcher: 16 threads (one for each core \
     of the nodes), each with one list of up to 16 requests of the same file and operation under way, whichever \
     servers they go to; a list is done when its last server has answered. Schedulers of AGIOS sit behind a thread \
     of that library. TWINS runs as published: windows begin where each daemon begins, and nothing but their end \
     bounds what is issued in them.",
    "A server works on one piece at a time. What a piece costs does not depend on where it lies; each message is \
     delayed by the crowd of machines that have work at the server; writes wait for the medium.",
    "Not modelled: metadata, caches, TCP, failures, the processors of the machines. Figure 5.5 \
     (TCP congestion windows) and table 4.2 (complexity) are therefore left out.",
];
