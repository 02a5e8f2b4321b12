//! What a first start makes and later ones keep.

use crate::harness::{Node, options};
use quorate_cluster::{Service, ServiceOptions};
use quorate_model::{Acl, ErrorKind};
use std::path::Path;

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
    assert!(
        second.service.is_admin_key("second-admin-key") && !second.service.is_admin_key("first-admin-key")
    );
    assert_eq!(admin_key_file(folder.path()), "second-admin-key");
    second.close().await;

    let refused = Service::open(with(Some("OTHER"), None)).await.err().expect("a refusal");
    assert!(refused.message.contains("SHOP") && refused.message.contains("OTHER"), "{refused}");

    let third = Node::open_with(with(Some("SHOP"), None)).await;
    assert!(!third.started.replaced_admin_key && third.service.is_admin_key("second-admin-key"));
    third.close().await;
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
