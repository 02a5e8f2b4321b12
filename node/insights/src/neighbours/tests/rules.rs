//! Who counts, how much, and until when?

use super::*;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn event(user: u64, item: u32, kind: Kind, second: u32) -> Event {
    Event { user: spread(user), item, kind, second }
}
fn report(bytes: &[u8]) -> Report {
    Model::open(bytes).unwrap().report().unwrap()
}
/// Users that have two of three neighbouring items.
fn pairs(users: u64, kind: Kind) -> Vec<Event> {
    let mut chance = Chance(users);
    let pair = |user: u64| {
        let group = chance.below(40) as u32;
        [0, 1].map(|_| event(user, group * 3 + chance.below(3) as u32, kind, chance.below(1_000) as u32))
    };
    (0..users).flat_map(pair).collect()
}

#[test]
fn nobody_did_anything() {
    for build in [Build::Related, Build::Together] {
        let bytes = bytes(&[], build);
        assert_eq!(Model::open(&bytes).unwrap().lookup("item-1").unwrap(), None);
        assert_eq!(report(&bytes).neighbours, 0);
    }
}
#[test]
fn a_lookup_finds_what_the_lists_have() {
    let bytes = bytes(&pairs(500, Kind::Purchase), Build::Related);
    let model = Model::open(&bytes).unwrap();
    assert!(model.items() > 100);
    for entry in model.iter() {
        let (item, neighbours) = entry.unwrap();
        assert_eq!(neighbours.list[0].score(), 100.0);
        assert!(neighbours.users > 0);
        assert_eq!(model.lookup(item).unwrap().as_ref(), Some(&neighbours));
    }
    for unknown in ["", "item-", "item-99999", "zebra"] {
        assert_eq!(model.lookup(unknown).unwrap(), None);
    }
}
#[test]
fn a_robot_moves_no_list() {
    let events = pairs(3_000, Kind::Purchase);
    let mut with_robot = events.clone();
    let mut chance = Chance(1);
    // at all times: some of its rows come before those of others
    for n in 0..100_000u32 {
        let robot = event(1 << 40, chance.below(400) as u32, Kind::Purchase, n);
        let at = if n % 2 == 0 { with_robot.len() } else { chance.below(events.len() as u64) as usize };
        if n < 12_000 && n % 4 == 1 { with_robot.insert(at, robot) } else { with_robot.push(robot) }
    }
    for build in [Build::Related, Build::Together] {
        let (without, with) = (bytes(&events, build), bytes(&with_robot, build));
        assert!(lists(&without) == lists(&with), "{build:?}");
        assert_eq!((report(&with).robots, report(&with).rows), (1, 100_000 + events.len() as u64));
        assert_eq!(report(&with).users, report(&without).users);
    }
}
#[test]
fn one_row_fewer_than_a_robot_has_counts() {
    let busy = |rows: u32| -> Vec<Event> { (0..rows).map(|n| event(1, n % 7, Kind::Click, n)).collect() };
    for (rows, robots, items) in [(USER_ROWS_MAX, 0, 7), (USER_ROWS_MAX + 1, 1, 0)] {
        let report = report(&bytes(&busy(rows), Build::Related));
        assert_eq!((report.robots, report.items), (robots, items), "{rows} rows");
    }
}
#[test]
fn the_newest_five_hundred_items_count() {
    // in a shuffled order; some of the old ones again, lately
    let mut events: Vec<Event> =
        (0..700).map(|n| event(1, (n * 331) % 700, Kind::Click, (n * 331) % 700)).collect();
    events.extend((0..10).map(|item| event(1, item, Kind::View, 1_000)));
    let lists = lists(&bytes(&events, Build::Related));
    let wanted: Vec<String> = {
        let mut names: Vec<String> = (0..10).chain(210..700).map(name).collect();
        names.sort();
        names
    };
    assert_eq!(lists.keys().cloned().collect::<Vec<_>>(), wanted);
}
#[test]
fn views_count_while_there_is_little_else() {
    let views: Vec<Event> =
        (0..400).map(|n| event(1_000_000 + n / 2, 9_000 + (n % 2) as u32, Kind::View, 0)).collect();
    for (others, has_views) in [(2_499, true), (2_500, false)] {
        let mut events = pairs(others, Kind::Click);
        events.extend(&views);
        let lists = lists(&bytes(&events, Build::Related));
        assert_eq!(lists.contains_key("item-9000"), has_views, "{} clicks", 2 * others);
    }
}
#[test]
fn the_strongest_counts() {
    // who bought 1 and 2 viewed and clicked them before; 3 was clicked by as many, and by all who had 1
    let mut events = Vec::new();
    for user in 0..5 {
        events.extend([Kind::View, Kind::Purchase, Kind::Click].map(|kind| event(user, 1, kind, 0)));
        events.extend([Kind::Purchase, Kind::View].map(|kind| event(user, 2, kind, 0)));
        events.push(event(user, 3, Kind::Click, 0));
    }
    let lists = lists(&bytes(&events, Build::Related));
    assert_eq!(lists["item-1"], [("item-2".to_owned(), 10_000), ("item-3".to_owned(), 2_500)]);
}
#[test]
fn a_basket_ends_after_a_day() {
    let day = 86_400;
    let check = |seconds: [u32; 2], is_pair: bool| {
        // pairs that are none, so that a pair is beyond chance
        let mut events: Vec<Event> =
            (0..200).map(|n| event(100 + n as u64, n % 50 + 10, Kind::Cart, 0)).collect();
        for user in 0..4 {
            events.extend([
                event(user, 1, Kind::Cart, seconds[0]),
                event(user, 2, Kind::Conversion, seconds[1]),
            ]);
            // a click is no part of a basket
            events.push(event(user, 3, Kind::Click, seconds[0]));
        }
        let lists = lists(&bytes(&events, Build::Together));
        assert_eq!(lists["item-1"].iter().any(|(other, _)| other == "item-2"), is_pair, "{seconds:?}");
        assert!(!lists.contains_key("item-3"));
    };
    check([5, 5], true);
    check([5, 4 + day], true);
    check([4 + day, 5], true);
    check([5, 5 + day], false);
}
#[test]
fn purchases_alone_count_once_there_are_a_thousand_baskets() {
    let carts: Vec<Event> =
        (0..60).map(|n| event(1_000_000 + n / 2, 9_000 + (n % 2) as u32, Kind::Cart, 0)).collect();
    for (baskets, has_carts) in [(999, true), (1_000, false)] {
        let mut events = carts.clone();
        for user in 0..baskets {
            let group = (user % 40) as u32 * 3;
            events.extend([group, group + 1].map(|item| event(user, item, Kind::Purchase, 0)));
            // a basket of one item is no basket of these thousand
            events.push(event(10_000 + user, group, Kind::Purchase, 0));
        }
        let bytes = bytes(&events, Build::Together);
        assert_eq!(lists(&bytes).contains_key("item-9000"), has_carts, "{baskets} baskets");
        let (users, carts) = (2 * baskets as u32, if has_carts { 30 } else { 0 });
        let report = report(&bytes);
        assert_eq!((report.users, report.baskets), (users + carts, Some(users + carts)));
    }
}
#[test]
fn rows_and_ids_that_do_not_fit_are_refused() {
    let mut collector = Collector::new();
    let long = "x".repeat(1 << 20);
    let add = |collector: &mut Collector, number: usize| {
        let item = format!("{number:03}{}", &long[3..]);
        collector.add(Interaction { user: 1, item: &item, kind: Kind::Click, time_ms: 0 })
    };
    for number in 0..ID_BYTES_MAX >> 20 {
        add(&mut collector, number).unwrap();
    }
    let refused = add(&mut collector, 999);
    assert!(matches!(refused, Err(NeighboursError::TooMany { most: ID_BYTES_MAX, .. })), "{refused:?}");
    // what is known takes no more
    add(&mut collector, 1).unwrap();
}

