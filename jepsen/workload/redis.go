//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// redis sends INCR, INCRBY, GET and pipelines of them to every member over the Redis
// protocol. The first INCR of a key creates a strict sequence. Every few seconds there is
// a new key, and several clients use it at once.
func redis() Workload {
	return Workload{
		Name:  "redis",
		About: "INCR, INCRBY, GET and pipelines over the Redis protocol",
		Run:   runRedis,
	}
}

const (
	redisClients  = 2  // clients per member
	redisKeys     = 3  // keys in use at a time
	redisPipeline = 20 // maximum of commands per pipeline
	newKeyEvery   = 8 * time.Second
)

func runRedis(ctx context.Context, w *World) error {
	keys := &redisNames{w: w}
	for range redisKeys {
		keys.add()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for history.Sleep(ctx, newKeyEvery) {
			keys.add()
		}
	})
	const commands = (3 + (2+redisPipeline)/2.0) / 4 // mean number of commands per turn, see several
	rate := w.Rate / commands / float64(redisClients*len(w.Lab.Members))
	for _, m := range w.Lab.Members {
		for range redisClients {
			c := &redisClient{client: w.client("redis"), m: m, keys: keys}
			wg.Go(func() {
				defer c.hangUp()
				pace(ctx, rate, c.turn)
			})
		}
	}
	wg.Wait()
	return nil
}

// redisNames holds the keys in use: the latest redisKeys ones.
type redisNames struct {
	w      *World
	newest atomic.Uint64
}

// add introduces a key. It records the sequence before any client uses the key.
func (n *redisNames) add() {
	next := n.newest.Load() + 1
	n.w.noteSequence(&snowraftv1.Sequence{Name: redisKey(next), Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
	n.newest.Store(next)
}

func (n *redisNames) any() string { return redisKey(n.newest.Load() - rand.Uint64N(redisKeys)) }

func redisKey(number uint64) string { return fmt.Sprintf("redis:%d", number) }

// redisClient is a client with one connection, which it makes again after a failure.
type redisClient struct {
	*client
	m    *lab.Member
	keys *redisNames

	mu   sync.Mutex // held for a turn: one write and its answers
	conn *resp      // nil if not connected
}

// turn sends one or more commands at once and reads their answers. Each command is an operation.
func (c *redisClient) turn(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || !c.w.asked(c.m) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	var ops []history.Op
	var commands [][]string
	for range several(redisPipeline) {
		op, words := c.command()
		ops, commands = append(ops, op), append(commands, words)
	}
	call := history.Now()
	err := c.dial(ctx)
	if err != nil {
		c.write(ops, call, func(op *history.Op) { op.Outcome, op.Reason, op.Error = history.Fail, notSent, err.Error() })
		return
	}
	start := c.w.Lab.StartOf(c.conn.conn.LocalAddr(), c.conn.conn.RemoteAddr())
	err = c.conn.send(ctx, commands)
	c.write(ops, call, func(op *history.Op) {
		op.Start = start
		var answer int64
		if err == nil || errors.Is(err, errRefused) { // the connection still works
			answer, err = c.conn.integer()
		}
		op.Outcome, op.Reason = redisOutcome(err)
		switch {
		case err != nil:
			op.Error = err.Error()
		case op.Do == history.DoRead:
			op.First = answer
		default: // the answer is the last of the issued numbers
			op.First, op.Increment = answer-int64(op.Count)+1, 1
		}
	})
	if err != nil && !errors.Is(err, errRefused) {
		c.drop()
	}
}

// command returns a random command and its operation.
func (c *redisClient) command() (history.Op, []string) {
	key := c.keys.any()
	switch rand.IntN(8) {
	case 0:
		return history.Op{Do: history.DoRead, Key: key}, []string{"GET", key}
	case 1:
		count := 1 + rand.Uint32N(mostNumbers)
		return history.Op{Do: history.DoIncr, Key: key, Count: count}, []string{"INCRBY", key, strconv.FormatUint(uint64(count), 10)}
	default:
		return history.Op{Do: history.DoIncr, Key: key, Count: 1}, []string{"INCR", key}
	}
}

// write completes and records the operations of a turn, one after the other.
func (c *redisClient) write(ops []history.Op, call int64, complete func(op *history.Op)) {
	for _, op := range ops {
		op.ID, op.Workload, op.Client, op.Member = c.w.NextOp(), c.workload, c.number, c.m.Name
		op.Call = call
		complete(&op)
		op.Return = history.Now()
		c.w.Journal.Add(history.Line{Op: &op})
	}
}

// redisOutcome returns the known outcome of a command. An ERR means that nothing was done.
// All temporary errors begin with LOADING, including that of an unknown outcome.
func redisOutcome(err error) (o history.Outcome, reason string) {
	switch {
	case err == nil:
		return history.OK, ""
	case errors.Is(err, errRefused):
		word, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), errRefused.Error()+": "), " ")
		if word == "ERR" {
			return history.Fail, word
		}
		return history.Info, word
	case errors.Is(err, os.ErrDeadlineExceeded):
		return history.Info, "DEADLINE"
	default:
		return history.Info, "BROKEN"
	}
}

func (c *redisClient) dial(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := c.w.Lab.Dial(ctx, c.m.Address(lab.PortRedis))
	if err != nil {
		return err
	}
	if conn, err = c.w.Lab.Encrypt(ctx, conn); err != nil {
		return err
	}
	c.conn = newRESP(conn)
	if token := c.w.Lab.Token(); token != "" {
		if err := c.conn.authenticate(ctx, token); err != nil {
			c.drop()
			return err
		}
	}
	return nil
}

// drop closes the connection.
func (c *redisClient) drop() {
	if c.conn != nil {
		_ = c.conn.conn.Close() // broken or idle
		c.conn = nil
	}
}

// hangUp closes the connection after the present turn.
func (c *redisClient) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}
