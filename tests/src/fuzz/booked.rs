//! A heart inside a session, with the book of all that passes between the two.

use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::NodeRef;
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{Failure, Output, Request, RequestId, Response, StaleRequest};
use kubelease_core::time::Now;

use crate::driven::Ledger;
use crate::heart::Heart;
use crate::heart::book::HeartBook;
use crate::laws;
use crate::seen::{Seen, Sent};

/// The heart, and what was seen of it.
#[derive(Clone, Debug)]
pub(super) struct Booked {
    pub(super) heart: Heart,
    book: HeartBook,
    /// The place reached in the order of law L4.
    rank: u8,
    /// Ids that were used.
    pub(super) old: Vec<RequestId>,
}

impl Booked {
    pub(super) fn new(
        config: HeartbeatConfig,
        identity: HeartbeatIdentity<&'static str>,
        now: Now,
    ) -> Self {
        Self {
            heart: Heartbeat::new(config, identity, now).expect("a valid config"),
            book: HeartBook::new(config, identity, now.instant),
            rank: 0,
            old: Vec::new(),
        }
    }

    /// The request in flight.
    pub(super) fn sent(&self) -> Option<&Sent> {
        Ledger::<Heart>::flight(&self.book).map(|flight| &flight.sent)
    }

    pub(super) fn alive(&mut self, now: Now) {
        self.begin_turn(now);
        self.heart.alive(now);
        self.book.alive(now.instant);
    }

    pub(super) fn retire(&mut self, now: Now, how: Retire) {
        self.begin_turn(now);
        self.heart.retire(now, how);
        self.book.retire(how);
    }

    /// All laws of a heart that has nothing to do, as `last` says.
    pub(super) fn check(&mut self, last: &Seen, now: Now) {
        self.book.settled(&self.heart, last, now);
        self.rank = 0;
    }

    fn begin_turn(&mut self, now: Now) {
        Ledger::<Heart>::pass_time(&mut self.book, now.instant);
        self.rank = 0;
    }

    /// Whether an answer to `id` has to be taken; `None` where the clock was just set back.
    fn may_live(&mut self, now: Now, id: RequestId) -> Option<bool> {
        let largest = Ledger::<Heart>::largest(&self.book);
        self.begin_turn(now);
        let latest = Ledger::<Heart>::largest(&self.book);
        let flight = Ledger::<Heart>::flight(&self.book);
        let wanted = self.heart.in_flight().is_some_and(|it| it.id == id);
        let is_live = wanted && flight.is_some_and(|it| latest < it.sent.deadline);
        (latest >= largest).then_some(is_live)
    }

    fn after_answer(&mut self, live: Option<bool>, taken: bool) {
        assert!(live.is_none_or(|live| live == taken), "L5: {live:?}");
        if taken && live.is_none() {
            Ledger::<Heart>::was_reset(&mut self.book);
        }
    }
}

impl Machine for Booked {
    const USES_NODES: bool = true;

    fn owner(&self) -> Option<NodeRef<'_>> {
        self.heart.owner()
    }

    fn poll(&mut self, now: Now) -> Output<'_> {
        Ledger::<Heart>::pass_time(&mut self.book, now.instant);
        let output = self.heart.poll(now);
        let seen = match &output {
            Output::Event(event) => Seen::Event(*event),
            Output::Cancel(id) => Seen::Cancel(*id),
            Output::Request(request) => Seen::Request(Sent::from(*request)),
            Output::WaitUntil(at) => Seen::Wait(*at),
            Output::Done => Seen::Done,
        };
        if let Seen::Request(sent) = &seen {
            self.old.push(sent.id);
        }
        self.rank = laws::order(self.rank, &seen);
        self.book.output(&seen, now);
        output
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let live = self.may_live(now, id);
        let result = self.heart.handle_response(now, id, response);
        if result.is_ok() {
            Ledger::<Heart>::answer(&mut self.book, response.reply);
        }
        self.after_answer(live, result.is_ok());
        result
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        let live = self.may_live(now, id);
        let result = self.heart.handle_failure(now, id, failure);
        if result.is_ok() {
            Ledger::<Heart>::close(&mut self.book);
        }
        self.after_answer(live, result.is_ok());
        result
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.heart.in_flight()
    }
}
