//! The smallest elector over kube-lease-manager: leads, says so, and goes on leading.
//! It is told the server's URL.

use kube::{Client, Config};
use kube_lease_manager::LeaseManagerBuilder;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let config = Config::new(url.parse().expect("a URL"));
    let client = Client::try_from(config).expect("a client");
    let manager = LeaseManagerBuilder::new(client, "kube-lease-manager")
        .with_namespace("default")
        .with_duration(15)
        .with_grace(5)
        .build()
        .await
        .expect("a manager");
    let (mut channel, task) = manager.watch().await;
    channel.wait_for(|leads| *leads).await.expect("a lock");
    println!("leading");
    task.await.expect("the task").expect("a manager");
}