/// An output that tells the build to stop after some bytes.
struct StopAfter<'a> {
    left: usize,
    stop: &'a AtomicBool,
}

impl Write for StopAfter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.saturating_sub(bytes.len());
        self.stop.store(self.left == 0, Ordering::Relaxed);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_build_stops_where_it_is() {
    let events = pairs(3_000, Kind::Purchase);
    let interactions = collect(&events);
    let length = bytes(&events, Build::Related).len();
    for left in [1, 17, length / 2] {
        let stop = AtomicBool::new(false);
        let stopped = related_products(&interactions, StopAfter { left, stop: &stop }, &stop);
        assert!(matches!(stopped, Err(NeighboursError::Stopped)), "after {left} bytes: {stopped:?}");
    }
    let stop = AtomicBool::new(true);
    assert!(matches!(bought_together(&interactions, Vec::new(), &stop), Err(NeighboursError::Stopped)));
    assert!(matches!(Collector::new().finish(&stop), Err(NeighboursError::Stopped)));
}
/// Long work at every step, and told to stop at any moment: it ends in a tenth of a second, on a machine that does other things, too.
#[test]
fn a_build_stops_soon() {
    let events: Vec<Event> = {
        let mut chance = Chance(3);
        let mut any =
            |user: u64| event(user, (chance.unit() * chance.unit() * 20_000.0) as u32, Kind::Click, 0);
        (0..400_000).map(|n| any(n % 1_500)).collect()
    };
    let mut reached = 0;
    for millis in [1, 20, 60, 150, 300, 600] {
        let stop = AtomicBool::new(false);
        let took = std::thread::scope(|scope| {
            let build = scope.spawn(|| {
                let mut collector = Collector::new();
                for Event { user, item, kind, .. } in &events {
                    collector.add(Interaction {
                        user: *user,
                        item: &name(*item),
                        kind: *kind,
                        time_ms: 0,
                    })?;
                    super::super::error::go_on(&stop)?;
                }
                related_products(&collector.finish(&stop)?, io::sink(), &stop).map(drop)
            });
            std::thread::park_timeout(Duration::from_millis(millis));
            stop.store(true, Ordering::Relaxed);
            let told = Instant::now();
            reached += usize::from(matches!(build.join().unwrap(), Err(NeighboursError::Stopped)));
            told.elapsed()
        });
        assert!(took < Duration::from_millis(500), "{took:?} after {millis} ms");
    }
    assert!(reached >= 4, "the builds were over before they were told to stop");
}
#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let built = related_products(&collect(&pairs(10, Kind::Click)), Full, &AtomicBool::new(false));
    assert!(matches!(built, Err(NeighboursError::Io(error)) if error.kind() == io::ErrorKind::StorageFull));
}
