package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	seqPrefix = "/seq/"
	// maxText is how many numbers a plain answer has at most.
	maxText = 100_000
	// maxKept is the longest buffer, in bytes, that is kept for another answer.
	maxKept = 64 << 10
)

// scratch is the space that an answer is written in.
type scratch struct {
	text []byte
	ids  []uint64
}

var scratches = sync.Pool{New: func() any { return &scratch{text: make([]byte, 0, 512), ids: make([]uint64, 0, 16)} }}

func (s *scratch) free() {
	if cap(s.text) <= maxKept && cap(s.ids) <= maxKept/8 {
		scratches.Put(s)
	}
}

// ids serves /id.
func (d *door) ids(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = "/id"
	p, code, e := readParams(w, r, true)
	if e != nil {
		return route, refuseText(w, r, code, e)
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	ids, err := d.cfg.Backend.Ids(r.Context(), s.ids[:0], p.layout, p.n)
	s.ids = ids
	if err != nil {
		e := readError(err)
		return route, refuseText(w, r, httpStatus(e), e)
	}
	s.text = s.text[:0]
	for _, id := range ids {
		s.text = append(strconv.AppendUint(s.text, id, 10), '\n')
	}
	return route, writeText(w, typeText, s.text)
}

// next serves /seq/NAME.
func (d *door) next(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = "/seq/{name}"
	p, code, e := readParams(w, r, false)
	name := strings.TrimPrefix(r.URL.Path, seqPrefix)
	if e == nil && name == "" {
		code, e = http.StatusNotFound, invalid("the path ends before the sequence's name: /seq/NAME")
	}
	if e != nil {
		return route, refuseText(w, r, code, e)
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	text, err := d.cfg.Backend.AppendNext(r.Context(), s.text[:0], name, uint64(p.n))
	if err != nil {
		e := readError(err)
		return route, refuseText(w, r, httpStatus(e), e)
	}
	s.text = text
	return route, writeText(w, typeText, s.text)
}

// writeText answers with numbers. Each of them is given out once, so that
// nothing on the way may answer with them again.
func writeText(w http.ResponseWriter, contentType []string, text []byte) int {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = contentType, noStore
	if len(text) > 2<<10 { // up to there, net/http counts by itself
		h["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text)
	return http.StatusOK
}

// params are what plain answers can be asked for with.
type params struct {
	n      uint32
	layout string
}

// readParams reads them from the query, and from the form that a POST may be.
// A method that promises to have no effect besides GET, such as HEAD, is refused.
func readParams(w http.ResponseWriter, r *http.Request, layouts bool) (params, int, *rpc.Error) {
	p := params{n: 1}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return p, http.StatusMethodNotAllowed, wrongMethod(w, r, "GET, POST")
	}
	if e := p.parse(r.URL.RawQuery, layouts); e != nil {
		return p, http.StatusBadRequest, e
	}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		raw, err := readBody(r)
		if err != nil {
			code, e := unreadable(err)
			return p, code, e
		}
		form := make([]byte, raw.Len())
		_, _ = raw.Read(form)
		if e := p.parse(string(form), layouts); e != nil {
			return p, http.StatusBadRequest, e
		}
	}
	return p, 0, nil
}

// parse reads a query. It is url.ParseQuery without its map.
func (p *params) parse(query string, layouts bool) *rpc.Error {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if strings.ContainsAny(value, "%+") {
			var err error
			if value, err = url.QueryUnescape(value); err != nil {
				return invalid(fmt.Sprintf("%s can't be read: %v", key, err))
			}
		}
		switch {
		case key == "n":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil || n < 1 || n > maxText {
				return invalid(fmt.Sprintf("n is %s, expected 1 to %d", value, maxText))
			}
			p.n = uint32(n)
		case key == "layout" && layouts:
			p.layout = value
		case layouts:
			return invalid(fmt.Sprintf("%s is no parameter here, expected n or layout", key))
		default:
			return invalid(fmt.Sprintf("%s is no parameter here, expected n", key))
		}
	}
	return nil
}
