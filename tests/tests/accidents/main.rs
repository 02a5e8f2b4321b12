//! Is what was answered still there after nodes die, are removed by force, or find damaged files?

mod damage;
mod damaged_log;
mod kill;
mod kill_replicas;
mod members;
