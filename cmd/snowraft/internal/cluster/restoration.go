package cluster

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// restored returns the origin of a restored cluster; empty for other clusters.
func restored(r *snowraftv1.Restoration) string {
	all := r.GetAncestors()
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, from cluster %s", cli.Stamp(r.GetRestoredAtMs()), all[len(all)-1])
}

// fenced returns why the restored cluster does not grant or issue yet; empty otherwise.
func fenced(s *snowraftv1.GetStatusResponse) string {
	r := s.GetRestoration()
	if old := r.GetOldClusterAlive(); old != "" {
		if r.GetOldClusterIsSibling() {
			return "issues nothing while another cluster from the same backup runs: " + old
		}
		return "issues nothing while the old cluster runs: " + old
	}
	wait := time.Duration(r.GetIssuesAtMs()-s.GetClockAtMs()) * time.Millisecond
	if r == nil || wait <= 0 {
		return ""
	}
	return fmt.Sprintf("issues IDs from %s (in %v)", cli.Stamp(r.GetIssuesAtMs()), wait.Round(time.Second))
}
