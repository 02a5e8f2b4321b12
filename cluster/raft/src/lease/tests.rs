//! Every step of the leases of a group, on both sides.

use super::*;
use crate::effects::Confirmed;
use crate::status::Membership;

const TERM: u64 = 3;

fn grant(term: u64, through: u64) -> Grant {
    Grant { term, through }
}

/// A holder that asked at 1,000 and was granted a lease through 10 in term 3.
fn holding() -> LeaseHolder {
    let mut holder = LeaseHolder::new(7);
    let ask = holder.ask(1_000);
    holder.granted(1_050, ask, grant(TERM, 10));
    holder
}

#[test]
fn a_lease_is_unbroken_while_its_renewals_come_in_time() {
    let mut holder = holding();
    assert_eq!(holder.lease(1_100, 9), None, "nothing is read under it yet");
    let lease = holder.lease(1_100, 10).expect("a lease");
    let ask = holder.ask(2_000);
    holder.granted(2_010, ask, grant(TERM, 20));
    assert!(holder.is_unbroken(5_500, lease) && !holder.is_unbroken(6_000, lease));
    let late = holder.ask(6_100);
    holder.granted(6_110, late, grant(TERM, 20));
    assert!(
        holder.may_read(6_200, 20) && !holder.is_unbroken(6_200, lease),
        "another one begins after a gap"
    );
    let mut holder = holding();
    let lease = holder.lease(1_100, 10).expect("a lease");
    let ask = holder.ask(2_000);
    holder.granted(2_010, ask, grant(TERM + 1, 10));
    assert_ne!(holder.lease(2_100, 10), Some(lease), "the lease of the next term runs longer");
    assert!(holder.is_unbroken(2_100, lease));
}

#[test]
fn a_lease_counts_from_the_question_and_begins_when_enough_is_shown() {
    let holder = holding();
    for (now, shows, may) in [
        (1_050, 10, true),
        (1_050, 9, false),
        (1_050, 11, true),
        (4_999, 10, true),
        (5_000, 10, false),
        (5_049, 10, false),
    ] {
        assert_eq!(holder.may_read(now, shows), may, "at {now}, showing {shows}");
        assert!(!may || holder.leases().allow(now, shows));
    }
    assert_eq!(holder.leases().end(), Some(5_000));
    assert!(!LeaseHolder::new(7).may_read(0, 100), "nothing was granted");
}

#[test]
fn a_renewal_that_arrives_in_time_needs_no_second_look() {
    let mut holder = holding();
    let ask = holder.ask(2_000);
    holder.granted(4_999, ask, grant(TERM, 50));
    assert!(holder.may_read(5_999, 10), "the chain began with 10");
    assert!(!holder.may_read(6_000, 99));
}

#[test]
fn a_renewal_that_arrives_too_late_begins_anew() {
    let mut holder = holding();
    // It was asked for in time, but the leader may have granted it after the lease before it ran out.
    let ask = holder.ask(4_900);
    holder.granted(5_000, ask, grant(TERM, 50));
    assert!(!holder.may_read(5_001, 49));
    assert!(holder.may_read(5_001, 50) && holder.may_read(8_899, 50));
    assert!(!holder.may_read(8_900, 50));
}

#[test]
fn a_lease_of_a_later_term_begins_anew_beside_the_old_one() {
    let mut holder = holding();
    let ask = holder.ask(3_000);
    holder.granted(3_100, ask, grant(TERM + 1, 20));
    assert!(holder.may_read(4_999, 10), "the old lease is used to its end");
    assert!(!holder.may_read(5_000, 19), "and no further");
    assert!(holder.may_read(6_999, 20));
    let ask = holder.ask(4_000);
    holder.granted(4_100, ask, grant(TERM + 1, 30));
    assert!(holder.may_read(7_999, 20), "the later chain is renewed by its own leader");
    assert!(!holder.may_read(5_000, 10), "the earlier one is not");
}

