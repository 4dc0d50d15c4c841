//! `leaderelection_test.go`: `TestFastPathLeaderElection`.

use kubelease_tests::prelude::*;

use super::QUICK;

/// The methods of all requests of a life on `store`, whose PUT number `conflict` meets a conflict.
fn requests(until: u64, conflict: usize) -> Vec<&'static str> {
    let mut e = Driver::new(QUICK);
    let (mut store, mut updates, mut methods) = (Store::default(), 0, Vec::new());
    run(&mut e, until, 10, |_, sent| {
        let update = sent
            .write
            .as_ref()
            .is_some_and(|write| write.version().is_some());
        methods.push(match (&sent.write, update) {
            (None, _) => "get",
            (Some(_), false) => "create",
            (Some(_), true) => "update",
        });
        updates += usize::from(update);
        if update && updates == conflict {
            Reply::Conflict.into()
        } else {
            store.serve(sent)
        }
    });
    methods
}

#[test]
fn le_18_renewals_need_no_read() {
    assert_eq!(requests(2_500, 0), ["get", "create", "update", "update"]);
}

#[test]
fn le_19_a_conflict_is_followed_by_one_read() {
    let expected = [
        "get", "create", "update", "update", "get", "update", "update",
    ];
    assert_eq!(requests(3_500, 2), expected);
}
