//! What the server answers in a storm.

use kubelease_core::protocol::{BadAnswer, Reply};
use kubelease_core::time::Duration;

use super::op::{Answer, Op, Said};
use super::queue::Arrival;
use super::random::Random;
use super::schedule::{Gale, What};
use super::world::World;
use crate::subject::Subject;

impl<M: Subject> World<M> {
    /// The answer to `arrival`, after what it asks for was done or was not.
    pub(super) fn serve(
        &mut self,
        arrival: &Arrival,
        random: &mut Random,
    ) -> Result<Answer, String> {
        let mut retry_after = None;
        let mut is_genuine = false;
        let said = if self.at_us < self.starting_until_us {
            self.totals.fault("starting server");
            Said::Other(Reply::Forbidden)
        } else if let Some(gale) = self.gale(random) {
            self.totals.fault(name(gale));
            let longest_ms = random.pick(&[1_000, 10_000, 120_000]);
            retry_after = random
                .chance(500)
                .then(|| Duration::from_millis(random.below(longest_ms)));
            self.blow(gale, arrival, random)?
        } else {
            is_genuine = true;
            self.apply(arrival)?
        };
        let date = random.chance(950).then(|| self.server.date(self.at_us));
        Ok(Answer {
            date: date.flatten(),
            retry_after,
            said,
            is_genuine,
        })
    }

    pub(super) fn gale(&self, random: &mut Random) -> Option<Gale> {
        self.active
            .iter()
            .find_map(|index| match self.plan.schedule[*index].what {
                What::Storm(permille, gale) => random.chance(permille).then_some(gale),
                _ => None,
            })
    }

    fn blow(&mut self, gale: Gale, arrival: &Arrival, random: &mut Random) -> Result<Said, String> {
        let said = match gale {
            Gale::Unauthorized => Said::Other(Reply::Unauthorized),
            Gale::Forbidden => Said::Other(Reply::Forbidden),
            Gale::Conflict => Said::Other(Reply::Conflict),
            Gale::Throttled => Said::Other(Reply::Throttled),
            Gale::Unavailable => Said::Other(Reply::ServerError(503)),
            Gale::Error => {
                if random.chance(500) {
                    self.apply(arrival)?;
                }
                Said::Other(Reply::ServerError(random.pick(&[500, 502, 504])))
            }
            Gale::Nonsense => Said::Other(random.pick(&[
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
                self.apply(arrival)?;
                Said::Other(Reply::BadAnswer(random.pick(&[
                    BadAnswer::Empty,
                    BadAnswer::NotJson,
                    BadAnswer::Truncated,
                    BadAnswer::NoVersion,
                    BadAnswer::UnexpectedStatus,
                ])))
            }
            Gale::NoSpec => self.without_spec(arrival)?,
            Gale::Echo => self.echo(arrival)?,
        };
        Ok(said)
    }

    /// A write's answer may leave out the spec; that of a read says there is none.
    fn without_spec(&mut self, arrival: &Arrival) -> Result<Said, String> {
        let mut said = self.apply(arrival)?;
        if let (Said::Lease(record), Some(_)) = (&mut said, arrival.op.spec()) {
            record.spec = None;
        }
        Ok(said)
    }

    /// A write is not done and the answer is the record as it was, as from a cache.
    fn echo(&mut self, arrival: &Arrival) -> Result<Said, String> {
        match (&arrival.op, self.server.lease()) {
            (Op::Create { .. } | Op::Update { .. }, Some(lease)) => {
                Ok(Said::Lease(Box::new(lease.record())))
            }
            (Op::Get | Op::Watch(_) | Op::Create { .. } | Op::Update { .. }, _) => {
                self.apply(arrival)
            }
        }
    }
}

const fn name(gale: Gale) -> &'static str {
    match gale {
        Gale::Unauthorized => "401",
        Gale::Forbidden => "403",
        Gale::Conflict => "409",
        Gale::Throttled => "429",
        Gale::Unavailable => "503",
        Gale::Error => "5xx",
        Gale::Nonsense => "other 4xx",
        Gale::BadAnswer => "bad answer",
        Gale::NoSpec => "no spec",
        Gale::Echo => "echo",
    }
}
