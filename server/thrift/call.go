package thrift

import (
	"context"
	"errors"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/internal/rpc"
)

// call is a request in progress.
type call struct {
	s       *Server
	in, out thrift.TProtocol
	hear    func() // called when the caller has got its result
}

// method serves a method. The agent is the user agent of get_id; it is empty for other methods.
type method struct {
	takesAgent bool
	serve      func(ctx context.Context, s *Server, agent string) (int64, error)
}

// other is the name under which unknown methods are counted.
const other = "other"

// methods maps the methods of the service. The answers with a worker or a datacenter take them from an ID issued for the
// answer. They therefore belong to a lane of this member, or, in a gateway, to a lane of the member that issued the ID.
var methods = map[string]method{
	"get_id": {takesAgent: true, serve: func(ctx context.Context, s *Server, agent string) (int64, error) {
		if !validAgent(agent) {
			return 0, errInvalidAgent
		}
		id, _, _, err := s.cfg.Backend.Twitter(ctx)
		if err == nil {
			s.cfg.Issued(agent)
		}
		return id, err
	}},
	"get_worker_id": {serve: func(ctx context.Context, s *Server, _ string) (int64, error) {
		_, _, worker, err := s.cfg.Backend.Twitter(ctx)
		return worker, err
	}},
	"get_datacenter_id": {serve: func(ctx context.Context, s *Server, _ string) (int64, error) {
		_, datacenter, _, err := s.cfg.Backend.Twitter(ctx)
		return datacenter, err
	}},
	"get_timestamp": {serve: func(_ context.Context, s *Server, _ string) (int64, error) { return s.cfg.Backend.Clock(), nil }},
}

// maxAgent bounds the length of a user agent, in bytes.
const maxAgent = 256

// validAgent reports whether a user agent is a letter, then letters, digits, hyphens and underscores.
func validAgent(agent string) bool {
	if agent == "" || len(agent) > maxAgent {
		return false
	}
	for i := range len(agent) {
		c := agent[i] | 0x20 // lower case
		letter := 'a' <= c && c <= 'z' && agent[i] < 0x80
		other := '0' <= agent[i] && agent[i] <= '9' || agent[i] == '-' || agent[i] == '_'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}

// serve reads the request and writes the reply into out. An error means that the request could not be read.
func (c *call) serve(ctx context.Context) error {
	name, kind, id, err := c.in.ReadMessageBegin(ctx)
	if err != nil {
		return strange(err)
	}
	if kind != thrift.CALL {
		return strange(errors.New("the message is not a call"))
	}
	m, known := methods[name]
	agent, err := c.arguments(ctx, m.takesAgent)
	if err != nil {
		return strange(err)
	}
	meter := c.s.meters[other]
	if known {
		meter = c.s.meters[name]
	}
	began := time.Now()
	var value int64
	if !known {
		err = errUnknownMethod
	} else if ctx, err = c.s.anonymous(ctx); err == nil {
		value, err = m.serve(ctx, c.s, agent)
	}
	meter.Served(err, time.Since(began))
	if err != nil {
		return c.refuse(ctx, name, id, err)
	}
	c.hear()
	return c.reply(ctx, name, id, value)
}

// arguments reads the argument structure of a method and returns the user agent in it.
func (c *call) arguments(ctx context.Context, takesAgent bool) (agent string, err error) {
	if _, err = c.in.ReadStructBegin(ctx); err != nil {
		return "", err
	}
	for {
		_, kind, field, err := c.in.ReadFieldBegin(ctx)
		switch {
		case err != nil:
			return "", err
		case kind == thrift.STOP:
			return agent, errors.Join(c.in.ReadStructEnd(ctx), c.in.ReadMessageEnd(ctx))
		case takesAgent && field == 1 && kind == thrift.STRING:
			agent, err = c.in.ReadString(ctx)
		default:
			err = c.in.Skip(ctx, kind)
		}
		if err == nil {
			err = c.in.ReadFieldEnd(ctx)
		}
		if err != nil {
			return "", err
		}
	}
}

// reply writes the result of a method.
func (c *call) reply(ctx context.Context, name string, id int32, value int64) error {
	return errors.Join(
		c.out.WriteMessageBegin(ctx, name, thrift.REPLY, id),
		c.out.WriteStructBegin(ctx, name+"_result"),
		c.out.WriteFieldBegin(ctx, "success", thrift.I64, 0),
		c.out.WriteI64(ctx, value),
		c.out.WriteFieldEnd(ctx),
		c.out.WriteFieldStop(ctx),
		c.out.WriteStructEnd(ctx),
		c.out.WriteMessageEnd(ctx),
	)
}

// refuse writes an exception.
func (c *call) refuse(ctx context.Context, name string, id int32, failed error) error {
	return errors.Join(
		c.out.WriteMessageBegin(ctx, name, thrift.EXCEPTION, id),
		exception(failed).Write(ctx, c.out),
		c.out.WriteMessageEnd(ctx),
	)
}

// invalid returns an error that blames the request.
func invalid(message string) error { return rpc.NewError(rpc.InvalidArgument, message) }
