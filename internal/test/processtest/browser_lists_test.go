//go:build browser

package processtest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Pages of 100,000 sequences are quick: the first page, a later page, a search, and a search without a result.
func TestSequencesStayQuick(t *testing.T) {
	const sequences, creators = 100_000, 512
	m := startCluster(t, 1)[0]
	var wg sync.WaitGroup
	for c := range creators {
		wg.Go(func() {
			for i := c; i < sequences; i += creators {
				most := int64(1000 + i)
				_, err := m.numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
					Sequence: &snowraftv1.Sequence{Name: fmt.Sprintf("tenant/%06d/orders", i), Max: &most},
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "tenant/050000/orders", Count: 50_000}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"console/sequences":           "tenant/050000/orders",
		"console/sequences?sort=name": "tenant/000000/orders",
		"console/sequences?q=99999":   "tenant/099999/orders",
		"console/sequences?q=none":    "No sequence has a name",
		"console/sequences?after=3ff0000000000000~tenant%2F080000%2Forders": "tenant/080001/orders",
	} {
		var costs []time.Duration // processor time
		for range 5 {
			before := m.scheduled().Ran
			page := pageOf(t, m.consoleOf()+path)
			costs = append(costs, m.scheduled().Ran-before)
			if !strings.Contains(page, want) {
				t.Fatalf("%s lacks %s", path, want)
			}
			<-time.After(time.Second) // until the member computes the list again
		}
		slices.Sort(costs)
		t.Logf("%s: %v of a processor", path, costs)
		if costs[len(costs)/2] > listCost {
			t.Errorf("%s takes %v of a processor, want at most %v", path, costs, listCost)
		}
	}
	b := newTab(t)
	b.open(m.consoleOf() + "console/sequences")
	b.says("#sequences-list", "50 of 100")
	if _, err := m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "tenant/070000/orders", Count: 71_000}); err != nil {
		t.Fatal(err)
	}
	b.saysWithin(2*current, "#sequences-list tbody tr", "tenant/070000/orders")
}

func pageOf(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

const windowsPath = "console/windows"

// The page of windows shows that a killed member's window stays reserved, and that its next process takes another worker.
func TestWindowsFollowAFailover(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	b := newTab(t)
	b.open(others(members, first)[0].consoleOf() + windowsPath)
	rows := func(text string) int {
		return eval[int](b, fmt.Sprintf(`[...document.querySelectorAll("#windows-list tbody tr")].filter((e) => e.innerText.includes(%s)).length`, quote(text)))
	}
	until(t, "each member has a window", func() bool { return rows("held") == 3 })
	first.untilWindow("default", 3*time.Second) // longer than the restart below takes
	first.kill()
	first.start()
	first.untilIssues()
	b.says("#windows-list", "4 of its 1\u202f024 workers were granted so far")
	if n := rows("member " + first.name + ","); n != 2 {
		t.Errorf("%d windows of the restarted member, want those of both processes", n)
	}
}

// The page of events shows a killed leader and failed requests without a reload.
func TestEventsFollowAFailover(t *testing.T) {
	members := startCluster(t, 3)
	first := leader(t, members)
	rest := others(members, first)
	b := newTab(t)
	b.open(rest[0].consoleOf() + "console/events")
	b.says("#events-list", first.name+" was elected leader")
	if _, err := rest[0].numbers.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "none"}); err == nil {
		t.Fatal("the sequence exists")
	}
	b.saysWithin(2*current, "#events-list", "UNKNOWN_SEQUENCE")

	first.kill()
	second := leader(t, rest)
	b.saysWithin(2*current, "#events-list", second.name+" was elected leader")
	b.saysWithin(2*current, "#events-list", "no leader known; "+first.name+" led")
	b.says("#events-list", first.name+" is unreachable")
	b.says(".missing", first.name)
}
