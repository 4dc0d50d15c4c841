//! The smallest elector over kubert: leads, says so, and goes on leading.
//! It is told the server's URL.

use core::time::Duration;

use kube::{Api, Client, Config};
use kubert::lease::{ClaimParams, LeaseManager};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let config = Config::new(url.parse().expect("a URL"));
    let api = Api::namespaced(Client::try_from(config).expect("a client"), "default");
    // The lease has to be there already.
    let manager = LeaseManager::init(api, "kubert").await.expect("the lease");
    let params = ClaimParams {
        lease_duration: Duration::from_secs(15),
        renew_grace_period: Duration::from_secs(5),
    };
    let (mut claims, task) = manager.spawn("footprint", params).await.expect("a task");
    claims
        .wait_for(|claim| claim.is_current_for("footprint"))
        .await
        .expect("a claim");
    println!("leading");
    task.await.expect("the task").expect("claims");
}
