//go:build linux

// Package lab is a small data center for cluster members. Each member runs the unmodified program on a host with its own
// network namespace, disk and wall clock. The lab records each start and each exit of a process in the history. The main
// types are [Lab] and [Member].
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// The ports of a member.
const (
	PortAPI    = 7700
	PortHTTP   = 7701
	PortRaft   = 7702
	PortGossip = 7703
	PortRedis  = 7704
)

// diskBytes is the size of a member's disk.
const diskBytes = 256 << 20

// Config is the configuration of a lab.
type Config struct {
	// Dir is the run's directory.
	Dir string
	// Binary is the program of members, Upgrade another build of it.
	Binary, Upgrade string
	// Members is the number of founders, which start the cluster together; their names are n1, n2, ...
	Members int
	// Spares is the number of hosts for workloads, and Twins that for faults. Both begin without a member, and their names
	// continue those of the founders. Strays is the number of hosts for members that belong to other clusters, x1, x2,
	// ..., which clients do not call.
	Spares, Twins, Strays int
	// Flags are added to "snowraft serve" of each member.
	Flags []string
	// Interposed puts each disk behind a file system that can be made to fail.
	Interposed bool
	// MaxWindow is the longest window that the members grant during the run.
	MaxWindow time.Duration
	// Secured gives all members a secret, and clients tokens.
	Secured bool
	Journal *history.Journal
}

// Lab is a data center. Its methods may be called from any goroutine.
type Lab struct {
	cfg     Config
	Net     *network.Net
	Members []*Member // founders, spares and twins, not strays
	strays  []*Member

	starts atomic.Uint32
	life   atomic.Int32 // number of the cluster's life, from 1; changes only with the mu of all members held
	calls  sync.Map     // callKey of a connection (string) -> start that the connection leads to (uint32)

	mu        sync.Mutex
	latest    map[string]history.Status // keyed by member name
	memberIDs map[string]string         // last reported member ID, keyed by member name
	guests    []*Guest
	outsider  *network.Host
	access    *access                  // nil if the cluster has no secret
	archives  map[int]*raftlog.Archive // keyed by life
}

// Open makes the hosts and their disks, and starts no process. Close kills the processes and removes hosts and disks. If
// this process stops earlier, its sandbox removes them.
func Open(ctx context.Context, cfg Config) (_ *Lab, err error) {
	l := &Lab{cfg: cfg, latest: make(map[string]history.Status), memberIDs: make(map[string]string), archives: make(map[int]*raftlog.Archive)}
	l.life.Store(1)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, dir := range []string{l.disks(), l.logs()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if cfg.Secured {
		if err := l.secure(); err != nil {
			return nil, err
		}
	}
	if l.archives[1], err = raftlog.Create(cfg.Dir, 1); err != nil {
		return nil, err
	}
	if l.Net, err = network.New(ctx); err != nil {
		return nil, err
	}
	for i := range cfg.Members + cfg.Spares + cfg.Twins {
		m, err := l.addMember(ctx, fmt.Sprintf("n%d", i+1), i+1)
		if err != nil {
			return nil, err
		}
		m.founder = i < cfg.Members
		l.Members = append(l.Members, m)
	}
	for i := range cfg.Strays {
		m, err := l.addMember(ctx, fmt.Sprintf("x%d", i+1), firstStray+i)
		if err != nil {
			return nil, err
		}
		l.strays = append(l.strays, m)
	}
	return l, nil
}

// The last bytes of addresses: firstStray of the first stray, and outsider of the first of the outsider's addresses.
// outsiders is the number of the outsider's addresses.
const (
	firstStray = 150
	outsider   = 180
	outsiders  = 16
)

func (l *Lab) disks() string { return filepath.Join(l.cfg.Dir, "disks") }

func (l *Lab) logs() string { return filepath.Join(l.cfg.Dir, "logs") }

func (l *Lab) addMember(ctx context.Context, name string, number int) (*Member, error) {
	host, err := l.Net.AddHost(ctx, name, number)
	if err != nil {
		return nil, err
	}
	d, err := disk.New(ctx, l.disks(), name, diskBytes)
	if err != nil {
		return nil, err
	}
	if l.cfg.Interposed {
		if err := d.Interpose(ctx); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return &Member{machine: machine{Name: name, Host: host, lab: l}, Disk: d, binary: l.cfg.Binary}, nil
}

// Boot starts the founders that do not run.
func (l *Lab) Boot(ctx context.Context) error { return Start(ctx, l.Founders()...) }

// Start starts the members that do not run.
func Start(ctx context.Context, members ...*Member) error {
	for _, m := range members {
		if err := m.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Founders returns the members that start the cluster together.
func (l *Lab) Founders() []*Member { return l.Members[:l.cfg.Members] }

// Spares returns the members for workloads.
func (l *Lab) Spares() []*Member {
	return l.Members[l.cfg.Members : l.cfg.Members+l.cfg.Spares]
}

// Twins returns the members for the fault twin.
func (l *Lab) Twins() []*Member { return l.Members[l.cfg.Members+l.cfg.Spares:] }

// Strays returns the hosts for members that belong to other clusters.
func (l *Lab) Strays() []*Member { return l.strays }

// Running returns the members whose processes run or are paused.
func (l *Lab) Running() []*Member {
	var running []*Member
	for _, m := range l.Members {
		if m.Running() {
			running = append(running, m)
		}
	}
	return running
}

// Member returns the member with this name, nil if there is none.
func (l *Lab) Member(name string) *Member {
	for _, m := range l.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Note writes a note into the history.
func (l *Lab) Note(member, what, detail string) {
	l.cfg.Journal.Add(history.Line{Note: &history.Note{At: history.Now(), Member: member, What: what, Detail: detail}})
}

// NextStart returns the number of the next start of a process, unique in the run.
func (l *Lab) NextStart() uint32 { return l.starts.Add(1) }

// Close kills all processes and removes the hosts and disks.
func (l *Lab) Close() error {
	var errs []error
	for _, g := range l.Guests() {
		g.Kill()
	}
	for _, m := range slices.Concat(l.Members, l.strays) {
		m.Kill()
		errs = append(errs, m.Disk.Close())
	}
	if l.Net != nil {
		errs = append(errs, l.Net.Close())
	}
	for _, archive := range l.archives {
		if archive != nil {
			errs = append(errs, archive.Close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(l.disks()))...)
}

// Outsider returns a host with several addresses that runs neither members nor clients. The first call makes the host.
func (l *Lab) Outsider(ctx context.Context) (_ *network.Host, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outsider == nil {
		l.outsider, err = l.Net.AddHostOf(ctx, "outsider", outsider, outsiders)
	}
	return l.outsider, err
}
