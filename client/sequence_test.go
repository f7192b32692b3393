package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// counter is a cluster with one sequence whose numbers end at max.
type counter struct {
	snowraftv1.SequenceServiceClient
	max    int64
	format string
	delay  time.Duration
	spoil  func(*snowraftv1.NextNumbersResponse)

	mu    sync.Mutex
	last  int64
	calls int
	once  map[string]*snowraftv1.NextNumbersResponse
}

func (c *counter) NextNumbers(_ context.Context, req *snowraftv1.NextNumbersRequest, _ ...grpc.CallOption) (*snowraftv1.NextNumbersResponse, error) {
	c.mu.Lock()
	c.calls++
	if answer := c.once[req.GetRequestId()]; answer != nil {
		c.mu.Unlock()
		return answer, nil
	}
	count := int64(req.GetCount())
	if count > c.max-c.last {
		c.mu.Unlock()
		time.Sleep(c.delay)
		return nil, &Error{Reason: rpc.SequenceExhausted, code: codes.ResourceExhausted}
	}
	m := &snowraftv1.NextNumbersResponse{First: c.last + 1, Count: uint32(count), Increment: 1, Format: c.format, TimeZone: "Europe/Berlin"}
	if c.format != "" && count <= 1000 {
		for i := range count {
			m.Texts = append(m.Texts, fmt.Sprintf("1970-%06d", m.First+i))
		}
	}
	c.last += count
	if req.GetRequestId() != "" {
		c.once[req.GetRequestId()] = m
	}
	c.mu.Unlock()
	time.Sleep(c.delay)
	if c.spoil != nil {
		c.spoil(m)
	}
	return m, nil
}

func (c *counter) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *counter) sequence() *Sequence {
	c.once = make(map[string]*snowraftv1.NextNumbersResponse)
	if c.max == 0 {
		c.max = 1 << 40
	}
	return newSequence("s", &Client{opts: options{timeout: limits.CallTimeout, oneShot: true}, sequences: c})
}

// Callers together get exactly the issued numbers, each caller in order. No number is issued before it is requested.
func TestSequenceCallersShareCalls(t *testing.T) {
	for _, found := range walkSequence(t) {
		t.Error(found)
	}
}

// walkSequence has many callers request numbers, and returns the violations found.
func walkSequence(t *testing.T) (found []string) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{delay: 10 * time.Millisecond}
		s := c.sequence()
		var mu sync.Mutex
		given := make(map[int64]bool)
		var all sync.WaitGroup
		const callers, each = 100, 20
		for k := range callers {
			all.Go(func() {
				for range each {
					before := c.now()
					n, err := s.Take(t.Context(), 1+k%3)
					if err != nil || n.Count != 1+k%3 {
						t.Error(n, err)
						return
					}
					mu.Lock()
					for number := range n.All() {
						if given[number] || number <= before {
							found = append(found, fmt.Sprintf("%d after %d, issued before: %t", number, before, given[number]))
						}
						given[number] = true
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if int64(len(given)) != c.last || c.calls > callers*each/5 {
			found = append(found, fmt.Sprintf("%d numbers of %d, by %d calls", len(given), c.last, c.calls))
		}
	})
	return found
}

// At the end of a sequence, a batch may request more numbers than are left, although some of its callers could be served.
func TestSequenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{delay: 10 * time.Millisecond, max: 100}
		s := c.sequence()
		var all sync.WaitGroup
		var mu sync.Mutex
		var given []int64
		refused := 0
		for k := range 40 {
			all.Go(func() {
				n, err := s.Take(t.Context(), 7)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					given = slices.AppendSeq(given, n.All())
				} else if refused++; !errors.Is(err, ErrSequenceExhausted) {
					t.Errorf("caller %d: %T %v", k, err, err)
				}
			})
		}
		all.Wait()
		slices.Sort(given)
		if len(given) != 98 || len(slices.Compact(given)) != 98 || refused != 40-98/7 {
			t.Errorf("%d issued, %d refused", len(given), refused)
		}
		if n, err := s.Next(t.Context()); n != 99 || err != nil {
			t.Error(n, err)
		}
		calls := c.calls
		if n, err := s.Take(t.Context(), 2); !errors.Is(err, ErrSequenceExhausted) || c.calls != calls+1 {
			t.Errorf("%v, %v, %d calls", n, err, c.calls-calls)
		}
	})
}

