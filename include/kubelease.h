/// @file
/// kubelease: Kubernetes Lease-based leader election and heartbeats for C and C++.
///
/// The library opens no socket, reads no clock, allocates nothing, has no global state and no
/// threads. It is a plain value in your storage: time and answers go in, and kl_elector_poll says
/// what to do next. You bring TLS, HTTP and a clock.
///
/// One election, all of it:
///
///     static kl_elector elector;
///
///     kl_elector_config config;
///     kl_elector_config_default(&config, sizeof config);
///     config.namespace_ = KL_STR("default");
///     config.name = KL_STR("my-agent");
///     config.identity = my_unique_name;               // a kl_str; host name and something random
///     config.seed = my_random_number;
///     kl_now now = my_clocks();                       // milliseconds since boot, UTC or unknown
///     kl_status status = kl_elector_init(&elector, sizeof elector, &config, &now);
///     if (status != KL_OK) { puts(kl_status_name(status)); return; }
///
///     for (;;) {
///         kl_action action = KL_ACTION_INIT;
///         now = my_clocks();
///         kl_elector_poll(&elector, &now, &action);
///         switch (action.kind) {
///         case KL_ACTION_EVENT:                       // action.event: a kl_event
///             if (action.event == KL_EVENT_STOPPED_LEADING) my_work_must_end();
///             break;
///         case KL_ACTION_SEND:                        // see kl_elector_request and _request_read
///             my_send(&elector, action.request_id, action.deadline_ms);
///             break;
///         case KL_ACTION_CANCEL:
///             my_close_connection();
///             break;
///         case KL_ACTION_WAIT:                        // for an answer, or for the deadline
///             my_wait(&elector, action.deadline_ms);  // feeds kl_elector_response_* what came
///             break;
///         case KL_ACTION_STOPPED:
///             return;
///         }
///         if (kl_elector_is_leading(&elector, my_clocks().mono_ms)) my_step_of_work();
///     }
///
/// A heartbeat, kl_heartbeat, keeps one Lease renewed as kubelet does for its node; its loop is the
/// same. Complete programs: examples/c and examples/cpp.
///
/// Rules for every function
///
/// * It answers KL_OK (0), or a negative kl_status; then it has changed nothing, neither the object
///   nor any output. NULL, misaligned pointers, storage that was not initialised, numbers that are
///   none of their kind and calls out of order are answered, never obeyed.
/// * A pointer that is not NULL points to as much memory as its type, or the length beside it, says.
///   No output may lie inside an object or another output.
/// * A text or buffer is used until the call returns, unless its description says otherwise.
///   Texts of a configuration are borrowed for the life of the object: keep them in static memory.
///   Views (kl_str) that a function hands out are static, or good until the next call that changes
///   the object.
/// * Objects need no end: forget the storage, or initialise it again. Between two calls an object
///   can be moved with memcpy.
/// * Functions that take a pointer to const may run at the same time on one object, others not.
///   Objects are independent of each other. Nothing may be called from an interrupt or signal
///   handler, but for kl_version_* and kl_abi_version.
/// * Structures whose first member is size may grow in later versions: set it to sizeof, which
///   kl_..._config_default and the KL_..._INIT macros do. The library reads and writes no more
///   than that.
/// * Numbers of a kind that later versions may add to are to be ignored where unknown.
///
/// License: Apache-2.0 OR MIT.

#ifndef KUBELEASE_H
#define KUBELEASE_H

// Made by cbindgen from ffi/src: change it there.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_VERSION_MAJOR 0        ///< The first number of the version.
#define KL_VERSION_MINOR 1        ///< The second.
#define KL_VERSION_PATCH 0        ///< The third.
#define KL_VERSION_STRING "0.1.0" ///< All three.

/// 8 bits each; compare it with kl_version_number().
#define KL_VERSION_NUMBER \
    ((KL_VERSION_MAJOR << 16) | (KL_VERSION_MINOR << 8) | KL_VERSION_PATCH)

/// Whether this header is of version a.b.c or later; a condition for the preprocessor, too.
#define KL_VERSION_AT_LEAST(a, b, c) (KL_VERSION_NUMBER >= (((a) << 16) | ((b) << 8) | (c)))

/// Compare it with kl_abi_version().
#define KL_ABI_VERSION 1

/// A kl_str of a string literal, where one is initialised or assigned.
#ifdef __cplusplus
#define KL_STR(literal) (kl_str{("" literal), sizeof(literal) - 1})
#else
#define KL_STR(literal) ((kl_str){("" literal), sizeof(literal) - 1})
#endif

/// What the size of the objects hangs on.
#if UINTPTR_MAX > 0xffffffffu
#define KL_POINTERS_HAVE_64_BITS
#else
#define KL_POINTERS_HAVE_32_BITS
#endif

/// What a kl_action begins with.
#define KL_ACTION_INIT {(uint32_t)sizeof(kl_action), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/// What a kl_health begins with.
#define KL_HEALTH_INIT {(uint32_t)sizeof(kl_health), 0, 0, 0, 0, 0, 0}
/// What a kl_request begins with.
#define KL_REQUEST_INIT {(uint32_t)sizeof(kl_request), 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0}


/// kl_now.unix_us where there is no civil clock, or it is not set.
#define KL_WALL_UNKNOWN INT64_MIN

/// An instant that never comes, and a length of time that has not begun.
#define KL_NEVER UINT64_MAX

#if defined(KL_POINTERS_HAVE_64_BITS)
/// Words of 64 bits in a kl_elector.
#define KL_ELECTOR_WORDS 184
#endif

#if defined(KL_POINTERS_HAVE_32_BITS)
/// Words of 64 bits in a kl_elector.
#define KL_ELECTOR_WORDS 164
#endif

/// Bytes in kl_fence.lease_uid.
#define KL_UID_MAX 40

#if defined(KL_POINTERS_HAVE_64_BITS)
/// Words of 64 bits in a kl_heartbeat.
#define KL_HEARTBEAT_WORDS 160
#endif

#if defined(KL_POINTERS_HAVE_32_BITS)
/// Words of 64 bits in a kl_heartbeat.
#define KL_HEARTBEAT_WORDS 116
#endif

/// How many bytes of scratch kl_elector_request_pieces and kl_heartbeat_request_pieces want.
#define KL_PIECES_SCRATCH 128

