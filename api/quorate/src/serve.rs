//! How does a node start and stop? `quorate serve`: open, listen, tell where, wait for a signal, drain, close.

use crate::client::{ADDRESS_FILE, SEARCH_KEY_FILE};
use crate::config::Values;
use crate::demo;
use crate::logging::Log;
use crate::options::option;
use crate::process::{self, Allowed};
use crate::signals::Signals;
use crate::sink;
use crate::start_text::{Program, Start, not_opened, render};
use anyhow::{Context, Result, bail};
use quorate_api::{Encrypted, Limits, Listener, Locations, Networks, ServerOptions, Tls, TlsFiles};
use quorate_cluster::{CheckOptions, ClusterOptions, Expected, Service, ServiceOptions, Started};
use quorate_model::level;
use std::io::IsTerminal;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const DAY_S: u64 = 24 * 3_600;
/// So many days are for ever.
const FOR_EVER_DAYS: u64 = 100 * 365;

/// What the operator asks for now: the configuration file is read again.
type ReadOptions<'a> = &'a dyn Fn() -> Result<Values>;

/// Runs a node until SIGTERM or SIGINT.
pub fn run(wanted: ReadOptions<'_>) -> Result<ExitCode> {
    let values = &wanted()?;
    let allowed = process::prepare();
    allowed.check()?;
    let log = Log::install(values)?;
    quorate_cluster::panics::watch();
    for warning in &values.warnings {
        tracing::warn!("{warning}");
    }
    actix_rt::System::new().block_on(serve(
        values,
        allowed,
        &mut Reloading { log, wanted, had: None, tls: None },
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(values: &Values, allowed: Allowed, reloading: &mut Reloading<'_>) -> Result<()> {
    let mut signals = Signals::listen()?;
    let listen = address(values)?;
    let split = split(values)?;
    let encrypted = encrypted(values)?;
    reloading.tls = encrypted.as_ref().map(|it| it.tls.clone());
    for address in std::iter::once(&listen).chain(split.iter().map(|(_, address)| address)) {
        if !address.ip().is_loopback() && !values.is_on("https-only") {
            warn_of(*address);
        }
    }
    // who cannot be asked anything later becomes no member, and makes no folder
    let addresses = std::iter::once(&listen).chain(split.iter().map(|(_, address)| address));
    addresses.chain(encrypted.as_ref().map(|it| &it.listen)).try_for_each(check_free)?;
    // it may wait for others, or go through a long log: whatever it does, it can be cut off as by a crash
    let opened = tokio::select! {
        opened = Service::open(service_options(values)?) => opened,
        name = signals.stop() => {
            tracing::info!(signal = name, "stopped before it had started");
            std::process::exit(0);
        }
    };
    let (service, started) = opened.map_err(|error| not_opened(&error.message, &values.data_dir()))?;
    report(&started);
    let outcome =
        run_server(values, (listen, split, encrypted), allowed, &service, &started, &mut signals, reloading)
            .await;
    service.shutdown().await;
    tracing::info!("stopped");
    outcome
}

/// Errors: nobody can listen there, as the server is to do later.
fn check_free(address: &SocketAddr) -> Result<()> {
    TcpListener::bind(address).map(drop).with_context(|| format!("cannot listen on {address}"))
}
fn warn_of(address: SocketAddr) {
    tracing::warn!(%address, "reachable from other machines without TLS: put a proxy with TLS before it");
}

/// The addresses that are kept to one kind of work.
fn split(values: &Values) -> Result<Vec<(Listener, SocketAddr)>> {
    let kinds = [Listener::Read, Listener::Write, Listener::Operate].into_iter();
    let given = kinds.filter_map(|kind| Some((kind, values.text(kind.option())?)));
    given.map(|(kind, address)| Ok((kind, resolved(kind.option(), address)?))).collect()
}

/// Listens until a signal comes; the service is still open afterwards.
async fn run_server(
    values: &Values,
    (listen, split, encrypted): (SocketAddr, Vec<(Listener, SocketAddr)>, Option<Encrypted>),
    allowed: Allowed,
    service: &Service,
    started: &Started,
    signals: &mut Signals,
    reloading: &mut Reloading<'_>,
) -> Result<()> {
    let address_file = values.data_dir().join(ADDRESS_FILE);
    // One that a killed process left behind leads nowhere.
    remove_file(&address_file)?;
    if values.is_on("demo") {
        demo::load(service).await?;
    }
    let server = server_options(values, listen, service.clone())?;
    let connections_max = server.connections_max.min(allowed.connections());
    let https_only = values.is_on("https-only");
    let following = encrypted.as_ref().map(|it| actix_rt::spawn(it.tls.clone().follow()));
    let options = ServerOptions { split, connections_max, encrypted, https_only, ..server };
    let bound = quorate_api::server(options).context("cannot listen")?;
    let address = bound.address;
    let handle = bound.server.handle();
    let mut running = actix_rt::spawn(bound.server);
    if let Some(key) = &started.search_key {
        // shown once otherwise
        write_file(&values.data_dir().join(SEARCH_KEY_FILE), key)?;
    }
    write_file(&address_file, &address.to_string())?;
    for (listener, address) in &bound.split {
        tracing::info!(%address, option = listener.option(), "listening for one kind of work");
    }
    if let Some(address) = bound.encrypted {
        tracing::info!(%address, "listening for HTTPS");
    }
    announce(values, address, started);
    let stopped = async {
        loop {
            match signals.next().await {
                "SIGHUP" => reloading.reload(values, service),
                name => return name,
            }
        }
    };
    tokio::select! {
        name = stopped => {
            tracing::info!(signal = name, "draining");
            bound.state.drain();
            service.hand_over().await;
            handle.stop(true).await;
        }
        ended = &mut running => {
            ended.context("the server task broke off")?.context("the server broke off")?;
        }
    }
    if let Some(following) = following {
        following.abort();
    }
    remove_file(&address_file)
}

/// Where connections are encrypted, and how.
fn encrypted(values: &Values) -> Result<Option<Encrypted>> {
    let Some(listen) = values.text("tls-listen") else {
        for option in ["tls-certificates", "tls-keys", "tls-client-ca"] {
            if values.text(option).is_some() {
                bail!("{option}: there is no tls-listen, the address that it is for");
            }
        }
        if values.is_on("https-only") && values.list("trusted-proxies").is_empty() {
            bail!(
                "https-only: there is no tls-listen, where calls could go instead, and none of trusted-proxies, which could say that \
                 they came by HTTPS"
            );
        }
        return Ok(None);
    };
    let named = |option| values.list(option).into_iter().filter(|path| !path.is_empty());
    let paths = |option| named(option).map(PathBuf::from).collect();
    let files = TlsFiles {
        certificates: paths("tls-certificates"),
        keys: paths("tls-keys"),
        client_ca: values.path("tls-client-ca"),
    };
    let tls = Tls::open(files).map_err(anyhow::Error::msg)?;
    Ok(Some(Encrypted { listen: resolved("tls-listen", listen)?, tls }))
}

fn service_options(values: &Values) -> Result<ServiceOptions> {
    let command_level = match values.number("command-level") {
        0 => level::NEWEST,
        level => u16::try_from(level).context("command-level is too large")?,
    };
    Ok(ServiceOptions {
        app_id: values.text("app-id").map(str::to_owned),
        admin_key: values.admin_key()?,
        admin_key_overlap: Duration::from_secs(values.number("admin-key-overlap-s")),
        disk_reserve_bytes: values.number("disk-reserve-bytes"),
        checks: CheckOptions {
            bytes_per_s: values.number("check-bytes-per-s").max(1),
            every: Duration::from_secs(values.number("check-every-s")),
            ..CheckOptions::default()
        },
        snapshot_bytes_per_s: values.number("snapshot-bytes-per-s"),
        take_over_s: values.number("take-over-s"),
        expects: if values.is_on("expect-data") { Expected::Data } else { Expected::Anything },
        command_level,
        events_kept: match values.number("event-retention-days") {
            0 => Duration::from_secs(FOR_EVER_DAYS * DAY_S),
            days => Duration::from_secs(days * DAY_S),
        },
        model_builds: (values.text("model-builds") != Some("off"))
            .then(|| Duration::from_secs(values.number("model-build-hours").max(1) * 3_600)),
        request_log: values.text("request-log") != Some("off"),
        search_threads: values.number("search-threads") as usize,
        cluster: cluster_options(values)?,
        events_sink: sink::wanted(values)?,
        ..ServiceOptions::new(values.data_dir())
    })
}

fn cluster_options(values: &Values) -> Result<ClusterOptions> {
    let peer_listen = values.text("peer-listen").map(|listen| resolved("peer-listen", listen)).transpose()?;
    let text = |name: &str| values.text(name).map(str::to_owned);
    Ok(ClusterOptions {
        node_name: text("node-name"),
        cluster: text("cluster"),
        peer_listen,
        peer_address: text("peer-address"),
        http_address: text("http-address").or_else(|| text("listen")).unwrap_or_default(),
        join: values.list("join"),
        multi_cluster: values.is_on("multi-cluster"),
        join_token: text("join-token"),
        join_token_also: text("join-token-also"),
    })
}

fn server_options(values: &Values, listen: SocketAddr, service: Service) -> Result<ServerOptions> {
    let locations = |path: PathBuf| match Locations::open(&path) {
        Ok(locations) => Ok(Arc::new(locations)),
        Err(reason) => bail!("ip-locations: cannot use {}: {reason}", path.display()),
    };
    let trusted = values.list("trusted-proxies");
    let trusted_proxies = Networks::parse(trusted.iter().map(String::as_str))
        .map_err(|wrong| anyhow::anyhow!("trusted-proxies: `{wrong}` is no address and no network (CIDR)"))?;
    Ok(ServerOptions {
        trusted_proxies,
        workers: values.number("workers") as usize,
        limits: Limits {
            body_bytes_max: values.number("body-bytes-max") as usize,
            search_body_bytes_max: values.number("search-body-bytes-max") as usize,
            multi_body_bytes_max: values.number("multi-body-bytes-max") as usize,
            record_bytes_max: values.number("record-bytes-max") as usize,
            answer_bytes_max: values.number("answer-bytes-max") as usize,
        },
        locations: values.path("ip-locations").map(locations).transpose()?,
        ..ServerOptions::new(listen, service)
    })
}

fn address(values: &Values) -> Result<SocketAddr> {
    resolved("listen", values.text("listen").expect("the table gives a default"))
}

fn resolved(option: &str, address: &str) -> Result<SocketAddr> {
    address
        .to_socket_addrs()
        .with_context(|| format!("{option}: `{address}` is not an address of this machine"))?
        .next()
        .with_context(|| format!("{option}: `{address}` stands for no address"))
}

fn report(started: &Started) {
    for warning in &started.warnings {
        tracing::warn!("{warning}");
    }
    if started.replaced_admin_key {
        tracing::warn!("the admin key given replaces the one before, which counts for admin-key-overlap-s");
    }
}

/// People get the start text, log collectors one line.
fn announce(values: &Values, address: SocketAddr, started: &Started) {
    let key_path = started.admin_key_path.as_path();
    if !std::io::stdout().is_terminal() {
        tracing::info!(%address, app_id = started.app_id, admin_key_path = %key_path.display(), "listening");
        return;
    }
    let data_dir = values.data_dir();
    let name = std::env::args().next().unwrap_or_else(|| "quorate".to_owned());
    let is_default = option("data-dir").default.is_some_and(|path| Path::new(path) == data_dir);
    let start = Start {
        address,
        app_id: &started.app_id,
        admin_key_path: key_path,
        search_key: started.search_key.as_deref(),
        index: values.is_on("demo").then_some(demo::INDEX),
        query: demo::QUERY,
        program: Program { name: &name, data_dir: (!is_default).then_some(data_dir.as_path()) },
    };
    print!("{}", render(&start));
}

/// Writes a small file whole: readers find the old or the new text.
fn write_file(path: &Path, text: &str) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, format!("{text}\n")).with_context(cannot)?;
    std::fs::rename(&temporary, path).with_context(cannot)
}

fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// What changes while the node runs.
struct Reloading<'a> {
    log: Log,
    wanted: ReadOptions<'a>,
    /// What was read last.
    had: Option<Values>,
    /// The certificates for clients.
    tls: Option<Tls>,
}
/// Options that are taken over without a restart.
const RELOADED: [&str; 2] = ["log-level", "admin-key-file"];

