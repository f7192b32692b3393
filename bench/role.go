package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// roleArgument is the argument that makes this program play a role in a process of its own.
const roleArgument = "role"

// The roles.
const (
	roleEcho = "echo"
	roleHTTP = "http"
	// roleStreams is a server that answers on streams, like a member, with constants.
	roleStreams = "streams"
	// roleCrowd is a client that opens connections and keeps them.
	roleCrowd = "crowd"
)

// constantID is a number as large as current IDs.
const constantID = 1<<57 + 1<<40

// play serves on a free port of the loopback interface until ctx is done. It prints its address.
func play(ctx context.Context, role string, args []string) error {
	if role == roleCrowd {
		return crowd(ctx, args)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, l.Addr())
	switch role {
	case roleEcho:
		s := grpc.NewServer()
		snowraftv1.RegisterIdServiceServer(s, echo{})
		return serveUntil(ctx, s, l)
	case roleStreams:
		return serveUntil(ctx, newStreamEcho(l.Addr().String()), l)
	case roleHTTP:
		s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, fmt.Sprintf("%d\n", constantID))
		})}
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	default:
		return fmt.Errorf("role %q: expected %s, %s, %s or %s", role, roleEcho, roleStreams, roleHTTP, roleCrowd)
	}
}

// serveUntil serves until ctx is done.
func serveUntil(ctx context.Context, s *grpc.Server, l net.Listener) error {
	stop := context.AfterFunc(ctx, s.Stop)
	defer stop()
	return s.Serve(l)
}

// echo answers at once, with a message as large as a member's answer.
type echo struct {
	snowraftv1.UnimplementedIdServiceServer
}

func (echo) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: constantID, Count: 1, Step: 1}}}, nil
}

// startRole starts this program in a role, with additional environment variables, and returns the
// address of the process.
func (e *env) startRole(role string, started *closers, environ ...string) (address string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return e.startServer(role, environ, started, self, roleArgument, role)
}

// startServer starts a program that prints its address, and returns the address.
func (e *env) startServer(name string, environ []string, started *closers, program string, args ...string) (address string, err error) {
	c, err := e.start(name, environ, func(line string) bool {
		address = line
		return false
	}, program, args...)
	if err != nil {
		return "", err
	}
	started.add(c.stop)
	if address == "" {
		return "", fmt.Errorf("%s does not say where it listens", name)
	}
	return address, nil
}
