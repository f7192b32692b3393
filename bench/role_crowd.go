package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// dialers is the number of connections of a crowd that are opened concurrently.
	dialers = 32
	// fromEach is the number of connections of a crowd per source address: a member limits the connections from one
	// address to a part of all its connections.
	fromEach = 2500
	// crowdBuffer is the size of gRPC's buffers in this process, in bytes.
	crowdBuffer = 1 << 10
)

// crowd opens connections to a member, each with a stream that has carried a request. Then it prints a line and keeps the
// connections until ctx is done.
func crowd(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("expected the address of a member and a number of connections")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var (
		opening sync.WaitGroup
		numbers = make(chan int)
		failed  = make(chan error, dialers)
	)
	for range dialers {
		opening.Go(func() {
			for n := range numbers {
				if err := visit(ctx, args[0], n); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for n := range count {
		select {
		case numbers <- n:
		case err := <-failed:
			return err
		}
	}
	close(numbers)
	opening.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	fmt.Fprintln(os.Stdout, count)
	<-ctx.Done()
	return nil
}

// visit opens connection n with a stream that carries one request and stays open until ctx is done.
func visit(ctx context.Context, address string, n int) error {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+n/fromEach))}} //nolint:gosec // a few addresses
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithReadBufferSize(crowdBuffer), grpc.WithWriteBufferSize(crowdBuffer),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return from.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		return err
	}
	stream, err := snowraftv1.NewIdServiceClient(conn).StreamIds(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 1}}); err != nil {
		return err
	}
	answer, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("connection %d: %w", n+1, err)
	}
	if e := answer.GetError(); e != nil {
		return fmt.Errorf("connection %d: %s", n+1, e.GetMessage())
	}
	return nil
}
