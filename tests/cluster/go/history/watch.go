package history

import (
	"context"
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"kubelease.test/cluster/clock"
)

// History grows as the lease changes.
//
// It watches etcd, so that it misses nothing while the API server is stopped or killed: a watch
// of the API cannot be resumed over its restart.
type History struct {
	client *clientv3.Client

	mutex   sync.Mutex
	records []Record
	err     error
}

// Watch begins to record a lease; etcd is where `endpoint` says.
func Watch(ctx context.Context, endpoint, namespace, name string) (*History, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, Context: ctx, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	h := &History{client: client}
	key := fmt.Sprintf("/registry/leases/%s/%s", namespace, name)
	first, err := client.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, pair := range first.Kvs {
		h.add(pair.Value, pair.ModRevision, false)
	}
	changes := client.Watch(ctx, key, clientv3.WithRev(first.Header.Revision+1))
	go func() {
		for change := range changes {
			h.take(change)
		}
	}()
	return h, nil
}

// Records are all so far. An error says that some were missed.
func (h *History) Records() ([]Record, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.records[:len(h.records):len(h.records)], h.err
}

// Last is the state of now; Deleted where there is no lease.
func (h *History) Last() Record {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.records) == 0 {
		return Record{Deleted: true}
	}
	return h.records[len(h.records)-1]
}

func (h *History) take(change clientv3.WatchResponse) {
	if err := change.Err(); err != nil {
		h.fail(err)
	}
	for _, event := range change.Events {
		h.add(event.Kv.Value, event.Kv.ModRevision, event.Type == clientv3.EventTypeDelete)
	}
}

func (h *History) add(value []byte, version int64, deleted bool) {
	record := Record{Deleted: deleted}
	if !deleted {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
		lease, ok := object.(*coordinationv1.Lease)
		if err != nil || !ok {
			h.fail(fmt.Errorf("version %d is no lease: %v", version, err))
			return
		}
		record = recordOf(lease)
	}
	record.At, record.Version = clock.Now(), version
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.records = append(h.records, record)
}

func (h *History) fail(err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.err == nil {
		h.err = err
	}
}
