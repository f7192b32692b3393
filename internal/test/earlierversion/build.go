// Package earlierversion builds the program as a version before document numbers: one that knows neither their commands nor their
// services. Tests run members of it next to members of the program under test.
//
// Nothing of it is in the program: the go command builds with other sources in place of the real ones (-overlay), as for
// planted bugs.
package earlierversion

import (
	"context"

	"github.com/snowraft/snowraft/internal/build/mutant"
)

// Build builds the program.
func Build(ctx context.Context, to string) error {
	return mutant.Build(ctx, to, "./cmd/snowraft", func(ctx context.Context, root, dir string) (string, error) {
		patch, err := mutant.Read(root, "internal/test/earlierversion/earlier.patch")
		if err != nil {
			return "", err
		}
		return mutant.Overlay(ctx, root, dir, patch)
	})
}
