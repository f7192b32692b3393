package thrift

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/trust"
)

// other is the name under which unknown methods are counted.
const other = "other"

// timestamp is the method that returns the time, and no part of an ID.
const timestamp = "get_timestamp"

// validAgent matches a user agent of at most 256 bytes.
var validAgent = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,255}$`)

// call reads a request and writes the reply. An error means that the request could not be read.
func (c *conn) call(ctx context.Context, p thrift.TProtocol) error {
	name, kind, id, err := p.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		return err
	case kind != thrift.CALL:
		return errors.New("the message is not a call")
	}
	agent, err := agentOf(ctx, p)
	if err != nil {
		return err
	}
	began := time.Now()
	value, err := c.value(ctx, name, agent)
	counted := name
	if name != timestamp && fields[name] == nil {
		counted = other // a name of the caller's choice must not become that of a metric
	}
	c.s.cfg.Served(counted, err, time.Since(began))
	if err != nil {
		return errors.Join(p.WriteMessageBegin(ctx, name, thrift.EXCEPTION, id), exception(err).Write(ctx, p), p.Flush(ctx))
	}
	return errors.Join(
		p.WriteMessageBegin(ctx, name, thrift.REPLY, id),
		p.WriteStructBegin(ctx, name+"_result"),
		p.WriteFieldBegin(ctx, "success", thrift.I64, 0), p.WriteI64(ctx, value), p.WriteFieldEnd(ctx),
		p.WriteFieldStop(ctx), p.WriteStructEnd(ctx), p.Flush(ctx),
	)
}

// fields maps the methods that issue an ID to the part of it that they return. A worker or a datacenter therefore belongs to a lane
// of this member or, in a gateway, to a lane of the member that issued the ID.
var fields = map[string]func(ID) int64{
	"get_id":            func(i ID) int64 { return i.ID },
	"get_worker_id":     func(i ID) int64 { return i.Worker },
	"get_datacenter_id": func(i ID) int64 { return i.Datacenter },
}

// value returns the result of a method for the principal of all callers. Callers of a secured cluster stay unauthenticated.
func (c *conn) value(ctx context.Context, name, agent string) (value int64, err error) {
	p, err := c.s.cfg.Anonymous(ctx)
	field := fields[name]
	switch {
	case name != timestamp && field == nil:
		return 0, errUnknownMethod
	case err != nil:
		return 0, err
	case name == timestamp:
		value = c.s.cfg.Backend.Clock()
	case name == "get_id" && !validAgent.MatchString(agent):
		return 0, errInvalidAgent
	default:
		id, err := c.s.cfg.Backend.Twitter(trust.WithPrincipal(ctx, p))
		if err != nil {
			return 0, err
		}
		value = field(id)
	}
	if name == "get_id" {
		c.s.cfg.Issued(agent)
	}
	if p.IsOpen() {
		_ = c.slot.Keep(p)
	}
	return value, nil
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
