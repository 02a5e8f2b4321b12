//! How is the interface put on the network?

use crate::connection::{Connection, ConnectionRules, Encryption};
use crate::doorman::Doorman;
use crate::entry;
use crate::http2::{self, Patience};
use crate::listener::{Listener, Listeners};
use crate::location::Locations;
use crate::network::Networks;
use crate::state::{ApiState, Limits};
use crate::stream::{Bytes, Stream};
use crate::table::ROUTES;
use crate::tls::Tls;
use actix_http::{HttpService, Protocol, Request};
use actix_rt::net::TcpStream;
use actix_server::{Server, ServerBuilder};
use actix_service::{
    IntoServiceFactory as _, Service, ServiceFactory, ServiceFactoryExt as _, fn_factory, fn_service,
    map_config,
};
use actix_web::dev::{AppConfig, Extensions, ServiceResponse};
use actix_web::{App, HttpResponse, web};
use quorate_model::limits;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

/// What a listener is started with.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Further addresses, each for one kind of work only.
    pub split: Vec<(Listener, SocketAddr)>,
    /// The service to offer.
    pub service: quorate_cluster::Service,
    /// Threads that read requests and write answers; 0 = one for each processor.
    pub workers: usize,
    /// What requests and answers may take.
    pub limits: Limits,
    /// Connections kept open; further ones wait in the backlog.
    pub connections_max: usize,
    /// The places of callers, for aroundLatLngViaIP.
    pub locations: Option<Arc<Locations>>,
    /// Proxies whose word on the address of their callers counts.
    pub trusted_proxies: Networks,
    /// Seconds that requests under way get to finish when the server is stopped gracefully.
    pub drain_s: u64,
    /// Where connections are encrypted.
    pub encrypted: Option<Encrypted>,
    /// Whether other machines may call only there.
    pub https_only: bool,
}

/// A further address that takes everything, by TLS.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The certificates.
    pub tls: Tls,
}

/// Connections by default; each costs some 20 KiB.
const CONNECTIONS_MAX: usize = 20_000;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;
/// Seconds an idle connection is kept: more than the 60 s after which common balancers drop theirs.
const KEEP_ALIVE_S: u64 = 75;
/// Seconds a client has for the head of a request.
const HEAD_S: u64 = 10;
/// Seconds a client has for the handshake of TLS.
const HANDSHAKE_S: u64 = 5;
/// Seconds a write may take to be answered (`limits::WRITE_S`) and a little more.
const DRAIN_S: u64 = limits::WRITE_S + 5;

impl ServerOptions {
    /// The usual options.
    pub fn new(listen: SocketAddr, service: quorate_cluster::Service) -> Self {
        ServerOptions {
            listen,
            split: vec![],
            service,
            workers: 0,
            limits: Limits::default(),
            connections_max: CONNECTIONS_MAX,
            locations: None,
            trusted_proxies: Networks::default(),
            drain_s: DRAIN_S,
            encrypted: None,
            https_only: false,
        }
    }
    /// What all requests of this listener share.
    pub fn state(&self) -> ApiState {
        ApiState::new(
            ROUTES.len(),
            self.service.clone(),
            self.limits,
            self.locations.clone(),
            self.trusted_proxies.clone(),
        )
    }
}

/// A bound listener.
pub struct Bound {
    /// Runs once awaited; `server.handle().stop(true)` lets requests under way finish.
    pub server: Server,
    /// Where it listens for everything.
    pub address: SocketAddr,
    /// Where it listens for one kind of work.
    pub split: Vec<(Listener, SocketAddr)>,
    /// Where it listens for everything, encrypted.
    pub encrypted: Option<SocketAddr>,
    /// Shared with its requests: `state.drain()` before stopping turns balancers away.
    pub state: ApiState,
}

/// Milliseconds after which a connection ends whose peer takes nothing of what is sent to it.
#[cfg(target_os = "linux")]
const UNREAD_MS: u32 = 20_000;

