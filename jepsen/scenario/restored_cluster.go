//go:build linux

package scenario

import (
	"context"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
)

// restoredWindow is the longest window of the cluster that is restored.
const restoredWindow = 6 * time.Second

// restoredCluster backs up a cluster under load, lets it continue for Options.Lapse, destroys it completely, and restores
// it onto one host, which two others join. The backup does not contain the grants of the old cluster after the backup.
func restoredCluster() Scenario {
	return Scenario{
		Name: "restored-cluster", Source: "known from systems that are restored to their state at the backup", Bugs: []string{"live-not-frozen"},
		Other: "Systems restored from a backup reissued the numbers that they had issued after the backup",
		Loads: []string{"ids", "strict", "relaxed", "redis", "embedded"}, MaxWindow: restoredWindow,
		script: func(s *stage) error {
			founders := s.Lab.Founders()
			backup, err := s.faults.Backup(s.ctx, nemesis.FromMember, founders[0])
			if err != nil {
				return err
			}
			if !history.Sleep(s.ctx, s.lapse) {
				return s.ctx.Err()
			}
			return s.reborn(backup, founders[1])
		},
	}
}

// reborn destroys the cluster and restores it onto a host.
func (s *stage) reborn(backup nemesis.Backup, first *lab.Member) error {
	end := s.begin("restore", nemesis.Restore, 0, backup.Source, s.Lab.Founders()...)
	defer end()
	granted := s.Lab.Seen()
	s.faults.End()
	life, err := s.faults.Restore(s.ctx, backup, first)
	if err != nil {
		return err
	}
	said := time.Duration(life.IssuesMillis-history.Wall()/int64(time.Millisecond)) * time.Millisecond
	if err := s.well(); err != nil {
		return err
	}
	if err := s.faults.Resume(s.ctx); err != nil {
		return err
	}
	silent := time.Duration(history.Now() - life.At)
	err = s.until("numbers beyond those of the old cluster", func(context.Context) bool {
		for name, now := range s.Lab.Seen() {
			// Redis clients change their keys every few seconds.
			if was, ok := granted[name]; ok && !strings.HasPrefix(name, "redis:") && now.Last() == was.Last() {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	s.see("cluster destroyed %v after the backup; wait without IDs announced as %v; "+
		"members healthy and sequences resumed after %v; %d sequences continue beyond the numbers that clients saw",
		time.Duration(life.At-life.TakenAt).Round(time.Second), said.Round(100*time.Millisecond), silent.Round(100*time.Millisecond), len(granted))
	return nil
}
