package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// page is one page of the console. Its template, templates/NAME.html, defines "content".
//
// The script of an open page requests the page again and again, and replaces its elements with the attribute data-live. An ID
// identifies each of them. All other elements keep the state from the first answer.
type page struct {
	name, path, title string
	// every is the interval of the script's requests; 0: often.
	every time.Duration
	// frame means that the script requests the page without its query, because nothing that depends on the query changes.
	frame bool
	// reload is the interval at which the page reloads itself without JavaScript; 0: never.
	reload time.Duration
	// needsOverview means that a page without an overview only shows the reason for its absence. load is then not called.
	needsOverview bool
	// scopes lists the rights that the page needs in a secured cluster.
	scopes []trust.Scope
	// load returns the data for the page's templates. Its context has the rights of the viewer.
	load func(ctx context.Context, api *API, in *input) (any, error)
	// bare means that the page has no place in the navigation and never changes.
	bare bool
	// within is the page that leads to this one, which has no place of its own in the navigation; nil if it has one.
	within *page
}

// input is the information that a page shows.
type input struct {
	query    url.Values
	overview *snowraftv1.Overview // nil if the viewer may not read it, or none exists
	now      time.Time
	what     string // kind of the process that serves the page: "member" or "gateway"
}

// pages lists all pages, in the order of the navigation.
var pages = []*page{nowPage, windowsPage, idPage, sequencesPage, sequencePage, templatesPage, eventsPage, runbookPage}

// scopes returns the rights that all pages together need.
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

// often is the interval of the script's requests for a page without an interval of its own.
const often = 400 * time.Millisecond

// interval returns the interval of the script's requests.
func (p *page) interval() time.Duration { return cmp.Or(p.every, often) }
