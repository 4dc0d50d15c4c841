package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kubelease.test/cluster/clock"
)

func line(user, verb, name string, code int, at time.Time) string {
	stamp := at.UTC().Format(time.RFC3339Nano)
	return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"user":{"username":%q},"objectRef":`+
		`{"namespace":"default","name":%q},"responseStatus":{"code":%d},`+
		`"requestReceivedTimestamp":%q,"stageTimestamp":%q}`, verb, user, name, code, stamp, stamp)
}

func TestTheRequestsOfOneLeaseAreCountedByUserVerbAndStatus(t *testing.T) {
	now := time.Now()
	text := line("a", "get", "l", 200, now.Add(-time.Hour)) + "\n" + line("a", "get", "l", 200, now) +
		"\n" + line("a", "update", "l", 409, now) + "\n" + line("a", "get", "other", 200, now) + "\n" +
		line("b", "get", "l", 403, now) + "\n" + line("a", "get", "l", 200, now)[:50] + "\n" +
		line("a", "get", "l", 200, now) + "\n"
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	requests, err := Read(path, "default", "l", clock.Now()-time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got := Table(requests, map[string]string{"a": "put", "b": "c"})
	expected := []string{"a (put)  get 200: 2, update 409: 1", "b (c)  get 403: 1"}
	if !slices.Equal(got, expected) {
		t.Fatal(got)
	}
}
