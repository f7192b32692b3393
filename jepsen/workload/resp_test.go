//go:build linux

package workload

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]struct {
		number int64
		o      history.Outcome
		reason string
	}{
		":7\r\n":                          {7, history.OK, ""},
		":-7\r\n":                         {-7, history.OK, ""},
		"$2\r\n41\r\n":                    {41, history.OK, ""},
		"$-1\r\n":                         {0, history.OK, ""},
		"-ERR no such thing\r\n":          {0, history.Fail, "ERR"},
		"-LOADING not known\r\n":          {0, history.Info, "LOADING"},
		"-READONLY not in any manual\r\n": {0, history.Info, "READONLY"},
		"":                                {0, history.Info, "BROKEN"},
		":7":                              {0, history.Info, "BROKEN"},
		"+OK\r\n":                         {0, history.Info, "BROKEN"},
	} {
		r := &resp{r: bufio.NewReader(strings.NewReader(answer))}
		number, err := r.integer()
		o, reason := redisOutcome(err)
		if o != want.o || reason != want.reason || number != want.number && err == nil {
			t.Errorf("answer %q: %d, %v %q (%v), want %+v", answer, number, o, reason, err, want)
		}
	}
}

func TestSend(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	got := make(chan string, 1)
	go func() {
		defer there.Close()
		b := make([]byte, 100)
		n, _ := there.Read(b)
		got <- string(b[:n])
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := newRESP(here).send(ctx, [][]string{{"INCRBY", "a", "12"}, {"GET", "b"}}); err != nil {
		t.Fatal(err)
	}
	const want = "*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$2\r\n12\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
	if b := <-got; b != want {
		t.Errorf("sent %q, want %q", b, want)
	}
}

// The outcome at a member that does not answer is unknown.
func TestNoAnswer(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if err := here.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	_, err := newRESP(here).integer()
	if o, reason := redisOutcome(err); o != history.Info || reason != "DEADLINE" {
		t.Errorf("outcome %v %q (%v), want %v DEADLINE", o, reason, err, history.Info)
	}
}

func TestSeveral(t *testing.T) {
	seen := make(map[uint32]bool)
	for range 10000 {
		seen[several(5)] = true
	}
	for n := range uint32(7) {
		if seen[n] != slices.Contains([]uint32{1, 2, 3, 4, 5}, n) {
			t.Errorf("several(5) returned %d: %t, want only 1 to 5", n, seen[n])
		}
	}
}

func TestGeneratorOutcome(t *testing.T) {
	if o, _ := generatorOutcome(nil); o != history.OK {
		t.Errorf("generatorOutcome(nil) = %v, want %v", o, history.OK)
	}
	if o, reason := generatorOutcome(errors.Join(errors.New("late"), context.DeadlineExceeded)); o != history.Fail || reason != "DEADLINE" {
		t.Errorf("generatorOutcome(deadline) = %v %q, want %v DEADLINE", o, reason, history.Fail)
	}
}
