//! The picture: a lane for each candidate, outages behind all of them, time from left to right.

use core::time::Duration;

use super::script::{Script, millis};
use super::svg::Svg;
use super::trace::{Term, Trace, Why};
use crate::timing::human;

const WIDTH: f64 = 1_100.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 78.0;
const LANE: f64 = 58.0;
const BAR: f64 = 24.0;
const LEGEND: f64 = 92.0;

/// About so many marks stand on the axis of time.
const MARKS: u64 = 10;

/// Distances of marks that people can count in, in seconds.
const STEPS_S: [u64; 14] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_200, 3_600, 7_200, 14_400,
];

const STYLE: &str = "\
text { font: 12px sans-serif; fill: #222; }
.title { font-size: 16px; font-weight: bold; }
.name { font-size: 14px; font-weight: bold; text-anchor: end; }
.mark, .down { text-anchor: middle; }
.mark { fill: #555; }
.down { fill: #a33a2b; font-size: 11px; }
.fence { fill: #fff; text-anchor: middle; }
.back { fill: #fff; }
.lane { fill: #f4f6f8; }
.outage { fill: #f3b8ad; fill-opacity: 0.55; }
.grid { stroke: #d5dade; }
.leads { fill: #1f7a8c; }
.grace { fill: url(#hatch); }
.lease { stroke: #1f7a8c; stroke-width: 2; stroke-dasharray: 3 3; }
.end { stroke: #7a1020; stroke-width: 2.5; }
.lease-end { fill: #fff; stroke: #1f7a8c; stroke-width: 2; }
.crash { stroke: #c0182b; stroke-width: 3; }
.stop { stroke: #222; stroke-width: 3; }
.write { stroke: #1f7a8c; stroke-width: 1.5; }
.read { stroke: #9aa5ad; }
.lost { stroke: #d2402f; stroke-width: 1.5; }
";

/// Draws what happened.
pub(super) fn draw(script: &Script, trace: &Trace) -> String {
    let lanes = script.names.len();
    let mut picture = Picture {
        svg: Svg::default(),
        length: millis(script.length),
        bottom: TOP + LANE * lane_number(lanes),
    };
    let timing = script.timing;
    let title = format!(
        "Who leads: lease {}, renew deadline {}, retry period {}",
        human(timing.lease_duration),
        human(timing.renew_deadline),
        human(timing.retry_period)
    );
    let size = (WIDTH, picture.bottom + LEGEND);
    picture.svg.rect("back", (0.0, 0.0), size, "");
    picture.svg.text("title", (LEFT, 26.0), &title);
    let (sum, longest) = trace.leaderless(script);
    let summary = format!(
        "nobody leads for {} of {}, at most {} at a time",
        rounded(sum),
        human(script.length),
        rounded(longest)
    );
    picture.svg.text("", (LEFT, 46.0), summary);
    picture.lanes(script);
    picture.outages(script);
    picture.axis();
    for (name, number) in script.names.iter().zip(0..) {
        let y = TOP + LANE * lane_number(number) + LANE / 2.0;
        picture.svg.text("name", (LEFT - 10.0, y), name);
    }
    picture.requests(trace);
    for term in &trace.terms {
        picture.term(script, term);
    }
    picture.ends(trace);
    picture.legend();
    picture.svg.finish(size, &title, STYLE)
}

#[derive(Debug)]
struct Picture {
    svg: Svg,
    length: u64,
    bottom: f64,
}

impl Picture {
    fn x(&self, at: u64) -> f64 {
        let part = as_f64(at.min(self.length)) / as_f64(self.length.max(1));
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    /// The middle of a lane's bar.
    fn y(&self, who: usize) -> f64 {
        TOP + LANE * lane_number(who) + LANE / 2.0 - 4.0
    }

    fn lanes(&mut self, script: &Script) {
        for number in 0..script.names.len() {
            let y = TOP + LANE * lane_number(number) + 3.0;
            let size = (WIDTH - LEFT - RIGHT, LANE - 6.0);
            self.svg.rect("lane", (LEFT, y), size, "");
        }
    }

    fn outages(&mut self, script: &Script) {
        for outage in &script.outages {
            let (from, to) = (self.x(millis(outage.from)), self.x(millis(outage.to)));
            let words = format!("{} without answers", human(outage.to - outage.from));
            let name = outage.who.as_deref();
            let lane = name.and_then(|name| script.names.iter().position(|each| *each == name));
            let (y, height) = match lane {
                Some(lane) => (TOP + LANE * lane_number(lane) + 3.0, LANE - 6.0),
                None => (TOP - 4.0, self.bottom - TOP + 4.0),
            };
            self.svg
                .rect("outage", (from, y), (to - from, height), &words);
            if lane.is_none() {
                let middle = f64::midpoint(from, to);
                self.svg.text("down", (middle, TOP - 9.0), words);
            }
        }
    }

    fn axis(&mut self) {
        let seconds = (self.length / 1_000).max(1);
        let fits = |step: &&u64| **step * MARKS >= seconds;
        let step = STEPS_S.iter().find(fits).copied();
        let step = step.unwrap_or_else(|| seconds.div_ceil(MARKS));
        for second in (0..=seconds).step_by(usize::try_from(step).unwrap_or(1)) {
            let x = self.x(second * 1_000);
            self.svg
                .line("grid", (x, TOP - 4.0), (x, self.bottom + 4.0));
            let label = if second == 0 {
                "0".to_owned()
            } else {
                human(Duration::from_secs(second))
            };
            self.svg.text("mark", (x, self.bottom + 18.0), label);
        }
    }

    fn term(&mut self, script: &Script, term: &Term) {
        let y = self.y(term.who) - BAR / 2.0;
        let to = term.to.unwrap_or(self.length);
        let (from, end) = (self.x(term.from), self.x(term.ended(to)));
        let name = script.names.get(term.who).copied().unwrap_or_default();
        let title = format!("{name} leads, fence {}", term.fence);
        self.svg.rect("leads", (from, y), (end - from, BAR), &title);
        if end - from > 70.0 {
            let middle = (f64::midpoint(from, end), y + BAR / 2.0 + 4.0);
            self.svg
                .text("fence", middle, format_args!("fence {}", term.fence));
        }
        if term.to.is_none() {
            return;
        }
        if term.why != Some(Why::Crashed) {
            let ceased = self.x(term.ceased);
            let title = "work may go on until here";
            self.svg.rect("grace", (end, y), (ceased - end, BAR), title);
        }
        if let Some(lease_end) = term.lease_end {
            let middle = self.y(term.who);
            let x = self.x(lease_end);
            self.svg.line("lease", (end, middle), (x, middle));
            if lease_end <= self.length {
                self.svg.diamond("lease-end", (x, middle), "the lease ends");
            }
        }
        if to <= self.length {
            let x = self.x(to);
            self.svg.line("end", (x, y - 5.0), (x, y + BAR + 5.0));
        }
    }

    fn requests(&mut self, trace: &Trace) {
        for tick in &trace.requests {
            let class = match (tick.is_answered, tick.is_write) {
                (false, _) => "lost",
                (true, true) => "write",
                (true, false) => "read",
            };
            let (x, y) = (self.x(tick.at), self.y(tick.who) + BAR / 2.0 + 6.0);
            self.svg.line(class, (x, y), (x, y + 8.0));
        }
    }

    fn ends(&mut self, trace: &Trace) {
        for (who, at) in &trace.crashes {
            let point = (self.x(*at), self.y(*who));
            self.svg.cross("crash", point);
        }
        for (who, at) in &trace.stops {
            let (x, y) = (self.x(*at), self.y(*who));
            self.svg
                .line("stop", (x, y - BAR / 2.0), (x, y + BAR / 2.0));
        }
    }

    /// What each shape means, in two rows.
    fn legend(&mut self) {
        let rows = [self.bottom + 46.0, self.bottom + 72.0];
        let [first, second] = rows;
        let column = |number: f64| LEFT + 205.0 * number;
        let svg = &mut self.svg;
        svg.rect("leads", (column(0.0), first - 11.0), (26.0, 14.0), "");
        svg.text("", (column(0.0) + 34.0, first), "leads");
        svg.line(
            "end",
            (column(1.0) + 13.0, first - 13.0),
            (column(1.0) + 13.0, first + 5.0),
        );
        svg.text("", (column(1.0) + 34.0, first), "belief ends");
        svg.rect("grace", (column(2.0), first - 11.0), (26.0, 14.0), "");
        svg.text("", (column(2.0) + 34.0, first), "work may still end");
        svg.line(
            "lease",
            (column(3.0), first - 4.0),
            (column(3.0) + 26.0, first - 4.0),
        );
        svg.diamond("lease-end", (column(3.0) + 26.0, first - 4.0), "");
        svg.text("", (column(3.0) + 40.0, first), "lease lasts, and ends");
        svg.rect("outage", (column(4.0), first - 11.0), (26.0, 14.0), "");
        svg.text("", (column(4.0) + 34.0, first), "no answers");
        for (number, class, words) in [
            (0.0, "write", "a write, answered"),
            (1.0, "read", "a look, answered"),
            (2.0, "lost", "a request, unanswered"),
        ] {
            let x = column(number) + 13.0;
            svg.line(class, (x, second - 10.0), (x, second + 2.0));
            svg.text("", (column(number) + 34.0, second), words);
        }
        svg.cross("crash", (column(3.0) + 13.0, second - 4.0));
        svg.text("", (column(3.0) + 40.0, second), "crashes");
        let x = column(4.0) + 13.0;
        svg.line("stop", (x, second - 13.0), (x, second + 5.0));
        svg.text("", (column(4.0) + 34.0, second), "stops, releases");
    }
}

/// A length as exact as people want it: long ones in whole seconds.
pub(super) fn rounded(length_ms: u64) -> String {
    let length = Duration::from_millis(length_ms);
    if length < Duration::from_secs(10) {
        human(length)
    } else {
        human(Duration::from_secs((length_ms + 500) / 1_000))
    }
}

/// The number of a lane, of which there are few.
fn lane_number(number: usize) -> f64 {
    f64::from(u8::try_from(number).unwrap_or(u8::MAX))
}

/// Exact for all lengths of a simulation.
#[expect(clippy::cast_precision_loss, reason = "a day has few milliseconds")]
fn as_f64(millis: u64) -> f64 {
    millis as f64
}
