package frontend

import (
	"bytes"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sync/singleflight"

	"github.com/snowraft/snowraft/server/conn"
)

// scrapes serves metrics as text, without compression. One scrape runs at a time, and requests that come meanwhile share its text.
// A connection holds the text until it is written.
type scrapes struct {
	of      prometheus.Gatherer
	running singleflight.Group
}

// ServeHTTP implements http.Handler.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err, _ := s.running.Do("", func() (any, error) { return s.scrape() })
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c, held := conn.From(r.Context()), int64(len(text.([]byte)))
	c.Charge(held) // even if unauthenticated clients hold their share: they get the text too
	defer c.Charge(-held)
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	_, _ = w.Write(text.([]byte))
}

func (s *scrapes) scrape() ([]byte, error) {
	families, err := s.of.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
