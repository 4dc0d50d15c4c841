//! The smallest elector over kube-leader-election: leads, says so, and goes on leading.
//! It is told the server's URL.

use core::time::Duration;

use kube::{Client, Config};
use kube_leader_election::{LeaseLock, LeaseLockParams, LeaseLockResult};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let config = Config::new(url.parse().expect("a URL"));
    let params = LeaseLockParams {
        holder_id: "footprint".into(),
        lease_name: "kube-leader-election".into(),
        lease_ttl: Duration::from_secs(15),
    };
    let client = Client::try_from(config).expect("a client");
    let lock = LeaseLock::new(client, "default", params);
    let mut leads = false;
    loop {
        let result = lock.try_acquire_or_renew().await.expect("an answer");
        if !core::mem::replace(&mut leads, matches!(result, LeaseLockResult::Acquired(_))) && leads
        {
            println!("leading");
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
