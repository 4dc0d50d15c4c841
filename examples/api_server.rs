//! Runs the API server of `kubelease::testing` by itself, for a look at it with `curl`, or for
//! programs that cannot hold it in their own process.
//!
//! ```text
//! cargo run --example api_server -- --port 8001
//! curl http://127.0.0.1:8001/apis/coordination.k8s.io/v1/namespaces/default/leases
//! ```
//!
//! With `--admin-token T` requests must carry this bearer token; with `--elector-token T` there is
//! also a user `elector`, who may do what Roles grant. `--old-etcd` behaves like a server on an old
//! etcd. The server ends after `--for SECONDS`, by default an hour.

use core::error::Error;
use core::time::Duration;
use std::thread::sleep;

use kubelease::testing::ApiServer;

fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = ApiServer::builder();
    let mut length = Duration::from_secs(3600);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--old-etcd" {
            builder = builder.old_etcd();
            continue;
        }
        let value = arguments
            .next()
            .ok_or_else(|| format!("{option} wants a value"))?;
        match option.as_str() {
            "--port" => builder = builder.port(value.parse()?),
            "--admin-token" => builder = builder.admin_token(&value),
            "--elector-token" => builder = builder.restricted_token(&value, "elector"),
            "--for" => length = Duration::from_secs(value.parse()?),
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let server = builder.start()?;
    println!("{}", server.url());
    sleep(length);
    server.shutdown();
    Ok(())
}
