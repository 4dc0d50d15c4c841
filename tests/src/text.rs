//! Outputs as the short texts of timetables and transcripts.

use kubelease_core::protocol::{Changes, Event};

use crate::seen::{Seen, Sent, Write, WriteKind};

/// One output in a few words; `leader` is whom the machine names, `since` makes instants small.
#[must_use]
pub fn describe(seen: &Seen, leader: Option<&str>, origin: u64) -> String {
    match seen {
        Seen::Event(event) => describe_event(event, leader),
        Seen::Cancel(_) => "Cancel".to_owned(),
        Seen::Request(sent) => describe_request(sent),
        Seen::Wait(at) => format!("wait {}", at.as_millis().saturating_sub(origin)),
        Seen::Done => "Done".to_owned(),
    }
}

fn describe_event(event: &Event, leader: Option<&str>) -> String {
    match event {
        Event::StartedLeading { term } => format!("Started {term}"),
        Event::StoppedLeading { reason, .. } => format!("Stopped {reason:?}"),
        Event::LeaderChanged => format!("Leader {}", leader.unwrap_or("none")),
        Event::Trouble { kind, verb } => format!("Trouble {kind:?} {}", verb.as_str()),
        Event::Finished(finish) => format!("Finished {finish:?}"),
        Event::LeaseRecreated
        | Event::LeaseBeingDeleted
        | Event::IdentityCollision
        | Event::CredentialsRejected
        | Event::ReconnectAdvised
        | Event::VersionWentBack
        | _ => format!("{event:?}"),
    }
}

/// A request: the method, the condition of a write, and what it is for.
#[must_use]
pub fn describe_request(sent: &Sent) -> String {
    if let Some(name) = &sent.node {
        return format!("GET node {name}");
    }
    if let Some(version) = &sent.deletes {
        return format!("DELETE {}", version.resource_version.as_str());
    }
    let Some(write) = &sent.write else {
        let watch = sent.watch.as_ref();
        return watch.map_or_else(
            || "GET".to_owned(),
            |version| format!("WATCH {}", version.as_str()),
        );
    };
    match &write.kind {
        WriteKind::Create { by_put: false } => "POST".to_owned(),
        WriteKind::Create { by_put: true } => "PUT new".to_owned(),
        WriteKind::Update { version, changes } => {
            let what = match changes {
                Changes::Acquire => "acquire",
                Changes::Renew => "renew",
                Changes::Release => "release",
            };
            format!("PUT {} {what}", version.resource_version.as_str())
        }
    }
}

/// The body of a write, for transcripts: two lines with two blanks between them, and a third for
/// the owner where one is named.
#[must_use]
pub fn describe_body(write: &Write) -> String {
    let time = |at: kubelease_core::Timestamp| at.to_text().as_str().to_owned();
    let owner = write.owner.as_ref().map_or_else(String::new, |owner| {
        let others = if owner.has_others {
            " among others"
        } else {
            ""
        };
        format!("  owner={} {}{others}", owner.name, owner.uid)
    });
    format!(
        "holder={:?} duration={} transitions={}  acquire={} renew={}{owner}",
        write.holder,
        write.duration,
        write
            .transitions
            .map_or_else(|| "-".to_owned(), |count| count.to_string()),
        write.acquire_time.map_or_else(|| "-".to_owned(), time),
        time(write.renew_time),
    )
}
