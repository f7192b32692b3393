package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	seqPrefix = "/seq/"
	// pieceBytes is from how many bytes on text is written out while the rest of
	// the answer is still to come; a piece is longer by at most one number.
	pieceBytes = 32 << 10
	// maxKept is the longest buffer, in bytes, that is kept for another answer.
	maxKept = 2 * pieceBytes
)

// scratch is the space that an answer is written in.
type scratch struct{ text []byte }

var scratches = sync.Pool{New: func() any { return &scratch{text: make([]byte, 0, 512)} }}

func (s *scratch) free() {
	if cap(s.text) <= maxKept {
		scratches.Put(s)
	}
}

// Flush writes text to w if it is long enough for a piece of an answer, and returns
// what is left of it, so that long answers need no more memory than short ones. An
// error is w's: nobody is there to read the rest.
func Flush(w io.Writer, text []byte) ([]byte, error) {
	if len(text) < pieceBytes {
		return text, nil
	}
	_, err := w.Write(text)
	return text[:0], err
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
	announceText(w, typeText)
	text, err := d.cfg.Backend.AppendIDs(r.Context(), s.text[:0], w, p.layout, p.n)
	if err != nil {
		e := readError(err)
		return route, refuseText(w, r, httpStatus(e), e)
	}
	s.text = text
	return route, finishText(w, s.text)
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
	announceText(w, typeText)
	text, err := d.cfg.Backend.AppendNext(r.Context(), s.text[:0], w, name, uint64(p.n))
	if err != nil {
		e := readError(err)
		return route, refuseText(w, r, httpStatus(e), e)
	}
	s.text = text
	return route, finishText(w, s.text)
}

// announceText sets the headers of numbers. Each of them is given out once, so that
// nothing on the way may answer with them again.
func announceText(w http.ResponseWriter, contentType []string) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = contentType, noStore
}

// finishText writes the end of an answer, or all of it: pieces of it may be under way,
// and then so are the headers, and the length that is set here is not sent.
func finishText(w http.ResponseWriter, text []byte) int {
	if len(text) > 2<<10 { // up to there, net/http counts by itself
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text)
	return http.StatusOK
}

// writeText answers with numbers.
func writeText(w http.ResponseWriter, contentType []string, text []byte) int {
	announceText(w, contentType)
	return finishText(w, text)
}

// params are what plain answers can be asked for with.
type params struct {
	n      uint32
	layout string
	given  [2]bool // n and layout
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

// parse reads a query. It is url.ParseQuery without its map. A parameter that comes
// twice is refused: what is meant is not known, and numbers are given out once.
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
		var again bool
		switch {
		case key == "n":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil || n < 1 || n > limits.Texts {
				return invalid(fmt.Sprintf("n is %s, expected 1 to %d", value, limits.Texts))
			}
			p.n = uint32(n)
			again, p.given[0] = p.given[0], true
		case key == "layout" && layouts:
			p.layout = value
			again, p.given[1] = p.given[1], true
		case layouts:
			return invalid(fmt.Sprintf("%s is no parameter here, expected n or layout", key))
		default:
			return invalid(fmt.Sprintf("%s is no parameter here, expected n", key))
		}
		if again {
			return invalid(fmt.Sprintf("%s is there twice, expected it once", key))
		}
	}
	return nil
}
