// Package proxy is a network of one cable between a candidate and the API server, and all that can
// go wrong with it. It sees bytes: TLS passes through.
package proxy

import (
	"net"
	"sync"
	"time"
)

// Mode is what the cable does.
type Mode string

// All modes. What a hole or a withheld answer holds back arrives when the mode ends, as after lost
// packets: a request may so reach the server long after its sender gave it up, or died.
const (
	Pass    Mode = "pass"
	Cut     Mode = "cut"     // connections end, new ones too
	Hole    Mode = "hole"    // nothing arrives in either direction
	Unheard Mode = "unheard" // requests arrive, answers do not
	Slow    Mode = "slow"    // a few bytes at a time
	Laggard Mode = "laggard" // everything arrives late
	Reset   Mode = "reset"   // connections end again and again, each a moment after it began
)

// How long a connection lives where they end again and again: for about one request.
const resetAfter = 150 * time.Millisecond

// Proxy listens on a loopback port.
type Proxy struct {
	listener net.Listener
	target   string

	mutex   sync.Mutex
	changed *sync.Cond
	mode    Mode
	closed  bool
	pairs   map[*pair]struct{}
	bytes   [2]int64
}

// Listen starts a proxy to a host and port.
func Listen(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, mode: Pass, pairs: map[*pair]struct{}{}}
	p.changed = sync.NewCond(&p.mutex)
	go p.accept()
	return p, nil
}

// Address is the host and port of this end.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Set changes the mode for connections that are open and that come.
func (p *Proxy) Set(mode Mode) {
	p.mutex.Lock()
	p.mode = mode
	p.changed.Broadcast()
	var ended []*pair
	if mode == Cut || mode == Reset {
		for pair := range p.pairs {
			ended = append(ended, pair)
		}
	}
	p.mutex.Unlock()
	for _, pair := range ended {
		pair.reset()
	}
}

// Bytes is how many have been passed on so far, to the server and from it.
func (p *Proxy) Bytes() (up, down int64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.bytes[upward], p.bytes[downward]
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.mutex.Lock()
	p.closed = true
	p.mutex.Unlock()
	_ = p.listener.Close()
	p.Set(Cut)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.connect(client.(*net.TCPConn))
	}
}

func (p *Proxy) connect(client *net.TCPConn) {
	if p.current() == Cut {
		reset(client)
		return
	}
	server, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil {
		// As an API server that is not there would refuse it.
		reset(client)
		return
	}
	pair := &pair{proxy: p, client: client, server: server.(*net.TCPConn)}
	p.mutex.Lock()
	p.pairs[pair] = struct{}{}
	mode := p.mode
	p.mutex.Unlock()
	if mode == Cut {
		pair.reset()
	}
	if mode == Reset {
		time.AfterFunc(resetAfter, pair.reset)
	}
	pair.run()
	p.mutex.Lock()
	delete(p.pairs, pair)
	p.mutex.Unlock()
}

func (p *Proxy) current() Mode {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.mode
}

// pass waits until bytes may go on in a direction, and says how.
func (p *Proxy) pass(way direction, count int) Mode {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for !p.closed && (p.mode == Hole || p.mode == Unheard && way == downward) {
		p.changed.Wait()
	}
	p.bytes[way] += int64(count)
	return p.mode
}
