// Package candidate starts the candidates of an election, and kills, stops and ends them.
package candidate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/cluster"
	"kubelease.test/cluster/proxy"
)

// Kind is what a candidate is made of.
type Kind string

// All kinds.
const (
	Put      Kind = "put"       // ours, writing by PUT
	Watch    Kind = "watch"     // ours, watching while it does not lead
	Patch    Kind = "patch"     // ours, writing by merge patch
	C        Kind = "c"         // ours over C: examples/c/leader_curl
	ClientGo Kind = "client-go" // the reference
	Liar     Kind = "liar"      // claims to lead without ever asking
)

// IsOurs says whether it has to obey our rules.
func (k Kind) IsOurs() bool { return k != ClientGo }

// Timing of an election.
type Timing struct{ Duration, Deadline, Period time.Duration }

// Timeout of one request of ours, where nothing is set.
func (t Timing) Timeout() time.Duration { return (t.Deadline - t.Period) / 2 }

// Programs are the paths of what is started.
type Programs struct{ Candidate, LeaderCurl, Elector, Work string }

// Settings are the same for all lives of a candidate.
type Settings struct {
	Name      string // of the candidate and its user
	Kind      Kind
	Namespace string
	Lease     string
	Timing    Timing
	Programs  Programs
	Cluster   *cluster.Cluster
	Logs      string // folder
	NoRelease bool   // client-go: leave the lease at SIGTERM
}

// Life is one process, from start to end.
type Life struct {
	Name, Identity, Log string
	Kind                Kind
	Started             time.Duration
	Terminated          time.Duration // when it was told to end, 0: never
	Ended               time.Duration // 0: it runs
}

// Candidate is one of an election, over several lives, behind a cable of its own.
type Candidate struct {
	Settings
	Proxy *proxy.Proxy

	mutex   sync.Mutex
	lives   []Life
	process *exec.Cmd
	gone    chan struct{}
}

// New makes a candidate that does not run.
func New(settings Settings) (*Candidate, error) {
	cable, err := proxy.Listen(strings.TrimPrefix(settings.Cluster.URL, "https://"))
	if err != nil {
		return nil, err
	}
	return &Candidate{Settings: settings, Proxy: cable}, nil
}

// NextIdentity is one that no life had yet. It says what the candidate is made of.
func (c *Candidate) NextIdentity() string {
	number := strings.TrimPrefix(c.Name, "candidate-")
	return fmt.Sprintf("%s-%s.%d", c.Kind, number, len(c.Lives()))
}

// Start begins a life under a name.
func (c *Candidate) Start(identity string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	log := filepath.Join(c.Logs, fmt.Sprintf("%s-%d", c.Name, len(c.lives)))
	command, err := c.command(identity, log+".log")
	if err != nil {
		return err
	}
	output, err := os.Create(log + ".out")
	if err != nil {
		return err
	}
	defer output.Close()
	command.Stdout, command.Stderr = output, output
	// A group of its own: its work is stopped and goes on with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	life := Life{Name: c.Name, Identity: identity, Log: log + ".log", Kind: c.Kind,
		Started: clock.Now()}
	if err := command.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	c.lives, c.process, c.gone = append(c.lives, life), command, gone
	number := len(c.lives) - 1
	go func() {
		_ = command.Wait()
		c.mutex.Lock()
		c.lives[number].Ended = clock.Now()
		c.mutex.Unlock()
		close(gone)
	}()
	return nil
}

// Lives are all so far.
func (c *Candidate) Lives() []Life {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]Life(nil), c.lives...)
}

// Identity is the name of the present or last life.
func (c *Candidate) Identity() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.lives) == 0 {
		return ""
	}
	return c.lives[len(c.lives)-1].Identity
}

// Kill ends the process as a crash does.
func (c *Candidate) Kill() {
	c.signal(syscall.SIGKILL)
	<-c.gone
}

// Terminate asks the process to end, and waits for that; an error where it takes too long.
func (c *Candidate) Terminate(most time.Duration) error {
	c.mutex.Lock()
	c.lives[len(c.lives)-1].Terminated = clock.Now()
	c.mutex.Unlock()
	c.signal(syscall.SIGTERM)
	select {
	case <-c.gone:
		return nil
	case <-time.After(most):
		c.Kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM", c.Name, most)
	}
}

// Stop stops the process and its work; since when.
func (c *Candidate) Stop() time.Duration {
	c.signalAll(syscall.SIGSTOP)
	return clock.Now()
}

// Continue lets it go on; since when.
func (c *Candidate) Continue() time.Duration {
	at := clock.Now()
	c.signalAll(syscall.SIGCONT)
	return at
}

// Runs says whether the process is there.
func (c *Candidate) Runs() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// Process is its id.
func (c *Candidate) Process() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.process.Process.Pid
}

// Close ends the process, if it runs, and the cable.
func (c *Candidate) Close() {
	if c.process != nil {
		c.Kill()
	}
	c.Proxy.Close()
}

func (c *Candidate) signal(signal syscall.Signal) {
	// It fails only where the process has ended, which is known by `gone`.
	_ = c.process.Process.Signal(signal)
}

func (c *Candidate) signalAll(signal syscall.Signal) {
	_ = syscall.Kill(-c.Process(), signal)
}
