package serve

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
)

// Host is the environment of the commands that run a server.
type Host struct {
	*cli.App
	// system is the operating system, as runtime.GOOS names it.
	system string
	// program is the command that starts this program in a shell.
	program string
	// collectAt sets the growth of the heap between two garbage collections, in percent.
	collectAt func(percent int)
	// limitMemory sets the memory that the process may use before it collects garbage more often, in bytes.
	limitMemory func(bytes int64)
	// root is the file system of the machine.
	root fs.FS
	// manager returns the service manager that started this process, or nil.
	manager func() (manager, error)
	// open starts a member.
	open func(context.Context, server.Config) (member, error)
	// openGateway starts a gateway.
	openGateway func(context.Context, gateway.Config) (process, error)
}

// NewHost returns the host of the real process.
func NewHost(a *cli.App) *Host {
	return &Host{
		App:         a,
		system:      runtime.GOOS,
		program:     programName(os.Args[0]),
		collectAt:   func(percent int) { debug.SetGCPercent(percent) },
		limitMemory: func(bytes int64) { debug.SetMemoryLimit(bytes) },
		root:        os.DirFS("/"),
		manager:     inherit,
		open: func(ctx context.Context, cfg server.Config) (member, error) {
			return server.Open(ctx, cfg)
		},
		openGateway: func(ctx context.Context, cfg gateway.Config) (process, error) {
			return gateway.Open(ctx, cfg)
		},
	}
}

// supported returns an error on an operating system on which no server runs.
func (h *Host) supported(command string) error {
	if h.system == "windows" {
		return fmt.Errorf("%s is not supported on Windows, because it cannot make data durable as a member must; run servers on Linux, macOS or FreeBSD, or in a container. Client commands work on Windows", command)
	}
	return nil
}

// process is a running member or gateway.
type process interface {
	// Done is closed when the process must shut down without a signal. Err returns the reason, nil after a member left.
	Done() <-chan struct{}
	Err() error
	Close(context.Context) error
	// Ready returns nil if the process can issue IDs now.
	Ready() error
	// Alive returns nil while the process makes progress. A service manager restarts a process that does not.
	Alive() error
	APIAddr() string
	HTTPAddr() string
	RedisAddr() string  // empty if it does not listen
	ThriftAddr() string // empty if it does not listen
}

// member is a running cluster member.
type member interface {
	process
	RaftAddr() string
	GossipAddr() string
	ClusterID() string
	MemberID() string
}
