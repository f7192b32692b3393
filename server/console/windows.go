package console

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/snowraft/snowraft/server/console/picture"
	"github.com/snowraft/snowraft/snowflake"
)

// windowsPage shows why no two holders can issue the same ID. It draws the clocks, and the windows of a layout's workers
// around the present time.
var windowsPage = &page{
	name: "windows", path: root + "/windows", title: "Windows", reload: 5 * time.Second, needsOverview: true, scopes: nowPage.scopes,
	windows: func(query url.Values) string { return cmp.Or(query.Get("layout"), snowflake.Default().Name()) },
	load:    func(_ context.Context, _ *API, in *input) (any, error) { return windowsOf(in), nil },
}

// windows is the data of the page.
type windows struct {
	*picture.Windows
	Layouts []string
	Spans   []windowsSpan
	Command string
}

// windowsSpan is a link to another time axis.
type windowsSpan struct {
	Name, Text string
	Chosen     bool
}

func windowsOf(in *input) windows {
	w := windows{Windows: picture.NewWindows(in.overview, in.query.Get("span")), Layouts: in.overview.GetLayouts()}
	for _, s := range picture.Spans() {
		w.Spans = append(w.Spans, windowsSpan{s.Name, s.Text, s.Name == w.Axis.Name})
	}
	w.Command = "snowraft worker list"
	if w.Layout != snowflake.Default().Name() {
		w.Command += " --layout " + shell(w.Layout)
	}
	return w
}
