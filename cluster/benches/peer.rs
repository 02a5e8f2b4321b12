//! What does a request to another node cost? Round trips between two nodes of one process, over loopback and TLS.
//!
//! Prints for each size and number of askers: round trips a second, the median and the 99th percentile in µs, and µs of
//! processor time for both ends together. `cargo bench -p quorate-cluster --bench peer`; optional argument: seconds for
//! each line.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use quorate_cluster::peer::{ClusterSecret, Lane, PeerHandler, PeerLimits, PeerOptions, PeerVersion, Peers};
use quorate_model::{GroupId, NodeId};
use quorate_raft::PeerMessage;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sends requests back.
struct Echo;

impl PeerHandler for Echo {
    fn consensus(&self, _from: NodeId, _messages: Vec<(GroupId, PeerMessage)>) {}
    fn request(&self, _from: NodeId, _lane: Lane, request: Bytes) -> BoxFuture<'static, Bytes> {
        async move { request }.boxed()
    }
    fn unreachable(&self, _to: NodeId, _groups: Vec<GroupId>) {}
    fn may_speak(&self, _from: NodeId) -> bool {
        true
    }
    fn met(&self, _peer: NodeId, _version: &PeerVersion) {}
}

fn node(number: u64) -> Result<(Peers, String), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let options = PeerOptions {
        node: NodeId(number),
        secret: ClusterSecret::from_bytes([1; 32]),
        also: None,
        listener,
        version: PeerVersion::of_this_program(1),
        installation: None,
        limits: PeerLimits::default(),
    };
    Ok((Peers::start(options, Arc::new(Echo))?, address))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(2.0);
    let ((asking, _), (_asked, address)) = (node(1)?, node(2)?);
    asking.set_addresses(BTreeMap::from([(NodeId(2), address)]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "{:>8} {:>7} {:>10} {:>9} {:>9} {:>9}",
        "bytes", "askers", "trips/s", "p50 µs", "p99 µs", "cpu µs"
    );
    for bytes in [1 << 10, 4 << 10, 1 << 20] {
        for askers in [1, 64] {
            runtime.block_on(measure(&asking, bytes, askers, Duration::from_secs_f64(seconds)))?;
        }
    }
    Ok(())
}

async fn measure(
    asking: &Peers,
    bytes: usize,
    askers: usize,
    lasts: Duration,
) -> Result<(), Box<dyn std::error::Error>> {
    let request = Bytes::from(vec![7; bytes]);
    // a connection first
    asking.ask(NodeId(2), Lane::Requests, request.clone(), Instant::now() + lasts).await?;
    let (begun, cpu) = (Instant::now(), cpu_time());
    let each = (0..askers).map(|_| {
        let request = &request;
        async move {
            let mut trips = vec![];
            while begun.elapsed() < lasts {
                let sent = Instant::now();
                let deadline = sent + Duration::from_secs(10);
                let answer = asking.ask(NodeId(2), Lane::Requests, request.clone(), deadline).await?;
                assert_eq!(answer.len(), request.len());
                trips.push(sent.elapsed());
            }
            Ok::<_, quorate_cluster::peer::PeerError>(trips)
        }
    });
    let trips = futures_util::future::try_join_all(each).await?;
    let (took, cpu) = (begun.elapsed(), cpu_time() - cpu);
    let mut trips: Vec<Duration> = trips.into_iter().flatten().collect();
    trips.sort_unstable();
    let at = |share: f64| trips[((trips.len() - 1) as f64 * share) as usize].as_micros();
    let rate = trips.len() as f64 / took.as_secs_f64();
    let each = cpu.as_micros() as f64 / trips.len() as f64;
    println!("{bytes:>8} {askers:>7} {rate:>10.0} {:>9} {:>9} {each:>9.1}", at(0.5), at(0.99));
    Ok(())
}

/// Processor time of this process so far; zero where the system does not tell it.
fn cpu_time() -> Duration {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return Duration::ZERO };
    // the name may have spaces, the fields behind it have none: user and system time are the 12th and 13th
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
