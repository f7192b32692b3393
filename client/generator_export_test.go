package client

import "github.com/snowraft/snowraft/internal/clock"

// Patience is the patience of the tests of this package.
const Patience = patience

// WithGeneratorClock replaces the machine's clock.
func WithGeneratorClock(source clock.Source) GeneratorOption {
	return func(o *generatorOptions) { o.clock = source }
}
