package trust

import (
	"fmt"
	"testing"
	"time"
)

// Uses are bounded for each host and in total. Those with open connections stay.
func TestUsesAreBounded(t *testing.T) {
	t.Parallel()
	var u Uses
	now := time.Unix(0, 0)
	closed := u.Connected("10.0.0.1:5000", 7, "old", now)
	for i := range uint64(10 * maxUses) {
		now = now.Add(time.Second)
		u.Refused("10.0.0.2:1", i+1, FaultUnknown, now)
		u.Refused(fmt.Sprintf("10.1.%d.%d:1", i/200, i%200), 1, FaultExpired, now)
	}
	hosts, kept := make(map[string]int), false
	all := u.List()
	for _, use := range all {
		hosts[use.Host]++
		kept = kept || use == Use{Host: "10.0.0.1", Token: 7, Secret: "old", Count: 1, Open: 1, Last: time.Unix(0, 0)}
	}
	if len(all) > maxUses || hosts["10.0.0.2"] > maxUsesOfHost || !kept || len(u.host) != len(hosts) {
		t.Errorf("%d uses, %d of one host, the open one kept: %t, %d hosts, counted %d", len(all), hosts["10.0.0.2"], kept, len(hosts), len(u.host))
	}
	closed(now)
	u.Connected("[::ffff:10.0.0.1]:80", 7, "old", now.Add(time.Second))(now.Add(2 * time.Second))
	if got, want := u.List()[0], (Use{Host: "10.0.0.1", Token: 7, Secret: "old", Count: 2, Last: now.Add(2 * time.Second)}); got != want {
		t.Errorf("the latest use is %+v, want %+v", got, want)
	}
	if _, fresh := u.Refused("10.0.0.3:1", 5, FaultUnknown, now); !fresh {
		t.Error("the first refusal is not fresh")
	}
	if use, fresh := u.Refused("10.0.0.3:2", 5, FaultUnknown, now.Add(59*time.Minute)); fresh || use.Count != 2 {
		t.Errorf("the second refusal: %+v, fresh %t", use, fresh)
	}
	if _, fresh := u.Refused("10.0.0.3:2", 5, FaultUnknown, now.Add(3*time.Hour)); !fresh {
		t.Error("a refusal hours later is not fresh")
	}
}

// Only a client with one pin fails when that secret is removed.
func TestSecretThatAClientNeeds(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1), fixed(2))
	first, second, other := fixed(1).Authority().Pin(), fixed(2).Authority().Pin(), fixed(3).Authority().Pin()
	for name, want := range map[string]string{
		first: fixed(1).Fingerprint(), second: fixed(2).Fingerprint(), first + "." + second: "", first + "." + other: "", other: "", "id.example.com": "", "": "",
	} {
		if got := k.AskedFor(name); got != want {
			t.Errorf("AskedFor(%q) = %q, want %q", name, got, want)
		}
	}
}
