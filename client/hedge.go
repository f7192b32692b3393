package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
)

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// hedged asks another member too when the first takes long. The first answer is taken; what the
// other member answers nobody sees.
func (c *call) hedged(ctx context.Context, first *try, reply any) error {
	into, ok := reply.(proto.Message)
	if !ok {
		return c.ask(ctx, first, reply)
	}
	ctx, cancel := context.WithCancel(ctx) // the loser's
	defer cancel()
	type answer struct {
		reply proto.Message
		try   *try
		err   error
	}
	answers := make(chan answer, 2) // nobody waits for the loser
	ask := func(t *try) {
		mine := into.ProtoReflect().New().Interface()
		go func() { answers <- answer{mine, t, c.ask(ctx, t, mine)} }()
	}
	ask(first)
	timer := time.NewTimer(c.opts.hedge)
	defer timer.Stop()
	for waiting := 1; ; {
		select {
		case <-timer.C:
			if member, others := first.chosen(); others {
				waiting++
				ask(&try{avoid: append([]string{member}, first.avoid...), standing: first.standing})
			}
		case a := <-answers:
			waiting--
			if a.err == nil {
				proto.Reset(into)
				proto.Merge(into, a.reply)
			}
			if a.err == nil || waiting == 0 {
				first.choose(a.try.chosen())
				return a.err
			}
		}
	}
}
