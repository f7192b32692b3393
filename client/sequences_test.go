package client

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// catalogue is a member that answers as the test sets.
type catalogue struct {
	snowraftv1.SequenceServiceClient
	list    func(*snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error)
	answer  *snowraftv1.Sequence
	updated *snowraftv1.UpdateSequenceRequest
}

var unreached = []string{"m2", "m3"}

func (c *catalogue) ListSequences(_ context.Context, req *snowraftv1.ListSequencesRequest, _ ...grpc.CallOption) (*snowraftv1.ListSequencesResponse, error) {
	return c.list(req)
}

func (c *catalogue) GetSequence(context.Context, *snowraftv1.GetSequenceRequest, ...grpc.CallOption) (*snowraftv1.GetSequenceResponse, error) {
	return &snowraftv1.GetSequenceResponse{Sequence: c.answer}, nil
}

func (c *catalogue) CreateSequence(context.Context, *snowraftv1.CreateSequenceRequest, ...grpc.CallOption) (*snowraftv1.CreateSequenceResponse, error) {
	return &snowraftv1.CreateSequenceResponse{Sequence: c.answer, UnreachedMembers: unreached}, nil
}

func (c *catalogue) UpdateSequence(_ context.Context, req *snowraftv1.UpdateSequenceRequest, _ ...grpc.CallOption) (*snowraftv1.UpdateSequenceResponse, error) {
	c.updated = req
	return &snowraftv1.UpdateSequenceResponse{Sequence: c.answer, UnreachedMembers: unreached}, nil
}

func (c *catalogue) DeleteSequence(context.Context, *snowraftv1.DeleteSequenceRequest, ...grpc.CallOption) (*snowraftv1.DeleteSequenceResponse, error) {
	return &snowraftv1.DeleteSequenceResponse{UnreachedMembers: unreached}, nil
}

func (c *catalogue) SetNext(context.Context, *snowraftv1.SetNextRequest, ...grpc.CallOption) (*snowraftv1.SetNextResponse, error) {
	return &snowraftv1.SetNextResponse{Sequence: c.answer, UnreachedMembers: unreached}, nil
}

func openCatalogue(t *testing.T, m *catalogue) *Client {
	t.Helper()
	c, err := New([]string{"127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.sequences = m
	return c
}

func strictSequence(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_NONE,
	}
}

func TestListSequencesReadsAllPages(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	pages := map[string]*snowraftv1.ListSequencesResponse{
		"":  {Sequences: []*snowraftv1.Sequence{strictSequence("a"), strictSequence("b")}, NextPageToken: "b"},
		"b": {NextPageToken: "c"}, // a page may be empty
		"c": {Sequences: []*snowraftv1.Sequence{strictSequence("d")}, NextPageToken: "d"},
	}
	c := openCatalogue(t, &catalogue{list: func(req *snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error) {
		if req.GetPrefix() != "p" {
			t.Errorf("the prefix is %q", req.GetPrefix())
		}
		if pages[req.GetPageToken()] == nil {
			return nil, down
		}
		return pages[req.GetPageToken()], nil
	}})
	var names []string
	var faults []error
	for info, err := range c.ListSequences(t.Context(), "p") {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		names = append(names, info.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "d"}) || len(faults) != 1 || !errors.Is(faults[0], down) {
		t.Errorf("listed %v, then %v, want a, b, d, then one error", names, faults)
	}
}

func TestSequenceChangesNameUnreachedMembers(t *testing.T) {
	t.Parallel()
	c := openCatalogue(t, &catalogue{answer: strictSequence("s")})
	created, err1 := c.CreateSequence(t.Context(), SequenceSpec{Name: "s"})
	updated, err2 := c.UpdateSequence(t.Context(), "s", SequenceUpdate{})
	moved, err3 := c.Sequence("s").SetNext(t.Context(), 7)
	deleted, err4 := c.DeleteSequence(t.Context(), "s")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for what, names := range map[string][]string{
		"CreateSequence": created.UnreachedMembers, "UpdateSequence": updated.UnreachedMembers, "SetNext": moved.UnreachedMembers, "DeleteSequence": deleted,
	} {
		if !slices.Equal(names, unreached) {
			t.Errorf("%s: unreached members %v, want %v", what, names, unreached)
		}
	}
}

// Without a mask, a member updates the fields that are set in the sequence: an empty update would change the mode.
func TestUpdateSequenceAlwaysSendsAMask(t *testing.T) {
	t.Parallel()
	m := &catalogue{answer: strictSequence("s")}
	c := openCatalogue(t, m)
	if _, err := c.UpdateSequence(t.Context(), "s", SequenceUpdate{}); err != nil {
		t.Fatal(err)
	}
	if m.updated.UpdateMask == nil || len(m.updated.GetUpdateMask().GetPaths()) != 0 || m.updated.ExpectedGeneration != nil {
		t.Errorf("sent %v", m.updated)
	}
}

func TestSequencesOfNewerMembersAreRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*snowraftv1.Sequence){
		"a mode":   func(s *snowraftv1.Sequence) { s.Mode = 9 },
		"no mode":  func(s *snowraftv1.Sequence) { s.Mode = 0 },
		"a reset":  func(s *snowraftv1.Sequence) { s.Reset_ = 9 },
		"a period": func(s *snowraftv1.Sequence) { s.Period = "soon" },
	} {
		s := strictSequence("s")
		change(s)
		c := openCatalogue(t, &catalogue{answer: s})
		if info, err := c.GetSequence(t.Context(), "s"); err == nil {
			t.Errorf("%s: %+v", what, info)
		}
	}
}