/// The values of kl_status.
enum kl_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// It was done.
    KL_OK = 0,
    /// A pointer is NULL or misaligned, a length is too large, or a number is none of its kind.
    KL_ERR_ARG = -1,
    /// The storage of the object is too small or misaligned.
    KL_ERR_STORAGE = -2,
    /// The object was not initialised, or its storage was written over.
    KL_ERR_NOT_INIT = -3,
    /// The call came from the log hook of the same object.
    KL_ERR_REENTRANT = -4,
    /// A structure says a size smaller than its first release had. Set its member size.
    KL_ERR_SIZE = -5,
    /// The request id is not in flight any more, or its answer has not begun. Late answers meet
    /// this, and it is harmless.
    KL_ERR_STALE = -6,
    /// The answer to the request has begun: the request cannot be read any more.
    KL_ERR_ANSWER_BEGUN = -7,
    /// This process does not lead.
    KL_ERR_NOT_LEADING = -8,
    /// config: the namespace is no DNS-1123 label of at most 63 bytes.
    KL_ERR_NAMESPACE = -9,
    /// config: the name is no DNS-1123 subdomain of at most 253 bytes.
    KL_ERR_NAME = -10,
    /// config: the identity or holder is not 1 to 253 bytes of UTF-8 without control characters,
    /// quotes and backslashes.
    KL_ERR_IDENTITY = -11,
    /// config: more than 4 labels, two with one key, one that kl_label_init has not filled, or one
    /// that Kubernetes refuses.
    KL_ERR_LABEL = -12,
    /// config: KL_WRITE_UPDATE without a keep buffer.
    KL_ERR_KEEP = -13,
    /// config: lease_duration_ms is zero, is no whole number of seconds, or, of an elector, is less
    /// than 100 ms longer than renew_deadline_ms.
    KL_ERR_LEASE_DURATION = -14,
    /// config: renew_deadline_ms is zero, or does not lie below lease_duration_ms.
    KL_ERR_RENEW_DEADLINE = -15,
    /// config: retry_period_ms is zero, or reaches renew_deadline_ms with its jitter.
    KL_ERR_RETRY_PERIOD = -16,
    /// config: retry_period_ms + 2 * request_timeout_ms is more than renew_deadline_ms. Of a
    /// heartbeat: its request timeout comes out as zero.
    KL_ERR_REQUEST_TIMEOUT = -17,
    /// config: jitter_percent is above 500, or above 100 for a heartbeat.
    KL_ERR_JITTER = -18,
    /// config: what this version of the library does not know. The library is older than the
    /// header.
    KL_ERR_UNSUPPORTED = -19,
    /// config: a beat that takes its whole request timeout would come after the Lease has run out:
    /// interval_ms, its jitter and request_timeout_ms are together more than lease_duration_ms.
    KL_ERR_INTERVAL = -20,
    /// config: the node is no DNS-1123 subdomain of at most 253 bytes; its uid is not 1 to 40
    /// visible characters without quotes and backslashes; or there is no node although node_uid,
    /// KL_HEARTBEAT_OWNER_REQUIRED or KL_HEARTBEAT_WATCH_NODE wants one.
    KL_ERR_NODE = -21,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_code kl_code;
#else
typedef int32_t kl_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// How a Lease that exists is written. Both ways lose nothing of what others put into it.
enum kl_write
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// PATCH (merge patch) with our own members only. It needs no memory, and the verbs get,
    /// create and patch in the Role.
    KL_WRITE_PATCH = 0,
    /// PUT of the whole Lease, what is not ours being kept in the caller's buffer. It needs the
    /// verbs get, create and update, which every Role made for client-go has.
    KL_WRITE_UPDATE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_write kl_write;
#else
typedef uint32_t kl_write;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What to do where there is no Lease.
enum kl_create
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// POST to the collection: needs create on all Leases of the namespace.
    KL_CREATE_POST = 0,
    /// PUT to the Lease's own URL, which a Role with resourceNames can grant.
    KL_CREATE_PUT = 1,
    /// Never create; wait until somebody has.
    KL_CREATE_NEVER = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_create kl_create;
#else
typedef uint32_t kl_create;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Bits of kl_elector_config.flags.
enum kl_config_flag
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Wait out a record of this identity that an earlier life left, like anybody's. Without it
    /// such a record is taken over at once.
    KL_CONFIG_OWN_IS_FOREIGN = 1,
    /// Take a Lease at once where its renewTime is past by its duration and max_skew_ms, judged by
    /// the server's clock. It rests on the clock of every process that writes the Lease.
    KL_CONFIG_TRUST_RENEW_TIME = 2,
    /// With KL_WRITE_UPDATE, where the keep buffer is too small: PATCH that once. Without it
    /// nothing is written then, and the event is KL_EVENT_TROUBLE with KL_TROUBLE_TOO_LARGE.
    KL_CONFIG_PATCH_WHEN_TOO_LARGE = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_config_flag kl_config_flag;
#else
typedef uint32_t kl_config_flag;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Values of kl_action.kind. Others may come in a later version: poll again on them.
enum kl_action_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Nothing to do before deadline_ms, but for an answer that comes or a call of yours.
    KL_ACTION_WAIT = 1,
    /// Send request request_id, now: see kl_elector_request. At and past deadline_ms its answer
    /// counts as lost. Poll again.
    KL_ACTION_SEND = 2,
    /// The answer to request_id is no longer wanted: end its connection. Poll again.
    KL_ACTION_CANCEL = 3,
    /// Something happened: see event. Poll again.
    KL_ACTION_EVENT = 4,
    /// The object has ended; it will never want anything again.
    KL_ACTION_STOPPED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_action_kind kl_action_kind;
#else
typedef uint32_t kl_action_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Values of kl_action.event. Others may come in a later version: ignore them.
enum kl_event
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// This process leads from now on; kl_elector_fence has the token. term is set.
    KL_EVENT_STARTED_LEADING = 1,
    /// This process no longer leads. term, reason (a kl_stop_reason) and must_cease_by_ms are set:
    /// all work of the term must have ended at that instant.
    KL_EVENT_STOPPED_LEADING = 2,
    /// Another holder was seen, or none any more; kl_elector_leader has the name.
    KL_EVENT_LEADER_CHANGED = 3,
    /// The Lease had been deleted under this leader, who has made it anew: the fence is another,
    /// the term is the same. A heartbeat has made its Lease anew.
    KL_EVENT_LEASE_RECREATED = 4,
    /// The Lease is marked for deletion and waits for its finalizers.
    KL_EVENT_LEASE_BEING_DELETED = 5,
    /// A second process with the same identity is alive.
    KL_EVENT_IDENTITY_COLLISION = 6,
    /// The server refuses the credentials: read them again; one retry follows at once.
    KL_EVENT_CREDENTIALS_REJECTED = 7,
    /// Two requests in a row got no answer: drop all connections.
    KL_EVENT_RECONNECT_ADVISED = 8,
    /// A lower resourceVersion than before: the server's store was restored from a backup.
    KL_EVENT_VERSION_WENT_BACK = 9,
    /// Something that will not heal by itself; the object goes on trying. reason (a
    /// kl_trouble_kind), verb (a kl_verb) and detail (the status code of KL_TROUBLE_REFUSED) are
    /// set.
    KL_EVENT_TROUBLE = 10,
    /// The object has ended; reason is a kl_finish.
    KL_EVENT_FINISHED = 11,
    /// With KL_HEARTBEAT_WATCH_NODE: the Node of a heartbeat is not ready, although its Lease is
    /// beaten. reason is a kl_readiness.
    KL_EVENT_NODE_NOT_READY = 12,
    /// What this version of the C interface has no word for.
    KL_EVENT_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_event kl_event;
