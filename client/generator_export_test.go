package client

import "github.com/snowraft/snowraft/internal/clock"

// WithGeneratorClock replaces the machine's clock.
func WithGeneratorClock(source clock.Source) GeneratorOption {
	return func(o *generatorOptions) { o.clock = source }
}