#[test]
fn answers_that_are_late_doubled_foreign_or_old_change_nothing() {
    let mut holder = holding();
    let ask = holder.ask(2_000);
    holder.granted(6_000, ask, grant(TERM, 10));
    assert!(!holder.may_read(6_000, 100), "late: the lease was over when it arrived");

    let mut holder = LeaseHolder::new(7);
    let first = holder.ask(1_000);
    holder.granted(1_050, first, grant(TERM, 10));
    holder.granted(4_000, first, grant(TERM, 0));
    assert_eq!(holder.leases(), holding().leases(), "doubled");

    let mut other_life = LeaseHolder::new(8);
    let foreign = other_life.ask(500);
    let mut holder = LeaseHolder::new(7);
    holder.ask(1_000);
    holder.granted(1_050, foreign, grant(TERM, 0));
    assert!(!holder.may_read(1_050, 100), "of an earlier life");

    let mut holder = LeaseHolder::new(7);
    let (one, other) = (holder.ask(1_000), holder.ask(1_100));
    holder.granted(1_200, one, grant(TERM, 10));
    holder.granted(1_300, other, grant(TERM - 1, 0));
    assert_eq!(holder.leases().end(), Some(5_000), "of an older term");
}

#[test]
fn answers_in_another_order_count_each_from_its_own_question() {
    let mut holder = LeaseHolder::new(7);
    let (one, other) = (holder.ask(1_000), holder.ask(2_000));
    holder.granted(2_100, other, grant(TERM, 12));
    holder.granted(2_200, one, grant(TERM, 10));
    assert_eq!(holder.leases().end(), Some(6_000));
    assert!(holder.may_read(2_200, 12) && !holder.may_read(2_200, 11));
}

#[test]
fn questions_that_wait_are_bounded() {
    let mut holder = LeaseHolder::new(7);
    let oldest = holder.ask(1_000);
    for at in 0..100 {
        holder.ask(1_001 + at);
    }
    holder.granted(1_200, oldest, grant(TERM, 0));
    assert!(!holder.may_read(1_200, 100));
}

#[test]
fn a_clock_that_jumps_ahead_or_back_ends_the_lease() {
    let mut holder = holding();
    assert!(!holder.may_read(60_000, 100), "ahead, as after a pause");
    assert!(!holder.may_read(900, 100), "back");
    let ask = holder.ask(900);
    assert!(!holder.may_read(1_100, 100), "and it stays over");
    holder.granted(950, ask, grant(TERM, 10));
    assert!(holder.may_read(951, 10) && !holder.may_read(4_900, 10));
}

#[test]
fn leases_of_many_terms_keep_those_that_last_longest() {
    let mut holder = LeaseHolder::new(7);
    for term in 1..=9 {
        let ask = holder.ask(1_000 + term);
        holder.granted(1_000 + term, ask, grant(term, term * 10));
    }
    assert!(holder.may_read(1_100, 70) && !holder.may_read(1_100, 60));
    holder.give_up();
    assert!(!holder.may_read(1_100, 1_000));
}

fn confirmed(log_index: u64) -> Confirmed {
    Confirmed { term: TERM, log_index }
}
fn members(voters: &[u64]) -> Membership {
    Membership { voters: voters.to_vec(), ..Membership::default() }
}
fn all_but(missing: &'static [u64]) -> impl Fn(u64) -> Shows {
    |member| if missing.contains(&member) { Shows::No } else { Shows::Yes }
}

/// Member 1 leads 1, 2 and 3 in term 3 since 10,000; the leases of its predecessor have run out.
fn leading() -> LeaseGranter {
    let mut granter = LeaseGranter::new(1);
    granter.became_leader(10_000, TERM, &members(&[1, 2, 3]));
    granter
}
const LATER: u64 = 10_000 + HELD_MS + 1;

