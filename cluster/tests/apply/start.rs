//! What a first start makes and later ones keep.

use crate::harness::{Node, options};
use quorate_cluster::{ClusterOptions, Service, ServiceOptions};
use quorate_model::{Acl, ErrorKind};
use std::path::Path;
use std::time::Duration;

fn admin_key_file(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("admin-key")).expect("a file").trim().to_owned()
}

#[actix_rt::test]
async fn the_first_start_makes_an_installation_and_later_ones_keep_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Node::open(folder.path()).await;
    let admin_key = admin_key_file(folder.path());
    let search_key = first.started.search_key.clone().expect("a search key");
    assert!(first.started.first_start && !first.started.replaced_admin_key);
    assert_eq!((first.started.app_id.len(), admin_key.len(), search_key.len()), (10, 32, 32));
    assert_eq!(first.service.app_id(), first.started.app_id);
    assert!(first.service.is_admin_key(&admin_key) && !first.service.is_admin_key(&search_key));
    assert!(!first.service.is_admin_key("") && first.service.key(&admin_key).is_none());
    assert_eq!(first.service.key(&search_key).expect("the key").acl, [Acl::Search]);
    assert_eq!(first.service.keys().len(), 1);
    let health = first.service.health();
    assert!(health.reads.is_empty() && health.writes.is_empty(), "{health:?}");
    let app_id = first.started.app_id.clone();
    first.close().await;

    let second = Node::open(folder.path()).await;
    assert!(!second.started.first_start && second.started.warnings.is_empty(), "{:?}", second.started);
    assert_eq!((&second.started.app_id, second.started.search_key.as_ref()), (&app_id, Some(&search_key)));
    assert!(second.service.is_admin_key(&admin_key));
    assert_eq!(admin_key_file(folder.path()), admin_key);
    second.close().await;
}

#[actix_rt::test]
async fn another_admin_key_replaces_the_old_one_and_another_application_id_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |app_id: Option<&str>, admin_key: Option<&str>| ServiceOptions {
        app_id: app_id.map(str::to_owned),
        admin_key: admin_key.map(str::to_owned),
        ..options(folder.path())
    };
    let first = Node::open_with(with(Some("SHOP"), Some("first-admin-key"))).await;
    assert_eq!(first.service.app_id(), "SHOP");
    assert!(first.service.is_admin_key("first-admin-key"));
    first.close().await;

    let second = Node::open_with(with(None, Some("second-admin-key"))).await;
    assert!(second.started.replaced_admin_key);
    let keys = |node: &Node| {
        ["first", "second", "third"].map(|it| node.service.is_admin_key(&format!("{it}-admin-key")))
    };
    assert_eq!(keys(&second), [true, true, false], "the one before counts for a time");
    assert_eq!(admin_key_file(folder.path()), "second-admin-key");
    second.close().await;

    let at_once = ServiceOptions { admin_key_overlap: Duration::ZERO, ..with(None, Some("third-admin-key")) };
    let third = Node::open_with(at_once).await;
    assert_eq!(keys(&third), [false, false, true], "none counts for longer than the new one's node says");
    third.close().await;

    // given again what it was given last, or nothing: no wish
    for given in [Some("third-admin-key"), None] {
        let again = Node::open_with(with(None, given)).await;
        assert!(!again.started.replaced_admin_key && again.started.warnings.is_empty());
        assert_eq!(
            (keys(&again), admin_key_file(folder.path())),
            ([false, false, true], "third-admin-key".into())
        );
        again.close().await;
    }

    // the owner of a node that is alone may write a key into the file, but an old file brings no old key back
    std::fs::write(folder.path().join("admin-key"), "first-admin-key").expect("written");
    let stale = Node::open_with(with(None, None)).await;
    assert!(!stale.started.replaced_admin_key && stale.service.is_admin_key("third-admin-key"));
    stale.close().await;
    std::fs::write(folder.path().join("admin-key"), "fourth-admin-key").expect("written");
    let edited = Node::open_with(with(None, None)).await;
    assert!(edited.started.replaced_admin_key && edited.service.is_admin_key("fourth-admin-key"));
    edited.close().await;

    let refused = Service::open(with(Some("OTHER"), None)).await.err().expect("a refusal");
    assert!(refused.message.contains("SHOP") && refused.message.contains("OTHER"), "{refused}");

    let third = Node::open_with(with(Some("SHOP"), None)).await;
    assert!(!third.started.replaced_admin_key && third.service.is_admin_key("fourth-admin-key"));
    third.close().await;
}

#[actix_rt::test]
async fn an_api_key_becomes_no_admin_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let with =
        |admin_key: &str| ServiceOptions { admin_key: Some(admin_key.into()), ..options(folder.path()) };
    let first = Node::open_with(with("first-admin-key")).await;
    let public = first.started.search_key.clone().expect("one is made");
    let replaced = first.service.replace_admin_key(&public).await.expect_err("others hold it");
    assert!(replaced.message.contains("it is the value of an API key"), "{replaced}");
    first.close().await;

    let second = Node::open_with(with(&public)).await;
    let is_first = |node: &Node| {
        !node.service.is_admin_key(&public)
            && node.service.is_admin_key("first-admin-key")
            && admin_key_file(folder.path()) == "first-admin-key"
    };
    assert!(!second.started.replaced_admin_key && is_first(&second));
    second.service.delete_key(&public, None).await.expect("deleted");
    second.service.replace_admin_key(&public).await.expect_err("it could be restored");
    assert!(is_first(&second));
    second.close().await;
}

#[actix_rt::test]
async fn a_folder_in_use_and_bad_options_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::open(folder.path()).await;
    let refused = Service::open(options(folder.path())).await.err().expect("a refusal");
    assert!(refused.message.contains("in use by another process"), "{refused}");
    node.close().await;
    for (app_id, admin_key) in
        [(Some(""), None), (Some("a b"), None), (None, Some("short")), (None, Some("with a blank"))]
    {
        let bad = ServiceOptions {
            app_id: app_id.map(str::to_owned),
            admin_key: admin_key.map(str::to_owned),
            ..options(folder.path())
        };
        let refused = Service::open(bad).await.err().expect("a refusal");
        assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
    }
}

#[actix_rt::test]
async fn a_node_keeps_its_name_and_its_cluster_unless_it_is_given_another_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |name: Option<&str>, cluster: Option<&str>| ServiceOptions {
        cluster: ClusterOptions {
            node_name: name.map(str::to_owned),
            cluster: cluster.map(str::to_owned),
            ..ClusterOptions::default()
        },
        ..options(folder.path())
    };
    for (name, cluster, expected) in [
        (Some("first"), Some("west"), "first"),
        (None, None, "first"),
        (Some("second"), Some("west"), "second"),
        (None, None, "second"),
    ] {
        let node = Node::open_with(with(name, cluster)).await;
        assert_eq!(node.service.node_name(), expected);
        let overview = node.service.overview().await.expect("an overview");
        assert_eq!(overview.nodes.iter().map(|it| it.cluster.as_str()).collect::<Vec<_>>(), ["west"]);
        node.close().await;
    }
    let refused = Service::open(with(None, Some("main"))).await.err().expect("a refusal");
    assert_eq!(refused.kind, ErrorKind::Invalid);
    assert!(refused.message.contains("belongs to the cluster west"), "{refused}");
}
