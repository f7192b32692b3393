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
		t.Errorf("%d buckets of %v, want 0 of 8s", len(s.buckets), s.width)
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
			t.Errorf("operation at %v: %d buckets of %v, want %d of %v", at, len(s.buckets), s.width, want.buckets, want.width)
			continue
		}
		for i, b := range s.buckets {
			if (b != nil) != (i == want.buckets-1) {
				t.Errorf("operation at %v: bucket %d = %v, want only the last one used", at, i, b)
			}
		}
		if b := s.buckets[want.buckets-1]; b.ok[0] != 1 || b.latencies.total != 1 || b.latencies.most != time.Millisecond {
			t.Errorf("operation at %v: counts %+v, %d latencies up to %v; want 1 of 1ms", at, b.ok, b.latencies.total, b.latencies.most)
		}
	}
}

// After each widening, each operation is in the bucket of its moment.
func TestWideningKeepsBuckets(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	var moments []time.Duration
	for at := time.Duration(0); at < 45*time.Minute; at += 777 * time.Millisecond {
		if at > 5*time.Minute && at < 20*time.Minute {
			continue // a long gap without operations
		}
		moments = append(moments, at)
		s.add(returned(at, []history.Outcome{history.OK, history.Fail, history.Info}[len(moments)%3]))
	}
	if s.width != 8*time.Second || len(s.buckets) > mostBuckets {
		t.Fatalf("%d buckets of %v, want at most %d of 8s", len(s.buckets), s.width, mostBuckets)
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
			t.Errorf("bucket %d = %v, want %v", i, got, want[i])
		}
		if b.latencies.total != uint64(want[i][0]) {
			t.Errorf("bucket %d has %d latencies, want %d", i, b.latencies.total, want[i][0])
		}
	}
}

// A last bucket without a partner for the merge stays.
func TestWideningKeepsLastBucket(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	s.add(returned(2*finest, history.OK))
	s.add(returned(mostBuckets*finest, history.Fail))
	if b := s.buckets[1]; b == nil || b.ok[0] != 1 {
		t.Errorf("bucket 1 = %+v, want one operation", b)
	}
}

func TestSeriesBoundsWorkloads(t *testing.T) {
	t.Parallel()
	s := newSeries(origin)
	for i := range 30 {
		o := returned(0, history.OK)
		o.Workload = string(rune('a' + i))
		s.add(o)
	}
	if len(s.workloads) != mostWorkloads+1 || s.buckets[0].ok[mostWorkloads] != 30-mostWorkloads || s.workloads[mostWorkloads] != elsewhere {
		t.Errorf("workloads %q, counts %v; want %d and one for all others", s.workloads, s.buckets[0].ok, mostWorkloads)
	}
}

func TestTallyBoundsKinds(t *testing.T) {
	t.Parallel()
	c := newTally()
	for i := range 10 * mostKinds {
		c.add(history.Op{Workload: "ids", Outcome: history.Fail, Reason: time.Duration(i).String()})
	}
	if len(c.kinds) != mostKinds+1 || c.of(history.Fail) != 10*mostKinds {
		t.Errorf("%d kinds, %d operations, want %d, %d", len(c.kinds), c.of(history.Fail), mostKinds+1, 10*mostKinds)
	}
}
