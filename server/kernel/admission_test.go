package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// source issues whatever is requested, after what happens meanwhile.
type source struct {
	meanwhile func()
	empty     bool // nothing is in memory
	calls     int
}

func (s *source) wait() {
	s.calls++
	if s.meanwhile != nil {
		s.meanwhile()
	}
}

func (s *source) Take(_ context.Context, ids []allocator.Range, _ string, count uint32, _ uint64) ([]allocator.Range, error) {
	s.wait()
	return append(ids, allocator.Range{First: 1, Count: count, Step: 1}), nil
}

// TryTake has no IDs in memory.
func (*source) TryTake(ids []allocator.Range, _ string, count uint32, _ uint64) ([]allocator.Range, uint32) {
	return ids, count
}

func (s *source) UUIDs(_ context.Context, _ string, count uint32) ([]string, error) {
	s.wait()
	return make([]string, count), nil
}

func (s *source) Next(_ context.Context, _ string, count uint64, _ string) (member.Numbering, error) {
	s.wait()
	return member.Numbering{Numbers: allocator.Numbers{First: 1, Count: count}}, nil
}

func (s *source) NextOfPeriod(_ context.Context, _ string, count uint64, _ member.PeriodRequest) (member.Numbering, error) {
	s.wait()
	return member.Numbering{Numbers: allocator.Numbers{First: 1, Count: count}}, nil
}

func (s *source) TryNext(_ string, count uint64) (member.Numbering, bool) {
	if s.empty {
		return member.Numbering{}, false
	}
	s.calls++
	return member.Numbering{Numbers: allocator.Numbers{First: 1, Count: count}}, true
}

func (s *source) Begin(_ context.Context, _ string, count uint64, done func(member.Numbering, error)) bool {
	s.wait()
	done(member.Numbering{Numbers: allocator.Numbers{First: 1, Count: count}}, nil)
	return true
}

func (*source) Coded(string) bool { return false }

func (s *source) Last(context.Context, string) (int64, bool, error) {
	s.wait()
	return 1, true, nil
}

// tokens is a table with one token.
type tokens struct {
	revision uint64
	record   *trust.Record
}

func (t *tokens) TokenRevision() uint64                    { return t.revision }
func (t *tokens) Token(uint64) (*trust.Record, bool)       { return t.record, t.record != nil }
func (*tokens) Anonymous() *trust.Record                   { return &trust.Record{} }
func (*tokens) NeverIssued(uint64) bool                    { return false }
func (*tokens) AwaitApplied(context.Context, uint64) error { return nil }
func (*tokens) CaughtUp() bool                             { return true }
func (*tokens) NowMillis() int64                           { return 0 }
func (t *tokens) revoke()                                  { t.revision, t.record = t.revision+1, nil }

// waiter takes the outcome of BeginNumbers.
type waiter struct {
	ctx  context.Context
	left bool
	err  error
}

func (w *waiter) Wait() (context.Context, bool)          { return w.ctx, true }
func (w *waiter) Leave()                                 { w.left = true }
func (w *waiter) Numbered(_ member.Numbering, err error) { w.err = err }

func beginNumbers(k *kernel.Kernel, a trust.Admission) error {
	w := &waiter{ctx: context.Background()}
	resp, begun := k.BeginNumbers(&a, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}, w)
	if resp == nil && !begun || w.left {
		return errors.New("nothing is issued")
	}
	return w.err
}

