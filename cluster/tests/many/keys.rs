//! Which admin key does a node have that joins?

use crate::harness::{Installation, in_time};
use std::time::Duration;

#[actix_rt::test]
async fn a_node_that_joins_takes_the_admin_key_that_is_there() {
    in_time(async {
        let mut installation = Installation::start(2).await;
        let key = installation.admin_key(0).expect("the founder has made one");
        installation.join_with_key("brought-by-who-joins").await;
        for number in [1, 2] {
            while installation.admin_key(number).as_ref() != Some(&key) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        for node in installation.nodes() {
            assert!(node.is_admin_key(&key) && !node.is_admin_key("brought-by-who-joins"));
        }
        installation.stop().await;
    })
    .await;
}
