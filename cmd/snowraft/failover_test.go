package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
)

func TestNamesEveryAddressThatFailed(t *testing.T) {
	t.Parallel()
	behind := clitest.NewAPI(t)
	behind.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "this clock moved backwards", RetryAfter: 4*time.Second + time.Microsecond})
	const first, second = clitest.DeadAddress, clitest.OtherDeadAddress
	stdout, stderr, code := command(t, "id", "--addr", first+","+behind.Address+","+second)
	want := "snowraft: no answer from any of 3 members: " + first + ": connection refused; " +
		behind.Address + ": this clock moved backwards [CLOCK_BEHIND], try again in 4.001s; " + second + ": connection refused\n"
	if code != cli.ExitRepeatable || stderr != want || stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, want)
	}
	_, stderr, code = command(t, "status", "--addr", first)
	if want := "snowraft: " + first + ": connection refused; start a member with \"snowraft serve\" or a cluster with \"snowraft dev\", or set --addr\n"; code != cli.ExitRepeatable || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

func TestNotTheAPI(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	_, stderr, code := command(t, "id", "--addr", l.Addr().String(), "--timeout", "500ms")
	if code != cli.ExitRepeatable || !strings.Contains(stderr, "connected, but no API answers at this address; set --addr to the API address of a member, by default port 7700") && !strings.Contains(stderr, "no connection in time") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