// Nothing is issued for a call that nothing has admitted, or for a caller that loses the right while the
// call waits. Neither counts as issued.
func TestIssuingNeedsAnAdmission(t *testing.T) {
	t.Parallel()
	requests := map[string]struct {
		right, resource string
		call            func(k *kernel.Kernel, a trust.Admission) error
	}{
		"Generate": {trust.RightIssueIDs, "default", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.Generate(t.Context(), a, &snowraftv1.GenerateIdsRequest{})
			return err
		}},
		"GenerateUUIDs": {trust.RightIssueIDs, "default", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.GenerateUUIDs(t.Context(), a, &snowraftv1.GenerateUuidsRequest{})
			return err
		}},
		"NextNumbers": {trust.RightNextNumbers, "orders", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.NextNumbers(t.Context(), a, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
			return err
		}},
		"NextNumbers, relayed": {trust.RightNextNumbers, "orders", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.NextNumbers(trust.WithRelay(t.Context(), "m2"), a, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
			return err
		}},
		"NextNumbers of a period": {trust.RightNextNumbers, "orders", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.NextNumbers(t.Context(), a, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1, Period: "2026-10"})
			return err
		}},
		"BeginNumbers, in memory": {trust.RightNextNumbers, "orders", beginNumbers},
		"BeginNumbers":            {trust.RightNextNumbers, "orders", beginNumbers},
		"GetLast": {trust.RightReadSequence, "orders", func(k *kernel.Kernel, a trust.Admission) error {
			_, err := k.GetLast(t.Context(), a, &snowraftv1.GetLastRequest{Sequence: "orders"})
			return err
		}},
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &source{empty: name != "BeginNumbers, in memory"}
			k := kernel.New(kernel.Config{})
			k.Source = s
			issued := func() uint64 {
				ids, numbers, _ := k.Issued()
				return ids + numbers
			}
			secret := trust.NewTokenSecret()
			table := &tokens{record: &trust.Record{ID: 1, Hash: trust.HashTokenSecret(secret), Scopes: []trust.Scope{
				trust.Scope(r.right + ":" + r.resource), "seq:admin:*",
			}}}
			p, err := trust.NewAuthorizer(table).Authenticate(t.Context(), trust.Token{ID: 1, Secret: secret}.Text())
			if err != nil {
				t.Fatal(err)
			}
			admitted, err := p.Admit(r.right, r.resource)
			if err != nil {
				t.Fatal(err)
			}
			another, err := p.Admit(trust.RightAdminSequence, r.resource)
			if err != nil {
				t.Fatal(err)
			}
			for what, a := range map[string]trust.Admission{"no admission": {}, "an admission of another right": another} {
				if err := r.call(k, a); err == nil || !strings.HasPrefix(name, "BeginNumbers") && rpc.FromError(err).Reason != rpc.Internal || s.calls > 0 {
					t.Errorf("%s: %v after %d calls of the source", what, err, s.calls)
				}
			}
			if err := r.call(k, admitted); err != nil || s.calls != 1 {
				t.Errorf("an admitted call: %v after %d calls of the source", err, s.calls)
			}
			if strings.HasSuffix(name, "in memory") { // never waits
				return
			}
			was := issued()
			uncounted := name == "GetLast" || strings.HasSuffix(name, "relayed")
			if uncounted && was > 0 {
				t.Errorf("%v counted", was)
			}
			s.meanwhile = table.revoke
			if denied, ok := errors.AsType[*trust.Denied](r.call(k, admitted)); !ok || !denied.Unauthenticated {
				t.Errorf("a caller whose token was deleted meanwhile: %v", denied)
			}
			if _, _, refused := k.Issued(); !uncounted && (was != 1 || issued() != was || refused != 1) {
				t.Errorf("%v, then %v issued, %d refused", was, issued(), refused)
			}
		})
	}
}

// Only a caller that may change a sequence states the end of a period, over every protocol.
func TestStatedEndsNeedARight(t *testing.T) {
	t.Parallel()
	for scope, may := range map[trust.Scope]bool{"seq:read:orders": false, "seq:admin:orders": true} {
		s, secret := &source{}, trust.NewTokenSecret()
		k := kernel.New(kernel.Config{})
		k.Source = s
		table := &tokens{record: &trust.Record{ID: 1, Hash: trust.HashTokenSecret(secret), Scopes: []trust.Scope{"seq:next:orders", scope}}}
		p, err := trust.NewAuthorizer(table).Authenticate(t.Context(), trust.Token{ID: 1, Secret: secret}.Text())
		if err != nil {
			t.Fatal(err)
		}
		ctx := trust.WithPrincipal(t.Context(), p)
		if _, err := k.NextOf(ctx, "orders", 1, kernel.PeriodRequest{Period: "2026-10"}); err != nil {
			t.Errorf("%s: numbers of a period: %v", scope, err)
		}
		_, err = k.NextOf(ctx, "orders", 1, kernel.PeriodRequest{Period: "2026-10", From: new(int64(5))})
		if denied := err != nil && rpc.FromError(err).Reason == rpc.PermissionDenied; denied == may || may && err != nil || !may && s.calls > 1 {
			t.Errorf("%s: a stated end: %v after %d calls of the source", scope, err, s.calls)
		}
	}
}
