//! The faults.

use super::Mutant;

/// All of them.
pub const MUTANTS: [Mutant; 46] = [
    // Belief.
    Mutant {
        name: "a term counts from its answer",
        breaks: "L7: leadership counts from the poll that handed the write out",
        file: "elector/answers.rs",
        find: "self.begin_term(pending.sent);",
        replace: "self.begin_term(now);",
    },
    Mutant {
        name: "a renewal counts from its answer",
        breaks: "L7",
        file: "elector/answers.rs",
        find: "Sent::Renew(_) => self.extend(pending.sent),",
        replace: "Sent::Renew(_) => self.extend(now),",
    },
    Mutant {
        name: "a read is a renewal",
        breaks: "L7: no read extends leadership",
        file: "elector/answers.rs",
        find: "        let gone = self.observed.record().is_none();",
        replace: "        self.extend(self.now());
        let gone = self.observed.record().is_none();",
    },
    Mutant {
        name: "belief has no end of its own",
        breaks: "L7: it ends with no input at all",
        file: "elector.rs",
        find: "sent <= at && at < until,",
        replace: "sent <= at && at < until.saturating_add(self.config.timing.renew_deadline),",
    },
    Mutant {
        name: "belief lasts for the lease duration",
        breaks: "rule 1",
        file: "elector/term.rs",
        find: "            *until = renewed.saturating_add(self.config.timing.renew_deadline);",
        replace: "            *until = renewed.saturating_add(self.config.timing.lease_duration);",
    },
    Mutant {
        name: "an acknowledgement is not checked",
        breaks: "L7: 200 with another's record is no acknowledgement",
        file: "elector/answers.rs",
        find: "if !self.is_acknowledged(&pending.kind, holder, written, record) {",
        replace: "if false {",
    },
    Mutant {
        name: "work may go on for the whole margin",
        breaks: "rule 1: must_cease_by is half of the margin after the deadline",
        file: "elector/timing.rs",
        find: "            .saturating_sub(self.renew_deadline)
            .half()",
        replace: "            .saturating_sub(self.renew_deadline)",
    },
    Mutant {
        name: "a loss is seen only at the deadline",
        breaks: "rule 4",
        file: "elector/answers.rs",
        find: "                    self.end_term(StopReason::Lost, self.now());
",
        replace: "",
    },
    // Answers.
    Mutant {
        name: "a late answer is taken",
        breaks: "L5: every input applies time first",
        file: "elector.rs",
        find: "        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.advance(now.instant);
        self.answered",
        replace: "        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let _ = now;
        self.answered",
    },
    Mutant {
        name: "an answer with any id is taken",
        breaks: "L5",
        file: "inflight.rs",
        find: ".take_if(|pending| pending.id == id)",
        replace: ".take_if(|_| id.number() > 0)",
    },
    Mutant {
        name: "a deadline goes past the end of belief",
        breaks: "L5: the deadline is cut at leading_until",
        file: "elector/requests.rs",
        find: "self.belief
            .until()
            .map_or(within, |until| within.min(until))",
        replace: "within",
    },
    Mutant {
        name: "a timeout means that nothing was done",
        breaks: "rule 5",
        file: "elector/answers.rs",
        find: "Failure::Unknown | Failure::TimedOut => pending.kind.is_write(),",
        replace: "Failure::Unknown | Failure::TimedOut => false,",
    },
    Mutant {
        name: "a 5xx means that nothing was done",
        breaks: "rule 12",
        file: "elector/answers.rs",
        find: "                self.lost(is_write, response.retry_after);",
        replace: "                self.lost(false, response.retry_after);",
    },
    Mutant {
        name: "a conflict is followed by a write without a read",
        breaks: "rule 5",
        file: "elector/answers.rs",
        find: "        self.observed.must_read = true;
        if !self.another_round(false) {",
        replace: "        if !self.another_round(false) {",
    },
    // Writes.
    Mutant {
        name: "a takeover has no version",
        breaks: "rule 6: never an unconditional write",
        file: "elector/observe.rs",
        find: "        self.last.version.copy_from(&record.version);
        self.settle(Seen::Record);
        lesson",
        replace: "        if standing == Standing::Mine {
            self.last.version.copy_from(&record.version);
        } else {
            self.last.version = crate::lease::Version::default();
        }
        self.settle(Seen::Record);
        lesson",
    },
    Mutant {
        name: "a write after a lost one has no version",
        breaks: "rule 6",
        file: "elector/observe.rs",
        find: "    pub(crate) const fn doubt(&mut self) {
        self.must_read = true;",
        replace: "    pub(crate) fn doubt(&mut self) {
        self.last.version = crate::lease::Version::default();",
    },
    Mutant {
        name: "renewTime is the wall clock's",
        breaks: "rule 7: it always rises",
        file: "renewal_clock.rs",
        find: "let next = least.map_or(wall, |least| wall.max(least));",
        replace: "let next = wall;",
    },
    Mutant {
        name: "a restart forgets the renewTime it left",
        breaks: "rule 7: over an own record it is above that",
        file: "elector/answers.rs",
        find: "renew_time.filter(|_| self.names_me())",
        replace: "renew_time.filter(|_| false)",
    },
    Mutant {
        name: "transitions wrap",
        breaks: "rule 8: they saturate at 2^31 - 1",
        file: "elector/requests.rs",
        find: "record.transitions.saturating_add(1).min(TRANSITIONS_MAX),",
        replace: "record.transitions.saturating_add(1) & TRANSITIONS_MAX,",
    },
    Mutant {
        name: "transitions rise with each renewal",
        breaks: "rule 8",
        file: "elector/requests.rs",
        find: "(record.acquire_time, record.transitions)",
        replace: "(record.acquire_time, record.transitions.saturating_add(1))",
    },
    Mutant {
        name: "a fence is that of the first term",
        breaks: "rule 13: a token rises with each term",
        file: "elector/answers.rs",
        find: "                self.set_fence(&record.version, written);
                self.begin_term(",
        replace: "                if self.term == 0 {
                    self.set_fence(&record.version, written);
                }
                self.begin_term(",
    },
    Mutant {
        name: "a fence outlives its lease",
        breaks: "rule 15: a lease made anew has a new token",
        file: "elector/answers.rs",
        find: "                self.notices.recreated = true;
                self.set_fence(&record.version, written);",
        replace: "                self.notices.recreated = true;",
    },
    // Other people's records.
    Mutant {
        name: "one's own duration decides over another's record",
        breaks: "rule 2: the duration written in the record",
        file: "elector/standing.rs",
        find: ".map_or(criteria.own_duration, Duration::from_secs);",
        replace: ".map_or(criteria.own_duration, |_| criteria.own_duration);",
    },
    Mutant {
        name: "a takeover comes without the millisecond more",
        breaks: "rule 11: instants are cut to whole milliseconds",
        file: "elector/observe.rs",
        find: "        end.saturating_add(LATE)",
        replace: "        end",
    },
    Mutant {
        name: "a change is a change of the resourceVersion",
        breaks: "rule 2: metadata is no sign of life",
        file: "elector/observe.rs",
        find: "old.digest == digest && old.version.uid == record.version.uid",
        replace: "old.version == record.version",
    },
    Mutant {
        name: "a change is a change of the holder",
        breaks: "rule 2: a renewal is a sign of life",
        file: "elector/observe.rs",
        find: "old.digest == digest && old.version.uid == record.version.uid",
        replace: "Some(&old.holder) == spec.map(|spec| &spec.holder)
                    && old.version.uid == record.version.uid",
    },
    Mutant {
        name: "each read is a sign of life",
        breaks: "rule 2: expiry counts from the first sight",
        file: "elector/observe.rs",
        find: "        let standing = self.last.standing;
",
        replace: "        let standing = self.last.standing;
        self.last.since = now;
",
    },
    Mutant {
        name: "an empty holder is somebody",
        breaks: "rule 3",
        file: "elector/standing.rs",
        find: "        return Standing::Free;",
        replace: "            return Standing::Foreign;",
    },
    Mutant {
        name: "a deletion is a release",
        breaks: "rule 15",
        file: "elector/observe.rs",
        find: "                    (true, wait) => wait,",
        replace: "                    (true, _) => Duration::ZERO,",
    },
    Mutant {
        name: "a deletion after an expiry is a release",
        breaks: "rule 15: a renewal may have gone unseen",
        file: "elector/observe.rs",
        find: "                    (true, wait) => wait,",
        replace: "                    (true, wait) if now < late(self.last.since, wait) => wait,
                    (true, _) => Duration::ZERO,",
    },
    Mutant {
        name: "a twin is one's own restart",
        breaks: "rule 5",
        file: "elector/standing.rs",
        find: "        (false, _) => Standing::Twin,",
        replace: "        (false, _) => Standing::Restart,",
    },
    Mutant {
        name: "a creation that lands late is a right to lead",
        breaks: "rule 5: not after somebody else's record",
        file: "elector/observe.rs",
        find: "        if standing.is_foreign() {
            self.sent.fresh = 0;
        }
",
        replace: "",
    },
    // Giving up.
    Mutant {
        name: "a release is sent without a look at the holder",
        breaks: "rule 9",
        file: "elector/release.rs",
        find: "        if record.standing == Standing::Mine {
            self.attempt",
        replace: "        if record.standing != Standing::Free {
            self.attempt",
    },
    Mutant {
        name: "a release leaves before the end was told",
        breaks: "L4",
        file: "elector.rs",
        find: "        if let Some(event) = self.take_event() {
            return Action::Event(event);
        }
",
        replace: "        if !matches!(self.state, State::Releasing(_))
            && let Some(event) = self.take_event()
        {
            return Action::Event(event);
        }
",
    },
    Mutant {
        name: "a release leaves before work has ceased",
        breaks: "rule 9: not before must_cease_by",
        file: "elector/release.rs",
        find: "let not_before = self.ceased_at.max(now);",
        replace: "let not_before = now;",
    },
    Mutant {
        name: "a stop leaves a ghost behind",
        breaks: "rule 9: a write that may be done is looked for",
        file: "elector/release.rs",
        find: "if !mine && !self.observed.ghost {",
        replace: "if !mine {",
    },
    Mutant {
        name: "a candidate that rests takes the lease",
        breaks: "rule 9: a candidate that steps down writes nothing",
        file: "elector/decide.rs",
        find: "at_its_time(attempt.next, now, *until, Act::Read)",
        replace: "contend(observed, attempt.next, create, now)",
    },
    // Time.
    Mutant {
        name: "a clock that was reset goes unnoticed",
        breaks: "L6",
        file: "elector.rs",
        find: "self.clock_was_reset(before);",
        replace: "let _ = before;",
    },
    // Watches.
    Mutant {
        name: "an old line of a stream is believed",
        breaks: "rule 14: a lower version teaches nothing",
        file: "elector/watch.rs",
        find: "WatchEvent::Changed(record) if !self.observed.is_past(&record.version) => {",
        replace: "WatchEvent::Changed(record) => {",
    },
    Mutant {
        name: "a deletion in a stream is a release",
        breaks: "rule 15",
        file: "elector/watch.rs",
        find: "self.observed.set_deleted(&record.version);",
        replace: "self.observed.seen = super::observe::Seen::Nothing;",
    },
    Mutant {
        name: "a deletion in a stream has no version",
        breaks: "rule 14: what was before it teaches nothing",
        file: "elector/watch.rs",
        find: "self.observed.set_deleted(&record.version);",
        replace: "",
    },
    Mutant {
        name: "a bookmark is a sign of life of the leader",
        breaks: "rule 14: expiry stays a local timer",
        file: "elector/watch.rs",
        find: "self.watching.heard = true;",
        replace: "self.watching.heard = true;
        self.observed.restart(now);",
    },
    Mutant {
        name: "a stream may be silent for ever",
        breaks: "rule 14: silence falls back to GET",
        file: "elector/watch.rs",
        find: "    due_at.map_or(dead_at, |at| at.min(dead_at))",
        replace: "    due_at.unwrap_or(dead_at)",
    },
    Mutant {
        name: "a takeover waits for the stream to end",
        breaks: "rule 14: expiry stays a local timer",
        file: "elector/watch.rs",
        find: "    due_at.map_or(dead_at, |at| at.min(dead_at))",
        replace: "    due_at.map_or(dead_at, |_| dead_at)",
    },
    Mutant {
        name: "a stream that brought nothing is opened again at once",
        breaks: "rule 14: polling alone suffices",
        file: "elector/watch.rs",
        find: "    if !elector.watching.heard {",
        replace: "    if elector.watching.heard {",
    },
    Mutant {
        name: "a release in a stream waits for the next look",
        breaks: "rule 14: a takeover at once",
        file: "elector/watch.rs",
        find: "            self.attempt.next = Next::Due(now);",
        replace: "            self.attempt.next = Next::Retry(self.candidate_pace());",
    },
];
