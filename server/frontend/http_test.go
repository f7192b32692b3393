package frontend

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/snowraft/snowraft/allocator"
)

func TestHealthAnswersHaveTheTextForUsers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int
		want string
	}{
		{nil, http.StatusOK, "ok\n"},
		{allocator.ErrOldClusterAlive, http.StatusServiceUnavailable, allocator.ErrOldClusterAlive.Error() + "\n"},
	} {
		w := httptest.NewRecorder()
		answer(w, tc.err)
		if w.Code != tc.code || w.Body.String() != tc.want {
			t.Errorf("answer(%v): %d %q, want %d %q", tc.err, w.Code, w.Body, tc.code, tc.want)
		}
	}
}
