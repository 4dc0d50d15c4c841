//! [`Node`]: one process, its elector, and what the world knows of it.

use kubelease_core::elector::{Elector, POLLS_MAX};
use kubelease_core::lease::LeaseRecord;
use kubelease_core::protocol::{Event, Failure, Output, Reply, RequestId, Response, StaleRequest};
use kubelease_core::time::{Instant, Now};

use super::bounds::{Bounds, Work};
use super::print;
use super::server::{Answer, Author, Wish};

/// One process.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) elector: Elector<'static>,
    pub(crate) author: Author,
    pub(crate) is_up: bool,
    /// It is not run, whatever the time.
    pub(crate) is_stalled: bool,
    /// The last request that was handed out.
    pub(crate) last: RequestId,
    /// When that was, if it was a write.
    wrote_at: Option<Instant>,
    /// When it wants to run next, by its own clock.
    wakes_at: Option<Instant>,
    /// Whether `StartedLeading` was taken last, and not `StoppedLeading`.
    started: bool,
    /// Work of a term that has ended may go on until here.
    ceases_at: Instant,
    /// Token of the term that leads.
    pub(crate) token: u64,
    /// A write of this term was applied and its answer is not known.
    pub(crate) lost_answer: bool,
    /// The last instant, and how many requests left in it.
    burst: (Instant, u8),
    print: u64,
}

/// Most requests of one instant, where each is answered in it: four rounds of a look and a write,
/// and as many again for what a stop or a step down begins.
const BURST_MAX: u8 = 16;

/// A request as it was handed out, or what was wrong.
pub(crate) type Settled = Result<Option<(RequestId, Wish)>, &'static str>;

impl Node {
    /// Life `life` of elector `who`, begun at `now_us` and not yet polled.
    pub(crate) fn new(bounds: &Bounds, who: usize, life: u8, now_us: u64) -> Self {
        let now = bounds.now(who, life, now_us);
        let elector = Elector::new(bounds.config(who), now).expect("the model's timing is valid");
        Self {
            print: print::of(&elector),
            elector,
            author: Author { who, life },
            is_up: true,
            is_stalled: false,
            last: RequestId::default(),
            wrote_at: None,
            wakes_at: Some(now.instant),
            started: false,
            ceases_at: Instant::default(),
            token: 0,
            lost_answer: false,
            burst: (now.instant, 0),
        }
    }

    fn now(&self, bounds: &Bounds, now_us: u64) -> Now {
        bounds.now(self.author.who, self.author.life, now_us)
    }

    /// Polls until there is nothing to do but wait: law L1 says that this ends.
    pub(crate) fn settle(&mut self, bounds: &Bounds, now_us: u64) -> Settled {
        let now = self.now(bounds, now_us);
        if now.instant > self.burst.0 {
            self.burst = (now.instant, 0);
        }
        let mut sent = None;
        for _ in 0..=POLLS_MAX {
            match self.elector.poll(now) {
                Output::Event(event) => self.take(event)?,
                Output::Cancel(_) => {}
                Output::Request(request) => {
                    if sent.is_some() {
                        return Err("a second request while one is in flight");
                    }
                    let wish = Wish::new(&request.operation, bounds.name(self.author.who));
                    let (id, deadline) = (request.id, request.deadline);
                    let end = self.elector.leading_until();
                    if end.is_some_and(|end| deadline > end) {
                        return Err("a deadline past the end of leadership");
                    }
                    let untold = self.started && end.is_none();
                    if untold && wish.is_write() {
                        return Err("a write before the end of leadership was told");
                    }
                    if wish.is_release() && now.instant < self.ceases_at {
                        return Err("a release before work has ceased");
                    }
                    self.burst.1 += 1;
                    if self.burst.1 > BURST_MAX {
                        return Err("requests without end in one instant");
                    }
                    self.last = id;
                    self.wrote_at = Some(now.instant).filter(|_| wish.is_write());
                    sent = Some((id, wish));
                }
                Output::WaitUntil(at) if at <= now.instant => {
                    return Err("a wait until an instant that has come");
                }
                Output::WaitUntil(at) => {
                    self.wakes_at = Some(at);
                    self.settled(now.instant);
                    return Ok(sent);
                }
                Output::Done => {
                    self.wakes_at = None;
                    self.settled(now.instant);
                    return Ok(sent);
                }
            }
        }
        Err("more polls than POLLS_MAX")
    }

