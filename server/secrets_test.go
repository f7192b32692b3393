package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cluster"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// An operator that rotates a secret sees which members know the new secret before the old one is removed.
func TestMembersReportTheirSecrets(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		older, newer := trust.NewSecret(), trust.NewSecret()
		var rings []*trust.Keys
		nodes := startCluster(t, 3, func(cfg *server.Config) {
			secrets := []trust.Secret{newer, older}
			if len(rings) == 2 { // the file of this host was not changed yet
				secrets = secrets[1:]
			}
			keys, err := trust.NewKeys(secrets...)
			if err != nil {
				t.Fatal(err)
			}
			rings = append(rings, keys)
			cfg.Keys = keys
		})
		admin := (&secured{t: t, keys: rings[0], nodes: nodes}).admin
		for i, n := range nodes {
			cluster := snowraftv1.NewClusterServiceClient(admin(n))
			var resp *snowraftv1.GetStatusResponse
			until(t, "signing with the secret that all members know", func() bool {
				var err error
				resp, err = cluster.GetStatus(t.Context(), &snowraftv1.GetStatusRequest{})
				return err == nil && resp.GetSigningFingerprint() == older.Fingerprint()
			})
			if got, want := resp.GetSecretFingerprints(), rings[i].Fingerprints(); !slices.Equal(got, want) {
				t.Errorf("member %d reports %v, want %v", i, got, want)
			}
			members, err := cluster.ListMembers(t.Context(), &snowraftv1.ListMembersRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members.GetMembers() {
				at := slices.IndexFunc(nodes, func(n *node) bool { return n.server.MemberID() == m.GetId() })
				if got, want := m.GetSecretFingerprints(), rings[at].Fingerprints(); !slices.Equal(got, want) {
					t.Errorf("member %d lists %v for member %d, want %v", i, got, at, want)
				}
			}
		}

		stranger, err := trust.NewKeys(trust.NewSecret())
		if err != nil {
			t.Fatal(err)
		}
		join(t, "stranger", nodes, func(cfg *server.Config) { cfg.Keys = stranger })
		cluster := snowraftv1.NewClusterServiceClient(admin(nodes[0]))
		until(t, "a report of the member with another secret", func() bool {
			resp, err := cluster.GetStatus(t.Context(), &snowraftv1.GetStatusRequest{})
			return err == nil && slices.ContainsFunc(resp.GetForeignPeers(), func(p *snowraftv1.ForeignPeer) bool {
				return p.GetAddress() == "127.0.0.1" && strings.Contains(p.GetProblem(), "another cluster secret") && p.GetHeardAtMs() > 0
			})
		})
	})
}

// A member that had a secret starts without one only on request.
func TestSecuredMemberWithoutSecret(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startSecured(t, 1).nodes[0]
		n.stop()
		n.cfg.Keys = nil
		s, err := server.Open(t.Context(), n.cfg)
		if err == nil {
			_ = s.Close(t.Context())
		}
		if !errors.Is(err, cluster.ErrSecured) {
			t.Fatalf("Open() = %v, want %v", err, cluster.ErrSecured)
		}
		n.cfg.Insecure = true
		n.start().untilReady()
	})
}
