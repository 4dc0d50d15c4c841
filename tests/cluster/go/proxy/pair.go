package proxy

import (
	"io"
	"net"
	"sync"
	"time"
)

type direction int

const (
	upward direction = iota
	downward
)

// How a slow cable passes bytes on: a handshake of TLS takes longer than a request may.
const (
	slowChunk = 100
	slowGap   = 40 * time.Millisecond
	lag       = 120 * time.Millisecond
)

// pair is one connection: a client's and ours to the server.
type pair struct {
	proxy          *Proxy
	client, server *net.TCPConn
}

// run carries bytes until both directions have ended.
func (p *pair) run() {
	var both sync.WaitGroup
	both.Add(2)
	go func() { defer both.Done(); p.carry(p.server, p.client, upward) }()
	go func() { defer both.Done(); p.carry(p.client, p.server, downward) }()
	both.Wait()
	_ = p.client.Close()
	_ = p.server.Close()
}

// carry passes one direction on, and its end: an ordinary one, or one by error.
func (p *pair) carry(to, from *net.TCPConn, way direction) {
	buffer := make([]byte, 16*1024)
	for {
		count, err := from.Read(buffer)
		mode := p.proxy.pass(way, count)
		if mode == Laggard {
			time.Sleep(lag)
		}
		if !p.write(to, buffer[:count], mode) || err != nil && err != io.EOF {
			p.reset()
			return
		}
		if err == io.EOF {
			_ = to.CloseWrite()
			return
		}
	}
}

func (p *pair) write(to *net.TCPConn, bytes []byte, mode Mode) bool {
	for mode == Slow && len(bytes) > slowChunk {
		if _, err := to.Write(bytes[:slowChunk]); err != nil {
			return false
		}
		bytes = bytes[slowChunk:]
		time.Sleep(slowGap)
		mode = p.proxy.current()
	}
	_, err := to.Write(bytes)
	return err == nil
}

func (p *pair) reset() {
	reset(p.client)
	reset(p.server)
}

// reset ends a connection by RST.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
