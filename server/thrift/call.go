package thrift

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/trust"
)

// method serves a method. The agent is the user agent of get_id.
type method func(ctx context.Context, s *Server, agent string) (int64, error)

// other is the name under which unknown methods are served and counted.
const other = "other"

// methods maps the methods of the service. The answers with a worker or a datacenter take them from an ID issued for the
// answer. They therefore belong to a lane of this member, or, in a gateway, to a lane of the member that issued the ID.
var methods = map[string]method{
	"get_id": func(ctx context.Context, s *Server, agent string) (int64, error) {
		if !validAgent.MatchString(agent) {
			return 0, errInvalidAgent
		}
		id, _, _, err := s.cfg.Backend.Twitter(ctx)
		if err == nil {
			s.cfg.Issued(agent)
		}
		return id, err
	},
	"get_worker_id": func(ctx context.Context, s *Server, _ string) (int64, error) {
		_, _, worker, err := s.cfg.Backend.Twitter(ctx)
		return worker, err
	},
	"get_datacenter_id": func(ctx context.Context, s *Server, _ string) (int64, error) {
		_, datacenter, _, err := s.cfg.Backend.Twitter(ctx)
		return datacenter, err
	},
	"get_timestamp": func(_ context.Context, s *Server, _ string) (int64, error) { return s.cfg.Backend.Clock(), nil },
	other:           func(context.Context, *Server, string) (int64, error) { return 0, errUnknownMethod },
}

// validAgent matches a user agent of at most 256 bytes.
var validAgent = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,255}$`)

// call reads a request and writes the reply into out. An error means that the request could not be read.
func (c *conn) call(ctx context.Context, in, out thrift.TProtocol) error {
	name, kind, id, err := in.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		return err
	case kind != thrift.CALL:
		return errors.New("the message is not a call")
	}
	agent, err := agentOf(ctx, in)
	if err != nil {
		return err
	}
	counted := name
	if methods[name] == nil {
		counted = other
	}
	began := time.Now()
	value, err := c.value(ctx, counted, agent)
	c.s.cfg.Served(counted, err, time.Since(began))
	if err != nil {
		return errors.Join(out.WriteMessageBegin(ctx, name, thrift.EXCEPTION, id), exception(err).Write(ctx, out), out.WriteMessageEnd(ctx))
	}
	return errors.Join(
		out.WriteMessageBegin(ctx, name, thrift.REPLY, id),
		out.WriteStructBegin(ctx, name+"_result"),
		out.WriteFieldBegin(ctx, "success", thrift.I64, 0), out.WriteI64(ctx, value), out.WriteFieldEnd(ctx),
		out.WriteFieldStop(ctx),
		out.WriteStructEnd(ctx),
		out.WriteMessageEnd(ctx),
	)
}

// value returns the result of a method, for the principal of all callers. Callers of a secured cluster stay unauthenticated.
func (c *conn) value(ctx context.Context, name, agent string) (int64, error) {
	p, err := c.s.cfg.Anonymous(ctx)
	if err != nil {
		return 0, err
	}
	value, err := methods[name](trust.WithPrincipal(ctx, p), c.s, agent)
	if err == nil && p.IsOpen() {
		_ = c.slot.Keep(p)
	}
	return value, err
}

// agentOf reads the argument structure of a method to the end of the message, and returns the text in its field 1, which is the
// user agent of get_id.
func agentOf(ctx context.Context, in thrift.TProtocol) (agent string, err error) {
	if _, err = in.ReadStructBegin(ctx); err != nil {
		return "", err
	}
	for {
		_, kind, field, err := in.ReadFieldBegin(ctx)
		switch {
		case err != nil:
			return "", err
		case kind == thrift.STOP:
			return agent, errors.Join(in.ReadStructEnd(ctx), in.ReadMessageEnd(ctx))
		case field == 1 && kind == thrift.STRING:
			agent, err = in.ReadString(ctx)
		default:
			err = in.Skip(ctx, kind)
		}
		if err := errors.Join(err, in.ReadFieldEnd(ctx)); err != nil {
			return "", err
		}
	}
}
