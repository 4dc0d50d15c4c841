//! What follows from an answer, and from none.

use super::decide;
use super::observe::Lesson;
use super::standing::{Criteria, Standing};
use super::state::Written;
use super::{Create, Elector, Next, Sent, State, StopReason};
use crate::inflight::Pending;
use crate::lease::{LeaseRecord, RecordSpec, Version};
use crate::protocol::{
    BadAnswer, Failure, Finish, Reply, RequestId, Response, StaleRequest, TroubleKind, Verb,
};
use crate::time::Duration;
use crate::timestamp::Timestamp;

/// Conflicts in a row that are followed up at once; more wait for the retry period.
const QUICK_ROUNDS_MAX: u8 = 3;

/// Shortest pause of a candidate after a 403, which a server that just started gives to everybody.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(1);

impl Elector<'_> {
    /// Takes the answer to request `id`. A call of its own, so that it does not lie on the stack
    /// while time is brought up to date.
    #[inline(never)]
    pub(super) fn answered(
        &mut self,
        id: RequestId,
        response: &Response<'_>,
    ) -> Result<(), StaleRequest> {
        // By `?` it would lie on the stack twice, once with the error beside it.
        let pending = &self.slot.finish(id);
        let Ok(pending) = pending else {
            return Err(StaleRequest);
        };
        self.contact.answered();
        let (verb, is_write) = (verb_of(&pending.kind), pending.kind.is_write());
        let is_watch = verb == Verb::Watch;
        if let Some(date) = response.server_time {
            self.renewals.learn_date(date, self.now());
        }
        match response.reply {
            Reply::Lease(_) if is_watch => self.unreadable(BadAnswer::NotALease, verb, false),
            Reply::Lease(record) if is_write => self.was_written(pending, record),
            Reply::Lease(record) => self.was_read(record, response.server_time, verb),
            Reply::LeaseMissing if is_watch => self.refused(TroubleKind::ApiUnavailable, verb),
            Reply::LeaseMissing => self.was_missing(verb),
            Reply::Conflict => self.conflicted(is_write),
            Reply::Unauthorized => self.unauthorized(),
            Reply::Throttled => self.throttled(response.retry_after),
            Reply::ServerError(_) | Reply::WatchEnded => {
                self.lost(is_write, response.retry_after);
            }
            Reply::BadAnswer(bad) => self.unreadable(bad, verb, is_write),
            // No elector asks for that.
            Reply::Node(_) | Reply::Deleted => self.unreadable(BadAnswer::NotALease, verb, true),
            Reply::Forbidden => self.was_forbidden(verb),
            Reply::NamespaceMissing => self.refused(TroubleKind::NamespaceMissing, verb),
            Reply::ApiUnavailable => self.refused(TroubleKind::ApiUnavailable, verb),
            Reply::BadRequest => self.refused(TroubleKind::BadRequest, verb),
            Reply::NamespaceTerminating => self.refused(TroubleKind::NamespaceTerminating, verb),
            Reply::Invalid => self.refused(TroubleKind::Invalid, verb),
            Reply::Refused(status) => self.refused(TroubleKind::Refused(status), verb),
            Reply::TooLarge => self.refused(TroubleKind::TooLarge, verb),
        }
        if let (true, Some(hooks)) = (is_watch, self.watching.hooks) {
            (hooks.ended)(self, response.retry_after);
        }
        Ok(())
    }

    /// Takes the news that `pending` has no answer.
    pub(super) fn unanswered(&mut self, pending: &Pending<Sent>, failure: Failure) {
        self.notices.reconnect |= self.contact.note_failure();
        let may_be_done = match failure {
            Failure::NotSent => false,
            Failure::Unknown | Failure::TimedOut => pending.kind.is_write(),
        };
        self.lost(may_be_done, None);
        if let (Sent::Watch { .. }, Some(hooks)) = (pending.kind, self.watching.hooks) {
            (hooks.ended)(self, None);
        }
    }

    /// A GET answered a record, or a watch told of one.
    pub(super) fn was_read(
        &mut self,
        record: &LeaseRecord,
        server_time: Option<Timestamp>,
        verb: Verb,
    ) {
        if record.version.resource_version.is_empty() {
            self.unreadable(BadAnswer::NoVersion, verb, false);
            return;
        }
        self.contact.good(verb, self.now());
        let lesson = self.learn(record, server_time);
        self.looked(lesson);
    }

    /// What a record teaches. A call of its own, so that it does not lie on the stack while what
    /// follows is done.
    #[inline(never)]
    fn learn(&mut self, record: &LeaseRecord, server_time: Option<Timestamp>) -> Lesson {
        let criteria = Criteria {
            identity: self.config.identity,
            own_is_foreign: self.config.treat_own_as_foreign,
            own_duration: self.config.timing.lease_duration,
            max_skew: self.config.trust_renew_time,
            server_time,
        };
        let lesson = self.observed.read(record, self.now(), criteria);
        self.learn_times(record.spec.as_ref());
        self.tell_deletion(record.being_deleted);
        lesson
    }

    /// The times of a record, for those that we write.
    fn learn_times(&mut self, spec: Option<&RecordSpec>) {
        let renew_time = spec.and_then(|spec| spec.renew_time.timestamp());
        self.renewals.count_from(renew_time, self.now());
        if let Some(renew_time) = renew_time.filter(|_| self.names_me()) {
            self.renewals.learn_own(renew_time, self.now());
        }
    }

    fn names_me(&self) -> bool {
        let record = self.observed.record();
        record.is_some_and(|record| record.holder.matches(self.config.identity))
    }

    fn tell_deletion(&mut self, being_deleted: bool) {
        self.notices.being_deleted |= being_deleted && !self.deletion_told;
        self.deletion_told = being_deleted;
    }

    /// There is no lease: by a GET, by a write that had a condition on it, or by a watch.
    #[inline(never)]
    pub(super) fn was_missing(&mut self, verb: Verb) {
        if verb == Verb::Create {
            self.refused(TroubleKind::ApiUnavailable, Verb::Create);
            return;
        }
        let now = self.now();
        if self.config.create == Create::Never {
            self.contact.seen(now);
            self.trouble(TroubleKind::LeaseMissing, Verb::Get);
        } else {
            self.contact.good(verb, now);
        }
        self.renewals.count_from(None, now);
        self.deletion_told = false;
        let lesson = self
            .observed
            .missing(now, self.config.timing.lease_duration);
        self.looked(lesson);
    }

    /// The state of the lease is known: what follows.
    fn looked(&mut self, lesson: Lesson) {
        self.notices.leader_changed |= lesson.leader_changed;
        self.notices.collision |= lesson.collision;
        self.notices.went_back |= lesson.went_back;
        match self.state {
            State::Releasing(release) => self.read_before_release(release),
            State::Resting { .. } => {
                self.attempt.next = Next::Due(self.candidate_pace());
                self.wish_to_watch();
            }
            State::Ended { .. } => {}
            State::Contending | State::Finishing => {
                if !self.belief.is_leading() {
                    self.looked_as_candidate();
                } else if matches!(self.observed.standing(), Some(Standing::Mine) | None) {
                    self.looked_as_leader();
                } else {
                    self.end_term(StopReason::Lost, self.now());
                    self.looked_as_candidate();
                }
            }
        }
    }

    /// The record is still mine, which extends nothing, or gone: write at once.
    fn looked_as_leader(&mut self) {
        let gone = self.observed.record().is_none();
        if gone && self.config.create == Create::Never {
            self.attempt.next = Next::Retry(self.pace(Duration::ZERO));
        } else {
            self.attempt.next = Next::FollowUp;
        }
    }

    fn looked_as_candidate(&mut self) {
        if matches!(self.state, State::Ended { .. }) {
            return;
        }
        let takeover_at = decide::takeover_at(&self.observed, self.config.create);
        if takeover_at.is_some_and(|at| self.now() >= at) {
            self.attempt.next = Next::FollowUp;
        } else {
            self.backoff.reset();
            self.attempt.next = Next::Due(self.candidate_pace());
            self.wish_to_watch();
        }
    }

    /// The lease is known, and nothing is to be done about it yet.
    fn wish_to_watch(&mut self) {
        if let Some(hooks) = self.watching.hooks {
            (hooks.looked)(self);
        }
    }

    /// A write was answered by a record: by its own, or it proves nothing.
    #[inline(never)]
    fn was_written(&mut self, pending: &Pending<Sent>, record: &LeaseRecord) {
        let Some(written) = pending.kind.written() else {
            return;
        };
        let verb = verb_of(&pending.kind);
        let holder = self.holder_of(&pending.kind);
        if !self.is_acknowledged(&pending.kind, holder, written, record) {
            self.unreadable(BadAnswer::NotMyWrite, verb, true);
            return;
        }
        let now = self.now();
        self.contact.good(verb, now);
        self.backoff.reset();
        self.tell_deletion(record.being_deleted);
        self.observed.wrote(record, holder, written, now);
        // A change of state cancels whatever write it leaves no room for.
        match pending.kind {
            Sent::Get | Sent::Watch { .. } => return,
            Sent::Release(_) => {
                if let State::Releasing(release) = self.state {
                    self.released(release.then, Finish::Released);
                }
                return;
            }
            Sent::Create(_) if self.belief.is_leading() => {
                self.notices.recreated = true;
                self.set_fence(&record.version, written);
                self.extend(pending.sent);
            }
            Sent::Create(_) | Sent::Acquire(_) => {
                debug_assert!(matches!(self.state, State::Contending));
                self.set_fence(&record.version, written);
                self.begin_term(pending.sent);
            }
            Sent::Renew(_) => self.extend(pending.sent),
        }
        let period = self.config.timing.retry_period;
        self.attempt.next = Next::Due(self.attempt.started.saturating_add(period));
    }

    /// The law of truth: another version than the write carried, and where a spec came back, my
    /// holder and my renewTime.
    fn is_acknowledged(
        &self,
        kind: &Sent,
        holder: &str,
        written: Written,
        record: &LeaseRecord,
    ) -> bool {
        let carried = match kind {
            Sent::Get | Sent::Watch { .. } | Sent::Create(_) => None,
            Sent::Acquire(_) | Sent::Renew(_) | Sent::Release(_) => self.observed.record(),
        };
        let moved = carried
            .is_none_or(|old| old.version.resource_version != record.version.resource_version);
        let mine = record.spec.as_ref().is_none_or(|spec| {
            spec.holder.matches(holder) && spec.renew_time.timestamp() == Some(written.renew_time)
        });
        moved && mine && !record.version.resource_version.is_empty()
    }

    /// The token is that of the write which produced `version`.
    fn set_fence(&mut self, version: &Version, written: Written) {
        self.fence.lease_uid.copy_from(&version.uid);
        self.fence.transitions = written.transitions;
        self.fence
            .acquired_version
            .copy_from(&version.resource_version);
    }

    /// 409: what is held is out of date.
    fn conflicted(&mut self, write: bool) {
        if !write {
            self.retry(None);
            return;
        }
        self.observed.must_read = true;
        if !self.another_round(false) {
            return;
        }
        if self.attempt.quick_rounds < QUICK_ROUNDS_MAX {
            self.attempt.quick_rounds = self.attempt.quick_rounds.saturating_add(1);
            self.attempt.next = Next::FollowUp;
        } else {
            self.retry(None);
        }
    }

    /// 401: one more try at once, for which the caller reads its credentials again.
    fn unauthorized(&mut self) {
        if self.attempt.reauthorized {
            self.retry_refused(Duration::ZERO);
        } else {
            self.attempt.reauthorized = true;
            self.notices.credentials = true;
            self.attempt.next = Next::FollowUp;
        }
    }

    /// 429: nothing was done.
    fn throttled(&mut self, retry_after: Option<Duration>) {
        if retry_after.is_some() {
            self.retry(retry_after);
        } else {
            self.retry_refused(Duration::ZERO);
        }
    }

    fn unreadable(&mut self, bad: BadAnswer, verb: Verb, write: bool) {
        self.trouble(TroubleKind::BadAnswer(bad), verb);
        self.lost(write, None);
    }

    /// 403: perhaps from a server that has not loaded its rules yet.
    fn was_forbidden(&mut self, verb: Verb) {
        let now = self.now();
        if self.contact.note_forbidden(verb, now) {
            self.trouble(TroubleKind::Forbidden, verb);
        }
        self.observed.must_read = true;
        self.retry_refused(FORBIDDEN_PAUSE);
    }

    /// Any other answer that says that nothing was done, and that a try at once is useless.
    fn refused(&mut self, kind: TroubleKind, verb: Verb) {
        self.trouble(kind, verb);
        self.observed.must_read = true;
        self.retry_refused(Duration::ZERO);
    }

    pub(super) fn trouble(&mut self, kind: TroubleKind, verb: Verb) {
        if self.contact.note_trouble(kind, verb) {
            self.notices.trouble = Some((kind, verb));
        }
    }

    /// There is no answer that says what happened: a write may have been done, so look before the
    /// next.
    fn lost(&mut self, write: bool, retry_after: Option<Duration>) {
        if write {
            self.observed.doubt();
            if !self.another_round(true) {
                return;
            }
        }
        self.retry(retry_after);
    }
}

const fn verb_of(kind: &Sent) -> Verb {
    match kind {
        Sent::Get => Verb::Get,
        Sent::Watch { .. } => Verb::Watch,
        Sent::Create(_) => Verb::Create,
        Sent::Acquire(_) | Sent::Renew(_) | Sent::Release(_) => Verb::Update,
    }
}