#else
typedef uint32_t kl_event;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Why leadership ended: kl_action.reason of KL_EVENT_STOPPED_LEADING.
enum kl_stop_reason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// No write was acknowledged within the renew deadline.
    KL_STOP_DEADLINE = 1,
    /// The record names somebody else, or nobody.
    KL_STOP_LOST = 2,
    /// kl_elector_step_down was called.
    KL_STOP_STEPPED_DOWN = 3,
    /// kl_elector_stop or kl_elector_work_done was called.
    KL_STOP_STOPPED = 4,
    /// The monotonic clock went back.
    KL_STOP_CLOCK_RESET = 5,
    /// What this version of the C interface has no word for.
    KL_STOP_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_stop_reason kl_stop_reason;
#else
typedef uint32_t kl_stop_reason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What keeps an object from its work: kl_action.reason of KL_EVENT_TROUBLE.
enum kl_trouble_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// 403 over at least a second.
    KL_TROUBLE_FORBIDDEN = 1,
    /// 400: the server cannot read what is sent.
    KL_TROUBLE_BAD_REQUEST = 2,
    /// 422: the server refuses what is sent.
    KL_TROUBLE_INVALID = 3,
    /// The namespace does not exist.
    KL_TROUBLE_NAMESPACE_MISSING = 4,
    /// The namespace is being deleted.
    KL_TROUBLE_NAMESPACE_TERMINATING = 5,
    /// The server has no coordination.k8s.io/v1, or a proxy in front has another idea of paths.
    KL_TROUBLE_API_UNAVAILABLE = 6,
    /// A status that no API server gives here; detail has it.
    KL_TROUBLE_REFUSED = 7,
    /// The Lease carries more than the keep buffer takes, and a patch is not allowed.
    KL_TROUBLE_TOO_LARGE = 8,
    /// The Lease does not exist and is never to be created.
    KL_TROUBLE_LEASE_MISSING = 9,
    /// The Node that is to own the Lease of a heartbeat does not exist.
    KL_TROUBLE_NODE_MISSING = 10,
    /// Somebody else holds the Lease of a heartbeat, and has not yet run out.
    KL_TROUBLE_HELD_BY_ANOTHER = 11,
    /// kl_heartbeat_alive was not called in time: beats are left out.
    KL_TROUBLE_NOT_ALIVE = 12,
    /// The renewTime of the Lease cannot be raised any more.
    KL_TROUBLE_TIME_USED_UP = 13,
    /// A success without a body.
    KL_TROUBLE_BODY_EMPTY = 32,
    /// A success with another body than JSON, such as a proxy's page of HTML.
    KL_TROUBLE_BODY_NOT_JSON = 33,
    /// A success whose JSON ends too soon.
    KL_TROUBLE_BODY_TRUNCATED = 34,
    /// A success whose JSON breaks the grammar, or has a known member of the wrong type.
    KL_TROUBLE_BODY_MALFORMED = 35,
    /// A success whose JSON is nested more deeply than any Lease.
    KL_TROUBLE_BODY_TOO_DEEP = 36,
    /// A success with another object than a Lease.
    KL_TROUBLE_BODY_NOT_A_LEASE = 37,
    /// A success without metadata.resourceVersion.
    KL_TROUBLE_BODY_NO_VERSION = 38,
    /// A success with a uid or resourceVersion longer than any server makes.
    KL_TROUBLE_BODY_VERSION_TOO_LONG = 39,
    /// A success with a body of more than 4 MiB.
    KL_TROUBLE_BODY_TOO_LONG = 40,
    /// A success other than 200 and 201.
    KL_TROUBLE_BODY_UNEXPECTED_STATUS = 41,
    /// A Lease that is not the one just written.
    KL_TROUBLE_BODY_NOT_MY_WRITE = 42,
    /// What this version of the C interface has no word for.
    KL_TROUBLE_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_trouble_kind kl_trouble_kind;
#else
typedef uint32_t kl_trouble_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// How an object ended: kl_action.reason of KL_EVENT_FINISHED.
enum kl_finish
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// The Lease was given up; others may take it at once.
    KL_FINISH_RELEASED = 1,
    /// There was nothing to give up.
    KL_FINISH_NOT_HOLDER = 2,
    /// The last write was sent and its outcome is not known.
    KL_FINISH_UNKNOWN = 3,
    /// The last write could not be done within its budget.
    KL_FINISH_FAILED = 4,
    /// The Lease stays as it is, or as the final beat left it, and runs out.
    KL_FINISH_KEPT = 5,
    /// The Lease was deleted.
    KL_FINISH_DELETED = 6,
    /// What this version of the C interface has no word for.
    KL_FINISH_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_finish kl_finish;
#else
typedef uint32_t kl_finish;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// The right that is missing: kl_action.verb of KL_EVENT_TROUBLE.
enum kl_verb
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// get.
    KL_VERB_GET = 1,
    /// create.
    KL_VERB_CREATE = 2,
    /// update, or patch with KL_WRITE_PATCH.
    KL_VERB_UPDATE = 3,
    /// watch.
    KL_VERB_WATCH = 4,
    /// get, on nodes.
    KL_VERB_GET_NODE = 5,
    /// delete.
    KL_VERB_DELETE = 6,
    /// What this version of the C interface has no word for.
    KL_VERB_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_verb kl_verb;
