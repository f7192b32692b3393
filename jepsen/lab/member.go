//go:build linux

package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/disk"
)

// restartAfter is the time from an unexpected exit of a process to its restart. The lab restarts processes in place of a
// service manager.
const restartAfter = time.Second

// promoteAfter is the time after which new members become voters, short enough for promotions in runs of minutes.
const promoteAfter = "3s"

// dataDir returns the name of the data directory on a member's disk. Each life of the cluster has its own.
func (l *Lab) dataDir() string {
	if life := l.life.Load(); life > 1 {
		return fmt.Sprintf("data-%d", life)
	}
	return "data"
}

// Member is a host with a disk, and the cluster member that runs on it. Its methods may be called from any goroutine.
type Member struct {
	machine

	Disk *disk.Disk

	founder bool
	binary  string   // program of the next start; machine.mu guards this and the fields below
	latest  uint32   // number of the last start
	alone   bool     // start as a cluster of one member
	broken  bool     // data damaged, so the log is not harvested
	seek    *seek    // targets of joins; nil for the founders
	flags   []string // flags in addition to those of all members
}

// seek lists the members that a starting member tries to join.
type seek struct {
	expect int // number of new members that start a cluster together
	seeds  []*Member
}

// Address returns the address of one of the member's ports.
func (m *Member) Address(port int) string { return net.JoinHostPort(m.Host.IP, strconv.Itoa(port)) }

// DataDir returns the path of the data directory for the member's process.
func (m *Member) DataDir() string { return filepath.Join(m.Disk.Path(), m.lab.dataDir()) }

// Files returns the path of the same directory for the harness, which reads and damages its files there.
func (m *Member) Files() string { return filepath.Join(m.Disk.Under(), m.lab.dataDir()) }

// Start starts the process if it does not run. After an unexpected exit the process is restarted, until the lab kills or
// stops it.
func (m *Member) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.launch(ctx)
}

// StartAlone starts the process as a cluster of one member. The next Start makes the member join the others.
func (m *Member) StartAlone(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone = true
	defer func() { m.alone = false }()
	return m.launch(ctx)
}

// Seek makes later starts contact the gossip of the seeds instead of the founders, and start a cluster of expect new
// members in all. Without seeds, later starts contact the founders again.
func (m *Member) Seek(expect int, seeds ...*Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seek = nil; len(seeds) > 0 {
		m.seek = &seek{expect, seeds}
	}
}

// launch does what Start does. Requires m.mu held.
func (m *Member) launch(ctx context.Context) error {
	m.state.Lock()
	m.keep = true
	running := m.proc != nil
	m.state.Unlock()
	if running {
		return nil
	}
	start := m.lab.NextStart()
	log, err := os.Create(filepath.Join(m.lab.logs(), fmt.Sprintf("%s.%d.log", m.Name, start)))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own descriptor
	cmd := exec.CommandContext(context.WithoutCancel(ctx), m.binary, m.args()...)
	// The planted bug reuse-window keeps windows in SNOWRAFT_MUTANT_DIR; members without the bug ignore the variable.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SNOWRAFT_MUTANT_DIR="+m.Disk.Path())
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	m.latest = start
	return m.run(start, cmd, func() { m.again(context.WithoutCancel(ctx), start) })
}

// args returns the arguments of "snowraft serve". Requires m.mu held.
func (m *Member) args() []string {
	args := []string{
		"serve", "--name", m.Name, "--data-dir", m.DataDir(), "--log-format", "json", "--promote-after", promoteAfter,
		"--api-addr", m.Address(PortAPI), "--http-addr", m.Address(PortHTTP), "--raft-addr", m.Address(PortRaft),
		"--gossip-addr", m.Address(PortGossip), "--redis-addr", m.Address(PortRedis),
	}
	if !slices.Contains(m.lab.cfg.Flags, "--secret-file") {
		args = append(args, "--insecure")
	}
	if m.alone {
		return append(args, m.lab.secret()...)
	}
	whom, expect := m.lab.Founders(), 0
	if m.founder && m.lab.life.Load() == 1 {
		expect = m.lab.cfg.Members
	}
	if m.seek != nil {
		whom, expect = m.seek.seeds, m.seek.expect
	}
	var seeds []string
	for _, other := range whom {
		if other != m {
			seeds = append(seeds, other.Address(PortGossip))
		}
	}
	if expect > 0 {
		args = append(args, "--bootstrap-expect", strconv.Itoa(expect))
	}
	if len(seeds) > 0 {
		args = append(args, "--join", strings.Join(seeds, ","))
	}
	return slices.Concat(args, m.lab.cfg.Flags, m.flags)
}

// With makes later starts have these flags in addition to those of all members.
func (m *Member) With(flags ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flags = flags
}

// again restarts the member after the process of start ended has exited, unless the exit was expected or the member was
// started since.
func (m *Member) again(ctx context.Context, ended uint32) {
	if !m.kept() {
		return
	}
	wait := time.NewTimer(restartAfter)
	defer wait.Stop()
	<-wait.C
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept() && m.latest == ended {
		if err := m.launch(ctx); err != nil {
			m.lab.Note(m.Name, "not-restarted", err.Error())
		}
	}
}

// Wipe removes the data directory of a member that is down. The next start begins as a new member.
func (m *Member) Wipe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Running() {
		return fmt.Errorf("%s is running: its data is in use", m.Name)
	}
	return os.RemoveAll(m.DataDir())
}

// Upgrade makes later starts run the other build of the program, or the usual build again if to is false.
func (m *Member) Upgrade(to bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.binary = m.lab.cfg.Binary; to {
		m.binary = m.lab.cfg.Upgrade
	}
}

// Upgraded reports whether the member's next start runs the other build.
func (m *Member) Upgraded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.binary == m.lab.cfg.Upgrade
}

// Damaged sets whether the member's data is damaged. The log of a damaged member is not harvested.
func (m *Member) Damaged(broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = broken
}

// Side returns the path of a directory on this machine's disk for a copy of the member's data.
func (m *Member) Side() string { return filepath.Join(m.lab.disks(), m.Name+"-side") }
