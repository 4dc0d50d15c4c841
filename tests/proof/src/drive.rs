//! Operations on the core, chosen by bytes.

use kubelease_core::elector::{Config, Create, Elector, Timing};
use kubelease_core::lease::{Label, LeaseRecord, LeaseSpec, RecordSpec, ResourceVersion};
use kubelease_core::protocol::{BadAnswer, Failure, Output, Reply, RequestId, Response};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::timestamp::Timestamp;
use kubelease_core::wire::path::LeasePath;

use crate::heart;

/// Reads numbers from the input, over and over.
pub struct Source<'a>(core::iter::Cycle<core::slice::Iter<'a, u8>>);

impl Source<'_> {
    pub fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    pub fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| (number << 8) | u64::from(self.byte()))
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn millis(&mut self) -> Duration {
        Duration::from_millis(self.number())
    }

    pub fn now(&mut self) -> Now {
        let wall = Timestamp::from_unix(self.number().cast_signed(), 7).filter(|_| self.flag());
        Now {
            instant: Instant::from_millis(self.number()),
            wall,
        }
    }
}

pub fn everything(input: &[u8]) -> u64 {
    let mut source = Source(input.iter().cycle());
    let mut keep = [0_u8; 64];
    let patch = UpdateMode::MergePatch;
    let put = UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: source.flag(),
    };
    times(input, &mut source)
        .wrapping_add(election(input, &mut source))
        .wrapping_add(bytes(input, &mut source, patch))
        .wrapping_add(bytes(input, &mut source, put))
        .wrapping_add(hearts(input, &mut source))
}

fn hearts(input: &[u8], source: &mut Source<'_>) -> u64 {
    let mut keep = [0_u8; 64];
    let put = UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: source.flag(),
    };
    heart::beats(input, source)
        .wrapping_add(heart::bytes(input, source, UpdateMode::MergePatch))
        .wrapping_add(heart::bytes(input, source, put))
}

fn times(input: &[u8], source: &mut Source<'_>) -> u64 {
    let parsed = Timestamp::parse_bytes(input)
        .ok()
        .or(Timestamp::parse_http_date(input));
    let Some(time) = parsed else { return 0 };
    let later = time.checked_add_millis(source.number()).unwrap_or(time);
    let text = later
        .to_text()
        .as_bytes()
        .iter()
        .map(|byte| u64::from(*byte))
        .sum::<u64>();
    text.wrapping_add(later.millis_since(time).unwrap_or(0))
}

fn election(input: &[u8], source: &mut Source<'_>) -> u64 {
    let Ok(text) = core::str::from_utf8(input) else {
        return 0;
    };
    let labels = [Label {
        key: text,
        value: text,
    }];
    let timing = Timing {
        lease_duration: source.millis(),
        renew_deadline: source.millis(),
        retry_period: source.millis(),
        request_timeout: source.millis(),
        jitter_percent: u32::from(source.byte()),
    };
    let config = Config {
        timing,
        labels: &labels,
        create: match source.byte() {
            0 => Create::Post,
            1 => Create::Put,
            _ => Create::Never,
        },
        treat_own_as_foreign: source.flag(),
        trust_renew_time: source.flag().then(|| source.millis()),
        release_budget: source.flag().then(|| source.millis()),
        seed: source.number(),
        ..Config::new(text)
    };
    let Ok(mut elector) = Elector::new(config, source.now()) else {
        return 0;
    };
    let mut seen = 0_u64;
    for _ in 0..source.byte() {
        seen = seen.wrapping_add(step(&mut elector, source));
        seen = seen.wrapping_add(questions(&elector, source));
    }
    seen
}

