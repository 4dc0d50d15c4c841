//! Requests on their way, and what the server makes of them.

use kubelease_core::protocol::{BadAnswer, Failure, Reply, Response};
use kubelease_core::time::Duration;

use super::plan::Happening;
use super::world::{Due, World, failed};
use crate::heart::server::HeartAnswer;
use crate::seen::{Sent, WriteKind};
use crate::sim::net::{Fate, Weather};
use crate::sim::queue::Asker;
use crate::sim::random::Random;
use crate::sim::schedule::{Gale, What};
use crate::sim::server::Namespace;
use crate::store::Answer;

/// A request at the server.
#[derive(Debug)]
pub(super) struct Arrival {
    asker: Asker,
    sent: Sent,
    /// How long the answer takes; `None` where it is lost.
    back_us: Option<u64>,
    /// Names the chance that it meets at the server.
    luck: u64,
}

impl World {
    pub(super) fn send(&mut self, seat: usize, sent: &Sent) {
        let host = &self.hosts[seat];
        let (life, id) = (host.life, sent.id);
        let names = [self.plan.seed, seat as u64, u64::from(life), host.requests];
        let mut random = Random::of(&names);
        let mut fate = Fate::draw(&self.weather(seat), &mut random);
        let is_up = !random.chance(self.lasting(|what| match what {
            What::Down(permille) => Some(*permille),
            _ => None,
        }));
        if !is_up {
            let not_sent_us = Some(1_000);
            fate = Fate {
                not_sent_us,
                ..Fate::default()
            };
        }
        let asker = Asker { seat, life, id };
        let failures = [
            (fate.not_sent_us, Failure::NotSent),
            (fate.broken_us, Failure::Unknown),
        ];
        for (after_us, failure) in failures {
            if let Some(after_us) = after_us {
                self.count(if failure == Failure::NotSent {
                    "unsent"
                } else {
                    "broken"
                });
                let due = Due::Answer(asker, Box::new(failed(failure)), None, false);
                self.queue.push(self.at_us + after_us, due);
            }
        }
        let luck = random.next_u64();
        for (after_us, luck) in [(fate.arrives_us, luck), (fate.again_us, luck ^ 1)] {
            let Some(at_us) = after_us.map(|after_us| self.at_us + after_us) else {
                continue;
            };
            // What is late keeps out of the calm.
            if self.at_us < self.plan.calm_us && at_us >= self.plan.calm_us {
                continue;
            }
            let arrival = Arrival {
                asker,
                sent: sent.clone(),
                back_us: fate.back_us,
                luck,
            };
            self.queue.push(at_us, Due::Arrive(Box::new(arrival)));
        }
    }

    fn weather(&self, seat: usize) -> Weather {
        if self.at_us >= self.plan.calm_us {
            return Weather::FAIR;
        }
        let worse = |weather: Weather, index: &usize| match &self.plan.schedule[*index].what {
            Happening::Shared(What::Weather(whom, worse))
                if whom.is_none_or(|whom| whom == seat) =>
            {
                weather.worse(*worse)
            }
            _ => weather,
        };
        self.active.iter().fold(self.plan.weather, worse)
    }

    /// The most of something that lasts, in thousandths.
    fn lasting(&self, of: impl Fn(&What) -> Option<u32>) -> u32 {
        let of = |index: &usize| match &self.plan.schedule[*index].what {
            Happening::Shared(what) => of(what),
            _ => None,
        };
        self.active.iter().filter_map(of).max().unwrap_or(0)
    }

    pub(super) fn arrive(&mut self, arrival: &Arrival) {
        let mut random = Random::new(arrival.luck);
        let answer = match self.gale(&mut random) {
            Some(gale) => self.blow(gale, arrival, &mut random),
            None => self.apply(arrival),
        };
        let place = &self.places[self.hosts[arrival.asker.seat].place];
        if let Some(back_us) = arrival.back_us {
            let (owner, others) = (place.server.owner.clone(), place.has_others);
            let due = Due::Answer(arrival.asker, Box::new(answer), owner, others);
            self.queue.push(self.at_us + back_us, due);
        }
    }

