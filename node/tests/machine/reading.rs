//! Which threads do reads run on?

use super::*;
use quorate_model::limits;
use quorate_node::Turn;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keeps the only thread of the pool until the sender is dropped.
fn occupy(node: &Node) -> std::sync::mpsc::Sender<()> {
    let (held, wait) = std::sync::mpsc::channel::<()>();
    let (began, begins) = std::sync::mpsc::channel();
    let pool = node.pool().clone();
    std::thread::spawn(move || {
        let hold = pool.run(move |_| {
            began.send(()).unwrap();
            let _let_go = wait.recv();
            Ok(())
        });
        wait_for(hold).unwrap();
    });
    begins.recv().unwrap();
    held
}

#[actix_rt::test]
async fn short_searches_of_small_indices_wait_for_no_other_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(folder.path(), vec![]);
    rig.apply(IndexCommand::Records { index: 7, ops: (1..=40).map(|n| put(&n.to_string(), n)).collect() });
    rig.wait();
    let view = rig.node.view(7).unwrap();
    let (pool, rights) = (rig.node.pool().clone(), ReadRights::default());
    let params = |query: &str| SearchParams { query: Some(query.into()), ..SearchParams::default() };
    let shown = |results: quorate_model::Result<quorate_model::SearchResults>| {
        let results = results.unwrap();
        let hits: Vec<Vec<u8>> = results.hits.iter().map(<[u8]>::to_vec).collect();
        (results.nb_hits, hits)
    };
    for query in ["", "1", "nothing"] {
        let by_pool = shown(wait_for(pool.search(view.clone(), params(query), rights)));
        let held = occupy(&rig.node);
        let mut at_once = None;
        // a busy machine may stop this thread in the middle of it, and then it is long
        for _ in 0..100 {
            let search = pool.search_at_once(&view, params(query), rights);
            at_once = tokio::time::timeout(Duration::from_millis(100), search).await.ok();
            if at_once.is_some() {
                break;
            }
        }
        assert_eq!(at_once.map(shown), Some(by_pool), "{query:?}");
        drop(held);
    }
    // a long text is the pool's, which has no thread for it
    let held = occupy(&rig.node);
    let long = params(&"word ".repeat(60));
    let waits = tokio::time::timeout(Duration::from_millis(50), pool.search_at_once(&view, long, rights));
    assert!(waits.await.is_err(), "it waits for the thread");
    drop(held);
}

#[actix_rt::test]
async fn a_job_that_has_waited_too_long_or_that_nobody_waits_for_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::open(folder.path(), vec![]);
    let pool = rig.node.pool().clone();
    let begun = Arc::new(AtomicUsize::new(0));
    let job = || {
        let begun = begun.clone();
        move |_: Turn<'_>| Ok(begun.fetch_add(1, Ordering::SeqCst))
    };
    let held = occupy(&rig.node);
    let hung_up = tokio::time::timeout(Duration::from_millis(20), pool.run(job())).await;
    assert!(hung_up.is_err(), "there is no thread");
    let free = async {
        tokio::time::sleep(Duration::from_millis(limits::SEARCH_WAIT_MS + 100)).await;
        drop(held);
    };
    let (late, patient, ()) = tokio::join!(pool.run(job()), pool.run_patiently(job()), free);
    let refused = late.unwrap_err();
    assert_eq!(refused.kind, quorate_model::ErrorKind::Unavailable, "{refused}");
    assert!(patient.is_ok());
    assert_eq!(pool.run(job()).await.unwrap(), 1, "only the patient one was begun before");
}

/// However fast they are read one after another: nobody waits for somebody who tidies up now and then.
#[actix_rt::test]
async fn views_of_many_indices_are_not_all_open_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(folder.path(), vec![]);
    let count = limits::OPEN_VIEWS_MAX as u64 + 500;
    for index in 1..=count {
        rig.apply(settings(index, r#"{"hitsPerPage": 5}"#));
    }
    rig.wait();
    let mut most = 0;
    for index in 1..=count {
        rig.node.view(index).unwrap();
        most = most.max(rig.node.open_counts().1);
    }
    assert!((limits::OPEN_VIEWS_MAX..=limits::OPEN_VIEWS_MAX + 100).contains(&most), "{most} are open");
    // those that were used last are the ones that stay
    let is_open = |index| rig.node.index(index).unwrap().is_open();
    assert!(is_open(count) && is_open(count - 900) && !is_open(1));
}
