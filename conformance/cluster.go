package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ports chooses ports of loopback. A server of the suite gets two: an HTTP port is one above the port for gRPC.
type ports struct {
	mu   sync.Mutex
	next int
}

// take returns the first of n successive ports.
func (p *ports) take(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.next
	p.next += n
	return first
}

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// cluster is a cluster of three members.
type cluster struct {
	program string
	dir     string
	secret  string   // file; empty: open
	flags   []string // further ones of the members
	members []*process
}

// host is a machine of a member. The function do starts processes on it.
type host struct {
	ip string
	do func(func() error) error
}

// loopback is the host of members that no scenario cuts off.
var loopback = host{"127.0.0.1", func(f func() error) error { return f() }}

// process is a member.
type process struct {
	name string
	host host
	port int // gRPC; HTTP, Raft and gossip follow
	cmd  *exec.Cmd
}

func (p *process) api() string    { return p.at(p.port) }
func (p *process) http() string   { return p.at(p.port + 1) }
func (p *process) gossip() string { return p.at(p.port + 3) }

func (p *process) at(port int) string { return net.JoinHostPort(p.host.ip, strconv.Itoa(port)) }

// newCluster starts three members and waits until they serve.
func newCluster(ctx context.Context, program, dir string, free *ports, secured bool) (*cluster, error) {
	c := &cluster{program: program, dir: dir}
	for _, name := range memberNames {
		c.members = append(c.members, &process{name: name, host: loopback, port: free.take(4)})
	}
	return c, c.begin(ctx, secured)
}

// memberNames are the names of the three members.
var memberNames = []string{"a", "b", "c"}

// begin starts all members and waits until they serve. After an error, none is left.
func (c *cluster) begin(ctx context.Context, secured bool) error {
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return err
	}
	if secured {
		c.secret = filepath.Join(c.dir, "secret")
		if _, err := c.command(ctx, "secret", "create", "--out", c.secret); err != nil {
			return err
		}
	}
	for _, p := range c.members {
		if err := c.start(p); err != nil {
			c.stop()
			return err
		}
	}
	if err := c.ready(ctx); err != nil {
		c.stop()
		return err
	}
	return nil
}

// start starts a member, also again, and at other ports.
func (c *cluster) start(p *process) error {
	var seeds []string
	for _, m := range c.members {
		seeds = append(seeds, m.gossip())
	}
	argv := []string{"serve", "--name", p.name, "--data-dir", filepath.Join(c.dir, p.name), "--bootstrap-expect", "3",
		"--api-addr", p.api(), "--http-addr", p.http(), "--raft-addr", p.at(p.port + 2), "--gossip-addr", p.gossip(),
		"--join", strings.Join(seeds, ",")}
	if c.secret != "" {
		argv = append(argv, "--secret-file", c.secret)
	} else {
		argv = append(argv, "--insecure") // on other addresses than loopback
	}
	argv = append(argv, c.flags...)
	log, err := os.OpenFile(filepath.Join(c.dir, p.name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(c.program, argv...) //nolint:noctx // stop ends it
	p.cmd.Stdout, p.cmd.Stderr = log, log
	return p.host.do(p.cmd.Start)
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill kills the member and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// stop kills all members.
func (c *cluster) stop() {
	for _, p := range c.members {
		if p.cmd != nil {
			p.kill()
		}
	}
}

// addresses returns the HTTP addresses.
func (c *cluster) addresses() (all []string) {
	for _, p := range c.members {
		all = append(all, p.http())
	}
	return all
}

// signal sends a signal to all members.
func (c *cluster) signal(s syscall.Signal) (err error) {
	for _, p := range c.members {
		err = errors.Join(err, p.signal(s))
	}
	return err
}

// ready waits until all members answer that they can issue.
func (c *cluster) ready(ctx context.Context) error {
	for _, p := range c.members {
		err := eventually(ctx, func() error {
			_, err := c.command(ctx, "id", "--addr", p.api())
			return err
		})
		if err != nil {
			return fmt.Errorf("member %s: %w", p.name, err)
		}
	}
	return nil
}

// command runs a command of the program, with the secret if there is one.
func (c *cluster) command(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if c.secret != "" && (argv[0] != "secret" || argv[1] != "create") {
		argv = append(argv, "--secret-file", c.secret)
	}
	cmd := exec.CommandContext(ctx, c.program, argv...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("snowraft %s: %w: %.500s", strings.Join(argv, " "), err, problem.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// admin runs a command at the first member.
func (c *cluster) admin(ctx context.Context, argv ...string) (string, error) {
	return c.command(ctx, append(argv, "--addr", c.members[0].api())...)
}

// eventually repeats f until it succeeds, for at most half a minute.
func eventually(ctx context.Context, f func() error) error { return within(ctx, 30*time.Second, f) }

// within repeats f until it succeeds, for at most a time.
func within(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
