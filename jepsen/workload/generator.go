//go:build linux

package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"

	product "github.com/snowraft/snowraft/client"
)

// closeWithin bounds a generator's release of its worker.
const closeWithin = 3 * time.Second

// Generator describes a process with an embedded generator and its load.
type Generator struct {
	// Dir is the run's directory, File the index of the process's file of IDs.
	Dir     string   `json:"dir"`
	File    int      `json:"file"`
	Members []string `json:"members"` // addresses
	Layout  string   `json:"layout"`
	Holder  string   `json:"holder"`
	Rate    float64  `json:"rate"` // calls per second
	Token   string   `json:"token,omitempty"`
	// Start, Client and Session identify the process in its operations, whose IDs follow LastOp.
	Start   uint32 `json:"start"`
	Client  uint32 `json:"client"`
	Session uint32 `json:"session"`
	LastOp  uint64 `json:"last_op"`
}

// Run issues IDs until ctx is done, then releases the worker. It writes the IDs of an
// operation to their file before it writes the operation to out, as a line of a journal.
// Therefore every operation in out has its IDs in the file, but not the reverse.
func (g Generator) Run(ctx context.Context, out, log io.Writer) error {
	ids, err := history.CreateIDs(g.Dir, g.Layout, g.File)
	if err != nil {
		return err
	}
	c, err := product.New(g.Members, append(authorized(g.Token), product.WithTimeout(callTimeout))...)
	if err != nil {
		return errors.Join(err, ids.Close())
	}
	defer c.Close() //nolint:errcheck // nothing is in progress
	own, err := product.NewGenerator(c, product.WithGeneratorLayout(g.Layout), product.WithGeneratorHolder(g.Holder),
		product.WithGeneratorLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		return errors.Join(err, ids.Close())
	}
	u := g.user(own, ids, json.NewEncoder(out))
	pace(ctx, g.Rate, u.ask)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := own.Close(closing); err != nil {
		_, _ = fmt.Fprintln(log, "not returned:", err)
	}
	return ids.Close()
}

// user returns the user of the generator.
func (g Generator) user(own *product.Generator, ids *history.Writer, out *json.Encoder) *user {
	var mu sync.Mutex
	var last atomic.Uint64
	last.Store(g.LastOp)
	return &user{
		own: own, ids: ids,
		like: history.Op{
			Workload: "embedded", Client: g.Client, Do: history.DoIDs, Key: g.Layout, Member: g.Holder, Start: g.Start, Session: g.Session,
		},
		number: func() uint64 { return last.Add(1) },
		write: func(op history.Op) {
			if err := ids.Flush(); err != nil {
				return // Close of the file returns the error
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(history.Line{Op: &op}) // fails only without the parent, and then this process is killed
		},
	}
}