    fn gale(&self, random: &mut Random) -> Option<Gale> {
        let of = |index: &usize| match self.plan.schedule[*index].what {
            Happening::Shared(What::Storm(permille, gale)) => {
                random.chance(permille).then_some(gale)
            }
            _ => None,
        };
        self.active.iter().find_map(of)
    }

    /// Does what is asked, if it may, and judges it.
    fn apply(&mut self, arrival: &Arrival) -> HeartAnswer {
        let host = &self.hosts[arrival.asker.seat];
        let place = &mut self.places[host.place];
        let kind = arrival.sent.write.as_ref().map(|write| &write.kind);
        if matches!(kind, Some(WriteKind::Create { .. })) && place.server.store.lease.is_none() {
            match self.namespace {
                Namespace::Active => {}
                Namespace::Terminating => return told(Reply::NamespaceTerminating),
                Namespace::Gone => return told(Reply::NamespaceMissing),
            }
        }
        let before = place.server.store.lease.clone();
        let owner = place.server.owner.clone();
        let answer = place.server.serve(&arrival.sent);
        let after = place.server.store.lease.as_ref();
        if after.map(|it| &it.version) == before.as_ref().map(|it| &it.version) {
            // Refused: the owner stays as well.
            place.server.owner = owner;
        } else {
            place.judge(&arrival.sent, before.as_ref(), &host.kind, self.at_us);
            let (seat, renewed) = (
                arrival.asker.seat,
                arrival.sent.write.as_ref().map(|write| write.renew_time),
            );
            self.note(format_args!("server: seat {seat} writes {renewed:?}"));
        }
        answer
    }

    /// The answer in a storm, after what was asked for was done or was not.
    fn blow(&mut self, gale: Gale, arrival: &Arrival, random: &mut Random) -> HeartAnswer {
        self.count(&format!("{gale:?}"));
        let longest_ms = random.pick(&[1_000, 10_000, 120_000]);
        let pause = Duration::from_millis(random.below(longest_ms));
        let retry_after = random.chance(500).then_some(pause);
        let late = |reply| {
            HeartAnswer::Lease(Answer::Reply(Response {
                retry_after,
                ..Response::new(reply)
            }))
        };
        match gale {
            Gale::Unauthorized => told(Reply::Unauthorized),
            Gale::Forbidden => told(Reply::Forbidden),
            Gale::Conflict => told(Reply::Conflict),
            Gale::Throttled => late(Reply::Throttled),
            Gale::Unavailable => late(Reply::ServerError(503)),
            Gale::Error => {
                if random.chance(500) {
                    let _ = self.apply(arrival);
                }
                late(Reply::ServerError(random.pick(&[500, 502, 504])))
            }
            Gale::Nonsense => told(random.pick(&[
                Reply::BadRequest,
                Reply::Invalid,
                Reply::ApiUnavailable,
                Reply::NamespaceMissing,
                Reply::NamespaceTerminating,
                Reply::Refused(302),
                Reply::Refused(418),
                Reply::TooLarge,
            ])),
            Gale::BadAnswer => {
                let _ = self.apply(arrival);
                told(Reply::BadAnswer(random.pick(&[
                    BadAnswer::Empty,
                    BadAnswer::NotJson,
                    BadAnswer::Truncated,
                    BadAnswer::NoVersion,
                    BadAnswer::UnexpectedStatus,
                ])))
            }
            Gale::NoSpec => {
                let mut answer = self.apply(arrival);
                if let (HeartAnswer::Lease(Answer::Lease(record)), Some(_)) =
                    (&mut answer, &arrival.sent.write)
                {
                    record.spec = None;
                }
                answer
            }
            Gale::Echo => {
                let place = &self.places[self.hosts[arrival.asker.seat].place];
                match (&arrival.sent.write, &place.server.store.lease) {
                    (Some(_), Some(stored)) => Answer::from(stored.clone()).into(),
                    _ => self.apply(arrival),
                }
            }
        }
    }
}

fn told(reply: Reply<'static>) -> HeartAnswer {
    Answer::from(reply).into()
}
