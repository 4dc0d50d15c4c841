//! Machines that are wrong on purpose: the checker has to notice, by what comes of it alone.

use core::sync::atomic::{AtomicU64, Ordering};

use kubelease_core::elector::{Config, Elector, Timing};
use kubelease_core::lease::{Fence, ResourceVersion};
use kubelease_core::machine::{Machine, Watches};
use kubelease_core::protocol::{
    Failure, Output, Request, RequestId, Response, StaleRequest, WatchEvent,
};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_tests::sim::clock::TRUE_RATE;
use kubelease_tests::sim::mix::{Mix, Rates};
use kubelease_tests::sim::plan::Plan;
use kubelease_tests::sim::process::Watch;
use kubelease_tests::sim::world::{World, elector};
use kubelease_tests::subject::Subject;

use crate::duel::Duel;

#[test]
fn one_that_says_it_always_leads_is_caught() {
    let plan = Plan::new(Mix::named("calm").expect("a mix"), 1);
    let outcome = World::new(plan, false, Watch::Nothing, boaster).run();
    let violation = outcome.violation.unwrap_or_default();
    assert!(violation.contains("still leads"), "{violation}");
}

#[test]
fn one_whose_belief_grows_with_each_answer_is_caught_by_its_arithmetic() {
    let plan = Plan::new(Mix::named("calm").expect("a mix"), 1);
    let outcome = World::new(plan, false, Watch::Cheap, extender).run();
    let violation = outcome.violation.unwrap_or_default();
    assert!(violation.starts_with("L7: "), "{violation}");
}

#[test]
fn one_whose_belief_grows_with_each_answer_comes_to_lead_beside_another() {
    // Answers take two seconds, so that belief outlives what the candidate allows for.
    let duel = Duel {
        timing: Timing::KUBERNETES,
        rate: TRUE_RATE * 3 / 2,
        rates: Rates::Within,
        way_us: 1_000_000,
        seed: 0,
    };
    let sound = World::new(duel.plan(), false, Watch::Nothing, elector).run();
    assert_eq!(sound.violation, None);
    let outcome = World::new(duel.plan(), false, Watch::Nothing, extender).run();
    let violation = outcome.violation.unwrap_or_default();
    assert!(violation.contains("still leads"), "{violation}");
}

/// What an impostor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fraud {
    /// It says that it leads, whatever happens.
    Boasts,
    /// It leads for a renew deadline after each answer.
    Extends,
}

/// An elector that is wrong.
#[derive(Clone, Debug)]
struct Impostor {
    inner: Elector<'static>,
    fraud: Fraud,
    until: Option<Instant>,
    fence: Option<Fence>,
}

fn boaster(config: Config<'static>, now: Now) -> Impostor {
    static BOASTERS: AtomicU64 = AtomicU64::new(1);
    let number = BOASTERS.fetch_add(1, Ordering::Relaxed).to_string();
    let fence = Fence {
        acquired_version: ResourceVersion::try_from(number.as_str()).expect("a short one"),
        ..Fence::default()
    };
    Impostor {
        inner: elector(config, now),
        fraud: Fraud::Boasts,
        until: Some(Instant::from_millis(1 << 60)),
        fence: Some(fence),
    }
}

fn extender(config: Config<'static>, now: Now) -> Impostor {
    Impostor {
        inner: elector(config, now),
        fraud: Fraud::Extends,
        until: None,
        fence: None,
    }
}

impl Machine for Impostor {
    fn poll(&mut self, now: Now) -> Output<'_> {
        self.inner.poll(now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let result = self.inner.handle_response(now, id, response);
        if self.fraud == Fraud::Extends && self.inner.is_leading(now.instant) {
            let deadline = self.inner.config().timing.renew_deadline;
            self.until = Some(now.instant.saturating_add(deadline));
            self.fence = self.inner.fence();
        }
        result
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.inner.handle_failure(now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.inner.in_flight()
    }

    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        self.inner.handle_watch(now, id, event)
    }
}

impl Watches for Impostor {
    fn watch(&mut self) {
        self.inner.watch();
    }
}

impl Subject for Impostor {
    fn step_down(&mut self, now: Now, cooldown: Duration) {
        self.inner.step_down(now, cooldown);
    }

    fn stop(&mut self, now: Now) {
        self.inner.stop(now);
    }

    fn stop_when_idle(&mut self, now: Now) {
        self.inner.stop_when_idle(now);
    }

    fn work_done(&mut self, now: Now) {
        self.inner.work_done(now);
    }

    fn is_leading(&self, at: Instant) -> bool {
        self.until.is_some_and(|until| at < until)
    }

    fn leading_until(&self) -> Option<Instant> {
        self.until
    }

    fn fence(&self) -> Option<Fence> {
        self.fence.clone()
    }

    fn leader(&self) -> Option<&str> {
        self.inner.leader()
    }

    fn term(&self) -> u64 {
        self.inner.term()
    }
}
