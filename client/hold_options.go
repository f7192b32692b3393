package client

import (
	"errors"
	"log/slog"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// WorkerOption configures a [HeldWorker].
type WorkerOption func(*holdOptions)

type holdOptions struct {
	layout string
	holder *string // nil: the host's name
	logger *slog.Logger
	clock  clock.Source
}

func newHoldOptions(opts []WorkerOption) (holdOptions, error) {
	o := holdOptions{layout: snowflake.Default().Name(), logger: slog.New(slog.DiscardHandler), clock: clock.System()}
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

// WithWorkerLogger sets the logger for events that concern operators: a worker lost, a window not extended.
func WithWorkerLogger(l *slog.Logger) WorkerOption { return func(o *holdOptions) { o.logger = l } }
