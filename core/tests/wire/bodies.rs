//! Bodies as API servers send them.

/// The five members of `spec`, and nothing else.
pub(crate) const BARE: &str = concat!(
    r#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","#,
    r#""namespace":"default","uid":"0b6a3f3c-6a2e-4f4c-9a35-6c1b7d0c9a11","resourceVersion":"907","#,
    r#""creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"holderIdentity":"node-1_5f0c","#,
    r#""leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05.000006Z","#,
    r#""renewTime":"2026-01-02T03:05:05.000007Z","leaseTransitions":3}}"#,
    "\n"
);

/// All that a Lease can carry besides.
pub(crate) const RICH: &str = concat!(
    r#"{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","#,
    r#""namespace":"default","uid":"0b6a3f3c-6a2e-4f4c-9a35-6c1b7d0c9a11","#,
    r#""resourceVersion":"18446744073709551615","generation":4,"#,
    r#""creationTimestamp":"2026-01-02T03:04:05Z","#,
    r#""labels":{"app":"x","example.com\/zone":"east","empty":""},"#,
    r#""annotations":{"last":"{\"a\":[1,2,{\"b\":\"\\\"\"}]}\n","html":"\u003cb\u003e \u0026"},"#,
    r#""ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1"},"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u2","controller":true,"#,
    r#""blockOwnerDeletion":false}],"finalizers":["example.com/hold"],"future":{"deep":[[{}]]},"#,
    r#""managedFields":[{"manager":"kubelease","operation":"Update","#,
    r#""apiVersion":"coordination.k8s.io/v1","time":"2026-01-02T03:05:05Z","fieldsType":"FieldsV1","#,
    r#""fieldsV1":{"f:spec":{"f:acquireTime":{},"f:holderIdentity":{},"f:renewTime":{}}}}]},"#,
    r#""spec":{"holderIdentity":"node-1_5f0c","leaseDurationSeconds":15,"#,
    r#""acquireTime":"2026-01-02T03:04:05.000006Z","renewTime":"2026-01-02T03:05:05.000007Z","#,
    r#""leaseTransitions":3,"strategy":"OldestEmulationVersion","preferredHolder":"b","#,
    r#""future":{"a":[1,-2.5e+3,true,null]}},"later":{"x":"y"}}"#,
    "\n"
);

/// Pretty-printed, members in another order, and times in other forms.
pub(crate) const PRETTY: &str = r#"
{
  "spec": {
    "renewTime": null,
    "acquireTime": "2026-01-02T04:04:05.000006+01:00",
    "leaseTransitions": 0 ,
    "holderIdentity": "",
    "strategy": "example.com/x"
  },
  "metadata": {
    "labels": { "a" : "b", "c" :	"d" },
    "creationTimestamp": null,
    "resourceVersion": "12",
    "deletionTimestamp": "2026-01-02T03:04:05Z",
    "finalizers": [ "example.com/hold", "b" ]
  }
}
"#;

/// Escapes and characters of every length.
pub(crate) const UNICODE: &str = concat!(
    r#"{"metadata":{"uid":"u","resourceVersion":"1\u0032","annotations":{"é😀":"\ud83d\ude00"}},"#,
    r#""spec":{"holderIdentity":"\u003ca\u0026b\u003e\u2028é😀\ud83d\ude00\"\\\/\b\f\n\r\t\u0000","#,
    r#""leaseDurationSeconds":2147483647,"renewTime":"soon","#,
    r#""acquireTime":"10000-01-01T00:59:59.999999Z"}}"#,
);

/// A holder of 200 bytes, and no uid.
pub(crate) const LONG_HOLDER: &str = concat!(
    r#"{"kind":"Lease","metadata":{"resourceVersion":"5"},"spec":{"holderIdentity":""#,
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    r#"","leaseDurationSeconds":-1}}"#,
);

/// No spec at all.
pub(crate) const NO_SPEC: &str =
    r#"{"kind":"Lease","metadata":{"resourceVersion":"5","labels":null},"spec":null}"#;

/// An empty spec.
pub(crate) const EMPTY_SPEC: &str = r#"{"metadata":{"uid":null,"resourceVersion":"5"},"spec":{}}"#;

/// All of the above.
pub(crate) const LEASES: [&str; 7] = [
    BARE,
    RICH,
    PRETTY,
    UNICODE,
    LONG_HOLDER,
    NO_SPEC,
    EMPTY_SPEC,
];

/// The lease is missing.
pub(crate) const NOT_FOUND: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""leases.coordination.k8s.io \"a\" not found","reason":"NotFound","#,
    r#""details":{"name":"a","group":"coordination.k8s.io","kind":"leases"},"code":404}"#,
    "\n"
);

/// The namespace is missing.
pub(crate) const NO_NAMESPACE: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""namespaces \"ns\" not found","reason":"NotFound","#,
    r#""details":{"name":"ns","kind":"namespaces"},"code":404}"#,
    "\n"
);

/// A path that is not served.
pub(crate) const NO_RESOURCE: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""the server could not find the requested resource","reason":"NotFound","details":{},"#,
    r#""code":404}"#,
    "\n"
);

/// The namespace is being deleted.
pub(crate) const TERMINATING: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""leases.coordination.k8s.io \"a\" is forbidden: unable to create new content in namespace "#,
    r#"ns because it is being terminated","reason":"Forbidden","details":{"name":"a","#,
    r#""group":"coordination.k8s.io","kind":"leases","causes":[{"reason":"Other","field":"x"},"#,
    r#"{"reason":"NamespaceTerminating","message":"namespace ns is being terminated","#,
    r#""field":"metadata.namespace"}]},"code":403}"#,
    "\n"
);

/// A PUT without a version over a Lease that is there.
pub(crate) const VERSION_MISSING: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""leases.coordination.k8s.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: "#,
    r#"must be specified for an update","reason":"Invalid","details":{"name":"a","#,
    r#""group":"coordination.k8s.io","kind":"leases","causes":[{"reason":"FieldValueInvalid","#,
    r#""message":"Invalid value: 0: must be specified for an update","#,
    r#""field":"metadata.resourceVersion"}]},"code":422}"#,
    "\n"
);

/// A spec that the server refuses.
pub(crate) const INVALID: &str = concat!(
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
    r#""Lease.coordination.k8s.io \"a\" is invalid","reason":"Invalid","details":{"name":"a","#,
    r#""kind":"Lease","causes":[{"reason":"FieldValueInvalid","message":"m","#,
    r#""field":"spec.leaseDurationSeconds"}]},"code":422}"#,
    "\n"
);

/// The outer timeout filter: no kind.
pub(crate) const TIMEOUT: &str = concat!(
    r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the "#,
    r#"allotted timeout","reason":"Timeout","details":{"retryAfterSeconds":2},"code":504}"#,
);

/// All the errors above.
pub(crate) const STATUSES: [&str; 7] = [
    NOT_FOUND,
    NO_NAMESPACE,
    NO_RESOURCE,
    TERMINATING,
    VERSION_MISSING,
    INVALID,
    TIMEOUT,
];
