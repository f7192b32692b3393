package client

import "github.com/snowraft/snowraft/internal/clock"

// WithClock replaces the machine's clock.
func WithClock(source clock.Source) GeneratorOption {
	return func(o *generatorOptions) { o.clock = source }
}
