package events

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// script holds the answers to successive calls.
type script struct {
	snowraftv1.ViewServiceClient
	answers []func() (*snowraftv1.ListEventsResponse, error)
	asked   []int32 // page sizes
}

var (
	errEnd      = errors.New("the end of the script")
	errNoMember = errors.New("no member answers")
)

func (s *script) ListEvents(_ context.Context, req *snowraftv1.ListEventsRequest, _ ...grpc.CallOption) (*snowraftv1.ListEventsResponse, error) {
	if len(s.answers) == 0 {
		return nil, errEnd
	}
	next := s.answers[0]
	s.answers, s.asked = s.answers[1:], append(s.asked, req.GetPageSize())
	return next()
}

func follow(t *testing.T, answers ...func() (*snowraftv1.ListEventsResponse, error)) (stdout, stderr string, s *script, err error) {
	t.Helper()
	w := clitest.New()
	app := w.App("test")
	s = &script{answers: answers}
	f := newFollower(app, &cli.Remote{Views: s}, app.Printer(cli.OutputText))
	f.repeatable = func(err error) bool { return errors.Is(err, errNoMember) }
	err = f.run(t.Context(), &snowraftv1.ListEventsRequest{PageSize: 3})
	return w.Out.String(), w.Err.String(), s, err
}

func answer(unreached []string, events ...*snowraftv1.Event) func() (*snowraftv1.ListEventsResponse, error) {
	return func() (*snowraftv1.ListEventsResponse, error) {
		return &snowraftv1.ListEventsResponse{Events: events, UnreachedMembers: unreached}, nil
	}
}

func unreachable() (*snowraftv1.ListEventsResponse, error) {
	return nil, errNoMember
}

func TestFollowerPrintsEachEventOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := &snowraftv1.Event{Number: 1, MemberId: "n-1", Member: "a", Count: 1, Text: "first"}
		second := &snowraftv1.Event{Number: 2, MemberId: "n-1", Member: "a", Count: 1, Text: "second"}
		again := proto.CloneOf(first)
		again.Count = 2
		stdout, stderr, s, err := follow(t,
			answer(nil, first), answer([]string{"b"}, second, first), unreachable, unreachable, answer([]string{"b"}, again, second))
		var texts []string
		for line := range strings.Lines(stdout) {
			texts = append(texts, strings.Fields(line)[2])
		}
		if got := strings.Join(texts, " "); got != "first second first" || !strings.Contains(stdout, "(2 times since") {
			t.Errorf("printed %s", stdout)
		}
		if strings.Count(stderr, "retrying") != 1 || strings.Count(stderr, "in time: b") != 1 || !errors.Is(err, errEnd) {
			t.Errorf("warned %s, ended with %v", stderr, err)
		}
		if s.asked[0] != 3 || s.asked[1] != most {
			t.Errorf("page sizes %v", s.asked)
		}
	})
}

func TestFollowerFailsWithoutAFirstAnswer(t *testing.T) {
	t.Parallel()
	if _, _, s, err := follow(t, unreachable); err == nil || len(s.asked) != 1 {
		t.Errorf("asked %d times, %v", len(s.asked), err)
	}
}
