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

// GeneratorOption configures a [Generator].
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
	switch {
	case o.layout == "":
		return o, errors.New("client: layout name must not be empty")
	case o.lanes < 1 || o.lanes > limits.Lanes:
		return o, fmt.Errorf("client: %d lanes: expected 1 to %d", o.lanes, limits.Lanes)
	}
	return o, checkHolder(&o.holder, "WithGeneratorHolder")
}

// checkHolder checks the name of a holder; nil becomes the host's name. Members check the name too, but without this check
// the program would wait for a worker that it never gets.
func checkHolder(holder **string, option string) error {
	if *holder == nil {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("client: missing holder name, and this host has no name; set %s: %w", option, err)
		}
		*holder = &name
	}
	if err := nfc.CheckProcess("holder name", **holder); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// WithGeneratorLayout sets the layout of the IDs; the default is "default".
func WithGeneratorLayout(name string) GeneratorOption {
	return func(o *generatorOptions) { o.layout = name }
}

// WithGeneratorHolder sets the stable name of this process: 1 to 125 bytes of printable UTF-8 in Unicode's
// normalization form C, without spaces, not beginning with "$". The default is the host's name. The name shows operators
// the holder of a worker. A process that restarts with the same name acquires its former worker, if that is free. The
// name need not be unique.
func WithGeneratorHolder(name string) GeneratorOption {
	return func(o *generatorOptions) { o.holder = &name }
}

// WithGeneratorLanes sets the number of workers to lease, 1 to 64; the default is 1. Each worker issues as many IDs per
// tick as the layout has sequences: 4,096 per millisecond in the default layout. IDs of different lanes are in
// no order.
func WithGeneratorLanes(n int) GeneratorOption { return func(o *generatorOptions) { o.lanes = n } }

// WithGeneratorNoWait makes calls fail at once when the window has ended, with ErrWindowEnded or the reason why no window
// was granted. Calls still wait for the next tick and for the first window.
func WithGeneratorNoWait() GeneratorOption { return func(o *generatorOptions) { o.failFast = true } }

// WithGeneratorLogger sets the logger for events that concern operators: workers acquired and lost, windows not granted.
func WithGeneratorLogger(l *slog.Logger) GeneratorOption {
	return func(o *generatorOptions) { o.logger = l }
}
