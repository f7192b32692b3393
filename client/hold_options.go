package client

import (
	"errors"
	"log/slog"
	"os"
	"strconv"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// WorkerOption configures a [HeldWorker].
type WorkerOption func(*holdOptions)

type holdOptions struct {
	layout  string
	holder  *string // nil: the host's name
	below   uint64  // 0: any worker
	process allocator.Process
	logger  *slog.Logger
	clock   clock.Source
}

func newHoldOptions(opts []WorkerOption) (holdOptions, error) {
	o := holdOptions{layout: snowflake.Default().Name(), logger: slog.New(slog.DiscardHandler), clock: clock.System()}
	o.process.Host, _ = os.Hostname() // without a name, the description has none
	o.process.ID = strconv.Itoa(os.Getpid())
	for _, set := range opts {
		set(&o)
	}
	if o.layout == "" {
		return o, errors.New("client: layout name must not be empty")
	}
	return o, checkHolder(&o.holder, "WithWorkerHolder")
}

// WithWorkerLayout sets the layout of the worker; the default is "default".
func WithWorkerLayout(name string) WorkerOption { return func(o *holdOptions) { o.layout = name } }

// WithWorkerHolder sets the stable name of the holder, by the rules of [WithGeneratorHolder]; the default is the host's name.
func WithWorkerHolder(name string) WorkerOption { return func(o *holdOptions) { o.holder = &name } }

// WithWorkerBelow requests a worker below n, for a library whose worker field is narrower than that of the layout.
func WithWorkerBelow(n uint64) WorkerOption { return func(o *holdOptions) { o.below = n } }

// WithWorkerProgram describes this process to people. The cluster also shows its host and process ID. Each text has at most 128 bytes.
func WithWorkerProgram(name, version string) WorkerOption {
	return func(o *holdOptions) { o.process.Kind, o.process.Version = name, version }
}

// WithWorkerLogger sets the logger for events that concern operators: a worker lost, a window not extended.
func WithWorkerLogger(l *slog.Logger) WorkerOption { return func(o *holdOptions) { o.logger = l } }