#else
typedef uint32_t kl_verb;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Values of kl_health.state. Others may come in a later version.
enum kl_health_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// It can do its work.
    KL_HEALTH_OK = 1,
    /// No good answer for the lease duration and 20 s more.
    KL_HEALTH_UNREACHABLE = 2,
    /// Nobody polls it: its deadlines have passed unseen.
    KL_HEALTH_NOT_POLLED = 3,
    /// No beat of a heartbeat was acknowledged for a lease duration.
    KL_HEALTH_LAPSED = 4,
    /// kl_heartbeat_alive was not called for liveness_ttl_ms.
    KL_HEALTH_NOT_ALIVE = 5,
    /// What this version of the C interface has no word for.
    KL_HEALTH_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_health_state kl_health_state;
#else
typedef uint32_t kl_health_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Values of kl_request.method.
enum kl_method
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// GET.
    KL_METHOD_GET = 1,
    /// POST.
    KL_METHOD_POST = 2,
    /// PUT.
    KL_METHOD_PUT = 3,
    /// PATCH.
    KL_METHOD_PATCH = 4,
    /// DELETE.
    KL_METHOD_DELETE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_method kl_method;
#else
typedef uint32_t kl_method;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// The two parts of a request that are read by offset.
enum kl_request_part
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Path and query, from the first slash on: ASCII that needs no escaping.
    KL_PART_TARGET = 1,
    /// The body.
    KL_PART_BODY = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_request_part kl_request_part;
#else
typedef uint32_t kl_request_part;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Why a request has no answer.
enum kl_transport_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Nothing was sent: no name, no connection, no handshake.
    KL_TRANSPORT_NOT_SENT = 1,
    /// Something may have been sent, so that a write may have been done. When in doubt, this one.
    KL_TRANSPORT_UNKNOWN = 2,
    /// It took too long; a write may have been done.
    KL_TRANSPORT_TIMED_OUT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_transport_error kl_transport_error;
#else
typedef uint32_t kl_transport_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// Bits of kl_heartbeat_config.flags.
enum kl_heartbeat_flag
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// The first beat comes at once. Without it, at a random moment of the first interval, so that
    /// a thousand that start together do not beat together.
    KL_HEARTBEAT_AT_ONCE = 1,
    /// Nothing is ever created without the owner, nor a Lease beaten that has no owner of the
    /// Node's name. Leases without one stay behind when their Node goes.
    KL_HEARTBEAT_OWNER_REQUIRED = 2,
    /// Beat a Lease although somebody else holds it. Without it his record is waited out.
    KL_HEARTBEAT_FORCE_OWNER = 4,
    /// Look at the Node after the first beat and after an outage of a lease duration or more, and
    /// say KL_EVENT_NODE_NOT_READY until it is ready: a beating Lease does not bring a Node back
    /// that was found dead. It needs the verb get on that Node.
    KL_HEARTBEAT_WATCH_NODE = 8,
    /// With KL_WRITE_UPDATE, where the keep buffer is too small: PATCH that once. Without it
    /// nothing is written then, and the event is KL_EVENT_TROUBLE with KL_TROUBLE_TOO_LARGE.
    KL_HEARTBEAT_PATCH_WHEN_TOO_LARGE = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_heartbeat_flag kl_heartbeat_flag;
#else
typedef uint32_t kl_heartbeat_flag;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What becomes of the Lease: the argument how of kl_heartbeat_retire.
enum kl_retire
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// It stays as it is, and runs out. KL_FINISH_KEPT follows at once.
    KL_RETIRE_KEEP = 1,
    /// It is beaten once more, so that it lasts through a short restart; then KL_FINISH_KEPT.
    KL_RETIRE_FINAL_BEAT = 2,
    /// It is deleted, if it still names this holder. The node controller notices that no sooner
    /// than silence; but nothing is left behind. It needs the verb delete.
    KL_RETIRE_DELETE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_retire kl_retire;
#else
typedef uint32_t kl_retire;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// The status of a Node's condition Ready: kl_action.reason of KL_EVENT_NODE_NOT_READY.
enum kl_readiness
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// The Node has no such condition, or it says something else.
    KL_READINESS_UNSAID = 1,
    /// True.
    KL_READINESS_READY = 2,
    /// False: the Node's agent said so.
    KL_READINESS_NOT_READY = 3,
    /// Unknown: the node controller missed the heartbeats.
    KL_READINESS_UNKNOWN = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_readiness kl_readiness;
#else
typedef uint32_t kl_readiness;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// How much a line of the log matters.
enum kl_log_level
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Something to look into.
    KL_LOG_WARN = 1,
    /// What an operator wants to see.
    KL_LOG_INFO = 2,
    /// Each request and each answer.
    KL_LOG_DEBUG = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_log_level kl_log_level;
#else
typedef uint32_t kl_log_level;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What a line of the log says, with its two numbers a and b. Others may come in a later version.
enum kl_log_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// An event was taken; a: kl_event, b: kl_action.reason.
    KL_LOG_EVENT = 1,
    /// A request goes out; a: its id, b: its deadline.
    KL_LOG_SEND = 2,
    /// A request was given up; a: its id.
    KL_LOG_CANCEL = 3,
    /// An answer is complete; a: id of the request, b: status code.
    KL_LOG_ANSWER = 4,
    /// A request has no answer; a: its id, b: kl_transport_error.
    KL_LOG_NO_ANSWER = 5,
    /// The object has ended.
    KL_LOG_STOPPED = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kl_log_code kl_log_code;
#else
typedef uint32_t kl_log_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What a call answers: KL_OK, or a negative code of kl_code. A call that answers a negative code
/// has changed nothing, neither the object nor any output.
typedef int32_t kl_status;

/// An elector. The storage is the caller's: static, on a stack, in another structure. All of it
/// is the library's, there is nothing to free, and zeroed storage is good: every call answers
/// KL_ERR_NOT_INIT until kl_elector_init was called.
///
/// It may be copied or moved between two calls, with memcpy; of the copies only one may be used
/// on. It is never passed or returned by value.
typedef struct {
    /// Not for callers.
    uint64_t _opaque[KL_ELECTOR_WORDS];
} kl_elector;

/// The two clocks at the moment of a call. It never grows.
typedef struct {
    /// Monotonic milliseconds from any origin that lies in the past. All decisions rest on it. It
    /// must go on while the system sleeps (CLOCK_BOOTTIME on Linux). A step back of up to 1 s is
    /// ignored; a longer one is a reset of the clock, and ends leadership. A value beyond 2^62 is
    /// no time but a mistake: nobody leads then, and nothing else happens until there is a time.
    uint64_t mono_ms;
    /// Microseconds since 1970-01-01T00:00:00Z, or KL_WALL_UNKNOWN. It is written into the Lease
    /// and decides nothing. Without it the server's Date header is used.
    int64_t unix_us;
} kl_now;

