//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/skew"
)

// A stage is a network of hosts, inside a sandbox, with a folder for the data of servers.
type stage struct {
	net   *network.Net
	dir   string
	clock time.Duration // offset of the clocks of new hosts
	hosts int
}

// A box is a host with a clock and the processes on it. The processes of one box start, stop and pause together.
type box struct {
	*network.Host
	dir string

	mu      sync.Mutex // guards what follows
	offset  time.Duration
	running []*process
	cast    []*spec // all processes of the box, started again after a kill
}

// A spec says how a process is started.
type spec struct {
	path    string
	args    []string
	env     []string        // added to the environment of this program
	account string          // the user it runs as; empty for root
	out     func(io.Reader) // reads the standard output; nil for the box's log
	family  bool            // gives the descendants the clock of the box too
	own     bool            // a container: namespaces of its own for processes and for the name of the host, which resolves to its address
}

// A process is a running process of a box.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// host returns a new host with a folder of its own.
func (s *stage) host(ctx context.Context, name string) (*box, error) {
	s.hosts++
	h, err := s.net.AddHost(ctx, name, s.hosts)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, name)
	return &box{Host: h, dir: dir, offset: s.clock}, os.MkdirAll(dir, 0o755)
}

// start starts processes on the box, in this order. They start again after each kill.
func (b *box) start(cast ...*spec) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cast = append(b.cast, cast...)
	return b.begin(cast)
}

func (b *box) begin(cast []*spec) error {
	for _, s := range cast {
		p, err := b.launch(s)
		if err != nil {
			return fmt.Errorf("%s: start %s: %w", b.Name, s.path, err)
		}
		b.running = append(b.running, p)
	}
	return nil
}

// launch starts one process with the clock of the box.
func (b *box) launch(s *spec) (*process, error) {
	cmd := exec.Command(s.path, s.args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.account != "" {
		c, err := credential(s.account)
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr.Credential = c
	}
	log, err := os.OpenFile(filepath.Join(b.dir, filepath.Base(s.path)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	var out *os.File
	if s.out != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer func() { _ = w.Close() }()
		cmd.Stdout, out = w, r
	}
	var wait func()
	begin := func() error {
		if s.family {
			f, err := skew.StartFamily(cmd, b.offset)
			wait = func() { f.Wait() }
			return err
		}
		clock, err := skew.Start(cmd, b.offset)
		wait = func() {
			_ = cmd.Wait() // a fault ended it, or the end of the run
			_ = clock.Close()
		}
		return err
	}
	if s.own {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		inner := begin
		begin = func() error { return contained(b.IP, inner) }
	}
	if err := b.Do(begin); err != nil {
		if out != nil {
			_ = out.Close()
		}
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if out != nil {
			s.out(bufio.NewReader(out))
			_ = out.Close()
		}
	}()
	go func() {
		defer close(p.done)
		wait()
		<-read
	}()
	return p, nil
}

// kill kills the processes of the box, with all their descendants, and waits until they have exited.
func (b *box) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signal(unix.SIGKILL)
	for _, p := range b.running {
		<-p.done
	}
	b.running = nil
}

// stop sends SIGTERM to the processes, and kills those that run 10 s later.
func (b *box) stop() {
	b.mu.Lock()
	b.signal(unix.SIGTERM)
	limit := time.After(10 * time.Second)
	for _, p := range b.running {
		select {
		case <-p.done:
		case <-limit:
		}
	}
	b.mu.Unlock()
	b.kill()
}

// restart kills the processes and starts them again, with this offset of the box's clock.
func (b *box) restart(offset time.Duration) error {
	b.kill()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offset = offset
	return b.begin(b.cast)
}

// pause stops the processes, which keep their connections.
func (b *box) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signal(unix.SIGSTOP)
}

// resume lets paused processes continue.
func (b *box) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signal(unix.SIGCONT)
}

// signal sends a signal to the process groups of the box. It requires mu held.
func (b *box) signal(s unix.Signal) {
	for _, p := range b.running {
		for _, pid := range append(descendants(p.cmd.Process.Pid), p.cmd.Process.Pid) {
			_ = unix.Kill(pid, s) // may have exited
		}
	}
}

// descendants returns the processes below pid: servers start some in groups of their own.
func descendants(pid int) []int {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var all []int
	for _, name := range names {
		text, _ := os.ReadFile(name) // the thread may have ended
		for child := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, append(descendants(n), n)...)
			}
		}
	}
	return all
}

// credential returns the IDs of an account.
func credential(account string) (*syscall.Credential, error) {
	u, err := user.Lookup(account)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// own gives a folder of the box to an account.
func (b *box) own(account string, folders ...string) error {
	c, err := credential(account)
	for _, f := range append(folders, b.dir) {
		err = errors.Join(err, os.MkdirAll(f, 0o750), os.Chown(f, int(c.Uid), int(c.Gid)))
	}
	return err
}

// run runs a program on the box to its end, under an account unless it is empty.
func (b *box) run(ctx context.Context, account, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.WaitDelay = b.dir, time.Second
	if account != "" {
		c, err := credential(account)
		if err != nil {
			return err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
	}
	var text []byte
	err := b.Do(func() (err error) { text, err = cmd.CombinedOutput(); return err })
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", path, strings.Join(args, " "), err, text)
	}
	return nil
}

// names returns the names of boxes.
func names(boxes []*box) []string {
	var all []string
	for _, b := range boxes {
		all = append(all, b.Name)
	}
	return all
}

// without returns boxes without one.
func without(boxes []*box, one *box) []*box {
	return slices.DeleteFunc(slices.Clone(boxes), func(b *box) bool { return b == one })
}

// until waits until done returns true, for at most 60 s.
func until(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
