package client

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// writesToCaller reports whether options point to the caller's memory. Two tries would write to it at the same time, and one
// of them could do so after the call.
func writesToCaller(opts []grpc.CallOption) bool {
	return slices.ContainsFunc(opts, func(o grpc.CallOption) bool {
		switch o.(type) {
		case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption, grpc.OnFinishCallOption:
			return true
		default:
			return false
		}
	})
}

// hedged also calls a second member if the first has not answered after the hedging delay. It takes the first answer
// and discards the other one.
func (c *call) hedged(ctx context.Context, first *try, reply any) error {
	into, ok := reply.(proto.Message)
	req, is := c.req.(proto.Message)
	if !ok || !is || writesToCaller(c.callOpts) {
		return c.callMember(ctx, first, reply)
	}
	tries := *c
	tries.req = proto.Clone(req)           // the slower try may read it after the call
	ctx, cancel := context.WithCancel(ctx) // ends the slower try
	defer cancel()
	type answer struct {
		reply proto.Message
		try   *try
		err   error
	}
	answers := make(chan answer, 2) // space for both: the answer of the slower try is not read
	ask := func(t *try) {
		mine := into.ProtoReflect().New().Interface()
		go func() { answers <- answer{mine, t, tries.callMember(ctx, t, mine)} }()
	}
	// The slow try has its own value: first is set to the try that answers, and the other one still reports its member.
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