/// What an elector or heartbeat wants next. Set size, or begin with KL_ACTION_INIT. Members that
/// kind and event do not name are 0.
typedef struct {
    /// sizeof(kl_action); the caller sets it.
    uint32_t size;
    /// A kl_action_kind.
    uint32_t kind;
    /// KL_ACTION_WAIT: poll again at this instant, at the latest. KL_ACTION_SEND: give up at it.
    /// KL_NEVER where there is none.
    uint64_t deadline_ms;
    /// KL_ACTION_SEND and KL_ACTION_CANCEL: which request. Never 0 then.
    uint32_t request_id;
    /// KL_ACTION_EVENT: a kl_event.
    uint32_t event;
    /// Why: kl_stop_reason, kl_trouble_kind, kl_finish or kl_readiness, by the event.
    uint32_t reason;
    /// A kl_verb.
    uint32_t verb;
    /// A status code of HTTP.
    uint32_t detail;
    /// 0.
    uint32_t reserved;
    /// Counts the terms of this elector, from 1.
    uint64_t term;
    /// All work of the term must have ended at this instant.
    uint64_t must_cease_by_ms;
} kl_action;

/// Text: a pointer and a length in bytes. It is not NUL-terminated, neither into the library nor
/// out of it. NULL is good where len is 0. It never grows.
typedef struct {
    /// The first byte.
    const char *ptr;
    /// How many bytes.
    size_t len;
} kl_str;

/// One label that the elector asserts when it acquires. kl_label_init fills it; its members are
/// the library's.
typedef struct {
    /// Not for callers.
    size_t _opaque[4];
} kl_label;

/// What an elector is told once. Fill it with kl_elector_config_default first. Texts, labels and
/// the keep buffer are borrowed for the life of the elector; the structure itself only for the
/// call of kl_elector_init.
typedef struct {
    /// sizeof(kl_elector_config).
    uint32_t size;
    /// Bits of kl_config_flag.
    uint32_t flags;
    /// The namespace of the Lease.
    kl_str namespace_;
    /// The name of the Lease.
    kl_str name;
    /// The name of this candidate, 1 to 253 bytes. Unique for each living process: a host name and
    /// something random. One that is not costs leadership, not safety.
    kl_str identity;
    /// Labels to assert on each write that acquires; all others are kept.
    const kl_label *labels;
    /// How many, at most 4.
    size_t label_count;
    /// For KL_WRITE_UPDATE: takes all of the Lease that is not ours. 1 KiB serves most, 256 KiB
    /// all. Nobody else may use it while the elector lives.
    uint8_t *keep;
    /// Its length in bytes.
    size_t keep_len;
    /// A kl_write.
    uint32_t write;
    /// A kl_create.
    uint32_t create;
    /// How long others wait after a leader's last sign of life. Whole seconds; 15000 by default.
    uint32_t lease_duration_ms;
    /// How long a leader believes after its last acknowledged write was sent; 10000 by default.
    uint32_t renew_deadline_ms;
    /// Time between renewals, and between the looks of a candidate; 2000 by default.
    uint32_t retry_period_ms;
    /// How long one request may take; 0, the default: half of what renew deadline and retry period
    /// leave, at most 15000.
    uint32_t request_timeout_ms;
    /// Hundredths of the retry period by which a candidate's looks are spread; 20 by default.
    uint32_t jitter_percent;
    /// How long giving up the Lease may take; 0, the default: the renew deadline.
    uint32_t release_budget_ms;
    /// For KL_CONFIG_TRUST_RENEW_TIME: how far the clocks of those who write the Lease may differ.
    uint32_t max_skew_ms;
    /// 0.
    uint32_t reserved;
    /// Seeds the jitter. Give each process its own; nothing secret is made of it.
    uint64_t seed;
} kl_elector_config;

/// What a guarded store can compare, so that a leader of the past is refused. It never grows.
typedef struct {
    /// metadata.resourceVersion that the acquiring write produced; 0 where it is no number.
    uint64_t acquired_version;
    /// spec.leaseTransitions that the acquiring write set.
    uint32_t transitions;
    /// How many bytes of lease_uid there are.
    uint32_t lease_uid_len;
    /// metadata.uid of the Lease that was acquired; zeros behind its end.
    uint8_t lease_uid[KL_UID_MAX];
} kl_fence;

/// Whether an elector or heartbeat can do its work. Set size, or begin with KL_HEALTH_INIT.
typedef struct {
    /// sizeof(kl_health); the caller sets it.
    uint32_t size;
    /// A kl_health_state.
    uint32_t state;
    /// Since the last answer came, whatever it said; KL_NEVER where none has.
    uint64_t ms_since_answer;
    /// Requests in a row that got no answer.
    uint32_t failures;
    /// Status code of the last answer; 0 where none has come.
    uint32_t last_http_status;
    /// The last kl_transport_error; 0 where there was none.
    uint32_t last_transport_error;
    /// 0.
    uint32_t reserved;
} kl_health;

/// A heartbeat: keeps one Lease renewed, as kubelet does for its node. There is no election: the
/// Lease says that its holder lives. The storage is the caller's, under the rules of kl_elector.
typedef struct {
    /// Not for callers.
    uint64_t _opaque[KL_HEARTBEAT_WORDS];
} kl_heartbeat;