    fn settled(&mut self, now: Instant) {
        if !self.elector.is_leading(now) {
            self.lost_answer = false;
            self.token = 0;
        }
        self.print = print::of(&self.elector);
    }

    fn take(&mut self, event: Event) -> Result<(), &'static str> {
        let starts = matches!(event, Event::StartedLeading { .. });
        if let Event::StoppedLeading { must_cease_by, .. } = event {
            self.ceases_at = must_cease_by;
        } else if !starts {
            return Ok(());
        }
        if self.started == starts {
            return Err("starts and stops that do not alternate");
        }
        self.started = starts;
        Ok(())
    }

    /// Gives it the answer to `id`; to be settled after. Says whether leadership began or went on
    /// by it, which laws L5 and L7 allow for few answers.
    pub(crate) fn answer(
        &mut self,
        bounds: &Bounds,
        now_us: u64,
        id: RequestId,
        answer: Answer,
    ) -> Result<bool, &'static str> {
        let record;
        let reply = match answer {
            Answer::Lease(stored) => {
                record = LeaseRecord::from(stored);
                Reply::Lease(&record)
            }
            Answer::Missing => Reply::LeaseMissing,
            Answer::Conflict => Reply::Conflict,
            Answer::GatewayTimeout => Reply::ServerError(504),
        };
        let now = self.now(bounds, now_us);
        let before = self.elector.leading_until();
        let pending = self.elector.in_flight();
        let is_live =
            pending.is_some_and(|request| request.id == id && now.instant < request.deadline);
        let taken = self.elector.handle_response(now, id, Response::new(reply));
        if taken.is_ok() != is_live {
            return Err("an answer that is dead was taken, or one that lives was not");
        }
        let end = self.elector.leading_until();
        if end <= before {
            return Ok(false);
        }
        let earned = self.earns_until(bounds).filter(|_| is_live);
        if end == earned {
            Ok(true)
        } else {
            Err("leadership that no write has earned")
        }
    }

    /// How long leadership lasts by the last request, if it is acknowledged.
    fn earns_until(&self, bounds: &Bounds) -> Option<Instant> {
        let deadline = bounds.config(self.author.who).timing.renew_deadline;
        self.wrote_at.map(|sent| sent.saturating_add(deadline))
    }

    /// Tells it that the connection of `id` broke.
    pub(crate) fn break_off(
        &mut self,
        bounds: &Bounds,
        now_us: u64,
        id: RequestId,
    ) -> Result<(), StaleRequest> {
        let now = self.now(bounds, now_us);
        self.elector.handle_failure(now, id, Failure::Unknown)
    }

    pub(crate) fn crash(&mut self) {
        self.is_up = false;
        self.is_stalled = false;
        self.started = false;
        self.wakes_at = None;
        self.ceases_at = Instant::default();
        self.token = 0;
        self.lost_answer = false;
        self.print = 0;
    }

    /// When it wants to run next, in true time.
    pub(crate) fn wakes_us(&self, bounds: &Bounds) -> Option<u64> {
        let wakes_at = self.wakes_at.filter(|_| self.is_up && !self.is_stalled)?;
        Some(bounds.true_us(self.author.who, wakes_at))
    }

    /// Whether it leads at this true time, whoever asks it or not.
    pub(crate) fn is_leading(&self, bounds: &Bounds, now_us: u64) -> bool {
        let now = self.now(bounds, now_us).instant;
        self.is_up && self.elector.is_leading(now)
    }

    /// Whether its work may go on at this true time: while it leads and, where it was the deadline
    /// that ended a term, for as long as that term's grace.
    pub(crate) fn may_work(&self, bounds: &Bounds, now_us: u64) -> bool {
        let is_leading = self.is_leading(bounds, now_us);
        if !self.is_up || bounds.work == Work::EndsAtOnce {
            return is_leading;
        }
        let grace = self.elector.config().timing.report().grace;
        let unpolled = self.elector.leading_until();
        let ends_at = unpolled.map_or(self.ceases_at, |end| end.saturating_add(grace));
        is_leading || self.now(bounds, now_us).instant < ends_at
    }

    /// Whether it has ended for good.
    pub(crate) const fn is_done(&self) -> bool {
        self.is_up && self.wakes_at.is_none()
    }

    /// What tells it apart from another state of the same process.
    pub(crate) fn key(&self) -> impl core::hash::Hash + PartialEq + use<> {
        let flags = [self.is_up, self.is_stalled, self.started, self.lost_answer];
        let times = (self.wakes_at, self.ceases_at);
        (self.author, flags, times, self.token, self.print)
    }
}
