//! Does a disk that is full stop writes alone, by name, and until it has room?

mod failing_store;
mod filled_disk;
mod full_disk;
mod full_disks;
mod rows;
