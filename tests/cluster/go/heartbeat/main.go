// The heartbeat of component-helpers, as kubelet runs it: a lease that is owned by a Node.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"

	"kubelease.test/cluster/log"
	"kubelease.test/cluster/server"
)

var (
	name     = server.Name("lease", "`NAMESPACE/NAME` of the lease")
	identity = flag.String("identity", "", "holder of the lease")
	node     = flag.String("node", "", "name of the owner; none unless said")
	seconds  = flag.Int("lease-duration-seconds", 40, "")
	interval = flag.Duration("interval", 10*time.Second, "between two renewals")
)

func main() {
	client := kubernetes.NewForConfigOrDie(server.Config())
	out := log.Open()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	failed := func() { out.Line("failed") }
	own := func(lease *coordinationv1.Lease) error { return setOwner(ctx, client, lease) }
	beats := lease.NewController(clock.RealClock{}, client, *identity, int32(*seconds), failed,
		*interval, name.Name, name.Namespace, own)
	out.Line("start %s", *identity)
	beats.Run(ctx)
	out.Line("end")
}

func setOwner(ctx context.Context, client kubernetes.Interface, lease *coordinationv1.Lease) error {
	if *node == "" || len(lease.OwnerReferences) > 0 {
		return nil
	}
	owner, err := client.CoreV1().Nodes().Get(ctx, *node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	lease.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: owner.Name, UID: owner.UID,
	}}
	return nil
}
