//! Are the last calls there, bounded, over a restart, and gone when they are old?

use super::*;

fn call(number: u64) -> LoggedCall {
    LoggedCall {
        time_ms: clock::unix_ms(),
        kind: if number.is_multiple_of(2) { CallKind::Query } else { CallKind::Build },
        status: if number.is_multiple_of(5) { 400 } else { 200 },
        took_us: number,
        address: Some([10, 0, 0, 1].into()),
        id: number.to_string(),
        method: "POST".into(),
        index: Some(format!("i{}", number % 3)),
        url: "/1/indexes/i/query".into(),
        headers: b"host: h\n"[..].into(),
        body: vec![b'b'; number as usize % 100].into(),
        answer: b"{}"[..].into(),
        ..LoggedCall::default()
    }
}
fn note(log: &RequestLog, call: &LoggedCall) {
    log.note(call.time_ms, |bytes| bytes.extend(call.encode()), LoggedCall::decode);
}
fn numbers(log: &RequestLog, asked: &CallsAsked) -> Vec<u64> {
    log.latest(asked).iter().map(|call| call.took_us).collect()
}
fn all(most: usize) -> CallsAsked {
    CallsAsked { most, ..CallsAsked::default() }
}
fn paths(folder: &tempfile::TempDir) -> [PathBuf; 2] {
    [0, 1].map(|number| folder.path().join(number.to_string()))
}
fn kept_in(folder: &tempfile::TempDir) -> RequestLog {
    let log = RequestLog::default();
    log.keep_in(paths(folder), ForgottenUsers::default);
    log
}

#[test]
fn the_last_calls_are_kept_the_newest_first() {
    let log = RequestLog::default();
    for number in 0..2_500 {
        note(&log, &call(number));
    }
    let newest: Vec<u64> = (1_500..2_500).rev().collect();
    assert_eq!(numbers(&log, &all(5_000)), newest);
    assert_eq!(numbers(&log, &all(3)), [2_499, 2_498, 2_497]);
    let of = |filter, index: Option<&str>| CallsAsked { filter, index: index.map(str::to_owned), most: 3 };
    assert_eq!(numbers(&log, &of(CallFilter::Query, None)), [2_498, 2_496, 2_494]);
    assert_eq!(numbers(&log, &of(CallFilter::Build, None)), [2_499, 2_497, 2_495]);
    assert_eq!(numbers(&log, &of(CallFilter::Error, None)), [2_495, 2_490, 2_485]);
    assert_eq!(numbers(&log, &of(CallFilter::All, Some("i1"))), [2_497, 2_494, 2_491]);
    assert_eq!(numbers(&log, &of(CallFilter::Query, Some("i1"))), [2_494, 2_488, 2_482]);
    assert!(numbers(&log, &of(CallFilter::All, Some("i"))).is_empty());
    note(&log, &LoggedCall { time_ms: clock::unix_ms() - 8 * 24 * 3_600 * 1_000, ..call(9_999) });
    assert_eq!(numbers(&log, &all(1)), [2_499], "what is older than seven days is not shown");
}

#[test]
fn a_restart_knows_the_last_calls_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected: Vec<u64> = vec![];
    for calls in [3, 900, 1_500, 0, 10] {
        let log = kept_in(&folder);
        assert_eq!(numbers(&log, &all(5_000)), expected);
        for _ in 0..calls {
            let next = expected.first().map_or(0, |last| last + 1);
            note(&log, &call(next));
            expected.insert(0, next);
            expected.truncate(CALLS_MAX);
        }
        log.close();
    }
}

#[test]
fn nothing_happens_to_callers_when_the_files_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let log = RequestLog::default();
    let paths = [0, 1].map(|number| folder.path().join("no such folder").join(number.to_string()));
    log.keep_in(paths, ForgottenUsers::default);
    for number in 0..10 {
        note(&log, &call(number));
    }
    log.0.write();
    assert!(log.0.keeper.lock().fails);
    assert_eq!(numbers(&log, &all(2)), [9, 8]);
    std::fs::create_dir(folder.path().join("no such folder")).unwrap();
    log.0.write();
    assert!(!log.0.keeper.lock().fails && log.0.keeper.lock().written == 10, "it goes on when it can");
    log.close();
}

#[test]
fn what_is_old_is_forgotten_also_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let log = kept_in(&folder);
    let now_ms = clock::unix_ms();
    let at = |number: u64, time_ms| LoggedCall { time_ms, ..call(number) };
    for number in 0..1_500 {
        note(&log, &at(number, now_ms - 10 * 1_000 + number));
    }
    log.0.write();
    let bytes =
        || paths(&folder).iter().map(|path| path.metadata().map_or(0, |file| file.len())).sum::<u64>();
    let before = bytes();
    // the last ten are younger than seven days then
    log.0.expire(now_ms - 10 * 1_000 + 1_490 + KEPT_MS);
    let left: Vec<u64> = (1_490..1_500).rev().collect();
    assert_eq!(numbers(&log, &all(5_000)), left);
    assert!(bytes() < before / 50, "{before} and then {}", bytes());
    note(&log, &at(1_500, now_ms));
    log.close();
    let log = kept_in(&folder);
    assert_eq!(numbers(&log, &all(5_000)), [[1_500].as_slice(), &left].concat());
    log.0.expire(now_ms + KEPT_MS + 1);
    assert_eq!((numbers(&log, &all(1)), bytes()), (vec![], 0));
    log.close();
}

