package serve

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing/fstest"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/gateway"
)

// testApp is a host whose environment is in memory.
type testApp struct {
	*Host
	*clitest.World
	percents []int   // values set for the garbage collector
	limits   []int64 // limits of memory that were set
	files    fstest.MapFS
}

func newTestApp() *testApp {
	t := &testApp{World: clitest.New(), files: fstest.MapFS{}}
	t.Host = &Host{
		App:         t.World.App("v0.0.0"),
		program:     "./snowraft",
		collectAt:   func(percent int) { t.percents = append(t.percents, percent) },
		limitMemory: func(bytes int64) { t.limits = append(t.limits, bytes) },
		root:        t.files,
		manager:     func() (manager, error) { return nil, nil },
		open:        func(context.Context, server.Config) (member, error) { return nil, errors.New("not to be opened") },
		openGateway: func(context.Context, gateway.Config) (process, error) {
			return nil, errors.New("not to be opened")
		},
	}
	return t
}

// run executes one command line and returns the exit code.
func (t *testApp) run(ctx context.Context, args ...string) int {
	root := &cobra.Command{Use: "snowraft"}
	root.AddCommand(New(t.Host), NewGateway(t.Host), NewDev(t.Host), NewHealth(t.Host))
	return t.Run(ctx, root, args)
}

// fakeMember is a member without servers or state.
type fakeMember struct {
	api    string
	thrift string       // empty: no listener
	ready  func() error // nil: always ready
	alive  func() error // nil: always alive
	done   chan struct{}
	err    error
	shut   func(context.Context) error
	closed chan struct{}
	once   sync.Once
}

func newFakeMember() *fakeMember {
	return &fakeMember{
		api: "127.0.0.1:1", done: make(chan struct{}), closed: make(chan struct{}),
		shut: func(context.Context) error { return nil },
	}
}

func call(answer func() error) error {
	if answer == nil {
		return nil
	}
	return answer()
}

// end closes Done with err as the reason, like a member that shuts down.
func (m *fakeMember) end(err error) {
	m.err = err
	close(m.done)
}

func (m *fakeMember) Done() <-chan struct{} { return m.done }
func (m *fakeMember) Err() error            { return m.err }
func (m *fakeMember) Ready() error          { return call(m.ready) }
func (m *fakeMember) Alive() error          { return call(m.alive) }
func (m *fakeMember) APIAddr() string       { return m.api }
func (m *fakeMember) HTTPAddr() string      { return "127.0.0.1:2" }
func (m *fakeMember) RaftAddr() string      { return "127.0.0.1:3" }
func (m *fakeMember) GossipAddr() string    { return "127.0.0.1:4" }
func (m *fakeMember) RedisAddr() string     { return "127.0.0.1:5" }
func (m *fakeMember) ThriftAddr() string    { return m.thrift }
func (m *fakeMember) ClusterID() string     { return "cluster-1" }
func (m *fakeMember) MemberID() string      { return "node-1" }

func (m *fakeMember) Close(ctx context.Context) error {
	m.once.Do(func() { close(m.closed) })
	return m.shut(ctx)
}

var _ member = (*fakeMember)(nil)

const interrupt = syscall.SIGINT
