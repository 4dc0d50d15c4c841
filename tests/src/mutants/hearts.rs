//! The faults of the heartbeat, which random lives and worlds of hearts have to find.

use super::Mutant;

/// All of them.
pub const HEARTS: [Mutant; 24] = [
    // Times.
    Mutant {
        name: "heart: two beats of one moment are alike",
        breaks: "only a renewTime above the stored one is a beat",
        file: "fix.rs",
        find: "passed.checked_add_micros(1)",
        replace: "Some(passed)",
    },
    Mutant {
        name: "heart: a time that was read is written again",
        breaks: "only a renewTime above the stored one is a beat",
        file: "heartbeat/times.rs",
        find: "time >= known",
        replace: "time > known",
    },
    Mutant {
        name: "heart: the civil clock is followed back",
        breaks: "renewTime always rises",
        file: "heartbeat/times.rs",
        find: "wall.map_or(least, |wall| wall.max(least))",
        replace: "wall.unwrap_or(least)",
    },
    Mutant {
        name: "heart: the stored time is not passed",
        breaks: "renewTime starts from the stored one, whoever wrote it",
        file: "heartbeat/answers.rs",
        find: "self.times.learn(renewed, now);",
        replace: "let _ = renewed;",
    },
    Mutant {
        name: "heart: the end rewrites an old time",
        breaks: "every write raises renewTime, the last one too",
        file: "heartbeat/requests.rs",
        find: "Act::Beat => self.times.next(now, at).map_or(",
        replace: "Act::Beat => self.times.next(now, at).and_then(|time| match self.state {
                State::Retiring(_) => time.checked_sub_millis(100_000),
                State::Beating | State::Ended { .. } => Some(time),
            }).map_or(",
    },
    // Requests and answers.
    Mutant {
        name: "heart: a second request in flight",
        breaks: "L5: one at a time",
        file: "heartbeat.rs",
        find: "        if let Some(pending) = self.slot.pending() {
            return Action::WaitUntil(pending.deadline);
        }
",
        replace: "",
    },
    Mutant {
        name: "heart: a late answer is taken",
        breaks: "L5: every input applies time first",
        file: "heartbeat.rs",
        find: "        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.advance(now.instant);
        let pending",
        replace: "        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let pending",
    },
    Mutant {
        name: "heart: a beat counts from its answer",
        breaks: "L7: from the poll that handed it out",
        file: "heartbeat/answers.rs",
        find: "self.last_beat = pending.sent;",
        replace: "self.last_beat = self.now();",
    },
    Mutant {
        name: "heart: an acknowledgement is not checked",
        breaks: "L7: 200 with another's record is none",
        file: "heartbeat/answers.rs",
        find: "if !moved || !mine || version.is_empty() {",
        replace: "if false {",
    },
    Mutant {
        name: "heart: the uid is no condition",
        breaks: "rule 6: writes name the uid as well",
        file: "heartbeat/state.rs",
        find: "self.version.copy_from(&record.version);",
        replace: "self.version.resource_version = record.version.resource_version.clone();",
    },
    Mutant {
        name: "heart: a conflict needs no read",
        breaks: "after a conflict: GET, then PUT",
        file: "heartbeat/answers.rs",
        find: "                self.known.must_read = true;
                self.try_again(self.now());",
        replace: "                self.try_again(self.now());",
    },
    // Pace.
    Mutant {
        name: "heart: no jitter",
        breaks: "a thousand hearts do not beat in step",
        file: "heartbeat/pace.rs",
        find: "let step = self.pace.prng.jittered(interval, percent);",
        replace: "let step = interval.max(crate::time::Duration::from_millis(u64::from(percent)));",
    },
    Mutant {
        name: "heart: pauses never shrink again",
        breaks: "a beat that was heard ends the back-off",
        file: "heartbeat/pace.rs",
        find: "        self.backoff.reset();
",
        replace: "",
    },
    Mutant {
        name: "heart: quick tries without end",
        breaks: "five quick tries, then the next beat",
        file: "heartbeat/pace.rs",
        find: "if self.pace.tries < TRIES_MAX {",
        replace: "if self.pace.tries < u8::MAX {",
    },
    Mutant {
        name: "heart: Retry-After is ignored",
        breaks: "rule 12",
        file: "heartbeat/pace.rs",
        find: "jittered(pause.max(least), percent)",
        replace: "jittered(pause.max(least.min(pause)), percent)",
    },
    // Others.
    Mutant {
        name: "heart: a living holder is written over",
        breaks: "a foreign holder is obeyed unless force_owner",
        file: "heartbeat/decide.rs",
        find: "!self.rules().force_owner && self.known.is_foreign(self.now())",
        replace: "false",
    },
    Mutant {
        name: "heart: a holder is waited for half as long",
        breaks: "for the duration that his record says",
        file: "heartbeat/state.rs",
        find: "Duration::from_secs(u64::from(self.wait_s))",
        replace: "Duration::from_secs(u64::from(self.wait_s)).half()",
    },
    Mutant {
        name: "heart: the end takes another's lease",
        breaks: "only the own lease is beaten or deleted at the end",
        file: "heartbeat/decide.rs",
        find: "let is_theirs = is_another &&",
        replace: "let is_theirs = is_another && false &&",
    },
    Mutant {
        name: "heart: it beats for a dead host",
        breaks: "liveness_ttl",
        file: "heartbeat/decide.rs",
        find: "if !self.is_alive(self.now()) {",
        replace: "if false {",
    },
    // The Node.
    Mutant {
        name: "heart: other owners are wiped",
        breaks: "other owners are kept",
        file: "heartbeat/requests.rs",
        find: "let has_others = self.known.owners.has_others;",
        replace: "let has_others = false;",
    },
    Mutant {
        name: "heart: an old uid is written again",
        breaks: "when the lease is gone the Node is read again first",
        file: "heartbeat/answers.rs",
        find: "                self.uid_is_fresh &= !self.known.was_there;
",
        replace: "",
    },
    Mutant {
        name: "heart: no look after an outage",
        breaks: "a beating lease does not bring an Unknown node back",
        file: "heartbeat/looks.rs",
        find: "sent.saturating_since(self.last_beat) >= self.rules().lease_duration;",
        replace: "sent < self.last_beat;",
    },
    Mutant {
        name: "heart: a look for the owner is look enough",
        breaks: "NodeNotReady is said until the Node is ready",
        file: "heartbeat/looks.rs",
        find: "        if readiness == Readiness::Ready || self.known.seen != Seen::Lease {
            return;",
        replace: "        if readiness == Readiness::Ready || self.known.seen != Seen::Lease {
            self.is_told = true;
            return;",
    },
    Mutant {
        name: "heart: a new Node is taken for the one that was told of",
        breaks: "NodeNotReady is said of each Node",
        file: "heartbeat/looks.rs",
        find: "            self.is_told = false;
",
        replace: "",
    },
];
