package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// All members have this version, so there is nothing to finalize. internal/test/simtest and internal/test/processtest test members of two
// versions.
func TestUpgradeOverTheAPI(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		nodes := startCluster(t, 3, func(c *server.Config) { c.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
		taker := follower(t, nodes)
		operations := snowraftv1.NewOperationsServiceClient(taker.conn)
		got, err := operations.GetUpgrade(t.Context(), &snowraftv1.GetUpgradeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if u := got.GetUpgrade(); u.GetFsmVersion() != fsm.Version || u.GetNextFsmVersion() != fsm.Version || u.GetUpgrades() != snowraftv1.Upgrades_UPGRADES_AUTO ||
			u.GetDueAtMs() != 0 || len(u.GetBlockers()) != 0 || len(got.GetMembers()) != 3 {
			t.Errorf("GetUpgrade() = %v", got)
		}
		for _, m := range got.GetMembers() {
			if m.GetFsmVersionSupported() != fsm.Version {
				t.Errorf("member %v", m)
			}
		}
		done, err := operations.FinalizeUpgrade(t.Context(), &snowraftv1.FinalizeUpgradeRequest{Without: []string{taker.server.MemberID()}})
		if err != nil || done.GetFrom() != fsm.Version || done.GetTo() != fsm.Version {
			t.Errorf("FinalizeUpgrade() = %v, %v", done, err)
		}
		if _, err := operations.FinalizeUpgrade(t.Context(), &snowraftv1.FinalizeUpgradeRequest{Without: []string{"m7"}}); reason(err) != rpc.UnknownMember {
			t.Errorf("FinalizeUpgrade() without a member that there is not: %v", err)
		}
		url := "http://" + taker.server.HTTPAddr()
		if status, body := ask(t, browser(t), http.MethodGet, url+"/v1/upgrade", ""); status != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`"nextFsmVersion":%d`, fsm.Version)) {
			t.Errorf("GET: %d %s", status, body)
		}
		if status, body := ask(t, browser(t), http.MethodPost, url+"/v1/upgrade:finalize", ""); status != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`{"from":%d,"to":%[1]d}`, fsm.Version)) {
			t.Errorf("POST: %d %s", status, body)
		}
		lines := auditIn(t, log)["FinalizeUpgrade"]
		if len(lines) != 4 { // two calls, each with a line of the member that took it and a line of the leader
			t.Errorf("audited: %+v", lines)
		}
		for _, l := range lines {
			if l.Actor != "open" || !strings.Contains(l.Before, fmt.Sprintf(`"fsmVersion":%d`, fsm.Version)) || !strings.Contains(l.After, fmt.Sprintf(`"to":%d`, fsm.Version)) {
				t.Errorf("audited: %+v", l)
			}
		}
	})
}
