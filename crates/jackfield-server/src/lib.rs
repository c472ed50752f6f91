//! A host for browsers and programs: HTTP, WebSocket, access and the page.
//!
//! It knows who somebody is and what they may ask; what comes of it is the host's business. `docs/protocol.md`
//! describes it for the author of a client. The one rule it keeps: nobody is answered before the gate and the
//! secret.
//!
//! # Layout
//! * [`serve`] – listening and stopping
//! * `access` – the gate, the token, one-time links and logins
//! * `router`, `routes` – from a request to its answer; [`openapi`] describes them
//! * `socket` – a WebSocket connection
//! * `page` – the embedded page
//! * [`Board`] – what an interactive CLI shows to an editor
//! * [`Dictating`] – what understands speech
//! * `tls` – certificates
//! * [`running`] – asking a server that runs already

mod access;
mod admission;
mod doorstep;
mod dress;
mod editor;
mod given;
mod metrics;
mod page;
mod refusal;
mod router;
mod routes;
pub mod running;
mod serving;
mod socket;
mod speech;
mod tls;

pub use access::OpenError;
pub use access::names::{NoBasePath, NoName};
pub use access::secret::NoSecret;
pub use doorstep::doorstep;
pub use editor::{Board, Full, Proposal};
pub use metrics::{MetricsError, ServingMetrics, serve_metrics};
pub use routes::openapi;
pub use serving::{Listen, SOCKET, ServeError, Serving, serve};
pub use speech::{Dictating, Instead};
pub use tls::{Fingerprint, TlsError, Transport};
