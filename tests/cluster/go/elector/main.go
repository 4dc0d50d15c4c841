// A candidate of client-go, with the flags and the log of our own.
//
// It logs from the side of the user's work: what OnStartedLeading runs writes a line each 10 ms
// until its context ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"kubelease.test/cluster/log"
	"kubelease.test/cluster/server"
)

var (
	lease    = server.Name("lease", "`NAMESPACE/NAME` of the lease")
	identity = flag.String("identity", "", "name of this candidate")
	duration = flag.Duration("lease-duration", 15*time.Second, "")
	deadline = flag.Duration("renew-deadline", 10*time.Second, "")
	period   = flag.Duration("retry-period", 2*time.Second, "")
	release  = flag.Bool("release", true, "give the lease up at SIGTERM")
	timeout  = flag.Duration("request-timeout", 0, "of one request; half the renew deadline unless said")
)

func main() {
	config := server.Config()
	config.Timeout = *timeout
	if *timeout == 0 {
		config.Timeout = *deadline / 2
	}
	out := log.Open()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	out.Line("start %s", *identity)
	for ctx.Err() == nil {
		// Run is one-shot: after a loss it is called again.
		contend(ctx, config, out)
	}
	out.Line("end")
}

func contend(ctx context.Context, config *rest.Config, out *log.Log) {
	var leading atomic.Bool
	client := kubernetes.NewForConfigOrDie(config)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
		},
		LeaseDuration:   *duration,
		RenewDeadline:   *deadline,
		RetryPeriod:     *period,
		ReleaseOnCancel: *release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				leading.Store(true)
				out.Line("started")
				out.Believe(ctx)
			},
			OnStoppedLeading: func() {
				// It is called also where there was no term.
				if leading.Load() {
					out.Line("stopped")
				}
			},
			OnNewLeader: func(name string) { out.Line("leader %s", name) },
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	elector.Run(ctx)
}
