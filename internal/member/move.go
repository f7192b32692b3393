package member

import (
	"context"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// MoveSequence ends the grants of a sequence, if it has the expected generation; nil accepts any. Only the leader can. The next
// number of the result lies beyond all granted ones: another system may issue the numbers from there on.
func (m *Member) MoveSequence(ctx context.Context, name string, expected *uint64) (Changed, error) {
	s, err := m.expectSequence(ctx, name, expected)
	if err != nil {
		return Changed{}, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_MoveSequence{
		MoveSequence: &commandv1.MoveSequence{Name: name, Generation: s.Generation},
	}})
	return Changed{result.Sequence, result.Index}, m.unknown(ctx, name, err)
}