#[test]
fn a_new_leader_counts_everyone_for_one_lease() {
    let mut granter = leading();
    for now in [10_000, LATER - 1] {
        assert_eq!(granter.holders(now), [1, 2, 3]);
        assert_eq!(granter.published(now, Some(TERM), 5, all_but(&[3])), Published::NotYet);
        assert_eq!(granter.published(now, Some(TERM), 5, all_but(&[])), Published::Yes);
    }
    assert_eq!(granter.holders(LATER), [1], "itself always");
    assert_eq!(granter.published(LATER, Some(TERM), 5, all_but(&[2, 3])), Published::Yes);
    assert_eq!(granter.published(LATER, Some(TERM), 5, all_but(&[1])), Published::NotYet);
}

#[test]
fn what_is_granted_is_held_longer_than_it_is_used() {
    let mut granter = leading();
    assert_eq!(granter.grant(LATER, 2, confirmed(10), 10), Ok(grant(TERM, 10)));
    assert_eq!(granter.holders(LATER + HELD_MS), [1, 2]);
    assert_eq!(granter.published(LATER + HELD_MS, Some(TERM), 9, all_but(&[2])), Published::NotYet);
    let unknown = |member| if member == 2 { Shows::Unknown } else { Shows::Yes };
    assert_eq!(granter.published(LATER + HELD_MS, Some(TERM), 9, unknown), Published::NotYet);
    assert_eq!(granter.holders(LATER + HELD_MS + 1), [1]);
    granter.grant(LATER + 5_000, 2, confirmed(10), 10).unwrap();
    assert_eq!(granter.holders(LATER + 9_500), [1, 2], "renewed");
}

#[test]
fn a_lease_after_published_begins_with_what_was_published() {
    let mut granter = leading();
    assert_eq!(granter.published(LATER, Some(TERM), 30, all_but(&[2, 3])), Published::Yes);
    // The confirmation began before 30 was committed.
    assert_eq!(granter.grant(LATER, 2, confirmed(10), 30), Ok(grant(TERM, 30)));
}

#[test]
fn nothing_is_granted_to_whom_it_is_not_due() {
    let mut granter = leading();
    assert_eq!(granter.grant(LATER, 4, confirmed(10), 10), Err(NotGranted::NotMember));
    let of_term = |term| Confirmed { term, log_index: 10 };
    for term in [TERM - 1, TERM + 1] {
        assert_eq!(granter.grant(LATER, 2, of_term(term), 10), Err(NotGranted::NotLeader));
    }
    granter.hands_over();
    assert_eq!(granter.grant(LATER, 2, confirmed(10), 10), Err(NotGranted::HandingOver));
    granter.stays_leader();
    assert!(granter.grant(LATER, 2, confirmed(10), 10).is_ok());
    granter.lost_leadership();
    assert_eq!(granter.grant(LATER, 2, confirmed(10), 10), Err(NotGranted::NotLeader));
    assert_eq!(granter.published(LATER, Some(TERM), 1, all_but(&[])), Published::NotLeader);
    assert_eq!(granter.may_remove(LATER, 2), Removal::NotLeader);
    assert!(granter.holders(LATER).is_empty());
}

#[test]
fn a_new_leader_first_applies_what_the_old_ones_left() {
    let mut granter = leading();
    assert_eq!(granter.grant(LATER, 2, confirmed(20), 19), Err(NotGranted::Behind));
    assert_eq!(granter.grant(LATER, 2, confirmed(25), 19), Err(NotGranted::Behind));
    assert_eq!(granter.grant(LATER, 2, confirmed(30), 20), Ok(grant(TERM, 30)), "20 was enough");
    assert!(granter.grant(LATER, 2, confirmed(90), 21).is_ok(), "from then on it does not matter");
}

