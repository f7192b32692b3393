package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// The calls of clients that have CosId's proxy as the distributor of their segments. cosidSegments begins their paths.
const (
	cosidSegments = "segments/"
	cosidCreate   = "POST /segments/distributor/{namespace}/{name}"
	cosidNext     = "PATCH /segments/{namespace}/{name}"
)

// cosid serves the paths of segments.
func (h *handler) cosid(w http.ResponseWriter, r *http.Request) (method string, err error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"+cosidSegments), "/")
	creates := len(parts) == 3 && parts[0] == "distributor"
	switch {
	case creates && r.Method == http.MethodPost:
		method, err = cosidCreate, h.createDistributor(w, r, parts[1:])
	case creates:
		method, err = other, wrongMethod(w, r, http.MethodPost, "")
	case len(parts) == 2 && r.Method == http.MethodPatch:
		method, err = cosidNext, h.nextMaxID(w, r, parts)
	case len(parts) == 2:
		method, err = other, wrongMethod(w, r, http.MethodPatch, "")
	default:
		method, err = other, noSegments(r)
	}
	if err != nil {
		refuseCosID(w, r, err)
	}
	return method, err
}

func noSegments(r *http.Request) error {
	return rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("path %s does not exist; segments are at /segments/{namespace}/{name}", r.URL.Path))
}

// createDistributor answers a client that begins to use a sequence. It creates none, except by a template: CosId's own servers may have
// issued the numbers at the beginning of a new sequence. A sequence whose segments the client could not use is refused here, when a
// program starts, and not only at its first ID.
func (h *handler) createDistributor(w http.ResponseWriter, r *http.Request, parts []string) error {
	name, step, err := cosidRequest(r, parts)
	if err != nil {
		return err
	}
	offset, err := cosidParameter(r, "offset", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), limits.CallTimeout)
	defer cancel()
	resp, err := snowraftv1.NewSequenceServiceClient(h.cfg.Conn).BeginSequence(ctx, &snowraftv1.BeginSequenceRequest{Name: name})
	if err != nil {
		return uncreated(err)
	}
	if err := checkCosID(resp.GetSequence(), offset, step); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(http.StatusOK)
	return nil
}

// uncreated adds what to do to the error of a sequence that does not exist.
func uncreated(err error) error {
	_, e := read(err)
	if e.Reason != rpc.UnknownSequence {
		return e
	}
	todo := *e
	todo.Message += "; create it as a relaxed sequence that begins after the last ID of CosId, because a client of CosId creates none here"
	return &todo
}

// checkCosID returns an error if a client of CosId cannot issue the numbers of a sequence above an offset in segments of step numbers.
func checkCosID(s *snowraftv1.Sequence, offset, step int64) error {
	most := max(s.GetMaxBlock(), limits.Count)
	switch {
	case s.GetMode() != snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED:
		return cosidUnfit("is not relaxed")
	case s.GetPeriod() != "":
		return cosidUnfit("begins again in each period")
	case s.GetIncrement() != 1:
		return cosidUnfit("has an increment other than 1")
	case s.Next != nil && s.GetNext() <= offset:
		return invalid(fmt.Sprintf("sequence %q continues at %d, and the client expects numbers above its offset %d; set the next number of the sequence, or lower the offset",
			s.GetName(), s.GetNext(), offset))
	case uint64(step) > most: //nolint:gosec // at least 1
		return invalid(fmt.Sprintf("step %d: sequence %q grants at most %d numbers at once; raise its max_block, or lower the step", step, s.GetName(), most))
	}
	return nil
}

// nextMaxID takes a block, and answers with its last number. The client issues that number and the step - 1 numbers before it, whatever
// was granted, so only a whole block with the increment 1 fits.
func (h *handler) nextMaxID(w http.ResponseWriter, r *http.Request, parts []string) error {
	name, step, err := cosidRequest(r, parts)
	if err != nil {
		return err
	}
	count := uint64(step) //nolint:gosec // at least 1
	if most := trust.PrincipalOf(r.Context()).Burst(); count > most {
		return invalid(fmt.Sprintf("step %d: the rate of the token allows at most %d numbers at once", step, most))
	}
	var last int64
	err = h.takeBlock(r.Context(), name, count, func(b *snowraftv1.Block) (err error) {
		last, err = lastOfSegment(b, count)
		return err
	})
	if err == nil {
		writeText(w, typeJSON, strconv.AppendInt(nil, last, 10))
	}
	return err
}

// lastOfSegment returns the last number of a block that fits a client of CosId.
func lastOfSegment(b *snowraftv1.Block, step uint64) (int64, error) {
	switch most := max(b.GetMaxBlock(), limits.Count); {
	case b.GetPeriod() != "":
		return 0, cosidUnfit("begins again in each period")
	case b.GetIncrement() != 1:
		return 0, cosidUnfit("has an increment other than 1")
	case b.GetFirst() < 1:
		return 0, cosidUnfit("has numbers below 1")
	case step > most:
		return 0, invalid(fmt.Sprintf("step %d: the sequence grants at most %d numbers at once; raise its max_block, or lower the step", step, most))
	case b.GetCount() != step:
		return 0, rpc.NewError(rpc.SequenceExhausted, fmt.Sprintf("%d numbers are left before the end of the sequence, and a client of CosId takes whole steps of %d; "+
			"raise the maximum of the sequence, or lower the step", b.GetCount(), step))
	}
	last := b.GetFirst() + int64(step) - 1 //nolint:gosec // a block lies within 64 bits
	if crowded(last, 1) {
		return 0, cosidUnfit("has numbers near the end of the 64-bit numbers")
	}
	return last, nil
}

func cosidUnfit(why string) error { return unfit("CosId", why, "use another sequence") }

// cosidRequest returns the sequence that a request names, and the number of numbers of its segments.
func cosidRequest(r *http.Request, parts []string) (name string, step int64, err error) {
	if name, err = cosidSequence(r, parts); err != nil {
		return "", 0, err
	}
	step, err = cosidParameter(r, "step", 1, limits.MaxBlock)
	return name, step, err
}

// cosidSequence returns the name of the sequence of a path: the namespace, a point and the name, as in CosId's stores.
func cosidSequence(r *http.Request, parts []string) (string, error) {
	var names []string
	for _, part := range parts {
		name, err := url.PathUnescape(part)
		if err != nil || name == "" {
			return "", noSegments(r)
		}
		names = append(names, name)
	}
	name := strings.Join(names, ".")
	if !utf8.ValidString(name) {
		return "", invalid("path: expected UTF-8")
	}
	return name, nil
}

// cosidParameter returns a number of the query.
func cosidParameter(r *http.Request, name string, least, most int64) (int64, error) {
	values := r.URL.Query()[name]
	if len(values) != 1 {
		return 0, invalid(fmt.Sprintf("query parameter %s: expected one value", name))
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most {
		return 0, invalid(fmt.Sprintf("%s %q: expected a whole number from %d to %d", name, values[0], least, most))
	}
	return n, nil
}

// refuseCosID answers with an error in the form of CosId's proxy server. The code is the reason.
func refuseCosID(w http.ResponseWriter, _ *http.Request, err error) {
	status, e := read(err)
	explain(w, e)
	body, _ := json.Marshal(struct {
		Code    string   `json:"code"`
		Message string   `json:"msg"`
		Errors  []string `json:"errors"`
	}{e.Reason, e.Message, []string{}}) // cannot fail: strings
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
