package check

import (
	"fmt"

	"github.com/snowraft/snowraft/jepsen/history"
)

// imports records a backfill job or a batch of one.
func (b *books) imports(op history.Op) {
	if op.Do == history.DoJob {
		b.v.Facts["jobs"]++
		if first, twice := b.jobs[jobKey{op.Key, op.Job}]; twice {
			b.v.fail("the job %d of layout %q was started twice: in operations %d and %d", op.Job, op.Key, first, op.ID)
		}
		b.jobs[jobKey{op.Key, op.Job}] = op.ID
		return
	}
	b.batches[op.ID] = op
}

// jobKey identifies a backfill job.
type jobKey struct {
	layout string
	number uint64
}

// judgeImports compares the IDs of imported rows with the rows. The times of a layout have a resolution of 1 ms. Uniqueness
// compares the IDs with each other and with those of live workers.
func (r *Run) judgeImports(v *Verdict, batches map[uint64]history.Op) error {
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	got := make(map[uint64][]uint64)
	for _, name := range layoutsOf(batches) {
		for i, err := range readAll(files[name]) {
			if err != nil {
				return err
			}
			if _, ok := batches[i.Op]; ok {
				got[i.Op] = append(got[i.Op], i.First)
			}
		}
	}
	for id, op := range batches {
		layout, ok := r.Layouts[op.Key]
		if !ok {
			return fmt.Errorf("history lacks layout %q, which has imported rows", op.Key)
		}
		ids := got[id]
		if len(ids) != len(op.TimesMillis) {
			v.fail("operation %d imported %d rows, and received %d IDs", id, len(op.TimesMillis), len(ids))
			continue
		}
		for n, one := range ids {
			v.Facts["backfilled"]++
			parts, err := layout.Unpack(one)
			switch {
			case err != nil || parts.Worker != op.Job:
				v.fail("operation %d received ID %d of worker %d from backfill job %d: %v", id, one, parts.Worker, op.Job, err)
			case layout.MillisAt(parts.Tick) != op.TimesMillis[n]:
				v.fail("operation %d received ID %d with the time %d ms for a row of the time %d ms", id, one, layout.MillisAt(parts.Tick), op.TimesMillis[n])
			case n > 0 && one <= ids[n-1]:
				v.fail("operation %d received ID %d after ID %d of the same job", id, one, ids[n-1])
			}
		}
	}
	return nil
}

// layoutsOf returns the layouts of batches.
func layoutsOf(batches map[uint64]history.Op) (names []string) {
	seen := make(map[string]bool)
	for _, op := range batches {
		if !seen[op.Key] {
			seen[op.Key], names = true, append(names, op.Key)
		}
	}
	return names
}
