//! The smallest elector over kubelease: leads, says so, and goes on leading.
//! It is told the server's URL.

use core::time::Duration;

use kubelease::Elector;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("a URL");
    let handle = Elector::builder()
        .server(&url)
        .namespace("default")
        .name("kubelease")
        .start()
        .expect("an elector");
    while !handle.is_leading() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("leading");
    core::future::pending().await
}
