//! [`Entry`]: one happening of a world, drawn before the world begins.

use kubelease_core::time::Duration;

use super::net::Weather;
use super::random::Random;
use super::server::{Edit, Namespace};

/// Kinds of happenings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The network gets worse, for one process or for all.
    Weather,
    /// The network carries nothing, for one process or for all.
    Cut,
    /// The server refuses or garbles.
    Storm,
    /// The server, or one of its replicas, restarts.
    Down,
    /// A process or its host stands still.
    Pause,
    /// A process is killed, and another starts.
    Crash,
    /// A monotonic clock changes its rate.
    Rate,
    /// A civil clock is set.
    Wall,
    /// A monotonic clock starts anew.
    Reset,
    /// Somebody edits the lease.
    Edit,
    /// The namespace is deleted, and made again.
    Namespace,
    /// The application calls.
    Call,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Weather,
        Self::Cut,
        Self::Storm,
        Self::Down,
        Self::Pause,
        Self::Crash,
        Self::Rate,
        Self::Wall,
        Self::Reset,
        Self::Edit,
        Self::Namespace,
        Self::Call,
    ];
}

/// A happening and when it begins, in true time.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it begins.
    pub at_us: u64,
    /// When it is over, where it lasts.
    pub until_us: u64,
    /// What it is.
    pub what: What,
}

/// What happens. `seat` is the place of a process in the world.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// Worse weather for one seat, or for all.
    Weather(Option<usize>, Weather),
    /// So many thousandths of all requests are answered like this.
    Storm(u32, Gale),
    /// So many thousandths of all requests meet a server that is down.
    Down(u32),
    /// The process of this seat stands still; its clock does not.
    Pause(usize),
    /// The process of this seat is killed; when it is over one starts anew.
    Crash {
        /// Whose.
        seat: usize,
        /// Whether the new one has the same identity.
        same_identity: bool,
    },
    /// Another rate, in thousandths of what the mix allows.
    Rate(usize, u64),
    /// The civil clock is set by so much.
    Wall(usize, i64),
    /// The monotonic clock starts anew at so many milliseconds.
    Reset(usize, u64),
    /// An edit.
    Edit(Edit),
    /// The namespace, and every lease in it, is going or gone.
    Namespace(Namespace),
    /// A call; after one that ends the process another starts when it is over.
    Call(usize, Call),
}

/// What the server answers instead of what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gale {
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 409 without a reason.
    Conflict,
    /// 429, perhaps with `Retry-After`.
    Throttled,
    /// 503, and nothing was done.
    Unavailable,
    /// 500 or 504, and it may have been done.
    Error,
    /// 400, 422 or 404 of something that is there.
    Nonsense,
    /// Done, and the body can't be read.
    BadAnswer,
    /// Done, and the body has no spec.
    NoSpec,
    /// Not done, and 200 with the old record.
    Echo,
}

const GALES: [Gale; 10] = [
    Gale::Unauthorized,
    Gale::Forbidden,
    Gale::Conflict,
    Gale::Throttled,
    Gale::Unavailable,
    Gale::Error,
    Gale::Nonsense,
    Gale::BadAnswer,
    Gale::NoSpec,
    Gale::Echo,
];

/// A call of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `step_down` with this cooldown.
    StepDown(Duration),
    /// `stop`.
    Stop,
    /// `stop_when_idle`, and `work_done` when the happening is half over.
    StopWhenIdle,
}

/// Longest cooldown of a `step_down`.
pub const COOLDOWN_MAX: Duration = Duration::from_secs(20);

/// Longest duration that somebody outside writes.
pub const EDITED_DURATION_MAX_S: i32 = 20;

/// Draws one happening of `kind` between 1 s and `end_us`, among `seats` processes.
pub fn draw(kind: Kind, seats: usize, end_us: u64, random: &mut Random) -> Entry {
    let seat = usize::try_from(random.below(seats as u64)).unwrap_or_default();
    let at_us = random.between(1_000_000, end_us);
    // Half of all happenings are short against every duration, the others may outlast it.
    let longest_us = random.pick(&[1_000_000, 12_000_000, 30_000_000, 120_000_000]);
    let until_us = (at_us + random.between(1_000, longest_us)).min(end_us);
    Entry {
        at_us,
        until_us,
        what: draw_what(kind, seat, random),
    }
}

fn draw_what(kind: Kind, seat: usize, random: &mut Random) -> What {
    let whom = random.chance(600).then_some(seat);
    match kind {
        Kind::Weather => What::Weather(whom, draw_weather(random)),
        Kind::Cut => What::Weather(whom, Weather::CUT),
        Kind::Storm => What::Storm(random.pick(&[300, 700, 1_000]), random.pick(&GALES)),
        Kind::Down => What::Down(random.pick(&[333, 500, 1_000])),
        Kind::Pause => What::Pause(seat),
        Kind::Crash => What::Crash {
            seat,
            same_identity: random.chance(500),
        },
        Kind::Rate => What::Rate(seat, random.pick(&[0, 500, 1_000])),
        Kind::Wall => {
            let seconds = random.pick(&[1, 10, 3_600, 86_400 * 365]);
            let step_us = i64::try_from(random.between(1, seconds * 1_000_000)).unwrap_or_default();
            What::Wall(
                seat,
                if random.chance(500) {
                    step_us
                } else {
                    -step_us
                },
            )
        }
        Kind::Reset => What::Reset(seat, random.below(5_000)),
        Kind::Edit => What::Edit(draw_edit(random)),
        Kind::Namespace => What::Namespace(random.pick(&[Namespace::Terminating, Namespace::Gone])),
        Kind::Call => What::Call(seat, draw_call(random)),
    }
}

fn draw_weather(random: &mut Random) -> Weather {
    let mut share = || random.pick(&[0, 0, 50, 200, 500]);
    let (not_sent, lost, answer_lost) = (share(), share(), share());
    let (broken, late, twice) = (share(), share(), share());
    let slowest_us = random.pick(&[20_000, 300_000, 1_500_000, 4_000_000]);
    Weather {
        not_sent,
        lost,
        answer_lost,
        broken,
        late,
        twice,
        way_us: (1_000, slowest_us),
        late_us: random.pick(&[2_000_000, 30_000_000, 120_000_000]),
    }
}

fn draw_edit(random: &mut Random) -> Edit {
    let seconds = i32::try_from(random.between(1, 20)).unwrap_or(1);
    let edits = [
        Edit::Labels,
        Edit::Duration(Some(seconds)),
        Edit::Duration(None),
        Edit::Duration(Some(-1)),
        Edit::Clear,
        Edit::Clear,
        Edit::Steal("mallory", seconds),
        Edit::Times,
        Edit::Delete,
        Edit::Delete,
        Edit::Remake,
        Edit::Finalize,
    ];
    random.pick(&edits)
}

fn draw_call(random: &mut Random) -> Call {
    let cooldown = Duration::from_millis(random.between(0, COOLDOWN_MAX.as_millis()));
    random.pick(&[
        Call::StepDown(cooldown),
        Call::StepDown(cooldown),
        Call::Stop,
        Call::StopWhenIdle,
    ])
}
