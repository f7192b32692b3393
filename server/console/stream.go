package console

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// StreamMethod is the method of streams that Serve returns. A stream lasts as long as a person looks at the page.
const StreamMethod = http.MethodGet + " " + streamPath

const (
	streamPath = root + "/stream"
	// writeTimeout bounds each write. A viewer that takes nothing for that time loses the stream.
	writeTimeout = 5 * time.Second
	// pulse is the interval of updates while there is no overview. A page reports a problem if it receives nothing for
	// longer.
	pulse = time.Second
	// beatSlack is the largest time by which an overview may come early for a page that loads at an interval.
	beatSlack = 100 * time.Millisecond
	// comments is the interval of comments, for proxies that close silent connections.
	comments = 15 * time.Second
)

// stream sends changes to a page until the viewer is gone, the process stops, or the viewer's rights change.
//
// Events: "html" is an element that replaces the element with the same ID. "tick" holds the present time and the time of the
// page's overview. "trouble" is the reason why the page is old, and empty once the page is current. "gone" makes the page reload
// itself.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	p := c.named(query.Get("page"))
	if p == nil || p.bare || r.Method != http.MethodGet {
		err := rpc.NewError(rpc.UnknownEndpoint, "the page does not exist, or has no stream")
		refuse(w, http.StatusNotFound, err)
		return err
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		err := rpc.NewError(rpc.BrowserRequest, "a page of another site sent this request")
		refuse(w, http.StatusForbidden, err)
		return err
	}
	v, err := c.judge(r)
	if err != nil {
		refuse(w, http.StatusForbidden, err)
		return err
	}
	if !c.mayFollow(v.ctx, p, query) {
		// Without a place, so that strangers cannot take the places of viewers.
		streamHeaders(w.Header())
		_, _ = io.WriteString(w, "event: gone\ndata: \n\n") // the page then shows the reason
		return nil
	}
	if err := c.viewers.enter(); err != nil {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, err)
		return err
	}
	defer c.viewers.leave()
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	f := &feed{console: c, page: p, request: r, viewer: v, query: query, w: w, control: http.NewResponseController(w), sent: make(map[string][]byte)}
	return f.run(ctx)
}

func (c *Console) named(name string) *page {
	for _, p := range pages {
		if p.name == name {
			return p
		}
	}
	return nil
}

// mayWatch reports whether a viewer may now see the overview. The rights may have changed since the stream began.
func (c *Console) mayWatch(ctx context.Context) bool {
	rule := rpc.RuleOf(snowraftv1.ViewService_WatchOverview_FullMethodName)
	return c.cfg.Authenticate == nil || trust.PrincipalOf(ctx).Authorize(rule.GetRight(), "") == nil
}

// mayFollow reports whether a stream of a page can show the viewer anything.
func (c *Console) mayFollow(ctx context.Context, p *page, query url.Values) bool {
	if c.mayWatch(ctx) {
		return true
	}
	if !p.livesWithoutOverview() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	_, err := p.load(ctx, c.api, &input{query: query, now: time.Now(), what: c.cfg.What})
	return !isDenied(err)
}

func streamHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
}

// presentTime returns the time of an overview, which is right even if the clock of this process is off. Without an overview, it
// returns the time of this process.
func presentTime(o *snowraftv1.Overview) time.Time {
	if o == nil {
		return time.Now()
	}
	return time.UnixMilli(o.GetComposedAtMs())
}
