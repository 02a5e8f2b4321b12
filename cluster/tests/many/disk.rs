//! Does a member of three whose disk refuses calls lose or change anything? All members hold the same afterwards, by hash.

use crate::digests::of_index;
use crate::harness::*;
use quorate_cluster::CallerOp;
use quorate_model::RecordOp;
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::files::{Files, RealFiles};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Points of a run that is not asked for more.
const POINTS: usize = 40;
/// Calls of a point to choose from: those of a durable commit, which a deletion by query asks for at once.
const CALLS: u64 = 6;
/// The longest time that a member stays ill, in looks.
const ILL_LOOKS: usize = 20;
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

#[actix_rt::test]
async fn a_member_whose_disk_refuses_any_call_ends_with_what_the_others_have() {
    in_time(async {
        let failing = FailingFiles::new(RealFiles::shared());
        let ill: Arc<dyn Files> = Arc::new(failing.clone());
        let installation = Installation::start_on(&[RealFiles::shared(), RealFiles::shared(), ill]).await;
        let mut model = Model::new();
        installation.write(0, "lamps", vec![put("first", json!({"n": u64::from(u32::MAX)}))]).await;
        model.insert("first".into(), u64::from(u32::MAX));
        installation.set(0, "lamps", json!({"attributesForFaceting": ["n"]})).await;
        compare(&installation, &model, "at first").await;
        let (points, mut ill_points, lamps) = (wanted(), 0, name("lamps"));
        for point in 0..points {
            let fault = Fault::ALL[point % Fault::ALL.len()];
            let count = [1, 5, u64::MAX][point / Fault::ALL.len() % 3];
            let (before, ops) = (failing.failed(), ops(point, &mut model));
            failing.fail(point as u64 * 7 % CALLS, count, fault);
            let accepted = patiently("a write", || installation.node(0).write_records(&lamps, ops.clone()));
            accepted.await.expect("an accepted write");
            for _ in 0..ILL_LOOKS {
                if failing.failed() >= before + count.min(3) {
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
            ill_points += usize::from(failing.failed() > before);
            failing.heal();
            if point % COMPARED == COMPARED - 1 {
                compare(&installation, &model, &format!("after {point}: {fault:?} {count}")).await;
            }
        }
        compare(&installation, &model, "in the end").await;
        println!("{points} points, {ill_points} met, {} calls failed", failing.failed());
        assert!(ill_points > 0, "no point met a call");
        installation.stop().await;
    })
    .await;
}
