//! Operations on a heartbeat, chosen by bytes.

use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{LeaseRecord, NodeRecord, Readiness};
use kubelease_core::protocol::{Failure, Output, Reply, RequestId, Response};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::time::Instant;
use kubelease_core::wire::path::LeasePath;

use crate::drive::{Source, record, reply};

fn config(source: &mut Source<'_>) -> HeartbeatConfig {
    HeartbeatConfig {
        lease_duration: source.millis(),
        interval: source.millis(),
        jitter_percent: u32::from(source.byte()),
        request_timeout: source.millis(),
        retire_budget: source.millis(),
        spread_first_beat: source.flag(),
        create_with_put: source.flag(),
        owner_required: source.flag(),
        force_owner: source.flag(),
        liveness_ttl: source.flag().then(|| source.millis()),
        watch_node: source.flag(),
    }
}

fn identity<'a>(text: &'a str, source: &mut Source<'_>) -> HeartbeatIdentity<&'a str> {
    HeartbeatIdentity {
        holder: text,
        node: source.flag().then_some(text),
        node_uid: source.flag().then_some(text),
        seed: source.number(),
    }
}

fn retire(source: &mut Source<'_>) -> Retire {
    match source.byte() {
        0 => Retire::Keep,
        1 => Retire::FinalBeat,
        _ => Retire::Delete,
    }
}

/// A heart that is driven by hand.
pub fn beats(input: &[u8], source: &mut Source<'_>) -> u64 {
    let Ok(text) = core::str::from_utf8(input) else {
        return 0;
    };
    let (config, identity) = (config(source), identity(text, source));
    let Ok(mut heart) = Heartbeat::new(config, identity, source.now()) else {
        return 0;
    };
    let mut seen = 0_u64;
    for _ in 0..source.byte() {
        seen = seen.wrapping_add(step(&mut heart, source));
        let at = Instant::from_millis(source.number());
        seen = seen
            .wrapping_add(heart.health(at) as u64)
            .wrapping_add(heart.last_beat().map_or(0, Instant::as_millis))
            .wrapping_add(heart.node_uid().map_or(0, |uid| uid.len() as u64))
            .wrapping_add(u64::from(heart.config().validate().is_ok()))
            .wrapping_add(u64::from(heart.in_flight().is_some()));
    }
    seen
}

fn step(heart: &mut Heartbeat<HeartbeatConfig, &str>, source: &mut Source<'_>) -> u64 {
    let now = source.now();
    let id = RequestId::from_number(u32::from(source.byte()));
    match source.byte() {
        0 => heart.alive(now),
        1 => heart.retire(now, retire(source)),
        2 => return u64::from(heart.handle_failure(now, id, Failure::Unknown).is_ok()),
        3 => return u64::from(heart.handle_failure(now, id, Failure::NotSent).is_ok()),
        4 => {
            let record = record(source);
            let response = Response {
                server_time: now.wall,
                retry_after: source.flag().then(|| source.millis()),
                reply: node_or(source, &record),
            };
            return u64::from(heart.handle_response(now, id, response).is_ok());
        }
        _ => {
            return match heart.poll(now) {
                Output::WaitUntil(at) => at.as_millis(),
                Output::Request(request) => request.deadline.as_millis(),
                Output::Cancel(id) => u64::from(id.number()),
                Output::Event(_) | Output::Done => 1,
            };
        }
    }
    0
}

fn node_or<'r>(source: &mut Source<'_>, record: &'r LeaseRecord) -> Reply<'r> {
    match source.byte() {
        0 => Reply::Deleted,
        1 => Reply::Node(NodeRecord {
            uid: &record.version.uid,
            readiness: Readiness::Unknown,
        }),
        _ => reply(source.byte(), record),
    }
}

/// A heart whose answers come as bytes.
pub fn bytes(input: &[u8], source: &mut Source<'_>, update: UpdateMode<'_>) -> u64 {
    let Ok(text) = core::str::from_utf8(input) else {
        return 0;
    };
    let config = config(source);
    let heart = Heartbeat::new(&config, identity(text, source), source.now());
    let (Ok(heart), Ok(path)) = (heart, LeasePath::new(text, text)) else {
        return 0;
    };
    let mut session = Session::new(heart, path, update);
    let (mut seen, mut buffer) = (0_u64, [0_u8; 96]);
    for _ in 0..source.byte() {
        let now = source.now();
        let id = RequestId::from_number(u32::from(source.byte()));
        seen = seen.wrapping_add(match source.byte() {
            0 => u64::from(session.response_begin(id, u16::from(source.byte())).is_ok()),
            1 => u64::from(session.response_header(id, input, input).is_ok()),
            2 => u64::from(session.response_body(id, input).is_ok()),
            3 => u64::from(session.response_end(now, id).is_ok()),
            4 => u64::from(session.response_failed(now, id, Failure::TimedOut).is_ok()),
            5 => session
                .request(id, &mut buffer)
                .map_or(0, |request| request.body.len() as u64),
            6 => session.write_target(id, 3, &mut buffer).unwrap_or(0) as u64,
            7 => session.write_body(id, 3, &mut buffer).unwrap_or(0) as u64,
            8 => {
                session.machine_mut().retire(now, retire(source));
                0
            }
            9 => {
                session.machine_mut().alive(now);
                0
            }
            _ => match session.poll(now) {
                Action::WaitUntil(at) => at.as_millis(),
                Action::Send { deadline, .. } => deadline.as_millis(),
                Action::Cancel(id) => u64::from(id.number()),
                Action::Event(_) | Action::Done => 1,
            },
        });
    }
    seen.wrapping_add(u64::from(buffer.first().copied().unwrap_or(0)))
}
