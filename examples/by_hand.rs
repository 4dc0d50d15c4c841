//! An election without any network, printed as a transcript.
//!
//! `Store` stands in for the API server. Time is a number that jumps to whatever is due next; at
//! 30 s the leader crashes, and at 60 s its successor stops and gives the lease up.

use kubelease_core::elector::{Config, Elector};
use kubelease_core::lease::{LeaseRecord, RecordSpec, ResourceVersion, Uid, Version};
use kubelease_core::protocol::{Operation, Output, Reply, Response};
use kubelease_core::time::{Instant, Now};
use kubelease_core::timestamp::Timestamp;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut store = Store::default();
    let mut ada = Elector::new(
        Config {
            seed: 1,
            ..Config::new("ada")
        },
        at(0),
    )?;
    let mut bob = Elector::new(
        Config {
            seed: 2,
            ..Config::new("bob")
        },
        at(0),
    )?;

    println!("      ms  who  what");
    let mut due = [0, 0];
    while let Some(&ms) = due.iter().min().filter(|ms| **ms < 70_000) {
        if due[0] == ms {
            // From 30 s on nobody drives ada: that is what a crash looks like.
            due[0] = if ms < 30_000 {
                turn("ada", &mut ada, &mut store, ms)
            } else {
                u64::MAX
            };
        } else {
            if ms >= 60_000 {
                bob.stop(at(ms));
            }
            due[1] = turn("bob", &mut bob, &mut store, ms);
        }
    }

    // Nobody told ada that it leads no more. It knows by itself.
    assert!(!ada.is_leading(at(70_000).instant));
    assert_eq!((ada.term(), bob.term()), (1, 1));
    assert!(store.lease.is_some_and(|spec| spec.holder.is_empty()));
    Ok(())
}

/// Does all that `elector` wants at `ms`, and says when it wants to be asked again.
fn turn(name: &str, elector: &mut Elector<'_>, store: &mut Store, ms: u64) -> u64 {
    loop {
        match elector.poll(at(ms)) {
            Output::Event(event) => println!("{ms:8}  {name}  {event:?}"),
            Output::Cancel(id) => println!("{ms:8}  {name}  cancel {id:?}"),
            Output::Request(request) => {
                let (id, verb) = (request.id, request.operation.verb().as_str());
                let found = store.apply(request.operation);
                let reply = found.as_ref().map_or_else(|reply| *reply, Reply::Lease);
                println!("{ms:8}  {name}  {verb}: {}", describe(&reply));
                elector
                    .handle_response(at(ms), id, Response::new(reply))
                    .expect("it just left");
            }
            Output::WaitUntil(instant) => return instant.as_millis(),
            Output::Done => return u64::MAX,
        }
    }
}

/// One lease, and the server's rule that a write needs the version it was made for.
#[derive(Default)]
struct Store {
    lease: Option<RecordSpec>,
    version: u64,
}

impl Store {
    fn apply(&mut self, operation: Operation<'_>) -> Result<LeaseRecord, Reply<'static>> {
        let written = match operation {
            Operation::Get
            | Operation::Watch { .. }
            | Operation::GetNode { .. }
            | Operation::Delete { .. } => None,
            Operation::Create { .. } if self.lease.is_some() => return Err(Reply::Conflict),
            Operation::Update { version, .. } if *version != self.version() => {
                return Err(Reply::Conflict);
            }
            Operation::Create { spec, .. } | Operation::Update { spec, .. } => Some(spec),
        };
        if let Some(spec) = written {
            self.lease = Some(RecordSpec::from(spec));
            self.version += 1;
        }
        let spec = Some(self.lease.clone().ok_or(Reply::LeaseMissing)?);
        Ok(LeaseRecord {
            version: self.version(),
            spec,
            ..LeaseRecord::default()
        })
    }

    fn version(&self) -> Version {
        let number = self.version.to_string();
        let resource_version = ResourceVersion::try_from(number.as_str()).expect("it is short");
        Version {
            uid: Uid::try_from("6c1f").expect("it is short"),
            resource_version,
        }
    }
}

fn describe(reply: &Reply<'_>) -> String {
    let Reply::Lease(LeaseRecord {
        version,
        spec: Some(spec),
        ..
    }) = reply
    else {
        return format!("{reply:?}");
    };
    format!(
        "holder {:?} at version {}",
        spec.holder,
        version.resource_version.as_str()
    )
}

/// Both clocks, `ms` after the start.
fn at(ms: u64) -> Now {
    let start = Timestamp::parse("2026-01-02T03:04:05Z").expect("it is a time");
    let wall = start.checked_add_millis(ms).expect("it is in this century");
    Now::with_wall(Instant::from_millis(ms), wall)
}
