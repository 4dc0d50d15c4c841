//! What follows from an answer, and from none.

use core::borrow::Borrow;

use super::state::{Sent, Standing, State};
use super::{Heartbeat, HeartbeatConfig};
use crate::inflight::Pending;
use crate::lease::{LeaseRecord, OwnerState};
use crate::protocol::{BadAnswer, Failure, Finish, Reply, Response, TroubleKind, Verb};
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

impl<C: Borrow<HeartbeatConfig>, S: AsRef<str>> Heartbeat<C, S> {
    /// Takes the answer to `pending`.
    pub(super) fn answered(&mut self, pending: &Pending<Sent>, response: Response<'_>) {
        let kind = &pending.kind;
        let after = response.retry_after;
        if !matches!(response.reply, Reply::ServerError(_)) {
            self.contact.answered();
        }
        match (response.reply, kind) {
            (Reply::Lease(record), Sent::Get) => self.was_read(record),
            (Reply::Lease(record), Sent::Create(time)) => {
                self.was_written(pending, *time, record);
            }
            (Reply::Lease(record), Sent::Beat(beat)) => {
                self.was_written(pending, beat.renew_time, record);
            }
            (Reply::Node(node), Sent::Node) => self.was_looked_at(node),
            (Reply::Deleted, Sent::Delete) => self.end(Finish::Deleted),
            (Reply::Lease(_) | Reply::Node(_) | Reply::Deleted, _) => {
                self.unreadable(kind, BadAnswer::NotALease);
            }
            (Reply::LeaseMissing, _) => self.was_missing(kind),
            (Reply::Conflict, _) => self.conflicted(kind),
            (Reply::Unauthorized, _) => self.unauthorized(kind),
            (Reply::Throttled, _) => self.throttled(kind, after),
            (Reply::ServerError(_), _) => {
                self.notices.reconnect |= self.contact.note_failure();
                self.lost(kind, pending.sent, true, after);
            }
            (Reply::BadAnswer(bad), _) => self.unreadable(kind, bad),
            (Reply::Forbidden, _) => {
                if self.contact.note_forbidden(kind.verb(), self.now()) {
                    self.trouble(TroubleKind::Forbidden, kind.verb());
                }
                self.put_off(kind, None);
            }
            (Reply::NamespaceMissing, _) => self.refused(kind, TroubleKind::NamespaceMissing),
            (Reply::ApiUnavailable, _) => self.refused(kind, TroubleKind::ApiUnavailable),
            (Reply::BadRequest, _) => self.refused(kind, TroubleKind::BadRequest),
            (Reply::NamespaceTerminating, _) => {
                self.refused(kind, TroubleKind::NamespaceTerminating);
            }
            (Reply::Invalid, _) => self.refused(kind, TroubleKind::Invalid),
            (Reply::Refused(status), _) => self.refused(kind, TroubleKind::Refused(status)),
            // No heart watches.
            (Reply::WatchEnded, _) => self.unreadable(kind, BadAnswer::NotALease),
            (Reply::TooLarge, _) => self.refused(kind, TroubleKind::TooLarge),
        }
    }

    /// Takes the news that a request has no answer.
    pub(super) fn unanswered(&mut self, kind: &Sent, failure: Failure) {
        self.notices.reconnect |= self.contact.note_failure();
        let may_be_done = match failure {
            Failure::NotSent => false,
            Failure::Unknown | Failure::TimedOut => true,
        };
        self.lost(kind, self.now(), may_be_done, None);
    }

    /// A GET answered a record.
    fn was_read(&mut self, record: &LeaseRecord) {
        if record.version.resource_version.is_empty() {
            self.unreadable(&Sent::Get, BadAnswer::NoVersion);
            return;
        }
        self.contact.good(Verb::Get, self.now());
        self.learn(record);
        let is_mine = self.known.standing == Standing::Mine;
        match self.state {
            State::Retiring(retiring)
                if !is_mine && (retiring.deletes || self.is_held_by_another()) =>
            {
                self.is_gone(retiring);
            }
            State::Retiring(retiring) if !retiring.deletes && self.lacks_owner() => {
                self.give_up(retiring);
            }
            State::Beating if self.is_held_by_another() => {
                self.pace.is_well();
                self.trouble(TroubleKind::HeldByAnother, Verb::Update);
                self.end_round(self.now());
            }
            State::Retiring(_) | State::Beating | State::Ended { .. } => self.follow_up(),
        }
    }

    /// Takes over what a record says.
    fn learn(&mut self, record: &LeaseRecord) {
        let now = self.now();
        let own_s = self.rules().lease_duration_seconds();
        let was_owned = self.known.owners.node == OwnerState::Current;
        // Who wrote another uid may know of a newer Node.
        self.uid_is_fresh &= !was_owned || record.owners.node != OwnerState::Stale;
        self.known.saw(record, self.holder.as_ref(), own_s, now);
        let renewed = record.spec.as_ref().map(|spec| spec.renew_time.timestamp());
        if let Some(renewed) = renewed.flatten() {
            self.times.learn(renewed, now);
        }
        self.notices.being_deleted |= record.being_deleted && !self.known.deletion_told;
        self.known.deletion_told = record.being_deleted;
    }

