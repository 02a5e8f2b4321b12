//! Asks for some things ahead of the one that is being dealt with.

use std::sync::mpsc;
use std::thread;

/// Asks for each of `things` on one of `threads` threads and takes the answers in order, on this one. At most two answers
/// of each thread wait. Ends with the first error of `take`, once the questions that are under way have been answered.
///
/// # Panics
/// When `ask` does, or no thread can be started.
pub fn in_order<T: Sync, A: Send, E>(
    things: &[T],
    threads: usize,
    ask: impl Fn(&T) -> A + Sync,
    mut take: impl FnMut(&T, A) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(things.len());
    thread::scope(|scope| {
        let lanes: Vec<mpsc::Receiver<A>> = (0..threads)
            .map(|lane| {
                let (answers, receiver) = mpsc::sync_channel(1);
                let ask = &ask;
                scope.spawn(move || {
                    let of_lane = things.iter().skip(lane).step_by(threads);
                    // nobody takes any more once there was an error
                    of_lane.map(ask).try_for_each(|answer| answers.send(answer)).ok()
                });
                receiver
            })
            .collect();
        let in_turn = things.iter().zip(lanes.iter().cycle());
        in_turn
            .map(|(thing, lane)| (thing, lane.recv().expect("every thing is asked for")))
            .try_for_each(|(thing, answer)| take(thing, answer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        for (count, threads) in [(0, 3), (1, 3), (2, 3), (50, 1), (50, 3), (51, 4)] {
            let things: Vec<usize> = (0..count).collect();
            let mut taken = vec![];
            let ask = |thing: &usize| {
                thread::sleep(Duration::from_micros((thing * 7919 % 13) as u64 * 100));
                thing * 2
            };
            let ended: Result<(), ()> = in_order(&things, threads, ask, |thing, answer| {
                taken.push((*thing, answer));
                Ok(())
            });
            assert_eq!(ended, Ok(()));
            assert_eq!(taken, things.iter().map(|thing| (*thing, thing * 2)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_it_and_little_is_asked_beyond() {
        let (things, asked) = ((0..1_000).collect::<Vec<_>>(), AtomicUsize::new(0));
        let ask = |thing: &i32| {
            asked.fetch_add(1, Ordering::Relaxed);
            *thing
        };
        let ended = in_order(&things, 3, ask, |_, answer| if answer == 20 { Err(answer) } else { Ok(()) });
        assert_eq!(ended, Err(20));
        let asked = asked.load(Ordering::Relaxed);
        assert!((21..=21 + 3 * 3).contains(&asked), "{asked}");
    }
}
