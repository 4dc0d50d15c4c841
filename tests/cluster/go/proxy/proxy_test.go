package proxy

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Far longer than anything takes here, and long enough to see that nothing comes.
const (
	long  = 20 * time.Second
	short = 100 * time.Millisecond
)

// echo serves connections that get back what they sent.
func echo(t *testing.T) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	p, err := Listen(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(); _ = listener.Close() })
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// says sends a text and returns what came back within a time.
func says(t *testing.T, conn net.Conn, text string, within time.Duration) (string, error) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	return hears(conn, len(text), within)
}

func hears(conn net.Conn, count int, within time.Duration) (string, error) {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	answer := make([]byte, count)
	got, err := io.ReadFull(conn, answer)
	return string(answer[:got]), err
}

func TestBytesAndTheirEndPass(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	if got, err := says(t, conn, "hello", long); got != "hello" {
		t.Fatal(got, err)
	}
	if up, down := p.Bytes(); up != 5 || down != 5 {
		t.Fatal(up, down)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	if _, err := hears(conn, 1, long); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestWhatAHoleHeldArrivesAfterIt(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	_, _ = says(t, conn, "a", long)
	p.Set(Hole)
	if got, err := says(t, conn, "hello", short); got != "" || err == nil {
		t.Fatal(got, err)
	}
	if up, _ := p.Bytes(); up != 1 {
		t.Fatal("the server was reached: ", up)
	}
	p.Set(Pass)
	if got, err := hears(conn, 5, long); got != "hello" {
		t.Fatal(got, err)
	}
}

func TestARequestInAHoleArrivesAfterItsSenderHasGone(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	p.Set(Hole)
	_, _ = conn.Write([]byte("hello"))
	_ = conn.Close()
	p.Set(Pass)
	for end := time.Now().Add(long); ; time.Sleep(time.Millisecond) {
		if up, _ := p.Bytes(); up == 5 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it never arrived")
		}
	}
}

func TestUnheardRequestsArriveAndTheirAnswersWait(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	_, _ = says(t, conn, "a", long)
	p.Set(Unheard)
	if got, err := says(t, conn, "hello", short); got != "" || err == nil {
		t.Fatal(got, err)
	}
	if up, down := p.Bytes(); up != 6 || down != 1 {
		t.Fatal(up, down)
	}
	p.Set(Pass)
	if got, err := hears(conn, 5, long); got != "hello" {
		t.Fatal(got, err)
	}
}

func TestACutEndsConnectionsAndRefusesNewOnes(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	_, _ = says(t, conn, "a", long)
	p.Set(Cut)
	if _, err := hears(conn, 1, long); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	if fresh, err := net.Dial("tcp", p.Address()); err == nil {
		if _, err := says(t, fresh, "a", long); err == nil {
			t.Fatal("it was answered")
		}
	}
	p.Set(Pass)
	if got, err := says(t, dial(t, p), "hello", long); got != "hello" {
		t.Fatal(got, err)
	}
}

func TestAResettingCableEndsEachConnectionSoon(t *testing.T) {
	p := echo(t)
	p.Set(Reset)
	conn := dial(t, p)
	if _, err := hears(conn, 1, long); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
}

func TestASlowCablePassesEverythingLater(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	_, _ = says(t, conn, "a", long)
	p.Set(Slow)
	text := strings.Repeat("x", 10*slowChunk)
	begun := time.Now()
	if got, err := says(t, conn, text, long); got != text {
		t.Fatal(len(got), err)
	}
	if took := time.Since(begun); took < 9*slowGap {
		t.Fatal(took)
	}
}

func TestALaggardPassesEverythingLater(t *testing.T) {
	p := echo(t)
	conn := dial(t, p)
	_, _ = says(t, conn, "a", long)
	p.Set(Laggard)
	begun := time.Now()
	if got, err := says(t, conn, "hello", long); got != "hello" {
		t.Fatal(got, err)
	}
	if took := time.Since(begun); took < 2*lag {
		t.Fatal(took)
	}
}

func TestTheEndOfAKilledClientReachesTheServer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p, err := Listen(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client := dial(t, p)
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	// As the kernel ends the connections of a process that had unread bytes.
	reset(client.(*net.TCPConn))
	if _, err := hears(conn, 1, long); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}
