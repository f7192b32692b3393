package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/web"
)

var browserHeaders = []http.Header{
	{"Origin": {"http://rebound.example"}},
	{"Referer": {""}},
	{"Accept-Language": {"de"}},
	{"Accept-Language": {"*"}, "User-Agent": {"node"}}, // a page may set both
	{"Sec-Fetch-Site": {"same-origin"}},
	{"Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"cors"}, "Accept-Encoding": {"gzip, deflate, br"}},
	{"Sec-Fetch-Dest": {"empty"}},
	{"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64)"}},
}

var programHeaders = []http.Header{
	{},
	{"User-Agent": {"curl/8.5.0"}},
	{"Accept": {"*/*"}},
	{"Accept": {"*/*"}, "Accept-Language": {"*"}, "Sec-Fetch-Mode": {"cors"}, "User-Agent": {"node"}, "Accept-Encoding": {"gzip, deflate"}}, // Node 20
	{"Accept": {"*/*"}, "Accept-Language": {"*"}, "User-Agent": {"Deno/2.5.4"}, "Accept-Encoding": {"gzip,br"}},
	{"User-Agent": {"Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"}},
}

func TestHosts(t *testing.T) {
	t.Parallel()
	hosts := web.NewHosts("id-1.example.com", "", "Box")
	for host, ok := range map[string]bool{
		"127.0.0.1:7701": true, "127.0.0.1": true, "[::1]:7701": true, "[::1]": true, "[fe80::1%25eth0]:7701": false, "localhost:x": false, "10.1.2.3:80": true,
		"localhost": true, "localhost:7701": true, "LocalHost.": true, "app.localhost:7701": true,
		"id-1.example.com:7701": true, "ID-1.example.com.": true, "box": true,
		"rebound.example:7701": false, "rebound.example": false, "127.0.0.1.rebound.example": false, "localhost.rebound.example": false,
		"xlocalhost": false, "": false, ":7701": false, "rebound.example:7701:7701": false, "2130706433": false, "0x7f.1": false,
		"boxx": false, "example.com": false,
	} {
		for _, h := range browserHeaders {
			err := hosts.Check(&http.Request{Host: host, Header: h})
			if !ok && rpc.FromError(err).Reason != rpc.BrowserRequest || ok && err != nil {
				t.Errorf("host %q with %v: %v", host, h, err)
			}
		}
		for _, h := range programHeaders {
			if err := hosts.Check(&http.Request{Host: host, Header: h}); err != nil {
				t.Errorf("Check() of host %q with %v = %v, want nil without a browser", host, h, err)
			}
		}
	}
	if err := (*web.Hosts)(nil).Check(&http.Request{Host: "rebound.example", Header: browserHeaders[0]}); err != nil {
		t.Error(err)
	}
}

// An error names the header that makes a browser of the caller, and the setting that allows the name.
func TestHostsNameTheHeader(t *testing.T) {
	t.Parallel()
	hosts := web.NewHosts("box")
	for _, name := range []string{"Origin", "Referer", "Accept-Language", "Sec-Fetch-Site", "Sec-Fetch-Dest", "User-Agent"} {
		err := hosts.Check(&http.Request{Host: "ids", Header: http.Header{name: {"Mozilla/5.0"}}})
		if text := fmt.Sprint(err); !strings.Contains(text, "header "+name+" ") || !strings.Contains(text, `"ids"`) || !strings.Contains(text, "--http-hosts") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzHosts(f *testing.F) {
	for _, host := range []string{"localhost", "[::1]:1", "::1", "::1%zone", "localhost:1", "a.localhost.:80", "%5B", "[::1%lo]"} {
		f.Add(host)
	}
	hosts := web.NewHosts("me")
	f.Fuzz(func(t *testing.T, host string) {
		err := hosts.Check(&http.Request{Host: host + ".example", Header: browserHeaders[0]})
		if err == nil {
			t.Errorf("host %q was admitted", host+".example")
		}
	})
}
