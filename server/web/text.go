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
	// pieceBytes is the size from which text is written before the rest of the answer is complete. A piece is longer by at most
	// one number.
	pieceBytes = 32 << 10
	// maxKept is the greatest capacity, in bytes, of a buffer that is kept for another answer.
	maxKept = 2 * pieceBytes
)

// scratch is the buffer of an answer.
type scratch struct{ text []byte }

var scratches = sync.Pool{New: func() any { return &scratch{text: make([]byte, 0, 512)} }}

func (s *scratch) free() {
	if cap(s.text) <= maxKept {
		scratches.Put(s)
	}
}

// Flush writes text to w if it is long enough for a piece of an answer, and returns the unwritten text, which shares the memory
// of text. Long answers therefore need no more memory than short answers. The error is the error of w: no client reads the
// rest.
func Flush(w io.Writer, text []byte) ([]byte, error) {
	if len(text) < pieceBytes {
		return text, nil
	}
	_, err := w.Write(text)
	return text[:0], err
}

func (h *handler) ids(w http.ResponseWriter, r *http.Request, _ string) error {
	p, err := readParams(w, r, "layout")
	if err != nil {
		return err
	}
	return answerText(w, func(dst []byte) ([]byte, error) {
		return h.cfg.Backend.AppendIDs(r.Context(), dst, w, p.option, p.count)
	})
}

func (h *handler) next(w http.ResponseWriter, r *http.Request, name string) error {
	if r.Method != http.MethodPost {
		return wrongMethod(w, r, http.MethodPost, "; a request takes numbers, and clients and proxies may repeat any other method")
	}
	p, err := readParams(w, r, "request_id")
	if err != nil {
		return err
	}
	if name == "" {
		return &refusal{http.StatusNotFound, invalid("missing name of the sequence; use /seq/NAME")}
	}
	if p.given[1] && p.option == "" {
		return invalid("parameter request_id is empty; send a value, or omit it")
	}
	return answerText(w, func(dst []byte) ([]byte, error) {
		return h.cfg.Backend.AppendNext(r.Context(), dst, w, name, uint64(p.count), p.option)
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

// announceText sets the headers of an answer with numbers. Each number is issued once, so no cache may answer with it again.
func announceText(w http.ResponseWriter, contentType []string) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = contentType, noStore
}

// finishText writes the rest of an answer, or all of it. If pieces were written before, the headers were sent with them, and
// the length that is set here is not sent.
func finishText(w http.ResponseWriter, text []byte) {
	if len(text) > 2<<10 { // net/http sets the length of shorter answers
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	_, _ = w.Write(text)
}

// writeText answers with numbers.
func writeText(w http.ResponseWriter, contentType []string, text []byte) {
	announceText(w, contentType)
	finishText(w, text)
}

// params are the parameters of requests for plain text.
type params struct {
	count  uint32
	option string  // value of the endpoint's other parameter
	given  [2]bool // count and option
}

// readParams returns the count and the named option from the query or from the form of a POST. It rejects methods other than
// GET and POST, including HEAD, because every answer takes numbers.
func readParams(w http.ResponseWriter, r *http.Request, option string) (p params, err error) {
	p.count = 1
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return p, wrongMethod(w, r, "GET, POST", "")
	}
	if err := p.parse(r.URL.RawQuery, option); err != nil || r.Method == http.MethodGet || r.ContentLength == 0 {
		return p, err
	}
	form, err := io.ReadAll(r.Body)
	if err != nil {
		return p, unreadable(err)
	}
	return p, p.parse(string(form), option)
}

// parse reads a query like url.ParseQuery, but without a map. It rejects a repeated parameter: either value could be meant,
// and numbers are issued only once.
func (p *params) parse(query, option string) error {
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
				return invalid(fmt.Sprintf("parameter %s: %v", key, err))
			}
		}
		var again bool
		switch key {
		case "count":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil || n < 1 || n > limits.Texts {
				return invalid(fmt.Sprintf("count %q: expected a whole number from 1 to %d", value, limits.Texts))
			}
			p.count = uint32(n)
			again, p.given[0] = p.given[0], true
		case option:
			p.option = value
			again, p.given[1] = p.given[1], true
		default:
			return invalid(fmt.Sprintf("unknown parameter %s; send count or %s", key, option))
		}
		if again {
			return invalid(fmt.Sprintf("parameter %s is repeated; send it once", key))
		}
	}
	return nil
}
