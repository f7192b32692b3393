package report

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const origin = int64(5 * time.Hour)

func returned(at time.Duration, o history.Outcome) history.Op {
	return history.Op{Workload: "ids", Outcome: o, Call: origin + int64(at-time.Millisecond), Return: origin + int64(at)}
}

func TestSeriesOfNothing(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	s.fit(origin + int64(time.Hour))
	if len(s.buckets) != 0 || s.width != 8*time.Second {
		t.Errorf("%d buckets of %v", len(s.buckets), s.width)
	}
}

func TestSeriesOfOne(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Duration]struct {
		buckets int
		width   time.Duration
	}{
		-time.Second:                         {1, finest},
		0:                                    {1, finest},
		finest - 1:                           {1, finest},
		finest:                               {2, finest},
		mostBuckets*finest - 1:               {mostBuckets, finest},
		mostBuckets * finest:                 {mostBuckets/2 + 1, 2 * finest},
		2 * time.Hour:                        {451, 16 * time.Second},
		1000*mostBuckets*finest + finest - 1: {mostBuckets*1000/1024 + 1, 1024 * finest},
	} {
		s := newSeries(origin)
		s.add(returned(at, history.OK))
		if len(s.buckets) != want.buckets || s.width != want.width {
			t.Errorf("%v: %d buckets of %v, not %d of %v", at, len(s.buckets), s.width, want.buckets, want.width)
			continue
		}
		for i, b := range s.buckets {
			if (b != nil) != (i == want.buckets-1) {
				t.Errorf("%v: bucket %d: %v", at, i, b)
			}
		}
		if b := s.buckets[want.buckets-1]; b.ok[0] != 1 || b.latencies.total != 1 || b.latencies.most != time.Millisecond {
			t.Errorf("%v: %+v", at, b.ok)
		}
	}
}

// Whenever buckets become wider, each operation stays in the bucket of its moment.
func TestWideningMovesNothing(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	var moments []time.Duration
	for at := time.Duration(0); at < 45*time.Minute; at += 777 * time.Millisecond {
		if at > 5*time.Minute && at < 20*time.Minute {
			continue // a long time without an answer
		}
		moments = append(moments, at)
		s.add(returned(at, []history.Outcome{history.OK, history.Fail, history.Info}[len(moments)%3]))
	}
	if s.width != 8*time.Second || len(s.buckets) > mostBuckets {
		t.Fatalf("%d buckets of %v", len(s.buckets), s.width)
	}
	want := make([][3]uint32, len(s.buckets))
	for n, at := range moments {
		want[at/s.width][(n+1)%3]++
	}
	for i, b := range s.buckets {
		if b == nil {
			b = new(bucket)
		}
		if got := [3]uint32{b.ok[0], b.failed, b.unknown}; got != want[i] {
			t.Errorf("bucket %d: %v, not %v", i, got, want[i])
		}
		if b.latencies.total != uint64(want[i][0]) {
			t.Errorf("bucket %d: %d latencies of %d", i, b.latencies.total, want[i][0])
		}
	}
}

// A bucket that has no other to be merged with stays.
func TestWideningAnOddNumber(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	s.add(returned(2*finest, history.OK))
	s.add(returned(mostBuckets*finest, history.Fail))
	if b := s.buckets[1]; b == nil || b.ok[0] != 1 {
		t.Errorf("%+v", b)
	}
}

func TestManyWorkloads(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	for i := range 30 {
		o := returned(0, history.OK)
		o.Workload = string(rune('a' + i))
		s.add(o)
	}
	if len(s.workloads) != mostWorkloads+1 || s.buckets[0].ok[mostWorkloads] != 30-mostWorkloads || s.workloads[mostWorkloads] != elsewhere {
		t.Errorf("%q, %v", s.workloads, s.buckets[0].ok)
	}
}

func TestManyReasons(t *testing.T) {
	t.Parallel()
	c := newTally()
	for i := range 10 * mostKinds {
		c.add(history.Op{Workload: "ids", Outcome: history.Fail, Reason: time.Duration(i).String()})
	}
	if len(c.kinds) != mostKinds+1 || c.of(history.Fail) != 10*mostKinds {
		t.Errorf("%d kinds, %d operations", len(c.kinds), c.of(history.Fail))
	}
}
