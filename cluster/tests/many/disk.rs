//! Does a member of three whose disk refuses calls lose or change anything? All members hold the same afterwards, by hash.

mod log;

use crate::differs::leader_of;
use crate::digests::of_index;
use crate::harness::*;
use quorate_cluster::{CallerOp, Receipt, Service};
use quorate_model::{GroupId, RecordOp};
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::files::{Files, RealFiles};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Points of a run that is not asked for more. One node alone has 300 more in `failing_disk.rs` of the node's tests.
const POINTS: usize = 32;
/// One point in so many fails the log of the member, the others its other files.
const LOG_SHARE: usize = 4;
/// Rounds without a fault, which say how many calls of each kind there are to choose from.
const SOUND_ROUNDS: usize = 5;
/// The longest time that a point waits for its call, in looks: the member may be behind.
const MEETS_LOOKS: usize = 400;
/// The longest time that a member stays ill from then on, in looks.
const ILL_LOOKS: usize = 20;
/// The longest time that it then takes to try again, in looks.
const WORKS_LOOKS: usize = 4_000;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// Points between two comparisons.
const COMPARED: usize = 10;

/// `QUORATE_DISK_FAULTS` is another number of points; `all` takes 5,000.
fn wanted() -> usize {
    match std::env::var("QUORATE_DISK_FAULTS") {
        Ok(number) => number.parse().unwrap_or(5_000),
        Err(_) => POINTS,
    }
}

/// What the index must hold: `n` by objectID.
type Model = BTreeMap<String, u64>;

