//go:build linux

package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
)

// kill kills members at one moment. start starts them again.
func (s *stage) kill(members ...*lab.Member) (start func() error) {
	end := s.begin("kill", nemesis.Process, 0, "", members...)
	down(members)
	return s.later(func(ctx context.Context) error {
		defer end()
		return lab.Start(ctx, members...)
	})
}

// powerLoss cuts the power of members at one moment. start restores the power and starts the members.
func (s *stage) powerLoss(members ...*lab.Member) (start func() error, err error) {
	end := s.begin("power-loss", nemesis.Disk, 0, "", members...)
	start = s.later(func(ctx context.Context) error {
		defer end()
		for _, m := range members {
			m.Kill()
			if err := m.Disk.PowerOn(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		return lab.Start(ctx, members...)
	})
	var errs []error
	for _, m := range members {
		errs = append(errs, m.Disk.PowerOff())
	}
	down(members)
	return start, errors.Join(errs...)
}

// down kills members at one moment: all of them receive SIGKILL before it waits for the first one.
func down(members []*lab.Member) {
	for _, m := range members {
		m.Crash()
	}
	for _, m := range members {
		m.Kill()
	}
}