/// What a heartbeat is told once. Fill it with kl_heartbeat_config_default first. Texts and the
/// keep buffer are borrowed for the life of the heartbeat; the structure itself only for the call
/// of kl_heartbeat_init.
///
/// A node's heartbeat has the namespace kube-node-lease, and the Node's name for name, holder and
/// node.
typedef struct {
    /// sizeof(kl_heartbeat_config).
    uint32_t size;
    /// Bits of kl_heartbeat_flag.
    uint32_t flags;
    /// The namespace of the Lease.
    kl_str namespace_;
    /// The name of the Lease.
    kl_str name;
    /// Who lives, 1 to 253 bytes: holderIdentity. It is never cleared.
    kl_str holder;
    /// The Node that owns the Lease; empty: none does.
    kl_str node;
    /// The Node's uid, where the host knows it; empty: it is read from the server where it is
    /// needed, and whenever the Lease was deleted in any case. Reading it needs the verb get on
    /// that Node.
    kl_str node_uid;
    /// For KL_WRITE_UPDATE: takes all of the Lease that is not ours. 1 KiB serves most, 256 KiB
    /// all. Nobody else may use it while the heartbeat lives.
    uint8_t *keep;
    /// Its length in bytes.
    size_t keep_len;
    /// A kl_write.
    uint32_t write;
    /// A kl_create, but not KL_CREATE_NEVER.
    uint32_t create;
    /// leaseDurationSeconds of the Lease in milliseconds. Whole seconds; 40000 by default.
    uint32_t lease_duration_ms;
    /// Time between beats; 0, the default: a quarter of the lease duration. It is counted from the
    /// schedule: slow calls do not delay later beats.
    uint32_t interval_ms;
    /// How long one request may take; 0, the default: half of the default interval, at most 15000.
    uint32_t request_timeout_ms;
    /// Hundredths of the interval by which beats are spread, at most 100; 4 by default.
    uint32_t jitter_percent;
    /// How long kl_heartbeat_retire may take; 0, the default: the interval.
    uint32_t retire_budget_ms;
    /// How long one call of kl_heartbeat_alive lets the heart beat; 0, the default: for ever, so
    /// that it need not be called. The heartbeat vouches for the host's work then, not for the
    /// loop that polls it.
    uint32_t liveness_ttl_ms;
    /// Seeds the jitter. Give each heartbeat its own; nothing secret is made of it.
    uint64_t seed;
} kl_heartbeat_config;

/// A log hook. level is a kl_log_level, code a kl_log_code. It is called as the last step of
/// a poll, response_end and transport_error. It must not use the same object: each call on it
/// answers KL_ERR_REENTRANT, false or what stands for none.
typedef void (*kl_log_fn)(void *user, uint32_t level, uint32_t code, uint64_t a, uint64_t b);

/// One request, but for its target and body. Set size, or begin with KL_REQUEST_INIT.
///
/// Send it as it is: Content-Type and Accept as they are here, Content-Length from body_len. Host,
/// Authorization and User-Agent are the caller's; an agent whose name begins with curl, Wget or
/// Mozilla gets longer, pretty-printed answers.
typedef struct {
    /// sizeof(kl_request); the caller sets it.
    uint32_t size;
    /// A kl_method.
    uint32_t method;
    /// The method as it stands in a request line. Static.
    kl_str method_name;
    /// Value of Content-Type; empty where there is no body. Static.
    kl_str content_type;
    /// Value of Accept. Static.
    kl_str accept;
    /// Length of path and query.
    size_t target_len;
    /// Length of the body.
    size_t body_len;
} kl_request;

/// A piece of a request: its first byte, and how many there are. It has the members of an iovec,
/// and never grows.
typedef struct {
    /// The first byte.
    const uint8_t *ptr;
    /// How many bytes, at least one.
    size_t len;
} kl_piece;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Says what to do next. Call it after every other call that changes the elector, and at the
/// instant of the last KL_ACTION_WAIT; calling it more often changes nothing. Loop until
/// KL_ACTION_WAIT or KL_ACTION_STOPPED; that takes a bounded number of calls. Works in constant
/// time.
///
/// The end of leadership comes before everything else. Leadership counts from the poll that
/// answered KL_ACTION_SEND for the write, so send at once.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_poll(kl_elector *elector, const kl_now *now, kl_action *action);

/// Makes a 64-bit count of ticks from a counter of 32 bits, such as that of FreeRTOS.
///
/// state is 0 before the first call and belongs to the function from then on. Call it at least
/// once in 2^31 ticks (24 days of milliseconds). A tick that lies before the last one, by less
/// than 2^31, counts as that one. Answers the count, or ticks where state is NULL.
uint64_t kl_clock32_extend(uint64_t *state, uint32_t ticks);

/// Fills config with the defaults: those of the components of Kubernetes, KL_WRITE_PATCH, and no
/// names. config_size is sizeof(kl_elector_config) as the caller was compiled.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE.
kl_status kl_elector_config_default(kl_elector_config *config, size_t config_size);

/// Gives up leadership and the Lease, and contends again after cooldown_ms. A candidate only
/// rests: it observes and writes nothing. Poll next: KL_EVENT_STOPPED_LEADING comes before the
/// Lease is given up.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_step_down(kl_elector *elector, const kl_now *now, uint64_t cooldown_ms);

/// Gives up leadership and the Lease, and ends. KL_ACTION_STOPPED follows in any case, at the
/// latest when the release budget is used up. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_stop(kl_elector *elector, const kl_now *now);

/// Leads on while the application's work goes on, and never acquires again; kl_elector_work_done
/// ends it. Whoever does not lead ends at once. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_stop_when_idle(kl_elector *elector, const kl_now *now);

/// The application's work has ended: the same as kl_elector_stop. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_work_done(kl_elector *elector, const kl_now *now);

/// Makes an elector in storage. It asks for the Lease at its first poll.
///
/// elector: storage of elector_size bytes, aligned as a kl_elector; whatever is in it is written
/// over. config: see kl_elector_config for what is borrowed. now: the clocks.
///
/// Answers KL_OK; KL_ERR_ARG; KL_ERR_STORAGE (less than kl_elector_size(), or misaligned);
/// KL_ERR_SIZE; a code that names the member of config that is wrong; KL_ERR_UNSUPPORTED.
kl_status kl_elector_init(kl_elector *elector,
                          size_t elector_size,
                          const kl_elector_config *config,
                          const kl_now *now);

/// The least elector_size that kl_elector_init takes, at most sizeof(kl_elector): for languages
/// that cannot read the header.
size_t kl_elector_size(void);

/// The fence of the term that leads now.
///
/// Answers KL_OK, KL_ERR_NOT_LEADING, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
kl_status kl_elector_fence(const kl_elector *elector, kl_fence *fence);

/// Which of two terms is later: negative where a is the earlier, 0 where they are one, positive
/// where a is the later. INT32_MIN where they have no order: a fence is NULL, or its
/// acquired_version is 0.
///
/// It orders all terms of a Lease on one API server, across deletion and re-creation of the Lease
/// too. It does not order them across a restored backup.
int32_t kl_fence_cmp(const kl_fence *a, const kl_fence *b);

/// The one number that a database or a file can compare: larger means later. 0 where there is
/// none: fence is NULL, or the server's versions are no numbers.
uint64_t kl_fence_token(const kl_fence *fence);

/// Whether the elector can do its work, as seen at mono_ms.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_health(const kl_elector *elector, uint64_t mono_ms, kl_health *health);