    /// 404 of the object itself.
    fn was_missing(&mut self, kind: &Sent) {
        match (kind, self.state) {
            (Sent::Node, _) => self.node_is_missing(),
            (Sent::Create(_), _) => self.refused(kind, TroubleKind::ApiUnavailable),
            (Sent::Delete, State::Retiring(retiring)) => self.is_gone(retiring),
            (Sent::Get | Sent::Beat(_) | Sent::Delete, state) => {
                let now = self.now();
                self.contact.good(kind.verb(), now);
                self.known.missed(now);
                // The Node may have been registered anew, and the lease gone with the old one.
                self.uid_is_fresh &= !self.known.was_there;
                if let State::Retiring(retiring) = state {
                    self.is_gone(retiring);
                } else if self.is_held_by_another() {
                    self.end_round(now);
                } else {
                    self.follow_up();
                }
            }
        }
    }

    /// A write was answered by a record: by its own, or it proves nothing.
    fn was_written(&mut self, pending: &Pending<Sent>, time: Timestamp, record: &LeaseRecord) {
        let creates = matches!(pending.kind, Sent::Create(_));
        let version = &record.version.resource_version;
        let moved = creates || *version != self.known.version.resource_version;
        let mine = record.spec.as_ref().is_none_or(|spec| {
            spec.holder.matches(self.holder.as_ref()) && spec.renew_time.timestamp() == Some(time)
        });
        if !moved || !mine || version.is_empty() {
            self.unreadable(&pending.kind, BadAnswer::NotMyWrite);
            return;
        }
        self.contact.good(pending.kind.verb(), self.now());
        self.pace.is_well();
        self.notices.recreated |= creates && self.known.was_there;
        self.learn(record);
        self.known.standing = Standing::Mine;
        self.must_look = self.wants_look(pending.sent);
        self.count_down_to_look();
        self.has_beaten = true;
        self.last_beat = pending.sent;
        match self.state {
            State::Beating if self.must_look => self.follow_up(),
            State::Beating => self.end_round(pending.sent),
            State::Retiring(_) => self.end(Finish::Kept),
            State::Ended { .. } => {}
        }
    }

    /// 409: what is held is out of date. It was no failure of the server's, and costs a try.
    fn conflicted(&mut self, kind: &Sent) {
        match kind {
            Sent::Get => self.pause(None),
            Sent::Node => self.look_was_refused(None),
            Sent::Delete => {
                self.another_round(false);
                self.follow_up();
            }
            Sent::Create(_) | Sent::Beat(_) => {
                self.known.must_read = true;
                self.try_again(self.now());
            }
        }
    }

    /// 401: one more try at once, for which the caller reads its credentials again.
    fn unauthorized(&mut self, kind: &Sent) {
        self.notices.credentials |= !self.pace.is_reauthorized;
        if core::mem::replace(&mut self.pace.is_reauthorized, true) {
            self.put_off(kind, None);
        } else {
            self.follow_up();
        }
    }

    /// 429: nothing was done.
    fn throttled(&mut self, kind: &Sent, after: Option<Duration>) {
        match kind {
            Sent::Node => self.look_was_lost(Some(after.unwrap_or(Duration::ZERO))),
            Sent::Get | Sent::Create(_) | Sent::Beat(_) | Sent::Delete => self.pause_refused(after),
        }
    }

    fn unreadable(&mut self, kind: &Sent, bad: BadAnswer) {
        self.trouble(TroubleKind::BadAnswer(bad), kind.verb());
        match kind {
            // The next answer is no better, where it is the Node that can't be read.
            Sent::Node => self.look_was_refused(None),
            Sent::Get | Sent::Create(_) | Sent::Beat(_) | Sent::Delete => {
                self.known.must_read |= kind.is_write();
                self.lost(kind, self.now(), true, None);
            }
        }
    }

    /// Any other answer that says that nothing was done, and that a try at once is useless.
    fn refused(&mut self, kind: &Sent, trouble: TroubleKind) {
        self.trouble(trouble, kind.verb());
        self.put_off(kind, None);
    }

    /// The next try after a refusal, which begins with a look at the lease.
    fn put_off(&mut self, kind: &Sent, after: Option<Duration>) {
        match kind {
            Sent::Node => self.look_was_refused(after),
            Sent::Get | Sent::Create(_) | Sent::Beat(_) | Sent::Delete => {
                self.known.must_read = true;
                self.pause_refused(after);
            }
        }
    }

    /// There is no answer that says what happened; a write may have been done. A beat is simply
    /// sent again: its condition fails where it was done.
    fn lost(&mut self, kind: &Sent, sent: Instant, may_be_done: bool, after: Option<Duration>) {
        if let State::Retiring(retiring) = &mut self.state {
            retiring.doubt |= may_be_done && kind.is_write();
        }
        match (kind, after) {
            (Sent::Get, _) => self.pause(after),
            (Sent::Node, _) => self.look_was_lost(after),
            (Sent::Create(_), _) => {
                self.known.must_read |= may_be_done;
                self.pause(after);
            }
            (Sent::Beat(_), Some(_)) => self.pause_refused(after),
            (Sent::Beat(_), None) => {
                if !self.try_again(sent)
                    && let State::Retiring(retiring) = self.state
                {
                    self.give_up(retiring);
                }
            }
            (Sent::Delete, _) => {
                self.another_round(may_be_done);
                self.pause(after);
            }
        }
    }

    pub(super) fn trouble(&mut self, kind: TroubleKind, verb: Verb) {
        if self.contact.note_trouble(kind, verb) {
            self.notices.trouble = Some((kind, verb));
        }
    }
}
