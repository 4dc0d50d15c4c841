//! The thread of the server: takes connections, and orders from its owner.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::thread::{self, JoinHandle};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::STACK_SIZE;
use super::api::Api;
use super::connection::serve;
use super::fault::Rule;
use super::log::Log;
use super::socket::{Meter, Socket, lock};

const BACKLOG: u32 = 1024;

/// What the thread and the owner of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) api: Mutex<Api>,
    pub(super) log: Mutex<Log>,
    pub(super) rules: Mutex<Vec<Rule>>,
    /// How many new connections are still to be closed at once.
    pub(super) refusals: Mutex<u64>,
    /// After how long an idle connection is closed.
    pub(super) idle_limit: Duration,
}

/// An order of the owner, and whom to tell when it is carried out.
pub(super) struct Order {
    command: Command,
    done: std_mpsc::Sender<io::Result<()>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    Pause,
    Resume,
    CloseConnections,
}

/// A running thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) addr: SocketAddr,
    orders: Option<mpsc::UnboundedSender<Order>>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    /// Binds a port of the loopback interface (0 for any) and starts to serve.
    ///
    /// The runtime is made and dropped in the thread: it must not be dropped in an async context,
    /// which the caller may be in.
    pub(super) fn start(port: u16, shared: Arc<Shared>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::unbounded_channel();
        let (ready, bound) = std_mpsc::channel();
        let handle = thread::Builder::new()
            .name("kubelease-test-api".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || serve_until_dropped(port, shared, inbox, &ready))?;
        let mut thread = Self {
            addr: SocketAddr::from(([127, 0, 0, 1], port)),
            orders: Some(orders),
            handle: Some(handle),
        };
        let addr = bound
            .recv()
            .map_err(|_| io::Error::other("the thread has ended"))?;
        thread.addr = addr?;
        Ok(thread)
    }

    /// Gives an order and waits until it is carried out.
    pub(super) fn order(&self, command: Command) -> io::Result<()> {
        let (done, wait) = std_mpsc::channel();
        let gone = || io::Error::other("the server has ended");
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(Order { command, done }).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Ends the thread, with all connections.
    pub(super) fn stop(&mut self) {
        // The thread ends when nobody can give orders any more.
        self.orders = None;
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread does.
fn serve_until_dropped(
    port: u16,
    shared: Arc<Shared>,
    inbox: mpsc::UnboundedReceiver<Order>,
    ready: &std_mpsc::Sender<io::Result<SocketAddr>>,
) {
    let started = runtime::Builder::new_current_thread().enable_all().build();
    let started = started.and_then(|runtime| {
        let server = runtime.block_on(async { Server::new(port, shared) })?;
        Ok((runtime, server))
    });
    match started {
        Ok((runtime, server)) => {
            let _ = ready.send(Ok(server.addr));
            runtime.block_on(server.run(inbox));
        }
        Err(error) => {
            let _ = ready.send(Err(error));
        }
    }
}

struct Server {
    addr: SocketAddr,
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
    connections: u64,
    /// Keeps the port from being given to somebody else while the server does not listen.
    _port_holder: Option<TcpSocket>,
}

impl Server {
    fn new(port: u16, shared: Arc<Shared>) -> io::Result<Self> {
        let (listener, port_holder) = bind(port)?;
        let addr = listener.local_addr()?;
        let (listener, connections) = (Some(listener), 0);
        Ok(Self {
            addr,
            listener,
            shared,
            connections,
            _port_holder: port_holder,
        })
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Order>) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                order = inbox.recv() => {
                    let Some(order) = order else { break };
                    let result = self.carry_out(order.command, &mut tasks).await;
                    let _ = order.done.send(result);
                }
                stream = accept(self.listener.as_ref()) => self.take(stream, &mut tasks),
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            }
        }
        tasks.shutdown().await;
    }

    async fn carry_out(&mut self, command: Command, tasks: &mut JoinSet<()>) -> io::Result<()> {
        match command {
            Command::Resume if self.listener.is_none() => {
                self.listener = Some(listen(self.addr)?);
            }
            Command::Resume => {}
            Command::Pause => {
                self.listener = None;
                tasks.shutdown().await;
            }
            Command::CloseConnections => tasks.shutdown().await,
        }
        Ok(())
    }

    fn take(&mut self, accepted: (TcpStream, SocketAddr), tasks: &mut JoinSet<()>) {
        let (stream, peer) = accepted;
        self.connections += 1;
        let meter = Arc::new(Meter::new(self.connections, peer.port()));
        if self.is_refused() {
            meter.reset();
            drop(Socket { stream, meter });
            return;
        }
        // Without it a small answer may wait 40 ms for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        tasks.spawn(serve(stream, meter, Arc::clone(&self.shared)));
    }

    fn is_refused(&self) -> bool {
        let mut refusals = lock(&self.shared.refusals);
        let is_refused = *refusals > 0;
        if *refusals != u64::MAX {
            *refusals = refusals.saturating_sub(1);
        }
        is_refused
    }
}

/// The next connection; never, where there is no listener.
async fn accept(listener: Option<&TcpListener>) -> (TcpStream, SocketAddr) {
    loop {
        match listener {
            None => core::future::pending().await,
            Some(listener) => {
                if let Ok(accepted) = listener.accept().await {
                    return accepted;
                }
                // Out of file descriptors, most likely: others must end first.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

fn bind(port: u16) -> io::Result<(TcpListener, Option<TcpSocket>)> {
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    if port != 0 {
        // The sockets below share their port with each other, and must not share it with others.
        drop(std::net::TcpListener::bind(addr)?);
    }
    let listener = listen(addr)?;
    let can_share = cfg!(all(
        unix,
        not(any(target_os = "solaris", target_os = "illumos"))
    ));
    let holder = if can_share {
        Some(socket(listener.local_addr()?)?)
    } else {
        None
    };
    Ok((listener, holder))
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    socket(addr)?.listen(BACKLOG)
}

/// A socket bound to an address, not listening yet.
fn socket(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // On Windows these would let anybody take the port over.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    socket.set_reuseport(true)?;
    socket.bind(addr)?;
    Ok(socket)
}
