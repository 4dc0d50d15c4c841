//! [`Host`]: one heart on one host, driven by the letter of its contract.

use std::collections::VecDeque;

use kubelease_core::heartbeat::Heartbeat;
use kubelease_core::lease::{OwnerState, Owners};
use kubelease_core::protocol::{Reply, RequestId};
use kubelease_core::time::{Duration, Instant, Now};

use super::plan::Seat;
use crate::heart::HeartDriver;
use crate::heart::book::HeartBook;
use crate::heart::life::Kind;
use crate::heart::server::HeartAnswer;
use crate::seen::{Sent, WriteKind};
use crate::sim::clock::Clock;
use crate::sim::random::Random;
use crate::store::Answer;

/// Most requests within a second: two rounds with all their tries, reads and looks.
const BURST_MAX: usize = 30;

/// The first pause after a failure with its jitter, and what clocks of two processors differ by.
const FIRST_PAUSE: Duration = Duration::from_millis(200 + 8 + 5);

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) kind: Kind,
    pub(super) place: usize,
    pub(super) clock: Clock,
    pub(super) driver: Option<HeartDriver>,
    /// How many processes lived here before.
    pub(super) life: u32,
    pub(super) wake_us: u64,
    /// It stands still until here.
    pub(super) asleep_until_us: u64,
    /// The host does not say that it is alive until here.
    pub(super) silent_until_us: u64,
    /// Whether the host has to post that its Node is ready.
    pub(super) wants_post: bool,
    pub(super) is_retired: bool,
    pub(super) random: Random,
    pub(super) requests: u64,
    /// When requests left, by its own clock.
    left: VecDeque<Instant>,
    last_id: Option<RequestId>,
    last_beat: Option<Instant>,
    /// The slots of its schedule, by its own clock.
    pub(super) slots: Vec<Instant>,
    /// Whether anything went wrong since the last beat that pauses grow by.
    is_strained: bool,
    /// The server asked to be left alone until here.
    quiet_until: Option<Instant>,
    late_us: u64,
}

impl Host {
    pub(super) fn new(seat: &Seat, seed: u64) -> Self {
        Self {
            kind: seat.kind,
            place: seat.place,
            clock: seat.clock.clone(),
            driver: None,
            life: 0,
            wake_us: u64::MAX,
            asleep_until_us: 0,
            silent_until_us: 0,
            wants_post: false,
            is_retired: false,
            random: Random::of(&[seed, 0x686f_7374]),
            requests: 0,
            left: VecDeque::new(),
            last_id: None,
            last_beat: None,
            slots: Vec::new(),
            is_strained: false,
            quiet_until: None,
            late_us: seat.late_us,
        }
    }

    /// A new process starts here.
    pub(super) fn start(&mut self, at_us: u64) {
        let now = self.clock.now(at_us);
        let (config, mut identity) = self.kind;
        identity.seed = self.random.next_u64();
        let machine = Heartbeat::new(config, identity, now).expect("plans are valid");
        let book = HeartBook::new(config, identity, now.instant);
        self.driver = Some(HeartDriver::with(machine, book));
        self.wake_us = at_us;
        self.is_retired = false;
        self.is_strained = false;
        self.quiet_until = None;
        self.last_beat = None;
        self.last_id = None;
        self.left.clear();
    }

    /// The process is gone, if there was one.
    pub(super) fn kill(&mut self) {
        self.driver = None;
        self.life += 1;
        self.wake_us = u64::MAX;
        self.asleep_until_us = 0;
        self.wants_post = false;
    }

    /// When it is to be polled: not while it stands still.
    pub(super) fn due_us(&self) -> u64 {
        self.wake_us.max(self.asleep_until_us)
    }

    /// The driver, which is told the time; that of an answer is taken on another processor.
    pub(super) fn at(&mut self, at_us: u64, is_answer: bool) -> Option<&mut HeartDriver> {
        let noise = if is_answer { self.random.below(4) } else { 0 };
        let Now { instant, wall } = self.clock.now(at_us);
        let driver = self.driver.as_mut()?;
        driver.set_instant(instant.saturating_sub(Duration::from_millis(noise)));
        driver.set_wall(wall);
        Some(driver)
    }

    /// Polls until there is nothing left to do: what was said, and a request that left.
    pub(super) fn poll(&mut self, at_us: u64) -> (Vec<String>, Option<Sent>) {
        let Some(driver) = self.at(at_us, false) else {
            return (Vec::new(), None);
        };
        let said = driver.settle();
        let sent = driver.flight_if_any().cloned();
        let (until, last_beat) = (driver.waits_until(), driver.machine().last_beat());
        let slot = driver.machine().quiet_until();
        if sent.is_none() && self.slots.last() != Some(&slot) {
            self.slots.push(slot);
        }
        let late_us = self.random.below(self.late_us + 1);
        self.wake_us = until.map_or(u64::MAX, |until| {
            let due_us = self.clock.reaches_us(until).max(at_us);
            due_us.saturating_add(late_us)
        });
        // A deadline that has passed is a failure that nobody told of.
        self.is_strained |= said.iter().any(|text| text == "Cancel");
        if last_beat != self.last_beat {
            self.last_beat = last_beat;
            self.is_strained = false;
        }
        let sent = sent.filter(|sent| self.last_id != Some(sent.id));
        if let Some(sent) = &sent {
            self.last_id = Some(sent.id);
            self.count(at_us);
        }
        (said, sent)
    }

