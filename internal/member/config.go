package member

import (
	"context"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// UpdateConfig changes the configuration; only the leader can. change edits a copy of the present configuration, and is
// called again if another change came first. The error is a [GenerationError] if the configuration does not have the
// expected generation; nil accepts any. The caller must not change the result.
func (m *Member) UpdateConfig(ctx context.Context, expected *uint64, change func(*commandv1.Config)) (*commandv1.Config, error) {
	for {
		present, err := expect(ctx, m, "configuration", expected, func() (*commandv1.Config, uint64, error) {
			c := m.fsm.ConfigValue()
			return c, c.GetGeneration(), nil
		})
		if err != nil {
			return nil, err
		}
		next := proto.CloneOf(present)
		next.Generation = 0
		change(next)
		c, err := m.setConfig(ctx, next, present.GetGeneration())
		if !refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH) {
			return c, err
		}
	}
}

// setConfig replaces the configuration if it has that generation.
func (m *Member) setConfig(ctx context.Context, c *commandv1.Config, generation uint64) (*commandv1.Config, error) {
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_SetConfig{
		SetConfig: &commandv1.SetConfig{Config: c, Generation: generation},
	}})
	return result.Config, err
}
