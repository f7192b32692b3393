package thrift

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/trust"
)

// parts maps the methods to the part of an ID that they return; nil for the time of the issuing process. A worker or a datacenter
// therefore belongs to a lane of this member or, in a gateway, to a lane of the member that issued the ID.
var parts = map[string]func(ID) int64{
	"get_id":            func(i ID) int64 { return i.ID },
	"get_worker_id":     func(i ID) int64 { return i.Worker },
	"get_datacenter_id": func(i ID) int64 { return i.Datacenter },
	"get_timestamp":     nil,
}

// validAgent matches a user agent of at most 256 bytes.
var validAgent = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,255}$`)

// call reads a request and writes the reply. An error means that the request could not be read. Thrift reads again and again after
// a timeout if its context has a deadline, so it gets none.
func (c *conn) call(p *thrift.TBinaryProtocol) error {
	ctx := c.s.Lasts
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
	if _, known := parts[name]; !known {
		counted = "other" // a name of the caller's choice must not become that of a metric
	}
	c.s.backend.Served(counted, err, time.Since(began))
	if err != nil {
		return errors.Join(p.WriteMessageBegin(ctx, name, thrift.EXCEPTION, id), exception(err).Write(ctx, p))
	}
	return errors.Join(p.WriteMessageBegin(ctx, name, thrift.REPLY, id),
		p.WriteFieldBegin(ctx, "success", thrift.I64, 0), p.WriteI64(ctx, value), p.WriteFieldStop(ctx))
}

// value returns the result of a method for the principal of all callers. Callers of a secured cluster stay unauthenticated.
func (c *conn) value(ctx context.Context, name, agent string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p, err := c.s.backend.Anonymous(ctx)
	part, known := parts[name]
	switch {
	case !known:
		return 0, errUnknownMethod
	case err != nil:
		return 0, err
	case name == "get_id" && !validAgent.MatchString(agent):
		return 0, errInvalidAgent
	}
	value := c.s.backend.Clock()
	if part != nil {
		id, err := c.s.backend.Twitter(trust.WithPrincipal(ctx, p))
		if err != nil {
			return 0, err
		}
		value = part(id)
	}
	if name == "get_id" {
		c.s.backend.Issued(agent)
	}
	if p.IsOpen() {
		_ = c.slot.Keep(p)
	}
	return value, nil
}

// agentOf reads the argument structure of a method, and returns the text in its field 1, which is the user agent of get_id.
func agentOf(ctx context.Context, in *thrift.TBinaryProtocol) (agent string, err error) {
	for err == nil {
		_, kind, field, failed := in.ReadFieldBegin(ctx)
		switch {
		case failed != nil || kind == thrift.STOP:
			return agent, failed
		case field == 1 && kind == thrift.STRING:
			agent, err = in.ReadString(ctx)
		default:
			err = in.Skip(ctx, kind)
		}
	}
	return "", err
}
