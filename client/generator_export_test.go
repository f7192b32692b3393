package client

import "github.com/snowraft/snowraft/internal/clock"

// WithClock replaces the machine's clock.
func WithClock(source clock.Source) GeneratorOption {
	return func(o *generatorOptions) error {
		o.clock = source
		return nil
	}
}
