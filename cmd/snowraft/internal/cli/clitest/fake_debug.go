package clitest

import (
	"errors"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Debug sends the files that a test has prepared, in pieces of one byte.
func (f *API) Debug(req *snowraftv1.DebugRequest, stream grpc.ServerStreamingServer[snowraftv1.DebugResponse]) error {
	if req.GetSeconds() != 1 {
		return errors.New("unexpected request")
	}
	for _, file := range f.Files {
		for i := range len(file[1]) {
			if err := stream.Send(&snowraftv1.DebugResponse{File: file[0], Data: []byte(file[1][i : i+1])}); err != nil {
				return err
			}
		}
	}
	return nil
}
