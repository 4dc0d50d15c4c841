//! Leads over a `kube::Client`, against the API server of the tests, and releases.

use core::error::Error;
use core::time::Duration;

use kube::{Client, Config};
use kubelease::testing::ApiServer;
use kubelease::{Connection, Elector, Finish};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::start()?;
    let client = Client::try_from(Config::new(server.url().parse()?))?;

    let connection = Connection::over(move |request| {
        let client = client.clone();
        async move { client.send(request.map(Into::into)).await }
    });
    let builder = Elector::builder().connection(connection);
    let handle = builder.namespace("default").name("lock").start()?;

    let leads = async {
        while !handle.is_leading() || server.count("PUT") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), leads).await?;
    println!("leads, and has renewed once: {:?}", handle.fence());
    let finish = handle.shutdown().await?;
    println!("the lease: {finish:?}");
    if finish == Finish::Released {
        Ok(())
    } else {
        Err("the lease was not released".into())
    }
}