/// One elector whose answers come as bytes.
fn bytes(input: &[u8], source: &mut Source<'_>, update: UpdateMode<'_>) -> u64 {
    let Ok(text) = core::str::from_utf8(input) else {
        return 0;
    };
    let elector = Elector::new(Config::new(text), source.now());
    let (Ok(elector), Ok(path)) = (elector, LeasePath::new(text, text)) else {
        return 0;
    };
    let mut session = Session::new(elector, path, update);
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
            6 => session
                .request_head(id)
                .map_or(0, |head| head.body_length as u64),
            7 => session.write_target(id, 3, &mut buffer).unwrap_or(0) as u64,
            8 => session.write_body(id, 3, &mut buffer).unwrap_or(0) as u64,
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

fn step(elector: &mut Elector<'_>, source: &mut Source<'_>) -> u64 {
    let now = source.now();
    let id = RequestId::from_number(u32::from(source.byte()));
    match source.byte() {
        0 => elector.step_down(now, source.millis()),
        1 => elector.stop(now),
        2 => elector.stop_when_idle(now),
        3 => elector.work_done(now),
        4 => return u64::from(elector.handle_failure(now, id, Failure::Unknown).is_ok()),
        5 => return u64::from(elector.handle_failure(now, id, Failure::NotSent).is_ok()),
        6 => {
            let record = record(source);
            let response = Response {
                server_time: now.wall,
                retry_after: source.flag().then(|| source.millis()),
                reply: reply(source.byte(), &record),
            };
            return u64::from(elector.handle_response(now, id, response).is_ok());
        }
        _ => {
            return match elector.poll(now) {
                Output::WaitUntil(at) => at.as_millis(),
                Output::Request(request) => request.deadline.as_millis(),
                Output::Cancel(id) => u64::from(id.number()),
                Output::Event(event) => u64::from(matches!(
                    event,
                    kubelease_core::protocol::Event::StartedLeading { .. }
                )),
                Output::Done => 1,
            };
        }
    }
    0
}

pub fn record(source: &mut Source<'_>) -> LeaseRecord {
    let mut record = LeaseRecord {
        being_deleted: source.flag(),
        ..LeaseRecord::default()
    };
    let mut version = ResourceVersion::default();
    for _ in 0..source.byte() {
        let _ = version.push_byte(source.byte());
    }
    record.version.resource_version = version;
    if let Some(renew_time) = source.now().wall {
        record.spec = Some(RecordSpec::from(LeaseSpec {
            holder_identity: if source.flag() { "a" } else { "" },
            lease_duration_seconds: u32::from(source.byte()),
            acquire_time: source.now().wall,
            renew_time,
            lease_transitions: source.flag().then_some(u32::MAX),
        }));
    }
    record
}

pub fn reply(kind: u8, record: &LeaseRecord) -> Reply<'_> {
    match kind {
        0 => Reply::LeaseMissing,
        1 => Reply::NamespaceMissing,
        2 => Reply::ApiUnavailable,
        3 => Reply::Conflict,
        4 => Reply::BadRequest,
        5 => Reply::Unauthorized,
        6 => Reply::Forbidden,
        7 => Reply::NamespaceTerminating,
        8 => Reply::Invalid,
        9 => Reply::Throttled,
        10 => Reply::ServerError(500),
        11 => Reply::Refused(418),
        12 => Reply::BadAnswer(BadAnswer::Empty),
        13 => Reply::TooLarge,
        14 => Reply::WatchEnded,
        _ => Reply::Lease(record),
    }
}

fn questions(elector: &Elector<'_>, source: &mut Source<'_>) -> u64 {
    let at = Instant::from_millis(source.number());
    let token = elector.fence().and_then(|fence| fence.token()).unwrap_or(0);
    let report = elector.config().timing.report();
    u64::from(elector.is_leading(at))
        .wrapping_add(elector.leading_until().map_or(0, Instant::as_millis))
        .wrapping_add(
            elector
                .leader()
                .map_or(0, |name| u64::from(name.is_empty())),
        )
        .wrapping_add(elector.term())
        .wrapping_add(token)
        .wrapping_add(u64::from(report.tries))
        .wrapping_add(elector.health(at) as u64)
        .wrapping_add(u64::from(elector.in_flight().is_some()))
}
