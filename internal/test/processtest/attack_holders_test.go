//go:build process

package processtest

import (
	"net/http"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The API shows too little about workers for a caller to extend or release a worker of another holder.
func TestAttackStolenWorkers(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	m := b.members[0]
	resp, err := m.generate("", 1)
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := attacks.StealWorkers(t.Context(), m.conn, "default", resp.GetRanges()[0].GetFirst())
	made(t, err)
	if len(stolen) > 0 {
		t.Errorf("StealWorkers() = %v, want none", stolen)
	}
	b.well(t)
}

// A stranger that guesses the token of a block cannot return the block while a member issues from it.
func TestAttackReturnedBlocks(t *testing.T) {
	t.Parallel()
	b := besiege(t, 3)
	const block = 1000
	_, err := b.members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{
		Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, MinBlock: block, MaxBlock: block,
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int64]string)
	next := func(m *member) {
		resp, err := m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "relaxed", Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		if by := seen[resp.GetFirst()]; by != "" {
			t.Errorf("%d issued by %s and %s", resp.GetFirst(), by, m.name)
		}
		seen[resp.GetFirst()] = m.name
	}
	next(b.members[0])
	taken, err := attacks.ReturnBlocks(t.Context(), b.members[0].conn, "relaxed", leader(t, b.members).status().GetCommitIndex(), 1)
	made(t, err)
	if taken > 0 {
		t.Errorf("%d blocks were returned, want 0", taken)
	}
	for range 3 {
		for _, m := range b.members {
			next(m)
		}
	}
}

// A member does not serve a page of another site whose host name resolves to the member.
func TestAttackRebinding(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	for _, request := range [][3]string{
		{http.MethodGet, "/v1/status", ""},
		{http.MethodGet, "/v1/workers?layout=default", ""},
		{http.MethodPost, "/v1/ids:generate", "{}"},
		{http.MethodPost, "/v1/sequences", `{"name":"rebound"}`},
	} {
		status, err := attacks.Rebind(t.Context(), b.members[0].http, request[0], request[1], request[2])
		made(t, err)
		if status < 400 || status >= 500 {
			t.Errorf("%s %s: status %d, want 4xx", request[0], request[1], status)
		}
	}
	b.well(t)
}

// A Redis command that arrives byte by byte does not keep a place.
func TestAttackDrippingCommand(t *testing.T) {
	t.Parallel()
	m := newCluster(t, 1)[0]
	redis := m.listenRedis()
	m.start().untilIssues()
	s, began := watchStalls(t), time.Now()
	lasted, err := attacks.Drip(t.Context(), redis, "INCRBY a 1000000000000\r\n", 4*time.Second)
	made(t, err)
	if lasted > time.Duration(commandArrives)+s.between(began, time.Now()) {
		t.Errorf("the member waited for a command for %v, want at most %v", lasted, time.Duration(commandArrives))
	}
}
