package client

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// lonely reports whether options point to memory of the caller's, which two tries would write at a time, one
// of them after the call.
func lonely(opts []grpc.CallOption) bool {
	return slices.ContainsFunc(opts, func(o grpc.CallOption) bool {
		switch o.(type) {
		case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption, grpc.OnFinishCallOption:
			return true
		default:
			return false
		}
	})
}

// hedged queries another member too when the first takes long. The first answer is taken; what the
// other member answers no caller sees.
func (c *call) hedged(ctx context.Context, first *try, reply any) error {
	into, ok := reply.(proto.Message)
	req, is := c.req.(proto.Message)
	if !ok || !is || lonely(c.callOpts) {
		return c.ask(ctx, first, reply)
	}
	tries := *c
	tries.req = proto.Clone(req)           // the loser may read it when the call is over
	ctx, cancel := context.WithCancel(ctx) // the loser's
	defer cancel()
	type answer struct {
		reply proto.Message
		try   *try
		err   error
	}
	answers := make(chan answer, 2) // no caller waits for the loser
	ask := func(t *try) {
		mine := into.ProtoReflect().New().Interface()
		go func() { answers <- answer{mine, t, tries.ask(ctx, t, mine)} }()
	}
	// Its own, as first becomes whoever answers, and the loser still has to say who it was.
	slow := &try{avoid: first.avoid, standing: first.standing}
	ask(slow)
	timer := time.NewTimer(c.opts.hedge)
	defer timer.Stop()
	for waiting := 1; ; {
		select {
		case <-timer.C:
			if member, others := slow.chosen(); others {
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
