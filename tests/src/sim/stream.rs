//! [`Stream`]: a watch at the server, and what becomes of its lines.
//!
//! While things happen, a stream may lag, skip a line or send it twice, begin with what its asker
//! knows already or with an error, break, or fall silent for good with its connection still open.
//! In calm it does what an API server's does.

use core::fmt;

use kubelease_core::protocol::{BadAnswer, Failure, Reply, WatchEvent};

use super::op::{Answer, Said};
use super::queue::{Arrival, Asker, Due};
use super::random::Random;
use super::server::Change;
use super::world::World;
use crate::subject::Subject;

/// Time between bookmarks.
const BOOKMARK_EVERY_US: u64 = 60_000_000;

/// A watch that is open.
#[derive(Clone, Debug)]
pub struct Stream {
    asker: Asker,
    /// The version of the last change that was looked at.
    from: u64,
    /// How much later than others its lines leave.
    lag_us: u64,
    /// When the last line arrives: no other comes before it.
    last_us: u64,
    /// When the server ends it.
    until_us: u64,
    /// Nothing of it arrives any more.
    is_stalled: bool,
    random: Random,
}

/// A line on its way.
#[derive(Clone, Debug)]
pub enum Line {
    /// A change.
    Change(Box<Change>),
    /// A bookmark.
    Bookmark,
    /// An error.
    Error,
    /// Something that is no line.
    Broken,
}

impl Line {
    /// As a machine takes it.
    #[must_use]
    pub const fn event(&self) -> WatchEvent<'_> {
        match self {
            Self::Change(change) if change.is_deletion => WatchEvent::Deleted(&change.record),
            Self::Change(change) => WatchEvent::Changed(&change.record),
            Self::Bookmark => WatchEvent::Bookmark,
            Self::Error => WatchEvent::Error,
            Self::Broken => WatchEvent::Broken(BadAnswer::Malformed),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(change) => {
                let kind = if change.is_deletion {
                    "deleted"
                } else {
                    "changed"
                };
                write!(f, "{kind} {}", Said::Lease(Box::new(change.record.clone())))
            }
            Self::Bookmark | Self::Error | Self::Broken => write!(f, "{self:?}"),
        }
    }
}

impl<M: Subject> World<M> {
    fn is_calm(&self) -> bool {
        self.at_us >= self.plan.calm_us
    }

    /// A watch has arrived.
    pub(super) fn open_stream(&mut self, arrival: &Arrival, version: u64, random: &mut Random) {
        self.totals.streams += 1;
        let is_calm = self.is_calm();
        let odd = |permille, random: &mut Random| !is_calm && random.chance(permille);
        let (shortest_s, longest_s) = if is_calm { (300, 600) } else { (1, 300) };
        let length_us = random.between(shortest_s, longest_s) * 1_000_000;
        let lags = odd(200, random);
        let from = if odd(200, random) {
            version.saturating_sub(random.below(20))
        } else {
            version
        };
        let mut stream = Stream {
            asker: arrival.asker,
            from,
            lag_us: if lags { random.below(20_000_000) } else { 0 },
            last_us: self.at_us,
            until_us: self.at_us + length_us,
            is_stalled: arrival.back_us.is_none() || odd(50, random),
            random: Random::new(random.next_u64()),
        };
        if odd(50, random) {
            self.push_line(&mut stream, Line::Error);
            stream.is_stalled = true;
        }
        self.queue
            .push(stream.next_tick(self.at_us), Due::Tick(stream.asker));
        self.streams.push(stream);
    }

    /// Sends what has changed.
    pub(super) fn feed_streams(&mut self) {
        let mut streams = core::mem::take(&mut self.streams);
        streams.retain_mut(|stream| {
            let changes = self.server.changes_after(stream.from).to_vec();
            changes
                .into_iter()
                .all(|change| self.send_change(stream, change))
        });
        self.streams = streams;
    }

    /// Sends one change, unless something is wrong; whether the stream goes on.
    fn send_change(&mut self, stream: &mut Stream, change: Change) -> bool {
        stream.from = change.version;
        let weather = self.weather(stream.asker.seat);
        stream.is_stalled |= stream.random.chance(weather.lost);
        if stream.random.chance(weather.broken) {
            let due = Due::Fail(stream.asker, Failure::Unknown);
            self.queue.push(self.at_us + weather.way_us.1, due);
            return false;
        }
        let mut odd = |permille| self.at_us < self.plan.calm_us && stream.random.chance(permille);
        let (skips, repeats, breaks) = (odd(20), odd(20), odd(5));
        if breaks {
            self.push_line(stream, Line::Broken);
        }
        if repeats {
            self.push_line(stream, Line::Change(Box::new(change.clone())));
        }
        if !skips {
            self.push_line(stream, Line::Change(Box::new(change)));
        }
        true
    }

    fn push_line(&mut self, stream: &mut Stream, line: Line) {
        if stream.is_stalled {
            return;
        }
        let (least, most) = self.weather(stream.asker.seat).way_us;
        let lag_us = if self.is_calm() { 0 } else { stream.lag_us };
        let way_us = stream.random.between(least, most) + lag_us;
        // What is late keeps out of the time in which promises are checked.
        let at_us = (self.at_us + way_us).max(stream.last_us);
        if !self.is_calm() && at_us >= self.plan.calm_us {
            stream.is_stalled = true;
            return;
        }
        stream.last_us = at_us;
        let due = Due::Line(stream.asker, Box::new(line));
        self.queue.push(at_us, due);
    }

    /// A bookmark, or the end.
    pub(super) fn tick(&mut self, asker: Asker) {
        let mut streams = core::mem::take(&mut self.streams);
        let at_us = self.at_us;
        streams.retain_mut(|stream| {
            if stream.asker != asker {
                return true;
            }
            if at_us < stream.until_us {
                self.push_line(stream, Line::Bookmark);
                self.queue.push(stream.next_tick(at_us), Due::Tick(asker));
                return true;
            }
            if !stream.is_stalled {
                let answer = Answer {
                    date: None,
                    retry_after: None,
                    said: Said::Other(Reply::WatchEnded),
                    is_genuine: true,
                };
                let due = Due::Answer(asker, Box::new(answer));
                self.queue.push(stream.last_us.max(at_us + 1_000), due);
            }
            false
        });
        self.streams = streams;
    }

    /// A line arrives.
    pub(super) fn line(&mut self, asker: Asker, line: &Line) -> Result<(), String> {
        if !self.is_alive(asker.seat, asker.life) {
            return Ok(());
        }
        self.totals.lines += 1;
        self.log_of(asker.seat, format_args!("<- {:?} {line}", asker.id));
        self.processes[asker.seat].hear(self.at_us, asker.id, line.event())?;
        self.drive(asker.seat)
    }
}

impl Stream {
    const fn next_tick(&self, at_us: u64) -> u64 {
        let bookmark_us = at_us + BOOKMARK_EVERY_US;
        if bookmark_us < self.until_us {
            bookmark_us
        } else {
            self.until_us
        }
    }
}
