package bubble_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/bubble"
)

// Time begins after the epochs of the layouts, and an hour takes no time. The goroutines of a test may outlive it by a little.
func TestTimeIsSynthetic(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		if began.Year() != 2026 {
			t.Errorf("it is %v", began)
		}
		time.Sleep(50 * time.Minute)
		if took := time.Since(began); took != 50*time.Minute {
			t.Errorf("a sleep took %v", took)
		}
		go time.Sleep(30 * time.Second)
	})
}
