//! Machines that are wrong on purpose: the checker has to notice, by what comes of it alone.

use kubelease_core::elector::{Config, Elector};
use kubelease_core::lease::{Fence, ResourceVersion};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{Failure, Output, Request, RequestId, Response, StaleRequest};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_tests::faulty::{Fault, Faulty};
use kubelease_tests::sim::mix::Mix;
use kubelease_tests::sim::plan::Plan;
use kubelease_tests::sim::process::Watch;
use kubelease_tests::sim::world::{World, elector};
use kubelease_tests::subject::Subject;

#[test]
fn one_that_says_it_always_leads_is_caught() {
    let plan = Plan::new(Mix::named("calm").expect("a mix"), 1);
    let outcome = World::new(plan, false, Watch::Nothing, boaster).run();
    let violation = outcome.violation.unwrap_or_default();
    assert!(violation.contains("begins while seat"), "{violation}");
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
    let mix = Mix::named("clocks").expect("a mix");
    let overlaps = |seed: &u64| {
        let plan = Plan::new(mix, *seed);
        let sound = World::new(plan.clone(), false, Watch::Nothing, elector).run();
        assert_eq!(sound.violation, None, "seed {seed}");
        let outcome = World::new(plan, false, Watch::Nothing, extender).run();
        outcome
            .violation
            .is_some_and(|violation| violation.contains("still leads"))
    };
    assert!((0..300).any(|seed| overlaps(&seed)));
}

fn extender(config: Config<'static>, now: Now) -> Faulty {
    Faulty::new(elector(config, now), Fault::CountsFromTheAnswer)
}

fn boaster(config: Config<'static>, now: Now) -> Boaster {
    Boaster(elector(config, now))
}

/// An elector that says that it leads, whatever happens.
#[derive(Clone, Debug)]
struct Boaster(Elector<'static>);

impl Machine for Boaster {
    fn poll(&mut self, now: Now) -> Output<'_> {
        self.0.poll(now)
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.0.handle_response(now, id, response)
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.0.handle_failure(now, id, failure)
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.0.in_flight()
    }
}

impl Subject for Boaster {
    fn step_down(&mut self, now: Now, cooldown: Duration) {
        self.0.step_down(now, cooldown);
    }

    fn stop(&mut self, now: Now) {
        self.0.stop(now);
    }

    fn stop_when_idle(&mut self, now: Now) {
        self.0.stop_when_idle(now);
    }

    fn work_done(&mut self, now: Now) {
        self.0.work_done(now);
    }

    fn is_leading(&self, _: Instant) -> bool {
        true
    }

    fn leading_until(&self) -> Option<Instant> {
        Some(Instant::from_millis(1 << 60))
    }

    fn fence(&self) -> Option<Fence> {
        Some(Fence {
            acquired_version: ResourceVersion::try_from("1").expect("a short one"),
            ..Fence::default()
        })
    }

    fn leader(&self) -> Option<&str> {
        self.0.leader()
    }

    fn term(&self) -> u64 {
        self.0.term()
    }
}
