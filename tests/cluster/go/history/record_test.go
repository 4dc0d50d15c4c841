package history

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lease of a holder, renewed by one manager and labelled by another.
func lease(renewed time.Time) *coordinationv1.Lease {
	holder, seconds, transitions := "a", int32(3), int32(7)
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			UID: "u", Labels: map[string]string{"x": "y"},
			OwnerReferences: []metav1.OwnerReference{{UID: "o"}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("outsider", `{"f:metadata":{"f:labels":{"f:x":{}}}}`),
				entry("elector", `{"f:spec":{"f:leaseDurationSeconds":{}}}`),
				entry("kubelease", `{"f:spec":{"f:holderIdentity":{},"f:renewTime":{}}}`),
			},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
			RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
}

func TestWhoSetTheRenewTimeWroteLastAndWhoSetLabelsIsKept(t *testing.T) {
	r := recordOf(lease(time.UnixMicro(5)))
	if r.Writer != "kubelease" || !slices.Equal(r.Managers, []string{"outsider"}) {
		t.Fatal(r.Writer, r.Managers)
	}
	if r.Holder != "a" || r.Seconds != 3 || r.Transitions != 7 || r.Renewed != 5 || r.Owners[0] != "o" {
		t.Fatalf("%+v", r)
	}
}

func TestMetadataAloneLeavesARecordTheSame(t *testing.T) {
	one, two := recordOf(lease(time.UnixMicro(5))), recordOf(lease(time.UnixMicro(5)))
	two.Labels, two.Version = nil, 9
	if !one.Same(&two) {
		t.Fatal("labels are no part of an election")
	}
	renewed := recordOf(lease(time.UnixMicro(6)))
	if one.Same(&renewed) {
		t.Fatal("a renewal is")
	}
}
