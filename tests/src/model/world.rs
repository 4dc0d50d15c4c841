//! [`World`]: one state of everything, and what each step makes of it.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::Arc;

use kubelease_core::time::Now;

use super::bounds::{Bounds, GRID_US};
use super::network::{Body, Message};
use super::node::Node;
use super::rules::{Milestone, Rule};
use super::server::{Answer, Server, Wish};
use super::step::Step;

/// Faults that may happen yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Left {
    pub(super) slow: u8,
    pub(super) failures: u8,
    pub(super) crashes: u8,
    pub(super) stops: u8,
    pub(super) step_downs: u8,
    pub(super) stalls: u8,
    pub(super) deletions: u8,
}

/// One state of everything.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) now_us: u64,
    pub(super) left: Left,
    server: Server,
    nodes: Vec<Arc<Node>>,
    /// In order, so that equal networks are equal.
    messages: Vec<Message>,
    /// Highest token that a term had.
    token: u64,
    broken: Vec<Rule>,
    /// Which law was broken and how.
    complaint: &'static str,
    passed: Option<Milestone>,
}

impl World {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let mut world = Self {
            now_us: 0,
            left: Left {
                slow: bounds.slow,
                failures: bounds.failures,
                crashes: bounds.crashes,
                stops: bounds.stops,
                step_downs: bounds.step_downs,
                stalls: bounds.stalls,
                deletions: bounds.deletions,
            },
            server: Server::default(),
            nodes: (0..bounds.nodes)
                .map(|who| Arc::new(Node::new(bounds, who, 0, 0)))
                .collect(),
            messages: Vec::new(),
            token: 0,
            broken: Vec::new(),
            complaint: "",
            passed: None,
        };
        for who in 0..bounds.nodes {
            world.settle(bounds, who);
        }
        world
    }

    /// Whether a rule is broken in this state, at which the run ends.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Whether `rule` is.
    #[must_use]
    pub fn breaks(&self, rule: Rule) -> bool {
        self.broken.contains(&rule)
    }

    /// What the last step reached.
    #[must_use]
    pub const fn passed(&self) -> Option<Milestone> {
        self.passed
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(AsRef::as_ref)
    }

    /// Whether the sender of `message` still waits for its answer.
    pub(super) fn awaits(&self, message: &Message) -> bool {
        let node = &self.nodes[message.author.who];
        let pending = node.elector.in_flight().map(|request| request.id);
        node.is_up && node.author == message.author && pending == Some(message.id)
    }

    /// Whether a deletion is within what the rules can stand: all know who leads, for whoever has
    /// never seen a record creates at once.
    pub(super) fn can_stand_a_deletion(&self, bounds: &Bounds) -> bool {
        let holder = self.server.lease.map(|stored| stored.record.holder);
        holder.is_some_and(|holder| !holder.is_empty())
            && self
                .nodes()
                .all(|node| node.is_leading(bounds, self.now_us) || node.elector.leader() == holder)
    }

    /// Makes `step` happen.
    pub(super) fn take(&mut self, bounds: &Bounds, step: Step) {
        self.passed = None;
        match step {
            Step::Serve(at) => self.serve(bounds, at),
            Step::ServeSlowly(at) => self.serve_slowly(bounds, at),
            Step::ServeBehind504(at) => self.serve_behind_504(bounds, at),
            Step::Answer504(at) => self.fail(bounds, at, Some(Answer::GatewayTimeout)),
            Step::Break(at) => self.fail(bounds, at, None),
            Step::Deliver(at) => {
                let message = self.messages.remove(at);
                if let Body::Tell(answer) = message.body {
                    let _ = self.deliver(bounds, message, answer);
                }
            }
            Step::Tick => self.tick(bounds),
            Step::Crash(who) => {
                self.left.crashes -= 1;
                Arc::make_mut(&mut self.nodes[who]).crash();
            }
            Step::Restart(who) => {
                let life = self.nodes[who].author.life + 1;
                self.nodes[who] = Arc::new(Node::new(bounds, who, life, self.now_us));
                self.settle(bounds, who);
            }
            Step::Stop(who) => {
                self.left.stops -= 1;
                let now = self.local(bounds, who);
                Arc::make_mut(&mut self.nodes[who]).elector.stop(now);
                self.settle(bounds, who);
            }
            Step::StepDown(who) => {
                self.left.step_downs -= 1;
                let now = self.local(bounds, who);
                let cooldown = self.nodes[who].elector.config().timing.retry_period;
                Arc::make_mut(&mut self.nodes[who])
                    .elector
                    .step_down(now, cooldown);
                self.settle(bounds, who);
            }
            Step::Stall(who) => {
                self.left.stalls -= 1;
                Arc::make_mut(&mut self.nodes[who]).is_stalled = true;
            }
            Step::Wake(who) => self.settle(bounds, who),
            Step::Delete => {
                self.left.deletions -= 1;
                self.server.delete();
            }
        }
        self.forget_what_has_no_effect();
        self.messages.sort_unstable();
        self.judge(bounds);
    }

    fn local(&self, bounds: &Bounds, who: usize) -> Now {
        bounds.now(who, self.nodes[who].author.life, self.now_us)
    }

    fn serve(&mut self, bounds: &Bounds, at: usize) {
        let message = self.messages.remove(at);
        let Body::Ask(wish) = message.body else {
            return;
        };
        let who = message.author.who;
        let before = self.server.lease;
        let was_leading = self.nodes[who].is_leading(bounds, self.now_us);
        let was_lost = self.nodes[who].lost_answer;
        let answer = self.apply(bounds, message, wish);
        let is_acknowledged = self.deliver(bounds, message, answer);
        if !is_acknowledged {
            return;
        }
        self.passed = if !was_leading {
            Some(Milestone::of_start(message.author, before))
        } else if before.is_none() {
            Some(Milestone::Recreated)
        } else if was_lost {
            Some(Milestone::LostAnswerRecovered)
        } else {
            None
        };
    }

    fn serve_slowly(&mut self, bounds: &Bounds, at: usize) {
        let message = self.messages.remove(at);
        let Body::Ask(wish) = message.body else {
            return;
        };
        // A request that was slow has been paid for.
        self.left.slow -= u8::from(!message.slow);
        let answer = self.apply(bounds, message, wish);
        self.messages.push(Message {
            slow: true,
            body: Body::Tell(answer),
            ..message
        });
    }

    fn serve_behind_504(&mut self, bounds: &Bounds, at: usize) {
        self.left.failures -= 1;
        let message = self.messages.remove(at);
        if let Body::Ask(wish) = message.body {
            let _ = self.apply(bounds, message, wish);
            let _ = self.deliver(bounds, message, Answer::GatewayTimeout);
        }
    }

    /// Request `at` fails with `answer` or none, and stays under way.
    fn fail(&mut self, bounds: &Bounds, at: usize, answer: Option<Answer>) {
        self.left.failures -= 1;
        let message = self.messages[at];
        self.messages[at].slow = true;
        if let Some(answer) = answer {
            let _ = self.deliver(bounds, message, answer);
            return;
        }
        let node = Arc::make_mut(&mut self.nodes[message.author.who]);
        let taken = node.break_off(bounds, self.now_us, message.id);
        if taken.is_err() {
            self.complain("a failure of the request in flight was refused");
        }
        self.settle(bounds, message.author.who);
    }

    /// The server does what `message` asks.
    fn apply(&mut self, bounds: &Bounds, message: Message, wish: Wish) -> Answer {
        let before = self.server.lease;
        let answer = self.server.apply(message.author, wish);
        let is_done = self.server.lease != before;
        if !is_done {
            return answer;
        }
        let now_us = self.now_us;
        let others = self
            .nodes()
            .filter(|node| before.is_some() && node.author.who != message.author.who);
        if others
            .into_iter()
            .any(|node| node.is_leading(bounds, now_us))
        {
            self.break_rule(Rule::NobodyWritesOverALeader);
        }
        if wish.is_release() && before.is_some_and(|old| old.author.who != message.author.who) {
            self.break_rule(Rule::ReleaseIsOfOwn);
        }
        let node = &mut self.nodes[message.author.who];
        if node.author == message.author && node.is_leading(bounds, now_us) {
            Arc::make_mut(node).lost_answer = true;
        }
        answer
    }

    /// An answer reaches the process that waits for it, or one that does not any more. Says whether
    /// that begins or extends leadership.
    fn deliver(&mut self, bounds: &Bounds, message: Message, answer: Answer) -> bool {
        let who = message.author.who;
        if !self.nodes[who].is_up || self.nodes[who].author != message.author {
            return false;
        }
        let node = Arc::make_mut(&mut self.nodes[who]);
        let answered = node.answer(bounds, self.now_us, message.id, answer);
        node.lost_answer &= answered != Ok(true);
        if let Err(complaint) = answered {
            self.complain(complaint);
        }
        self.settle(bounds, who);
        answered == Ok(true)
    }

    fn tick(&mut self, bounds: &Bounds) {
        for message in &mut self.messages {
            self.left.slow -= u8::from(!message.slow);
            message.slow = true;
        }
        let grid_us = (self.now_us / GRID_US + 1) * GRID_US;
        let wakes = self.nodes.iter().filter_map(|node| node.wakes_us(bounds));
        self.now_us = wakes.fold(grid_us, u64::min);
        for who in 0..self.nodes.len() {
            let node = &self.nodes[who];
            if node.is_up && !node.is_stalled && !node.is_done() {
                self.settle(bounds, who);
            }
        }
    }

    /// Runs process `who`, and puts what it sends on its way.
    fn settle(&mut self, bounds: &Bounds, who: usize) {
        let node = Arc::make_mut(&mut self.nodes[who]);
        node.is_stalled = false;
        let author = node.author;
        match node.settle(bounds, self.now_us) {
            Ok(Some((id, wish))) => self.messages.push(Message {
                author,
                id,
                slow: false,
                body: Body::Ask(wish),
            }),
            Ok(None) => {}
            Err(complaint) => self.complain(complaint),
        }
    }

    fn complain(&mut self, complaint: &'static str) {
        self.complaint = complaint;
        self.break_rule(Rule::Laws);
    }

    fn break_rule(&mut self, rule: Rule) {
        if !self.breaks(rule) {
            self.broken.push(rule);
        }
    }

    /// Drops messages that can change nothing any more.
    fn forget_what_has_no_effect(&mut self) {
        let messages = core::mem::take(&mut self.messages);
        let has_effect = |message: &Message| {
            let node = &self.nodes[message.author.who];
            match message.body {
                _ if self.awaits(message) => true,
                Body::Ask(wish) => wish.is_live(&self.server, self.left.deletions),
                // Of no effect by law L5, which is what is checked.
                Body::Tell(_) => node.is_up && node.author == message.author,
            }
        };
        self.messages = messages.into_iter().filter(has_effect).collect();
        for message in &mut self.messages {
            // The request of a process that died is under way on its own.
            message.slow |= !self.nodes[message.author.who].is_up;
        }
    }

    /// Checks all rules that a state can break.
    fn judge(&mut self, bounds: &Bounds) {
        let now_us = self.now_us;
        for who in 0..self.nodes.len() {
            if !self.nodes[who].is_leading(bounds, now_us) {
                continue;
            }
            let others = || self.nodes().filter(|node| node.author.who != who);
            if others().any(|node| node.is_leading(bounds, now_us)) {
                self.break_rule(Rule::OneLeader);
            } else if others().any(|node| node.may_work(bounds, now_us)) {
                self.break_rule(Rule::WorkHasCeased);
            }
            self.judge_token(who);
        }
    }

    fn judge_token(&mut self, who: usize) {
        let fence = self.nodes[who].elector.fence();
        let token = fence.and_then(|fence| fence.token()).unwrap_or(0);
        if token == self.nodes[who].token {
            return;
        }
        if token <= self.token {
            self.break_rule(Rule::FencesRise);
        }
        Arc::make_mut(&mut self.nodes[who]).token = token;
        self.token = token;
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.now_us, self.left, self.server, self.token).hash(hasher);
        (&self.broken, self.passed).hash(hasher);
        for node in &self.nodes {
            node.key().hash(hasher);
        }
        for message in &self.messages {
            // How many requests ago, as far as it matters.
            let last = self.nodes[message.author.who].last.number();
            let ago = last.wrapping_sub(message.id.number());
            (message.author, ago, message.slow, message.body).hash(hasher);
        }
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        let key = |world: &Self| (world.now_us, world.left, world.server, world.token);
        key(self) == key(other)
            && (&self.broken, self.passed) == (&other.broken, other.passed)
            && self.messages == other.messages
            && self.nodes().map(Node::key).eq(other.nodes().map(Node::key))
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8} us", self.now_us)?;
        if let Some(stored) = self.server.lease {
            let (holder, version) = (stored.record.holder, stored.version);
            write!(
                f,
                "  record {holder:?} of {} at {version}",
                stored.author.who
            )?;
        } else {
            write!(f, "  no lease")?;
        }
        for node in &self.nodes {
            let until = node.elector.leading_until().map(|until| until.as_millis());
            let life = node.author.life;
            let state = if node.is_up { "" } else { " dead" };
            write!(f, "  [{}.{life}{state} until {until:?}]", node.author.who)?;
        }
        writeln!(f)?;
        for (at, message) in self.messages.iter().enumerate() {
            let (who, id, slow) = (message.author.who, message.id, message.slow);
            writeln!(f, "      {at}: {who} {id:?} slow={slow} {:?}", message.body)?;
        }
        for rule in &self.broken {
            writeln!(f, "      broken: {} {}", rule.name(), self.complaint)?;
        }
        Ok(())
    }
}
