//! Figures on a port of their own, for a collector on this machine that has no login.
//!
//! Nothing else is answered there. The one rule it keeps: only a loopback address, and only under its own name, so
//! that no page of a stranger's can read it through a browser.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use jackfield_host::Host;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::routes::metrics::TEXT;

/// A port with figures.
#[derive(Debug)]
pub struct ServingMetrics {
    address: SocketAddr,
    stopping: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

/// Why figures have no port of their own.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The address can be reached from other machines, and there is no login.
    #[error("cannot tell figures on {0}: other machines can reach it")]
    NotLoopback(SocketAddr),
    /// The address is not to be had.
    #[error("cannot tell figures on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
}

/// Tells a host's figures on a loopback address.
pub async fn serve_metrics(host: Host, address: SocketAddr) -> Result<ServingMetrics, MetricsError> {
    if !address.ip().is_loopback() {
        return Err(MetricsError::NotLoopback(address));
    }
    let failed = |source| MetricsError::Address { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let stopping = CancellationToken::new();
    let router = Router::new().route("/metrics", get(figures)).with_state((host, address));
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopping.clone().cancelled_owned());
    Ok(ServingMetrics { address, stopping, task: tokio::spawn(async move { serving.await }) })
}

impl ServingMetrics {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells nothing more.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.task.abort();
        // It was told to end; how it did matters to nobody.
        let _ = self.task.await;
    }
}

async fn figures(State((host, address)): State<(Host, SocketAddr)>, headers: HeaderMap) -> Response {
    let named = headers.get(HOST).and_then(|name| name.to_str().ok());
    if !named.is_some_and(|name| is_own(name, address)) {
        return (StatusCode::MISDIRECTED_REQUEST, "this is not the host that was meant\n").into_response();
    }
    match host.figures().await {
        Some(page) => ([(CONTENT_TYPE, TEXT)], page).into_response(),
        None => (StatusCode::NOT_FOUND, "nothing is counted here\n").into_response(),
    }
}

/// Whether a name is that of this port: its address, or the name that every machine has for itself.
fn is_own(name: &str, address: SocketAddr) -> bool {
    let local = match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let port = address.port();
    name == format!("{local}:{port}") || name == format!("localhost:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_answered_to() {
        let address = "127.0.0.1:9464".parse().unwrap();
        for own in ["127.0.0.1:9464", "localhost:9464"] {
            assert!(is_own(own, address), "{own}");
        }
        for other in ["", "127.0.0.1", "localhost:80", "evil.example:9464", "127.0.0.1:9464.evil.example"] {
            assert!(!is_own(other, address), "{other}");
        }
    }
}
