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
)

const (
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

func (h *handler) ids(w http.ResponseWriter, r *http.Request, _ string) error {
	p, err := readParams(w, r, true)
	if err != nil {
		return err
	}
	return answerText(w, func(dst []byte) ([]byte, error) {
		return h.cfg.Backend.AppendIDs(r.Context(), dst, w, p.layout, p.n)
	})
}

func (h *handler) next(w http.ResponseWriter, r *http.Request, name string) error {
	p, err := readParams(w, r, false)
	if err != nil {
		return err
	}
	if name == "" {
		return &refusal{http.StatusNotFound, invalid("the path ends before the sequence's name: /seq/NAME")}
	}
	return answerText(w, func(dst []byte) ([]byte, error) {
		return h.cfg.Backend.AppendNext(r.Context(), dst, w, name, uint64(p.n))
	})
}

// answerText answers with the numbers that take appends.
func answerText(w http.ResponseWriter, take func([]byte) ([]byte, error)) error {
	s := scratches.Get().(*scratch)
	defer s.free()
	announceText(w, typeText)
	text, err := take(s.text[:0])
	if err != nil {
		return err
	}
	s.text = text
	finishText(w, text)
	return nil
}

// announceText sets the headers of numbers. Each of them is given out once, so that
// nothing on the way may answer with them again.
func announceText(w http.ResponseWriter, contentType []string) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = contentType, noStore
}

// finishText writes the end of an answer, or all of it: pieces of it may be under way,
// and then so are the headers, and the length that is set here is not sent.
func finishText(w http.ResponseWriter, text []byte) {
	if len(text) > 2<<10 { // up to there, net/http counts by itself
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text)
}

// writeText answers with numbers.
func writeText(w http.ResponseWriter, contentType []string, text []byte) {
	announceText(w, contentType)
	finishText(w, text)
}

// params are what plain answers can be asked for with.
type params struct {
	n      uint32
	layout string
	given  [2]bool // n and layout
}

// readParams reads them from the query, and from the form that a POST may be.
// A method that promises to have no effect besides GET, such as HEAD, is refused.
func readParams(w http.ResponseWriter, r *http.Request, layouts bool) (p params, err error) {
	p.n = 1
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return p, wrongMethod(w, r, "GET, POST")
	}
	if err := p.parse(r.URL.RawQuery, layouts); err != nil || r.Method == http.MethodGet || r.ContentLength == 0 {
		return p, err
	}
	form, err := io.ReadAll(r.Body)
	if err != nil {
		return p, unreadable(err)
	}
	return p, p.parse(string(form), layouts)
}

// parse reads a query. It is url.ParseQuery without its map. A parameter that comes
// twice is refused: what is meant is not known, and numbers are given out once.
func (p *params) parse(query string, layouts bool) error {
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
