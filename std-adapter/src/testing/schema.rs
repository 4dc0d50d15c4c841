//! The Go types that requests are decoded into, as far as the server knows them.

use serde_json::{Map, Value};

/// What a member may be.
#[derive(Debug)]
pub(super) enum Shape {
    Text,
    Int32,
    Int64,
    Bool,
    /// RFC 3339, answered in whole seconds.
    Time,
    /// Exactly six digits.
    MicroTime,
    /// `map[string]string`.
    Texts,
    List(&'static Self),
    Struct(&'static Struct),
    /// Kept as sent.
    Any,
}

/// A Go struct: its name, and its members in the order in which Go writes them.
#[derive(Debug)]
pub(super) struct Struct {
    pub(super) name: &'static str,
    pub(super) members: &'static [Member],
}

/// A member of a struct.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) zero: Zero,
}

/// What becomes of a zero value when Go writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// `omitempty`.
    Dropped,
    /// A pointer: only what is absent is left out.
    Kept,
    /// Always written.
    Written,
}

const fn dropped(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        zero: Zero::Dropped,
    }
}

const fn pointer(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        zero: Zero::Kept,
    }
}

const fn written(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        zero: Zero::Written,
    }
}

/// Puts the members of an object's metadata into Go's order.
pub(super) fn arrange_meta(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata") {
        arrange(meta, &META);
    }
}

/// Puts the members of a Lease and of its spec into Go's order.
pub(super) fn arrange_lease(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        arrange(spec, &LEASE_SPEC);
    }
    arrange(object, &LEASE);
}

fn arrange(object: &mut Value, kind: &Struct) {
    let Value::Object(members) = object else {
        return;
    };
    let mut arranged = Map::new();
    for member in kind.members {
        if let Some(value) = members.shift_remove(member.name) {
            arranged.insert(member.name.to_owned(), value);
        }
    }
    *members = arranged;
}

/// Takes the fields of the coordinated election away, whose gate `CoordinatedLeaderElection` is
/// off. The book-keeping of managedFields has seen them by then.
pub(super) fn drop_gated_fields(object: &mut Value) {
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        spec.shift_remove("strategy");
        spec.shift_remove("preferredHolder");
    }
}

/// `coordination/v1.Lease`
pub(super) static LEASE: Struct = Struct {
    name: "Lease",
    members: &[
        dropped("kind", Shape::Text),
        dropped("apiVersion", Shape::Text),
        written("metadata", Shape::Struct(&META)),
        written("spec", Shape::Struct(&LEASE_SPEC)),
    ],
};

static LEASE_SPEC: Struct = Struct {
    name: "LeaseSpec",
    members: &[
        pointer("holderIdentity", Shape::Text),
        pointer("leaseDurationSeconds", Shape::Int32),
        pointer("acquireTime", Shape::MicroTime),
        pointer("renewTime", Shape::MicroTime),
        pointer("leaseTransitions", Shape::Int32),
        pointer("strategy", Shape::Text),
        pointer("preferredHolder", Shape::Text),
    ],
};

/// `meta/v1.ObjectMeta`.
pub(super) static META: Struct = Struct {
    name: "ObjectMeta",
    members: &[
        dropped("name", Shape::Text),
        dropped("generateName", Shape::Text),
        dropped("namespace", Shape::Text),
        dropped("selfLink", Shape::Text),
        dropped("uid", Shape::Text),
        dropped("resourceVersion", Shape::Text),
        dropped("generation", Shape::Int64),
        dropped("creationTimestamp", Shape::Time),
        pointer("deletionTimestamp", Shape::Time),
        pointer("deletionGracePeriodSeconds", Shape::Int64),
        dropped("labels", Shape::Texts),
        dropped("annotations", Shape::Texts),
        dropped("ownerReferences", Shape::List(&Shape::Struct(&OWNER))),
        dropped("finalizers", Shape::List(&Shape::Text)),
        dropped("managedFields", Shape::Any),
    ],
};

static OWNER: Struct = Struct {
    name: "OwnerReference",
    members: &[
        written("apiVersion", Shape::Text),
        written("kind", Shape::Text),
        written("name", Shape::Text),
        written("uid", Shape::Text),
        pointer("controller", Shape::Bool),
        pointer("blockOwnerDeletion", Shape::Bool),
    ],
};
