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

// closeWithin is the time that a generator may take to give its worker back.
const closeWithin = 3 * time.Second

// Generator is an embedded generator with a process of its own, and what it is used for.
type Generator struct {
	// Dir is the run's directory, File the number of its file of IDs.
	Dir     string   `json:"dir"`
	File    int      `json:"file"`
	Members []string `json:"members"` // addresses
	Layout  string   `json:"layout"`
	Holder  string   `json:"holder"`
	Rate    float64  `json:"rate"` // calls per second
	Token   string   `json:"token,omitempty"`
	// Start, Client and Session are those of its operations, whose IDs follow LastOp.
	Start   uint32 `json:"start"`
	Client  uint32 `json:"client"`
	Session uint32 `json:"session"`
	LastOp  uint64 `json:"last_op"`
}

// Run issues IDs until ctx ends, and gives the worker back. The IDs go to their file; then
// the operation goes to out, as lines of a journal: what is told is in the file, and what
// is only in the file may lack its operation.
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

// user makes what uses the generator.
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
				return // closing the file tells it
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(history.Line{Op: &op}) // without the parent all of this ends
		},
	}
}
