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

// restartAfter is how long after a process has ended by itself it is started again, as
// service managers do.
const restartAfter = time.Second

// promoteAfter is how soon new members become voters, so that runs of minutes see promotions.
const promoteAfter = "3s"

// dataDir is the name of the data directory on a member's disk: each life of the cluster has its own.
func (l *Lab) dataDir() string {
	if life := l.life.Load(); life > 1 {
		return fmt.Sprintf("data-%d", life)
	}
	return "data"
}

// Member is a host with a disk, and the member of a cluster on it. Its methods may be
// called from any goroutine.
type Member struct {
	machine

	Disk *disk.Disk

	founder bool
	binary  string   // guarded by machine.mu
	latest  uint32   // as above: its last start
	alone   bool     // as above: it is started as a cluster of its own
	broken  bool     // as above: its data was damaged, its log is not to be believed
	seek    *seek    // as above: whom it seeks instead of the founders
	flags   []string // as above: of its own
}

// seek is whom a member seeks when it starts.
type seek struct {
	expect int // how many new members start a cluster together
	seeds  []*Member
}

// Address is where one of its ports is reached.
func (m *Member) Address(port int) string { return net.JoinHostPort(m.Host.IP, strconv.Itoa(port)) }

// DataDir is the member's data directory, as the member sees it.
func (m *Member) DataDir() string { return filepath.Join(m.Disk.Path(), m.lab.dataDir()) }

// Files is the same directory, as the harness reads and damages it.
func (m *Member) Files() string { return filepath.Join(m.Disk.Under(), m.lab.dataDir()) }

// Start starts the process if it does not run. When it exits unasked it is started
// again, until it is killed or stopped here.
func (m *Member) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.launch(ctx)
}

// StartAlone starts the process as a cluster of its own. The next Start has it join the
// others.
func (m *Member) StartAlone(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone = true
	defer func() { m.alone = false }()
	return m.launch(ctx)
}

// Seek makes later starts seek the gossip of these members, instead of the founders', and start
// a cluster together with so many others that are new, expect in all. Without seeds they do
// again what is usual.
func (m *Member) Seek(expect int, seeds ...*Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seek = nil; len(seeds) > 0 {
		m.seek = &seek{expect, seeds}
	}
}

// launch does what Start does; mu is held.
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
	// SNOWRAFT_MUTANT_DIR is where the planted bug reuse-window keeps windows; members without it ignore it.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SNOWRAFT_MUTANT_DIR="+m.Disk.Path())
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	m.latest = start
	return m.run(start, cmd, func() { m.again(context.WithoutCancel(ctx), start) })
}

// args are those of "snowraft serve"; mu is held.
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

// With makes later starts have these flags beside those of all members.
func (m *Member) With(flags ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flags = flags
}

// again starts the member again after its process has ended, unless it was to end, or somebody else
// has started it since.
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

// Wipe empties the data directory of a member that is down: what starts next is another one.
func (m *Member) Wipe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Running() {
		return fmt.Errorf("%s runs: its data is in use", m.Name)
	}
	return os.RemoveAll(m.DataDir())
}

// Upgrade makes later starts run the other build of the program, or the usual one again.
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

// Damaged says whether the member's data was damaged: its log is not read meanwhile.
func (m *Member) Damaged(broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = broken
}

// Side is a directory of this machine's own disk, for a copy of the member's data.
func (m *Member) Side() string { return filepath.Join(m.lab.disks(), m.Name+"-side") }
