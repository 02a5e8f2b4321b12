//! How do messages between nodes come late, without getting lost or out of order?
//!
//! A proxy stands before the peer address of each node. What others send to the node through it, and what the node answers on
//! those connections, is handed on after a time that can be set; what the node dials itself goes through the proxies of the
//! others. So one late node has late requests and quick ones at the same time, in both directions.

use anyhow::Result;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 16 << 10;
/// Pieces of one direction of a connection that may be on their way; then the sender waits.
const PIECES_MAX: usize = 256;

/// A proxy for each node, by number.
#[derive(Debug)]
pub struct Delays {
    proxies: Vec<Proxy>,
}

#[derive(Debug)]
struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Where the node listens.
    target: SocketAddr,
    delay_ms: AtomicU64,
    is_ending: AtomicBool,
    /// Both ends of every connection so far.
    streams: Mutex<Vec<TcpStream>>,
}

impl Delays {
    /// Proxies before these addresses, without delay at first.
    pub fn before(targets: &[SocketAddr]) -> Result<Delays> {
        Ok(Delays { proxies: targets.iter().map(|&target| Proxy::start(target)).collect::<Result<_>>()? })
    }
    /// The address that others are to find a node at.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.proxies[node].address
    }
    /// From now on everything takes so long to a node and back from it.
    pub fn set(&self, node: usize, delay: Duration) {
        self.proxies[node].shared.delay_ms.store(delay.as_millis() as u64, Ordering::Release);
    }
}

impl Proxy {
    fn start(target: SocketAddr) -> Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target,
            delay_ms: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        let theirs = shared.clone();
        let accepting = std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if theirs.is_ending.load(Ordering::Acquire) {
                    break;
                }
                // a node that does not run refuses, and so does its proxy: by closing
                if let Ok(node) = TcpStream::connect(theirs.target) {
                    drop(theirs.join(client, node));
                }
            }
        });
        Ok(Proxy { address, shared, accepting: Some(accepting) })
    }
}

impl Shared {
    /// Hands on what comes from either side, on threads that end with the connection.
    fn join(self: &Arc<Self>, client: TcpStream, node: TcpStream) -> Result<()> {
        for (from, to) in [(&client, &node), (&node, &client)] {
            to.set_nodelay(true)?;
            let (pieces, waiting) = sync_channel(PIECES_MAX);
            let (from, to, shared) = (from.try_clone()?, to.try_clone()?, self.clone());
            std::thread::spawn(move || read(from, &pieces));
            std::thread::spawn(move || shared.write(to, &waiting));
        }
        self.streams().extend([client, node]);
        Ok(())
    }
    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self, mut to: TcpStream, pieces: &Receiver<(Instant, Vec<u8>)>) {
        while let Ok((came, piece)) = pieces.recv() {
            let delay = Duration::from_millis(self.delay_ms.load(Ordering::Acquire));
            std::thread::sleep((came + delay).saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        // the other direction ends too: a peer connection has no half
        drop(to.shutdown(Shutdown::Both));
    }
}

fn read(mut from: TcpStream, pieces: &SyncSender<(Instant, Vec<u8>)>) {
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(bytes) = from.read(&mut piece)
        && bytes > 0
        && pieces.send((Instant::now(), piece[..bytes].to_vec())).is_ok()
    {}
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        for stream in self.shared.streams().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
        // wakes the thread that accepts
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_late_whole_and_in_order() {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let delays = Delays::before(&[echo.local_addr().unwrap()]).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = echo.accept().unwrap();
            let mut back = stream.try_clone().unwrap();
            drop(std::io::copy(&mut stream, &mut back));
        });
        let mut client = TcpStream::connect(delays.address(0)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let sent: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let mut round = |delay: Duration| {
            delays.set(0, delay);
            let begun = Instant::now();
            let mut writer = client.try_clone().unwrap();
            let bytes = sent.clone();
            let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
            let mut got = vec![0; sent.len()];
            client.read_exact(&mut got).unwrap();
            writing.join().unwrap();
            assert_eq!(got, sent);
            begun.elapsed()
        };
        round(Duration::ZERO);
        let late = round(Duration::from_millis(150));
        assert!(late >= Duration::from_millis(300), "there and back: {late:?}");
        drop(delays);
        assert_eq!(client.read(&mut [0; 8]).unwrap_or(0), 0, "its connections end with it");
    }
}
