//! Where an elector's task runs: the caller's runtime, or a thread of its own.

use core::future::poll_fn;
use core::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use tokio::runtime::{self, Handle};
use tokio::task::JoinHandle;
use tokio_stream::Stream as _;

use crate::error::StartError;
use crate::state::Shared;

/// What will run the task.
#[derive(Debug)]
pub(crate) enum Place {
    Here(Handle),
    Thread,
}

impl Place {
    pub(crate) fn of(is_dedicated: bool) -> Result<Self, StartError> {
        if is_dedicated {
            return Ok(Self::Thread);
        }
        let here = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        Ok(Self::Here(here))
    }

    /// Runs `task`, which ends what is `shared` when it is gone.
    pub(crate) fn spawn(
        self,
        task: impl Future<Output = ()> + Send + 'static,
        shared: &Arc<Shared>,
    ) -> Result<JoinHandle<()>, StartError> {
        match self {
            Self::Here(runtime) => Ok(runtime.spawn(task)),
            Self::Thread => {
                let (sender, started) = mpsc::channel();
                let shared = Arc::clone(shared);
                let thread = thread::Builder::new().name("kubelease".to_owned());
                let thread = thread.spawn(move || serve(task, &shared, &sender));
                thread.map_err(|_| StartError::NoThread)?;
                // The sender is gone without a word where there is no runtime.
                started.recv().map_err(|_| StartError::NoThread)
            }
        }
    }
}

/// Runs `task` on a runtime that begins and ends on this thread: the caller may be inside of
/// another one, where none may be dropped.
fn serve(
    task: impl Future<Output = ()> + Send + 'static,
    shared: &Shared,
    started: &Sender<JoinHandle<()>>,
) {
    let mut news = shared.news();
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    if started.send(runtime.spawn(task)).is_err() {
        return;
    }
    runtime.block_on(async {
        while !shared.is_over() {
            poll_fn(|context| Pin::new(&mut news).poll_next(context)).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As where a setting that is looked at later turns out to be wrong.
    #[tokio::test]
    async fn a_thread_that_is_not_wanted_after_all_ends_no_runtime_that_it_was_asked_in() {
        drop(Place::of(true).unwrap());
    }
}
