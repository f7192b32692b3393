package console

import (
	"context"
	"net/url"
	"slices"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// page is one page of the console. Its template is templates/NAME.html, which defines "content" and a template for each
// element that is live.
type page struct {
	name, path, title string
	// live lists the IDs of the elements that the stream replaces. Each is also the name of the template that writes the
	// element, from what load returns.
	live []string
	// every is the interval at which the stream loads the page again; 0: with each overview.
	every time.Duration
	// reload is the interval at which the page loads itself again without JavaScript; 0: never.
	reload time.Duration
	// windows, if not nil, returns the layout whose windows the overview includes.
	windows func(query url.Values) string
	// needsOverview: without an overview the page shows why there is none, and load is not called.
	needsOverview bool
	// scopes are the rights that the page needs in a secured cluster.
	scopes []trust.Scope
	// load returns the data of the page's templates. The context has the rights of the viewer.
	load func(ctx context.Context, api *API, in *input) (any, error)
	// bare: the page has no place in the navigation, and no stream.
	bare bool
}

// input is what a page shows.
type input struct {
	query    url.Values
	overview *snowraftv1.Overview // nil if the viewer may not read it, or there is none
	now      time.Time
}

// pages are all pages, in the order of the navigation.
var pages = []*page{nowPage, windowsPage, idPage, sequencesPage, eventsPage, runbookPage}

// scopes returns the rights that all pages need.
func scopes() (all []trust.Scope) {
	for _, p := range pages {
		for _, s := range p.scopes {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// layoutOf returns the layout whose windows the overview of a page includes.
func (p *page) layoutOf(query url.Values) string {
	if p.windows == nil {
		return ""
	}
	return p.windows(query)
}
