//! [`Weather`] and [`Fate`]: what the network does to a request and to its answer.

use super::random::Random;

/// What can happen to requests, in thousandths of them, and how long they take.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// No connection: the client knows that nothing was sent.
    pub not_sent: u32,
    /// Never arrives, in silence.
    pub lost: u32,
    /// Is done, and the answer is lost.
    pub answer_lost: u32,
    /// The connection breaks: the client knows nothing.
    pub broken: u32,
    /// Arrives up to `late_us` later than others.
    pub late: u32,
    /// Is done twice, and the client hears of the second time.
    pub twice: u32,
    /// Shortest and longest way, one direction.
    pub way_us: (u64, u64),
    /// How late a late one can be.
    pub late_us: u64,
}

impl Weather {
    /// Nothing is lost, and each way takes 1 to 20 ms.
    pub const FAIR: Self = Self {
        not_sent: 0,
        lost: 0,
        answer_lost: 0,
        broken: 0,
        late: 0,
        twice: 0,
        way_us: (1_000, 20_000),
        late_us: 0,
    };

    /// Nothing is lost and nothing takes time.
    pub const STILL: Self = Self {
        way_us: (0, 0),
        ..Self::FAIR
    };

    /// Nothing arrives.
    pub const CUT: Self = Self {
        lost: 1_000,
        ..Self::FAIR
    };

    /// A thin link with everything that can go wrong.
    pub const ROUGH: Self = Self {
        not_sent: 20,
        lost: 60,
        answer_lost: 60,
        broken: 30,
        late: 30,
        twice: 30,
        way_us: (5_000, 400_000),
        late_us: 60_000_000,
    };

    /// The worst of both.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self {
            not_sent: self.not_sent.max(other.not_sent),
            lost: self.lost.max(other.lost),
            answer_lost: self.answer_lost.max(other.answer_lost),
            broken: self.broken.max(other.broken),
            late: self.late.max(other.late),
            twice: self.twice.max(other.twice),
            way_us: (
                self.way_us.0.max(other.way_us.0),
                self.way_us.1.max(other.way_us.1),
            ),
            late_us: self.late_us.max(other.late_us),
        }
    }
}

/// What becomes of one request. Lengths of time count from its sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// When the client learns that nothing was sent.
    pub not_sent_us: Option<u64>,
    /// When the client learns that the connection is gone.
    pub broken_us: Option<u64>,
    /// When the server does it.
    pub arrives_us: Option<u64>,
    /// When the server does it once more.
    pub again_us: Option<u64>,
    /// How long the answer of the last arrival takes; `None` where it is lost.
    pub back_us: Option<u64>,
}

impl Fate {
    /// Draws the fate of one request.
    pub fn draw(weather: &Weather, random: &mut Random) -> Self {
        let (least, most) = weather.way_us;
        let (way, back) = (random.between(least, most), random.between(least, most));
        let mut fate = Self {
            arrives_us: Some(way),
            back_us: Some(back),
            ..Self::default()
        };
        if random.chance(weather.not_sent) {
            return Self {
                not_sent_us: Some(way),
                ..Self::default()
            };
        }
        if random.chance(weather.late) {
            fate.arrives_us = Some(way + random.below(weather.late_us));
        }
        if random.chance(weather.twice) {
            fate.again_us = Some(way + random.below(weather.late_us.min(3_000_000) + 1));
        }
        if random.chance(weather.lost) {
            fate.arrives_us = None;
            fate.again_us = None;
        }
        if random.chance(weather.answer_lost) {
            fate.back_us = None;
        }
        if random.chance(weather.broken) {
            fate.broken_us = Some(random.below(way + back + 1));
            fate.back_us = None;
        }
        fate
    }
}