/// Lets the kernel end a connection when the other side reads nothing any more: an answer that nobody takes is not kept for
/// ever.
fn bound_sending(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _older_kernel = rustix::net::sockopt::set_tcp_user_timeout(stream, UNREAD_MS);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// Adds the interface to an application.
pub fn routes(config: &mut web::ServiceConfig, state: ApiState) {
    config.app_data(web::Data::new(state)).default_service(web::to(entry::answer));
}

/// What is done with the connections of one address before they carry calls. Cheap to clone.
#[derive(Clone)]
struct Front {
    listener: Listener,
    /// Of an address where connections are encrypted.
    tls: Option<TlsAcceptor>,
    doorman: Doorman,
}

impl Front {
    /// `None` ends the connection: its address has too many, or it never said how it is encrypted.
    async fn accept(self, socket: TcpStream) -> Option<(Stream, SocketAddr)> {
        let peer = socket.peer_addr().ok()?;
        let guest = self.doorman.look(peer.ip())?;
        bound_sending(&socket);
        socket.set_nodelay(true).ok()?;
        let Some(acceptor) = self.tls else {
            let connection = Connection::new(self.listener, Encryption::Plain, Protocol::Http1, guest);
            return Some((Stream::new(Bytes::Plain(socket), connection), peer));
        };
        let greeting = tokio::time::timeout(Duration::from_secs(HANDSHAKE_S), acceptor.accept(socket));
        let tls = match greeting.await {
            Ok(Ok(tls)) => tls,
            // also of a client certificate that is not accepted, whose owner only sees the connection end
            Ok(Err(error)) => {
                tracing::info!(client = %peer.ip(), %error, "a connection by TLS did not come about");
                return None;
            }
            Err(_) => {
                tracing::info!(client = %peer.ip(), "a connection by TLS did not come about in time");
                return None;
            }
        };
        let (_, session) = tls.get_ref();
        let protocol = match session.alpn_protocol() {
            Some(HTTP_2) => Protocol::Http2,
            Some(_) | None => Protocol::Http1,
        };
        let encryption = match session.peer_certificates() {
            Some(_) => Encryption::TlsWithCertificate,
            None => Encryption::Tls,
        };
        let connection = Connection::new(self.listener, encryption, protocol, guest);
        Some((Stream::new(Bytes::Tls(Box::new(tls)), connection), peer))
    }
}

/// The names of the protocols that a client may choose from (RFC 7301).
const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

fn acceptor(tls: &Tls) -> TlsAcceptor {
    let mut config = tls.config();
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // a node that starts again is not kept waiting by connections of the one before
    #[cfg(not(windows))]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// How long connections are waited for.
const PATIENCE: Patience =
    Patience { greeting: Duration::from_secs(HEAD_S), idle: Duration::from_secs(KEEP_ALIVE_S) };

/// What answers the calls of a thread.
fn calls(
    state: web::Data<ApiState>,
) -> impl ServiceFactory<
    Request,
    Config = (),
    Response = ServiceResponse,
    Error = HttpResponse,
    InitError = (),
    Service = impl Service<Request, Response = ServiceResponse, Error = HttpResponse, Future: 'static> + 'static,
    Future: 'static,
> + 'static {
    let app = App::new().app_data(state).default_service(web::to(entry::answer));
    let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
    map_config(app, |()| AppConfig::default())
}

/// Takes calls from a socket.
fn listen(
    server: ServerBuilder,
    socket: TcpListener,
    front: Front,
    state: web::Data<ApiState>,
) -> io::Result<ServerBuilder> {
    let stopping = server.graceful_shutdown_signal();
    server.listen(front.listener.option(), socket, move || {
        let (front, stopping, state) = (front.clone(), stopping.clone(), state.clone());
        fn_factory(move || {
            let (front, stopping, state) = (front.clone(), stopping.clone(), state.clone());
            async move {
                let stops = stopping.clone();
                let http1 = HttpService::build()
                    .graceful_shutdown_signal(move || {
                        let stops = stops.clone();
                        async move { stops.notified().await }
                    })
                    .keep_alive(PATIENCE.idle)
                    .client_request_timeout(PATIENCE.greeting)
                    // who ends a connection waits for no answer: the work for it ends as well
                    .h1_allow_half_closed(false)
                    .on_connect_ext(|stream: &Stream, kept: &mut Extensions| {
                        kept.insert(stream.connection().clone());
                    })
                    .h1(calls(state.clone()));
                let http1 = Rc::new(http1.new_service(()).await?);
                let http2 = Rc::new(calls(state).new_service(()).await?);
                Ok::<_, ()>(fn_service(move |socket: TcpStream| {
                    let (front, stopping) = (front.clone(), stopping.clone());
                    let (http1, http2) = (http1.clone(), http2.clone());
                    async move {
                        let (stream, peer) = front.accept(socket).await.ok_or(())?;
                        match stream.connection().has_many_calls() {
                            true => http2::serve(stream, peer, http2, PATIENCE, stopping).await,
                            false => http1.call((stream, Some(peer))).await.map_err(drop)?,
                        }
                        Ok::<(), ()>(())
                    }
                }))
            }
        })
    })
}

/// Binds the listener. Signals are the caller's: stop it through `server.handle()`.
///
/// Errors: the address cannot be bound.
pub fn server(options: ServerOptions) -> io::Result<Bound> {
    let state = options.state();
    let shared = web::Data::new(state.clone());
    let doorman = Doorman::new(options.connections_max, options.trusted_proxies.clone());
    let workers = match options.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let mut http = Server::build()
        .workers(workers)
        .max_concurrent_connections((options.connections_max / workers).max(1))
        .shutdown_timeout(options.drain_s)
        .disable_signals();
    let mut take = |listener, address, tls| -> io::Result<SocketAddr> {
        let socket = bind(address).map_err(|e| io::Error::new(e.kind(), format!("{address}: {e}")))?;
        let bound = socket.local_addr()?;
        let front = Front { listener, tls, doorman: doorman.clone() };
        let builder = std::mem::take(&mut http);
        http = listen(builder, socket, front, shared.clone())?;
        Ok(bound)
    };
    let of_option = |e: io::Error| io::Error::new(e.kind(), format!("listen: {e}"));
    let address = take(Listener::Everything, options.listen, None).map_err(of_option)?;
    let mut split = Vec::with_capacity(options.split.len());
    for &(listener, address) in &options.split {
        let cannot = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", listener.option()));
        split.push((listener, take(listener, address, None).map_err(cannot)?));
    }
    let encrypted = options.encrypted.as_ref().map(|it| {
        let cannot = |e: io::Error| io::Error::new(e.kind(), format!("tls-listen: {e}"));
        take(Listener::Everything, it.listen, Some(acceptor(&it.tls))).map_err(cannot)
    });
    let encrypted = encrypted.transpose()?;
    state.set_listeners(Listeners::new(address, split.clone()));
    state.want_connections(ConnectionRules {
        https_only: options.https_only,
        https_port: encrypted.map(|at| at.port()),
        certificates: options.encrypted.is_some_and(|it| it.tls.wants_certificates()),
    });
    Ok(Bound { server: http.run(), address, split, encrypted, state })
}
