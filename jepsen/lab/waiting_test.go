//go:build linux

package lab

import "testing"

func TestUnread(t *testing.T) {
	for line, want := range map[string]int64{
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt":                                    0,
		"   3: 01004D0A:1E14 FE004D0A:9C40 01 00000000:0000002A 00:00000000 00000000     0        0 4711 1 0 20 4 30 10": 42,
		"   4: 01004D0A:1E14 00000000:0000 0A 00000000:00000005 00:00000000 00000000     0        0 4712 1 0 20 4 30 10": 0, // listening socket
		"   5: 01004D0A:1E16 FE004D0A:9C41 01 00000000:0000002A 00:00000000 00000000     0        0 4713 1 0 20 4 30 10": 0, // another port
		"": 0,
	} {
		got, err := unread(line, PortAPI)
		if err != nil || got != want {
			t.Errorf("unread(%q) = %d, %v; want %d", line, got, err, want)
		}
	}
	if _, err := unread("   3: 01004D0A:1E14 FE004D0A:9C40 01 00000000:zz 00:00000000 0 0 0 1", PortAPI); err == nil {
		t.Error("unread() of a line without a valid number succeeded")
	}
}
