//! What the elector's task tells a subscriber. A process of its own: callsites are shared.
#![cfg(feature = "tracing")]

mod support;

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use kubelease::testing::ApiServer;
use kubelease::{Finish, Guard, LeadingError};
use support::{candidate, until};

/// Lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

#[tokio::test]
async fn traces_have_a_span_and_fields_and_no_secret() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = ApiServer::builder().token("s3cret", "me").start().unwrap();
    let handle = candidate(&server, "a")
        .bearer_token("s3cret")
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    until("a renewal", || server.count("PUT") >= 2).await;
    let blocked = handle
        .leading(async |_: Guard| {
            handle.step_down(Duration::ZERO);
            tokio::task::yield_now().await;
            until("the end", || !handle.is_leading()).await;
        })
        .await;
    let is_cancelled = matches!(blocked, Err(LeadingError::Cancelled { .. }));
    assert!(blocked.is_ok() || is_cancelled, "{blocked:?}");
    until("leading again", || handle.is_leading()).await;
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    let text = lines.text();
    for expected in [
        "leader_election{namespace=default name=lock identity=a}",
        "started leading term=1 token=",
        "stopped leading term=1 reason=SteppedDown",
        "started leading term=2 token=",
        "finished finish=Released",
    ] {
        let own: Vec<_> = text
            .lines()
            .filter(|line| line.contains("telemetry"))
            .collect();
        assert!(text.contains(expected), "{expected}: {own:#?}");
    }
    assert!(!text.contains("s3cret"), "{text}");
}
