package client

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/snowflake"
)

// GeneratorOption changes what [NewGenerator] makes.
type GeneratorOption func(*generatorOptions)

type generatorOptions struct {
	layout   string
	holder   *string // nil: the host's name
	lanes    int
	failFast bool
	logger   *slog.Logger
	clock    clock.Source
}

func newGeneratorOptions(opts []GeneratorOption) (generatorOptions, error) {
	o := generatorOptions{layout: snowflake.Default().Name(), lanes: 1, clock: clock.System()}
	for _, set := range opts {
		set(&o)
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	if o.holder == nil {
		name, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("client: missing holder name, because this host has none: %w", err)
		}
		o.holder = &name
	}
	switch {
	case o.layout == "":
		return o, errors.New("client: layout name must not be empty")
	case o.lanes < 1 || o.lanes > limits.Lanes:
		return o, fmt.Errorf("client: %d lanes: expected 1 to %d", o.lanes, limits.Lanes)
	}
	// Members check it too; but no generator should wait for a worker that it never gets.
	if err := nfc.CheckProcess("holder name", *o.holder); err != nil {
		return o, fmt.Errorf("client: %w", err)
	}
	return o, nil
}

// WithGeneratorLayout is the layout of the IDs; the default is "default".
func WithGeneratorLayout(name string) GeneratorOption {
	return func(o *generatorOptions) { o.layout = name }
}

// WithGeneratorHolder is the stable name of this process: 1 to 125 bytes of printable UTF-8 in Unicode's
// normalization form C, without spaces, not beginning with "$". The default is the host's name. It tells people who
// has a worker, and a process that starts again under the same
// name gets the worker that it had, if that is free again. Nothing depends on its being unique.
func WithGeneratorHolder(name string) GeneratorOption {
	return func(o *generatorOptions) { o.holder = &name }
}

// WithGeneratorLanes sets the number of workers to lease, 1 to 64; the default is 1. Each allows as many IDs a
// tick as the layout has sequences, in the default layout 4,096 a millisecond. IDs of different lanes are in
// no order.
func WithGeneratorLanes(n int) GeneratorOption { return func(o *generatorOptions) { o.lanes = n } }

// WithGeneratorNoWait makes calls fail at once with ErrWindowEnded, or with what keeps the next window away, when
// the window has ended. They still wait for the clock to reach the next tick, and for the very first window.
func WithGeneratorNoWait() GeneratorOption { return func(o *generatorOptions) { o.failFast = true } }

// WithGeneratorLogger logs what operators should know: workers taken and lost, windows not granted.
func WithGeneratorLogger(l *slog.Logger) GeneratorOption {
	return func(o *generatorOptions) { o.logger = l }
}
