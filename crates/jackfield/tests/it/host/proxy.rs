//! A wire that lets through what the client says, and cuts before the answer comes back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A wire to the server that can be made deaf.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    deaf: Arc<AtomicBool>,
    said: Arc<Notify>,
}

impl Proxy {
    /// In front of a server.
    pub(super) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy =
            Self { address: listener.local_addr().unwrap(), deaf: Arc::default(), said: Arc::default() };
        let (deaf, said) = (Arc::clone(&proxy.deaf), Arc::clone(&proxy.said));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(server).await.unwrap();
                tokio::spawn(pass(near, far, Arc::clone(&deaf), Arc::clone(&said)));
            }
        });
        proxy
    }

    /// From now on what the server says is cut off, and the whole connection with it.
    pub(super) fn cut(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    pub(super) fn mend(&self) {
        self.deaf.store(false, Ordering::SeqCst);
    }

    /// Waits until something of the server was cut off.
    pub(super) async fn cut_off(&self) {
        self.said.notified().await;
    }
}

async fn pass(near: TcpStream, far: TcpStream, deaf: Arc<AtomicBool>, said: Arc<Notify>) {
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let there = async {
        let _ = tokio::io::copy(&mut near_in, &mut far_out).await;
    };
    let back = async {
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = far_in.read(&mut bytes).await {
            if deaf.load(Ordering::SeqCst) {
                said.notify_one();
                return;
            }
            if near_out.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}