    /// No storms.
    fn count(&mut self, at_us: u64) {
        let now = self.clock.instant(at_us);
        // The end of a heart, and of its silence, does not wait.
        let may_hurry = self.is_retired || self.kind.0.liveness_ttl.is_some();
        if let Some(until) = self.quiet_until.take() {
            assert!(may_hurry || now >= until, "no rest until {until:?}");
        }
        self.requests += 1;
        self.left.push_back(now);
        let interval = self.kind.0.interval.as_millis();
        let rounds = usize::try_from(60_000 / interval).unwrap_or(usize::MAX);
        let minute = 90 + rounds.saturating_mul(14);
        let since = |span_ms| now.saturating_sub(Duration::from_millis(span_ms));
        self.left.retain(|left| *left >= since(60_000));
        let burst = self.left.iter().filter(|left| **left >= since(1_000));
        assert!(burst.count() <= BURST_MAX, "a storm of requests");
        assert!(self.left.len() <= minute, "requests without end");
    }

    /// The owner as this process sees it: the uid in the lease against the one that it knows.
    pub(super) fn with_owners(
        &self,
        mut answer: HeartAnswer,
        owner: Option<&str>,
        has_others: bool,
    ) -> HeartAnswer {
        let known = self
            .driver
            .as_ref()
            .and_then(|driver| driver.machine().node_uid());
        let node = match owner {
            None => OwnerState::Absent,
            Some(owner) if known == Some(owner) => OwnerState::Current,
            Some(_) => OwnerState::Stale,
        };
        if let HeartAnswer::Lease(Answer::Lease(record)) = &mut answer {
            record.owners = Owners { node, has_others };
        }
        answer
    }

    /// Its monotonic clock starts anew.
    pub(super) fn forget_times(&mut self) {
        self.left.clear();
        self.last_beat = None;
        self.quiet_until = None;
    }

    /// Hands an answer over, and checks how long the pause is that follows the first failure.
    pub(super) fn answer(&mut self, at_us: u64, id: RequestId, answer: &HeartAnswer) -> bool {
        let was_strained = self.is_strained;
        let Some(driver) = self.at(at_us, true) else {
            return false;
        };
        let Some(sent) = driver.flight_if_any().filter(|sent| sent.id == id).cloned() else {
            return false;
        };
        crate::store::Give::give(answer, driver, &sent);
        if driver.flight_if_any().is_some() {
            // It came at the deadline or later, and was refused.
            return false;
        }
        self.quiet_until = rest(&sent, answer).map(|rest| {
            // The clock of the answer may be behind.
            let now = self.clock.instant(at_us);
            now.saturating_add(rest)
                .saturating_sub(Duration::from_millis(5))
        });
        let strain = strain(&sent, answer);
        self.is_strained |= strain != Strain::Nothing;
        !was_strained && strain == Strain::Lost && !self.is_retired
    }

    /// Where the first failure since a beat was just heard of: the try after it comes soon.
    pub(super) fn must_try_soon(&self, at_us: u64) {
        let Some(driver) = &self.driver else { return };
        let Some(until) = driver.waits_until() else {
            return;
        };
        let pause = until.saturating_since(self.clock.instant(at_us));
        assert!(
            driver.flight_if_any().is_some() || pause <= FIRST_PAUSE,
            "a pause of {pause:?} after the first failure"
        );
    }
}

/// What an answer does to the pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strain {
    /// They stay as they are.
    Nothing,
    /// The try after it follows the first, short pause.
    Lost,
    /// They grow.
    Grows,
}

/// How long the server asked to be left alone, at most a minute. Beats do not wait for the Node.
fn rest(sent: &Sent, answer: &HeartAnswer) -> Option<Duration> {
    let HeartAnswer::Lease(Answer::Reply(response)) = answer else {
        return None;
    };
    let asks = matches!(response.reply, Reply::Throttled | Reply::ServerError(_));
    let rest = response.retry_after.filter(|_| asks && sent.node.is_none());
    rest.map(|rest| rest.min(Duration::from_secs(60)))
}

fn strain(sent: &Sent, answer: &HeartAnswer) -> Strain {
    let is_beat = matches!(
        sent.write.as_ref().map(|write| &write.kind),
        Some(WriteKind::Update { .. })
    );
    let HeartAnswer::Lease(answer) = answer else {
        return Strain::Nothing;
    };
    let is_lost = match answer {
        Answer::Lease(_) if sent.write.is_none() => return Strain::Nothing,
        // An acknowledged beat ends all strain.
        Answer::Lease(_) | Answer::Nothing => return Strain::Grows,
        Answer::Failure(_) => true,
        Answer::Reply(response) => match response.reply {
            // A read can't conflict with anything.
            Reply::Conflict if sent.write.is_none() => return Strain::Grows,
            Reply::Conflict | Reply::LeaseMissing | Reply::Deleted => return Strain::Nothing,
            Reply::ServerError(_) => response.retry_after.is_none(),
            _ => false,
        },
    };
    let is_plain = sent.node.is_none() && sent.deletes.is_none();
    match (is_lost, is_beat) {
        (true, true) => Strain::Nothing,
        (true, false) if is_plain => Strain::Lost,
        (true | false, _) => Strain::Grows,
    }
}