fn ops(point: usize, model: &mut Model) -> Vec<CallerOp> {
    let n = point as u64;
    let mut ops: Vec<CallerOp> = (0..4)
        .map(|number| {
            let id = format!("r{}", (point * 3 + number) % 50);
            model.insert(id.clone(), n);
            put(&id, json!({"n": n, "text": "a lamp"}))
        })
        .collect();
    if point % 3 == 1 {
        let id = format!("r{}", point * 7 % 50);
        model.remove(&id);
        ops.push(CallerOp::Ready(RecordOp::Delete { object_id: id }));
    }
    // what a query deletes is asked of the files of each member
    let old = n.wrapping_sub(2);
    let params = format!(r#"{{"filters":"n={old}"}}"#);
    model.retain(|_, it| *it != old);
    ops.push(CallerOp::Ready(RecordOp::DeleteBy { params: params.into_bytes() }));
    ops
}

async fn compare(installation: &Installation, model: &Model, what: &str) {
    let digests = of_index(installation, "lamps").await;
    assert!(digests.iter().all(|digest| digest == &digests[0]), "{what}: {digests:#?}");
    assert_eq!(digests[0].digest.records, model.len() as u64, "{what}");
    let ids: Vec<(&str, &str)> = model.keys().map(|id| ("lamps", id.as_str())).collect();
    for number in 0..3 {
        let found = installation.objects(number, &ids).await.expect("objects");
        for (record, (id, n)) in found.into_iter().zip(model) {
            let record = record.unwrap_or_else(|| panic!("{what}: {id} is gone on node {number}"));
            assert_eq!(record["n"], *n, "{what}: {id} on node {number}");
        }
    }
}

/// Looks until it is so, at most so many times.
async fn looks(times: usize, is_so: impl Fn() -> bool) -> bool {
    for _ in 0..times {
        if is_so() {
            return true;
        }
        tokio::time::sleep(LOOK).await;
    }
    is_so()
}

/// Whether a node says that it cannot write.
fn is_ill(node: &Service) -> bool {
    node.health().warnings.iter().any(|it| it.contains("cannot write what was applied"))
}

/// Writes to the index, whatever the member does.
async fn load(installation: &Installation, round: usize, model: &mut Model) -> Receipt {
    let (lamps, ops) = (name("lamps"), ops(round, model));
    patiently("a write", || installation.node(0).write_records(&lamps, ops.clone()))
        .await
        .expect("an accepted write")
}

/// Rounds without a fault: how many calls each fault finds in one, at least.
async fn sound_rounds(
    installation: &Installation,
    failing: &FailingFiles,
    model: &mut Model,
) -> [u64; Fault::ALL.len()] {
    let mut least = [u64::MAX; Fault::ALL.len()];
    for round in 0..SOUND_ROUNDS {
        let before = Fault::ALL.map(|fault| failing.concerned(fault));
        let receipt = load(installation, round, model).await;
        installation.published(0, receipt.task_id).await;
        compare(installation, model, &format!("in sound round {round}")).await;
        for (number, fault) in Fault::ALL.into_iter().enumerate() {
            least[number] = least[number].min(failing.concerned(fault) - before[number]);
        }
    }
    least
}

#[actix_rt::test]
async fn a_member_whose_disk_refuses_any_call_ends_with_what_the_others_have() {
    let points = wanted() - wanted() / LOG_SHARE;
    in_times(1 + points as u32 / 200, async {
        let failing = FailingFiles::new(RealFiles::shared());
        let ill: Arc<dyn Files> = Arc::new(failing.clone());
        let installation = Installation::start_on(&[RealFiles::shared(), RealFiles::shared(), ill]).await;
        let mut model = Model::new();
        installation.write(0, "lamps", vec![put("first", json!({"n": u64::from(u32::MAX)}))]).await;
        model.insert("first".into(), u64::from(u32::MAX));
        installation.set(0, "lamps", json!({"attributesForFaceting": ["n"]})).await;
        compare(&installation, &model, "at first").await;
        let calls = sound_rounds(&installation, &failing, &mut model).await;
        let mut met = 0;
        for point in 0..points {
            let kind = point % Fault::ALL.len();
            let (fault, count) = (Fault::ALL[kind], [1, 5, u64::MAX][point / Fault::ALL.len() % 3]);
            let before = failing.failed();
            // one of the first half: a round with other moments between its calls has fewer of some
            failing.fail_concerned(point as u64 * 7 % (calls[kind] / 2).max(1), count, fault);
            let receipt = load(&installation, SOUND_ROUNDS + point, &mut model).await;
            if looks(MEETS_LOOKS, || failing.failed() > before).await {
                met += 1;
                looks(ILL_LOOKS, || failing.failed() >= before + count.min(3)).await;
            }
            failing.heal();
            // it tries again after a pause; until then it calls nothing that the next point could meet
            looks(WORKS_LOOKS, || !is_ill(installation.node(2))).await;
            if point % COMPARED == COMPARED - 1 {
                installation.published(0, receipt.task_id).await;
                compare(&installation, &model, &format!("after {point}: {fault:?} {count}")).await;
            }
        }
        compare(&installation, &model, "in the end").await;
        println!("{points} points, {met} met, of {calls:?} calls a round; {} failed", failing.failed());
        assert!(met * 4 >= points * 3, "{met} of {points} points met a call");
        installation.stop().await;
    })
    .await;
}

/// How long it takes until every member has a lease of a new leader.
const RENEWED: Duration = Duration::from_millis(2_500);

/// Who leads a group now.
async fn leader(installation: &Installation, group: GroupId) -> Option<String> {
    let overview = patiently("an overview", || installation.node(0).overview()).await.expect("an overview");
    overview.groups.into_iter().find(|view| view.id == group.0)?.leader
}

#[actix_rt::test]
async fn nobody_waits_for_a_member_whose_disk_refuses_everything() {
    in_time(async {
        let failing = FailingFiles::new(RealFiles::shared());
        let ill: Arc<dyn Files> = Arc::new(failing.clone());
        let installation = Installation::start_on(&[RealFiles::shared(), RealFiles::shared(), ill]).await;
        let mut model = Model::new();
        installation.set(0, "lamps", json!({"attributesForFaceting": ["n"]})).await;
        let cases = [(Fault::Device, "n2"), (Fault::Full, "n2"), (Fault::Device, "n1")];
        for (round, (fault, leads)) in cases.into_iter().enumerate() {
            let (group, _) = leader_of(&installation, "lamps").await;
            patiently("a leader", || installation.node(0).transfer_leader(group, leads))
                .await
                .expect("it leads");
            while leader(&installation, group).await.as_deref() != Some(leads) {
                tokio::time::sleep(LOOK).await;
            }
            if leads == "n1" {
                // the one that will be ill has a lease of this leader by then, which it could renew for ever
                tokio::time::sleep(RENEWED).await;
            }
            failing.fail(0, u64::MAX, fault);
            let receipt = load(&installation, round, &mut model).await;
            // nobody mends the disk: the others see to it that the write shows
            installation.published(0, receipt.task_id).await;
            assert_ne!(leader(&installation, group).await.as_deref(), Some("n2"), "{fault:?}");
            assert!(failing.failed() > 0);
            let health = installation.node(2).health();
            assert!(
                health.warnings.iter().any(|it| it.contains("cannot write what was applied")),
                "{health:?}"
            );
            failing.heal();
            compare(&installation, &model, &format!("after {fault:?}")).await;
        }
        installation.stop().await;
    })
    .await;
}
