//! Do commands act for a user where records belong to users?

mod node;

use node::{Node, ok, refused};

#[test]
fn records_are_imported_and_searched_for_a_user() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = Node::start(&data, &["--multi-cluster"]);
    let file = folder.path().join("things.jsonl");
    std::fs::write(&file, "{\"objectID\": \"1\", \"name\": \"lantern\"}\n").unwrap();
    let import = ["import", "things", file.to_str().unwrap()];
    refused(&data, &import, "a user ID is required");
    refused(&data, &[&import[..], &["--user-id", "nobody"]].concat(), "nobody");
    let everybody = ok(&data, &[&import[..], &["--user-id", "*"]].concat());
    assert!(everybody.starts_with("1 record "), "{everybody}");
    assert!(ok(&data, &["search", "things", "lantern", "--user-id", "*"]).contains("1 hit"));
    assert!(node.stop(), "SIGTERM is a clean end");
}
