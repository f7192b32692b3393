package thrift

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/trust"
)

// Layout is the name of the layout of all issued IDs, a preset of package snowflake.
const Layout = "twitter"

// Backend issues the IDs. Many goroutines call it. rpc.FromError can read its errors.
type Backend interface {
	// Twitter issues an ID of [Layout], and returns it with the fields that name its lane.
	Twitter(ctx context.Context) (id, datacenter, worker int64, err error)
	// Clock returns the time of the issuing process, in Unix ms.
	Clock() int64
}

// Config describes a Server. All fields are required. Many goroutines call its functions.
type Config struct {
	Backend Backend
	Logger  *slog.Logger
	// Anonymous returns the principal of all callers, because Thrift carries no token.
	Anonymous func(ctx context.Context) (*trust.Principal, error)
	// Served counts a request of a method that took the given time; err is nil if it succeeded. All unknown methods are "other".
	Served func(method string, err error, took time.Duration)
	// Issued counts an ID that was issued to a user agent. The agent is valid.
	Issued func(agent string)
}