impl Reloading<'_> {
    /// Reads the configuration and the file with the admin key again, takes over what can be, and says what cannot.
    fn reload(&mut self, started: &Values, service: &Service) {
        let had = self.had.as_ref().unwrap_or(started);
        let (values, is_new_key) = match self.take(had, service) {
            Ok(taken) => taken,
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "the configuration is not taken over");
                return;
            }
        };
        match self.tls.as_ref().map(Tls::reload) {
            Some(Err(error)) => {
                tracing::error!(error, "some certificates are not taken over: the ones before stay");
            }
            Some(Ok(())) => tracing::info!("the certificates were read again"),
            None => {}
        }
        let changed = values.changed_since(had);
        let taken: Vec<_> = changed.into_iter().filter(|name| RELOADED.contains(name)).collect();
        let waiting = values.changed_since(started);
        let mut waiting: Vec<_> = waiting.into_iter().filter(|name| !RELOADED.contains(name)).collect();
        if self.tls.as_ref().is_some_and(Tls::waits_for_restart) {
            waiting.push("tls-client-ca");
        }
        let new_admin_key = if is_new_key { "given" } else { "none" };
        if taken.is_empty() && waiting.is_empty() && !is_new_key {
            tracing::info!(new_admin_key, "the configuration was read again, and says what it said");
        } else {
            tracing::warn!(?taken, needs_restart = ?waiting, new_admin_key, "the configuration was read again");
        }
        self.had = Some(values);
    }
    fn take(&self, had: &Values, service: &Service) -> Result<(Values, bool)> {
        let values = (self.wanted)()?;
        // everything is read before anything is taken
        let key = match values.path("admin-key-file") {
            Some(_) => values.admin_key()?,
            None => None,
        };
        self.log.set(&values)?;
        let given = key.map_or(Ok(false), |key| service.give_admin_key(&key));
        if given.is_err() {
            self.log.set(had)?;
        }
        Ok((values, given?))
    }
}
