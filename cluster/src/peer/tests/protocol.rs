//! What happens to those who do not speak as nodes do?

use super::super::connection::{framed, next_frame, write_frame};
use super::super::frame::{Frame, PART_FRAME_BYTES_MAX};
use super::super::hello::{Hello, Purpose};
use super::fake::{Fake, fake};
use super::*;
use bytes::BytesMut;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const REQUESTS: Purpose = Purpose::Lane(Lane::Requests);
const CONSENSUS: Purpose = Purpose::Lane(Lane::Consensus);

/// Waits until the other side has closed the connection.
async fn is_closed(mut stream: impl tokio::io::AsyncRead + Unpin, what: &str) {
    let ends = async {
        let mut rest = [0; 4_096];
        while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
    };
    tokio::time::timeout(PATIENCE, ends).await.unwrap_or_else(|_| panic!("not cut off after {what}"));
}

#[tokio::test]
async fn strangers_are_cut_off() {
    let node = start(options(node_id()));
    let hello = [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0];
    for (what, bytes) in [
        ("HTTP", &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..]),
        ("zeros", &[0; 64]),
        ("a lane that does not exist", b"QP1\x09"),
        ("another version", b"QP2\x01"),
        ("no TLS", b"QP1\x02GET / HTTP/1.1\r\n\r\n"),
        ("no TLS for consensus", b"QP1\x01\xff\xff\xff\xff\xff\xff\xff"),
        ("broken TLS", &[&b"QP1\x03"[..], &hello].concat()),
    ] {
        let mut stream = TcpStream::connect(&node.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        is_closed(stream, what).await;
    }
    assert!(node.has_complained("something that is not a node"));
    assert!(node.heard.met.lock().is_empty());
    let friend = start(options(node_id()));
    introduce(&[&node, &friend]);
    reaches(&friend, &node).await;
}