/// Makes a heartbeat in storage. It reads the Lease at its first poll, or at a moment of the first
/// interval.
///
/// heartbeat: storage of heartbeat_size bytes, aligned as a kl_heartbeat; whatever is in it is
/// written over. config: see kl_heartbeat_config for what is borrowed. now: the clocks.
///
/// Answers KL_OK; KL_ERR_ARG; KL_ERR_STORAGE (less than kl_heartbeat_size(), or misaligned);
/// KL_ERR_SIZE; a code that names the member of config that is wrong; KL_ERR_UNSUPPORTED.
kl_status kl_heartbeat_init(kl_heartbeat *heartbeat,
                            size_t heartbeat_size,
                            const kl_heartbeat_config *config,
                            const kl_now *now);

/// The least heartbeat_size that kl_heartbeat_init takes, at most sizeof(kl_heartbeat): for
/// languages that cannot read the header.
size_t kl_heartbeat_size(void);

/// Fills config with the defaults: kubelet's durations, KL_WRITE_PATCH, and no names. config_size
/// is sizeof(kl_heartbeat_config) as the caller was compiled.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE.
kl_status kl_heartbeat_config_default(kl_heartbeat_config *config, size_t config_size);

/// The host is alive: with liveness_ttl_ms, beats are allowed for as long from now, and one that
/// was left out meanwhile follows at once; without, it does nothing. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_alive(kl_heartbeat *heartbeat, const kl_now *now);

/// Ends the heartbeat, as how (a kl_retire) says. KL_ACTION_STOPPED follows in any case, at the
/// latest when the retire budget is used up. A second call can only shorten the end, or turn it
/// into a deletion. The holder is never cleared: a node is found dead by its silence. Poll next.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_retire(kl_heartbeat *heartbeat, const kl_now *now, uint32_t how);

/// The instant of the poll that handed out the last acknowledged beat; KL_NEVER where there was
/// none, for NULL, and for storage that was not initialised.
uint64_t kl_heartbeat_last_beat(const kl_heartbeat *heartbeat);

/// The uid of the Node, as far as it is known; empty otherwise. It is a view into the heartbeat,
/// good until the next call that changes it or until it is moved.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_node_uid(const kl_heartbeat *heartbeat, kl_str *uid);

/// Whether the heart beats, as seen at mono_ms.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_health(const kl_heartbeat *heartbeat, uint64_t mono_ms, kl_health *health);

/// Sets the log hook, NULL for none. user is handed to each call of it, as it is.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_set_log(kl_heartbeat *heartbeat, kl_log_fn log, void *user);

/// Says what to do next, as kl_elector_poll does. Call it after every other call that changes the
/// heartbeat, and at the instant of the last KL_ACTION_WAIT; calling it more often changes nothing.
/// Loop until KL_ACTION_WAIT or KL_ACTION_STOPPED; that takes a bounded number of calls. Works in
/// constant time.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_poll(kl_heartbeat *heartbeat, const kl_now *now, kl_action *action);

/// Describes request request_id, that of the last KL_ACTION_SEND. It may be about the Node, too.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE,
/// KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_request(const kl_heartbeat *heartbeat,
                               uint32_t request_id,
                               kl_request *request);

/// Writes part (a kl_request_part) of request request_id into buffer, from offset on, and says
/// how many bytes that were, as kl_elector_request_read does: fewer than capacity only at the end
/// of the part, none past it; in pieces of any size, again and again the same.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
kl_status kl_heartbeat_request_read(const kl_heartbeat *heartbeat,
                                    uint32_t request_id,
                                    uint32_t part,
                                    size_t offset,
                                    uint8_t *buffer,
                                    size_t capacity,
                                    size_t *written);

/// Describes part (a kl_request_part) of request request_id as pieces, without copying it, as
/// kl_elector_request_pieces does: see there.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
kl_status kl_heartbeat_request_pieces(const kl_heartbeat *heartbeat,
                                      uint32_t request_id,
                                      uint32_t part,
                                      size_t first,
                                      kl_piece *pieces,
                                      size_t capacity,
                                      uint8_t *scratch,
                                      size_t scratch_size,
                                      size_t *count);

/// Begins the answer to request request_id, with its status code of HTTP, 100 to 999. Where an
/// answer to it has begun already, it starts over. Leave informational answers (1xx) out.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_response_begin(kl_heartbeat *heartbeat,
                                      uint32_t request_id,
                                      uint32_t http_status);

/// Takes one header of the answer. Only Date and Retry-After are looked at: others may be given
/// or left out. The texts are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_response_header(kl_heartbeat *heartbeat,
                                       uint32_t request_id,
                                       kl_str name,
                                       kl_str value);

/// Takes the next piece of the answer's body, without any transfer coding, in any split down to
/// single bytes. The bytes are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_response_body(kl_heartbeat *heartbeat,
                                     uint32_t request_id,
                                     const uint8_t *data,
                                     size_t len);

/// Ends the answer: the heartbeat learns what it says. Poll next. An answer that broke off is no
/// answer: give kl_heartbeat_transport_error instead.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_response_end(kl_heartbeat *heartbeat,
                                    uint32_t request_id,
                                    const kl_now *now);

/// Takes the news that request request_id will have no answer, or none that is whole. kind is a
/// kl_transport_error. On HTTP/1.1 end the connection. Poll next.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_heartbeat_transport_error(kl_heartbeat *heartbeat,
                                       uint32_t request_id,
                                       uint32_t kind,
                                       const kl_now *now);

/// Sets the log hook, NULL for none. user is handed to each call of it, as it is.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_set_log(kl_elector *elector, kl_log_fn log, void *user);

/// The name of a status, such as KL_OK. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_status_name(kl_status number);

/// The name of a kl_action_kind. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_action_name(uint32_t number);

/// The name of a kl_event. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_event_name(uint32_t number);

/// The name of a kl_stop_reason. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_stop_reason_name(uint32_t number);

/// The name of a kl_trouble_kind. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_trouble_name(uint32_t number);

/// The name of a kl_finish. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_finish_name(uint32_t number);

/// The name of a kl_readiness. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_readiness_name(uint32_t number);

/// The name of a kl_log_code. NUL-terminated, static, never NULL; KL_UNKNOWN for
/// any other number.
const char *kl_log_name(uint32_t number);

