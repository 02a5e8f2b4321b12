//! How is the interface put on the network?

use crate::connection::{Connection, Wanted};
use crate::doorman::Doorman;
use crate::entry;
use crate::listener::{Listener, Listeners};
use crate::location::Locations;
use crate::network::Networks;
use crate::state::{ApiState, Limits};
use crate::table::ROUTES;
use crate::tls::Tls;
use actix_rt::net::TcpStream;
use actix_web::dev::Server;
use actix_web::{App, HttpServer, web};
use quorate_cluster::Service;
use quorate_model::limits;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What a listener is started with.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Further addresses, each for one kind of work only.
    pub split: Vec<(Listener, SocketAddr)>,
    /// The service to offer.
    pub service: Service,
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
const BACKLOG: u32 = 1_024;
/// Seconds an idle connection is kept: more than the 60 s after which common balancers drop theirs.
const KEEP_ALIVE_S: u64 = 75;
/// Seconds a client has for the head of a request.
const HEAD_S: u64 = 10;
/// Seconds a write may take to be answered (`limits::WRITE_S`) and a little more.
const DRAIN_S: u64 = limits::WRITE_S + 5;

impl ServerOptions {
    /// The usual options.
    pub fn new(listen: SocketAddr, service: Service) -> Self {
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
    let mut http =
        HttpServer::new(move || App::new().app_data(shared.clone()).default_service(web::to(entry::answer)))
            .workers(workers)
            .max_connections((options.connections_max / workers).max(1))
            .on_connect(move |socket, kept| {
                let Some((stream, connection)) = Connection::accepted(socket) else { return };
                bound_sending(stream);
                doorman.look(stream, kept);
                kept.insert(connection);
            })
            .backlog(BACKLOG)
            .keep_alive(Duration::from_secs(KEEP_ALIVE_S))
            .client_request_timeout(Duration::from_secs(HEAD_S))
            // who ends a connection waits for no answer: the work for it ends as well
            .h1_allow_half_closed(false)
            .tcp_nodelay(true)
            .shutdown_timeout(options.drain_s)
            .disable_signals()
            .bind(options.listen)?;
    for (listener, address) in &options.split {
        let cannot = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", listener.option()));
        http = http.bind(address).map_err(cannot)?;
    }
    if let Some(encrypted) = &options.encrypted {
        let cannot = |e: io::Error| io::Error::new(e.kind(), format!("tls-listen: {e}"));
        http = http.bind_rustls_0_23(encrypted.listen, encrypted.tls.config()).map_err(cannot)?;
    }
    let bound = http.addrs();
    let no_address = || io::Error::other("no address was bound");
    let (&address, others) = bound.split_first().ok_or_else(no_address)?;
    let split: Vec<_> =
        options.split.iter().map(|(listener, _)| *listener).zip(others.iter().copied()).collect();
    let encrypted = options.encrypted.as_ref().and_then(|_| others.last().copied());
    state.set_listeners(Listeners::new(address, split.clone()));
    state.want_connections(Wanted {
        https_port: encrypted.filter(|_| options.https_only).map(|at| at.port()),
        certificates: options.encrypted.is_some_and(|it| it.tls.wants_certificates()),
    });
    Ok(Bound { server: http.run(), address, split, encrypted, state })
}
