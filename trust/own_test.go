package trust

import (
	"path/filepath"
	"testing"
	"time"
)

// A certificate that has expired, or is not valid yet, replaces none that is valid. At the start there is no other one.
func TestValidOwnCertificateStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	past, future := now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)
	filesAt(t, dir, fixed(8), "id.example.com", past)
	own, err := LoadOwnCertificate(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), func() time.Time { return now })
	if err != nil || own.Problem() != "" {
		t.Fatalf("the only certificate has expired: %v, problem %q", err, own.Problem())
	}
	for _, step := range []struct {
		issued time.Time
		stays  bool
	}{
		{past.AddDate(0, 0, 1), false}, // both have expired
		{now, false},
		{past, true},
		{future, true},
		{now.AddDate(0, 0, 1).Add(-time.Hour), false},
	} {
		before := own.NotAfter()
		filesAt(t, dir, fixed(9), "id.example.com", step.issued)
		changed, err := own.Reload()
		if stays := own.NotAfter().Equal(before); stays != step.stays || changed == step.stays || (err != nil) != step.stays || (own.Problem() != "") != step.stays {
			t.Errorf("issued at %v: Reload() = %t, %v; the earlier one stays: %t, want %t; problem %q", step.issued, changed, err, stays, step.stays, own.Problem())
		}
	}
}