func TestSequenceTexts(t *testing.T) {
	for _, each := range []int{1, 30} { // 100 callers in one call: the member formats the numbers, or the client does
		t.Run(strconv.Itoa(each), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counter{delay: 10 * time.Millisecond, format: "{date:yyyy}-{seq:06}"}
				s := c.sequence()
				var mu sync.Mutex
				given := make(map[string]bool)
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() {
						texts, err := s.Texts(t.Context(), each)
						if err != nil || len(texts) != each {
							t.Error(texts, err)
						}
						mu.Lock()
						defer mu.Unlock()
						for _, text := range texts {
							given[text] = true
						}
					})
				}
				all.Wait()
				for number := range 100 * each {
					if text := fmt.Sprintf("1970-%06d", number+1); !given[text] {
						t.Errorf("no caller got %s", text)
					}
				}
				if len(given) != 100*each {
					t.Errorf("%d different texts", len(given))
				}
				if text, err := s.NextText(t.Context()); err != nil || text != fmt.Sprintf("1970-%06d", 100*each+1) {
					t.Error(text, err)
				}
			})
		})
	}
	plain := new(counter).sequence()
	if text, err := plain.NextText(t.Context()); text != "1" || err != nil {
		t.Error(text, err)
	}
	future := &counter{spoil: func(m *snowraftv1.NextNumbersResponse) { m.Format, m.Texts = "{roman}", nil }}
	s := future.sequence()
	if text, err := s.NextText(t.Context()); err == nil {
		t.Error(text)
	}
	if n, err := s.Next(t.Context()); n != 2 || err != nil {
		t.Errorf("%d, %v: a number needs no format", n, err)
	}
}

func TestSequenceOnce(t *testing.T) {
	c := &counter{format: "{date:yyyy}-{seq:06}"}
	s := c.sequence()
	first, err := s.TakeOnce(t.Context(), "order-1", 3)
	if err != nil || first != (Numbers{First: 1, Count: 3, Increment: 1}) {
		t.Error(first, err)
	}
	if n, err := s.Next(t.Context()); n != 4 || err != nil {
		t.Error(n, err)
	}
	if again, err := s.TakeOnce(t.Context(), "order-1", 3); again != first || err != nil {
		t.Error(again, err)
	}
	if texts, err := s.TextsOnce(t.Context(), "order-1", 3); len(texts) != 3 || texts[2] != "1970-000003" || err != nil {
		t.Error(texts, err)
	}
	if other, err := s.TakeOnce(t.Context(), "order-1", 2); err == nil {
		t.Errorf("%v: two numbers of an answer of three", other)
	}
	for _, id := range []string{"", strings.Repeat("x", 65)} {
		if _, err := s.TakeOnce(t.Context(), id, 1); !errors.Is(err, ErrInvalidArgument) {
			t.Error(err)
		}
	}
}

func TestSequenceLimits(t *testing.T) {
	c := new(counter)
	s := c.sequence()
	for _, n := range []int{-1, 0, limits.Count + 1} {
		_, err1 := s.Take(t.Context(), n)
		_, err2 := s.Texts(t.Context(), n)
		_, err3 := s.TakeOnce(t.Context(), "x", n)
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("%d: %v", n, err)
			}
		}
	}
	if c.calls != 0 {
		t.Errorf("%d calls", c.calls)
	}
	if n, err := s.Take(t.Context(), limits.Count); n.Count != limits.Count || err != nil {
		t.Error(n, err)
	}
}

func TestSequenceChecksAnswers(t *testing.T) {
	for name, spoil := range map[string]func(*snowraftv1.NextNumbersResponse){
		"too few":       func(m *snowraftv1.NextNumbersResponse) { m.Count-- },
		"too many":      func(m *snowraftv1.NextNumbersResponse) { m.Count++ },
		"no increment":  func(m *snowraftv1.NextNumbersResponse) { m.Increment = 0 },
		"overflow":      func(m *snowraftv1.NextNumbersResponse) { m.First = 1<<63 - 2 },
		"overflow 2":    func(m *snowraftv1.NextNumbersResponse) { m.Increment = 1<<63 - 1 },
		"overflow 3":    func(m *snowraftv1.NextNumbersResponse) { m.First, m.Increment = -1<<63+1, -1 },
		"overflow 4":    func(m *snowraftv1.NextNumbersResponse) { m.Increment = -1 << 63 },
		"fewer texts":   func(m *snowraftv1.NextNumbersResponse) { m.Texts = m.Texts[1:] },
		"more texts":    func(m *snowraftv1.NextNumbersResponse) { m.Texts = append(m.Texts, "x") },
		"no period":     func(m *snowraftv1.NextNumbersResponse) { m.Period = "today" },
		"empty message": func(m *snowraftv1.NextNumbersResponse) { proto.Reset(m) },
	} {
		t.Run(name, func(t *testing.T) {
			s := (&counter{format: "{seq}", spoil: spoil}).sequence()
			n, err := s.Take(t.Context(), 3)
			texts, err2 := s.Texts(t.Context(), 3)
			if err == nil || err2 == nil {
				t.Errorf("%v, %v; %v, %v", n, err, texts, err2)
			}
		})
	}
	down := &counter{spoil: func(m *snowraftv1.NextNumbersResponse) { m.First, m.Increment = -1<<63+2, -1 }}
	if n, err := down.sequence().Take(t.Context(), 3); err != nil || n.At(2) != -1<<63 {
		t.Error(n, err)
	}
}