#[tokio::test]
async fn wrong_greetings_are_refused() {
    let node = start(options(node_id()));
    let fake = fake().await;
    let own = |change: fn(&mut Hello)| {
        let mut hello = fake.hello(REQUESTS);
        change(&mut hello);
        Frame::Hello(hello)
    };
    for (frame, expected) in [
        (
            own(|hello| hello.node = NodeId(7)),
            "node 0000000000000007 does not have a certificate of that node",
        ),
        (own(|hello| hello.purpose = 1), "names another lane"),
        (own(|hello| hello.protocol_lowest = 9), "versions 9 to 2"),
        (own(|hello| hello.program = "\n".into()), "not valid"),
        (Frame::Ping(1), "did not greet"),
        (Frame::Request { id: 1, within_ms: 9, total: 0, part: Bytes::new() }, "did not greet"),
    ] {
        let (mut reader, mut writer) = framed(fake.dial(&node.address, REQUESTS).await);
        write_frame(&mut writer, &frame).await.unwrap();
        match tokio::time::timeout(PATIENCE, next_frame(&mut reader)).await.expect("an answer or the end") {
            Ok(Frame::Refusal(text)) => assert!(text.contains(expected), "{text}"),
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
        eventually(expected, || node.has_complained(expected)).await;
    }
    assert!(node.heard.met.lock().is_empty());
}

#[tokio::test]
async fn a_question_may_be_passed_on_for_another_member() {
    let node = start(options(node_id()));
    let fake = fake().await;
    let (mut reader, mut writer) = framed(fake.dial(&node.address, CONSENSUS).await);
    write_frame(&mut writer, &Frame::Hello(fake.hello(CONSENSUS))).await.unwrap();
    assert!(matches!(next_frame(&mut reader).await, Ok(Frame::Hello(_))));
    let asks = |from| PeerMessage { kind: MessageKind::ReadIndex, from, to: node.id.0, ..message(1, 10) };
    // also the question of who leads by now
    for from in [fake.id.0 + 1_000_000, node.id.0] {
        let frame = Frame::Consensus(vec![(GroupId(1), asks(from).encode().into())]);
        write_frame(&mut writer, &frame).await.unwrap();
        let is_heard = || node.heard.messages.lock().iter().any(|(_, _, heard, _)| *heard == asks(from));
        eventually("the question is handed on", is_heard).await;
    }
}

/// Greets as it should be and then sends these bytes, which must end the connection with a complaint.
async fn says(fake: &Fake, node: &Node, purpose: Purpose, bytes: &[u8], expected: &str) {
    let (mut reader, mut writer) = framed(fake.dial(&node.address, purpose).await);
    write_frame(&mut writer, &Frame::Hello(fake.hello(purpose))).await.unwrap();
    assert!(matches!(next_frame(&mut reader).await, Ok(Frame::Hello(_))));
    // it may be closed before all is written
    drop(writer.write_all(bytes).await);
    drop(writer.flush().await);
    let ends = async { while next_frame(&mut reader).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, ends).await.unwrap_or_else(|_| panic!("not cut off after {bytes:?}"));
    eventually(&format!("a complaint says \"{expected}\""), || node.has_complained(expected)).await;
}

fn bytes_of(frame: Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.put(&mut out);
    out.to_vec()
}

#[tokio::test]
async fn members_that_break_the_protocol_are_cut_off() {
    let node = start(options(node_id()));
    let friend = start(options(node_id()));
    introduce(&[&node, &friend]);
    let fake = fake().await;
    let (me, you) = (fake.id.0, node.id.0);
    let told = |from, to| {
        let message = PeerMessage { from, to, ..message(1, 10) };
        bytes_of(Frame::Consensus(vec![(GroupId(1), message.encode().into())]))
    };
    let request =
        |id, total, part: &'static [u8]| Frame::Request { id, within_ms: 9, total, part: part.into() };
    let twice = [bytes_of(request(2, 9, b"a")), bytes_of(request(2, 9, b"a"))].concat();
    let too_long =
        [bytes_of(request(3, 2, b"a")), bytes_of(Frame::RequestPart { id: 3, part: "bc".into() })].concat();
    let over = (PART_FRAME_BYTES_MAX as u32 + 1).to_le_bytes().to_vec();
    let cases: Vec<(Purpose, Vec<u8>, &str)> = vec![
        (CONSENSUS, told(me + 1_000_000, you), "a message on its connection is from node"),
        (CONSENSUS, told(me, you + 1), "a message on its connection is from node"),
        (
            CONSENSUS,
            bytes_of(Frame::Consensus(vec![(GroupId(1), Bytes::from_static(b"?"))])),
            "not a message",
        ),
        (CONSENSUS, vec![7, 0, 0, 0, 5, 0, 0, 255, 0, 0, 0], "claims 255 bytes"),
        (CONSENSUS, bytes_of(request(1, 0, b"")), "something else on the lane of consensus"),
        (CONSENSUS, vec![255, 255, 255, 255], "protocol"),
        (REQUESTS, over, "protocol"),
        (REQUESTS, vec![1, 0, 0, 0, 77], "no kind of frame with the number 77"),
        (REQUESTS, vec![0, 0, 0, 0], "a frame ends early"),
        (REQUESTS, told(me, you), "only the accepting side may"),
        (REQUESTS, bytes_of(Frame::Hello(fake.hello(REQUESTS))), "only the accepting side may"),
        (
            REQUESTS,
            bytes_of(Frame::Answer { id: 1, total: 0, part: Bytes::new() }),
            "only the accepting side may",
        ),
        (REQUESTS, bytes_of(Frame::Pong(1)), "only the accepting side may"),
        (REQUESTS, bytes_of(Frame::RequestPart { id: 9, part: "x".into() }), "request 9 has no beginning"),
        (REQUESTS, bytes_of(request(1, 1, b"two")), "a part brings a message of 1 bytes to 3"),
        (REQUESTS, twice, "request 2 begins twice"),
        (REQUESTS, too_long, "a part brings a message of 2 bytes to 3"),
    ];
    for (purpose, bytes, expected) in cases {
        says(&fake, &node, purpose, &bytes, expected).await;
    }
    assert!(node.heard.messages.lock().is_empty(), "nothing of it was handed on");
    reaches(&friend, &node).await;
}

#[tokio::test]
async fn answers_that_were_not_asked_for_end_the_connection() {
    let fake = fake().await;
    let part = || Bytes::from_static(b"?");
    for (frame, expected) in [
        (Frame::Answer { id: 2, total: 1, part: part() }, "answered request 2, which was not sent"),
        (Frame::Answer { id: 0, total: 1, part: part() }, "answered request 0, which was not sent"),
        (Frame::AnswerPart { id: 1, part: part() }, "answer 1 has no beginning"),
        (Frame::Answer { id: 1, total: u32::MAX, part: part() }, "is too long"),
        (Frame::Failure { id: 5, failure: super::super::frame::Failure::Busy }, "refused request 5"),
        (Frame::Pong(u64::MAX), "answered a ping that was not sent"),
        (Frame::Ping(1), "only the dialling side may"),
        (Frame::Refusal("late".into()), "only the dialling side may"),
    ] {
        let node = start(options(node_id()));
        node.peers.set_addresses(BTreeMap::from([(fake.id, fake.address.clone())]));
        let answers = async {
            let (mut reader, mut writer) = framed(fake.accept().await);
            assert!(matches!(next_frame(&mut reader).await, Ok(Frame::Hello(_))));
            write_frame(&mut writer, &Frame::Hello(fake.hello(REQUESTS))).await.unwrap();
            reader.decoder_mut().set_max_frame_length(PART_FRAME_BYTES_MAX);
            while !matches!(next_frame(&mut reader).await, Ok(Frame::Request { .. })) {}
            write_frame(&mut writer, &frame).await.unwrap();
            while next_frame(&mut reader).await.is_ok() {}
        };
        let asks = node.peers.ask(fake.id, Lane::Requests, part(), soon());
        let (answer, ()) = tokio::join!(asks, answers);
        assert_eq!(answer, Err(PeerError::Lost), "{frame:?}");
        eventually(&format!("a complaint says \"{expected}\""), || node.has_complained(expected)).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever a member sends after the greeting, the node goes on and hands nothing on that is not of that member.
    #[test]
    fn random_bytes_of_a_member_hurt_nobody(frames in proptest::collection::vec((0u8..12, proptest::collection::vec(any::<u8>(), 0..60)), 1..6), consensus in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let node = start(options(node_id()));
            let fake = fake().await;
            let purpose = if consensus { CONSENSUS } else { REQUESTS };
            let (mut reader, mut writer) = framed(fake.dial(&node.address, purpose).await);
            write_frame(&mut writer, &Frame::Hello(fake.hello(purpose))).await.unwrap();
            assert!(matches!(next_frame(&mut reader).await, Ok(Frame::Hello(_))));
            for (kind, rest) in frames {
                let bytes = [&(rest.len() as u32 + 1).to_le_bytes()[..], &[kind], &rest].concat();
                drop(writer.write_all(&bytes).await);
                drop(writer.flush().await);
            }
            let introduced = fake_free(&node).await;
            assert_eq!(introduced, Ok(Bytes::from_static(b"well")));
            assert!(node.heard.messages.lock().iter().all(|(from, _, message, _)| from.0 == message.from));
        });
    }
}

/// Asks from a node that behaves.
async fn fake_free(node: &Node) -> Result<Bytes, PeerError> {
    let friend = start(options(node_id()));
    let answer = friend.peers.ask_address(&node.address, Bytes::from_static(b"well"), soon()).await;
    answer.map(|(_, answer)| answer)
}
