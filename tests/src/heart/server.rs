//! [`HeartServer`]: one lease and one Node behind a server that does what it is asked.

use kubelease_core::lease::{NodeRecord, OwnerState, Owners, Readiness, Uid};
use kubelease_core::protocol::{Reply, Response};

use super::{Heart, HeartDriver};
use crate::seen::Sent;
use crate::store::{Answer, Give, Store};

/// A lease, if there is one, and a Node, if there is one.
#[derive(Clone, Debug, Default)]
pub struct HeartServer {
    /// The lease.
    pub store: Store,
    /// Uid and readiness of the Node.
    pub node: Option<(Uid, Readiness)>,
    /// The uid of the Node that the lease names as its owner.
    pub owner: Option<String>,
}

/// What the server says.
#[derive(Clone, Debug)]
pub enum HeartAnswer {
    /// About the lease.
    Lease(Answer),
    /// The Node.
    Node(Uid, Readiness),
}

impl From<Answer> for HeartAnswer {
    fn from(answer: Answer) -> Self {
        Self::Lease(answer)
    }
}

impl Give<Heart> for HeartAnswer {
    #[track_caller]
    fn give(&self, driver: &mut HeartDriver, sent: &Sent) {
        match self {
            Self::Lease(answer) => answer.give(driver, sent),
            Self::Node(uid, readiness) => {
                let readiness = *readiness;
                let reply = Reply::Node(NodeRecord { uid, readiness });
                let _ = driver.respond_to(sent.id, Response::new(reply));
            }
        }
    }

    fn hangs(&self) -> bool {
        matches!(self, Self::Lease(answer) if Give::<Heart>::hangs(answer))
    }
}

impl HeartServer {
    /// A server whose Node has this uid.
    ///
    /// # Panics
    /// Where the uid is too long.
    #[must_use]
    pub fn with_node(uid: &str) -> Self {
        let uid = Uid::try_from(uid).expect("a short uid");
        Self {
            node: Some((uid, Readiness::Ready)),
            ..Self::default()
        }
    }

    /// The Node is registered anew, and the garbage collector takes what its old one owned.
    ///
    /// # Panics
    /// Where the uid is too long.
    pub fn register(&mut self, uid: &str) {
        self.node = Some((Uid::try_from(uid).expect("a short uid"), Readiness::Ready));
        self.collect();
    }

    /// What the garbage collector does: a lease goes whose owner does not exist.
    pub fn collect(&mut self) {
        let living = self.node.as_ref().map(|(uid, _)| uid.as_str());
        if self.owner.is_some() && self.owner.as_deref() != living {
            self.store.lease = None;
            self.owner = None;
        }
    }

    /// Does what `sent` asks, as the API server does.
    pub fn serve(&mut self, sent: &Sent) -> HeartAnswer {
        if sent.node.is_some() {
            return match &self.node {
                Some((uid, readiness)) => HeartAnswer::Node(uid.clone(), *readiness),
                None => Answer::from(Reply::LeaseMissing).into(),
            };
        }
        if let Some(version) = &sent.deletes {
            let reply = match &self.store.lease {
                None => Reply::LeaseMissing,
                Some(stored) if stored.version == **version => {
                    self.store.lease = None;
                    self.owner = None;
                    Reply::Deleted
                }
                Some(_) => Reply::Conflict,
            };
            return Answer::from(reply).into();
        }
        let mut answer = self.store.serve(sent);
        if let Answer::Lease(record) = &mut answer {
            if let Some(owner) = sent.write.as_ref().and_then(|write| write.owner.as_ref()) {
                self.owner = Some(owner.uid.clone());
            }
            let node = if self.owner.is_some() {
                OwnerState::Current
            } else {
                OwnerState::Absent
            };
            let has_others = false;
            record.owners = Owners { node, has_others };
            if let Some(stored) = &mut self.store.lease {
                stored.owners = record.owners;
            }
        }
        answer.into()
    }
}
