package cluster

import (
	"context"
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubelease.test/cluster/history"
)

// Outsider changes a lease without taking part in its election.
type Outsider struct {
	cluster         *Cluster
	namespace, name string
}

// Outsider of a lease.
func (c *Cluster) Outsider(namespace, name string) *Outsider {
	return &Outsider{c, namespace, name}
}

// Patch merges a change into the lease; the version it has then.
func (o *Outsider) Patch(ctx context.Context, change any) (int64, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return 0, err
	}
	lease, err := o.cluster.Admin.CoordinationV1().Leases(o.namespace).Patch(ctx, o.name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: "outsider"})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(lease.ResourceVersion, 10, 64)
}

// Delete deletes the lease.
func (o *Outsider) Delete(ctx context.Context) error {
	return o.cluster.Admin.CoordinationV1().Leases(o.namespace).Delete(ctx, o.name,
		metav1.DeleteOptions{})
}

// Mark sets labels, annotations and an owner, with some text in them; the version after it.
func (o *Outsider) Mark(ctx context.Context, text string) (int64, error) {
	return o.Patch(ctx, map[string]any{"metadata": map[string]any{
		"labels":      map[string]string{"example.com/mark": text, "example.com/team": "edge"},
		"annotations": map[string]string{"example.com/text": `"quoted" \ ü ` + text},
		"ownerReferences": []map[string]any{{
			"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
			"uid": "11111111-2222-3333-4444-555555555555",
		}},
	}})
}

// Holder names another holder, as an elector that takes the lease over after `last` would, or none
// with "", as somebody does who clears it; the version after it.
func (o *Outsider) Holder(ctx context.Context, identity string, last history.Record) (
	int64, error) {
	spec := map[string]any{"holderIdentity": identity}
	if identity != "" {
		now := metav1.NowMicro()
		spec["leaseDurationSeconds"], spec["leaseTransitions"] = last.Seconds, last.Transitions+1
		spec["acquireTime"], spec["renewTime"] = now, now
	}
	return o.Patch(ctx, map[string]any{"spec": spec})
}