#[test]
fn calls_of_a_user_who_is_forgotten_leave_memory_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let log = kept_in(&folder);
    let of = |number: u64, user: &str| {
        let body = format!(r#"{{"userToken":"{user}"}}"#);
        LoggedCall { body: body.into(), ..call(number) }
    };
    // more than are in memory
    for number in 0..1_500 {
        note(&log, &of(number, if number.is_multiple_of(3) { "ann" } else { "anna" }));
    }
    log.0.write();
    assert!(log.0.forget(ForgottenUsers::These([("ann".to_owned(), 0)].into())));
    let left: Vec<u64> = (500..1_500_u64).rev().filter(|number| !number.is_multiple_of(3)).collect();
    assert_eq!(numbers(&log, &all(5_000)), left);
    let in_files = || {
        paths(&folder)
            .map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned())
    };
    assert!(in_files().iter().all(|text| !text.contains("\"ann\"")));
    assert!(in_files().iter().any(|text| text.contains("\"anna\"")));
    note(&log, &of(1_500, "ann"));
    log.close();
    let log = kept_in(&folder);
    assert_eq!(numbers(&log, &all(5_000)), [[1_500].as_slice(), &left].concat(), "what comes later is kept");
    log.0.forget(ForgottenUsers::TooMany);
    assert_eq!(numbers(&log, &all(5_000)), [0; 0]);
    log.close();
}

#[test]
fn calls_under_way_when_a_user_is_forgotten_leave_too_and_later_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let log = kept_in(&folder);
    let told_ms = clock::unix_ms();
    let lately = |change: &dyn Fn(&mut Lately)| change(&mut log.0.keeper.lock().lately);
    let of = |number: u64, user: &str, began_ms: u64| {
        let url = format!("/1/usertokens/{user}");
        // it took two seconds
        LoggedCall { url, time_ms: began_ms + 2_000, took_us: 2_000_000, ..call(number) }
    };
    let told = |user: &str| ForgottenUsers::These([(user.to_owned(), told_ms)].into());
    let seen = |log: &RequestLog| {
        let calls = log.latest(&all(5_000));
        calls.iter().map(|call| call.url.to_string()).collect::<Vec<_>>().join(" ")
    };
    note(&log, &of(1, "bob", told_ms - 1));
    log.0.write();
    lately(&|it| it.add(told("ann"), told_ms));
    assert!(log.0.forget(told("ann")));
    // what is noted after that: the call that asked for it, one that began before it, another user, and what came later
    for (number, user, began_ms) in
        [(2, "ann", told_ms - 5), (3, "ann", told_ms), (4, "bob", told_ms - 5), (5, "ann", told_ms + 1)]
    {
        note(&log, &of(number, user, began_ms));
    }
    log.0.write();
    let left = "/1/usertokens/ann /1/usertokens/bob /1/usertokens/bob";
    assert_eq!(seen(&log), left);
    note(&log, &of(6, "bob", told_ms));
    lately(&|it| {
        it.expire(told_ms + 1);
        it.add(ForgottenUsers::default(), told_ms + 2);
    });
    note(&log, &of(7, "ann", told_ms));
    log.0.write();
    let left = format!("/1/usertokens/bob {left}");
    assert_eq!(seen(&log), left);
    // no call is that old
    lately(&|it| it.expire(told_ms + 24 * 3_600 * 1_000));
    note(&log, &of(8, "ann", told_ms));
    log.0.write();
    let left = format!("/1/usertokens/ann {left}");
    assert_eq!(seen(&log), left);
    log.close();
    assert_eq!(seen(&kept_in(&folder)), left, "files have the same");
}

#[test]
fn what_somebody_does_later_stays_when_others_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let log = kept_in(&folder);
    let of = |number: u64, user: &str| LoggedCall { url: format!("/?userToken={user}"), ..call(number) };
    let users = |user: &str| ForgottenUsers::These([(user.to_owned(), 0)].into());
    let told = |user: &str, at_ms| log.0.keeper.lock().lately.add(users(user), at_ms);
    told("ann", clock::unix_ms() - 60_000);
    note(&log, &of(1, "ann"));
    note(&log, &of(2, "bob"));
    log.0.write();
    told("bob", clock::unix_ms() + 1);
    assert!(log.0.forget(users("bob")));
    assert_eq!(numbers(&log, &all(5)), [1], "ann's call is younger than her wish");
    log.close();
    assert_eq!(numbers(&kept_in(&folder), &all(5)), [1]);
}

#[test]
fn many_calls_may_wait_to_be_written_unless_somebody_was_forgotten() {
    let log = RequestLog::default();
    for number in 0..CALLS_MAX as u64 {
        assert!(!log.0.may_wait(), "{number} are few");
        note(&log, &call(number));
    }
    assert!(log.0.may_wait());
    let users = ForgottenUsers::These([("ann".to_owned(), 0)].into());
    log.0.keeper.lock().lately.add(users, clock::unix_ms());
    assert!(!log.0.may_wait());
    log.0.keeper.lock().lately = Lately::default();
    assert!(log.0.may_wait());
    log.0.keeper.lock().written = 1;
    assert!(!log.0.may_wait(), "one of them is written");
}

#[test]
fn a_reader_keeps_what_it_reads_while_others_note() {
    let log = RequestLog::default();
    for number in 0..CALLS_MAX as u64 {
        note(&log, &call(number));
    }
    let read: Vec<Kept> = log.0.ring.lock().behind(0);
    for number in 0..CALLS_MAX as u64 {
        note(&log, &call(5_000 + number));
    }
    let seen = read.iter().map(|call| call.read().unwrap().took_us);
    assert!(seen.eq(0..CALLS_MAX as u64));
    assert_eq!(numbers(&log, &all(2)), [5_999, 5_998]);
}

#[test]
fn what_is_too_large_is_left_out() {
    let log = RequestLog::default();
    note(&log, &call(1));
    note(&log, &LoggedCall { body: vec![b'x'; CALL_BYTES_MAX].into(), ..call(2) });
    assert_eq!(numbers(&log, &all(2)), [1]);
}
