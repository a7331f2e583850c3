//! Connections: accepting them, and ending with all of them.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::time::{interval, sleep};

use super::answer::Site;
use super::body::Content;
use super::files::Served;
use super::guard::Token;

/// Connections at a time; a browser opens six. Others wait.
const MOST_CONNECTIONS: usize = 64;

/// Threads that read files.
const READERS: usize = 4;

/// A connection on which nothing is asked is closed after so long.
const IDLE: Duration = Duration::from_secs(60);

/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(50);

/// A pause after a connection could not be taken, as when no file may be opened any more.
const BREATH: Duration = Duration::from_millis(100);

/// A page's headers are far shorter.
const MOST_HEADER_BYTES: usize = 32 << 10;

/// The server, listening.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

impl Server {
    /// Listens at an address; port 0 is any that is free.
    ///
    /// # Errors
    /// Where that is not allowed, or the port is taken.
    pub(crate) fn bind(address: SocketAddr, token: Token, served: Vec<Served>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let bind = address.ip();
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            site: Arc::new(Site {
                token,
                bind,
                served,
            }),
        })
    }

    /// Where the page is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.site.token.as_str())
    }

    /// Answers until `stop` is set; connections are then cut off.
    ///
    /// # Errors
    /// Where the system has no threads or sockets for it.
    pub(crate) fn run(self, stop: &AtomicBool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(READERS)
            .build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = accept(&listener, &self.site) => {}
                () = stopped(stop) => {}
            }
            Ok(())
        })
    }
}

async fn stopped(stop: &AtomicBool) {
    let mut ticks = interval(TICK);
    while !stop.load(Ordering::Relaxed) {
        ticks.tick().await;
    }
}

async fn accept(listener: &tokio::net::TcpListener, site: &Arc<Site>) {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&free).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        // Headers and first bytes go out at once.
        let _ = stream.set_nodelay(true);
        let site = Arc::clone(site);
        tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let answer: Result<Response<Content>, Infallible> = Ok(site.answer(&request));
                std::future::ready(answer)
            });
            // A connection that breaks off concerns nobody else.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .max_buf_size(MOST_HEADER_BYTES)
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(place);
        });
    }
}
