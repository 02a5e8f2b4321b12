//! A node that has the join token and does not keep to the rules.

use super::super::connection::{Stream, framed, next_frame, write_frame};
use super::super::frame::Frame;
use super::super::hello::{Hello, PREAMBLE, Purpose};
use super::super::tls::{self, Identity};
use super::super::traffic::{Metered, Traffic};
use super::{node_id, secret};
use crate::peer::PeerVersion;
use quorate_model::NodeId;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A node by hand.
pub struct Fake {
    pub id: NodeId,
    pub address: String,
    identity: Identity,
    listener: TcpListener,
}

impl Fake {
    pub async fn listening(id: NodeId) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Fake { id, address, identity: Identity::new(&secret(), None, id).unwrap(), listener }
    }

    pub fn hello(&self, purpose: Purpose) -> Hello {
        let PeerVersion { protocol_lowest, protocol_highest, feature_level, program } =
            PeerVersion::of_this_program(1);
        Hello {
            protocol_lowest,
            protocol_highest,
            node: self.id,
            purpose: purpose.number(),
            feature_level,
            program,
            installation: None,
            unix_ms: 0,
            extra: vec![],
        }
    }

    /// Dials a node up to the end of the handshake.
    pub async fn dial(&self, address: &str, purpose: Purpose) -> Stream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&PREAMBLE).await.unwrap();
        stream.write_u8(purpose.number()).await.unwrap();
        let metered = Metered::new(stream, Arc::new(Traffic::new()));
        let connector = TlsConnector::from(self.identity.client.clone());
        Stream::Client(connector.connect(tls::any_name(), metered).await.unwrap())
    }

    /// Accepts the next connection up to the end of the handshake.
    pub async fn accept(&self) -> Stream {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut preamble = [0; 4];
        stream.read_exact(&mut preamble).await.unwrap();
        let metered = Metered::new(stream, Arc::new(Traffic::new()));
        let acceptor = TlsAcceptor::from(self.identity.server.clone());
        Stream::Server(acceptor.accept(metered).await.unwrap())
    }

    /// Greets whoever connects, sends what lives would, and reads nothing.
    pub async fn accept_and_stall(&self, every: Duration) {
        loop {
            let (mut reader, mut writer) = framed(self.accept().await);
            let Ok(Frame::Hello(hello)) = next_frame(&mut reader).await else {
                panic!("a greeting comes first")
            };
            let purpose = Purpose::from_number(hello.purpose).unwrap();
            write_frame(&mut writer, &Frame::Hello(self.hello(purpose))).await.unwrap();
            while write_frame(&mut writer, &Frame::Pong(0)).await.is_ok() {
                tokio::time::sleep(every).await;
            }
        }
    }

    /// Greets whoever connects, and says nothing more.
    pub async fn accept_and_fall_silent(&self) {
        let mut kept = vec![];
        loop {
            let (mut reader, mut writer) = framed(self.accept().await);
            let Ok(Frame::Hello(hello)) = next_frame(&mut reader).await else {
                panic!("a greeting comes first")
            };
            let purpose = Purpose::from_number(hello.purpose).unwrap();
            write_frame(&mut writer, &Frame::Hello(self.hello(purpose))).await.unwrap();
            kept.push((reader, writer));
        }
    }
}

/// A fake node with a number of its own.
pub async fn fake() -> Fake {
    Fake::listening(node_id()).await
}
