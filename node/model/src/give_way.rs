//! How does work on many small things let others go in between, on a machine whose processors are all in use?

/// Things that are done without a pause: of events, which take two microseconds each, a tenth of a millisecond.
const AT_A_TIME: usize = 50;

/// Lets who waits for this processor go first, once in so many things; `at` is the number of this one, from 0. A thread of the same or
/// a lower priority than the one that waits would keep the processor for milliseconds. Cost: a call of the system, when nobody waits.
pub fn give_way(at: usize) {
    if at % AT_A_TIME == AT_A_TIME - 1 {
        std::thread::yield_now();
    }
}
