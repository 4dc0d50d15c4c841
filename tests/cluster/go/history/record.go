// Package history records every state that a lease had, from where it is stored.
package history

import (
	"bytes"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Record is one state of the lease, or its absence.
type Record struct {
	// At is when the news of it came: some moment after it was written.
	At      time.Duration
	Version int64 // the server's resourceVersion
	Deleted bool

	UID         string
	Holder      string
	Seconds     int32
	Renewed     int64 // renewTime in microseconds of the Unix epoch, 0: none
	Transitions int32
	// Writer is the field manager that set the renewTime, and so wrote last in an election.
	Writer string
	// Managers are the field managers of metadata, such as labels.
	Managers    []string
	Labels      map[string]string
	Annotations map[string]string
	Owners      []string // their uids
	Finalizers  []string
}

// Same says whether two records are the same but for the metadata, as electors see it.
func (r *Record) Same(other *Record) bool {
	return r.UID == other.UID && r.Holder == other.Holder && r.Seconds == other.Seconds &&
		r.Renewed == other.Renewed && r.Transitions == other.Transitions
}

func recordOf(lease *coordinationv1.Lease) Record {
	r := Record{
		UID:         string(lease.UID),
		Labels:      lease.Labels,
		Annotations: lease.Annotations,
		Finalizers:  lease.Finalizers,
	}
	if lease.Spec.HolderIdentity != nil {
		r.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		r.Seconds = *lease.Spec.LeaseDurationSeconds
	}
	if lease.Spec.LeaseTransitions != nil {
		r.Transitions = *lease.Spec.LeaseTransitions
	}
	if lease.Spec.RenewTime != nil {
		r.Renewed = lease.Spec.RenewTime.UnixMicro()
	}
	for _, owner := range lease.OwnerReferences {
		r.Owners = append(r.Owners, string(owner.UID))
	}
	for _, entry := range lease.ManagedFields {
		if sets(entry, `"f:metadata"`) {
			r.Managers = append(r.Managers, entry.Manager)
		}
		if sets(entry, `"f:renewTime"`) {
			r.Writer = entry.Manager
		}
	}
	return r
}

func sets(entry metav1.ManagedFieldsEntry, field string) bool {
	return entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.Raw, []byte(field))
}
