//go:build linux

package workload

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// imports is a layout with a past, in which applications import rows while members issue live IDs of it.
const imports = "imports"

const (
	importers = 2  // applications that import at the same time
	mostRows  = 50 // rows of a batch
	// importedSpan is the span of the times of rows, which ends importedBefore the start of the load, when the layout exists.
	importedSpan   = time.Hour
	importedBefore = 10 * time.Second
)

var importsLayout = &snowraftv1.Layout{
	Name: imports, UnitMs: 1, EpochAtMs: 1577836800000, Past: true,
	Fields: []*snowraftv1.Field{
		{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
	},
}

// importer is a set of application processes that import rows, each with a backfill job.
type importer struct {
	*client
	own *product.Client
	out *history.Writer
	end time.Time // all rows are older

	mu     sync.Mutex
	left   []uint64           // jobs of crashed processes
	reader map[uint64]*cursor // the next row of each job
}

// cursor is the time of the last row of a job.
type cursor struct{ at time.Time }

func (w *World) importer(own *product.Client) (*importer, error) {
	out, err := w.IDs(imports)
	if err != nil {
		return nil, err
	}
	return &importer{
		client: w.client("documents"), own: own, out: out, end: time.Unix(0, history.Wall()).Add(-importedBefore),
		reader: make(map[uint64]*cursor),
	}, nil
}

// run starts one process after another.
func (i *importer) run(ctx context.Context) {
	for history.Sleep(ctx, within(0, 2*tryEvery)) {
		if job, ok := i.job(ctx); ok {
			i.work(ctx, job)
		}
	}
}

// job continues the job of a crashed process, or starts one.
func (i *importer) job(ctx context.Context) (job *product.Backfill, ok bool) {
	if number, some := i.abandoned(); some {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		job, err := i.own.ContinueBackfill(asking, imports, number)
		return job, err == nil
	}
	op, _ := i.through(ctx, history.Op{Do: history.DoJob, Key: imports}, func(ctx context.Context, op *history.Op) (err error) {
		if job, err = i.own.StartBackfill(ctx, imports, "chaos"); err == nil {
			op.Job = job.Job
		}
		return err
	})
	if op.Outcome != history.OK {
		return nil, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reader[job.Job] = &cursor{i.end.Add(-rand.N(importedSpan))}
	return job, true
}

func (i *importer) abandoned() (job uint64, some bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.left) == 0 || rand.IntN(2) == 0 {
		return 0, false
	}
	job, i.left = i.left[0], i.left[1:]
	return job, true
}

// work imports batches until the rows are complete, the process crashes, or a batch fails. The rows of a failed batch are those of
// another job.
func (i *importer) work(ctx context.Context, job *product.Backfill) {
	i.mu.Lock()
	at := i.reader[job.Job]
	i.mu.Unlock()
	for history.Sleep(ctx, within(20*time.Millisecond, 500*time.Millisecond)) {
		rows := at.next(i.end)
		if len(rows) == 0 {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
			defer cancel()
			_ = job.End(ending) // an open job costs nothing
			return
		}
		if i.batch(ctx, job, rows).Outcome != history.OK {
			return
		}
		if rand.IntN(20) == 0 {
			i.w.Lab.Note("", history.NoteCrash, "batch imported")
			i.mu.Lock()
			defer i.mu.Unlock()
			i.left = append(i.left, job.Job)
			return
		}
	}
}

// next returns the times of the next rows, of which many are equal; none if the rows are complete.
func (c *cursor) next(end time.Time) (rows []time.Time) {
	for range 1 + rand.IntN(mostRows) {
		switch {
		case rand.IntN(100) == 0:
			c.at = c.at.Add(rand.N(time.Minute))
		case rand.IntN(3) == 0:
			c.at = c.at.Add(rand.N(10 * time.Millisecond))
		}
		if c.at.After(end) {
			break
		}
		rows = append(rows, c.at)
	}
	return rows
}

// batch requests an ID for each row, and records the IDs.
func (i *importer) batch(ctx context.Context, job *product.Backfill, rows []time.Time) history.Op {
	op := history.Op{Do: history.DoBackfill, Key: imports, Count: uint32(len(rows)), Job: job.Job}
	for _, at := range rows {
		op.TimesMillis = append(op.TimesMillis, at.UnixMilli())
	}
	var ids []int64
	op, _ = i.through(ctx, op, func(ctx context.Context, _ *history.Op) (err error) {
		ids, err = job.IDs(ctx, rows)
		return err
	})
	for _, id := range ids {
		i.out.Add(history.Issued{First: uint64(id), Step: 1, Count: 1, Op: op.ID, Call: op.Call, Return: op.Return, Client: i.number})
	}
	return op
}
