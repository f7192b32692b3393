package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

const (
	devMembers = 3
	// devTimeout is the longest time that the members may take to become ready. They need about two seconds.
	devTimeout = 30 * time.Second
	// silent is a level above all others.
	silent = slog.LevelError + 1
)

// devConfig holds the settings of dev.
type devConfig struct {
	dataDir             string
	secure              bool
	portBase            int
	logLevel, logFormat string
}

// NewDev returns the command dev.
func NewDev(h *Host) *cobra.Command {
	cfg := devConfig{portBase: cli.APIPort, logLevel: "warn", logFormat: "text"}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a three-member cluster on this machine",
		Long: `Run a three-member cluster in this process until Ctrl-C: three data directories,
with Raft and gossip over TCP on 127.0.0.1. The first member uses the default ports,
so that other commands work in a second terminal without flags. The ports of each
further member are 10 higher. Any process of this machine can act as a member, so dev
promises unique IDs only where all processes are trusted.

The cluster of dev lets INCR of the Redis protocol create sequences, which a cluster
of "snowraft serve" rejects by default (see "snowraft config set --help").

With --secure, the members share a secret that dev draws, all ports speak TLS, and dev
prints a token for applications and the path of the secret file, which gives a command
all rights.

On a terminal, keys kill, start and cut off a member, and dev shows what clients see
meanwhile: IDs and strict numbers per second, failed calls, the longest time without a
result, and duplicates.

On exit, dev deletes the data, unless --data-dir names a directory to keep it in.`,
		Example: `  snowraft dev
  snowraft dev --port-base 7800
  snowraft dev --secure
  snowraft dev --data-dir ./try-snowraft`,
		Args: cli.Args,
	}
	cmd.Flags().SortFlags = false
	cli.AddFlag(cmd, "", "data-dir", "", cli.TextValue(&cfg.dataDir, "DIR"), "directory to keep the data in, and to resume from")
	cli.AddFlag(cmd, "", "port-base", "", cli.IntValue(&cfg.portBase, 1, highestPortBase), "first port of the first member, for its API; HTTP, Raft, gossip, Redis and Thrift follow")
	cli.AddFlag(cmd, "", "secure", "", cli.SwitchValue(&cfg.secure), "secure the cluster with a secret, and print a token").NoOptDefVal = "true"
	addLogFlags(&cfg.logLevel, &cfg.logFormat, func(name string, v *cli.Value, help string) { cli.AddFlag(cmd, "", name, "", v, help) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.supported(cmd.Name()); err != nil {
			return err
		}
		return h.dev(cmd.Context(), cfg)
	}
	return cmd
}

