package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// lifeAt returns the number of the life at a moment; 1 is the first.
func (r *Run) lifeAt(at int64) int {
	life := 1
	for _, l := range r.Lives {
		if at >= l.At {
			life = l.Number
		}
	}
	return life
}

// restored reports whether a cluster was restored between two moments.
func (r *Run) restored(from, to int64) bool { return r.lifeAt(from) != r.lifeAt(to) }

// lifeOf returns the number of the life in which a process started. If the process is unknown, the life at a moment counts.
func (r *Run) lifeOf(start uint32, at int64) int {
	if p, ok := r.Process(start); ok {
		return r.lifeAt(p.From)
	}
	return r.lifeAt(at)
}

// silent returns the time in nanoseconds in which no cluster could issue IDs because of restores. wall converts a moment
// to Unix nanoseconds.
func (r *Run) silent(wall func(at int64) int64) (silent int64) {
	for _, l := range r.Lives {
		silent += max(l.IssuesMillis*int64(time.Millisecond)-wall(l.At), 0)
	}
	return silent
}

// openLogs opens the Raft logs of all lives.
func openLogs(r *Run) ([]*raftlog.Log, error) {
	var logs []*raftlog.Log
	for life := 1; life <= len(r.Lives)+1; life++ {
		log, err := raftlog.Open(r.Dir, life)
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// grantsOf returns the grants of all lives together, and those of the last life.
func grantsOf(logs []*raftlog.Log) (all, last *raftlog.Grants, err error) {
	all = raftlog.NewGrants()
	for _, log := range logs {
		if last, err = log.Grants(); err != nil {
			return nil, nil, err
		}
		all.Add(last)
	}
	return all, last, nil
}