/// Describes part (a kl_request_part) of request request_id as pieces, one behind the other,
/// without copying it: from the one with the number first on, up to capacity of them. count says
/// how many those are. It can be fewer than capacity before the end of the part, and is 0 only
/// there: go on with first + count until it is.
///
/// scratch has scratch_size bytes, at least KL_PIECES_SCRATCH; numbers and times are written there.
/// All else lies in the program, in the texts of the configuration, in its keep buffer or in the
/// object. The pieces are good until the next call that changes the object, or until it is moved
/// or scratch is written to.
///
/// As with kl_elector_request_read the pieces are the same each time.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
kl_status kl_elector_request_pieces(const kl_elector *elector,
                                    uint32_t request_id,
                                    uint32_t part,
                                    size_t first,
                                    kl_piece *pieces,
                                    size_t capacity,
                                    uint8_t *scratch,
                                    size_t scratch_size,
                                    size_t *count);

/// Whether this process leads at mono_ms. It turns false by itself when time passes, with no poll,
/// no thread and no answer. Ask it, with a fresh clock, before every side effect. False for NULL
/// and for storage that was not initialised.
bool kl_elector_is_leading(const kl_elector *elector, uint64_t mono_ms);

/// The instant at which leadership ends unless a write is acknowledged before; 0 where this
/// process does not lead. A copy of it is what an interrupt handler may compare with the clock.
uint64_t kl_elector_leading_until(const kl_elector *elector);

/// How many terms this elector has begun; 0 for NULL and for storage that was not initialised.
uint64_t kl_elector_term(const kl_elector *elector);

/// Who leads, by what was seen last: this process while it leads, or the holder in the Lease, of
/// which the beginning where it is very long. identity is empty where nobody is known; it is a
/// view into the elector or into the configuration, good until the next call that changes the
/// elector or until the elector is moved.
///
/// Answers KL_OK, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_leader(const kl_elector *elector, kl_str *identity);

/// Describes request request_id, that of the last KL_ACTION_SEND.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_SIZE, KL_ERR_STORAGE,
/// KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_request(const kl_elector *elector, uint32_t request_id, kl_request *request);

/// Writes part (a kl_request_part) of request request_id into buffer, from offset on, and says
/// how many bytes that were: fewer than capacity only at the end of the part, none past it.
///
/// The request is made from state, never consumed: it can be read in pieces of any size, again
/// after a short write, and whole once more for another connection; it is the same each time. It
/// is not NUL-terminated.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ANSWER_BEGUN, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT,
/// KL_ERR_REENTRANT.
kl_status kl_elector_request_read(const kl_elector *elector,
                                  uint32_t request_id,
                                  uint32_t part,
                                  size_t offset,
                                  uint8_t *buffer,
                                  size_t capacity,
                                  size_t *written);

/// Begins the answer to request request_id, with its status code of HTTP, 100 to 999. Where an
/// answer to it has begun already, it starts over. Leave informational answers (1xx) out.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_response_begin(kl_elector *elector, uint32_t request_id, uint32_t http_status);

/// Takes one header of the answer. Only Date and Retry-After are looked at: others may be given
/// or left out. The texts are read before the call returns.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_response_header(kl_elector *elector,
                                     uint32_t request_id,
                                     kl_str name,
                                     kl_str value);

/// Takes the next piece of the answer's body, without any transfer coding, in any split down to
/// single bytes. The bytes are read before the call returns. What is wrong with them shows at the
/// end of the answer, as KL_EVENT_TROUBLE where it lasts; here nothing of it does.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_response_body(kl_elector *elector,
                                   uint32_t request_id,
                                   const uint8_t *data,
                                   size_t len);

/// Ends the answer: the elector learns what it says. Poll next. An answer that broke off is no
/// answer: give kl_elector_transport_error instead.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_response_end(kl_elector *elector, uint32_t request_id, const kl_now *now);

/// Takes the news that request request_id will have no answer, or none that is whole. kind is a
/// kl_transport_error. On HTTP/1.1 end the connection. Poll next.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_transport_error(kl_elector *elector,
                                     uint32_t request_id,
                                     uint32_t kind,
                                     const kl_now *now);

/// Fills label with a key, such as example.com/zone, and a value. Both texts are borrowed for as
/// long as the label is used; nothing is copied.
///
/// Answers KL_OK, KL_ERR_ARG (label is NULL), KL_ERR_LABEL (no UTF-8). Whether Kubernetes takes
/// the label, kl_elector_init checks.
kl_status kl_label_init(kl_label *label, kl_str key, kl_str value);

/// The library's version, 8 bits each for major, minor and patch: KL_VERSION_NUMBER of the header
/// it was built with. Compare the two.
uint32_t kl_version_number(void);

/// The version of the ABI: KL_ABI_VERSION of the header it was built with. While it is the same,
/// a program that was compiled with an older header runs with this library.
uint32_t kl_abi_version(void);

/// The library's version as text, NUL-terminated and static: KL_VERSION_STRING of the header it
/// was built with.
const char *kl_version_string(void);

/// Turns watch mode on, for good: call it once, after kl_elector_init. From its next look on a
/// candidate holds one watch on the Lease instead of reading it every retry period, takes a
/// release over at once, and sends next to nothing meanwhile. It wants the right watch; without
/// it, and whenever a stream ends, fails or falls silent, the candidate reads as before.
///
/// The answer to a watch is a stream that may last for minutes: hand in what comes of it as it
/// comes, by kl_elector_response_body_at, and poll after each piece. Only the polls say for how
/// long to wait for more: the deadline of KL_ACTION_SEND is the first of them. A program that
/// never calls this function does not link what it takes.
///
/// Answers KL_OK, KL_ERR_STORAGE, KL_ERR_ARG, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_watch(kl_elector *elector);

/// kl_elector_response_body with the time: in watch mode give the bodies of all answers to this
/// one, and poll next. Read the clock after the bytes have come, not before the wait for them: what
/// they tell counts from now. KL_ERR_STALE says that the elector wants no more of the answer.
///
/// Answers KL_OK, KL_ERR_STALE, KL_ERR_ARG, KL_ERR_STORAGE, KL_ERR_NOT_INIT, KL_ERR_REENTRANT.
kl_status kl_elector_response_body_at(kl_elector *elector,
                                      uint32_t request_id,
                                      const uint8_t *data,
                                      size_t len,
                                      const kl_now *now);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KUBELEASE_H */

#if defined(__cplusplus)
static_assert(sizeof(kl_elector) == 8 * KL_ELECTOR_WORDS, "kl_elector has its size");
static_assert(sizeof(kl_heartbeat) == 8 * KL_HEARTBEAT_WORDS, "kl_heartbeat has its size");
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(kl_elector) == 8 * KL_ELECTOR_WORDS, "kl_elector has its size");
_Static_assert(sizeof(kl_heartbeat) == 8 * KL_HEARTBEAT_WORDS, "kl_heartbeat has its size");
#endif