#[test]
fn published_is_only_answered_in_the_term_that_is_asked_for() {
    let mut granter = leading();
    for term in [None, Some(TERM - 1), Some(TERM + 1)] {
        assert_eq!(granter.published(LATER, term, 5, all_but(&[])), Published::NotLeader);
    }
    granter.became_leader(LATER, TERM, &members(&[1]));
    assert_eq!(granter.holders(LATER), [1], "told twice, it does not begin anew");
    granter.became_leader(LATER, TERM + 2, &members(&[1, 2]));
    assert_eq!(granter.holders(LATER), [1, 2]);
    assert_eq!(granter.published(LATER, Some(TERM), 5, all_but(&[])), Published::NotLeader);
}

#[test]
fn members_that_appear_or_leave_count_as_long_as_they_may_read() {
    let mut granter = leading();
    granter.members_are(10_100, &members(&[1, 2, 4]));
    // 4 may hold a lease of a leader that added it; 3 was still counted when it left.
    assert_eq!(granter.holders(10_100), [1, 2, 3, 4]);
    assert_eq!(granter.holders(LATER), [1]);
    assert_eq!(granter.grant(LATER, 3, confirmed(10), 10), Err(NotGranted::NotMember));
    granter.members_are(LATER, &members(&[1, 2, 4, 5]));
    assert_eq!(granter.holders(LATER), [1], "5 was added by this leader and has had no lease");
}

#[test]
fn a_member_is_removed_when_its_lease_is_over_and_gets_no_other() {
    let mut granter = leading();
    granter.grant(LATER, 2, confirmed(10), 10).unwrap();
    assert_eq!(granter.may_remove(LATER + 100, 2), Removal::After(LATER + HELD_MS + 1));
    assert_eq!(granter.grant(LATER + 200, 2, confirmed(10), 10), Err(NotGranted::NotMember));
    assert_eq!(granter.may_remove(LATER + HELD_MS + 1, 2), Removal::Now);
    granter.keep(2);
    assert!(granter.grant(LATER + 300, 2, confirmed(10), 10).is_ok());
    assert_eq!(granter.may_remove(LATER + 400, 2), Removal::After(LATER + 300 + HELD_MS + 1));
    granter.removal_proposed(2);
    granter.keep(2);
    assert!(granter.grant(LATER + 5_000, 2, confirmed(10), 10).is_err(), "it may be in the log");
    granter.removal_proposed(2);
    granter.removal_refused(2);
    granter.keep(2);
    assert!(
        granter.grant(LATER + 5_000, 2, confirmed(10), 10).is_err(),
        "the first proposal may be in the log"
    );
    granter.removal_refused(2);
    granter.keep(2);
    assert!(granter.grant(LATER + 5_000, 2, confirmed(10), 10).is_ok());
    // A member that left and comes back begins like any other.
    assert_eq!(granter.may_remove(LATER + 400, 3), Removal::Now);
    granter.members_are(LATER + 500, &members(&[1, 2]));
    granter.members_are(LATER + 600, &members(&[1, 2, 3]));
    assert!(granter.grant(LATER + 700, 3, confirmed(10), 10).is_ok());
}

#[test]
fn who_is_half_removed_counts_and_gets_no_lease_from_anyone() {
    let mut granter = leading();
    let mut half_removed = Membership { learners: vec![4], is_joint: true, ..members(&[1, 2, 3]) };
    half_removed.leaving = vec![3];
    granter.became_leader(20_000, TERM + 1, &half_removed);
    assert_eq!(granter.holders(20_000), [1, 2, 3, 4]);
    let confirmed = Confirmed { term: TERM + 1, log_index: 10 };
    assert_eq!(granter.grant(20_000, 3, confirmed, 10), Err(NotGranted::NotMember));
    assert!(granter.grant(20_000, 4, confirmed, 10).is_ok());
    // The leader itself may be the one that leaves.
    half_removed.leaving = vec![1];
    granter.became_leader(30_000, TERM + 2, &half_removed);
    let confirmed = Confirmed { term: TERM + 2, log_index: 10 };
    assert_eq!(granter.grant(30_000, 1, confirmed, 10), Err(NotGranted::NotMember));
    assert_eq!(granter.holders(30_000), [1, 2, 3, 4]);
}
