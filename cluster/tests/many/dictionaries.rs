//! Do all nodes go by the same dictionaries from the moment at which a change is published, whoever restarts or joins?

use crate::harness::*;
use quorate_cluster::Receipt;
use quorate_model::dictionary::{DictionaryChange, DictionaryEntry, DictionaryOp, DictionaryWords};
use quorate_model::{DictionaryKind, level, limits};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// More records than are rebuilt while writes wait.
const MANY: usize = 1_200;

fn add(id: &str, language: &'static str, words: DictionaryWords) -> DictionaryOp {
    DictionaryOp::Add(DictionaryEntry { object_id: id.into(), language, words })
}
fn stop_word(id: &str, word: &str) -> DictionaryOp {
    add(id, "en", DictionaryWords::StopWord { word: word.into(), is_enabled: true })
}
fn compound(id: &str, word: &str, parts: &[&str]) -> DictionaryOp {
    let parts = parts.iter().map(|part| (*part).into()).collect();
    add(id, "de", DictionaryWords::Compound { word: word.into(), parts })
}

impl Installation {
    /// Changes a dictionary without waiting for it.
    async fn change(
        &self,
        number: usize,
        kind: DictionaryKind,
        clear: bool,
        ops: Vec<DictionaryOp>,
    ) -> Receipt {
        let change = DictionaryChange { clear, ops };
        let node = self.node(number);
        patiently("a dictionary", || node.change_dictionary(kind, change.clone())).await.expect("accepted")
    }
    async fn change_through(&self, number: usize, kind: DictionaryKind, clear: bool, ops: Vec<DictionaryOp>) {
        let receipt = self.change(number, kind, clear, ops).await;
        self.published(number + 1, receipt.task_id).await;
    }
    /// How many records a search finds on each node.
    async fn counts(&self, index: &str, asked: Value) -> Vec<u64> {
        let mut counts = vec![];
        for number in 0..self.nodes().count() {
            counts.push(self.search(number, index, asked.clone()).await.expect("an answer").nb_hits);
        }
        counts
    }
}

fn part(query: &str) -> Value {
    json!({"query": query, "typoTolerance": false, "queryType": "prefixNone"})
}
fn without_stop_words(query: &str) -> Value {
    json!({"query": query, "typoTolerance": false, "removeStopWords": ["en"], "queryType": "prefixNone"})
}

#[actix_rt::test]
async fn every_node_goes_by_what_is_published() {
    in_times(2, async {
        let mut installation = Installation::start(3).await;
        let settings = json!({"decompoundedAttributes": {"de": ["name"]}});
        installation.set(0, "many", settings.clone()).await;
        let ops = (0..MANY).map(|n| put(&n.to_string(), json!({"name": "Xylokubel red car"}))).collect();
        installation.write(1, "many", ops).await;
        assert_eq!(installation.counts("many", part("kubel")).await, [0; 3]);
        let parts = vec![compound("1", "xylokubel", &["xylo", "kubel"])];
        installation.change_through(1, DictionaryKind::Compounds, false, parts).await;
        assert_eq!(installation.counts("many", part("kubel")).await, [MANY as u64; 3]);
        installation.change_through(2, DictionaryKind::StopWords, false, vec![stop_word("1", "shiny")]).await;
        assert_eq!(installation.counts("many", without_stop_words("shiny red car")).await, [MANY as u64; 3]);

        // while a node is away, and with a batch that several entries of the log hold
        let large: Vec<_> =
            (0..40_000).map(|n| stop_word(&format!("n{n}"), &format!("{n}{}", "x".repeat(50)))).collect();
        let bytes = large.iter().map(|op| if let DictionaryOp::Add(entry) = op { entry.bytes() } else { 0 });
        assert!(bytes.sum::<usize>() > 2 * limits::ENTRY_BYTES);
        installation.change_through(0, DictionaryKind::StopWords, true, large).await;
        let asked = || without_stop_words(&format!("39999{} red car", "x".repeat(50)));
        assert_eq!(installation.counts("many", asked()).await, [MANY as u64; 3]);
        assert_eq!(installation.counts("many", without_stop_words("shiny red car")).await, [0; 3]);
        installation.restart(2, |_| {}).await;
        assert_eq!(installation.counts("many", asked()).await, [MANY as u64; 3]);
        assert_eq!(installation.counts("many", part("kubel")).await, [MANY as u64; 3]);

        // one that joins, with an index that is made later
        installation.join("main").await;
        installation.set(3, "later", settings).await;
        installation.write(3, "later", vec![put("1", json!({"name": "xylokubel"}))]).await;
        assert_eq!(installation.counts("later", part("kubel")).await, [1; 4]);
        assert_eq!(installation.counts("many", part("kubel")).await, [MANY as u64; 4]);
        assert_eq!(installation.counts("many", asked()).await, [MANY as u64; 4]);
        let receipt = installation.change(3, DictionaryKind::Compounds, true, vec![]).await;
        for number in 0..4 {
            installation.published(number, receipt.task_id).await;
        }
        assert_eq!(installation.counts("many", part("kubel")).await, [0; 4]);
        assert_eq!(installation.counts("later", part("kubel")).await, [0; 4]);
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn a_change_that_a_restart_interrupts_is_published_afterwards() {
    in_time(async {
        let mut installation = Installation::start(1).await;
        installation.set(0, "i", json!({"decompoundedAttributes": {"de": ["name"]}})).await;
        let ops = (0..MANY).map(|n| put(&n.to_string(), json!({"name": "Xylokubel"}))).collect();
        installation.write(0, "i", ops).await;
        let parts = vec![compound("1", "xylokubel", &["xylo", "kubel"])];
        let receipt = installation.change(0, DictionaryKind::Compounds, false, parts).await;
        installation.restart(0, |_| {}).await;
        installation.published(0, receipt.task_id).await;
        assert_eq!(installation.counts("i", part("kubel")).await, [MANY as u64]);
        // a task that nobody has begun
        let later = quorate_model::TaskId(receipt.task_id.0 + (1_000 << 12));
        assert!(!installation.node(0).is_published(later).await.expect("an answer"));
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn entries_from_before_dictionaries_acted_act_when_every_node_knows_how() {
    in_time(async {
        let mut installation = Installation::start_at_level(level::DICTIONARIES_ACT - 1).await;
        installation.set(0, "i", json!({"decompoundedAttributes": {"de": ["name"]}})).await;
        let ops = (0..10).map(|n| put(&n.to_string(), json!({"name": "Xylokubel red car"}))).collect();
        installation.write(0, "i", ops).await;
        let parts = vec![compound("1", "xylokubel", &["xylo", "kubel"])];
        installation.change_through(0, DictionaryKind::Compounds, false, parts).await;
        installation.change_through(0, DictionaryKind::StopWords, false, vec![stop_word("1", "shiny")]).await;
        installation.restart(0, |_| {}).await;
        let counts = async |installation: &Installation| {
            let stop_words = installation.counts("i", without_stop_words("shiny red car")).await;
            (stop_words[0], installation.counts("i", part("kubel")).await[0])
        };
        assert_eq!(counts(&installation).await, (0, 0), "kept and answered");
        installation.level = level::NEWEST;
        installation.restart(0, |_| {}).await;
        let since = Instant::now();
        while counts(&installation).await != (10, 10) {
            assert!(since.elapsed() < Duration::from_secs(60), "{:?}", counts(&installation).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        installation.stop().await;
    })
    .await;
}
