// Work that must run in one place only: it says so each 10 ms, until SIGTERM.
//
// It is what leader_curl runs while it leads. Started by itself it is a candidate that always
// claims to lead.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"

	"kubelease.test/cluster/log"
)

func main() {
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	log.Open().Believe(ctx)
}
