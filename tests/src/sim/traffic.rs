//! Requests on their way, and what the server makes of them.

use kubelease_core::protocol::{Failure, RequestId};

use super::guard::{self, Writer};
use super::net::{Fate, Weather};
use super::op::{Op, Said};
use super::process::Process;
use super::queue::{Arrival, Asker, Due};
use super::random::Random;
use super::schedule::What;
use super::world::World;
use crate::subject::Subject;

impl<M: Subject> World<M> {
    pub(super) fn send(&mut self, seat: usize, id: RequestId, op: Op) {
        self.totals.requests += 1;
        self.contacts[seat].sent(self.at_us);
        self.log_of(seat, format_args!("-> {id:?} {}", op.name()));
        let process = &self.processes[seat];
        let (life, identity, number) = (process.life, process.config.identity, process.requests);
        let names = [
            self.plan.seed,
            seat as u64,
            u64::from(life),
            u64::from(number),
        ];
        let mut random = Random::of(&names);
        let mut fate = Fate::draw(&self.weather(seat), &mut random);
        if random.chance(self.down_permille()) {
            fate = Fate {
                not_sent_us: Some(1_000),
                ..Fate::default()
            };
        }
        self.count_faults(&fate);
        let asker = Asker { seat, life, id };
        if let Some(after_us) = fate.not_sent_us {
            let due = Due::Fail(asker, Failure::NotSent);
            self.queue.push(self.at_us + after_us, due);
        }
        if let Some(after_us) = fate.broken_us {
            let due = Due::Fail(asker, Failure::Unknown);
            self.queue.push(self.at_us + after_us, due);
        }
        let luck = random.next_u64();
        let mut arrive = |after_us: u64, back_us: Option<u64>, luck: u64, op: Op| {
            let at_us = self.at_us + after_us;
            // What is late keeps out of the time in which promises are checked.
            if self.at_us < self.plan.calm_us && at_us >= self.plan.calm_us {
                return;
            }
            let arrival = Arrival {
                asker,
                identity,
                op,
                back_us,
                luck,
            };
            self.queue.push(at_us, Due::Arrive(Box::new(arrival)));
        };
        if let Some(after_us) = fate.again_us {
            arrive(after_us, fate.back_us, luck ^ 1, op.clone());
            fate.back_us = None;
        }
        if let Some(after_us) = fate.arrives_us {
            arrive(after_us, fate.back_us, luck, op);
        }
    }

    pub(super) fn arrive(&mut self, arrival: &Arrival) -> Result<(), String> {
        let mut random = Random::new(arrival.luck);
        if let Op::Watch(version) = arrival.op
            && self.at_us >= self.starting_until_us
            && self.gale(&mut random).is_none()
        {
            self.open_stream(arrival, version, &mut random);
            return Ok(());
        }
        let answer = self.serve(arrival, &mut random)?;
        self.note(format_args!(
            "{} of {}{}: {}",
            arrival.op.name(),
            arrival.identity,
            arrival.asker.life,
            answer.said
        ));
        if let Some(back_us) = arrival.back_us {
            let due = Due::Answer(arrival.asker, Box::new(answer));
            self.queue.push(self.at_us + back_us, due);
        }
        Ok(())
    }

    /// Does what `arrival` asks for, if it may.
    pub(super) fn apply(&mut self, arrival: &Arrival) -> Result<Said, String> {
        let Asker { seat, life, .. } = arrival.asker;
        if self.server.would_write(&arrival.op) {
            let (writer, identity) = ((seat, life), arrival.identity);
            let twin = self.living_twin(writer, identity);
            if !twin {
                let stored = self.server.lease();
                guard::check_write(&arrival.op, stored, self.owner, writer, identity)?;
            }
            let said = self.server.apply(&arrival.op, self.at_us);
            self.owner = Some(writer);
            self.count_claim(arrival);
            if twin {
                self.outside(self.server.version());
            }
            return Ok(said);
        }
        Ok(self.server.apply(&arrival.op, self.at_us))
    }

    /// Counts what others with this identity can take for a twin's write: one that claims the
    /// lease, and any of a dead process.
    fn count_claim(&mut self, arrival: &Arrival) {
        let process = &mut self.processes[arrival.asker.seat];
        let lives = process.life == arrival.asker.life;
        if !lives || matches!(arrival.op.name(), "create" | "acquire") {
            *self.claims.entry(arrival.identity).or_default() += 1;
            process.claims += u64::from(lives);
        }
        // Twins that go by each other's times come to send the same one now and then.
        let (seat, time) = (
            arrival.asker.seat,
            arrival.op.spec().map(|spec| spec.renew_time),
        );
        let same = |(other, process): (usize, &Process<M>)| {
            other != seat
                && process.config.identity == arrival.identity
                && time.is_some_and(|time| process.sent_times.contains(&time))
        };
        self.disguises += u64::from(self.processes.iter().enumerate().any(same));
    }

    /// Whether the record is that of another living process with this identity.
    fn living_twin(&self, writer: Writer, identity: &str) -> bool {
        self.owner.is_some_and(|owner| {
            let process = &self.processes[owner.0];
            owner != writer
                && self.is_alive(owner.0, owner.1)
                && process.config.identity == identity
        })
    }

    pub(super) fn weather(&self, seat: usize) -> Weather {
        if self.at_us >= self.plan.calm_us {
            return Weather::FAIR;
        }
        self.active
            .iter()
            .fold(self.plan.mix.weather, |weather, index| {
                match self.plan.schedule[*index].what {
                    What::Weather(whom, worse) if whom.is_none_or(|whom| whom == seat) => {
                        weather.worse(worse)
                    }
                    _ => weather,
                }
            })
    }

    fn down_permille(&self) -> u32 {
        let down = |index: &usize| match self.plan.schedule[*index].what {
            What::Down(permille) => permille,
            _ => 0,
        };
        self.active.iter().map(down).max().unwrap_or(0)
    }

    fn count_faults(&mut self, fate: &Fate) {
        let faults = [
            (fate.not_sent_us.is_some(), "not sent"),
            (fate.broken_us.is_some(), "broken"),
            (fate.again_us.is_some(), "twice"),
            (
                fate.arrives_us.is_none() && fate.not_sent_us.is_none(),
                "lost",
            ),
            (
                fate.arrives_us.is_some() && fate.back_us.is_none() && fate.broken_us.is_none(),
                "answer lost",
            ),
            (
                fate.arrives_us.is_some_and(|way_us| way_us > 4_000_000),
                "late",
            ),
        ];
        for (is_so, kind) in faults {
            if is_so {
                self.totals.fault(kind);
            }
        }
    }
}
