package client

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"
)

// GeneratorOption changes what [NewGenerator] makes.
type GeneratorOption func(*generatorOptions) error

type generatorOptions struct {
	layout   string
	holder   string
	lanes    int
	maxAhead time.Duration
	failFast bool
	logger   *slog.Logger
	clock    clock.Source
}

func newGeneratorOptions(opts []GeneratorOption) (generatorOptions, error) {
	o := generatorOptions{layout: snowflake.Default().Name(), lanes: 1, logger: slog.New(slog.DiscardHandler), clock: clock.System()}
	if err := apply(&o, opts); err != nil {
		return o, err
	}
	if o.holder == "" {
		name, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("client: this host has no name, so the holder needs one: %w", err)
		}
		if err := checkHolder(name); err != nil {
			return o, err
		}
		o.holder = name
	}
	return o, nil
}

// WithLayout is the layout of the IDs; the default is "default".
func WithLayout(name string) GeneratorOption {
	return func(o *generatorOptions) error {
		if name == "" {
			return fmt.Errorf("client: a layout without a name")
		}
		o.layout = name
		return nil
	}
}

// WithHolder is the stable name of this process, 1 to 125 bytes of what can be seen, without spaces; the
// default is the host's name. It tells people who has a worker, and a process that starts again under the same
// name gets the worker that it had, if that is free again. Nothing depends on its being unique.
func WithHolder(name string) GeneratorOption {
	return func(o *generatorOptions) error {
		o.holder = name
		return checkHolder(name)
	}
}

// checkHolder refuses what members would, so that no generator waits for a worker that it never gets.
func checkHolder(name string) error {
	if name == "" || len(name) > limits.ProcessBytes || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return fmt.Errorf("client: a holder named %q: expected 1 to %d bytes of what can be seen, without spaces", name, limits.ProcessBytes)
	}
	return nil
}

// WithLanes is how many workers to lease, 1 to 64; the default is 1. Each allows as many IDs a
// tick as the layout has sequences, in the default layout 4,096 a millisecond. IDs of different lanes are in
// no order.
func WithLanes(n int) GeneratorOption {
	return func(o *generatorOptions) error {
		if n < 1 || n > limits.Lanes {
			return fmt.Errorf("client: %d lanes: expected 1 to %d", n, limits.Lanes)
		}
		o.lanes = n
		return nil
	}
}

// WithMaxAhead is how far ahead of the clock an ID's time may be when all IDs of the ticks before are
// used; the default is 5 ms, less than 0 is not at all.
func WithMaxAhead(d time.Duration) GeneratorOption {
	return func(o *generatorOptions) error {
		o.maxAhead = d
		return nil
	}
}

// WithoutWaiting makes calls fail at once with ErrWindowEnded, or with what keeps the next window away, when
// the window has ended. They still wait for the clock to reach the next tick, and for the very first window.
func WithoutWaiting() GeneratorOption {
	return func(o *generatorOptions) error {
		o.failFast = true
		return nil
	}
}

// WithLogger tells what operators should know: workers taken and lost, windows not granted.
func WithLogger(l *slog.Logger) GeneratorOption {
	return func(o *generatorOptions) error {
		if l != nil {
			o.logger = l
		}
		return nil
	}
}
