package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// feed is one stream. Only the goroutine of run uses it.
type feed struct {
	console *Console
	page    *page
	request *http.Request
	viewer  viewer
	query   url.Values
	w       http.ResponseWriter
	control *http.ResponseController

	overview *snowraftv1.Overview // the newest overview
	trouble  string               // reason for a missing overview; empty if there is one
	stale    string               // reason why the last load failed; empty if it succeeded
	shown    string               // the reason that the page shows
	loaded   time.Time            // time of the last load
	sent     map[string][]byte    // last sent elements, by ID
	out      bytes.Buffer         // output that is written next
}

func (f *feed) run(ctx context.Context) error {
	streamHeaders(f.w.Header())
	f.out.WriteString("retry: 1000\n\n")
	if err := f.flush(); err != nil {
		return nil // the viewer is gone
	}
	watch := f.console.watches.join(f.viewer.ctx, f.page.layoutOf(f.query))
	defer f.console.watches.leave(watch)
	overview, changed, err := watch.newest()
	if overview != nil || err != nil { // other viewers already have it
		now := make(chan struct{})
		close(now)
		changed = now
	}
	beat, comment := time.NewTicker(pulse), time.NewTicker(comments)
	defer beat.Stop()
	defer comment.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-f.console.viewers.closing:
			return nil
		case <-comment.C:
			f.out.WriteString(":\n\n")
		case <-changed:
			var overview *snowraftv1.Overview
			overview, changed, err = watch.newest()
			err = f.news(ctx, overview, err)
		case <-beat.C:
			err = f.beat(ctx)
		}
		if err == nil {
			err = f.flush()
		}
		switch {
		case errors.Is(err, errGone):
			f.event("gone", nil)
			_ = f.flush()
			return nil
		case err != nil:
			return nil // the viewer is gone
		}
	}
}

// errGone ends a stream when its viewer's rights differ from those at the start.
var errGone = errors.New("console: the viewer's rights are gone")

// news sends the newest overview or error of the watch.
func (f *feed) news(ctx context.Context, overview *snowraftv1.Overview, err error) error {
	if err == nil {
		f.overview, f.trouble = overview, ""
		return f.show(ctx)
	}
	if isDenied(err) {
		return f.withoutOverview(ctx)
	}
	f.overview, f.trouble = nil, message(err)
	f.explain()
	return f.beat(ctx)
}

// withoutOverview serves a viewer that may not read the cluster.
func (f *feed) withoutOverview(ctx context.Context) error {
	if !f.page.livesWithoutOverview() {
		return errGone
	}
	f.overview, f.trouble = nil, ""
	return f.show(ctx)
}

// beat shows that the stream is alive. While there is no overview, it updates the page.
func (f *feed) beat(ctx context.Context) error {
	switch {
	case f.overview == nil && f.trouble == "" && f.loaded.IsZero():
		return nil // waits for the first overview
	case f.overview == nil:
		return f.show(ctx)
	}
	return nil
}

// show sends the changed elements.
func (f *feed) show(ctx context.Context) error {
	v, err := f.console.judge(f.request)
	if err != nil || v.token != f.viewer.token {
		return errGone
	}
	if f.overview != nil && !f.console.mayWatch(v.ctx) {
		return f.withoutOverview(ctx)
	}
	now := presentTime(f.overview)
	if f.overview != nil {
		if err := f.element("verdict", func() (any, error) { return verdictOf(f.overview), nil }); err != nil {
			return err
		}
	}
	loads := f.page.every == 0 && f.overview != nil
	if loads {
		err = f.elements(now)
	}
	f.tick(now)
	if f.page.every > 0 && time.Since(f.loaded) >= f.page.every-beatSlack {
		loads, f.loaded = true, time.Now()
		if err := f.flush(); err != nil { // the members may take long to answer
			return err
		}
		err = f.shared(ctx, now)
	}
	switch {
	case isDenied(err):
		return errGone
	case err != nil:
		f.stale = message(err)
	case loads:
		f.stale = ""
	}
	f.explain()
	return nil
}

// explain sends the reason why the page is old; an empty reason if it is not.
func (f *feed) explain() {
	if reason := cmp.Or(f.trouble, f.stale); reason != f.shown {
		f.shown = reason
		f.event("trouble", []byte(reason))
	}
}

// tick sends the present time and the time of the overview to the page.
func (f *feed) tick(now time.Time) {
	text, _ := json.Marshal(map[string]int64{"now": now.UnixMilli(), "composed": f.overview.GetComposedAtMs()}) // never fails
	f.event("tick", text)
}

// key returns the key of all viewers with the same view.
func (f *feed) key() viewKey {
	return viewKey{f.page.name, f.request.URL.RawQuery, trust.PrincipalOf(f.viewer.ctx)}
}

// elements sends the elements of a page that loads with each overview.
func (f *feed) elements(now time.Time) error {
	load := sync.OnceValues(func() (any, error) {
		return f.page.load(f.viewer.ctx, f.console.api, &input{query: f.query, overview: f.overview, now: now, what: f.console.cfg.What})
	})
	for _, id := range f.page.live {
		if err := f.element(id, load); err != nil {
			return err
		}
	}
	return nil
}

// shared sends the elements of a page that loads at its own interval.
func (f *feed) shared(ctx context.Context, now time.Time) error {
	texts, err := f.console.shares.get(f.key(), func() (map[string][]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout) // serves several viewers
		defer cancel()
		data, err := f.page.load(ctx, f.console.api, &input{query: f.query, overview: f.overview, now: now, what: f.console.cfg.What})
		if err != nil {
			return nil, err
		}
		texts := make(map[string][]byte)
		for _, id := range f.page.live {
			var text bytes.Buffer
			if err := f.console.templates[place{f.page, f.page.path}].ExecuteTemplate(&text, id, data); err != nil {
				return nil, err
			}
			texts[id] = text.Bytes()
		}
		return texts, nil
	})
	if err != nil {
		return err
	}
	for _, id := range f.page.live {
		f.send(id, texts[id])
	}
	return nil
}

// element sends an element that is rendered from the overview.
func (f *feed) element(id string, load func() (any, error)) error {
	text, err := f.console.cache.get(f.key(), f.overview, id, func(text *bytes.Buffer) error {
		data, err := load()
		if err != nil {
			return err
		}
		return f.console.templates[place{f.page, f.page.path}].ExecuteTemplate(text, id, data)
	})
	if err == nil {
		f.send(id, text)
	}
	return err
}

// send adds an element to the output, unless its text is unchanged.
func (f *feed) send(id string, text []byte) {
	if !bytes.Equal(f.sent[id], text) {
		f.sent[id] = text
		f.event("html", text)
	}
}

// event adds an event to the output.
func (f *feed) event(name string, data []byte) {
	fmt.Fprintf(&f.out, "event: %s\n", name)
	for line := range bytes.Lines(append(bytes.ReplaceAll(data, []byte("\r"), nil), '\n')) {
		f.out.WriteString("data: ")
		f.out.Write(line)
	}
	f.out.WriteByte('\n')
}

// flush writes the output.
func (f *feed) flush() error {
	if f.out.Len() == 0 {
		return nil
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := f.w.Write(f.out.Bytes()); err != nil {
		return err
	}
	f.out.Reset()
	return f.control.Flush()
}