// dev runs the cluster until a signal arrives or no member is left.
func (h *Host) dev(ctx context.Context, cfg devConfig) (err error) {
	ctx, again, stop := h.Interruptible(ctx)
	defer stop()
	if err := checkPorts(ctx, cfg.portBase); err != nil {
		return err
	}
	dir := cfg.dataDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "snowraft-dev-"); err != nil {
			return fmt.Errorf("create data directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	f := &fleet{host: h, cfg: cfg, dir: dir}
	in, out, style, keys := h.terminal()
	if keys {
		f.links = newLinks(cfg.portBase, h.Now)
	}
	if cfg.secure {
		if err := f.secure(); err != nil {
			return err
		}
	}
	f.level.Set(logLevels[cfg.logLevel])
	f.hush(slog.LevelInfo)
	defer func() { err = errors.Join(err, closeInOrder(again, f.close)) }()
	start := h.Now()
	if terminal, _ := h.Terminal(h.Stderr); terminal {
		fmt.Fprintln(h.Stderr, "starting three members ...")
	}
	err = f.start(ctx)
	if err == nil {
		err = h.welcome(ctx, f, h.Now().Sub(start))
	}
	if ctx.Err() != nil {
		return nil // a signal arrived during the start
	}
	if err != nil {
		return err
	}
	if keys {
		b := &display{fleet: f, in: in, out: out, style: style}
		return b.run(ctx)
	}
	f.level.Set(logLevels[cfg.logLevel])
	return f.wait(ctx)
}

// fleet are the members of dev.
type fleet struct {
	host    *Host
	cfg     devConfig
	dir     string
	members []devMember
	level   slog.LevelVar // current level of the members' logs
	secured *secured      // nil for open members
	links   *links        // nil without a terminal, whose keys can cut them
	access  cli.Access
}

type devMember struct {
	member
	name   string
	tracer *tracing.Tracer
}

// hush suppresses the logs of the members, unless the user requested the level lowest or more details. During the start and
// the stop, warnings are normal and would hide the output of dev.
func (f *fleet) hush(lowest slog.Level) {
	if logLevels[f.cfg.logLevel] > lowest {
		f.level.Set(silent)
	}
}

// open opens the member with an index.
func (f *fleet) open(ctx context.Context, i int) (devMember, error) {
	logger := f.host.logger(&f.level, f.cfg.logFormat)
	c := memberDefaults()
	c.Name = fmt.Sprintf("dev-%d", i+1)
	c.DataDir = filepath.Join(f.dir, c.Name)
	for _, l := range listeners {
		*l.field(&c) = devAddress(f.cfg.portBase, i, l.port)
	}
	c.BootstrapExpect = devMembers
	c.RedisCreate = "strict"
	for other := range devMembers {
		if other != i {
			c.Join = append(c.Join, devAddress(f.cfg.portBase, other, cli.GossipPort))
		}
	}
	c.Logger, c.Version = logger, f.host.Version
	if f.links != nil {
		c.Network = &link{server.Machine(), f.links, i}
	}
	if f.secured != nil {
		var err error
		if c.Keys, err = trust.OpenKeys(f.secured.secret); err != nil {
			return devMember{}, err
		}
	}
	var err error
	if c.Tracer, err = f.host.trace(ctx, memberService, c.Name, slowDefault, logger); err != nil {
		return devMember{}, err
	}
	m, err := f.host.open(ctx, c)
	if errors.Is(err, cluster.ErrSecured) {
		return devMember{}, cli.Usagef("--data-dir %q: the data belongs to a secured cluster; set --secure", f.dir)
	}
	if err != nil {
		return devMember{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	return devMember{m, c.Name, c.Tracer}, nil
}

// start opens the members and waits until all of them issue IDs.
func (f *fleet) start(ctx context.Context) error {
	for i := range devMembers {
		m, err := f.open(ctx, i)
		if err != nil {
			return err
		}
		f.members = append(f.members, m)
	}
	ctx, cancel := context.WithTimeout(ctx, devTimeout)
	defer cancel()
	for _, m := range f.members {
		if err := waitReady(ctx, m, nil); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if f.secured != nil {
		return f.firstToken(ctx)
	}
	return nil
}

// wait returns when ctx ends or no member is left. It reports members that stop.
func (f *fleet) wait(ctx context.Context) error {
	ended := make(chan devMember, len(f.members)) // buffered: no sender waits
	for _, m := range f.members {
		go func() {
			select {
			case <-m.Done():
				ended <- m
			case <-ctx.Done():
			}
		}()
	}
	var failed error
	for range f.members {
		select {
		case <-ctx.Done():
			return nil
		case m := <-ended:
			if err := m.Err(); err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
				fmt.Fprintf(f.host.Stderr, "%s stopped: %v\n", m.name, err)
			} else {
				fmt.Fprintf(f.host.Stderr, "%s has left the cluster\n", m.name)
			}
			// A member that must stop is not closed yet, and would keep listening.
			if err := closeInOrder(nil, m.Close); err != nil {
				fmt.Fprintf(f.host.Stderr, "%s did not close: %v\n", m.name, err)
			}
		}
	}
	return failed
}

// close closes all members at once.
func (f *fleet) close(ctx context.Context) error {
	f.hush(slog.LevelDebug) // the last members have no leader left to release their workers at
	closed := make(chan error, len(f.members))
	for _, m := range f.members {
		go func() {
			err := m.Close(ctx)
			m.tracer.Close(ctx)
			closed <- err
		}()
	}
	var err error
	for range f.members {
		err = errors.Join(err, <-closed)
	}
	return err
}
