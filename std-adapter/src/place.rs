//! Where an elector's task runs: the caller's runtime, or a thread of its own.

use core::future::poll_fn;
use core::pin::Pin;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{self, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_stream::Stream as _;

use crate::error::StartError;
use crate::state::Shared;

/// What will run the task.
#[derive(Debug)]
pub(crate) enum Place {
    Here(Handle),
    Thread(Runtime),
}

impl Place {
    pub(crate) fn of(is_dedicated: bool) -> Result<Self, StartError> {
        if !is_dedicated {
            let here = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
            return Ok(Self::Here(here));
        }
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.map(Self::Thread).map_err(|_| StartError::NoThread)
    }

    /// Runs `task`, which ends what is `shared` when it is gone.
    pub(crate) fn spawn(
        self,
        task: impl Future<Output = ()> + Send + 'static,
        shared: &Arc<Shared>,
    ) -> Result<JoinHandle<()>, StartError> {
        match self {
            Self::Here(runtime) => Ok(runtime.spawn(task)),
            Self::Thread(runtime) => {
                let task = runtime.spawn(task);
                let shared = Arc::clone(shared);
                let mut news = shared.news();
                let serve = move || {
                    runtime.block_on(async {
                        while !shared.is_over() {
                            poll_fn(|context| Pin::new(&mut news).poll_next(context)).await;
                        }
                    });
                };
                let thread = thread::Builder::new().name("kubelease".to_owned());
                thread.spawn(serve).map_err(|_| StartError::NoThread)?;
                Ok(task)
            }
        }
    }
}
